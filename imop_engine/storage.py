"""A study as a folder: tables to read, and under `inputs` what is needed to open it again.

CSV, Parquet, JSON and numpy's npz only. Nothing in it is run when it is opened. This lies outside
the study itself: learning knows neither files nor the report that is written beside the tables.

A folder is the old study or the new one, also after a crash (disk.py), and a list of its files with
their digests says when it is opened whether it is what was saved (manifest.py).
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from imop_engine import disk, manifest
from imop_engine.errors import ImopError, InvalidInput, OldStudy
from imop_engine.market import Market
from imop_engine.report.facts import facts_table
from imop_engine.report.frames_groups import groups_table
from imop_engine.report.frames_trust import (
    checks_table,
    differences_table,
    fitted_covariance,
    sources_table,
)
from imop_engine.report.html import html_report
from imop_engine.sentences.numbers import (
    MOST_AVERSE,
    no_aversion,
    why_no_aversion,
    why_not_explained,
)
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

FORMAT: Final = 2  # 1 had no list of digests
READS: Final = (1, FORMAT)
INPUTS: Final = "inputs"
CHECKPOINT: Final = "checkpoint.npz"
HISTORY: Final = "history.parquet"
SET_ASIDE: Final = "set_aside.parquet"
RUN: Final = "run.json"
REPORT: Final = "report.html"
UNFINISHED: Final = "unfinished.npz"  # of a run of the shell that is under way
ALL_TABLES: Final = (
    "returns", "investors", "frontier", "distribution", "checks", "sources", "differences",
    "groups", "limits", "covariance",
)  # fmt: skip
# What a study before this one may have left in the folder; anything else there is somebody else's.
INPUT_FILES: Final = (
    "moments.csv", HISTORY, "portfolios.parquet", "attributes.parquet", "reading.csv", CHECKPOINT,
    f"{CHECKPOINT}.part", SET_ASIDE,
)  # fmt: skip
OURS: Final = frozenset(
    [
        *(RUN, REPORT, manifest.FILE, UNFINISHED, f"{UNFINISHED}.part"),
        *(f"{name}.csv" for name in ALL_TABLES),
        *(f"study.{ending}" for ending in ("xlsx", "json", "csv.zip", "parquet.zip")),
        *(f"{INPUTS}/{name}" for name in INPUT_FILES),
    ]
)
# Shares, returns, weights, risk aversions, seconds and their counts stay far below.
LARGEST_FIGURE: Final = 1e9
LONGEST_NUMBER: Final = 20  # digits that a refusal repeats
# No column of an analyst's file is called this.
ID_COLUMN: Final = "investor (id)"
EXPECTED: Final = "expected return (moment)"


def study_tables(study: Study) -> dict[str, pd.DataFrame]:
    """The tables of a study by the name of their file.

    `covariance` is among them only where it was fitted together with the returns, `groups` only
    where groups were asked for, `limits` only where more than caps was given.
    """
    tables = {
        "returns": study.frame_returns,
        "investors": _told_aversions(study.frame_investors),
        "frontier": study.frame_frontier,
        "distribution": study.frame_distribution,
        "checks": checks_table(study.checks),
        "sources": sources_table(study),
        "differences": differences_table(study),
    }
    if study.groups is not None:
        tables["groups"] = groups_table(study.groups)
    if study.limit_prices is not None:
        tables["limits"] = study.limit_prices.table()
    fitted = fitted_covariance(study)
    return tables if fitted is None else {**tables, "covariance": fitted}


def _told_aversions(investors: pd.DataFrame) -> pd.DataFrame:
    """The investors without risk aversions that are no numbers to give, each with the reason.

    Args:
        investors: `Study.frame_investors`.
    """
    ends = ["risk_aversion", "risk_aversion_low", "risk_aversion_high"]
    told = investors.assign(**investors[ends].where(investors[ends] <= MOST_AVERSE))
    known = investors["risk_aversion"].dropna()
    whys = known.map(no_aversion)
    lacking = whys[whys != ""]
    told.loc[lacking.index, "reason"] = lacking
    return told


def export_study(study: Study, path: Path | str) -> Path:
    """Write the tables into one file by its ending: .xlsx, .json, .csv or .parquet (zipped).

    The table `about` says what they are: anchors, settings, units.
    """
    return write_tables({**study_tables(study), "about": facts_table(study)}, path)


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
        "limits": []
        if study.limit_prices is None
        else study.limit_prices.table().to_dict("records"),
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
    told = {str(key): plain(value) for key, value in document.items()}
    undefined = _undefined(study.figures)
    figures = {**_sensible(told["figures"]), **dict.fromkeys(undefined)}
    return {
        **told,
        "figures": figures,
        "not_defined": undefined,
        "groups": _sensible(told["groups"]),
    }


def _undefined(figures: dict[str, Any]) -> dict[str, str]:
    """Figures of a run that make no sense as numbers, each with the reason."""
    whys = {
        "explained": why_not_explained,
        "explained_without_outliers": why_not_explained,
        "explained_elsewhere": why_not_explained,
        "median_risk_aversion": why_no_aversion,
    }
    given = {name: why for name, why in whys.items() if figures.get(name) is not None}
    found = {name: why(float(figures[name])) for name, why in given.items()}
    return {name: reason for name, reason in found.items() if reason}


def _market_facts(market: Market) -> dict[str, Any]:
    """What the moments rest on, besides the table of returns that is kept beside them."""
    error = market.mean_covariance
    return {
        "months": market.months,
        "periods_per_year": market.periods_per_year,
        "mean_covariance": None if error is None else error.tolist(),
    }


def save_study(
    study: Study,
    folder: Path | str,
    *,
    command: str = "",
    also: Sequence[str] = (),
    beside: Mapping[str, bytes] | None = None,
    report: bool = True,
) -> Path:
    """Write a study into a folder: all of it or, if anything goes wrong, nothing.

    A study that was in the folder is replaced in one step; other files stay. What is written is
    for its owner alone.

    Args:
        study: A finished or stopped study.
        folder: Where to write; made if it is not there.
        command: The line of the shell that makes the study again, for the report.
        also: Endings of single files that hold all tables, "xlsx" say.
        beside: More files to write with it, by name; they may be changed later.
        report: Whether to write the report, which takes longest.

    Returns:
        The folder.
    """
    target = Path(folder)
    if target.is_file():
        raise InvalidInput(f"{target} is a file; give a folder for the results.")
    with disk.new_folder(target, OURS.__contains__) as stage:
        _save_files(study, stage, also)
        if report:
            page = html_report(study, command=command)
            (stage / REPORT).write_text(page, encoding="utf-8")
        document = json.dumps(run_document(study, command), indent=1, ensure_ascii=False)
        (stage / RUN).write_text(document + "\n", encoding="utf-8")
        manifest.write(stage, FORMAT)
        for name, content in (beside or {}).items():
            (stage / name).write_bytes(content)
    return target


def _save_files(study: Study, folder: Path, also: Sequence[str]) -> None:
    (folder / INPUTS).mkdir()
    for name, table in study_tables(study).items():
        (folder / f"{name}.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    _save_inputs(study, folder / INPUTS)
    for ending in also:
        export_study(study, folder / f"study.{ending}")


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
    if len(data.set_aside):
        (folder / SET_ASIDE).write_bytes(parquet(data.set_aside.reset_index(names=ID_COLUMN)))
    lines = [one.lines.assign(reading=one.name) for one in data.reading if len(one.lines)]
    table = pd.concat(lines) if lines else pd.DataFrame({"reading": []})
    (folder / "reading.csv").write_text(csv_text(table), encoding="utf-8", newline="")
    save_state(study.state, folder / CHECKPOINT)


def load_study(folder: Path | str) -> Study:
    """Open a study that `save_study` wrote; it says the same as when it was saved.

    What it is made of is compared with the digests that were saved with it; a folder that was
    changed is refused. Studies of version 0.1.0 have no digests: they are opened, and `remarks` of
    the study (and a warning, `OldStudy`) say that nothing could be compared.
    """
    source = Path(folder)
    if disk.unsettled(source):
        disk.finish(source)
    if not (source / RUN).is_file():
        raise InvalidInput(
            f"{source} holds no study: there is no {RUN}. Give the folder that a study was saved "
            "to."
        )
    found = manifest.read(source, (RUN, f"{INPUTS}/"), FORMAT)
    try:
        if not found.listed:  # which a study of today is not: no remark that it is an old one
            _require_format(source, json.loads(found.bytes(RUN)), found)
        for remark in found.remarks:
            warnings.warn(remark, OldStudy, stacklevel=2)
        return _open(source, found)
    except ImopError:
        raise
    # a damaged file can make its reader raise anything, the memory it asks for included
    except (Exception, MemoryError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInput(
            f"{source} cannot be opened as a study: {reason}. Files are missing or were changed; "
            "run it again."
        ) from None


def _open(source: Path, found: manifest.Found) -> Study:
    document = json.loads(found.bytes(RUN), parse_constant=_no_number, parse_float=_finite)
    _require_format(source, document, found)
    settings = StudySettings.from_dict(document["settings"])
    data = _load_data(found, document)
    written = np.array(document["estimate"], dtype=float)
    seconds = float(document["figures"]["seconds"])
    together = document.get("way") is not None  # studies of version 0.1.0 have none
    name = f"{INPUTS}/{CHECKPOINT}"
    state = load_state(io.BytesIO(found.bytes(name)), called=str(source / name))
    problem = make_problem(data, settings, state)
    if not together:
        # where nothing was written, a study of the stream alone is where that ended
        theta = problem.check_theta(np.where(np.isnan(written), state.learned.theta, written))
        return Study(settings, data, problem, theta, state, seconds, remarks=found.remarks)
    best = estimate_study(data, settings, problem, state.learned.theta, state.rounds)
    return Study(settings, data, best.problem, best.theta, state, seconds, best, found.remarks)


def _finite(text: str) -> float:
    value = float(text)
    return value if np.isfinite(value) else _no_number(text)


def _no_number(text: str) -> float:
    """Refuse what no run can have come to."""
    shown = text if len(text) <= LONGEST_NUMBER else f"{text[:LONGEST_NUMBER]}…"
    raise InvalidInput(f"{RUN} holds {shown}, which is no number; run the study again.")


def _sensible(value: Any) -> Any:
    """The same without numbers that nothing in a run can be: null says that there is none."""
    if isinstance(value, dict):
        return {key: _sensible(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_sensible(one) for one in value]
    return None if isinstance(value, float) and abs(value) > LARGEST_FIGURE else value


def _require_format(source: Path, document: Any, found: manifest.Found) -> None:
    """Refuse what another version wrote, and a study whose list of digests was taken away."""
    version = document["format"]
    if version not in READS:
        raise InvalidInput(manifest.unknown_format(source, version, READS))
    if version != 1 and not found.listed:
        raise InvalidInput(
            f"{source} cannot be opened as a study: {manifest.FILE} is missing, so that nobody can "
            "say whether the other files are whole. Put it back, or run the study again."
        )


def _load_data(found: manifest.Found, document: dict[str, Any]) -> StudyData:
    def text(name: str) -> str:
        return found.bytes(f"{INPUTS}/{name}").decode("utf-8")

    def table(name: str) -> pd.DataFrame:
        return pd.read_parquet(io.BytesIO(found.bytes(f"{INPUTS}/{name}")))

    moments = read_csv_text(text("moments.csv"))
    names = [str(name) for name in document["assets"]]
    covariance = moments.iloc[:, 2:].set_axis(names, axis=0).set_axis(names, axis=1)
    expected = pd.Series(moments.iloc[:, 1].to_numpy(dtype=float), index=names)
    portfolios, about = table("portfolios.parquet"), table("attributes.parquet")
    portfolios.index = pd.Index(about[ID_COLUMN].astype(str))
    lines = read_csv_text(text("reading.csv"))
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
    return StudyData.of(
        expected,
        covariance,
        portfolios,
        history=table(HISTORY) if found.has(f"{INPUTS}/{HISTORY}") else None,
        months=behind.get("months"),
        periods_per_year=behind.get("periods_per_year", 1),
        mean_covariance=behind.get("mean_covariance"),
        attributes=about.drop(columns=ID_COLUMN),
        reading=reading,
        notes=tuple(document.get("data_notes", ())),
        truth=document.get("true"),
        set_aside=_set_aside(table(SET_ASIDE)) if found.has(f"{INPUTS}/{SET_ASIDE}") else None,
    )


def _set_aside(table: pd.DataFrame) -> pd.DataFrame:
    """Who was set aside while reading; a study without such investors has no file."""
    return table.set_index(pd.Index(table.pop(ID_COLUMN).astype(str), name="investor"))


def _shares(row: Any, names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, row, strict=True) if share != 0.0}
