"""One simulated study through the default pipeline, and how far it and two baselines are off.

The pipeline gets what the analyst has and never the truth; the record that is made of it is plain
values, so that it can be a line of JSON.
"""

from __future__ import annotations

import time
import warnings
from inspect import signature
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine import portfolio_problem, run_study, solve
from imop_engine.arguments import Matrix, Vector
from imop_engine.results import aligned_error
from imop_engine.study import StudyData, StudySettings, study_steps
from imop_engine.study.mandates import run_mandates

from .conditions import MANDATE, DrawnStudy

IDENTIFIED: Final = "identified"
# Errors are compared over assets that do not depend on the method: those that at least this
# share of the investors want at least this much of.
HOLDERS: Final = 0.15
HOLDING: Final = 0.01
FAILURE_LENGTH: Final = 300
VERDICTS: Final = ("good", "caution", "poor")

Record = dict[str, Any]
Chosen = NDArray[np.bool_]


def study_record(drawn: DrawnStudy) -> Record:
    """Run one study with default settings and compare it with the truth.

    Args:
        drawn: What the analyst has, and the truth.

    Returns:
        Label and seed, what was found by asset, errors of the estimate and of the baselines,
        verdict and checks, seconds; `failure` is the text of the error where the study raised one.
    """
    anchored = np.isin(drawn.names, [name for name, _ in drawn.anchors or ()])
    held = (drawn.efficient[~drawn.contaminated] >= HOLDING).mean(axis=0) >= HOLDERS
    record: Record = {
        "label": drawn.condition.label,
        "seed": drawn.seed,
        "market": drawn.market,
        "rows": len(drawn.portfolios),
        "asset": list(drawn.names),
        "true": drawn.true_returns.tolist(),
        "held": held.tolist(),
        "failure": "",
    }
    found: dict[str, Any] = {}
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            several = set(drawn.mandates or {}) - {""}
            found = mandate_findings(drawn) if several else study_findings(default_study(drawn))
    except Exception as error:  # whatever ends a study is a result here
        record["failure"] = f"{type(error).__name__}: {error}"[:FAILURE_LENGTH]
    record["seconds"] = time.perf_counter() - started
    record |= found
    estimates = {"implied": implied_returns(drawn), "history": drawn.expected_returns.to_numpy()}
    if found:
        estimates = {"estimate": np.array(record.pop("theta")), **estimates}
    identified = np.array([one == IDENTIFIED for one in record.get("status", [])], dtype=bool)
    record["errors"] = {
        name: _errors(np.asarray(r, dtype=float), drawn.true_returns, identified, held, anchored)
        for name, r in estimates.items()
    }
    return record


def default_study(drawn: DrawnStudy) -> Any:
    """The study as an analyst would run it: default settings, and the anchors she gives, if any.

    Args:
        drawn: What the analyst has; the truth in it is not used.
    """
    options: dict[str, Any] = {"attributes": drawn.attributes, "dates": drawn.dates}
    if drawn.history is not None and "history" in signature(study_steps).parameters:
        options["history"] = drawn.history
    settings = StudySettings(anchors=drawn.anchors, **(drawn.mandates or {}).get("", {}))
    return run_study(
        drawn.expected_returns, drawn.covariance, drawn.portfolios, settings, **options
    )


def mandate_findings(drawn: DrawnStudy) -> dict[str, Any]:
    """What all mandates say together, and the worst verdict of any of them.

    Mandates that do not agree are a caution by the name of "mandates".

    Args:
        drawn: What the analyst has; the truth in it is not used.
    """
    data = StudyData.of(
        drawn.expected_returns, drawn.covariance, drawn.portfolios, attributes=drawn.attributes
    )
    settings = StudySettings(anchors=drawn.anchors)
    found = run_mandates(data, MANDATE, drawn.mandates or {}, settings)
    together, table = found.combined, found.returns
    checks = {(one.name, one.severity) for each in found.studies.values() for one in each.checks}
    worst = max(VERDICTS.index(each.verdict) for each in found.studies.values())
    if found.sentences:
        checks.add(("mandates", "caution"))
        worst = max(worst, VERDICTS.index("caution"))
    theta = table["estimate"].to_numpy() if together is None else together.theta
    return {
        "theta": np.asarray(theta, dtype=float).tolist(),
        "estimate": _plain(table["estimate"]),
        "low": _plain(table["low"]),
        "high": _plain(table["high"]),
        "status": [str(one) for one in table["status"]],
        "verdict": VERDICTS[worst],
        "checks": [list(one) for one in sorted(checks)],
    }


def study_findings(study: Any) -> dict[str, Any]:
    """What a finished study says, as plain values.

    Args:
        study: From `run_study`; versions up to 0.1.0 have no verdict and no checks.
    """
    table = study.frame_returns
    return {
        "theta": np.asarray(study.theta, dtype=float).tolist(),
        "estimate": _plain(table["estimate"]),
        "low": _plain(table["low"]),
        "high": _plain(table["high"]),
        "status": [str(one) for one in table["status"]],
        "verdict": getattr(study, "verdict", None),
        "checks": [[one.name, one.severity] for one in getattr(study, "checks", ())],
    }


def implied_returns(drawn: DrawnStudy) -> Vector:
    """Reverse optimisation: covariance times the average portfolio, brought onto the anchors.

    A scale below zero, which no investor has, becomes zero: all returns are then the same.

    Args:
        drawn: What the analyst has; the truth in it is not used.
    """
    covariance = drawn.covariance.to_numpy()
    average = drawn.portfolios.to_numpy().mean(axis=0)
    implied = covariance @ average
    rows, values = anchor_values(drawn, average)
    at, ones = rows @ implied, rows.sum(axis=1)
    scale, shift = np.linalg.lstsq(np.column_stack([at, ones]), values, rcond=None)[0]
    if scale <= 0.0:
        return np.full(implied.size, float(np.mean(values / ones)))
    result: Vector = scale * implied + shift
    return result


def anchor_values(drawn: DrawnStudy, average: Vector) -> tuple[Matrix, Vector]:
    """The anchors as portfolios and returns: the analyst's, or history's where she gives none.

    Args:
        drawn: What the analyst has.
        average: The average portfolio.
    """
    if drawn.anchors is not None:
        names = list(drawn.names)
        rows = np.zeros((len(drawn.anchors), len(names)))
        for row, (name, _) in zip(rows, drawn.anchors, strict=True):
            row[names.index(name)] = 1.0
        return rows, np.array([value for _, value in drawn.anchors])
    returns = drawn.expected_returns.to_numpy()
    least = solve(portfolio_problem(drawn.covariance), returns, 0.0)
    rows = np.array([least, average])
    return rows, rows @ returns


def _errors(
    estimate: Vector, true: Vector, identified: Chosen, held: Chosen, anchored: Chosen
) -> dict[str, float | None]:
    """Root mean squares over identified and over held assets, as they are and aligned."""
    if not identified.size:
        identified = np.zeros_like(held)
    return {
        "identified": _rms(estimate, true, identified),
        "held": _rms(estimate, true, held & ~anchored),
        "identified_aligned": _aligned(estimate, true, identified | (anchored & held)),
        "held_aligned": _aligned(estimate, true, held),
        "aligned": _aligned(estimate, true, np.ones_like(held)),
    }


def _rms(estimate: Vector, true: Vector, where: Chosen) -> float | None:
    if not where.any():
        return None
    return float(np.sqrt(np.mean((estimate[where] - true[where]) ** 2)))


def _aligned(estimate: Vector, true: Vector, where: Chosen) -> float | None:
    """After the best shift and scale; two assets always fit."""
    if where.sum() < 3:
        return None
    return aligned_error(estimate[where], true[where]) / float(np.sqrt(where.sum()))


def _plain(values: Any) -> list[float | None]:
    numbers = np.asarray(values, dtype=float)
    return [float(one) if np.isfinite(one) else None for one in numbers]
