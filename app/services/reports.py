"""What the analyst takes away: tables, pictures, the report, and how to make it again."""

from __future__ import annotations

import base64
import datetime as dt
import re
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pandas as pd

from imop_app.home import data_folder
from imop_app.run_record import RunRecord
from imop_app.services import gaps, groups, results
from imop_app.services.errors import AppError, sentences
from imop_engine import disk
from imop_engine.limit_text import written
from imop_engine.market import Market
from imop_engine.report import charts, charts_gaps, charts_learn, charts_people, pictures, printing
from imop_engine.report.facts import facts_table
from imop_engine.study import Study
from imop_engine.study.data import MONTHS

SHELL: Final = "shell"  # folder of a run with its data as files for the command line
PICTURES: Final[dict[str, str]] = {
    "frontier": "Frontier",
    "returns": "Returns",
    "composition": "Composition",
    "weights": "Weights",
    "gaps": "Left on the table",
}
ABOUT: Final = "about"  # the sheet with date, anchors, settings and units
STEM: Final = 60  # characters of a run's name in the names of its files
GROUP_PICTURE: Final = "groups"  # only where groups are compared


@sentences
def table_csv(study: Study, name: str) -> bytes:
    """One table as CSV, safe to open in a spreadsheet."""
    from imop_engine.tables.export import csv_text

    return csv_text(_tables(study)[name]).encode()


@sentences
def workbook(study: Study) -> bytes:
    """All tables as one Excel workbook."""
    from imop_engine.tables.export import workbook as write

    return write({**_tables(study), ABOUT: facts_table(study, dt.date.today())})


@sentences
def json_document(study: Study) -> bytes:
    """All tables as one JSON document."""
    from imop_engine.tables.export import json_text

    return json_text({**_tables(study), ABOUT: facts_table(study, dt.date.today())}).encode()


def _tables(study: Study) -> Any:
    from imop_engine.storage import study_tables

    return study_tables(study)


@sentences
def html(study: Study, title: str, notes: str, command: str) -> str:
    """The report as one HTML page that needs nothing else.

    Args:
        study: The shown study.
        title: Of the report.
        notes: The analyst's remarks.
        command: The line of the shell that makes the report again.
    """
    from imop_engine.report.html import html_report

    page = study.described(title, notes)
    return html_report(page, command=command, made=dt.date.today())


def stem(record: RunRecord | None, made: dt.date | None = None) -> str:
    """What the names of a run's files begin with: the run, and the day.

    Args:
        record: What is remembered of the run; None where nothing is.
        made: The day; None: today.
    """
    name = re.sub(r"[^\w.-]+", "-", "run" if record is None else record.name).strip("-.")
    return f"{name[:STEM].rstrip('-.')}_{(made or dt.date.today()).isoformat()}"


def can_print() -> bool:
    """Whether there is a browser that prints a report as PDF."""
    return printing.can_print()


def framed(page: str) -> str:
    """A page as an address for a frame. From there it cannot reach into the app around it."""
    return "data:text/html;base64," + base64.b64encode(page.encode()).decode()


@sentences
def picture(study: Study, name: str, ending: str) -> bytes:
    """One chart as SVG or PNG.

    Args:
        study: The shown study.
        name: Which chart.
        ending: Svg or png.
    """
    return pictures.render(_chart(study, name), ending)


def picture_names(study: Study) -> dict[str, str]:
    """The pictures of a run by their names; that of groups only where they are compared."""
    if study.groups is None:
        return PICTURES
    return {**PICTURES, GROUP_PICTURE: "Groups"}


def _chart(study: Study, name: str) -> Any:
    if name == GROUP_PICTURE:
        return groups.chart(groups.picture(study, str(study.settings.by)))
    seen = results.frontier(study)
    wants = results.preferences(study)
    makers: dict[str, Callable[[], Any]] = {
        "frontier": lambda: charts.frontier_chart(seen.curves, seen.cloud, band=seen.band),
        "returns": lambda: charts_learn.interval_chart(seen.returns),
        "composition": lambda: charts_learn.transition_chart(seen.composition),
        "weights": lambda: charts_people.preference_chart(
            wants.weight_bins, wants.fitted, brush=False
        ),
        "gaps": lambda: charts_gaps.gap_chart(wants.curves, _arrows(study), seen.cloud),
    }
    return makers[name]()


def _arrows(study: Study) -> pd.DataFrame:
    found = gaps.picture(study)
    if found is None:
        raise AppError("What investors leave on the table could not be measured for this run.")
    return found.arrows


@sentences
def write_shell_inputs(study: Study, location: str) -> None:
    """Write the run's data as files that `imop learn` reads, once, when somebody asks for them."""
    from imop_engine.tables.export import csv_text

    folder = Path(location) / SHELL
    if folder.is_dir():
        return
    data = study.data
    expected = data.expected_returns.rename("expected_return").rename_axis("asset").reset_index()
    # By position, never by name: an investor may come back with another portfolio.
    known = data.attributes.reset_index(drop=True)
    known = known.rename(columns=lambda name: f"{name} (attribute)" if name in data.names else name)
    people = pd.concat([known, data.portfolios.reset_index(drop=True)], axis=1)
    people.insert(0, "investor", data.portfolios.index)
    tables = {
        "expected": expected,
        "covariance": data.covariance.reset_index(names="asset"),
        "portfolios": people,
    }
    with disk.writing(folder):
        half = Path(tempfile.mkdtemp(dir=location, prefix=".new-"))
        for name, table in tables.items():
            (half / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
        half.replace(folder)


def command_line(record: RunRecord, location: str, study: Study | None = None) -> str:
    """The shell command that makes the run again from the files it kept.

    Args:
        record: What is remembered of the run.
        location: Its folder.
        study: The run itself, which knows how long its history was; None where it cannot be read.
    """
    settings = record.settings
    if settings is None or settings.learn.anchoring == "none":
        return "# Without anchors a run is made again from Python only; see the other tab."
    folder = Path(location) / SHELL
    parts = ["imop", "learn", "--portfolios", str(folder / "portfolios.csv")]
    parts += ["--expected", str(folder / "expected.csv")]
    parts += ["--covariance", str(folder / "covariance.csv"), "--duplicates", "keep"]
    parts += ["--snapshots", "panel"]
    months = None if study is None else _whole_months(study.data.market)
    if months is not None:
        parts += ["--months", str(months)]
    learn = settings.learn
    parts += ["--weights", str(learn.grid), "--algorithm", learn.algorithm]
    parts += ["--loss", learn.loss, "--rate", f"{learn.rate:g}", "--start", learn.start]
    parts += ["--level", f"{learn.level:g}"]
    parts += ["--refine" if learn.refine else "--no-refine"]
    parts += ["--trim" if learn.trim else "--no-trim", "--errors", learn.errors]
    parts += ["--risks", learn.risks]
    if study is not None and study.settings.by is not None:
        parts += ["--by", study.settings.by]
    unsure = dict(learn.known_errors)
    for name, value in learn.known if learn.anchoring == "assets" else ():
        error = f"±{unsure[name]!r}" if unsure.get(name) else ""
        parts += ["--anchor", f"{name}={value!r}{error}"]
    for limit in settings.market.limits:
        parts += ["--cap", f"{limit.asset}={limit.cap!r}"]
    for one in () if study is None else study.settings.limits:
        parts += ["--limit", written(one)]
    if settings.market.bounds is not None:
        parts += ["--bounds", *(repr(end) for end in settings.market.bounds)]
    return shlex.join([*parts, "--out", "again"])


def _whole_months(market: Market) -> int | None:
    """How many months moments rest on; None where they are taken as known, or where a history by
    other periods or with gaps says more than a number can."""
    if market.history is None:
        return market.months
    whole = market.periods_per_year == MONTHS and not market.history.isna().to_numpy().any()
    return len(market.history) if whole else None


def python_code(location: str) -> str:
    """Python that opens the run, and makes it again from its own data and settings.

    Args:
        location: The folder of the run.
    """
    return (
        "from imop_engine import load_study, save_study\n"
        "from imop_engine.study import steps_of\n"
        "\n"
        f"study = load_study({location!r})\n"
        "print(study.frame_returns)\n"
        "\n"
        "*_, last = steps_of(study.data, study.settings)\n"
        "assert (last.study.theta == study.theta).all()\n"
        'save_study(last.study, "again")\n'
    )


def reproduction() -> Path | None:
    """The page that `imop reproduce` wrote, where one is found."""
    places = [
        Path.cwd() / "results" / "reproduce" / "index.html",
        data_folder() / "reproduce" / "index.html",
        Path(__file__).resolve().parents[2] / "results" / "reproduce" / "index.html",
    ]
    return next((place for place in places if place.is_file()), None)
