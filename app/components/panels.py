"""What a run shows: key figures, charts and the table of returns."""

from __future__ import annotations

import altair as alt
import streamlit as st

from imop_app.services import Learning, Picture
from imop_engine.report import charts

NUMBER = st.column_config.NumberColumn
DIGITS = "%.4f"
# The table stands beside a chart; with its heading, note and buttons it is as tall.
AROUND_TABLE = 134


def key_figures(run: Learning, picture: Picture) -> None:
    """The run in five numbers."""
    result = picture.result
    if result is None:
        return
    with st.container(horizontal=True, key="figures"):
        st.metric(
            "Raw error",
            f"{result.raw_error:.4f}",
            border=True,
            help="Distance between estimated and true returns. The paper reports 0.0091 for its "
            "eight securities after 1,000 investors with 41 weights.",
        )
        st.metric(
            "Aligned error",
            f"{result.aligned_error:.4f}",
            border=True,
            help="The same distance after the best shift and scale: what portfolios can tell.",
        )
        st.metric(
            "Holdings explained",
            f"{result.explained:.1%}",
            border=True,
            help="How much of the differences between portfolios one frontier accounts for.",
        )
        st.metric(
            "Updates certified",
            f"{run.learner.certified_:.1%}",
            border=True,
            help="Share of learning steps that were proven to be the best possible.",
        )
        st.metric(
            "Time",
            f"{run.seconds:.2f} s",
            border=True,
            help="Time spent learning, without drawing.",
        )


def preview(picture: Picture) -> None:
    """Before learning: the frontier the investors believe in, and how they differ."""
    left, right = st.columns(2)
    with left:
        _chart(charts.frontier_chart(picture.curves, picture.cloud), "frontier")
    with right:
        _chart(charts.weight_chart(picture.weights), "weights")


def results(picture: Picture) -> None:
    """After learning: truth and estimate side by side."""
    preview(picture)
    if picture.result is None or picture.errors is None or picture.losses is None:
        return
    left, right = st.columns(2)
    with left:
        _chart(charts.returns_chart(picture.result.returns), "returns")
    with right:
        returns_table(picture)
    left, right = st.columns(2)
    with left:
        _chart(charts.error_chart(picture.errors), "errors")
    with right:
        _chart(charts.loss_chart(picture.losses), "losses")


def returns_table(picture: Picture) -> None:
    """The estimated returns, to read and to take away."""
    if picture.returns is None:
        return
    with st.container(border=True):
        st.markdown("**Table of returns** (per year; 0.01 is one percent)")
        st.dataframe(
            picture.returns,
            hide_index=True,
            height=charts.returns_height(len(picture.returns)) - AROUND_TABLE,
            row_height=27,
            column_config={
                "asset": st.column_config.TextColumn("Asset"),
                "estimate": NUMBER("Estimated", format=DIGITS),
                "true": NUMBER("True", format=DIGITS),
                "error": NUMBER("Error", format=DIGITS, help="Estimated minus true."),
                "held_by": NUMBER(
                    "Held by",
                    format="percent",
                    help="Share of investors who hold it. What hardly anyone holds leaves no "
                    "trace in the portfolios: its return is then only known to be low enough.",
                ),
            },
            alt="Table of estimated and true expected returns by asset",
        )
        st.caption(picture.note)
        with st.container(horizontal=True):
            _download("Returns (CSV)", picture.returns_csv(), "returns.csv")
            _download("Investors (CSV)", picture.investors_csv(), "investors.csv")


def live_errors(run: Learning) -> None:
    """While learning: the error as it falls."""
    _chart(charts.error_chart(run.trail()), "live")


def _download(label: str, text: str, file_name: str) -> None:
    st.download_button(
        label,
        text,
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=f"download_{file_name}",
    )


def _chart(chart: alt.LayerChart, key: str) -> None:
    with st.container(border=True):
        st.altair_chart(chart, width="stretch", key=f"chart_{key}")
