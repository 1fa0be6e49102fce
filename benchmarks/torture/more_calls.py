"""The public functions that read, write, simulate and compare, each with arguments that are right.

Together with those in fuzz.py they are all functions that users import; a test compares the lists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market, sample_portfolios
from imop_engine.limit_prices import limit_prices
from imop_engine.limit_text import parse_limits
from imop_engine.limits import Limits
from imop_engine.market import Market
from imop_engine.moments import estimate_moments
from imop_engine.scale.learn import learn_population
from imop_engine.simulate import simulate_investors
from imop_engine.study.scoring import score_study
from imop_engine.tables import (
    portfolio_chunks,
    read_asset_groups,
    read_asset_map,
    read_mandates,
    read_moments,
    read_portfolios,
    read_returns,
    read_yahoo,
)
from imop_engine.tables.parts import array_parts
from imop_engine.workers import open_workers

Calls = dict[str, tuple[Callable[..., Any], dict[str, Any]]]
DATES = ("2020-01-31", "2020-02-29", "2020-03-31", "2020-04-30")


def listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes steps or chunks, run to its end."""

    @functools.wraps(function)
    def run(**given: Any) -> list[Any]:
        return list(function(**given))

    return run


def entered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a context, entered and left."""

    @functools.wraps(function)
    def run(**given: Any) -> Any:
        with ExitStack() as stack:
            return stack.enter_context(function(**given))

    return run


def shortened(function: Callable[..., Any], **given: Any) -> Callable[..., Any]:
    """A function that does less than it would where an argument is left out."""
    return functools.wraps(function)(functools.partial(function, **given))


def more_calls(folder: Path) -> Calls:
    """Public functions beside those of fuzz.py, each with arguments that are right.

    Args:
        folder: Where files are written that some of them read.
    """
    return {**_of_tables(folder), **_of_problems(), **_of_studies(folder), **_of_others()}


def _of_tables(folder: Path) -> Calls:
    prices = "date,A,B\n" + "".join(f"{day},0.0{i},0.02\n" for i, day in enumerate(DATES))
    people = b"client,A,B\nx,0.1,0.9\ny,0.5,0.5\n"
    (folder / "clients.csv").write_bytes(people)
    return {
        "read_returns": (
            read_returns,
            {
                "source": prices.encode(), "name": "f.csv", "kind": "auto", "units": "auto",
                "layout": "auto", "sheet": None, "strict": False, "roles": None,
                "periods_per_year": None, "decimal": "auto", "dates": "auto", "jumps": "keep",
            },
        ),
        "read_portfolios": (
            read_portfolios,
            {
                "source": people, "assets": ["A", "B"], "name": "f", "roles": None,
                "sums": "rescale", "unknown": "drop", "coverage": 0.8, "negative": "refuse",
                "duplicates": "first", "snapshots": "latest", "drift": "keep", "returns": None,
                "rates": None, "asset_map": None, "tolerance": 0.02, "units": "auto",
                "layout": "auto", "sheet": None, "decimal": "auto", "dates": "auto",
                "strict": False,
            },
        ),
        "read_moments": (
            read_moments,
            {
                "returns_source": b"asset,expected\nA,.1\nB,.2\n",
                "covariance_source": b",A,B\nA,0.04,0\nB,0,0.09\n", "names": ("r", "c"),
                "decimal": "auto", "repair": False,
            },
        ),
        "read_asset_map": (read_asset_map, {"source": b"asset,isin\nA,B\n", "name": "map.csv"}),
        "read_asset_groups": (
            read_asset_groups,
            {"source": b"asset,sector\nA,x\nB,y\n", "names": ("A", "B"), "name": "groups.csv"},
        ),
        "read_mandates": (
            read_mandates, {"source": b"mandate,limit\nm,A <= 30%\n", "name": "mandates.csv"}
        ),
        "portfolio_chunks": (
            listed(portfolio_chunks),
            {"path": str(folder / "clients.csv"), "assets": ["A", "B"], "rows": 2},
        ),
        # never with a network: what is asked is what it makes of its arguments
        "read_yahoo": (
            shortened(read_yahoo, offline=True),
            {
                "tickers": ["AAPL"], "start": "2020-01-01", "end": None, "frequency": "monthly",
                "folder": folder / "cache", "deadline": 1.0, "max_age_hours": 24.0, "retries": 0,
                "strict": False,
            },
        ),
    }  # fmt: skip


def _of_problems() -> Calls:
    paper = market("paper8")
    names, theta = paper.names, paper.expected_returns
    problem = imop.portfolio_problem(paper.covariance, names=names, bounds=(-1.0, 1.0))
    Y = simulate_investors(problem, theta, 30, rng=np.random.default_rng(0)).portfolios
    drawn = np.random.default_rng(1).multivariate_normal(theta / 12, paper.covariance / 12, 36)
    history = pd.DataFrame(drawn, columns=list(names))
    scored = imop.score_problem(paper.covariance_by_asset, np.linspace(0.0, 1.0, 8))
    frontier = imop.efficient_frontier(problem, theta)
    anchored = imop.anchor_by_history(problem, theta, Y)
    learner = imop.OnlineLearner(problem, 5)
    learner.partial_fit(Y[:5])
    given: dict[str, Any] = {"problem": problem, "theta": theta, "decision": Y[0], "weight": 0.5}
    free = {"upper": 1.0, "bounds": (0.0, 1.0), "anchors": None}
    return {
        "LinearLimit": (
            imop.LinearLimit,
            {"holdings": {"Security 1": 1.0}, "relation": "<=", "value": 0.3, "name": "a"},
        ),
        "portfolio_problem with limits": (
            imop.portfolio_problem,
            {
                "covariance": paper.covariance, "names": names, "lower": 0.0, "upper": 1.0,
                "limits": [({"Security 1": 1.0, "Security 2": 1.0}, "<=", 0.3)],
                "benchmark": np.full(8, 0.125),
                "active_limits": [({"Security 3": 1.0}, "<=", 0.1)],
            },
        ),
        "affine_problem": (
            imop.affine_problem,
            {
                "Q": [np.eye(2), np.eye(2)], "linear0": np.zeros((2, 2)),
                "linear": np.zeros((2, 2, 2)), "A": [[1.0, 1.0]], "rhs0": [-4.0],
                "rhs": np.zeros((1, 2)), "bounds": (-1.0, 1.0), "lower": 0.0, "upper": 5.0,
            },
        ),
        "convex_problem": (
            imop.convex_problem,
            {
                **_program(), "bounds": (-1.0, 1.0), "anchors": None, "names": ["A", "B"],
                "theta_names": None, "solver": "CLARABEL", "native": True,
            },
        ),
        "risk_problem": (
            imop.risk_problem,
            {
                "history": history, "risk": "mad", "previous": np.full(8, 0.125), "cost": 0.001,
                **free,
            },
        ),
        "score_problem": (
            imop.score_problem,
            {"covariance": paper.covariance, "scores": np.linspace(0.0, 1.0, 8), **free},
        ),
        "efficient_surface": (
            imop.efficient_surface,
            {"problem": scored, "theta": theta, "change": 0.3, "corners": 20},
        ),
        "fit_score": (
            imop.fit_score, {"problem": scored, "decisions": Y[:8], "theta0": theta}
        ),
        "compare_risks": (
            shortened(imop.compare_risks, risks=("variance", "mad")),
            {
                "history": history, "portfolios": Y[:20], "risks": ("variance", "mad"),
                "upper": 1.0, "folds": 2, "seed": 0, "progress": None,
            },
        ),
        "bootstrap": (
            shortened(imop.bootstrap, draws=20),
            {
                "problem": anchored, "decisions": Y, "theta": theta, "draws": 20, "seed": 0,
                "workers": None, "progress": None,
            },
        ),
        "frontier_band": (
            imop.frontier_band,
            {
                "known": imop.identification(anchored, theta, Y), "frontier": frontier, "count": 5
            },
        ),
        "gap_segments": (
            imop.gap_segments,
            {"gaps": imop.measure_gaps(frontier, Y), "attribute": ["a"] * len(Y)},
        ),
        "local_identification": (
            imop.local_identification, {"problem": problem, "theta": theta, "weights": 5}
        ),
        "suboptimality": (imop.suboptimality, given),
        "suboptimality_update": (imop.suboptimality_update, {**given, "rate": 1.0}),
        "summarize": (imop.summarize, {"learner": learner, "decisions": Y, "truth": theta}),
        "simulate_investors": (
            simulate_investors,
            {
                "problem": problem, "theta": theta, "count": 5, "weights": "normal", "mean": 0.5,
                "sd": 0.15, "noise": "round", "noise_level": 0.001,
                "rng": np.random.default_rng(2),
            },
        ),
        "limit_prices": (
            limit_prices,
            {
                "covariance": paper.covariance, "theta": theta, "limits": Limits(upper=0.5),
                "names": names, "points": 5,
            },
        ),
    }  # fmt: skip


def _program() -> dict[str, Any]:
    """A program of two assets written in cvxpy."""
    import cvxpy

    cp: Any = cvxpy
    x, r = cp.Variable(2), cp.Parameter(2)
    return {
        "objectives": [-r @ x, cp.sum_squares(x)], "constraints": [cp.sum(x) == 1, x >= 0],
        "decision": x, "theta": r,
    }  # fmt: skip


def _of_studies(folder: Path) -> Calls:
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    drawn = simulate_investors(problem, paper.expected_returns, 40, rng=np.random.default_rng(3))
    Y = drawn.portfolios
    moments = {
        "expected_returns": paper.returns_by_asset, "covariance": paper.covariance_by_asset
    }  # fmt: skip
    quick = imop.StudySettings(start="zero", refine=False)
    streamed = imop.run_study(**moments, portfolios=Y, settings=quick)
    fitted = imop.run_study(**moments, portfolios=Y, settings=imop.StudySettings())
    calls: Calls = {
        "study_steps": (
            listed(imop.study_steps),
            {
                **moments, "portfolios": Y[:8], "settings": quick, "months": None,
                "history": None, "truth": None, "attributes": None, "dates": None, "notes": (),
                "reading": (), "state": None,
            },
        ),
        "more_steps": (
            listed(imop.more_steps),
            {"study": streamed, "portfolios": Y[:3], "attributes": None, "dates": None},
        ),
        "save_study": (
            imop.save_study,
            {
                "study": streamed, "folder": folder / "saved", "command": "", "also": (),
                "beside": None, "report": False,
            },
        ),
        "export_study": (
            imop.export_study, {"study": streamed, "path": folder / "study.xlsx"}
        ),
        "resample": (
            shortened(imop.resample, draws=20),
            {"study": fitted, "draws": 20, "seed": 0, "progress": None}
        ),
        "sensitivity": (imop.sensitivity, {"study": fitted}),
        "score_study": (
            score_study,
            {
                "study": fitted, "scores": np.linspace(0.0, 1.0, 8),
                "anchors": dict(zip(paper.names[:6:2], paper.expected_returns[:6:2], strict=True)),
            },
        ),
    }  # fmt: skip
    if find_spec("pypfopt") and find_spec("skfolio"):
        from pypfopt import EfficientFrontier  # type: ignore[import-untyped]

        from imop_engine.handover import add_limits, skfolio_limits, to_pypfopt, to_skfolio

        calls["to_pypfopt"] = (to_pypfopt, {"study": fitted})
        calls["to_skfolio"] = (to_skfolio, {"study": fitted, "periods_per_year": 12})
        limited = imop.portfolio_problem(
            paper.covariance, names=paper.names, limits=[({"Security 1": 1.0}, "<=", 0.3)]
        )
        calls["skfolio_limits"] = (skfolio_limits, {"problem": limited})
        optimiser = EfficientFrontier(*to_pypfopt(fitted))
        calls["add_limits"] = (add_limits, {"optimiser": optimiser, "problem": limited})
    return calls


def _of_others() -> Calls:
    paper = market("paper8")
    Y = sample_portfolios().set_index("investor")[list(paper.names)].to_numpy(float)[:60]
    drawn = np.random.default_rng(1).normal(0.005, 0.03, (30, 3))
    with open_workers("here") as here:
        pass
    return {
        "market": (market, {"name": "paper8"}),
        "sample_portfolios": (sample_portfolios, {"form": "wide"}),
        "estimate_moments": (
            estimate_moments,
            {
                "returns": pd.DataFrame(drawn, columns=["A", "B", "C"]), "mean": "arithmetic",
                "covariance": "sample", "periods_per_year": 12, "half_life": None,
                "gaps": "likelihood", "repair": False,
            },
        ),
        "Market.of": (
            Market.of,
            {"expected_returns": [0.03, 0.07], "covariance": np.diag([0.002, 0.03]),
             "names": ["bonds", "stocks"], "months": 60},
        ),
        "Market.with_cash": (paper.with_cash, {"name": "Cash", "rate": 0.02, "risk": 0.005}),
        "parse_limits": (
            parse_limits,
            {"texts": ["Security 1 <= 30%"], "names": paper.names, "groups": None,
             "benchmark": None},
        ),
        "open_workers": (entered(open_workers), {"where": "here", "count": 1, "memory": None}),
        "learn_population": (
            learn_population,
            {
                "market": paper, "parts": array_parts(Y, 30), "folder": Path("learned"),
                "workers": here, "settings": None, "columns": None, "sampled": 60,
                "enough": 0.001,
            },
        ),
    }  # fmt: skip
