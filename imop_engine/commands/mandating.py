"""`imop learn --mandate`: investors under different limits, a study each, one estimate of all.

Imports of the engine are inside the functions: this module is loaded for every `imop --help`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from imop_engine.commands import common, limiting
from imop_engine.errors import Infeasible, InvalidInput

if TYPE_CHECKING:
    from imop_engine.commands.options import LimitOptions
    from imop_engine.market import Market
    from imop_engine.study import StudyData, StudySettings
    from imop_engine.study.mandates import MandateStudies

EXAMPLE: Final = "segment=mandates.csv"
UNSAFE: Final = re.compile(r"[^\w.-]+")


class Mandates(NamedTuple):
    """The limits of each mandate."""

    column: str  # names each investor's mandate
    limits: dict[str, dict[str, Any]]  # by mandate, as `run_mandates` takes them
    file: str = ""  # that they are read from, for errors; "" where there is none


def read(text: str, limits: LimitOptions, market: Market) -> Mandates:
    """The column that names mandates, and the limits of each by the file.

    Args:
        text: COLUMN=FILE, as the analyst wrote it.
        limits: The other options of limits: caps and floors hold for every mandate, and limits may
            name the benchmark.
        market: Its assets, and which of them belong together.

    Raises:
        InvalidInput: a limit cannot be read.
        Infeasible: no portfolio keeps the limits of a mandate.
    """
    from imop_engine.contradiction import require_feasible
    from imop_engine.limit_text import parse_limits
    from imop_engine.limits import limit_rows
    from imop_engine.tables.readers import read_within_budget

    column, sign, file = text.partition("=")
    if not (sign and column.strip() and file.strip()):
        raise InvalidInput(f"--mandate is {text!r}; write it as {EXAMPLE}.")
    held = None if limits.benchmark is None else limiting.benchmark(limits.benchmark, market.names)
    path = Path(file.strip())
    texts = read_within_budget("mandates", (path,), {"name": path.name})
    shared, names = limiting.read_limits(limits, market), market.names
    low, high = shared.lower_of(names), shared.upper_of(names)
    given: dict[str, dict[str, Any]] = {}
    for mandate, written in texts.items():
        try:
            read_ = parse_limits(written, names, market.groups, held)
            require_feasible(names, low, high, limit_rows(read_ or shared.linear, names))
        except (InvalidInput, Infeasible) as error:
            raise type(error)(f"{path.name}, mandate {mandate}: {error}") from None
        given[mandate] = {"limits": read_} if read_ else {}
    return Mandates(column.strip(), given, path.name)


def own_caps(data: StudyData, column: str) -> tuple[StudyData, Mandates]:
    """Investors who have a cap of their own each, as mandates.

    Args:
        data: Moments and portfolios, with the column among the attributes.
        column: Of each investor's cap.
    """
    from imop_engine.study.own_caps import by_own_caps

    people, label, limits = by_own_caps(data, column)
    return people, Mandates(label, limits)


def learn(
    data: StudyData,
    mandates: Mandates,
    settings: StudySettings,
    out: Path | None,
    command: str,
) -> MandateStudies:
    """Learn from every mandate, and write each study and what all of them say.

    Args:
        data: Moments and portfolios, with the column among the attributes.
        mandates: The column, and the limits of each mandate.
        settings: How to learn, and the limits of mandates that have none of their own.
        out: The folder of the results; None writes nothing.
        command: The line of the shell, for the reports.
    """
    from imop_engine.sentences.mandates import missing
    from imop_engine.storage import save_study
    from imop_engine.study.mandates import run_mandates
    from imop_engine.tables.export import write_table

    if mandates.column in data.attributes.columns:
        labels = data.attributes[mandates.column].astype(str)[data.good]
        strange = sorted(set(labels) - set(mandates.limits))
    else:
        strange = []  # said where the column is looked for
    if strange:
        raise InvalidInput(missing(strange, mandates.column, mandates.file))
    common.prepare()
    found = run_mandates(data, mandates.column, mandates.limits, settings)
    if out is not None:
        write_table(found.returns, out / "returns.csv")
        write_table(found.investors, out / "investors.csv")
        write_table(found.frontiers, out / "frontier.csv")
        for mandate, study in found.studies.items():
            save_study(study, out / folder_name(mandate), command=command)
    return found


def folder_name(mandate: str) -> str:
    """The folder of a mandate's study.

    >>> folder_name("Private / EU")
    'mandate-Private-EU'
    """
    return f"mandate-{UNSAFE.sub('-', mandate).strip('-')}"


def say(found: MandateStudies, out: Path | None, as_json: bool) -> None:
    """Print what investors of all mandates believe.

    Args:
        found: The studies of all mandates.
        out: The folder of the results.
        as_json: Whether to print one JSON document instead.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from imop_engine.sentences.numbers import percent_cell
    from imop_engine.tables.export import records

    counts = {name: study.rounds for name, study in found.studies.items()}
    if as_json:
        common.say_json(
            {
                "folder": None if out is None else str(out),
                "column": found.column,
                "mandates": counts,
                "verdicts": {name: study.verdict for name, study in found.studies.items()},
                "returns": records(found.returns),
                "sentences": list(found.sentences),
            }
        )
        return
    view = Table(title="Expected returns by all mandates", title_justify="left")
    for place, heading in enumerate(("asset", "estimate", "low", "high", "status", "mandates")):
        view.add_column(heading, justify="right" if 0 < place < 4 else "left")
    for _, row in found.returns.iterrows():
        cells = [percent_cell(float(row[name])) for name in ("estimate", "low", "high")]
        view.add_row(escape(str(row["asset"])), *cells, str(row["status"]), str(row["mandates"]))
    Console().print(view)
    for name, study in found.studies.items():
        limits = "; ".join(one.sentence for one in study.settings.limits) or "no limits of its own"
        typer.echo(
            f"{found.column} {name}: {counts[name]:,} portfolios, {study.verdict}; {limits}."
        )
    for sentence in found.sentences:
        typer.echo(sentence)
    if out is not None:
        typer.echo(f"Results in {out}: one table for all, and a folder for each mandate.")
