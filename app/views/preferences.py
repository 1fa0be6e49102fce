"""Preferences: what was learned about the investors, together, in groups and one by one."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from imop_app.components import frame, gap_panels, group_panels, movement_panel, show
from imop_app.services import results
from imop_app.services.errors import AppError
from imop_app.state import AppState, current, place
from imop_engine.report import charts_people
from imop_engine.sentences.words import word
from imop_engine.study import Study

ROWS: Final = 100
HIDDEN: Final = ("reason", "risk_aversion_low", "risk_aversion_high", "gap_outlier")
ORDERS: Final[dict[str | None, str]] = {
    None: "As they came",
    "gap": "Most left on the table first",
    "distance": "Furthest from the frontier first",
    "weight": "Boldest first",
}


def page() -> None:
    """Draw the page."""
    state = current()
    show.head(
        "Preferences",
        "How each investor weighs return against risk, how these weights are distributed, and who "
        "does not fit the picture.",
        "weight",
    )
    try:
        study = results.open_run(state.store, state.workspace.run)
        if study is None:
            with show.empty(
                "No preferences yet",
                "Once a run has learned the returns, every investor gets a weight between return "
                "and risk, with an interval. Drag over the histogram to see who they are.",
            ):
                frame.link(state, "learn", "Go and learn")
            return
        _together(study)
        gap_panels.together(study)
        _groups(study)
        group_panels.beliefs(state, study)
        movement_panel.over_time(study)
        _outliers(study)
        _one(state, study)
    except AppError as error:
        show.problem(error)


def _together(study: Study) -> None:
    picture = results.preferences(study)
    scale = st.segmented_control(
        "Shown as",
        list(results.SCALES),
        format_func=str.capitalize,
        default=results.SCALES[0],
        key="preference_scale",
        required=True,
        wrap=True,
        help=word("weight") + " " + word("risk aversion"),
    )
    by_weight = scale == "weight"
    left, right = st.columns(2)
    with left:
        bins = picture.weight_bins if by_weight else picture.aversion_bins
        picked = show.chart(
            charts_people.preference_chart(
                bins, picture.fitted if by_weight else None, scale=scale
            ),
            f"preferences_{scale}",
            on_select="rerun",
            selection_mode=[charts_people.BRUSH],
        )
    flags = results.chosen(picture, scale, _interval(picked))
    with right:
        show.chart(
            charts_people.cloud_chart(results.dots(picture, flags), picture.curves, pick=False),
            "preference_cloud",
        )
    st.markdown(show.escape(picture.family_said), help=word("p-value"))
    _table(picture, flags)
    _families(picture)


def _interval(picked: Any) -> tuple[float, float] | None:
    """The brushed stretch of the axis, as the chart reports it."""
    selection = getattr(picked, "selection", None) or {}
    brushed = selection.get(charts_people.BRUSH) or {}
    ends = next((value for value in brushed.values() if value), None)
    return None if not ends or len(ends) != 2 else (float(min(ends)), float(max(ends)))


def _table(picture: results.PreferencePicture, flags: Any) -> None:
    left, middle, right = st.columns([3, 2, 1], vertical_alignment="bottom")
    left.markdown(f"**{results.chosen_said(picture, flags)}**")
    order = middle.selectbox(
        "Order",
        list(ORDERS),
        format_func=ORDERS.__getitem__,
        key="preference_order",
        help="Of all rows, not only of those on this page of the table.",
    )
    rows = results.chosen_table(picture, flags, order)
    with right:
        page_number = show.pages(len(rows), ROWS, "preference_page")
    part = rows.iloc[page_number * ROWS : (page_number + 1) * ROWS]
    known = {
        "id": show.text("Investor"),
        "weight": show.number("Weight", "weight", "%.3f"),
        "weight_low": show.number("At least", "interval", "%.3f"),
        "weight_high": show.number("At most", "interval", "%.3f"),
        "risk_aversion": show.number("Risk aversion", "risk aversion", "%.2f"),
        "distance": show.percent("Distance", "distance"),
        "gap": show.percent("Left on the table", "left on the table"),
        "gap_points": show.number("Basis points", "left on the table", "%.1f"),
        "status": show.text("Status", "outlier"),
    }
    days = set(part.select_dtypes("datetime"))
    others = {
        name: (show.date if name in days else show.text)(show.short(str(name)))
        for name in part.columns
        if name not in known and name not in HIDDEN
    }
    show.table(
        part,
        "preferences",
        {**known, **others},
        alternative="Weight, risk aversion, distance and gap of the chosen investors",
        height=290,
    )


def _families(picture: results.PreferencePicture) -> None:
    if picture.families is None:
        return
    with st.expander("Fitted families", icon=":material/functions:"):
        show.table(
            picture.families,
            "families",
            {
                "family": show.text("Family"),
                "parameters": show.text("Parameters"),
                "bic": show.number("BIC (less is better)", form="%.1f"),
                "chi_square": show.number("Chi-square", form="%.1f"),
                "degrees": show.number("Degrees of freedom", form="%d"),
                "p_value": show.number("p-value", "p-value", "%.3f"),
                "replayed": st.column_config.CheckboxColumn("p-value replayed"),
                "chosen": st.column_config.CheckboxColumn("Chosen"),
            },
            alternative="Families of distributions fitted to the weights, with their tests",
        )


def _groups(study: Study) -> None:
    names = results.preferences(study).segments
    if not names:
        return
    st.header("By segment", anchor=False)
    attribute = st.selectbox(
        "Attribute",
        names,
        index=place(names, next((name for name in names if name != "date"), names[0])),
        key="segment_attribute",
        help="A column of your file that groups investors. Numbers are cut at their quartiles.",
    )
    table = results.segments(study, attribute)
    left, right = st.columns(2)
    with left:
        show.chart(charts_people.segment_chart(table, attribute), "segments")
    with right:
        show.table(
            table,
            "segments",
            {
                "segment": show.text(attribute),
                "investors": show.number("Investors", form="%d"),
                "mean_weight": show.number("Mean weight", "weight", "%.3f"),
                "median_risk_aversion": show.number(
                    "Median risk aversion", "risk aversion", "%.2f"
                ),
                "outliers": show.number("Outliers", "outlier", "%d"),
            },
            alternative="Mean weight of each group of investors",
        )
    gap_panels.by_segment(table, attribute)


def _outliers(study: Study) -> None:
    picture = results.preferences(study)
    st.header("How well one frontier explains them", anchor=False, help=word("outlier"))
    st.markdown(show.escape(results.fit_said(study)))
    left, right = st.columns(2)
    with left:
        show.chart(charts_people.distance_chart(picture.distances, picture.threshold), "distances")
    with right:
        table = results.outliers(study)
        if table.empty:
            st.success(
                "No outliers: nobody lies much further from the frontier than the rest.",
                icon=":material/check:",
            )
            return
        show.table(
            table,
            "outliers",
            {
                "investor": show.text("Investor"),
                "distance": show.percent("Distance", "distance"),
                "asset": show.text("Most different in"),
                "gap": show.percent("Held minus explained"),
            },
            alternative="Investors far from the frontier, the furthest first",
            height=300,
        )


def _one(state: AppState, study: Study) -> None:
    st.header("One investor", anchor=False)
    names = results.investor_names(study)
    investor = st.selectbox(
        "Investor",
        names,
        index=None,
        placeholder="Type a name or choose one",
        key="one_investor",
        help="Weight, interval, and what is held beside the nearest efficient portfolio.",
    )
    if investor is None:
        return
    found = results.investor_page(study, investor)
    if found is None:
        return
    row, held = found
    st.markdown(show.escape(results.investor_said(row)))
    left, right = st.columns(2)
    with left:
        show.chart(charts_people.composition_chart(held, investor), "one_investor")
    with right:
        gap_panels.one(study, investor)
