"""Nasty calls of the Python API: each gives an answer or ends in our own error.

A call starts from arguments that are right; one or two of them are replaced by something nasty:
nothing, infinities, texts, other shapes, other types, numbers of four hundred digits. The seed
makes the calls; no call may take more than ten processor seconds.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import ImopError
from imop_engine.simulate import simulate_investors

from .more_calls import Calls, more_calls
from .verdicts import Trial

LONGEST: Final = 10.0  # processor seconds


class TooLong(BaseException):
    """A call took longer than any may."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what takes more processor time than that."""

    def over(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def nasty(rng: np.random.Generator) -> Any:
    """Something that nobody should give."""
    values: list[Any] = [
        None, float("nan"), float("inf"), -float("inf"), -1, 0, -1e-9, 1e308, -1e308, 10**400, True,
        "", "abc", "1", "exact", "é\x00", b"x", 1j, [], [[]], [float("nan")], [[1.0, 2.0], [3.0]],
        {}, {"a": "b"}, set(), object(), len, range(3), np.array([]), np.zeros((3, 3, 3)),
        -np.eye(8), np.full(8, np.nan), np.full((2, 8), np.inf), np.array(["a"] * 8),
        np.array([None] * 8), np.zeros(9), np.ones((8, 9)), 1e-320 * np.eye(8), 1e300 * np.eye(8),
        pd.DataFrame(), pd.DataFrame({"a": ["x"]}), pd.Series(["x"] * 8), pd.NaT, Path("nowhere"),
        np.datetime64("2020-01-01"), (1,), (1.0, 0.0), ("a", "b"), np.int8(-3), np.float32(2.5),
        3.5, "41", {"Security 1": float("nan")}, [("Security 1", 0.1)], [np.zeros(8)],
        np.random.default_rng(0), Exception("x"), frozenset([1]), np.ma.masked, memoryview(b"ab"),
    ]  # fmt: skip
    return values[int(rng.integers(len(values)))]


def right_calls(folder: Path) -> Calls:
    """Public functions, each with arguments that are right.

    Args:
        folder: Where files are written that some of them read.
    """
    return {**_core_calls(), **more_calls(folder)}


def _core_calls() -> Calls:
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names, bounds=(-1.0, 1.0))
    theta = paper.expected_returns
    rng = np.random.default_rng(0)
    Y = simulate_investors(problem, theta, 30, rng=rng).portfolios
    frontier = imop.efficient_frontier(problem, theta)
    anchored = imop.anchor_by_history(problem, theta, Y)
    preferences = imop.investor_preferences(frontier, Y)
    settings = imop.StudySettings(start="zero", refine=False)
    given: dict[str, Any] = {"problem": problem, "theta": theta, "decisions": Y}
    curved = imop.quadratic_problem(
        [np.eye(2), 2.0 * np.eye(2)], [[-1.0, 0.0], [0.0, -1.0]], [[-1.0, -1.0]], [-4.0], upper=5.0
    )
    calls: Calls = {
        "portfolio_problem": (
            imop.portfolio_problem,
            {
                "covariance": paper.covariance, "upper": 1.0, "bounds": (0.0, 1.0),
                "anchors": {"Security 1": 0.1}, "names": paper.names, "undetermined": False,
            },
        ),
        "quadratic_problem": (
            imop.quadratic_problem,
            {
                "Q": [np.eye(2), np.eye(2)], "c": [[-1.0, 0.0], [0.0, -1.0]], "A": [[1.0, 1.0]],
                "b": [4.0], "learn": "c", "bounds": (-10.0, 10.0), "lower": 0.0, "upper": 5.0,
            },
        ),
        "efficient_frontier": (imop.efficient_frontier, {"problem": problem, "theta": theta}),
        "frontier.at": (frontier.at, {"weight": 0.5}),
        "frontier.project": (frontier.project, {"decisions": Y}),
        "frontier.sample": (frontier.sample, {"count": 5}),
        "solve": (imop.solve, {"problem": problem, "theta": theta, "weight": 0.5}),
        "implicit_update": (
            imop.implicit_update,
            {
                "problem": problem, "theta": theta, "decision": Y[0], "weight": 0.5, "rate": 5.0,
                "node_limit": 2000,
            },
        ),
        "batch_update": (
            imop.batch_update,
            {
                "problem": problem, "theta": theta, "decisions": Y[:2], "weights": [0.4, 0.6],
                "rate": 5.0, "node_limit": 50,
            },
        ),
        "fit_batch": (
            imop.fit_batch,
            {"problem": problem, "decisions": Y[:4], "weights": 5, "iterations": 2},
        ),
        "efficiency": (imop.efficiency, given),
        "efficiency_update": (
            imop.efficiency_update,
            {"problem": problem, "theta": theta, "decision": Y[0], "rate": 5.0},
        ),
        "fit_efficiency": (
            imop.fit_efficiency,
            {"problem": anchored, "decisions": Y[:8], "theta0": theta},
        ),
        "risk_aversion": (imop.risk_aversion, {"weight": 0.5}),
        "aligned_error": (imop.aligned_error, {"estimate": theta, "truth": theta}),
        "implied_returns": (
            imop.implied_returns,
            {"problem": problem, "portfolio": Y[0], "risk_aversion": 2.5},
        ),
        "measure_fit": (imop.measure_fit, {"frontier": frontier, "decisions": Y, "limit": None}),
        "compare_fit": (
            imop.compare_fit,
            {"problem": problem, "estimate": theta, "decisions": Y, "history": theta},
        ),
        "measure_gaps": (imop.measure_gaps, {"frontier": frontier, "decisions": Y}),
        "anchor_by_history": (
            imop.anchor_by_history,
            {"problem": problem, "expected_returns": theta, "decisions": Y},
        ),
        "history_anchors": (
            imop.history_anchors,
            {"problem": problem, "expected_returns": theta, "decisions": Y},
        ),
        "with_anchors": (
            imop.with_anchors,
            {"problem": problem, "anchors": {"Security 1": 0.1}, "undetermined": False},
        ),
        "identification": (
            imop.identification,
            {"problem": anchored, "theta": theta, "decisions": Y, "level": 0.9, "noise_sd": 0.001,
             "seed": 0},
        ),
        "refine": (imop.refine, {"problem": anchored, "decisions": Y, "theta": theta}),
        "polish": (imop.polish, {"problem": anchored, "decisions": Y, "theta": theta}),
        "investor_preferences": (
            imop.investor_preferences,
            {"frontier": frontier, "decisions": Y, "level": 0.9, "noise_sd": 0.01},
        ),
        "preference_segments": (
            imop.preference_segments,
            {"preferences": preferences, "attribute": ["a"] * len(Y)},
        ),
        "weight_distribution": (
            imop.weight_distribution,
            {"weights": np.linspace(0.2, 0.8, 30), "families": ("normal",)},
        ),
        "constants": (imop.constants, {"problem": curved, "radius": 5.0}),
        "OnlineLearner": (
            imop.OnlineLearner,
            {
                "problem": problem, "weights": 5, "algorithm": "accelerated", "rate": 5.0,
                "theta0": theta, "backend": "native", "node_limit": 2000, "batch": 1,
                "forgetting": 1.0, "loss": "distance",
            },
        ),
        "partial_fit": (imop.OnlineLearner(problem, 5).partial_fit, {"decisions": Y[:3]}),
        "StudySettings": (
            imop.StudySettings,
            {
                "weights": 5, "rate": 5.0, "anchors": None, "upper": 1.0, "bounds": (-1.0, 1.0),
                "level": 0.9, "seed": 0, "start": "zero", "by": None, "forgetting": 1.0,
                "errors": "auto", "loss": "distance",
            },
        ),
        "run_study": (
            imop.run_study,
            {
                "expected_returns": paper.returns_by_asset, "portfolios": Y,
                "covariance": paper.covariance_by_asset, "settings": settings, "truth": None,
                "attributes": None, "dates": None, "months": None, "history": None, "notes": (),
            },
        ),
        "load_study": (imop.load_study, {"folder": "nowhere"}),
    }  # fmt: skip
    return calls


def api_calls(count: int, seed: int) -> Iterator[Trial]:
    """Make nasty calls of the Python API.

    Args:
        count: How many.
        seed: Of the calls.
    """
    # some functions write where they are told to, and a folder may be called anything
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        calls = right_calls(Path(folder))
        yield from _api_calls(calls, count, seed)


def _api_calls(calls: Calls, count: int, seed: int) -> Iterator[Trial]:
    names = list(calls)
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        name = names[number % len(names)]
        function, right = calls[name]
        arguments = dict(right)
        for key in rng.choice(list(arguments), size=int(rng.integers(1, 3))):
            if rng.random() < 0.05:
                arguments.pop(str(key), None)
            elif rng.random() < 0.03:
                arguments[f"{key}_"] = nasty(rng)
            else:
                arguments[str(key)] = nasty(rng)
        changed = {key: one for key, one in arguments.items() if right.get(key) is not one}
        what = f"{name}({', '.join(f'{key}={one!r:.60}' for key, one in changed.items())})"
        yield judged(what, lambda: function(**arguments))  # noqa: B023


def judged(what: str, call: Callable[[], Any]) -> Trial:
    """How a call ended.

    Args:
        what: The call in words.
        call: The call.
    """
    try:
        with limited(LONGEST), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except ImopError as error:
        remedy = len(str(error)) > 15
        return Trial(what, "refused" if remedy else "without a remedy", str(error))
    except TooLong:
        return Trial(what, "hangs")
    except BaseException as error:
        return Trial(what, "foreign", f"{type(error).__name__}: {error}")
    return Trial(what, "right")
