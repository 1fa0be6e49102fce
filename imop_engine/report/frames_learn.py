"""The tables behind the charts of a run: under way, finished, and beside another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.arguments import Vector
from imop_engine.frontier import Frontier, efficient_frontier, risk_of
from imop_engine.problem import Problem
from imop_engine.report.frames import weight_edges
from imop_engine.sentences.numbers import aversion, explained

OTHERS: Final = "other assets"
# What is known of a return is where it is not: it has an end or two, and no estimate.
OPEN: Final = ("bounded above", "bounded below", "bounded", "not seen")
# Assets with a line or an area of their own; the rest is drawn as one.
MOST_ASSETS: Final = 8
# Points along a curve that is drawn many times a minute.
LIVE_POINTS: Final = 50
LIVE_CURVES: Final = 6
LIVE_ROUNDS: Final = 120
COMPOSITION_POINTS: Final = 120
BAND_POINTS: Final = 100
INFORMED: Final = ("identified", "anchored", "relative")
MOSTLY_FIXED: Final = 0.95  # share of a portfolio in assets whose return is fixed


def losses(trail: Sequence[Any]) -> pd.DataFrame:
    """first, last, loss: the mean loss of the portfolios of each step."""
    rows, first = [], 1
    for step in trail:
        if np.isfinite(step.loss) and step.done >= first:
            rows.append({"first": first, "last": step.done, "loss": float(step.loss)})
            first = step.done + 1
    return pd.DataFrame(rows, columns=["first", "last", "loss"])


def named_assets(names: Sequence[str], portfolios: Any) -> list[str]:
    """The assets that have a colour of their own in every chart: those held most, in their order.

    Args:
        names: All assets.
        portfolios: Holdings, one row for each investor.
    """
    held = np.asarray(portfolios, dtype=float)
    if len(names) <= MOST_ASSETS or not len(held):
        return list(names[:MOST_ASSETS])
    most = np.argsort(-held.mean(axis=0), kind="stable")[: MOST_ASSETS - 1]
    return [names[i] for i in np.sort(most)]


def estimates(
    trail: Sequence[Any], names: Sequence[str], coloured: Sequence[str] | None = None
) -> pd.DataFrame:
    """seen, asset, estimate, place: a line for each asset that has a colour.

    Args:
        trail: What was estimated after how many portfolios.
        names: The assets.
        coloured: Those with a colour of their own (`named_assets`); None takes those that moved
            most, at most MOST_ASSETS.
    """
    # A logarithm has no zero: before the first portfolio there is nothing to see anyway.
    begun = [step for step in trail if step.done > 0] or list(trail)
    theta = np.array([step.theta for step in begun])
    seen = np.array([max(1, step.done) for step in begun])
    if coloured is None:
        moved = np.abs(theta - theta[-1]).max(axis=0)
        shown = np.sort(np.argsort(-moved, kind="stable")[:MOST_ASSETS])
    else:
        shown = np.array([list(names).index(name) for name in coloured], dtype=int)
    return pd.DataFrame(
        {
            "seen": np.tile(seen, len(shown)),
            "asset": np.repeat([names[i] for i in shown], len(seen)),
            "estimate": theta[:, shown].T.ravel(),
            "place": np.repeat(np.arange(len(shown)), len(seen)),
        }
    )


def kept_estimates(study: Any) -> pd.DataFrame | None:
    """seen, asset, estimate, place while a finished study learned; None where that was not kept.

    The last point of each line is what the table of returns says; a return that is only bounded
    has no such point, as it has no estimate.
    """
    history = study.state.learned.history
    rounds, thetas = history.rounds, history.theta
    if len(rounds) < 2:
        return None
    keep = np.unique(np.geomspace(1, len(rounds), LIVE_ROUNDS).astype(int)) - 1
    points = [_EstimateAfter(int(rounds[i]), thetas[i]) for i in keep]
    last = _EstimateAfter(int(rounds[-1]), study.frame_returns["estimate"].to_numpy(dtype=float))
    coloured = named_assets(study.problem.names, study.decisions)
    table = estimates([*points, last], study.problem.names, coloured)
    return table.dropna(subset="estimate").reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class _EstimateAfter:
    """An estimate after some portfolios."""

    done: int
    theta: Vector


def moving_curves(problem: Problem, trail: Sequence[Any]) -> pd.DataFrame:
    """step, seen, weight, risk, return: the newest frontier (step 1) and some before it."""
    at = np.unique(np.linspace(0, len(trail) - 1, LIVE_CURVES).astype(int))[::-1]
    parts = []
    for step, position in enumerate(at, start=1):
        theta = trail[position].theta
        weights, portfolios = efficient_frontier(problem, theta).sample(LIVE_POINTS)
        parts.append(
            pd.DataFrame(
                {
                    "step": step,
                    "seen": trail[position].done,
                    "weight": weights,
                    "risk": risk_of(problem, portfolios),
                    "return": portfolios @ theta,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def composition(frontier: Frontier, coloured: Sequence[str] | None = None) -> pd.DataFrame:
    """risk, weight, asset, share, order, place along a frontier; the rest together as OTHERS.

    Args:
        frontier: Of a portfolio problem.
        coloured: Assets with a colour of their own (`named_assets`); None takes those of which the
            frontier has most.
    """
    weights, portfolios = frontier.sample(COMPOSITION_POINTS)
    names = list(frontier.problem.names)
    largest = np.argsort(-portfolios.max(axis=0), kind="stable")
    held = [i for i in largest if portfolios[:, i].max() > 0]
    own = held if len(held) <= MOST_ASSETS else held[: MOST_ASSETS - 1]
    places = list(names) if coloured is None else list(coloured)
    if coloured is not None:
        own = [i for i in held if names[i] in places]
    else:
        places = [names[i] for i in sorted(own)]
    rest = [i for i in held if i not in own]
    # Stacked from what careful investors hold to what bold ones hold, so that areas flow.
    centre = {i: float(np.average(np.arange(len(weights)), weights=portfolios[:, i])) for i in own}
    own = sorted(own, key=centre.__getitem__)
    columns = [(names[i], portfolios[:, i]) for i in own]
    if rest:
        columns.append((OTHERS, portfolios[:, rest].sum(axis=1)))
    risk = risk_of(frontier.problem, portfolios)
    parts = [
        pd.DataFrame(
            {
                "risk": risk,
                "weight": weights,
                "asset": name,
                "share": share,
                "order": k,
                "place": places.index(name) if name in places else -1,
            }
        )
        for k, (name, share) in enumerate(columns)
    ]
    return pd.concat(parts, ignore_index=True)


def compared_returns(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """asset, run, estimate, low, high of two runs, for the assets both have, ends made finite."""
    common = [asset for asset in left["asset"] if asset in set(right["asset"])]
    parts = []
    for run, table in (("A", left), ("B", right)):
        part = table.set_index("asset").loc[common, ["estimate", "low", "high"]].reset_index()
        finite = np.isfinite(part["low"]) & np.isfinite(part["high"])
        part["low"] = part["low"].where(finite, part["estimate"])
        part["high"] = part["high"].where(finite, part["estimate"])
        parts.append(part.assign(run=run))
    return pd.concat(parts, ignore_index=True)


def compared_table(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """asset, A, B and B − A, with the status in each."""
    a, b = left.set_index("asset"), right.set_index("asset")
    common = [asset for asset in left["asset"] if asset in b.index]
    return pd.DataFrame(
        {
            "asset": common,
            "A": a.loc[common, "estimate"].to_numpy(),
            "B": b.loc[common, "estimate"].to_numpy(),
            "difference": (b.loc[common, "estimate"] - a.loc[common, "estimate"]).to_numpy(),
            "status A": a.loc[common, "status"].to_numpy(),
            "status B": b.loc[common, "status"].to_numpy(),
        }
    )


def compared_curves(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """run, weight, risk, return of two frontiers."""
    wanted = ["weight", "risk", "return"]
    return pd.concat([left[wanted].assign(run="A"), right[wanted].assign(run="B")])


def compared_weights(left: Vector, right: Vector) -> pd.DataFrame:
    """run, low, high, share of the weights of two runs, over the same bins."""
    edges = weight_edges(None)
    parts = []
    for run, weights in (("A", left), ("B", right)):
        count, _ = np.histogram(weights[np.isfinite(weights)], bins=edges)
        share = count / max(1, int(count.sum()))
        parts.append(
            pd.DataFrame({"run": run, "low": edges[:-1], "high": edges[1:], "share": share})
        )
    return pd.concat(parts, ignore_index=True)


def implied(problem: Problem, decisions: pd.DataFrame) -> Vector:
    """The returns under which the average portfolio is optimal, on the scale of the anchors.

    Reverse optimisation gives returns up to shift and scale, as portfolios do; two anchors fix
    both. Without two anchors the scale is that of a risk aversion of 2.5.
    """
    from imop_engine.inference.fit import implied_returns

    raw = implied_returns(problem, decisions.to_numpy(dtype=float).mean(axis=0))
    rows, values = problem.theta.equalities, problem.theta.values
    if len(values) < 2:
        return raw
    system = np.column_stack([rows @ raw, rows.sum(axis=1)])
    scale, shift = np.linalg.lstsq(system, values, rcond=None)[0]
    result: Vector = scale * raw + shift
    return result


def only_fixed(returns: pd.DataFrame) -> pd.DataFrame:
    """The table without estimate and error where the portfolios only bound a return.

    Where the learner left such a return says nothing: anywhere within the bounds explains the
    portfolios as well, and a reader would take the number for an answer.
    """
    known = ~returns["status"].isin(OPEN)
    columns = [name for name in ("estimate", "error") if name in returns.columns]
    return returns.assign(**{name: returns[name].where(known) for name in columns})


def fixed_error(returns: pd.DataFrame) -> float | None:
    """Norm of the errors of the returns that are identified or anchored; None without a truth.

    What is only bounded has no estimate to speak of, so it has no error either.
    """
    if "error" not in returns.columns:
        return None
    fixed = returns["status"].isin(["identified", "anchored"])
    return float(np.linalg.norm(returns.loc[fixed, "error"]))


def band(study: Any) -> pd.DataFrame | None:
    """risk, low, high: where the estimated frontier lies; None where that cannot be said.

    Only where it is made of assets whose return the portfolios fix: elsewhere it could lie
    anywhere within the bounds, and a band would say no more than that.
    """
    known = study.identification
    if known is None:
        return None
    table: pd.DataFrame = known.band(study.frontier, BAND_POINTS)
    _, portfolios = study.frontier.sample(BAND_POINTS)
    informed = np.array([status in INFORMED for status in known.status])
    fixed = portfolios[:, informed].sum(axis=1) >= MOSTLY_FIXED
    return table.loc[fixed, ["risk", "low", "high"]].reset_index(drop=True) if fixed.any() else None


def _text(form: str | Callable[[float], str], value: float) -> str:
    return form.format(value) if isinstance(form, str) else form(value)


def compared_figures(left: dict[str, Any], right: dict[str, Any]) -> pd.DataFrame:
    """figure, A, B: the numbers of two runs, each as text in its own unit."""
    shown: dict[str, tuple[str, str | Callable[[float], str]]] = {
        "Investors learned from": ("rounds", "{:,.0f}"),
        "Holdings explained": ("explained", explained),
        "Outliers": ("outliers", "{:,.0f}"),
        "Left on the table, mean per year": ("mean_gap", "{:.3%}"),
        "Outliers by what they leave": ("gap_outliers", "{:,.0f}"),
        "Median weight on return": ("median_weight", "{:.3f}"),
        "Median risk aversion": ("median_risk_aversion", aversion),
        "Updates certified": ("certified", "{:.1%}"),
        "Error against the truth": ("raw_error", "{:.4f}"),
        "Error after shift and scale": ("aligned_error", "{:.4f}"),
        "Seconds": ("seconds", "{:.2f}"),
    }
    rows = []
    for label, (name, form) in shown.items():
        values = [figures.get(name) for figures in (left, right)]
        if any(value is not None for value in values):
            texts = ["–" if value is None else _text(form, value) for value in values]
            rows.append({"figure": label, "A": texts[0], "B": texts[1]})
    return pd.DataFrame(rows)
