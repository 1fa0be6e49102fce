"""Claim: in every condition the intervals hold, or the verdict says why they may not.

`python -m imop_benchmarks.trust` draws studies of each condition in `conditions`, runs each with
default settings, and writes a row for each condition and the page docs/trust.md, bad rows included.
Each finished study is a line in the work folder, so a run that was stopped goes on where it was;
lines that another state of the engine wrote are not used.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import imop_engine

from .conditions import CONDITIONS, Condition, draw
from .trust_page import trust_page
from .trust_study import Record, study_record
from .trust_summary import summary

STUDIES: Final = 50
FIRST_SEED: Final = 1000
RESULTS: Final = Path("benchmarks/results/trust.json")
EARLIER: Final = Path("benchmarks/results/trust_0_1_0.json")
WORK: Final = Path(tempfile.gettempdir()) / "imop-trust"


def engine_digest() -> str:
    """Twelve digits that change with any line of the engine or of the simulator."""
    found = sha256()
    engine = Path(imop_engine.__file__).parent
    here = Path(__file__).parent
    parts = ("conditions", "departures", "given_limits", "drawn_markets")
    simulator = [here / f"{name}.py" for name in parts]
    for path in sorted(engine.rglob("*.py")) + simulator + [here / "trust_study.py"]:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def chosen_conditions(only: Sequence[str]) -> tuple[Condition, ...]:
    """The conditions with these keys or labels; all where none is named.

    Args:
        only: "clean" takes it in all numbers of assets, "clean@8" in one, "@8" all with 8 assets.

    Raises:
        ValueError: a name fits no condition.
    """
    found: dict[str, Condition] = {}
    for name in only:
        fitting = {
            label: one
            for label, one in CONDITIONS.items()
            if name in (label, one.key, f"@{one.assets}")
        }
        if not fitting:
            known = ", ".join(dict.fromkeys(one.key for one in CONDITIONS.values()))
            raise ValueError(
                f"there is no condition {name!r}; give a key, or a key with its number of assets "
                f"as in clean@8. The keys are {known}."
            )
        found |= fitting
    return tuple(found.values()) if only else tuple(CONDITIONS.values())


def one_record(label: str, seed: int) -> Record:
    """Draw and run one study.

    Args:
        label: Of the condition.
        seed: Of the study.
    """
    return study_record(draw(CONDITIONS[label], seed))


def finished(file: Path, engine: str) -> dict[int, Record]:
    """The studies that a file of the work folder has from the same engine, by seed.

    Args:
        file: A line of JSON for each study.
        engine: From `engine_digest`.
    """
    if not file.exists():
        return {}
    records = []
    for line in file.read_text().splitlines():
        with suppress(json.JSONDecodeError):  # a run that was stopped while it wrote
            records.append(json.loads(line))
    return {one["seed"]: one for one in records if one["engine"] == engine}


def measure(
    conditions: Sequence[Condition],
    seeds: range,
    work: Path,
    workers: int = 1,
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run what is not finished yet, and summarise every condition.

    Args:
        conditions: In the order of the rows.
        seeds: Of the studies of each condition.
        work: The folder of finished studies.
        workers: How many processes.
        say: Takes a line for each condition that is done.

    Returns:
        Version and digest of the engine, the seeds, and a row for each condition.
    """
    engine = engine_digest()
    work.mkdir(parents=True, exist_ok=True)
    rows = []
    for condition in conditions:
        file = work / f"{condition.label}.jsonl"
        known = finished(file, engine)
        left = [seed for seed in seeds if seed not in known]
        with file.open("a") as out:
            for record in _records(condition.label, left, workers):
                known[record["seed"]] = record | {"engine": engine}
                # in front, too: the line before may have been cut short
                out.write("\n" + json.dumps(known[record["seed"]]) + "\n")
                out.flush()
        row = summary(condition, [known[seed] for seed in seeds])
        rows.append(row | {"first_seed": seeds.start, "engine": engine})
        say(_line(rows[-1]))
    return {
        "version": imop_engine.__version__,
        "engine": engine,
        "first_seed": seeds.start,
        "studies": len(seeds),
        "rows": rows,
    }


def kept_rows(results: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Results with the rows of earlier ones that were not measured again, in the order of these.

    Args:
        results: From `measure`, of some conditions.
        before: The same of others too; its rows of the same conditions are replaced.
    """
    whose = {"first_seed": before["first_seed"], "engine": before["engine"]}
    rows = {row["label"]: whose | row for row in before["rows"]}
    rows |= {row["label"]: row for row in results["rows"]}
    # the seeds of the whole stay those of most rows
    return before | {"version": results["version"], "rows": list(rows.values())}


def _records(label: str, seeds: Sequence[int], workers: int) -> Iterator[Record]:
    if workers == 1 or len(seeds) < 2:
        yield from (one_record(label, seed) for seed in seeds)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting = [pool.submit(one_record, label, seed) for seed in seeds]
        yield from (one.result() for one in as_completed(waiting))


def _line(row: dict[str, Any]) -> str:
    covered = "nothing identified" if row["coverage"] is None else f"{row['coverage']:.1%} covered"
    return f"{row['label']}: {covered}, verdicts {row['verdicts']}, {row['holds'] or 'fails'}"


def main(arguments: list[str] | None = None) -> None:
    """Measure, write the JSON and the page."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m imop_benchmarks.trust")
    parser.add_argument("--studies", type=int, default=STUDIES, help="of each condition")
    parser.add_argument("--seeds-from", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--only", nargs="+", default=[], metavar="KEY", help="conditions")
    parser.add_argument("--work", type=Path, default=WORK, help="folder of finished studies")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--keep", action="store_true", help="keep the rows of --out that are not measured now"
    )
    parser.add_argument("--earlier", type=Path, default=EARLIER, help="results to compare with")
    parser.add_argument("--page", type=Path, default=None, help="docs/trust.md, to renew it")
    chosen = parser.parse_args(arguments)
    try:
        conditions = chosen_conditions(chosen.only)
    except ValueError as error:
        parser.error(str(error))
    seeds = range(chosen.seeds_from, chosen.seeds_from + chosen.studies)
    results = measure(conditions, seeds, chosen.work, chosen.workers)
    if chosen.keep and chosen.out.exists():
        results = kept_rows(results, json.loads(chosen.out.read_text()))
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    if chosen.page is not None:
        earlier = json.loads(chosen.earlier.read_text()) if chosen.earlier.exists() else None
        chosen.page.write_text(trust_page(results, earlier))


if __name__ == "__main__":
    main()
