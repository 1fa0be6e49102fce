"""Claim: with a covariance estimated from months, errors are as small as the file allows.

    python -m imop_benchmarks.covariance_bound

Portfolios and a history of N months carry so much information on returns and covariance together
(`allowed_covariance`), and no estimate without bias has a smaller error than its inverse says. Here
it is taken at the truth, on the very studies of docs/trust.md, and stands beside the errors of the
default pipeline and of version 0.1.0 on them. The table goes into docs/estimation.md, whatever it
says.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from imop_engine import portfolio_problem
from imop_engine.inference.joint_covariance import allowed_covariance

from .conditions import CONDITIONS, Condition, DrawnStudy, draw
from .departures import ERROR
from .trust import EARLIER, RESULTS
from .trust_study import HOLDERS, HOLDING

LABELS: Final = ("covariance-120@8", "covariance-240@8", "covariance-120@20", "covariance-240@20")
ASKED: Final = 3.0  # times smaller than the errors of version 0.1.0
PAGE: Final = Path("docs/estimation.md")
MARKS: Final = ("<!-- covariance bound: begin -->", "<!-- covariance bound: end -->")
HEAD: Final = (
    "covariance from", "assets", "studies", "bound", "error", "error / bound", "known covariance",
    "of 0.1.0", "a third of 0.1.0's below the bound",
)  # fmt: skip


def least_errors(drawn: DrawnStudy, months: float) -> tuple[float, float]:
    """The root mean square error over held assets that no anchor says, at the bound.

    Args:
        drawn: A study whose anchors are exact.
        months: That the covariance is estimated from.

    Returns:
        Yearly returns: with the covariance estimated, and were it known.
    """
    anchors = dict(drawn.anchors or ())
    problem = portfolio_problem(drawn.true_covariance, names=drawn.names, anchors=anchors)
    found = allowed_covariance(problem, drawn.efficient, drawn.true_returns, months, ERROR)
    held = (drawn.efficient >= HOLDING).mean(axis=0) >= HOLDERS
    held &= ~np.isin(drawn.names, list(anchors))
    both, known = (float(np.sqrt(np.mean(np.diag(one)[held]))) for one in found)
    return both, known


def bound_row(
    condition: Condition, ours: dict[str, float | None], theirs: dict[str, float | None]
) -> dict[str, Any]:
    """One row of the table.

    Args:
        condition: One with an estimated covariance and exact anchors.
        ours: Error of the default pipeline by seed, yearly returns; None where there is none.
        theirs: The same of version 0.1.0.

    Returns:
        Medians over the studies, the root mean square of error over bound, and the share of 0.1.0's
        studies in which its error is less than ASKED times the bound.
    """
    months = condition.covariance_months
    if months is None or condition.anchor_months is not None:
        raise ValueError(f"{condition.label} has no estimated covariance with exact anchors")
    seeds = sorted({*ours, *theirs}, key=int)
    bounds = {seed: least_errors(draw(condition, int(seed)), months) for seed in seeds}
    mine = {seed: error for seed, error in ours.items() if error is not None}
    before = {seed: error for seed, error in theirs.items() if error is not None}
    over = [error / bounds[seed][0] for seed, error in mine.items()]
    out_of_reach = [error < ASKED * bounds[seed][0] for seed, error in before.items()]
    return {
        "months": months,
        "assets": condition.assets,
        "studies": len(mine),
        "bound": float(np.median([bounds[seed][0] for seed in mine])),
        "error": float(np.median(list(mine.values()))),
        "over": float(np.sqrt(np.mean(np.square(over)))),
        "known": float(np.median([bounds[seed][1] for seed in mine])),
        "earlier": float(np.median(list(before.values()))) if before else None,
        "out_of_reach": float(np.mean(out_of_reach)) if before else None,
        "earlier_studies": len(before),
    }


def bound_table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown, returns in % a year.

    Args:
        rows: From `bound_row`.
    """
    lines = ["| " + " | ".join(HEAD) + " |", "|---" + "|--:" * (len(HEAD) - 1) + "|"]
    for row in rows:
        cells = [f"{row['months']} months", f"{row['assets']}", f"{row['studies']}"]
        cells += [f"{100 * row['bound']:.2f}", f"{100 * row['error']:.2f}", f"{row['over']:.2f}"]
        cells += [f"{100 * row['known']:.4f}"]
        if row["earlier"] is None:
            cells += ["–", "–"]
        else:
            share = f"{100 * row['out_of_reach']:.0f} % of {row['earlier_studies']}"
            cells += [f"{100 * row['earlier']:.2f}", share]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _errors(file: Path) -> dict[str, dict[str, float | None]]:
    rows = json.loads(file.read_text())["rows"]
    return {row["label"]: row["errors_by_seed"] for row in rows}


def main(arguments: list[str] | None = None) -> None:
    """Compare, print the table and put it into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog="python -m imop_benchmarks.covariance_bound"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="of imop_benchmarks.trust")
    parser.add_argument("--earlier", type=Path, default=EARLIER, help="the same of version 0.1.0")
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    ours, theirs = _errors(chosen.results), _errors(chosen.earlier)
    rows = [
        bound_row(CONDITIONS[label], ours[label], theirs.get(label, {}))
        for label in LABELS
        if label in ours
    ]
    table = bound_table(rows)
    print(table)
    text = chosen.page.read_text()
    before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
    chosen.page.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
