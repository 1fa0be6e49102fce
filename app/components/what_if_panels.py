"""What if: a portfolio and its caps to edit, a benchmark beside it, model portfolios by segment."""

from __future__ import annotations

import streamlit as st

from imop_app.components import show
from imop_app.services import clients, what_if
from imop_engine.report import charts_client

NUMBER = st.column_config.NumberColumn


def editor(found: clients.ClientBook, client: str) -> None:
    """Shares, caps and a benchmark to edit; figures and the frontier move along."""
    if not st.toggle("What if", key="what_if", help="Edit this portfolio and see what moves."):
        return
    with st.container(border=True):
        st.caption(
            "Change shares, caps or the benchmark (at first the average of all clients); shares "
            "are made to add up to 100. The estimate stays as it is."
        )
        left, right = st.columns(2)
        with left:
            edited = st.data_editor(
                what_if.start(found, client),
                hide_index=True,
                disabled=["asset"],
                column_config={
                    "asset": show.text("Asset"),
                    "share": NUMBER("Share (%)", min_value=0.0, max_value=100.0, format="%.2f"),
                    "cap": NUMBER("Cap (%)", min_value=0.01, max_value=100.0, format="%.2f"),
                    "benchmark": NUMBER("Benchmark (%)", min_value=0.0, format="%.2f"),
                },
                key=f"what_if_{client}",
            )
        picture = what_if.picture(found, client, edited)
        with right:
            if len(picture.places):
                show.chart(charts_client.position_chart(picture.curves, picture.places), "what_if")
        if picture.above_caps > 0.0:
            st.warning(
                f"{picture.above_caps:.1%} of the edited portfolio lies above the caps; its gap is "
                "that of the nearest portfolio within them.",
                icon=":material/warning:",
            )
        st.markdown(show.escape(picture.said))
        show.table(
            picture.figures.dropna(axis=1, how="all"),
            "what_if_figures",
            {
                "kind": show.text("Portfolio"),
                "risk": show.percent("Risk a year", "risk"),
                "score": show.number("Risk score", "risk score", "%.0f"),
                "return": show.percent("Expected return", "expected return"),
                "gap_points": show.number("Left (basis points)", "left on the table", "%.1f"),
                "weight": show.number("Weight", "weight", "%.3f"),
                "risk_aversion": show.number("Risk aversion", "risk aversion", "%.2f"),
            },
            alternative="Held, edited, benchmark and efficient portfolio side by side",
            height="content",
        )


def models(found: clients.ClientBook, stem: str) -> None:
    """Model portfolios by segment."""
    names = list(clients.filters(found))
    if not names or found.poor:
        return
    if not st.toggle(
        "Model portfolios by segment",
        key="models",
        help="The efficient portfolio of each segment's median weight.",
    ):
        return
    with st.container(border=True):
        attribute = st.selectbox(
            "Segments",
            names,
            key="model_attribute",
            help="For each value the efficient portfolio of the median client's weight.",
        )
        table = what_if.models(found, attribute)
        shown, assets = what_if.shown_models(table)
        show.table(
            shown,
            "models",
            {
                "segment": show.text(attribute),
                "clients": show.number("Clients", form="%d"),
                "weight": show.number("Weight", "weight", "%.3f"),
                "risk": show.percent("Risk a year", "risk"),
                "score": show.number("Risk score", "risk score", "%.0f"),
                "expected_return": show.percent("Expected return", "expected return"),
                **{name: show.percent(show.short(name)) for name in assets},
            },
            alternative="The model portfolio of each segment",
            height="content",
        )
        show.download(
            "Model portfolios (CSV)",
            what_if.models_csv(table),
            f"{stem}_model-portfolios.csv",
            "text/csv",
            "One row for each segment, holdings as fractions.",
        )
