"""What a kept run says: its frontier, its returns, its investors, and how two runs differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

import imop_engine as imop
from imop_app.run_record import RunRecord
from imop_app.services.errors import AppError, sentences
from imop_app.services.opened import OPENED
from imop_app.services.opening import open_study
from imop_app.services.preparing import PREPARATION
from imop_app.store import RunStore
from imop_engine.report import (
    frames,
    frames_gaps,
    frames_learn,
    frames_people,
    frames_trust,
    style,
    trust,
)
from imop_engine.sentences import investors as say
from imop_engine.sentences import run as say_run
from imop_engine.sentences.groups import group_name
from imop_engine.sentences.numbers import MOST_AVERSE, aversion, explained, percent_cell
from imop_engine.sentences.verdict import given_anchors
from imop_engine.study import Study

# Dots on the frontier beside the histogram; chosen ones come first.
DOTS: Final = 1500
# Lines from portfolios to the frontier; more would be a grey area.
PROJECTED: Final = 400
SCALES: Final = ("weight", "risk aversion")


@dataclass(frozen=True, eq=False)
class FrontierPicture:
    """The tables behind the page of the frontier."""

    curves: pd.DataFrame
    band: pd.DataFrame | None
    cloud: pd.DataFrame
    projections: pd.DataFrame
    returns: pd.DataFrame
    composition: pd.DataFrame
    fits: pd.DataFrame
    sources: pd.DataFrame  # asset, source, share, order; empty where there are no intervals
    both: pd.DataFrame | None  # with and without those set aside; None where nobody was
    given: str  # what levels hang on, ", given the anchors"


@dataclass(frozen=True, eq=False)
class PreferencePicture:
    """The tables behind the page of preferences."""

    investors: pd.DataFrame  # id, weight, intervals, risk_aversion, distance, status, attributes
    points: pd.DataFrame  # investor, risk, return, in the order of `investors`
    curves: pd.DataFrame
    weight_bins: pd.DataFrame
    aversion_bins: pd.DataFrame
    fitted: pd.DataFrame | None
    families: pd.DataFrame | None
    family_said: str
    distances: pd.DataFrame
    threshold: float
    segments: tuple[str, ...]


@sentences
def open_run(store: RunStore, run: str | None) -> Study | None:
    """The study of a run; None where none is shown or it is gone."""
    if run is None:
        return None
    PREPARATION.require()
    try:
        location = store.location(run)
        return OPENED.get(location) or OPENED.put(location, open_study(store, run))
    except FileNotFoundError:
        return None


def record_of(store: RunStore, run: str | None) -> RunRecord | None:
    """The record of a run; None where there is none."""
    return next((one for one in (*store.list(), *store.shared()) if one.id == run), None)


def figures(study: Study) -> dict[str, Any]:
    """The run in numbers."""
    return study.figures


def aversion_said(value: float) -> str:
    """A risk aversion in words, or that it is not defined.

    Args:
        value: From the figures of a study.
    """
    return aversion(value)


def explained_said(share: float) -> str:
    """A share of holdings explained; below zero the average portfolio would have done better."""
    return explained(share)


def fixed_error(study: Study) -> float | None:
    """Distance from the truth over the returns that the portfolios fix; None without a truth."""
    return frames_learn.fixed_error(study.frame_returns)


def mean_gap_said(study: Study) -> str:
    """The mean return per year that investors leave on the table."""
    left = study.figures.get("mean_gap")
    return percent_cell(np.nan if left is None else left, 3)


def learning_history(study: Study) -> tuple[pd.DataFrame | None, pd.DataFrame]:
    """The estimates while portfolios came in, and how far each block of them was off."""
    return frames_learn.kept_estimates(study), frames.loss_blocks(study.state.learned.losses)


def effort_said(study: Study) -> str:
    """How many learning steps there were, and how many are proven to be the best possible."""
    return say_run.steps_proven(study.figures["updates"], study.figures["certified"])


def notes(study: Study) -> tuple[str, ...]:
    """What the analyst should know besides the tables; the data have their own page for theirs."""
    return tuple(note for note in study.notes if note not in study.data.notes)


def verdict(study: Study) -> dict[str, Any]:
    """The verdict on a run, in one line, and its reasons, worst first."""
    return trust.verdict_values(study)


def error_model(study: Study) -> list[str]:
    """Which errors the estimate takes investors to make, and what else was fitted."""
    return trust.way_sentences(study)


@sentences
def frontier(study: Study) -> FrontierPicture:
    """The tables behind the page of the frontier; kept with the study."""
    return _frontier(key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _frontier(key: str, _study: Study) -> FrontierPicture:
    problem, theta = _study.problem, _study.theta
    truth = _study.data.truth
    simulated = truth is not None
    if truth is not None:
        other, series = truth.to_numpy(dtype=float), style.TRUE
    else:
        other, series = _study.data.expected_returns.to_numpy(dtype=float), style.HISTORY
    implied = frames_learn.implied(problem, _study.decisions)
    curves = [
        frames.curve(problem, theta, style.ESTIMATED),
        frames.curve(problem, other, series),
    ]
    history = None if simulated else _study.data.expected_returns.to_numpy(dtype=float)
    return FrontierPicture(
        curves=pd.concat(curves, ignore_index=True),
        band=frames_learn.band(_study),
        cloud=frames_people.thinned(
            frames_people.points(problem, theta, _study.adjusted_decisions), frames.CLOUD_POINTS
        ),
        projections=frames_people.projections(
            _study.frontier, _study.adjusted_decisions, PROJECTED
        ),
        returns=returns_table(_study).assign(implied=implied),
        composition=frames_learn.composition(
            _study.frontier, frames_learn.named_assets(problem.names, _study.decisions)
        ),
        fits=_fits(imop.compare_fit(problem, theta, _study.adjusted_decisions, history=history)),
        sources=frames_trust.source_shares(_study),
        both=frames_trust.with_and_without(_study),
        given=given_anchors(len(_study.problem.theta.values)),
    )


def _fits(table: pd.DataFrame) -> pd.DataFrame:
    """The comparison as it is read: what does worse than the average portfolio explains nothing."""
    return table.assign(explained=table["explained"].map(explained))


def returns_table(study: Study) -> pd.DataFrame:
    """The table of returns to read; where the truth is known, history (the truth) is left out.

    A return that is only bounded has no estimate here: where the learner left it within its bounds
    says nothing, and a reader would take it for an answer.
    """
    table = frames_learn.only_fixed(study.frame_returns)
    if study.data.truth is None:
        return table
    # To the digits that are shown, and no negative zero among them.
    table = table.assign(error=table["error"].round(4) + 0.0)
    same = np.allclose(study.data.truth.to_numpy(), study.data.expected_returns.to_numpy())
    return table.drop(columns="history") if same else table


@sentences
def preferences(study: Study) -> PreferencePicture:
    """The tables behind the page of preferences; kept with the study."""
    return _preferences(key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _preferences(key: str, _study: Study) -> PreferencePicture:
    table = _study.frame_investors
    table = table[np.isfinite(table["weight"])].reset_index(drop=True)
    table = frames_gaps.with_points(table)
    known = _study.distribution
    weights = table["weight"].to_numpy(dtype=float)
    bins = frames_people.weight_histogram(weights)
    grid = _study.settings.weights
    if isinstance(grid, int):
        bins = frames_people.weight_histogram(weights, grid)
    return PreferencePicture(
        investors=table,
        points=frames_people.points(_study.problem, _study.theta, _study.adjusted_decisions),
        curves=frames.curve(_study.problem, _study.theta, style.ESTIMATED),
        weight_bins=bins,
        aversion_bins=frames_people.aversion_histogram(table["risk_aversion"]),
        fitted=None if known is None else frames_people.fitted_curve(bins, known.best.cdf),
        families=None if known is None else known.to_frame(),
        family_said=_family_said(_study),
        distances=frames_people.distance_histogram(table["distance"], _study.fit.threshold),
        threshold=_study.fit.threshold,
        segments=frames_people.segment_names(_study.data.attributes),
    )


def _family_said(study: Study) -> str:
    known = study.distribution
    if known is None:
        return say.no_family()
    best = known.best
    return say.family_advice(best.name, best.parameters, best.p_value)


def chosen(
    picture: PreferencePicture, scale: str, interval: tuple[float, float] | None
) -> np.ndarray:
    """Which investors were brushed; none where nothing was.

    Args:
        picture: The tables of the page.
        scale: Weight or risk aversion.
        interval: The brushed values on that scale; None where nothing was brushed.

    Returns:
        One flag for each investor.
    """
    if interval is None:
        return np.zeros(len(picture.investors), dtype=bool)
    by_weight = scale == "weight"
    values = picture.investors["weight" if by_weight else "risk_aversion"].to_numpy(dtype=float)
    bins = picture.weight_bins if by_weight else picture.aversion_bins
    bars = frames_people.brushed(bins, *interval)
    if bars is None:
        return np.zeros(len(picture.investors), dtype=bool)
    if not by_weight:  # the outermost bars hold whatever lies beyond them
        bars = frames_people.with_outside(bins, bars)
    return frames_people.between(values, *bars)


def dots(picture: PreferencePicture, flags: np.ndarray) -> pd.DataFrame:
    """The investors on the risk-return plane, the chosen ones flagged; thinned when many."""
    table = picture.points.assign(chosen=flags)
    return frames_people.thinned(table, DOTS, flags)


def all_dots(picture: PreferencePicture) -> pd.DataFrame:
    """The investors on the risk-return plane; thinned when many."""
    return frames_people.thinned(picture.points, DOTS)


def chosen_table(
    picture: PreferencePicture, flags: np.ndarray, order: str | None = None
) -> pd.DataFrame:
    """The rows of the chosen investors; all of them where none was chosen.

    Args:
        picture: The tables of the page.
        flags: Which investors were chosen.
        order: The column that comes largest first; None keeps the stream's order.
    """
    rows = picture.investors[flags] if flags.any() else picture.investors
    averse = rows["risk_aversion"]  # beyond what can be told from "risk alone counts", no number
    rows = rows.assign(risk_aversion=averse.where(averse <= MOST_AVERSE))
    return rows if order is None else rows.sort_values(order, ascending=False, kind="stable")


def chosen_said(picture: PreferencePicture, flags: np.ndarray) -> str:
    """How many were chosen, and what is typical of them."""
    return frames_people.chosen_said(picture.investors, flags)


def outliers(study: Study, most: int = 200) -> pd.DataFrame:
    """The investors whom one frontier does not explain, the furthest first."""
    table = study.fit.investors
    found = table[table["outlier"]].sort_values("distance", ascending=False).head(most)
    return found.drop(columns="outlier").rename_axis("investor").reset_index()


def fit_said(study: Study) -> str:
    """How much of the holdings one frontier explains."""
    return study.fit.sentence()


@sentences
def segments(study: Study, attribute: str) -> pd.DataFrame:
    """Weights by group of investors."""
    if study.preferences is None:
        raise AppError("The weights have no intervals, so groups cannot be compared.")
    column = study.data.attributes[attribute][study.data.good].iloc[: study.rounds]
    table = imop.preference_segments(study.preferences, column.tolist())
    if study.gaps is not None:
        left = imop.gap_segments(study.gaps, column.tolist())
        left["mean_points"] = frames_gaps.POINTS * left["mean_gap"]
        table = table.merge(left.drop(columns=["investors", "share"]), on="segment")
    return table.assign(segment=[group_name(one) for one in table["segment"]])


def investor_names(study: Study, most: int = 20_000) -> list[str]:
    """The investors to choose from; of very many the first, as the search field has them all."""
    return [str(name) for name in study.decisions.index[:most]]


def investor_page(study: Study, investor: str) -> tuple[pd.Series, pd.DataFrame] | None:
    """One investor: her row, and what she holds beside the nearest efficient portfolio."""
    names = study.decisions.index.astype(str)
    found = np.flatnonzero(names == investor)
    if not len(found):
        return None
    at = int(found[-1])
    nearest = study.frontier.project(study.adjusted_decisions.iloc[[at]]).points[0]
    held = frames_people.composition(study.decisions, investor, nearest)
    if held is None:
        return None
    table = study.frame_investors
    row = table[table["id"].astype(str) == investor].iloc[-1]
    return row, held


def investor_said(row: pd.Series) -> str:
    """One investor's preference in a sentence."""
    return frames_people.investor_said(row)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs side by side."""

    returns: pd.DataFrame
    table: pd.DataFrame
    curves: pd.DataFrame
    weights: pd.DataFrame
    figures: pd.DataFrame


@sentences
def compare(left: Study, right: Study) -> Comparison:
    """Tables that set two runs side by side; they must share assets."""
    first, second = map(frames_learn.only_fixed, (left.frame_returns, right.frame_returns))
    returns = frames_learn.compared_returns(first, second)
    if returns.empty:
        raise AppError("These two runs have no asset in common; compare runs on the same market.")
    return Comparison(
        returns=returns,
        table=frames_learn.compared_table(first, second),
        curves=frames_learn.compared_curves(left.frame_frontier, right.frame_frontier),
        weights=frames_learn.compared_weights(
            left.frame_investors["weight"].to_numpy(), right.frame_investors["weight"].to_numpy()
        ),
        figures=frames_learn.compared_figures(left.figures, right.figures),
    )


def key_of(study: Study) -> str:
    """What names a study in a cache: its estimate and its portfolios, to the last bit."""
    return f"{study.state.seen}-{study.theta.tobytes().hex()}-{study.settings!r}"
