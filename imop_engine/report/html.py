"""The written report: one file that needs no network, reads like a letter and prints like one.

Here is what the page says; how it looks is in templates/report.html.j2. Whatever comes from the
analyst's files (names, notes, reasons) is escaped there, and the page forbids scripts and
connections besides.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.errors import ImopError
from imop_engine.inference.estimators import BELIEFS
from imop_engine.inference.gaps import Gaps, gap_segments
from imop_engine.inference.preferences import preference_segments
from imop_engine.report.facts import UNITS, settings_text
from imop_engine.report.html_groups import group_values
from imop_engine.report.html_limits import limit_values
from imop_engine.report.html_table import Column, table_of
from imop_engine.report.html_trust import (
    error_model,
    given_anchors,
    order_values,
    refitted,
    sources_drawing,
)
from imop_engine.report.pages import render
from imop_engine.report.svg import svg
from imop_engine.report.trust import verdict_values
from imop_engine.sentences import investors, run
from imop_engine.sentences.numbers import (
    MISSING,
    aversion,
    explained,
    number_cell,
    percent_cell,
    points_cell,
)
from imop_engine.sentences.returns import anchor_sentence
from imop_engine.sentences.verdict import with_everyone_sentence
from imop_engine.study import Study
from imop_engine.versions import versions

SENTENCES_SHOWN: Final = 40
OUTLIERS_SHOWN: Final = 10
# An attribute with more values than this is a name, not a group.
MOST_GROUPS: Final = 12
LEARNED_STATUSES: Final = ("identified", "anchored")


def html_report(study: Study, *, command: str = "", made: dt.date | None = None) -> str:
    """The report of a study as one HTML page.

    Args:
        study: A finished or stopped study.
        command: The line of the shell that makes the report again; "" leaves it out.
        made: The day that stands on it; None: none.

    Returns:
        The page as text: drawings and style are inside, nothing is fetched.
    """
    return render(
        "imop_engine.report",
        "report.html.j2",
        title=study.settings.title or "What these investors believe",
        command=command,
        made="" if made is None else made.isoformat(),
        units=UNITS,
        learned_statuses=LEARNED_STATUSES,
        trust=verdict_values(study),
        **_opening(study),
        **_method(study),
        **_data(study),
        **_estimate(study),
        order=order_values(study),
        **_identified(study),
        **_frontier(study),
        **_people(study),
        groups=group_values(study.groups),
        limits=limit_values(study.limit_prices),
        left=_left(study),
        **_again(study),
    )


# -- sections: the values that the template names --------------------------------------------------
def _opening(study: Study) -> dict[str, Any]:
    figures, status = study.figures, study.figures["status"]
    known = sum(count for name, count in status.items() if name in LEARNED_STATUSES)
    cards = [
        (f"{figures['rounds']:,}", "portfolios learned from"),
        (explained(figures["explained"]), "of the variation in holdings explained by one frontier"),
        (f"{known} of {figures['assets']}", "returns that the holdings and the anchors fix"),
        (aversion(figures["median_risk_aversion"]), f"median risk aversion{given_anchors(study)}"),
    ]
    return {
        "lead": run.lead(figures["assets"], figures["rounds"]),
        "remarks": study.settings.notes.strip(),
        "cards": [{"figure": figure, "words": words} for figure, words in cards],
    }


def _method(study: Study) -> dict[str, Any]:
    by_history = study.settings.anchors is None
    known = _history_names(study) if by_history else []
    theta = study.problem.theta
    return {
        "method": run.method(
            study.settings.refine,
            study.settings.loss,
            study.estimate is not None and study.estimate.found.way == BELIEFS,
            len(study.problem.theta.values),
        ),
        "anchors": [
            anchor_sentence(study.problem.names, holdings, value, known)
            for holdings, value in zip(theta.equalities, theta.values, strict=True)
        ],
        "anchors_chosen": "by the return history" if by_history else "by the analyst",
        "error_model": error_model(study),
        "refitted": refitted(study),
    }


def _data(study: Study) -> dict[str, Any]:
    files = [
        {
            "name": one.name,
            "counts": run.rows_sentence(
                one.rows_read, one.rows_kept, one.rows_changed, one.rows_refused
            ),
            "sentences": one.sentences[:SENTENCES_SHOWN],
            "more": len(one.sentences) - SENTENCES_SHOWN,
        }
        for one in study.data.reading
    ]
    return {"files": files, "set_aside": _set_aside(study), "data_notes": study.data.notes}


def _set_aside(study: Study) -> dict[str, Any] | None:
    frame = study.frame_investors
    told = frame[frame["reason"] != ""]
    if told.empty:
        return None
    refused = [f"{one} {why}." for one, why in zip(told["id"], told["reason"], strict=True)]
    return {
        "counts": run.took_no_part(len(refused), len(frame), OUTLIERS_SHOWN),
        "sentences": refused[:OUTLIERS_SHOWN],
    }


def _estimate(study: Study) -> dict[str, Any]:
    from imop_engine.report.charts_learn import interval_chart
    from imop_engine.report.frames_learn import only_fixed

    frame = only_fixed(study.frame_returns)
    aside = study.figures["set_aside"]
    if not aside:
        frame = frame.drop(columns="with_everyone", errors="ignore")
    columns = [
        Column("asset", "asset", str, numeric=False),
        Column("estimate", "estimate", percent_cell),
        Column("low", "at least", percent_cell),
        Column("high", "at most", percent_cell),
        Column("with_everyone", "with everyone", percent_cell),
        Column("history", "history", percent_cell),
        Column("true", "true", percent_cell),
        Column("investors", "investors", _count),
        Column("status", "status", str, numeric=False, tag=True),
    ]
    label = "Estimated return of each asset with its interval"
    return {
        "level": f"{study.settings.level:.0%}",
        "given": given_anchors(study),
        "everyone": with_everyone_sentence(aside, study.rounds) if aside else "",
        "returns": table_of(frame, columns),
        "sources_drawing": sources_drawing(study),
        "returns_drawing": svg(interval_chart(frame), "returns", label),
    }


def _identified(study: Study) -> dict[str, Any]:
    frame = study.frame_returns
    return {
        "assets": len(frame),
        "notes": [note for note in study.notes if note not in study.data.notes],
        "statuses": [
            {"status": str(status), "sentences": [str(one) for one in part["sentence"]]}
            for status, part in frame.groupby("status", sort=False)
        ],
    }


def _frontier(study: Study) -> dict[str, Any]:
    from imop_engine.report.charts import frontier_chart
    from imop_engine.report.frames import cloud, curve
    from imop_engine.report.frames_learn import band
    from imop_engine.report.style import ESTIMATED, HISTORY, TRUE

    returns = study.data.expected_returns.to_numpy()
    curves = [
        curve(study.problem, study.theta, ESTIMATED),
        # what history's portfolios are worth to these investors is what compares with theirs
        _revalued(study, returns, HISTORY),
    ]
    if study.data.truth is not None:
        curves.append(curve(study.problem, study.data.truth.to_numpy(), TRUE))
    dots = cloud(study.problem, study.theta, study.adjusted_decisions)
    chart = frontier_chart(pd.concat(curves, ignore_index=True), dots, band=band(study))
    label = "Estimated efficient frontier with the investors' portfolios"
    return {"fit": study.fit.sentence(), "frontier_drawing": svg(chart, "frontier", label)}


def _people(study: Study) -> dict[str, Any]:
    from imop_engine.report.charts_people import preference_chart
    from imop_engine.report.frames_people import fitted_curve, weight_histogram

    # Bars of one width: the cells that the test of the family joins would look like a crowd.
    grid, known = study.settings.weights, study.distribution
    weights = study.frame_investors["weight"].dropna()
    bins = weight_histogram(weights, grid if isinstance(grid, int) else None)
    fitted = None if known is None else fitted_curve(bins, known.best.cdf)
    chart = preference_chart(bins, fitted, brush=False)
    return {
        "distribution": _distribution_sentence(study),
        "weights_drawing": svg(
            chart, "weights", "Distribution of the investors' weights on return"
        ),
        "segments": _segments(study),
        "outliers": _outliers(study),
    }


def _left(study: Study) -> dict[str, Any] | None:
    """What investors leave on the table; None where that cannot be said."""
    gaps = study.gaps
    if gaps is None:
        return None
    from imop_engine.report.charts_gaps import gap_chart, gap_histogram_chart
    from imop_engine.report.frames import cloud, curve
    from imop_engine.report.frames_gaps import gap_arrows, gap_histogram
    from imop_engine.report.style import ESTIMATED

    arrows = gap_chart(
        curve(study.problem, study.theta, ESTIMATED),
        gap_arrows(study.frontier, study.complete_decisions, gaps),
        cloud(study.problem, study.theta, study.complete_decisions),
    )
    counts = gap_histogram_chart(gap_histogram(gaps), gaps.threshold)
    return {
        "sentence": gaps.sentence(),
        "arrows": svg(arrows, "gaps", "Portfolios with arrows up to the efficient frontier"),
        "counts": svg(counts, "gap-counts", "How many investors leave how much on the table"),
        "outliers": _gap_outliers(study, gaps),
    }


def _gap_outliers(study: Study, gaps: Gaps) -> dict[str, Any] | None:
    from imop_engine.report.frames_gaps import gap_outliers

    if not gaps.outliers:
        return None
    columns = [
        Column("investor", "investor", str, numeric=False),
        Column("gap", "left on the table, per year", _fine_percent),
        Column("gap_points", "basis points", points_cell),
        Column("sell", "the efficient portfolio has less of", str, numeric=False),
        Column("buy", "and more of", str, numeric=False),
    ]
    return {
        "sentence": investors.gap_outliers_sentence(gaps.outliers, gaps.threshold),
        "table": table_of(gap_outliers(study.decisions, gaps, OUTLIERS_SHOWN), columns),
    }


def _again(study: Study) -> dict[str, Any]:
    figures = study.figures
    return {
        "settings": settings_text(study),
        "effort": run.effort(figures["updates"], figures["certified"], figures["seconds"]),
        "packages": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }


# -- pieces --------------------------------------------------------------------------------------
def _history_names(study: Study) -> list[tuple[str, Any]]:
    """What the default anchors are, in words; a resumed study may have others by now."""
    from imop_engine.inference.anchors import history_anchors

    try:
        found = history_anchors(
            study.problem, study.data.expected_returns.to_numpy(), study.decisions
        )
    except ImopError:
        return []
    return [(one.name, one.portfolio) for one in found]


def _revalued(study: Study, beliefs: Any, series: str) -> pd.DataFrame:
    from imop_engine.frontier import efficient_frontier, risk_of
    from imop_engine.report.frames import CURVE_POINTS

    weights, portfolios = efficient_frontier(study.problem, beliefs).sample(CURVE_POINTS)
    return pd.DataFrame(
        {
            "series": series,
            "weight": weights,
            "risk": risk_of(study.problem, portfolios),
            "return": portfolios @ study.theta,
        }
    )


def _distribution_sentence(study: Study) -> str:
    figures, known = study.figures, study.distribution
    middle = investors.median_preference(
        figures["median_weight"], figures["median_risk_aversion"], given_anchors(study)
    )
    if known is None:
        return middle
    best = known.best
    return f"{middle} {investors.best_family(best.name, best.parameters, best.p_value)}"


def _segments(study: Study) -> list[dict[str, Any]]:
    if study.preferences is None:
        return []
    known = study.data.attributes[study.data.good].iloc[: study.rounds]
    blocks = []
    for name in known.columns:
        column = known[name]
        if name == "date" or not 1 < column.nunique(dropna=False) <= MOST_GROUPS:
            continue
        frame = preference_segments(study.preferences, column.tolist())
        frame["interval"] = [
            f"{low:.3f} to {high:.3f}" if np.isfinite(low) else MISSING
            for low, high in zip(frame["mean_low"], frame["mean_high"], strict=True)
        ]
        if study.gaps is not None:
            frame["mean_gap"] = gap_segments(study.gaps, column.tolist())["mean_gap"]
        columns = [
            Column("segment", str(name), str, numeric=False),
            Column("investors", "investors", _count),
            Column("mean_weight", "mean weight", number_cell),
            Column("interval", "interval of the mean", str),
            Column(
                "median_risk_aversion",
                f"median risk aversion{given_anchors(study)}",
                number_cell,
            ),
            Column("mean_gap", "mean left on the table, per year", _fine_percent),
            Column("outliers", "outliers", _count),
        ]
        blocks.append({"name": str(name), "table": table_of(frame, columns)})
    return blocks


def _outliers(study: Study) -> dict[str, Any] | None:
    frame = study.fit.investors
    far = frame[frame["outlier"]].sort_values("distance", ascending=False)
    if far.empty:
        return None
    columns = [
        Column("id", "investor", str, numeric=False),
        Column("distance", "distance", percent_cell),
        Column("asset", "held most differently", str, numeric=False),
        Column("gap", "held minus explained", percent_cell),
    ]
    return {
        "sentence": investors.outliers_sentence(len(far), study.fit.threshold),
        "table": table_of(far.head(OUTLIERS_SHOWN).reset_index(names="id"), columns),
    }


def _fine_percent(value: float) -> str:
    return percent_cell(value, 3)


def _count(value: Any) -> str:
    return f"{int(value):,}"
