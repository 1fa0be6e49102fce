"""Whether the intervals keep their promise: simulated studies whose truth is known.

    python -m imop_benchmarks.coverage --studies 200

Each study draws 1,000 investors in the paper's eight securities, learns from a start that is 30 %
off, refines, and asks `identification` for 95 % intervals. The results go to benchmarks/results and
into the table of docs/identification.md, whatever they are.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.arguments import Vector
from imop_engine.bundled import market
from imop_engine.frontier import efficient_frontier
from imop_engine.inference.estimating_equations import refine
from imop_engine.inference.identify import identification
from imop_engine.inference.preferences import investor_preferences
from imop_engine.learner import OnlineLearner
from imop_engine.least_squares import polish
from imop_engine.problem import Problem, portfolio_problem
from imop_engine.simulate import simulate_investors

INVESTORS: Final = 1000
STUDIES: Final = 200
BIAS_STUDIES: Final = 40  # a mean error is then known to 0.16 standard errors
LEVEL: Final = 0.95
Z: Final = 1.959963984540054
START_OFF: Final = 0.3  # standard deviation of the start's error, as a share of each return
RESULTS: Final = Path("benchmarks/results/coverage.json")
PAGE: Final = Path("docs/identification.md")
MARKS: Final = {
    name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->") for name in ("coverage", "bias")
}

# Anchors are on assets that investors hold; under normal weights too few hold Security 7.
ANCHORS: Final = {"uniform": (0, 6), "normal": (0, 3)}


@dataclass(frozen=True)
class CoverageCase:
    """One row of the table."""

    weights: str
    noise: str
    level: float

    @property
    def name(self) -> str:
        """For people."""
        noise = "rounded to" if self.noise == "round" else "sd"
        return f"{self.weights}, {noise} {self.level:g}"


# What is promised comes first: errors of 0.005 in each holding.
CASES: Final = tuple(
    CoverageCase(weights, noise, level)
    for noise, level in (
        ("gaussian", 0.005),
        ("round", 0.001),
        ("gaussian", 0.001),
        ("gaussian", 0.002),
        ("gaussian", 0.01),
        ("gaussian", 0.02),
        ("gaussian", 0.05),
    )
    for weights in ANCHORS
)
PROMISED: Final = CASES[:2]
LARGE: Final = tuple(case for case in CASES if case.level == 0.02)


@dataclass(frozen=True, eq=False)
class CoverageStudy:
    """What one study tells, an entry for each asset."""

    error: Vector
    covered: NDArray[np.bool_]
    learned_covered: NDArray[np.bool_]
    status: tuple[str, ...]
    learned_status: tuple[str, ...]
    standard_error: Vector
    predicted_bias: Vector
    noise: float
    weights_covered: float
    weights_covered_certain: float
    settled: bool


def problem_of(case: CoverageCase) -> tuple[Problem, Vector]:
    """The paper's securities with the anchors of a case, and their true returns."""
    eight = market("paper8")
    truth = np.array(eight.expected_returns)
    anchors = {i: float(truth[i]) for i in ANCHORS[case.weights]}
    return portfolio_problem(eight.covariance, anchors=anchors, names=eight.names), truth


def one_study(case: CoverageCase, number: int, investors: int = INVESTORS) -> CoverageStudy:
    """Simulate, learn, refine, and compare with the truth.

    Args:
        case: How weights and errors in holdings are drawn.
        number: Which study of this case; it seeds the draw.
        investors: How many investors.

    Returns:
        What the intervals of this study cover.
    """
    problem, truth = problem_of(case)
    rng = np.random.default_rng([CASES.index(case), number])
    drawn = simulate_investors(
        problem, truth, investors, weights=case.weights, noise=case.noise,
        noise_level=case.level, rng=rng,
    )  # fmt: skip
    Y = drawn.portfolios
    start = np.clip(truth * (1.0 + START_OFF * rng.normal(size=truth.size)), 0.0, 1.0)
    learned = OnlineLearner(problem, weights="exact", theta0=start).partial_fit(Y).theta_
    first = identification(problem, learned, Y, LEVEL)
    refined = refine(problem, Y, learned).theta
    known = identification(problem, refined, Y, LEVEL)
    frontier = efficient_frontier(problem, refined)
    shares = []
    for beliefs in (known, None):
        table = investor_preferences(frontier, Y, level=LEVEL, beliefs=beliefs).investors
        inside = (table["weight_low"] <= drawn.weights) & (drawn.weights <= table["weight_high"])
        shares.append(float(inside.mean()))
    return CoverageStudy(
        refined - truth,
        (known.low <= truth) & (truth <= known.high),
        (first.low <= truth) & (truth <= first.high),
        known.status,
        first.status,
        known.standard_errors,
        known.noise_bias,
        known.noise.sd,
        shares[0],
        shares[1],
        known.settled,
    )


def compare_bias(case: CoverageCase, studies: int = BIAS_STUDIES) -> dict[str, Any]:
    """Mean error in standard errors of plain least squares (`polish`) and of `refine`, by asset."""
    problem, truth = problem_of(case)
    errors: dict[str, list[Vector]] = {"least squares": [], "refine": []}
    for number in range(studies):
        rng = np.random.default_rng([CASES.index(case), number])
        Y = simulate_investors(
            problem, truth, INVESTORS, weights=case.weights, noise=case.noise,
            noise_level=case.level, rng=rng,
        ).portfolios  # fmt: skip
        refined = refine(problem, Y, truth).theta
        se = identification(problem, refined, Y, LEVEL).standard_errors
        errors["refine"].append((refined - truth) / se)
        errors["least squares"].append((polish(problem, Y, truth).theta - truth) / se)
    return {
        "name": case.name,
        "studies": studies,
        "assets": list(problem.names),
        **{name: _plain_list(np.mean(rows, axis=0)) for name, rows in errors.items()},
    }


def summary(case: CoverageCase, studies: Iterable[CoverageStudy]) -> dict[str, Any]:
    """One row of the table, and the figures by asset behind it."""
    all_ = list(studies)
    error = np.array([s.error for s in all_])
    se = np.array([s.standard_error for s in all_])
    covered = np.array([s.covered for s in all_])
    first = np.array([s.learned_covered for s in all_])
    known = np.array([[x == "identified" for x in s.status] for s in all_])
    known_first = np.array([[x == "identified" for x in s.learned_status] for s in all_])
    bounded = np.array([[x.startswith("bounded") for x in s.status] for s in all_])
    plain = np.abs(error) <= Z * np.where(known, se, 0.0)
    often = known.mean(axis=0) >= 0.5
    with np.errstate(invalid="ignore"):
        bias = _means(error, known) / _means(se, known)
        predicted = _means([s.predicted_bias for s in all_], known) / _means(se, known)
        spread = np.array(
            [error[known[:, i], i].std() if known[:, i].sum() > 1 else np.nan for i in range(8)]
        ) / _means(se, known)  # fmt: skip
    by_asset = _means(covered, known)
    return {
        "case": asdict(case),
        "name": case.name,
        "studies": len(all_),
        "identified": float(known.sum(axis=1).mean()),
        "coverage": float(covered[known].mean()),
        "worst_asset": _extreme(np.min, by_asset[often]),
        "plain_coverage": float(plain[known].mean()),
        "learned_coverage": float(first[known_first].mean()),
        "bounded": float(bounded.sum(axis=1).mean()),
        "bounded_coverage": float(covered[bounded].mean()) if bounded.any() else None,
        "worst_bias": _extreme(np.max, np.abs(bias[often])),
        "worst_predicted_bias": _extreme(np.max, np.abs(predicted[often])),
        "spread": _extreme(np.median, spread[often]),
        "median_error": float(np.median(np.linalg.norm(np.where(known, error, 0.0), axis=1))),
        "noise": float(np.mean([s.noise for s in all_])),
        "weights_coverage": float(np.mean([s.weights_covered for s in all_])),
        "weights_coverage_certain": float(np.mean([s.weights_covered_certain for s in all_])),
        "settled": float(np.mean([s.settled for s in all_])),
        "by_asset": {
            "identified": known.mean(axis=0).tolist(),
            "coverage": _plain_list(by_asset),
            "bias": _plain_list(_means(error, known)),
            "bias_in_errors": _plain_list(bias),
        },
    }


def _means(values: Any, where: Any) -> Vector:
    """Mean of each column over the rows where it counts; NaN where none does."""
    table = np.where(where, np.nan_to_num(np.asarray(values, dtype=float)), 0.0)
    count = np.asarray(where).sum(axis=0)
    result: Vector = np.where(count > 0, table.sum(axis=0) / np.maximum(count, 1), np.nan)
    return result


def _extreme(of: Callable[[Vector], Any], values: Vector) -> float | None:
    """A figure over the assets that are usually identified; None where none is."""
    return float(of(values)) if values.size else None


def _plain_list(values: Vector) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def run(
    cases: Iterable[CoverageCase] = CASES,
    promised: int = STUDIES,
    others: int = STUDIES,
    workers: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure every case.

    Args:
        cases: The cases, in the order of the rows.
        promised: How many studies for each case whose coverage is promised.
        others: How many studies for each other case.
        workers: How many processes.
        say: Takes a line for each case that is done.

    Returns:
        One row for each case, with the number of investors and the level.
    """
    rows = []
    for case in cases:
        studies = promised if case in PROMISED else others
        study = partial(one_study, case)
        if workers == 1:
            row = summary(case, map(study, range(studies)))
        else:
            with ProcessPoolExecutor(workers) as pool:
                row = summary(case, pool.map(study, range(studies), chunksize=5))
        say(f"{case.name}: {row['coverage']:.1%} of {row['identified']:.1f} identified")
        rows.append(row)
    return {"investors": INVESTORS, "level": LEVEL, "rows": rows}


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def bias_table(results: dict[str, Any]) -> str:
    """Mean errors by asset, as the page shows them."""
    names = [name.replace("Security ", "") for name in results["bias"][0]["assets"]]
    head = "| weights, error in holdings | estimate | " + " | ".join(names) + " |\n"
    head += "|---|---|" + "--:|" * len(names) + "\n"
    lines = []
    for row in results["bias"]:
        for name in ("least squares", "refine"):
            cells = " | ".join("–" if v is None else f"{v:+.2f}" for v in row[name])
            lines.append(f"| {row['name']} | {name} | {cells} |\n")
    return head + "".join(lines)


def table(results: dict[str, Any]) -> str:
    """The results as the page shows them."""
    head = (
        "| weights, error in holdings | studies | identified | covered | worst asset "
        "| without correction | worst bias | bounded | inside bound | weights covered |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    lines = []
    for row in results["rows"]:
        bias = row["worst_bias"]
        lines.append(
            f"| {row['name']} | {row['studies']} | {row['identified']:.1f} | "
            f"{row['coverage']:.1%} | {_share(row['worst_asset'])} | "
            f"{row['plain_coverage']:.1%} | {'–' if bias is None else f'{bias:.2f} se'} | "
            f"{row['bounded']:.1f} | {_share(row['bounded_coverage'])} | "
            f"{row['weights_coverage']:.1%} |\n"
        )
    return head + "".join(lines)


def put(page: str, results: dict[str, Any]) -> str:
    """The page with its tables replaced."""
    for name, text in (("coverage", table(results)), ("bias", bias_table(results))):
        begin, end = MARKS[name]
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text}{end}{rest.split(end)[1]}"
    return page


def main(arguments: list[str] | None = None) -> None:
    """Measure, write the JSON, renew the page."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m imop_benchmarks.coverage")
    parser.add_argument("--studies", type=int, default=STUDIES, help="at an error of 0.005")
    parser.add_argument("--others", type=int, default=None, help="at other errors; as many")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    others = chosen.studies if chosen.others is None else chosen.others
    results = run(promised=chosen.studies, others=others, workers=chosen.workers)
    results["bias"] = [compare_bias(case) for case in (*PROMISED, *LARGE)]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    if chosen.page.exists():
        chosen.page.write_text(put(chosen.page.read_text(), results))


if __name__ == "__main__":
    main()
