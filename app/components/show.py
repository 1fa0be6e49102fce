"""The parts every page is made of: heads, charts, tables, empty states, downloads."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from imop_app.services.errors import ON_PURPOSE, AppError
from imop_app.services.preparing import Preparing
from imop_engine.sentences.words import word

if TYPE_CHECKING:  # a page without charts must not wait for them
    import altair as alt
    import pandas as pd

LOG = logging.getLogger("imop")
# Streamlit keeps names of axes far from what they name; charts side by side need the room.
# A chart is read out as one picture with its own words; thousands of marks without names are not.
CLOSER = {
    "axis": {"labelPadding": 6, "titlePadding": 8},
    "padding": {"bottom": 4},
    "mark": {"aria": False},
}
NUMBER = st.column_config.NumberColumn
TEXT = st.column_config.TextColumn


def head(title: str, sentence: str, about: str | None = None) -> None:
    """The top of a page: what it is and what it answers.

    Args:
        title: Of the page.
        sentence: What it answers.
        about: The explanation in its tooltip; None shows none.
    """
    st.title(title, anchor=False, help=None if about is None else word(about))
    st.markdown(sentence)


def chart(drawn: alt.LayerChart, key: str, **options: Any) -> Any:
    """A chart in a frame of its own; returns what was selected in it, if anything can be.

    Args:
        drawn: The chart.
        key: What Streamlit remembers the element by.
        **options: Handed on to Streamlit.
    """
    from imop_engine.report.style import stable_spec

    with st.container(border=True):
        return st.vega_lite_chart(
            spec={**stable_spec(drawn), "config": CLOSER},
            width="stretch",
            key=f"chart_{key}",
            alt=_alt(drawn),
            **options,
        )


def _alt(drawn: alt.LayerChart) -> str:
    return f"{drawn.title.text}. {drawn.title.subtitle}."


def empty(title: str, sentence: str) -> Any:
    """What a page says before there is anything to show; buttons go into what it returns.

    Args:
        title: In a few words.
        sentence: In one line.
    """
    box = st.container(border=True, key=f"empty_{title.lower().replace(' ', '_')[:30]}")
    box.header(title, anchor=False)
    box.markdown(sentence)
    return box.container(horizontal=True)


@contextmanager
def guarded() -> Iterator[None]:
    """Let whatever goes wrong on a page end in a sentence.

    What nobody foresaw gets a number, under which the server's log has the rest; the page says
    nothing of the inside.
    """
    try:
        yield
    except ON_PURPOSE as error:
        st.error(escape(str(error)), icon=":material/error:")
    except Exception as error:
        number = secrets.token_hex(4)
        LOG.error("error %s on a page", number, exc_info=error)
        st.error(
            f"This page could not be drawn, and the fault is ours, not your data's. Your work is "
            f"kept; reload the page or open another. If you report it, say the number {number}.",
            icon=":material/error:",
        )


def problem(error: AppError) -> None:
    """What a page shows in place of what it could not: a sentence, or that it waits."""
    if isinstance(error, Preparing):
        st.info(str(error), icon=":material/hourglass_top:")
    else:
        st.error(escape(str(error)), icon=":material/error:")


def figures(shown: Sequence[tuple[str, str, str]], key: str) -> None:
    """Key figures beside each other: label, value, and the word that explains it."""
    with st.container(horizontal=True, key=f"figures_{key}"):
        for label, value, about in shown:
            st.metric(label, value, border=True, help=word(about))


def table(
    data: pd.DataFrame,
    key: str,
    columns: Mapping[str, Any],
    *,
    alternative: str,
    height: int | Literal["auto", "content", "stretch"] = "auto",
    **options: Any,
) -> Any:
    """A table that shows only the columns it explains, in their order.

    Args:
        data: One row for each line.
        key: What Streamlit remembers the element by.
        columns: How each shown column is drawn, by its name.
        alternative: The table in words, for those who cannot see it.
        height: In pixels, or as Streamlit names it.
        **options: Handed on to Streamlit.
    """
    shown = [name for name in columns if name in data.columns]
    hundredfold = [name for name in shown if _form(columns[name]).endswith("%%")]
    return st.dataframe(
        data.assign(**{name: 100.0 * data[name].astype(float) for name in hundredfold}),
        hide_index=True,
        column_order=shown,
        column_config={name: columns[name] for name in shown},
        height=height,
        row_height=29,
        placeholder="–",
        key=f"table_{key}",
        alt=alternative,
        **options,
    )


def percent(label: str, about: str | None = None, *, digits: int = 2) -> Any:
    """A column of shares or returns, which `table` shows in percent, to the same digit in each row.

    Args:
        label: What stands on it.
        about: The explanation in its tooltip; None shows none.
        digits: How many after the point.
    """
    return NUMBER(label, format=f"%.{digits}f%%", help=_help(about))


def _form(column: Any) -> str:
    """How a column's numbers are written; "" of columns that hold none."""
    return str((column.get("type_config") or {}).get("format") or "")


def number(label: str, about: str | None = None, form: str = "%.4f") -> Any:
    """A column of numbers.

    Args:
        label: What stands on it.
        about: The explanation in its tooltip; None shows none.
        form: How a number is written, in printf's notation.
    """
    return NUMBER(label, format=form, help=_help(about))


def text(label: str, about: str | None = None, width: Any = None) -> Any:
    """A column of text.

    Args:
        label: What stands on it.
        about: The explanation in its tooltip; None shows none.
        width: In pixels, or as Streamlit names it; None leaves it to Streamlit.
    """
    return TEXT(label, help=_help(about), width=width)


def date(label: str) -> Any:
    """A column of days."""
    return st.column_config.DateColumn(label, format="YYYY-MM-DD")


def short(name: str, most: int = 24) -> str:
    """A name that leaves room for others.

    >>> short("Eight securities", 9)
    'Eight se…'
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def _help(about: str | None) -> str | None:
    return None if about is None else word(about)


def bullets(lines: Sequence[str], most: int = 8) -> None:
    """Sentences as a list; the rest of a long one is counted."""
    for line in lines[:most]:
        st.markdown(f"- {escape(line)}")
    if len(lines) > most:
        st.caption(f"And {len(lines) - most:,} more; the table has them all.")


def escape(line: str) -> str:
    """Text of a file in a sentence of ours: what would be markup is shown as it is.

    >>> escape("a_b*c [x](y) $1")
    'a\\\\_b\\\\*c \\\\[x\\\\](y) \\\\$1'
    """
    for sign in "\\`*_[]$#<>~:":
        line = line.replace(sign, "\\" + sign)
    return line


def pages(count: int, size: int, key: str) -> int:
    """Which page of a long table to show; draws nothing where one is enough.

    Args:
        count: How many rows the table has.
        size: How many a page shows.
        key: What Streamlit remembers the element by.

    Returns:
        The page, from 0.
    """
    total = max(1, -(-count // size))
    if total == 1:
        return 0
    chosen = st.number_input(
        f"Page (of {total:,})",
        min_value=1,
        max_value=total,
        step=1,
        key=key,
        help=f"{count:,} rows, {size} at a time; downloads always have every row.",
    )
    return int(chosen) - 1


def download(
    label: str,
    content: Any,
    file_name: str,
    mime: str,
    about: str,
    *,
    main: bool = False,
    place: str = "",
) -> None:
    """A button that hands out a file; `content` may be a function, called on the click.

    Args:
        label: What stands on it.
        content: Bytes, text, or a function that returns them.
        file_name: What the file is called when saved.
        mime: Its type.
        about: The explanation in its tooltip; None shows none.
        main: Whether it is the page's main button.
        place: Tells two buttons for one file apart.
    """
    st.download_button(
        label,
        content,
        file_name=file_name,
        mime=mime,
        icon=":material/download:",
        type="primary" if main else "secondary",
        on_click="ignore",
        help=about,
        key=f"download_{place}{file_name}",
    )
