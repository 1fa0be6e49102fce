"""Why this return? One asset: who holds it, what its risk adds, what else would say."""

from __future__ import annotations

import streamlit as st

from imop_app.components import show
from imop_app.services import why as reasons
from imop_engine.report import charts_why
from imop_engine.study import Study


def draw(study: Study) -> None:
    """Choose an asset and read why it has its return."""
    st.header("Why this return?", anchor=False)
    asset = st.selectbox(
        "Asset",
        list(study.problem.names),
        key="why_asset",
        help="Who holds it along the frontier, what its risk adds to portfolios, how far the "
        "estimate is from history and from implied returns, and where its interval comes from.",
    )
    found = reasons.why(study, asset)
    show.bullets(list(found.said))
    left, right = st.columns(2)
    with left:
        show.chart(charts_why.holders_chart(found.holders, found.efficient, asset), "why_holders")
    with right:
        show.chart(charts_why.covariance_chart(found.covariance, asset), "why_covariance")
