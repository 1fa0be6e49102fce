"""What groups of investors believe: the choice of a column, sentences, a picture, tables."""

from __future__ import annotations

import streamlit as st

from imop_app.components import show
from imop_app.services import groups
from imop_engine.report import charts_groups
from imop_engine.sentences.words import word
from imop_engine.study import Study


def beliefs(study: Study) -> None:
    """Compare groups by a column that the analyst chooses; nothing where there is none."""
    names = groups.columns(study)
    if not names:
        return
    st.subheader("What groups believe", anchor=False, help=word("groups"))
    asked = study.settings.by
    by = st.selectbox(
        "Compare groups by",
        names,
        index=names.index(asked) if asked in names else None,
        placeholder="Choose a column, or year or quarter of the dates",
        key="groups_by",
        help="Needs no new run. Numbers are cut at their quartiles.",
    )
    if by is None:
        return
    found = groups.picture(study, by)
    st.markdown(show.escape(" ".join(found.said)), help=word("groups"))
    if found.drawn.empty:
        return
    draw = charts_groups.group_time_chart if found.in_time else charts_groups.group_chart
    show.chart(draw(found.drawn, found.column), "groups")
    _tables(found)


def _tables(found: groups.GroupPicture) -> None:
    show.table(
        found.matrix,
        "group_returns",
        {
            "asset": show.text("Asset"),
            "common": show.percent("All", "expected return"),
            **{name: show.percent(name, "groups") for name in found.told},
            "between": show.percent("Between groups", "between groups"),
            "p_value": show.number("p-value", "groups", "%.3f"),
        },
        alternative="Expected return of each asset by group, shrunk to the common one",
    )
    with st.expander("Who is compared", icon=":material/groups:"):
        show.table(
            found.sizes,
            "group_sizes",
            {
                "group": show.text(found.column),
                "portfolios": show.number("Portfolios", form="%d"),
                "investors": show.number("Investors who tell of beliefs", form="%d"),
                "set_aside": show.number("Set aside", "outlier", "%d"),
            },
            alternative="How many portfolios and investors each group has",
        )
        for note in found.notes:
            st.caption(show.escape(note))
        show.download(
            "groups.csv",
            found.file,
            "groups.csv",
            "text/csv",
            "Every group and asset: estimates, intervals, differences from all.",
        )
