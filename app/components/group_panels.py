"""What groups of investors believe: the choice of a column, sentences, a picture, tables."""

from __future__ import annotations

import streamlit as st

from imop_app.components import show
from imop_app.services import groups
from imop_app.state import AppState, place
from imop_engine.sentences.words import word
from imop_engine.study import Study


def choose(state: AppState, study: Study) -> str | None:
    """The column that groups are compared by; None where the run has none or none was chosen."""
    names = groups.columns(study)
    if not names:
        return None
    by = st.selectbox(
        "Compare groups by",
        (None, *names),
        index=place((None, *names), state.workspace.groups),
        format_func=lambda name: "No groups" if name is None else show.short(name),
        key="groups_by",
        help="Needs no new run, and goes into the report and the tables. Numbers are cut at their "
        "quartiles.",
    )
    state.compare_groups(by)
    return by


def beliefs(state: AppState, study: Study) -> None:
    """Compare groups by a column that the analyst chooses; nothing where there is none."""
    if not groups.columns(study):
        return
    st.header("What groups believe", anchor=False, help=word("groups"))
    by = choose(state, study)
    if by is None:
        return
    shown(groups.picture(study, by))


def shown(found: groups.GroupPicture) -> None:
    """Groups that were compared: sentences, a picture, tables."""
    st.markdown(show.escape(" ".join(found.said)), help=word("groups"))
    if found.drawn.empty:
        return
    show.chart(groups.chart(found), "groups")
    _tables(found)


def _tables(found: groups.GroupPicture) -> None:
    show.table(
        found.matrix,
        "group_returns",
        {
            "asset": show.text("Asset"),
            "common": show.percent("All", "expected return"),
            **{name: show.percent(show.short(name), "groups") for name in found.told},
            "between": show.percent("Between groups", "between groups"),
            "p_value": show.number("p-value", "groups", "%.3f"),
        },
        alternative="Expected return of each asset by group, shrunk to the common one",
    )
    if found.silent:
        st.caption(show.escape(found.silent))
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
