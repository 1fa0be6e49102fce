"""The only file of the app that calls the engine.

Everything the pages show is computed here or in the engine, and every error the engine raises on
purpose leaves as an `AppError`, whose text is a sentence for the analyst.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import streamlit as st

import imop_engine as imop
from imop_app.settings import InvestorSettings, Settings
from imop_engine.bundled import Market, market, market_names
from imop_engine.errors import ImopError
from imop_engine.report import charts, export, frames
from imop_engine.results import Result
from imop_engine.simulate import Investors, simulate_investors

P = ParamSpec("P")
T = TypeVar("T")

# One step of learning is as many investors as fit into this time: long enough to keep drawing
# cheap beside learning, short enough for a smooth bar and a Stop that answers at once.
STEP_SECONDS: Final = 0.08
FIRST_STEP: Final = 10
# And never more than one fortieth of them, so that the errors drawn afterwards make a curve.
STEPS_AT_LEAST: Final = 40
# Below one investor in twenty an estimate rests on too few portfolios to be trusted.
RARELY_HELD: Final = 0.05
# Known returns must lie inside what the learner may answer, with room on both sides.
DEFAULT_BOUNDS: Final = (0.0, 1.0)

MARKET_TITLES: Final = {"paper8": "Eight securities (paper)", "us20": "20 large US stocks"}
PAPER_ANCHORS: Final = (0, 6)


class AppError(Exception):
    """Something the analyst can put right; the text says how."""


def _sentences(function: Callable[P, T]) -> Callable[P, T]:
    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ImopError as error:
            text = str(error)
            raise AppError(text[:1].upper() + text[1:]) from error

    return wrapped


@dataclass(frozen=True, eq=False)
class Scene:
    """A market and its simulated investors, before anything is learned."""

    market: Market
    problem: imop.Problem
    investors: Investors


@dataclass(frozen=True, eq=False)
class Picture:
    """The tables behind the charts of one scene, and of one result where there is one."""

    curves: pd.DataFrame
    cloud: pd.DataFrame
    weights: pd.DataFrame
    result: Result | None = None
    returns: pd.DataFrame | None = None
    errors: pd.DataFrame | None = None
    losses: pd.DataFrame | None = None

    @property
    def note(self) -> str:
        """What the table of returns cannot tell, in one sentence."""
        if self.returns is None:
            return ""
        silent = int((self.returns["held_by"] < RARELY_HELD).sum())
        if silent == 0:
            return "Every asset is held by enough investors to leave a trace."
        return (
            f"{silent} of {len(self.returns)} assets are held by almost nobody: portfolios say "
            "little about their returns."
        )

    def returns_csv(self) -> str:
        """The table of returns, safe to open in a spreadsheet."""
        return "" if self.returns is None else export.csv_text(self.returns)

    def investors_csv(self) -> str:
        """Each investor's inferred weight, safe to open in a spreadsheet."""
        return "" if self.result is None else export.csv_text(self.result.investors)


def market_titles() -> dict[str, str]:
    """The bundled markets by name, each with the title that the analyst reads."""
    return {name: MARKET_TITLES.get(name, name) for name in market_names()}


@st.cache_resource(show_spinner=False)
def load_market(name: str) -> Market:
    """Read a bundled market once per server; it is frozen, so sessions may share it."""
    return market(name)


@st.cache_data(show_spinner=False)
def default_anchors(name: str) -> tuple[str, str]:
    """Two assets whose returns are taken as known when the analyst has not chosen.

    For the paper's securities the two used throughout the project. Elsewhere one asset from each
    end of the frontier, because only assets that are held tie the rest to the known returns.
    """
    chosen = load_market(name)
    if name == "paper8":
        first, second = PAPER_ANCHORS
    else:
        ends = imop.efficient_frontier(_problem(chosen, ()), chosen.expected_returns).portfolios
        second = int(np.argmax(ends[-1]))
        held = ends[0].copy()
        held[second] = -np.inf
        first = int(np.argmax(held))
    return chosen.names[first], chosen.names[second]


@_sentences
def prepare(settings: Settings) -> Scene:
    """Load the market and draw the investors; the same settings give the same scene."""
    return _scene(settings.market, settings.investors, settings.learn.anchors)


@st.cache_resource(show_spinner=False, max_entries=16)
def _scene(name: str, investors: InvestorSettings, anchors: tuple[str, ...]) -> Scene:
    # The key is a handful of settings, never an array: caching by array contents would compare
    # only a sample of large ones.
    chosen = load_market(name)
    problem = _problem(chosen, anchors)
    drawn = simulate_investors(
        problem,
        chosen.expected_returns,
        investors.count,
        weights=investors.weights,
        mean=investors.mean,
        sd=investors.sd,
        noise=investors.noise,
        noise_level=investors.noise_level,
        rng=np.random.default_rng(investors.seed),
    )
    return Scene(chosen, problem, drawn)


def _problem(chosen: Market, anchors: tuple[str, ...]) -> imop.Problem:
    truth = dict(zip(chosen.names, chosen.expected_returns.tolist(), strict=True))
    low, high = DEFAULT_BOUNDS
    return imop.portfolio_problem(
        chosen.covariance,
        names=chosen.names,
        bounds=(min(low, 2 * min(truth.values())), max(high, 2 * max(truth.values()))),
        anchors={name: truth[name] for name in anchors},
    )


class Learning:
    """One run: a learner, the portfolios it is fed, and how far it has come.

    A page that is redrawn while a step is running starts a second thread on the same run, so a
    step holds a lock; whoever comes next goes on where the last step ended.
    """

    def __init__(self, settings: Settings, scene: Scene) -> None:
        self.settings = settings
        self.scene = scene
        self.seconds = 0.0
        self.learner = imop.OnlineLearner(
            scene.problem,
            weights=settings.learn.grid,
            rate=settings.learn.rate,
            theta0=_start(settings, scene),
        )
        self.picture: tuple[int, Picture] | None = None
        self._lock = threading.Lock()
        self._step = FIRST_STEP
        self._trail: list[tuple[int, float, float]] = []

    @property
    def total(self) -> int:
        """How many investors there are to learn from."""
        return len(self.scene.investors)

    @property
    def seen(self) -> int:
        """How many of them the learner has seen."""
        return int(self.learner.rounds_)

    @property
    def progress(self) -> float:
        """The share of them that the learner has seen."""
        return self.seen / self.total

    @property
    def finished(self) -> bool:
        """Whether every investor has been seen."""
        return self.seen >= self.total

    def advance(self) -> None:
        """Learn from the next few investors; does nothing once all have been seen."""
        with self._lock:
            first = self.seen
            if first >= self.total:
                return
            started = time.perf_counter()
            self.learner.partial_fit(self.scene.investors.portfolios[first : first + self._step])
            took = time.perf_counter() - started
            self.seconds += took
            pace = STEP_SECONDS / max(took, 1e-6)
            # At most twice the last step, so one lucky measurement does not freeze the page.
            largest = -(-self.total // STEPS_AT_LEAST)
            self._step = max(1, min(largest, int(self._step * min(2.0, pace))))
            estimate, truth = self.learner.theta_, self.scene.market.expected_returns
            raw = float(np.linalg.norm(estimate - truth))
            self._trail.append((self.seen, raw, imop.aligned_error(estimate, truth)))

    def trail(self) -> pd.DataFrame:
        """The errors after each step, one row per measure (round, measure, error)."""
        wide = pd.DataFrame(self._trail, columns=["round", "raw", "aligned"])
        return wide.melt("round", var_name="measure", value_name="error")


@_sentences
def start_learning(settings: Settings) -> Learning:
    """A new run with these settings, nothing learned yet."""
    return Learning(settings, prepare(settings))


@_sentences
def advance(learning: Learning) -> None:
    """One step of a run."""
    learning.advance()


def _start(settings: Settings, scene: Scene) -> np.ndarray | None:
    if settings.learn.start == "zero":
        return None
    truth = dict(zip(scene.market.names, scene.market.expected_returns, strict=True))
    known = [truth[name] for name in settings.learn.anchors]
    return np.full(len(scene.market.names), float(np.mean(known))) if known else None


@_sentences
def picture_before(settings: Settings) -> Picture:
    """The true side alone: frontier, investors and their weights."""
    scene = prepare(settings)
    truth = scene.market.expected_returns
    return Picture(
        curves=frames.curve(scene.problem, truth, charts.TRUE),
        cloud=frames.cloud(scene.problem, truth, scene.investors.portfolios),
        weights=frames.weight_bins({charts.TRUE: scene.investors.weights}, _edges(settings)),
    )


@_sentences
def picture_of(learning: Learning) -> Picture:
    """Truth and estimate side by side, for as much as has been learned.

    Kept with the run, so that a page that is redrawn does not compute it again.
    """
    if learning.picture is None or learning.picture[0] != learning.seen:
        learning.picture = (learning.seen, _picture(learning))
    return learning.picture[1]


def _picture(learning: Learning) -> Picture:
    scene, learner = learning.scene, learning.learner
    truth = scene.market.expected_returns
    seen = scene.investors.portfolios[: learning.seen]
    result = imop.summarize(learner, seen, truth=truth)
    both = {
        charts.TRUE: scene.investors.weights[: learning.seen],
        charts.ESTIMATED: result.investors["weight"].to_numpy(),
    }
    curves = [
        frames.curve(scene.problem, truth, charts.TRUE),
        frames.curve(scene.problem, learner.theta_, charts.ESTIMATED),
    ]
    return Picture(
        curves=pd.concat(curves, ignore_index=True),
        cloud=frames.cloud(scene.problem, truth, seen),
        weights=frames.weight_bins(both, _edges(learning.settings)),
        result=result,
        returns=frames.with_holders(result.returns, seen),
        errors=learning.trail(),
        losses=frames.loss_blocks(learner.losses_),
    )


def _edges(settings: Settings) -> np.ndarray:
    grid = settings.learn.grid
    return frames.weight_edges(None if grid == "exact" else grid)
