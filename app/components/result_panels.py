"""What a run says, in parts that several pages share."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from imop_app.components import show
from imop_app.services import results
from imop_engine.report import charts, charts_learn, charts_people, charts_trust
from imop_engine.sentences.words import word
from imop_engine.study import Study

# Longer tables scroll in themselves.
ROWS_SHOWN: Final = 20
VERDICT_ICONS: Final = {
    "good": ":material/check_circle:",
    "caution": ":material/warning:",
    "poor": ":material/error:",
}
STATUS_HELP = "Identified: fixed by the portfolios. Bounded: only known not to be higher or lower. "
STATUS_HELP += "Anchored: taken as known. Not seen: the portfolios say next to nothing."


def verdict(study: Study, brief: bool = False) -> None:
    """Whether the result is to be trusted: green, amber or red, with reasons and remedies.

    Args:
        study: The shown run.
        brief: Whether the reasons are folded up, where they stand in full on another page.
    """
    found = results.verdict(study)
    box = {"good": st.success, "caution": st.warning, "poor": st.error}[found["verdict"]]
    reasons = [
        f"- **{one['word']}.** {show.escape(one['sentence'])} *{show.escape(one['remedy'])}*"
        for one in found["reasons"]
    ]
    line = f"**{show.escape(found['line'])}**"
    with st.container(key="verdict"):
        text = line if brief else "\n".join([line, "", *reasons])
        box(text, icon=VERDICT_ICONS[found["verdict"]])
        if brief and reasons:
            with st.expander(f"Why, and what to do ({len(reasons)})", icon=":material/rule:"):
                st.markdown("\n".join(reasons))
        for remark in study.remarks:
            st.caption(show.escape(remark))


def key_figures(study: Study) -> None:
    """The run in a few numbers."""
    figures = results.figures(study)
    shown = [
        ("Investors", f"{figures['rounds']:,}", "weight"),
        ("Explained", results.explained_said(figures["explained"]), "explained"),
        ("Risk aversion", results.aversion_said(figures["median_risk_aversion"]), "risk aversion"),
        ("Outliers", f"{figures['outliers']:,}", "outlier"),
        ("Left on the table", results.mean_gap_said(study), "left on the table"),
    ]
    error = results.fixed_error(study)
    if error is not None:
        shown.insert(2, ("Error", f"{error:.4f}" if error >= 1e-4 else "< 0.0001", "error"))
    show.figures(shown, "run")
    notes = results.notes(study)
    if notes:
        st.warning("\n".join(f"- {show.escape(note)}" for note in notes), icon=":material/info:")


def overview(study: Study) -> None:
    """Frontier and weights, the two pictures one looks at first."""
    frontier, wants = results.frontier(study), results.preferences(study)
    left, right = st.columns(2)
    with left:
        show.chart(
            charts.frontier_chart(frontier.curves, frontier.cloud, band=frontier.band),
            "result_frontier",
        )
    with right:
        show.chart(
            charts_people.preference_chart(wants.weight_bins, wants.fitted, brush=False),
            "result_weights",
        )


def learning_history(study: Study) -> None:
    """How the estimate came about: returns settling, and the surprise of each new portfolio."""
    estimates, losses = results.learning_history(study)
    left, right = st.columns(2)
    with left:
        if estimates is not None:
            show.chart(charts_learn.settling_chart(estimates), "settling")
    with right:
        show.chart(charts.loss_chart(losses, study.settings.loss), "losses")
    st.caption(results.effort_said(study))


def trust_charts(picture: results.FrontierPicture) -> None:
    """Where each interval comes from, and what those set aside would change."""
    left, right = st.columns(2)
    if not picture.sources.empty:
        with left:
            show.chart(charts_trust.sources_chart(picture.sources), "sources")
    with right:
        if picture.both is None:
            st.caption("Nobody was set aside: the estimate is everybody's.")
        elif not picture.both.empty:
            show.chart(charts_trust.with_and_without_chart(picture.both), "everyone")


def returns_table(returns: pd.DataFrame, given: str) -> None:
    """The estimated returns, to read; `given` is what their level hangs on."""
    with st.container(border=True):
        st.markdown(f"**Table of returns** (% per year{given})", help=word("expected return"))
        show.table(
            returns,
            "returns",
            {
                "asset": show.text("Asset"),
                "estimate": show.percent("Estimated", "expected return"),
                "low": show.percent("At least", "interval"),
                "high": show.percent("At most", "interval"),
                "with_everyone": show.percent("With everyone"),
                "status": st.column_config.TextColumn("Status", help=STATUS_HELP),
                "true": show.percent("True", "simulated"),
                "error": show.percent("Error", "error"),
                "history": show.percent("History"),
                "implied": show.percent("Implied", "implied returns"),
                "investors": show.number("Informed by", "informed by", "%d"),
            },
            alternative="Estimated expected return of each asset with interval and status",
            height=600 if len(returns) > ROWS_SHOWN else "content",
        )
        if "sentence" in returns:
            with st.expander("The same in words", icon=":material/chat_bubble:"):
                show.bullets(list(returns["sentence"]), most=60)
