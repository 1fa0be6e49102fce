"""Following portfolios as they come, for hours: bounded memory, and nothing twice after a kill.

The stream learns from every row as it comes. Beside it an even sample of all rows is kept, of at
most a few thousand: every row at first, then every second, every fourth, so that it is the same
whatever the pace and however often the run was stopped. When following ends, a study of the sample
is what is written; it is a study like any other. Where everything was read to, what was learned and
the sample are one file that is replaced whole, so that a kill costs the seconds since then and
nothing else.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine import disk
from imop_engine.arguments import Matrix, Vector
from imop_engine.errors import InvalidInput
from imop_engine.inference.movement import FEWEST, Movement
from imop_engine.investors import Investors
from imop_engine.learner import OnlineLearner
from imop_engine.learner_state import LearnerState
from imop_engine.market import Market
from imop_engine.problem import Problem
from imop_engine.study.data import StudyData
from imop_engine.study.movement import movement_of
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import digest
from imop_engine.study.steps import SEARCHED, begin_stream, state_under, steps_of
from imop_engine.tables.arrivals import Arrivals, Position

FORMAT: Final = 1
CHECKPOINT: Final = "following.npz"
BELIEFS: Final = "beliefs.csv"  # over time
SAMPLE_ROWS: Final = 8192  # kept at most, half of that at least once there are more
REFUSALS_TOLD: Final = 20


@dataclass(frozen=True, eq=False)
class EvenSample:
    """Each so many-th portfolio of a stream, whatever the chunks it came in.

    Args:
        stride: each so many-th row of the stream is kept.
        rows: their numbers, from 0.
        holdings: their portfolios.
    """

    stride: int
    rows: NDArray[np.int64]
    holdings: Matrix

    @classmethod
    def empty(cls, assets: int) -> EvenSample:
        """Before the first row."""
        return cls(1, np.empty(0, np.int64), np.empty((0, assets)))

    def with_rows(
        self, rows: NDArray[np.int64], holdings: Matrix, most: int = SAMPLE_ROWS
    ) -> EvenSample:
        """The sample after more portfolios.

        Args:
            rows: numbers of these portfolios.
            holdings: the portfolios.
            most: how many are kept at most.
        """
        some = rows % self.stride == 0
        found = EvenSample(
            self.stride, np.concatenate([self.rows, rows[some]]),
            np.concatenate([self.holdings, holdings[some]]),
        )  # fmt: skip
        while len(found.rows) > most:
            stride = 2 * found.stride
            kept = found.rows % stride == 0
            found = EvenSample(stride, found.rows[kept], found.holdings[kept])
        return found


@dataclass(frozen=True, eq=False)
class FollowState:
    """Everything that a run which is stopped goes on from.

    Args:
        position: how far files were read.
        first: portfolios that came before the stream could begin; none once it has.
        equalities, values: the anchors; none before the stream has begun.
        learned: the stream; None before it has begun.
        sample: an even sample of all portfolios.
        learned_rows: portfolios that were learned from.
        refused: rows that are no portfolios.
        told: the first of these, as (row from 1, reason).
        market: digest of the moments.
    """

    position: Position
    first: Matrix
    equalities: Matrix
    values: Vector
    learned: LearnerState | None
    sample: EvenSample
    learned_rows: int = 0
    refused: int = 0
    told: tuple[tuple[int, str], ...] = ()
    market: str = ""


@dataclass(frozen=True, eq=False)
class Event:
    """One thing that happened while following.

    Args:
        kind: "learned", "refused", "moved" or "waiting".
        rows: portfolios that were learned from so far.
        file: where the last rows came from.
        theta: the stream's returns, yearly; None before it has begun.
        loss: mean loss of the rows of this event.
        refused: rows that are no portfolios so far.
        said: a sentence, where there is one to say.
    """

    kind: str
    rows: int
    file: str = ""
    theta: Vector | None = None
    loss: float = float("nan")
    refused: int = 0
    said: str = ""


class Follower:
    """Learns from what arrives.

    Args:
        market: assets and moments.
        arrivals: where portfolios come from.
        settings: the analyst's choices.
        state: where an earlier run has come to; None begins.
    """

    def __init__(
        self,
        market: Market,
        arrivals: Arrivals,
        settings: StudySettings | None = None,
        state: FollowState | None = None,
    ) -> None:
        self.market, self.arrivals = market, arrivals
        self.settings = settings or StudySettings()
        n = len(market.names)
        mine = digest(market.returns_by_asset, market.covariance_by_asset)
        if state is not None and state.market != mine:
            raise InvalidInput(
                "what was followed in this folder was learned under other returns or covariances; "
                "follow with the same history, or name another --out."
            )
        self.state = state or FollowState(
            Position(), np.empty((0, n)), np.empty((0, n)), np.empty(0), None,
            EvenSample.empty(n), market=mine,
        )  # fmt: skip
        self.learner: OnlineLearner | None = None
        self.problem: Problem | None = None
        if self.state.learned is not None:
            self._go_on(self.state.learned)

    def catch_up(self) -> Iterator[Event]:
        """Learn from all that is there now, an event for each lot of rows; may be asked again and
        again. The state after each event is one to go on from."""
        for lot in self.arrivals.new(self.state.position):
            before = self.state
            told = (*before.told, *lot.refused)[:REFUSALS_TOLD]
            self.state = replace(
                before, position=lot.after, refused=before.refused + len(lot.refused), told=told,
                sample=before.sample.with_rows(lot.rows, lot.holdings),
            )  # fmt: skip
            loss = self._learn(lot.holdings)
            if lot.refused:
                row, reason = lot.refused[0]
                yield self._event("refused", lot.file, loss, f"row {row} {reason}")
            yield self._event("learned", lot.file, loss)

    def finish(self) -> None:
        """Begin the stream with fewer portfolios than it would wait for: no more will come."""
        if self.learner is None and len(self.state.first):
            self._begin(self.state.first)

    @property
    def theta(self) -> Vector | None:
        """The stream's returns, yearly; None before it has begun."""
        return None if self.learner is None else self.learner.theta_.copy()

    def study(self) -> Study:
        """The study of the even sample, under the anchors of the stream."""
        self.finish()
        if self.problem is None:
            raise InvalidInput("no portfolio has come yet, so there is nothing to study.")
        sample = self.state.sample
        frame = pd.DataFrame(
            sample.holdings, index=[str(row + 1) for row in sample.rows],
            columns=list(self.market.names),
        )  # fmt: skip
        data = StudyData.on(self.market, Investors.of(frame, self.market.names))
        begun = state_under(data, self.settings, self.problem)
        *_, last = steps_of(data, self.settings, begun)
        assert last.study is not None  # the last step carries it
        return last.study

    def movement(self) -> Movement | None:
        """Whether beliefs moved over the even sample; None: it cannot be said."""
        self.finish()
        Y = self.state.sample.holdings
        if self.problem is None or self.learner is None or len(Y) < FEWEST:
            return None
        return movement_of(self.problem, self.learner.theta_, Y)

    def _event(self, kind: str, file: str, loss: float, said: str = "") -> Event:
        now = self.state
        return Event(kind, now.learned_rows, file, self.theta, loss, now.refused, said)

    def _learn(self, holdings: Matrix) -> float:
        if self.learner is None:
            first = np.concatenate([self.state.first, holdings])
            self.state = replace(self.state, first=first)
            if len(first) < SEARCHED:
                return float("nan")
            return self._begin(first)
        return self._fit(holdings)

    def _begin(self, first: Matrix) -> float:
        """Anchors and a start from the first portfolios, then these as the stream's first rounds:
        never from more of them, so that it does not matter how many came at once."""
        opening = pd.DataFrame(first[:SEARCHED], columns=list(self.market.names))
        data = StudyData.on(self.market, Investors.of(opening, self.market.names))
        self.problem, self.learner = begin_stream(data, self.settings)
        theta = self.problem.theta
        self.state = replace(
            self.state, first=np.empty((0, first.shape[1])), equalities=theta.equalities.copy(),
            values=theta.values.copy(),
        )  # fmt: skip
        return self._fit(first)

    def _fit(self, holdings: Matrix) -> float:
        assert self.learner is not None  # the stream has begun
        if not len(holdings):
            return float("nan")
        self.learner.partial_fit(holdings)
        learned = self.learner.state()
        loss = float(learned.losses.mean())
        # losses of hours would fill the memory; these are told and let go
        learned = replace(learned, losses=np.empty(0))
        self.learner.restore(learned)
        self.state = replace(
            self.state, learned=learned, learned_rows=self.state.learned_rows + len(holdings)
        )
        return loss

    def _go_on(self, learned: LearnerState) -> None:
        sample = pd.DataFrame(
            self.state.sample.holdings[:SEARCHED], columns=list(self.market.names)
        )
        data = StudyData.on(self.market, Investors.of(sample, self.market.names))
        known = (self.state.equalities, self.state.values)
        self.problem, self.learner = begin_stream(data, self.settings, known)
        self.learner.restore(learned)


# -- the file -----------------------------------------------------------------------------------
def save_following(state: FollowState, settings: StudySettings, path: Path) -> None:
    """Write where following has come to; the old file is replaced when the new one is on the disk.

    Args:
        state: what to go on from.
        settings: the analyst's choices.
        path: the file.
    """
    about = {
        "format": FORMAT,
        "position": state.position.to_dict(),
        "settings": settings.to_dict(),
        "learned_rows": state.learned_rows,
        "refused": state.refused,
        "told": [list(one) for one in state.told],
        "market": state.market,
        "stride": state.sample.stride,
    }
    arrays: dict[str, Any] = {
        "first": state.first, "equalities": state.equalities, "values": state.values,
        "sample.rows": state.sample.rows, "sample.holdings": state.sample.holdings,
    }  # fmt: skip
    if state.learned is not None:
        arrays |= {f"learned.{name}": one for name, one in state.learned.to_arrays().items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, about=np.array(json.dumps(about)))
    disk.write_whole(path, buffer.getvalue())


def load_following(path: Path) -> tuple[FollowState, StudySettings]:
    """Read what `save_following` wrote.

    Args:
        path: the file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, this version reads {FORMAT}")
        learned = {
            name.removeprefix("learned."): one
            for name, one in arrays.items()
            if name.startswith("learned.")
        }
        sample = EvenSample(int(about["stride"]), arrays["sample.rows"], arrays["sample.holdings"])
        state = FollowState(
            Position.from_dict(about["position"]), arrays["first"], arrays["equalities"],
            arrays["values"], LearnerState.from_arrays(learned) if learned else None, sample,
            int(about["learned_rows"]), int(about["refused"]),
            tuple((int(row), str(reason)) for row, reason in about["told"]), str(about["market"]),
        )  # fmt: skip
        return state, StudySettings.from_dict(about["settings"])
    except (Exception, MemoryError) as error:  # a damaged file can make its reader raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(
            f"{path} is not what a followed run has left, or it is damaged ({reason}); remove it "
            "to begin anew."
        ) from None
