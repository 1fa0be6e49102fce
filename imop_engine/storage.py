"""A study as a folder: tables to read, and under `inputs` what is needed to open it again.

CSV, Parquet, JSON and numpy's npz only. Nothing in it is run when it is opened. This lies outside
the study itself: learning knows neither files nor the report that is written beside the tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine.errors import InvalidInput
from imop_engine.market import Market
from imop_engine.report.frames_groups import groups_table
from imop_engine.report.frames_trust import (
    checks_table,
    differences_table,
    fitted_covariance,
    sources_table,
)
from imop_engine.report.html import html_report
from imop_engine.study.data import Reading, StudyData
from imop_engine.study.estimate import estimate_study
from imop_engine.study.outcome import Study
from imop_engine.study.settings import StudySettings
from imop_engine.study.state import load_state, save_state
from imop_engine.study.steps import make_problem
from imop_engine.tables.export import (
    csv_text,
    parquet,
    plain,
    read_csv_text,
    write_tables,
)
from imop_engine.versions import versions

FORMAT: Final = 1
INPUTS: Final = "inputs"
CHECKPOINT: Final = "checkpoint.npz"
HISTORY: Final = "history.parquet"
SET_ASIDE: Final = "set_aside.parquet"
RUN: Final = "run.json"
REPORT: Final = "report.html"
# No column of an analyst's file is called this.
ID_COLUMN: Final = "investor (id)"
EXPECTED: Final = "expected return (moment)"


def study_tables(study: Study) -> dict[str, pd.DataFrame]:
    """The tables of a study by the name of their file.

    `covariance` is among them only where it was fitted together with the returns, `groups` only
    where groups were asked for.
    """
    tables = {
        "returns": study.frame_returns,
        "investors": study.frame_investors,
        "frontier": study.frame_frontier,
        "distribution": study.frame_distribution,
        "checks": checks_table(study.checks),
        "sources": sources_table(study),
        "differences": differences_table(study),
    }
    if study.groups is not None:
        tables["groups"] = groups_table(study.groups)
    fitted = fitted_covariance(study)
    return tables if fitted is None else {**tables, "covariance": fitted}


def export_study(study: Study, path: Path | str) -> Path:
    """Write the tables into one file by its ending: .xlsx, .json, .csv or .parquet (zipped)."""
    return write_tables(study_tables(study), path)


def run_document(study: Study, command: str = "") -> dict[str, Any]:
    """What run.json holds: settings, versions, seed, figures, what was noticed while reading."""
    document = {
        "format": FORMAT,
        "settings": study.settings.to_dict(),
        "seed": study.settings.seed,
        "versions": versions(),
        "command": command,
        "verdict": study.verdict,
        "checks": [check.to_dict() for check in study.checks],
        "figures": study.figures,
        "assets": list(study.problem.names),
        "estimate": study.frame_returns["estimate"].tolist(),  # nothing where it is not known
        "way": None if study.estimate is None else study.estimate.found.way,
        "groups": None if study.groups is None else study.groups.to_dict(),
        "market": _market_facts(study.data.market),
        "anchors": [
            {"portfolio": _shares(row, study.problem.names), "return": float(value)}
            for row, value in zip(
                study.problem.theta.equalities, study.problem.theta.values, strict=True
            )
        ],
        "reading": [one.to_dict() for one in study.data.reading],
        "notes": list(study.notes),
        "data_notes": list(study.data.notes),
    }
    if study.data.truth is not None:
        document["true"] = study.data.truth.tolist()
    return {str(key): plain(value) for key, value in document.items()}


def _market_facts(market: Market) -> dict[str, Any]:
    """What the moments rest on, besides the table of returns that is kept beside them."""
    error = market.mean_covariance
    return {
        "months": market.months,
        "periods_per_year": market.periods_per_year,
        "mean_covariance": None if error is None else error.tolist(),
    }


def save_study(study: Study, folder: Path | str, *, command: str = "") -> Path:
    """Write a study into a folder, which is made if it is not there.

    Args:
        study: A finished or stopped study.
        folder: Where to write; other files in it stay.
        command: The line of the shell that makes the study again, for the report.

    Returns:
        The folder.
    """
    target = Path(folder)
    if target.is_file():
        raise InvalidInput(f"{target} is a file; give a folder for the results.")
    (target / INPUTS).mkdir(parents=True, exist_ok=True)
    tables = study_tables(study)
    for name in {"covariance", "groups"} - set(tables):  # of a study that was there before
        (target / f"{name}.csv").unlink(missing_ok=True)
    for name, table in tables.items():
        (target / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    _save_inputs(study, target / INPUTS)
    (target / REPORT).write_text(html_report(study, command=command), encoding="utf-8")
    # last, because it is what tells a whole study from one that was interrupted
    document = json.dumps(run_document(study, command), indent=1, ensure_ascii=False)
    (target / RUN).write_text(document + "\n", encoding="utf-8")
    return target


def _save_inputs(study: Study, folder: Path) -> None:
    data = study.data
    moments = data.covariance.copy()
    moments.insert(0, EXPECTED, data.expected_returns)
    moments = moments.reset_index(names="asset")
    (folder / "moments.csv").write_text(csv_text(moments), encoding="utf-8", newline="")
    if data.market.history is not None:
        (folder / HISTORY).write_bytes(parquet(data.market.history.reset_index(drop=True)))
    (folder / "portfolios.parquet").write_bytes(parquet(data.portfolios))
    about = data.attributes.copy()
    about.insert(0, ID_COLUMN, data.portfolios.index)
    (folder / "attributes.parquet").write_bytes(parquet(about))
    aside = data.set_aside.reset_index(names=ID_COLUMN) if len(data.set_aside) else None
    if aside is None:
        (folder / SET_ASIDE).unlink(missing_ok=True)  # of a study that was there before
    else:
        (folder / SET_ASIDE).write_bytes(parquet(aside))
    lines = [one.lines.assign(reading=one.name) for one in data.reading if len(one.lines)]
    table = pd.concat(lines) if lines else pd.DataFrame({"reading": []})
    (folder / "reading.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    save_state(study.state, folder / CHECKPOINT)


def load_study(folder: Path | str) -> Study:
    """Open a study that `save_study` wrote; it says the same as when it was saved."""
    source = Path(folder)
    if not (source / RUN).is_file():
        raise InvalidInput(
            f"{source} holds no study: there is no {RUN}. Give the folder that a study was saved "
            "to."
        )
    try:
        document = json.loads((source / RUN).read_text(encoding="utf-8"))
        settings = StudySettings.from_dict(document["settings"])
        data = _load_data(source / INPUTS, document)
        written = np.array(document["estimate"], dtype=float)
        seconds = float(document["figures"]["seconds"])
        together = document.get("way") is not None  # studies of version 0.1.0 have none
    except (OSError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(
            f"{source} cannot be opened as a study: {error}. Files are missing or were changed; "
            "run it again."
        ) from None
    state = load_state(source / INPUTS / CHECKPOINT)
    problem = make_problem(data, settings, state)
    if not together:
        # where nothing was written, a study of the stream alone is where that ended
        theta = problem.check_theta(np.where(np.isnan(written), state.learned.theta, written))
        return Study(settings, data, problem, theta, state, seconds)
    found = estimate_study(data, settings, problem, state.learned.theta, state.rounds)
    return Study(settings, data, found.problem, found.theta, state, seconds, found)


def _load_data(folder: Path, document: dict[str, Any]) -> StudyData:
    moments = read_csv_text((folder / "moments.csv").read_text(encoding="utf-8"))
    names = [str(name) for name in document["assets"]]
    covariance = moments.iloc[:, 2:].set_axis(names, axis=0).set_axis(names, axis=1)
    expected = pd.Series(moments.iloc[:, 1].to_numpy(dtype=float), index=names)
    portfolios = pd.read_parquet(folder / "portfolios.parquet")
    about = pd.read_parquet(folder / "attributes.parquet")
    portfolios.index = pd.Index(about[ID_COLUMN].astype(str))
    lines = read_csv_text((folder / "reading.csv").read_text(encoding="utf-8"))
    reading = tuple(
        Reading(
            str(one["name"]),
            int(one["rows_read"]),
            int(one["rows_kept"]),
            int(one["rows_changed"]),
            int(one["rows_refused"]),
            tuple(one["sentences"]),
            lines[lines["reading"] == one["name"]].drop(columns="reading"),
            one.get("covered"),
        )
        for one in document["reading"]
    )
    behind = document.get("market", {})
    table = folder / HISTORY
    return StudyData.of(
        expected,
        covariance,
        portfolios,
        history=pd.read_parquet(table) if table.is_file() else None,
        months=behind.get("months"),
        periods_per_year=behind.get("periods_per_year", 1),
        mean_covariance=behind.get("mean_covariance"),
        attributes=about.drop(columns=ID_COLUMN),
        reading=reading,
        notes=tuple(document.get("data_notes", ())),
        truth=document.get("true"),
        set_aside=_load_set_aside(folder / SET_ASIDE),
    )


def _load_set_aside(path: Path) -> pd.DataFrame | None:
    """Who was set aside while reading; a study without such investors has no file."""
    if not path.is_file():
        return None
    table = pd.read_parquet(path)
    return table.set_index(pd.Index(table.pop(ID_COLUMN).astype(str), name="investor"))


def _shares(row: Any, names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, row, strict=True) if share != 0.0}
