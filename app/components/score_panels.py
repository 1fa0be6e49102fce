"""What came out of a score as third objective: the triangle, the levels, what it costs."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from imop_app.components import show
from imop_app.services import score
from imop_engine.report import charts_learn, charts_score

LOOK_SECONDS: Final = 1.0
ROWS: Final = 100
TALL: Final = 18  # assets from which the table scrolls
SHEET: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def draw(location: str, stem: str) -> None:
    """Follow the fit, and show what came out.

    Args:
        location: Where the run is kept.
        stem: What file names begin with.
    """
    now = score.of_run(location)
    if now is None:
        return
    if now.running:
        st.fragment(_progress, run_every=LOOK_SECONDS)(now)
        return
    if now.error:
        st.error(show.escape(now.error), icon=":material/error:")
    if now.found is not None:
        _found(now.found, stem)


def _progress(now: score.Scoring) -> None:
    if not now.running:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="score_progress"):
        st.progress(now.share, f"Fitting the score: {now.share:.0%}", width="stretch")
        st.button("Stop", key="score_stop", icon=":material/stop:", on_click=now.stop)


def _found(found: score.Scored, stem: str) -> None:
    st.header("What the score is worth to them", anchor=False)
    show.figures(score.figures(found), "score")
    show.bullets(list(found.said))
    if found.drawn:
        _pictures(found)
    _returns(found)
    if found.drawn:
        _segments(found)
        _investors(found)
    _downloads(found, stem)


def _pictures(found: score.Scored) -> None:
    tables = found.tables
    left, right = st.columns(2)
    with left:
        triangle = charts_score.ternary_chart(tables["cells"], tables["points"], score.grid())
        show.chart(triangle, "score_triangle")
    with right:
        show.chart(
            charts_score.objective_weights_chart(tables["weights"], tables["medians"]),
            "score_weights",
        )
    st.caption(
        "Weights are made comparable: each objective is divided by its range over the efficient "
        "portfolios, so the unit of the score does not matter."
    )
    left, right = st.columns(2)
    with left:
        levels = charts_score.level_frontier_chart(tables["frontiers"], tables["cloud"])
        show.chart(levels, "score_levels")
    with right:
        show.chart(charts_score.cost_chart(tables["costs"], found.cost), "score_costs")


def _returns(found: score.Scored) -> None:
    returns = found.tables["returns"]
    known = bool(returns[["estimate", "low", "high"]].notna().any(axis=None))
    left, right = st.columns(2) if known else (None, st.container())
    if left is not None:  # without any number the picture would be empty
        with left:
            show.chart(charts_learn.interval_chart(returns), "score_returns")
    with right:
        show.table(
            returns,
            "score_returns",
            {
                "asset": show.text("Asset"),
                "score": show.number("Score", "asset score", "%.4g"),
                "estimate": show.percent("Estimated", "expected return"),
                "low": show.percent("At least", "interval"),
                "high": show.percent("At most", "interval"),
                "status": show.text("Status"),
            },
            alternative="Expected return of each asset with interval, the score as third objective",
            height=600 if len(returns) > TALL else "content",
        )


def _segments(found: score.Scored) -> None:
    offered = score.attributes(found)
    if not offered:
        return
    attribute = st.selectbox("By group", offered, key="score_segments")
    table = score.segments(found, attribute)
    left, right = st.columns(2)
    with left:
        show.chart(charts_score.cost_segment_chart(table, attribute), "score_segments")
    with right:
        show.table(
            table,
            "score_segments",
            {
                "segment": show.text(show.short(attribute)),
                "investors": show.number("Investors", None, "%d"),
                "mean_cost": show.percent("Mean cost", "cost of the score", digits=3),
                "median_cost": show.percent("Median cost", "cost of the score", digits=3),
                "median_price": show.percent("Median price", "price of the score", digits=3),
            },
            alternative="What each group of investors pays in return for the score",
        )


def _investors(found: score.Scored) -> None:
    people = found.tables["investors"]
    at = show.pages(len(people), ROWS, "score_page")
    show.table(
        people.iloc[at * ROWS : (at + 1) * ROWS],
        "score_investors",
        {
            "id": show.text("Investor"),
            "share_return": show.percent("Return", "comparable weight", digits=1),
            "share_risk": show.percent("Risk", "comparable weight", digits=1),
            "share_score": show.percent("Score", "comparable weight", digits=1),
            "price": show.percent("Price of a unit", "price of the score", digits=3),
            "cost": show.percent("Cost a year", "cost of the score", digits=3),
            "distance": show.percent("Distance", "distance"),
        },
        alternative="Each investor's weights, price of the score, what it costs, and distance",
        height=350,
    )


def _downloads(found: score.Scored, stem: str) -> None:
    with st.container(horizontal=True, key="score_downloads"):
        for name in score.offered(found):
            show.download(
                f"{score.DOWNLOADS[name]} (CSV)",
                partial(score.csv, found, name),
                f"{stem}_score_{name}.csv",
                "text/csv",
                "Every row and digit.",
            )
        show.download(
            "All of it (Excel)",
            partial(score.workbook, found),
            f"{stem}_score.xlsx",
            SHEET,
            "Returns, investors, the surface, its cuts and the known returns, a sheet each.",
        )
