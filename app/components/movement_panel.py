"""Beliefs over time: whether they moved, and the returns of each stretch of portfolios."""

from __future__ import annotations

import streamlit as st

from imop_app.components import show
from imop_app.services import movement
from imop_engine.study import Study


def over_time(study: Study) -> None:
    """Shown where the analyst asks for it, because it settles the returns once more."""
    st.subheader("Beliefs over time", anchor=False)
    asked = st.toggle(
        "Did beliefs move while these portfolios came?",
        key="beliefs_over_time",
        help="Portfolios in the order of their dates, or of their file. Needs no new run.",
    )
    if not asked:
        return
    found = movement.picture(study)
    if found is None:
        st.caption("Too few portfolios, or too little in them, to say whether beliefs moved.")
        return
    st.markdown(show.escape(found.said))
    show.chart(found.drawn, "beliefs_over_time_chart")
