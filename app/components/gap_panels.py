"""What investors leave on the table: together, the outliers, one of them."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from imop_app.components import show
from imop_app.services import gaps, results
from imop_engine.report import charts_gaps
from imop_engine.sentences.words import word
from imop_engine.study import Study


def together(study: Study) -> None:
    """The picture that explains it, the distribution, and who leaves far more than the others."""
    found = gaps.picture(study)
    if found is None:
        return
    st.header("Money left on the table", anchor=False, help=word("left on the table"))
    st.markdown(show.escape(found.said))
    seen = results.preferences(study)
    left, right = st.columns(2)
    with left:
        dots = results.all_dots(seen)
        show.chart(charts_gaps.gap_chart(seen.curves, found.arrows, dots), "gaps")
    with right:
        show.chart(charts_gaps.gap_histogram_chart(found.bins, found.threshold), "gap_counts")
    if found.outliers.empty:
        st.caption("Nobody leaves far more on the table than the rest.")
        return
    st.markdown(show.escape(found.outliers_said))
    show.table(
        found.outliers,
        "gap_outliers",
        {
            "investor": show.text("Investor"),
            "gap": show.percent("Left on the table (% a year)", "left on the table"),
            "gap_points": show.number("Basis points", "left on the table", "%.1f"),
            "sell": show.text("The efficient portfolio has less of"),
            "buy": show.text("And more of"),
        },
        alternative="Investors who leave far more on the table than the others, the most first",
        height=250 if len(found.outliers) > 6 else "content",
    )


def by_segment(table: pd.DataFrame, attribute: str) -> None:
    """What each group leaves on the table."""
    if "mean_gap" not in table:
        return
    left, right = st.columns(2)
    with left:
        show.chart(charts_gaps.gap_segment_chart(table, attribute), "gap_segments")
    with right:
        show.table(
            table,
            "gap_segments",
            {
                "segment": show.text(attribute),
                "mean_gap": show.percent("Left on the table", "left on the table"),
                "mean_points": show.number("Basis points", "left on the table", "%.1f"),
                "median_gap": show.percent("Median", "left on the table"),
                "share_of_gap": show.percent("Of what all leave"),
                "gap_outliers": show.number("Outliers", "outlier", "%d"),
            },
            alternative="Mean return left on the table by each group of investors",
        )


def one(study: Study, investor: str) -> None:
    """One investor: her dot, the frontier above it, the arrow between."""
    found = gaps.investor(study, investor)
    if found is None:
        return
    said, arrow = found
    st.markdown(show.escape(said), help=word("left on the table"))
    seen = results.preferences(study)
    show.chart(charts_gaps.gap_chart(seen.curves, arrow, results.all_dots(seen)), "one_gap")
