"""What one part of the portfolios says; what all of them say is the sum.

Each function here is called with a part and with what is common to all parts, wherever that is: in
this process, in another, on another machine. It reads the part's rows a chunk at a time, keeps none
of them and gives back sums, so that memory depends on the number of assets alone. Two things grow
with the investors: their variances, eight bytes each, which the convex fit needs, and one bit that
says who takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Matrix, Vector
from imop_engine.efficiency_gap.sample import Sample
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.anchors import much_of
from imop_engine.inference.belief_sums import BeliefSums, belief_sums
from imop_engine.inference.estimating_equations import ScoreSums
from imop_engine.inference.first_order import Positions
from imop_engine.inference.held_assets import given_back
from imop_engine.inference.information import information
from imop_engine.problem import Problem
from imop_engine.tables.parts import Part, Rows, file_parts, read_part

EXAMPLES: Final = 5  # refused rows of a part that are told


@dataclass(frozen=True)
class Columns:
    """What is read of a file: holdings, and what else is known of an investor."""

    assets: tuple[str, ...]
    investor: str | None = None
    by: str | None = None

    @property
    def also(self) -> tuple[str, ...]:
        """Those that are no assets."""
        found = [name for name in (self.investor, self.by) if name is not None]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class Lot:
    """A part, and who of its portfolios takes part: a bit each; None where that is not known."""

    part: Part
    kept: bytes | None = field(default=None, repr=False)

    def chunks(self, columns: Columns, beside: bool = False) -> Iterator[tuple[Rows, Any]]:
        """Its rows, a chunk at a time, and who of the good ones takes part (None: not known).

        Args:
            columns: what is read.
            beside: whether columns that are no assets are read along.
        """
        bits = None if self.kept is None else np.frombuffer(self.kept, np.uint8)
        done = 0
        for rows in read_part(self.part, columns.assets, columns.also if beside else ()):
            count = int(rows.good.sum())
            here = None if bits is None else unpacked(bits, done, count)
            done += count
            yield rows, here


def packed(kept: NDArray[np.bool_]) -> bytes:
    """A bit for each investor.

    >>> unpacked(np.frombuffer(packed(np.array([True, False, True])), np.uint8), 1, 2).tolist()
    [False, True]
    """
    return np.packbits(kept).tobytes()


def unpacked(bits: NDArray[np.uint8], first: int, count: int) -> NDArray[np.bool_]:
    """Some of the bits that `packed` made.

    Args:
        bits: all of them.
        first: the place of the first that is wanted.
        count: how many.
    """
    low, high = first // 8, -(-(first + count) // 8)
    return np.unpackbits(bits[low:high])[first - 8 * low :][:count].astype(bool)


def parts_of_file(path: str, columns: Columns) -> list[Part]:
    """The parts of one file, its first row being the first.

    Args:
        path: the file.
        columns: what it must have.
    """
    return file_parts(Path(path), [*columns.assets, *columns.also])


# -- the first look ------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class FirstOrder:
    """What the first look is told.

    Args:
        problem: the portfolio problem, anchors or none.
        columns: what is read.
        lifts: added to variances for the convex fit, `lifts_of(problem)`.
        every: each so many-th row goes into the sample.
    """

    problem: Problem
    columns: Columns
    lifts: tuple[float, ...]
    every: int


@dataclass(frozen=True, eq=False)
class Looked:
    """What one part adds.

    Args:
        count: portfolios.
        refused: rows that are none.
        examples: some of these, as (row from 1, reason).
        much: how many hold much of each asset.
        total: the sum of the portfolios.
        squares: the sum of all squared holdings.
        sample: what the convex fit needs.
        rows: numbers of the rows in the even sample, from 0.
        holdings: their portfolios.
        beside: what else is known of them, by column.
    """

    count: int
    refused: int
    examples: tuple[tuple[int, str], ...]
    much: NDArray[np.int64]
    total: Vector
    squares: float
    sample: Sample
    rows: NDArray[np.int64]
    holdings: Matrix
    beside: dict[str, list[Any]]


def first_look(part: Part, order: FirstOrder) -> Looked:
    """Read a part once: sums, variances, and an even sample of its rows.

    Args:
        part: which.
        order: what is to be looked for.
    """
    n, columns = len(order.columns.assets), order.columns
    much, total = np.zeros(n, np.int64), np.zeros(n)
    count = refused = 0
    squares, least = 0.0, much_of(n)
    examples: list[tuple[int, str]] = []
    blocks = [Sample.of_block(order.problem, np.empty((0, n)), order.lifts)]
    numbers, chosen = [np.empty(0, np.int64)], [np.empty((0, n))]
    beside: dict[str, list[Any]] = {name: [] for name in columns.also}
    for rows, _ in Lot(part).chunks(columns, beside=True):
        Y = rows.portfolios
        count += len(Y)
        if not rows.good.all():
            refused += int((~rows.good).sum())
            reasons = rows.reasons(columns.assets)
            bad = np.flatnonzero(~rows.good)[: EXAMPLES - len(examples)]
            examples += [(rows.first + int(row) + 1, reasons[row]) for row in bad]
        much += (least < Y).sum(axis=0)
        total += Y.sum(axis=0)
        squares += float(np.sum(Y**2))
        blocks.append(Sample.of_block(order.problem, Y, order.lifts))
        places = np.arange(rows.first, rows.first + len(rows.good))
        some = rows.good & (places % order.every == 0)
        numbers.append(places[some])
        chosen.append(rows.holdings[some])
        for name, cells in rows.also.items():
            beside[name] += cells.take(np.flatnonzero(some)).to_pylist()
    return Looked(
        count, refused, tuple(examples), much, total, squares, Sample.together(blocks),
        np.concatenate(numbers), np.concatenate(chosen), beside,
    )  # fmt: skip


def bold_sums(part: Part, order: tuple[Problem, Columns, float]) -> tuple[Vector, int]:
    """The sum of the portfolios with more than a variance, and how many they are.

    Args:
        part: which.
        order: the problem, what is read, and that variance.
    """
    problem, columns, middle = order
    total, count = np.zeros(len(columns.assets)), 0
    for rows, _ in Lot(part).chunks(columns):
        Y = rows.portfolios
        bold = np.einsum("ij,jk,ik->i", Y, problem.covariance, Y) > middle
        total += Y[bold].sum(axis=0)
        count += int(bold.sum())
    return total, count


# -- settling ------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Chooser:
    """Who takes part: whoever is within a distance of the frontier of some returns."""

    problem: Problem
    theta: Vector
    limit: float

    def kept(self, Y: Matrix) -> NDArray[np.bool_]:
        """Who of them does.

        Args:
            Y: portfolios, one in each row.
        """
        if not np.isfinite(self.limit):
            return np.ones(len(Y), bool)
        distances = efficient_frontier(self.problem, self.theta).project(Y).distances
        result: NDArray[np.bool_] = distances <= self.limit
        return result


def choose(lot: Lot, order: tuple[Chooser, Columns]) -> Lot:
    """The same lot with a bit for each portfolio: whether it takes part.

    Args:
        lot: which.
        order: who does, and what is read.
    """
    chooser, columns = order
    bits = [np.empty(0, bool)]
    bits += [chooser.kept(rows.portfolios) for rows, _ in lot.chunks(columns)]
    return replace(lot, kept=packed(np.concatenate(bits)))


@dataclass(frozen=True, eq=False)
class HoldingsOrder:
    """What the estimating equations are asked at.

    Args:
        columns: what is read.
        problem: of the held assets alone.
        held: which these are; money in others is given back.
        theta: yearly returns.
        noise_sd: error in a single holding.
    """

    columns: Columns
    problem: Problem
    held: NDArray[np.bool_]
    theta: Vector
    noise_sd: float

    @property
    def ignored(self) -> NDArray[np.bool_]:
        """Assets that tell nothing."""
        result: NDArray[np.bool_] = self.problem.upper <= 0.0
        return result


def holdings_sums(lot: Lot, order: HoldingsOrder) -> ScoreSums:
    """What a lot says at some returns where errors are in holdings.

    Args:
        lot: which.
        order: at which returns.
    """
    n = order.problem.n
    found = ScoreSums(np.zeros((n, n)), np.zeros(n), 0.0, 0.0)
    frontier = efficient_frontier(order.problem, order.theta)
    for rows, kept in lot.chunks(order.columns):
        Y = given_back(rows.portfolios[kept], order.held)
        if len(Y):
            info = information(frontier, Y, ignored=order.ignored, noise_sd=order.noise_sd)
            loss = float(np.sum(info.projection.distances**2))
            found += ScoreSums(info.hessian, info.score, loss, float(len(Y)))
    return found


@dataclass(frozen=True, eq=False)
class BeliefsOrder:
    """What the likelihood is asked at.

    Args:
        columns: what is read.
        problem: the portfolio problem.
        tiny: holdings up to this are errors.
        informed: assets that enough investors hold.
        beliefs: of these, in units of the disagreement.
        size: the unit of prices, `belief_sums.size_of`.
    """

    columns: Columns
    problem: Problem
    tiny: float
    informed: NDArray[np.bool_]
    beliefs: Vector
    size: float


def beliefs_sums(lot: Lot, order: BeliefsOrder) -> BeliefSums:
    """What a lot says at some beliefs where investors differ in them.

    Args:
        lot: which.
        order: at which beliefs.
    """
    m = int(order.informed.sum())
    found = BeliefSums(0.0, np.zeros(m), np.zeros((m, m)), np.zeros((m, m)), 0.0)
    for rows, kept in lot.chunks(order.columns):
        positions = Positions.of(order.problem, rows.portfolios[kept], order.tiny)
        found += belief_sums(order.problem, positions, order.informed, order.beliefs, order.size)
    return found


def kept_total(lot: Lot, columns: Columns) -> tuple[Vector, int]:
    """The sum of the portfolios that take part, and how many they are.

    Args:
        lot: which.
        columns: what is read.
    """
    total, count = np.zeros(len(columns.assets)), 0
    for rows, kept in lot.chunks(columns):
        total += rows.portfolios[kept].sum(axis=0)
        count += int(kept.sum())
    return total, count
