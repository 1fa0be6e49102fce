"""What a learner has learned, as one public value: what is saved, shown and resumed.

Settings and problem are not in it: they are given again to whoever goes on from a state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.stream import GapMemory
from imop_engine.errors import InvalidInput
from imop_engine.history import History
from imop_engine.second_order import SecondOrderState

# Names that version 0.1.0 wrote into its checkpoints, and what they are called now.
_FORMAT_1: Final = {
    "theta_": "theta",
    "rounds_": "rounds",
    "updates_": "updates",
    "nodes_": "nodes",
    "_certified": "certified",
    "_losses": "losses",
    "_recorder._rounds": "history.rounds",
    "_recorder._thetas": "history.theta",
    "_recorder.stride": "history.stride",
    "_waiting": "waiting",
    "_information.metric": "second_order.metric",
    "_information.recent": "second_order.recent",
    "_information.sums": "second_order.sums",
    "_information.memory": "second_order.memory",
    "_working": "active_set.rows",
    "_side": "active_set.sides",
    "_working_size": "active_set.size",
}


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Constraints that held with equality in the last update: the next search begins there."""

    rows: NDArray[np.int64]
    sides: NDArray[np.int64]
    size: NDArray[np.int64]  # how many of `rows` count, as an array of one number

    @classmethod
    def none(cls, size: int) -> ActiveSet:
        """Before the first update, with room for `size` constraints."""
        return cls(np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(1, np.int64))

    def copy(self) -> ActiveSet:
        """The same, apart."""
        return ActiveSet(self.rows.copy(), self.sides.copy(), self.size.copy())


@dataclass(frozen=True, eq=False)
class LearnerState:
    """A learner between two decisions. `OnlineLearner.state()` gives it, `restore` takes it.

    Attributes:
        theta: the estimate (yearly expected returns, for a portfolio problem).
        rounds: how many decisions were learned from.
        updates: how many of them moved theta.
        nodes: nodes of branch and bound that all updates took together.
        certified: how many updates were proven globally optimal.
        losses: squared distance of each decision to what theta explained before its update.
        history: theta after some of the rounds.
        stride: every so many-th round is kept in `history`.
        waiting: decisions of a batch that is not full yet, one per row.
        second_order: the information that algorithm "newton" has collected.
        active_set: where the next update's search begins.
        gap_memory: the same for loss "efficiency", and the averaged theta; None for other losses.
    """

    theta: Vector
    rounds: int
    updates: int
    nodes: int
    certified: int
    losses: Vector
    history: History
    stride: int
    waiting: Matrix
    second_order: SecondOrderState
    active_set: ActiveSet
    gap_memory: GapMemory | None = None

    @property
    def certified_share(self) -> float:
        """Share of the updates that were proven globally optimal; 1 before the first."""
        return self.certified / self.updates if self.updates else 1.0

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays by public names, as numpy's npz stores them."""
        found = {
            "theta": self.theta,
            "rounds": np.array(self.rounds),
            "updates": np.array(self.updates),
            "nodes": np.array(self.nodes),
            "certified": np.array(self.certified),
            "losses": self.losses,
            "history.rounds": self.history.rounds,
            "history.theta": self.history.theta,
            "history.stride": np.array(self.stride),
            "waiting": self.waiting,
            "second_order.metric": self.second_order.metric,
            "second_order.recent": self.second_order.recent,
            "second_order.sums": self.second_order.sums,
            "second_order.memory": self.second_order.memory,
            "active_set.rows": self.active_set.rows,
            "active_set.sides": self.active_set.sides,
            "active_set.size": self.active_set.size,
        }
        if self.gap_memory is not None:
            found |= self.gap_memory.to_arrays()
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LearnerState:
        """The inverse of `to_arrays`; names of version 0.1.0 are understood too."""
        parts = {_FORMAT_1.get(name, name): array for name, array in arrays.items()}
        missing = [name for name in _FORMAT_1.values() if name not in parts]
        if missing:
            raise InvalidInput(
                f"this state of a learner has no {missing[0]}; it was not saved whole. Learn anew."
            )
        theta = np.array(parts["theta"], dtype=float)
        kept = np.array(parts["history.rounds"], dtype=np.int64)
        return cls(
            theta,
            int(parts["rounds"]),
            int(parts["updates"]),
            int(parts["nodes"]),
            int(parts["certified"]),
            np.array(parts["losses"], dtype=float).reshape(-1),
            History(kept, np.array(parts["history.theta"], float).reshape(len(kept), theta.size)),
            int(parts["history.stride"]),
            np.array(parts["waiting"], dtype=float),
            SecondOrderState(
                *(
                    np.array(parts[f"second_order.{name}"], dtype=float)
                    for name in ("metric", "recent", "sums", "memory")
                )
            ),
            ActiveSet(
                *(
                    np.array(parts[f"active_set.{name}"], dtype=np.int64)
                    for name in ("rows", "sides", "size")
                )
            ),
            GapMemory.from_arrays(parts),
        )
