"""The clients of a kept run: filtered, one by one, handed out, learned from again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.jobs import Job
from imop_app.run_record import RunRecord
from imop_app.services import groups, learning, results
from imop_app.services.errors import AppError, sentences
from imop_app.settings import InvestorSettings, Selection
from imop_app.workspace import Workspace
from imop_engine.clients import selection as choosing

# the views name these types by this service
from imop_engine.clients.book import ClientBook as ClientBook
from imop_engine.clients.book import ClientOptions as ClientOptions
from imop_engine.clients.compare import CHOSEN, compared_figures, with_choice
from imop_engine.clients.selection import ClientFilter as ClientFilter
from imop_engine.clients.sheet import ClientSheet, client_sheet
from imop_engine.clients.stated import class_columns, default_column
from imop_engine.clients.trades import TradeRules
from imop_engine.report import frames_client, html_client, printing
from imop_engine.report.facts import facts_table
from imop_engine.sentences import clients as say
from imop_engine.study import Study

# One-pagers of more clients than this are the shell's work: a page should answer in seconds.
MOST_PAGES: Final = 500
NOTHING: Final = "No class is compared"
OFFERED: Final = 20_000  # names in the menu; the search field has them all

MISMATCHES: Final = say.MISMATCHES
MISMATCH_WORDS: Final = say.MISMATCH_WORDS


@dataclass(frozen=True, eq=False)
class SheetPicture:
    """One client: the sheet, and the tables behind its charts."""

    sheet: ClientSheet
    cards: tuple[tuple[str, str], ...]
    bars: pd.DataFrame
    curves: pd.DataFrame
    places: pd.DataFrame
    bands: pd.DataFrame
    marks: pd.DataFrame
    figures: pd.DataFrame
    trades: pd.DataFrame


@sentences
def options(chosen: Mapping[str, Any]) -> ClientOptions:
    """What the analyst said about clients, in the engine's words.

    Args:
        chosen: What the page's fields hold, by name: turnover and least in per cent, order and
            limits as text with commas.
    """
    order = [one.strip() for one in str(chosen.get("order") or "").split(",") if one.strip()]
    limits = str(chosen.get("limits") or "").replace("%", "").split(",")
    return ClientOptions(
        TradeRules(chosen["turnover"] / 100.0, chosen["least"] / 100.0),
        chosen.get("wealth"),
        chosen.get("wealth_column"),
        str(chosen.get("currency") or ""),
        chosen.get("risk_column"),
        tuple(order) or None,
        tuple(_percent(one) for one in limits if one.strip()) or None,
    )


def _percent(text: str) -> float:
    try:
        return float(text) / 100.0
    except ValueError:
        raise AppError(f"{text.strip()!r} is no per cent; write limits as 5, 10, 15.") from None


def risk_columns(study: Study) -> tuple[tuple[str, ...], str | None]:
    """Columns that may state a risk class, and the one that is called so."""
    return _risk_columns(results.key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _risk_columns(key: str, _study: Study) -> tuple[tuple[str, ...], str | None]:
    known = _study.data.attributes
    named = [str(name) for name in known.columns if 1 < known[name].nunique() <= 10]
    return tuple(dict.fromkeys((*class_columns(known), *named))), default_column(known)


def money_columns(study: Study) -> tuple[str, ...]:
    """Columns that may say what a client has."""
    known = study.data.attributes
    return tuple(
        str(name)
        for name in known.columns
        if pd.api.types.is_numeric_dtype(known[name])
        and not pd.api.types.is_bool_dtype(known[name])
    )


@sentences
def book(study: Study, chosen: ClientOptions) -> ClientBook:
    """The clients of a run. Kept with the study.

    Args:
        study: A kept run.
        chosen: What the analyst says about clients.
    """
    return _book(results.key_of(study), study, chosen)


@st.cache_resource(show_spinner=False, max_entries=8)
def _book(key: str, _study: Study, chosen: ClientOptions) -> ClientBook:
    return ClientBook.of(_study, chosen)


def filters(found: ClientBook) -> dict[str, list[str]]:
    """Attributes to choose by, with their values."""
    return choosing.filter_values(found)


def ranges(found: ClientBook) -> dict[str, tuple[float, float]]:
    """Numbers to choose by, with their ends."""
    return choosing.filter_ranges(found)


def wanted(
    values: Mapping[str, Any],
    ranged: Mapping[str, tuple[float, float]],
    status: Any,
    mismatch: Any,
    text: str,
) -> ClientFilter:
    """A filter.

    Args:
        values: Allowed values by attribute.
        ranged: Ends by column.
        status: Allowed statuses.
        mismatch: Allowed comparisons of stated and held risk.
        text: Part of an id or of an attribute.
    """
    return ClientFilter(
        tuple((name, tuple(some)) for name, some in values.items() if some),
        tuple((name, *ends) for name, ends in ranged.items()),
        tuple(status),
        tuple(mismatch),
        text,
    )


@sentences
def chosen(found: ClientBook, asked: ClientFilter) -> tuple[str, ...]:
    """The clients who pass."""
    return choosing.chosen_ids(found, asked)


def table(found: ClientBook, ids: tuple[str, ...], mismatches_first: bool = False) -> pd.DataFrame:
    """The rows of some clients.

    Args:
        found: The clients of a run.
        ids: What the chosen are called.
        mismatches_first: Whether those come first whose held risk is furthest from the stated.
    """
    rows = found.table.iloc[[found.places[one] for one in ids]]
    if not mismatches_first or found.classes is None:
        return rows
    far = {one: place for place, one in enumerate(found.mismatches["id"])}
    return rows.iloc[np.argsort([far.get(one, len(far)) for one in rows["id"]], kind="stable")]


def said(found: ClientBook, ids: tuple[str, ...], asked: ClientFilter) -> str:
    """How many were chosen, and how.

    Args:
        found: The clients of a run.
        ids: What the chosen are called.
        asked: How they were chosen.
    """
    if asked.empty:
        return f"All {len(found):,} clients."
    return f"{len(ids):,} of {len(found):,} clients: {asked.said()}."


def mismatches_said(found: ClientBook) -> str:
    """How many hold another risk than they stated; "" where none is compared."""
    return found.mismatches_said()


def bands(found: ClientBook) -> pd.DataFrame:
    """The stated classes with their scores and volatilities."""
    return found.bands()


@sentences
def sheet(found: ClientBook, client: str) -> SheetPicture:
    """One client, with the tables behind the charts.

    Args:
        found: The clients of a run.
        client: What the client is called.
    """
    return _sheet(f"{results.key_of(found.study)}-{found.options!r}", found, client)


@st.cache_resource(show_spinner=False, max_entries=64)
def _sheet(key: str, _found: ClientBook, client: str) -> SheetPicture:
    one = client_sheet(_found, client)
    curves, places = frames_client.positions(_found, one)
    return SheetPicture(
        sheet=one,
        cards=tuple(html_client.cards(one)),
        bars=frames_client.holdings_bars(one),
        curves=curves,
        places=places,
        bands=frames_client.score_bands(one),
        marks=frames_client.score_marks(one),
        figures=_as_frame(html_client.figures_table(one)),
        trades=_as_frame(html_client.trades_table(one)),
    )


def _as_frame(drawn: Any) -> pd.DataFrame:
    """A table of the one-pager for the page: the same cells."""
    if drawn is None:
        return pd.DataFrame()
    return pd.DataFrame(drawn.rows, columns=[one.title or " " for one in drawn.columns])


@sentences
def page_html(found: ClientBook, client: str) -> str:
    """The one-pager of a client as HTML.

    Args:
        found: The clients of a run.
        client: What the client is called.
    """
    return html_client.client_page(found, client, today())


@sentences
def page_pdf(found: ClientBook, client: str, paper: str) -> bytes:
    """The one-pager of a client as PDF.

    Args:
        found: The clients of a run.
        client: What the client is called.
        paper: "a4" or "letter".
    """
    return printing.pdf_of_one_page(html_client.client_page(found, client, today(), paper))


def file_name(client: str, ending: str) -> str:
    """What the file of a one-pager is called."""
    return html_client.file_name(client, ending)


@sentences
def archive(found: ClientBook, ids: tuple[str, ...]) -> bytes:
    """One-pagers of many clients in one archive.

    Args:
        found: The clients of a run.
        ids: What they are called.
    """
    from imop_engine.client_files import client_archive

    if len(ids) > MOST_PAGES:
        raise AppError(
            f"{len(ids):,} one-pagers are too many to wait for on a page ({MOST_PAGES} at most); "
            "choose fewer, or use `imop client` in a shell."
        )
    return client_archive(found, ids, today())


@sentences
def table_csv(found: ClientBook, ids: tuple[str, ...]) -> bytes:
    """Rows of some clients as CSV.

    Args:
        found: The clients of a run.
        ids: What they are called.
    """
    from imop_engine.tables.export import csv_text

    return csv_text(table(found, ids)).encode()


@sentences
def workbook(found: ClientBook, ids: tuple[str, ...], asked: ClientFilter) -> bytes:
    """Rows of some clients, the stated classes and the run's facts as an Excel workbook.

    Args:
        found: The clients of a run.
        ids: What they are called.
        asked: How they were chosen.
    """
    from imop_engine.tables.export import workbook as write

    facts = facts_table(found.study, today())
    facts.loc[len(facts)] = ["clients", said(found, ids, asked)]
    tables = {"clients": table(found, ids), "about": facts}
    if found.classes is not None:
        tables["classes"] = found.bands()
    return write(tables)


def today() -> dt.date:
    """The day that stands on what is handed out."""
    return dt.date.today()


# -- acting ----------------------------------------------------------------------------------------
def can_learn(workspace: Workspace, record: RunRecord | None) -> bool:
    """Whether the shown run was learned from what the workspace holds now."""
    settings = workspace.settings
    if settings is None or record is None or record.settings is None:
        return False
    return (
        record.settings.market == settings.market
        and record.settings.investors.batches == settings.investors.batches
    )


def selected(investors: InvestorSettings, picked: Selection) -> InvestorSettings:
    """The same investors with only some of them, or without some.

    A second choice is made among those who were left by the first.

    Args:
        investors: What the shown run was learned from.
        picked: Who was chosen.
    """
    before = investors.selection
    if before is not None and picked.mode == "without":
        if before.mode == "without":
            ids = tuple(dict.fromkeys((*before.ids, *picked.ids)))
            said = "; ".join(dict.fromkeys((before.said, picked.said)))
            picked = Selection("without", ids, said)
        else:
            out = set(picked.ids)
            kept = tuple(one for one in before.ids if one not in out)
            picked = Selection("only", kept, f"{before.said}, without {picked.said}")
    return InvestorSettings(investors.batches, picked)


def all_of(investors: InvestorSettings) -> InvestorSettings:
    """All investors, whoever was chosen before."""
    return InvestorSettings(investors.batches)


@sentences
def learn_from(workspace: Workspace, store: Any) -> Job:
    """Begin a run with what the workspace holds."""
    return learning.start(workspace, store)


# -- comparing -------------------------------------------------------------------------------------
@sentences
def compared(found: ClientBook, ids: tuple[str, ...]) -> tuple[pd.DataFrame, groups.GroupPicture]:
    """The chosen beside the rest: figures, and what each group believes.

    Args:
        found: The clients of a run.
        ids: What the chosen are called.
    """
    study = with_choice(found.study, ids)
    return compared_figures(found, ids), groups.picture_of(study, CHOSEN)
