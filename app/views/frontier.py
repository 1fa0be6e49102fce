"""Frontier: what was learned about the assets, how sure it is, and what else would say."""

from __future__ import annotations

import streamlit as st

from imop_app.components import (
    frame,
    limit_panels,
    result_panels,
    sensitivity_panel,
    show,
    why_panel,
)
from imop_app.services import results
from imop_app.services.errors import AppError
from imop_app.state import current
from imop_engine.report import charts, charts_learn


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Frontier",
        "The best return at each level of risk, as the investors must see it; what it is made of; "
        "and how sure each number is.",
        "frontier",
    )
    try:
        study = results.open_run(state.store, state.workspace.run)
        if study is None:
            with show.empty(
                "No frontier yet",
                "The frontier appears here once a run has learned the returns. Its band says how "
                "sure it is, and each return comes with an interval and a plain sentence.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        picture = results.frontier(study)
    except AppError as error:
        show.problem(error)
        return
    result_panels.verdict(study, brief=True)
    projected = st.toggle(
        "Show how far each investor is from the frontier",
        value=False,
        key="frontier_projected",
        help="Draws a line from each portfolio to the nearest efficient one.",
    )
    left, right = st.columns(2)
    with left:
        show.chart(
            charts.frontier_chart(
                picture.curves,
                picture.projections if projected else picture.cloud,
                band=picture.band,
                projections=picture.projections if projected else None,
            ),
            "frontier",
        )
    with right:
        show.chart(charts_learn.transition_chart(picture.composition), "transition")
    result_panels.returns_table(picture.returns, picture.given)
    left, right = st.columns(2)
    with left:
        show.chart(charts_learn.interval_chart(picture.returns), "intervals")
    with right:
        _fits(picture)
    result_panels.trust_charts(picture)
    show.bullets(results.error_model(study))
    limit_panels.of_study(study)
    why_panel.draw(study)
    sensitivity_panel.draw(state.store.location(str(state.workspace.run)), study.settings.refine)
    frame.link(state, "preferences", "Next: what the investors want")


def _fits(picture: results.FrontierPicture) -> None:
    with st.container(border=True):
        st.markdown(
            "**Would simpler beliefs do as well?** (% of holdings explained)",
            help="How much of the differences between portfolios each set of returns explains.",
        )
        show.table(
            picture.fits,
            "fits",
            {
                "beliefs": show.text("Beliefs"),
                "explained": show.text("Explained", "explained"),
                "median_distance": show.percent("Half lie within", "distance"),
            },
            alternative="Share of holdings explained by learned, historical and implied returns",
        )
        st.caption(
            "Learned returns were made to fit. Where others explain as much or more, the investors "
            "follow those, or their holdings are too noisy for one frontier."
        )
