"""The work of `imop learn` on many files: who works, a bar, the folder, what is said.

Imports of the engine and of the screen's toolkit are inside the functions: this module is loaded
for every `imop --help`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands import common
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from imop_engine.market import Market
    from imop_engine.scale.learn import LearnedPopulation
    from imop_engine.study import StudySettings

PATTERN: Final = "*?["


@dataclass(frozen=True)
class ScaleOptions:
    """Who does the work on many portfolios."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Portfolios that need not fit into memory, clean Parquet or CSV files: here, "
            "processes, local (Dask on this machine) or a Dask scheduler, as tcp://host:8786.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="How many processes, or workers of --cluster local."),
    ] = None
    worker_memory: Annotated[
        str | None,
        typer.Option("--worker-memory", help="The most a worker of --cluster local takes: 1GB."),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            min=100,
            max=1_000_000,
            help="Portfolios of the study that chooses how everybody is read; 5000.",
        ),
    ] = None

    def wanted(self, portfolios: Path) -> bool:
        """Whether the portfolios are to be read in parts.

        Args:
            portfolios: Of --portfolios; a folder or a pattern is always read so.
        """
        several = portfolios.is_dir() or any(sign in str(portfolios) for sign in PATTERN)
        if self.cluster is None and not several:
            for name, value in (("--workers", self.workers), ("--sample", self.sample)):
                if value is not None:
                    raise InvalidInput(f"{name} belongs to --cluster; say who works, or leave it.")
        return self.cluster is not None or several

    def workers_open(self) -> Any:
        """Those who are to work, as `open_workers` gives them."""
        from imop_engine.workers import open_workers

        return open_workers(self.cluster, self.workers, self.worker_memory)


def learn_parts(
    market: Market,
    portfolios: Path,
    settings: StudySettings,
    scale: ScaleOptions,
    roles: tuple[tuple[str, str], ...],
    out: Path,
    command: str,
) -> LearnedPopulation:
    """Learn from portfolios in parts and write the folder.

    Args:
        market: Its assets and moments.
        portfolios: A file, a folder, or a pattern.
        settings: The analyst's choices.
        scale: Who works.
        roles: What columns are, as --role says.
        out: The folder of the results.
        command: The line of the shell that makes it again.
    """
    from imop_engine import disk
    from imop_engine.scale.assigning import FOLDER
    from imop_engine.scale.learn import SAMPLED, find_parts, learn_population
    from imop_engine.scale.looks import Columns
    from imop_engine.scale.saving import is_ours, write_population

    common.prepare()
    columns = Columns(market.names, _investor(roles), settings.by)
    with scale.workers_open() as workers, _bar(workers.name) as tell:
        parts = find_parts(workers, portfolios, columns)
        with disk.new_folder(out, is_ours) as stage:
            found = learn_population(
                market, parts, stage / FOLDER, workers, settings, columns=columns,
                sampled=scale.sample or SAMPLED, tell=tell,
            )  # fmt: skip
            write_population(found, stage, command)
    return found


def _investor(roles: tuple[tuple[str, str], ...]) -> str | None:
    """The column that names investors; files in parts know no other role."""
    strange = [role for _, role in roles if role != "investor"]
    if strange:
        raise InvalidInput(
            f"--role names a column {strange[0]}; files that are read in parts have a column for "
            "each asset and at most one of investors. Leave --cluster out for other tables."
        )
    return roles[0][0] if roles else None


@contextmanager
def _bar(workers: str) -> Iterator[Callable[[str, int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console.print(f"Work is done by {workers}.", highlight=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Reading", total=None)

        def tell(stage: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=stage.capitalize())

        yield tell


def show(found: LearnedPopulation, out: Path) -> None:
    """The results for a person.

    Args:
        found: The population.
        out: Where they are.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from imop_engine.commands.learning import TONES, percent
    from imop_engine.scale.intervals import returns_table
    from imop_engine.scale.saving import population_checks, sentences
    from imop_engine.sentences.verdict import reason_line, verdict_line
    from imop_engine.study.checks import verdict_of

    console = Console()
    checks = population_checks(found)
    verdict = verdict_of(checks)
    console.print(Text(verdict_line(verdict), style=TONES[verdict]))
    for check in checks:
        console.print(f"  {reason_line(check)}", markup=False, highlight=False)
    view = Table(title="Expected returns per year", title_justify="left")
    headings = ("estimate", "low", "high", "history")
    view.add_column("asset")
    for heading in headings:
        view.add_column(heading, justify="right")
    view.add_column("status")
    for _, row in returns_table(found.study, found.known).iterrows():
        numbers = [percent(float(row[heading])) for heading in headings]
        view.add_row(escape(str(row["asset"])), *numbers, str(row["status"]))
    console.print(view)
    for line in sentences(found):
        console.print(escape(line), highlight=False)
    typer.echo(
        f"Results in {out}: returns.csv, investors/ (a file for each part), run.json; the study of "
        f"the sample with its report is {out / 'sample' / 'report.html'}."
    )
