"""`imop client`: the one-pager of one client of a study, of many in one archive, the mismatches.

Imports of the engine are inside the functions: a module of commands is loaded for every
`imop --help`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands import common
from imop_engine.commands.options import Json, grouped
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from imop_engine.clients.book import ClientBook, ClientOptions

ENDINGS: Final = (".html", ".pdf", ".zip", ".csv", ".xlsx", ".json", ".parquet")
TABLES: Final = (".csv", ".xlsx", ".json", ".parquet")


@dataclass(frozen=True)
class ClientChoices:
    """What the analyst says about clients."""

    turnover: Annotated[
        str, typer.Option("--turnover", help="The most that may be sold, as 10% of wealth.")
    ] = "100%"
    least: Annotated[
        str, typer.Option("--least-trade", help="Smaller trades are not made, as 0.5%.")
    ] = "0.5%"
    wealth: Annotated[
        float | None, typer.Option("--wealth", help="What each client has, in money.")
    ] = None
    wealth_column: Annotated[
        str | None, typer.Option("--wealth-column", help="The column that says it instead.")
    ] = None
    currency: Annotated[str, typer.Option("--currency", help="What money is counted in.")] = ""
    risk_column: Annotated[
        str | None, typer.Option("--risk-column", help="The column that states a risk class.")
    ] = None
    order: Annotated[
        str | None, typer.Option("--order", help="All classes, calmest first, with commas.")
    ] = None
    class_limits: Annotated[
        str | None,
        typer.Option("--class-limits", help="Volatility up to which each class goes, as 5%,10%."),
    ] = None

    def options(self) -> ClientOptions:
        """The same for the engine."""
        from imop_engine.clients.book import ClientOptions
        from imop_engine.clients.trades import TradeRules

        limits = None
        if self.class_limits is not None:
            parts = self.class_limits.split(",")
            limits = tuple(_share(one, "--class-limits", "5%,10%") for one in parts)
        return ClientOptions(
            TradeRules(
                _share(self.turnover, "--turnover", "10%"),
                _share(self.least, "--least-trade", "0.5%"),
            ),
            self.wealth,
            self.wealth_column,
            self.currency,
            self.risk_column,
            None if self.order is None else tuple(one.strip() for one in self.order.split(",")),
            limits,
        )


def _share(text: str, option: str, example: str) -> float:
    return common.assignment(f"x={text.strip()}", option, example)[1]


@grouped
def client(
    choices: ClientChoices,
    study: Annotated[Path, typer.Argument(help="Folder of a study, as imop learn writes it.")],
    identifier: Annotated[
        list[str] | None, typer.Option("--id", help="A client; repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", help="Clients with COLUMN=VALUE; repeatable.")
    ] = None,
    mismatches: Annotated[
        bool, typer.Option("--mismatches", help="Those who hold another risk than they stated.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="One-pager (.html, .pdf), archive (.zip) or table (.csv …)."),
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="PDF in the archive instead of HTML.")] = False,
    paper: Annotated[str, typer.Option("--paper", help="Of a PDF: a4 or letter.")] = "a4",
    as_json: Json = False,
) -> None:
    """The one-pager of a client, those of many in one archive, or a table of them.

    Without --out it prints what the table says.
    """
    book = _book(study, choices)
    chosen = _chosen(book, identifier, where, mismatches)
    written = None if out is None else _write(book, chosen, out, pdf, paper)
    _say(book, chosen, written, as_json)


def _book(folder: Path, choices: ClientChoices) -> ClientBook:
    from imop_engine.clients.book import ClientBook

    return ClientBook.of(common.opened_study(folder), choices.options())


def _chosen(
    book: ClientBook, identifier: list[str] | None, where: list[str] | None, mismatches: bool
) -> list[str]:
    from imop_engine.clients.selection import chosen_ids, of_options

    for one in identifier or ():
        book.place(one)
    pairs: dict[str, str] = {}
    for text in where or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InvalidInput(f"--where is {text!r}; write it as segment=retail.")
        pairs[name.strip()] = value.strip()
    found = list(identifier) if identifier else list(chosen_ids(book, of_options(pairs)))
    if mismatches:
        if book.classes is None:
            raise InvalidInput("--mismatches needs the column of the class: --risk-column COLUMN.")
        wanted = set(found)
        found = [one for one in book.mismatches["id"] if one in wanted]
    return found


def _write(book: ClientBook, chosen: list[str], out: Path, pdf: bool, paper: str) -> str:
    import datetime as dt

    from imop_engine.client_files import client_archive
    from imop_engine.report.html_client import client_page
    from imop_engine.report.printing import pdf_of_one_page as printed
    from imop_engine.tables.export import write_table

    ending, today = out.suffix.lower(), dt.date.today()
    if ending not in ENDINGS:
        raise InvalidInput(f"--out is {out}; its ending is one of {', '.join(ENDINGS)}.")
    if ending in TABLES:
        return str(write_table(_rows(book, chosen), out))
    if ending == ".zip":
        out.write_bytes(
            client_archive(book, chosen, today, paper if pdf else "", printed if pdf else None)
        )
        return str(out)
    if len(chosen) != 1:
        raise InvalidInput(
            f"{len(chosen)} clients do not fit into {out.name}; name one with --id, or write an "
            "archive: --out clients.zip."
        )
    page = client_page(book, chosen[0], today, paper if ending == ".pdf" else "")
    out.write_bytes(printed(page) if ending == ".pdf" else page.encode())
    return str(out)


def _rows(book: ClientBook, chosen: list[str]) -> Any:
    return book.table.iloc[[book.place(one) for one in chosen]]


def _say(book: ClientBook, chosen: list[str], written: str | None, as_json: bool) -> None:
    from imop_engine.clients.sheet import client_sheet
    from imop_engine.report.facts import run_facts
    from imop_engine.sentences import clients as say
    from imop_engine.sentences.numbers import percent_cell
    from imop_engine.tables.export import records

    if as_json:
        common.say_json(
            {
                "file": written,
                "about": [{"what": what, "text": text} for what, text in run_facts(book.study)],
                "clients": records(_rows(book, chosen)),
            }
        )
        return
    if len(chosen) == 1:
        sheet = client_sheet(book, chosen[0])
        score = say.score_range(sheet.before.score, sheet.before.score_low, sheet.before.score_high)
        typer.echo(f"{sheet.client}: risk {percent_cell(sheet.before.risk)}, score {score}.")
        stated = "" if sheet.stated is None else sheet.stated.sentence
        for line in (stated, sheet.left_said, sheet.trades_said, *sheet.withheld):
            if line:
                typer.echo(line)
    else:
        typer.echo(f"{len(chosen):,} of {len(book):,} clients.")
        if book.classes is not None:
            typer.echo(book.mismatches_said())
    if written is not None:
        typer.echo(f"Written to {written}.")
