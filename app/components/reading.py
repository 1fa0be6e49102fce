"""What reading a file found: first what needs the analyst, with buttons; then what was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import streamlit as st

from imop_app.components import show

ROWS: Final = 100
FIELDS: Final = ("rates", "cash")  # choices that are numbers


def report(
    reports: Sequence[Any],
    lines: Any,
    key: str,
    cure: Callable[[str, str], None] | None = None,
    remarks: Sequence[str] = (),
    caption: str = "",
    clean: bool = False,
) -> None:
    """Draw the reading report in its two parts.

    Args:
        reports: The readers' reports, one for each file.
        lines: Everything that was noted, changed or refused, a line each.
        key: What Streamlit remembers the elements by.
        cure: Called with an argument of the reader and its value; None offers no buttons.
        remarks: Sentences beside those of the reports.
        caption: What was detected, in one line.
        clean: Whether there is nothing to remark, whatever the remarks explain.
    """
    needs = [finding for one in reports for finding in one.needs_you]
    counts = [show.escape(one.summary()) for one in reports]
    if needs:
        _needs_you(needs, counts, key, cure)
    done = [finding.sentence() for one in reports for finding in one.done_for_you]
    counted = " ".join(said for one in reports if (said := one.done_summary()))
    quiet = clean or not (needs or done or remarks)
    title = "nothing to remark" if quiet else counted or "what was noted"
    icon = ":material/check_circle:" if not needs else ":material/rule:"
    with st.expander(f"Reading report: {title}", icon=icon):
        for line in [] if needs else counts:
            st.markdown(line)
        show.bullets([*done, *remarks])
        if caption:
            st.caption(show.escape(caption))
        if len(lines):
            number = show.pages(len(lines), ROWS, f"{key}_page")
            show.table(
                lines.iloc[number * ROWS : (number + 1) * ROWS],
                key,
                {name: show.text(name.capitalize()) for name in lines.columns},
                alternative="Everything that reading the file noted, changed or refused",
                height=240,
            )


def _needs_you(
    needs: Sequence[Any],
    counts: Sequence[str],
    key: str,
    cure: Callable[[str, str], None] | None,
) -> None:
    with st.container(border=True, key=f"needs_{key}"):
        st.markdown(f"**Needs you** ({len(needs)})")
        for line in counts:
            st.caption(line)
        for place, finding in enumerate(needs):
            st.markdown(show.escape(finding.sentence()))
            # rates are numbers that no button knows; there are fields for them
            offered = [one for one in finding.cures if one.option not in FIELDS]
            if cure is None or not offered:
                continue
            with st.container(horizontal=True, key=f"cures_{key}_{place}"):
                for number, one in enumerate(offered):
                    st.button(
                        one.label,
                        key=f"cure_{key}_{place}_{number}",
                        on_click=cure,
                        args=(one.option, one.value),
                        help="Reads the file again with this choice.",
                    )
