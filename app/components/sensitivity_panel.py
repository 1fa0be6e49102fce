"""How far the estimate depends on what was chosen: one table, one picture, computed beside."""

from __future__ import annotations

from typing import Final

import streamlit as st

from imop_app.components import show
from imop_app.services import sensitivity
from imop_app.services.preparing import PREPARATION
from imop_engine.report import charts_sensitivity

LOOK_SECONDS: Final = 1.0


def draw(location: str, fitted: bool) -> None:
    """Offer the comparison, follow it, and show what came out.

    Args:
        location: Where the run is kept.
        fitted: Whether its portfolios were fitted together, without which nothing is compared.
    """
    st.header("Under other choices", anchor=False)
    if not fitted:
        st.caption("Fit all portfolios together first (Learn, Advanced); then choices can differ.")
        return
    now = sensitivity.of_run(location)
    if now is not None and now.running:
        st.fragment(_progress, run_every=LOOK_SECONDS)(now)
        return
    if now is not None and now.error:
        st.error(show.escape(now.error), icon=":material/error:")
    if now is None or now.found is None:
        st.markdown(
            "The same portfolios with other known returns, covariances and losses, with and "
            "without outliers, and by group: what moves, and what does not?"
        )
        if st.button(
            "Compare choices",
            icon=":material/compare_arrows:",
            key="sensitivity_start",
            disabled=not PREPARATION.ready,
            help="Works in the background; you can look at other pages meanwhile.",
        ):
            sensitivity.begin(location).wait(LOOK_SECONDS)
            st.rerun()
        return
    _found(now.found)


def _progress(now: sensitivity.Comparing) -> None:
    if not now.running:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="sensitivity_progress"):
        st.progress(now.share, f"Comparing choices: {now.share:.0%}", width="stretch")
        st.button("Stop", key="sensitivity_stop", icon=":material/stop:", on_click=now.stop)


def _found(found: sensitivity.Alternatives) -> None:
    show.bullets(list(found.said), most=12)
    show.chart(charts_sensitivity.sensitivity_chart(found.table), "sensitivity")
    show.table(
        found.summary,
        "sensitivity",
        {
            "choice": show.text("Choice"),
            "alternative": show.text("Alternative", width="medium"),
            "largest": show.percent("Largest change"),
            "asset": show.text("of"),
            "rank_correlation": show.number("Order (1: the same)", form="%.2f"),
            "explained": show.percent("Explained", "explained"),
            "reason": show.text("Why not computed"),
        },
        alternative="The estimate under other choices: the largest change, the order, the fit",
    )
