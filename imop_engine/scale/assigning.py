"""Every investor's weight, written beside; and what everybody says at the estimate.

A part of the portfolios becomes one Parquet file with the same number, written beside its place and
moved there when it is whole. So a part that is done twice, because a worker died, is there once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from imop_engine import disk
from imop_engine.arguments import Matrix, Vector
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import unexplained
from imop_engine.inference.fit import residual_sums
from imop_engine.inference.held_assets import given_back
from imop_engine.inference.information import clear_of_bounds, information
from imop_engine.problem import Problem
from imop_engine.results import risk_aversion
from imop_engine.scale.looks import Columns, HoldingsOrder, Lot
from imop_engine.sentences.numbers import MOST_AVERSE, no_aversion
from imop_engine.study.data import LEARNED, REFUSED
from imop_engine.study.outcome import OUTLIER

FOLDER: Final = "investors"
WEIGHT_BINS: Final = 100


@dataclass(frozen=True, eq=False)
class AssignOrder:
    """What is written of each investor, and what is summed up meanwhile.

    Args:
        columns: what is read.
        problem: with all assets.
        theta: the estimate, yearly returns.
        settled: at which the estimating equations were solved; None: returns come another way.
        limit: the distance beyond which somebody is set aside.
        threshold: the distance beyond which residuals do not count as noise.
        noise_sd: error in a single holding, as the sample has it.
        small: holdings up to this are not counted as held.
        folder: where the parts go; every worker must see it.
    """

    columns: Columns
    problem: Problem
    theta: Vector
    settled: HoldingsOrder | None
    limit: float
    threshold: float
    noise_sd: float
    small: float
    folder: str


@dataclass(frozen=True, eq=False)
class Assigned:
    """What one lot adds, or several.

    Args:
        rows: written.
        count: portfolios that take part.
        changed: who would be chosen otherwise now.
        missed: squared distances of those who take part.
        spread: sum and squares of their holdings, for the share that is explained.
        weights: of theirs, in bins of a hundredth.
        hessian, outer, degrees: of the scores of those who take part.
        informing, unexplained, holding: investors by asset.
        residuals: squares and degrees of freedom, as `residual_sums` gives them.
    """

    rows: int
    count: int
    changed: int
    missed: float
    spread: tuple[Vector, float]
    weights: NDArray[np.int64]
    hessian: Matrix
    outer: Matrix
    degrees: int
    informing: NDArray[np.int64]
    unexplained: NDArray[np.int64]
    holding: NDArray[np.int64]
    residuals: Matrix

    @classmethod
    def nobody(cls, n: int) -> Assigned:
        """Before the first."""
        none = np.zeros(n, np.int64)
        return cls(
            0, 0, 0, 0.0, (np.zeros(n), 0.0), np.zeros(WEIGHT_BINS, np.int64), np.zeros((n, n)),
            np.zeros((n, n)), 0, none, none, none, np.zeros((2, 2)),
        )  # fmt: skip

    def __add__(self, other: Assigned) -> Assigned:
        return Assigned(
            self.rows + other.rows, self.count + other.count, self.changed + other.changed,
            self.missed + other.missed,
            (self.spread[0] + other.spread[0], self.spread[1] + other.spread[1]),
            self.weights + other.weights, self.hessian + other.hessian, self.outer + other.outer,
            self.degrees + other.degrees, self.informing + other.informing,
            self.unexplained + other.unexplained, self.holding + other.holding,
            self.residuals + other.residuals,
        )  # fmt: skip


def part_name(number: int) -> str:
    """What the file of a part is called.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05d}.parquet"


def assign(task: tuple[int, Lot], order: AssignOrder) -> Assigned:
    """Write the weights of a lot and sum up what it says.

    Args:
        task: its number, and the lot.
        order: what is written.
    """
    number, lot = task
    found = Assigned.nobody(order.problem.n)
    frontier = efficient_frontier(order.problem, order.theta)
    target = Path(order.folder) / part_name(number)
    beside = target.with_name(f"{disk.NEW}{target.name}.{secrets.token_hex(4)}")
    with disk.writing(target):
        writer: Any = None
        for rows, kept in lot.chunks(order.columns, beside=True):
            Y = rows.portfolios
            projection = frontier.project(Y)
            table = _table(rows, kept, projection, order.columns)
            if writer is None:
                writer = pq.ParquetWriter(beside, table.schema)
            writer.write_table(table)
            found += _said(order, Y, kept, projection, len(table))
        if writer is not None:
            writer.close()
            beside.replace(target)
    return found


def _table(rows: Any, kept: NDArray[np.bool_], projection: Any, columns: Columns) -> pa.Table:
    total, good = len(rows.good), rows.good

    def spread(values: Vector) -> pa.Array:
        full = np.zeros(total)
        full[good] = values
        return pa.array(full, mask=~good)

    status = np.full(total, REFUSED, dtype=object)
    status[good] = np.where(kept, LEARNED, OUTLIER)
    averse = risk_aversion(projection.weights)
    whys = np.array(rows.reasons(columns.assets), dtype=object)
    whys[np.flatnonzero(good)[averse > MOST_AVERSE]] = no_aversion(np.inf)
    reasons = pa.array(whys, pa.string())
    cells = {
        "row": pa.array(np.arange(rows.first + 1, rows.first + total + 1)),
        **{name: rows.also[name] for name in columns.also if name in rows.also},
        "weight": spread(projection.weights),
        "risk_aversion": pc.if_else(pc.equal(reasons, ""), spread(averse), None),
        "distance": spread(projection.distances),
        "status": pa.array(status, pa.string()),
        "reason": reasons,
    }
    return pa.table(cells)


def _said(
    order: AssignOrder, Y: Matrix, kept: NDArray[np.bool_], projection: Any, rows: int
) -> Assigned:
    """What some portfolios add to the sums at the estimate."""
    n = order.problem.n
    frontier = efficient_frontier(order.problem, order.theta)
    inside = projection.distances <= order.limit
    weights = np.minimum((projection.weights[kept] * WEIGHT_BINS).astype(int), WEIGHT_BINS - 1)
    held = Y[kept]
    hessian, outer, degrees = np.zeros((n, n)), np.zeros((n, n)), 0
    informing = lost = np.zeros(n, np.int64)
    residuals = np.zeros((2, 2))
    settled = order.settled
    if len(held):
        cleaned = held if settled is None else given_back(held, settled.held)
        ignored = None if settled is None else settled.ignored
        there = frontier if settled is None else efficient_frontier(settled.problem, settled.theta)
        info = information(there, cleaned, ignored=ignored, noise_sd=order.noise_sd)
        hessian, outer, degrees = info.hessian, info.outer, info.degrees
        clear = clear_of_bounds(there, info.projection, order.noise_sd)
        informing = np.sum(info.informs & clear, axis=0, dtype=np.int64)
        lost = unexplained(info, held, order.noise_sd).sum(axis=0)
        near = info.projection.distances <= order.threshold
        residuals = np.array(list(residual_sums(there, cleaned, info.projection, near)))
    return Assigned(
        rows, len(held), int(np.sum(inside != kept)),
        float(np.sum(projection.distances[kept] ** 2)),
        (held.sum(axis=0), float(np.sum(held**2))), np.bincount(weights, minlength=WEIGHT_BINS),
        hessian, outer, degrees, informing, lost, (order.small < held).sum(axis=0), residuals,
    )  # fmt: skip
