"""The work of `imop learn`: reading, learning with a bar and a checkpoint, writing, saying.

Imports of the engine and of the screen's toolkit are inside the functions: this module is loaded
for every `imop --help`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from imop_engine.commands import common
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from imop_engine.loading import PortfolioOptions
    from imop_engine.market import Market
    from imop_engine.study import Study, StudyData, StudySettings, StudyState

# A checkpoint is written this often while learning: a stop loses no more than that.
CHECKPOINT_SECONDS: Final = 2.0
ANCHOR_PORTFOLIO: Final = "market.csv=0.06"
ROLE: Final = "Client=investor"
SENTENCES_SHOWN: Final = 6
TONES: Final = {"good": "bold green", "caution": "bold yellow", "poor": "bold red"}
# What the arguments of the readers are called here; the others have the same name.
HISTORY_CURES: Final = {"sheet": "--sheet", "periods_per_year": "--periods-per-year"}
PORTFOLIO_CURES: Final = {
    "sheet": "--portfolio-sheet",
    "units": "--portfolio-units",
    "layout": "--portfolio-layout",
    "rates": "--currency-rate",
    "roles": "--role",
    "coverage": "--min-coverage",
}


def read(
    market: Market,
    portfolios: Path,
    options: PortfolioOptions,
    truth: Path | None,
    asset_map: Path | None = None,
) -> StudyData:
    """The data of a study from the analyst's files.

    Args:
        market: Its assets and moments.
        portfolios: The file of portfolios.
        options: How it is read.
        truth: A table of the true yearly returns; None where they are not known.
        asset_map: A table of what else the assets are called.
    """
    from imop_engine.loading import TableFile, load_investors
    from imop_engine.sentences.market import SHELL
    from imop_engine.study import StudyData
    from imop_engine.tables.readers import read_within_budget

    true_returns = None if truth is None else _column(truth, "true")
    file = TableFile.at(portfolios)
    names = None if asset_map is None else read_within_budget("asset map", (asset_map,), {})
    people = load_investors(
        file,
        market.names,
        options,
        true_returns,
        read_within_budget,
        market.history,
        names,
        words=SHELL,
    )
    return StudyData.on(market, people)


def roles(given: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Options like COLUMN=investor."""
    found: dict[str, str] = {}
    for text in given or ():
        column, sign, role = text.rpartition("=")
        if not sign or not column or not role:
            raise InvalidInput(f"--role is {text!r}; write it as {ROLE}.")
        found[column] = role
    return tuple(found.items())


def anchors(
    assets: Sequence[str] | None, portfolios: Sequence[str] | None, names: Sequence[str]
) -> list[tuple[Any, float, float]] | None:
    """What the analyst knows of the returns; None where nothing was said.

    Args:
        assets: Options like ASSET=0.03 or ASSET=0.03±0.01, yearly returns with standard errors.
        portfolios: Options like FILE=0.06, yearly returns of portfolios, the same.
        names: The assets.

    Returns:
        Assets or portfolios, each with its yearly return and the standard error of that.
    """
    known: list[tuple[Any, float, float]] = []
    for text in assets or ():
        one = common.unsure_assignment(text, "--anchor", common.EXAMPLE_ANCHOR)
        if one[0] in [name for name, *_ in known]:
            raise InvalidInput(f"--anchor names {one[0]} twice; give it once.")
        known.append(one)
    for text in portfolios or ():
        file, *value = common.unsure_assignment(text, "--anchor-portfolio", ANCHOR_PORTFOLIO)
        known.append((common.portfolio(Path(file), names), value[0], value[1]))
    return known or None


def resting_on(market: Market, months: int | None) -> Market:
    """The market with the length of the history behind its moments, where that was said.

    Args:
        market: Its assets and moments.
        months: Of --months; None where it was not given.
    """
    if months is None:
        return market
    if market.history is not None:
        raise InvalidInput(
            f"--months is {months}, but the history itself is given and has "
            f"{len(market.history)} periods; leave --months out."
        )
    return market.resting_on(months)


def run(data: StudyData, settings: StudySettings, out: Path | None, resume: bool) -> Study:
    """Consume the steps with a bar; what interrupts them finds a checkpoint to go on from.

    Args:
        data: Moments and portfolios, checked.
        settings: The analyst's choices.
        out: The folder of the results; None keeps no checkpoint.
        resume: Whether to go on from a checkpoint in that folder.

    Returns:
        The finished study.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from imop_engine.study.steps import LEARNING, steps_of

    checkpoint = None if out is None else Checkpoint(out)
    state = checkpoint.load() if checkpoint is not None and resume else None
    console = Console(stderr=True)
    if state is not None:
        console.print(f"Going on after {state.rounds:,} portfolios.", highlight=False)
    elif resume:
        console.print(f"There is no run in {out} to go on with; starting anew.", highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    steps = steps_of(data, settings, state)  # wrong input ends here, before a bar is drawn
    common.prepare()
    step = None
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Learning", total=len(data.decisions))
        try:
            for step in steps:
                bar.update(task, completed=step.done, description=step.stage.capitalize())
                if checkpoint is not None and step.stage == LEARNING:
                    checkpoint.keep(step.state)
        except KeyboardInterrupt:
            if checkpoint is not None and step is not None:
                checkpoint.keep(step.state, now=True)
                bar.stop()
                console.print(
                    f"Stopped after {step.done:,} of {step.total:,} portfolios; the same command "
                    "with --resume goes on from there.",
                    highlight=False,
                )
            raise
    assert step is not None  # there is always a first and a last step, and the last
    assert step.study is not None  # carries the study
    return step.study


class Checkpoint:
    """The state of a run in its folder, from its first step on and renewed every few seconds.

    It lies beside a finished study that may be in the folder, and goes when the run is written.
    """

    def __init__(self, out: Path) -> None:
        from imop_engine.storage import CHECKPOINT, INPUTS, UNFINISHED

        self._path = out / UNFINISHED
        self._finished = out / INPUTS / CHECKPOINT
        self._written = float("-inf")

    def load(self) -> StudyState | None:
        """Where a stopped run came to, or else a finished one; None where there is neither."""
        from imop_engine.study import load_state

        found = [path for path in (self._path, self._finished) if path.exists()]
        return load_state(found[0]) if found else None

    def keep(self, state: StudyState, now: bool = False) -> None:
        """Write the state if the last one has become old."""
        from imop_engine.study import save_state

        if now or time.monotonic() - self._written >= CHECKPOINT_SECONDS:
            save_state(state, self._path)
            self._written = time.monotonic()


def write(study: Study, out: Path, also: Sequence[str], command: str) -> None:
    """The folder of the results, and the same tables in one file where that was asked for.

    Args:
        study: The finished study.
        out: The folder of the results.
        also: Endings of single files that hold all tables.
        command: The line of the shell that makes the study again.
    """
    from imop_engine.storage import save_study

    save_study(study, out, command=command, also=also)  # a checkpoint goes in the same step


def show(study: Study, out: Path | None) -> None:
    """The results for a person: the verdict, a table, what was noticed, where the files are."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from imop_engine.report.trust import way_sentences
    from imop_engine.sentences.investors import median_preference_short
    from imop_engine.sentences.returns import estimate_error
    from imop_engine.sentences.run import more_remarks, took_no_part_short
    from imop_engine.sentences.verdict import given_anchors, reason_line, verdict_line

    figures, frame = study.figures, study.frame_returns
    given = given_anchors(len(study.problem.theta.values))
    title = f"Expected returns per year{given}"
    view = Table(title=title, title_justify="left")
    view.add_column("asset")
    headings = ["estimate", "low", "high", "history"] + (["true"] if "true" in frame else [])
    if figures["set_aside"]:
        headings.insert(3, "with_everyone")
    for heading in headings:
        view.add_column(heading.replace("_", " "), justify="right")
    view.add_column("status")
    for _, row in frame.iterrows():
        numbers = [percent(float(row[heading])) for heading in headings]
        view.add_row(escape(str(row["asset"])), *numbers, str(row["status"]))
    console = Console()
    console.print(Text(verdict_line(study.verdict), style=TONES[study.verdict]))
    for check in study.checks:
        console.print(f"  {reason_line(check)}", markup=False, highlight=False)
    console.print(view)
    middle = median_preference_short(
        figures["median_weight"], figures["median_risk_aversion"], given
    )
    lines = [*way_sentences(study), study.fit.sentence(), middle]
    if study.gaps is not None:
        lines.append(study.gaps.sentence())
    if study.groups is not None:
        lines += [*study.groups.sentences(), *study.groups.notes]
    if "raw_error" in figures:
        lines.append(f"{estimate_error(figures['raw_error'], figures['aligned_error'], 5)}.")
    if figures["refused"]:
        lines.append(took_no_part_short(figures["refused"]))
    remarks = needs_you(study)
    lines += [*remarks[:SENTENCES_SHOWN], *study.notes]
    if len(remarks) > SENTENCES_SHOWN:
        lines.append(more_remarks(len(remarks) - SENTENCES_SHOWN))
    lines += done_for_you(study)
    for line in lines:
        console.print(escape(line), highlight=False)
    if out is not None:
        typer.echo(f"Results in {out}; start with {out / 'report.html'}.")


def needs_you(study: Study) -> list[str]:
    """What reading the files asks of the analyst, each with the options that settle it."""
    parts = ((study.data.market, HISTORY_CURES), (study.data.investors, PORTFOLIO_CURES))
    return [
        common.with_cures(finding.sentence(), finding.cures, options)
        for part, options in parts
        for report in part.reading
        for finding in getattr(report, "needs_you", ())
    ]


def done_for_you(study: Study) -> list[str]:
    """One line for each file in which something was settled without the analyst."""
    reports = [*study.data.market.reading, *study.data.investors.reading]
    counted = [(one, getattr(one, "done_summary", str)()) for one in reports]
    return [f"{report.file}: {said} The report says which." for report, said in counted if said]


def percent(value: float) -> str:
    """A fraction in per cent; a dash where there is none."""
    return f"{value:.2%}" if value == value else "–"


def _column(path: Path, name: str) -> Any:
    """One named column of a file of ours, by asset."""
    from imop_engine.tables.export import read_table

    table = read_table(path)
    missing = [column for column in ("asset", name) if column not in table.columns]
    if missing:
        raise InvalidInput(f"{path.name} has no column {missing[0]!r}; it needs asset and {name}.")
    return table.set_index(table["asset"].astype(str))[name]
