"""Run experiments on all cores, keep every part, and write what they found.

Parts that measure time come last, one after another in one process, so that no other part of the
run disturbs the clock. Everything that `index.html` shows is read back from the files written here.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import imop_engine as imop
from imop_engine import kernels
from imop_engine.errors import ImopError, InvalidInput
from imop_engine.warm import warm
from imop_engine.workers import LOCAL, open_workers
from imop_experiments import catalogue, page, pictures
from imop_experiments.experiment import SECTIONS, Experiment, Part, Report, Result
from imop_experiments.store import Store, engine_digest

PACKAGES = ("imop", "numpy", "numba", "scipy", "pandas", "altair", "gurobipy")

Tell = Callable[[str, int, int], None]  # experiment, parts done, parts in all


@dataclass(frozen=True)
class Work:
    """One part of an experiment that is still to be done."""

    experiment: Experiment
    part: Part


def reproduce(
    names: Sequence[str],
    out: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    tell: Tell = lambda name, done, total: None,
) -> dict[str, Any]:
    """Run the named experiments (or all), write their files under `out`, return the results.

    Args:
        names: Of the experiments; "all" is every one.
        out: The folder of the results.
        quick: Whether fewer repetitions and shorter streams are run than in the paper.
        fresh: Whether to run parts again that were kept.
        workers: How many processes share the work; None takes all processors.
        cluster: A Dask cluster for the parts that measure no time: "local", or the address of a
            scheduler; None: processes of this machine.
        tell: Called with an experiment's name, its finished parts and all of them.
    """
    started = time.perf_counter()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    chosen = choose(names)
    store = Store(out / "raw")
    plans = {one.name: one.parts(quick) for one in chosen}
    if fresh:
        for one in chosen:
            store.forget(one, plans[one.name])
    todo = _missing(chosen, plans, store, tell)
    left = todo if cluster is None else _run_on(cluster, todo, plans, store, workers, tell)
    _run_all(left, plans, store, workers or os.cpu_count() or 1, tell)
    made = [_report(one, plans[one.name], store, out) for one in chosen]
    results = {
        "version": imop.__version__,
        "engine": engine_digest(),
        "quick": quick,
        "when": time.strftime("%Y-%m-%d %H:%M"),
        "seconds": round(time.perf_counter() - started, 1),
        "parts": sum(len(plan) for plan in plans.values()),
        "parts_run": len(todo),
        "machine": _machine(load),
        "versions": _versions(),
        "experiments": made,
    }
    home = out if len(chosen) == len(catalogue.EXPERIMENTS) else out / "-".join(plans)
    home.mkdir(parents=True, exist_ok=True)
    (home / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    page.write(home / "index.html", home / "results.json", out)
    results["page"] = str(home / "index.html")
    return results


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, in the order of the paper; "all" is every one.

    >>> [one.name for one in choose(["fig1c", "fig1a"])]
    ['fig1a', 'fig1c']
    """
    known = [one.name for one in catalogue.EXPERIMENTS]
    unknown = [name for name in names if name not in known and name != "all"]
    if unknown:
        raise InvalidInput(
            f"there is no experiment {unknown[0]!r}; use all, or one of {', '.join(known)}."
        )
    return [one for one in catalogue.EXPERIMENTS if "all" in names or one.name in names]


def _missing(
    chosen: list[Experiment], plans: dict[str, list[Part]], store: Store, tell: Tell
) -> list[Work]:
    todo = []
    for one in chosen:
        mine = [part for part in plans[one.name] if store.load(one, part) is None]
        todo += [Work(one, part) for part in mine]
        tell(one.name, len(plans[one.name]) - len(mine), len(plans[one.name]))
    return todo


def _run_all(
    todo: list[Work], plans: dict[str, list[Part]], store: Store, workers: int, tell: Tell
) -> None:
    """Parts that only compute on all cores; then those that measure time, one by one."""
    left = {name: len(plan) for name, plan in plans.items()}
    for work in todo:
        left[work.experiment.name] -= 1
    together = [work for work in todo if not work.experiment.alone]
    alone = [work for work in todo if work.experiment.alone]
    # A single part compiles what it needs itself; before many, all is compiled once, here.
    if len(todo) > 1 and kernels.needs_compiling():
        warm()
    for works, count in ((together, min(workers, max(1, len(together)))), (alone, 1)):
        if not works:
            continue
        with _pool(count, ready=len(todo) > 1) as pool:
            running = {
                pool.submit(run_part, work.experiment.name, work.part): work for work in works
            }
            for future in as_completed(running):
                work = running[future]
                result, seconds = _answer(future)
                store.save(work.experiment, work.part, result, seconds)
                name = work.experiment.name
                left[name] += 1
                tell(name, left[name], len(plans[name]))


def _run_on(
    cluster: str,
    todo: list[Work],
    plans: dict[str, list[Part]],
    store: Store,
    workers: int | None,
    tell: Tell,
) -> list[Work]:
    """Have a cluster run the parts that only compute; those that measure time are given back."""
    together = [work for work in todo if not work.experiment.alone]
    done = {name: len(plan) for name, plan in plans.items()}
    for work in todo:
        done[work.experiment.name] -= 1
    parts = [(work.experiment.name, work.part) for work in together]
    with open_workers(cluster, workers if cluster == LOCAL else None) as team:
        for number, (result, seconds) in team.each(_run_named, parts):
            work = together[number]
            store.save(work.experiment, work.part, result, seconds)
            name = work.experiment.name
            done[name] += 1
            tell(name, done[name], len(plans[name]))
    return [work for work in todo if work.experiment.alone]


def _run_named(named: tuple[str, Part], common: None) -> tuple[Result, float]:
    del common
    return run_part(*named)


def _answer(future: Future[tuple[Result, float]]) -> tuple[Result, float]:
    try:
        return future.result()
    except BrokenProcessPool:
        raise ImopError(
            "a process of the run ended abruptly, most often for want of memory or because the "
            "engine changed under it; run the same command again: finished parts are kept."
        ) from None


@contextmanager
def _pool(workers: int, ready: bool) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes, one thread each; what has not begun is dropped at an error.

    `ready` ones load the compiled code before their first part: no part's clock pays for it.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # the processes inherit it
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=warm if ready else None
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def run_part(name: str, part: Part) -> tuple[Result, float]:
    """Run one part of the experiment of that name; its result and the seconds it took."""
    experiment = next(one for one in catalogue.EXPERIMENTS if one.name == name)
    started = time.perf_counter()
    result = experiment.run(part)
    return result, time.perf_counter() - started


def _report(experiment: Experiment, parts: list[Part], store: Store, out: Path) -> dict[str, Any]:
    """Write an experiment's charts, tables and result.json; return what result.json holds."""
    kept = [_kept(experiment, part, store) for part in parts]
    report = experiment.report(
        [(part, one["result"]) for part, one in zip(parts, kept, strict=True)]
    )
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "name": experiment.name,
        "section": SECTIONS[experiment.section],
        "title": experiment.title,
        "paper": experiment.paper,
        "setup": experiment.setup,
        "chosen": list(experiment.chosen),
        "seconds": round(sum(one["seconds"] for one in kept), 2),
        "findings": [asdict(finding) for finding in report.findings],
        "numbers": report.numbers,
        **_write(report, folder),
        "raw": [str(store.path(experiment, part).relative_to(out)) for part in parts],
    }
    (folder / "result.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    return made


def _kept(experiment: Experiment, part: Part, store: Store) -> dict[str, Any]:
    found = store.load(experiment, part)
    if found is None:
        raise ImopError(
            f"the result of a part of {experiment.name} is gone: {store.path(experiment, part)} "
            "was removed or spoilt while the run went on; run the same command again."
        )
    return found


def _write(report: Report, folder: Path) -> dict[str, Any]:
    """Charts as SVG and PNG, tables as CSV, named in the order they are shown."""
    figures = []
    for figure in report.figures:
        pictures.save(figure.chart, folder / figure.name)
        figures.append({"name": figure.name, "caption": figure.caption})
    tables = []
    for table in report.tables:
        table.frame.to_csv(folder / f"{table.name}.csv", index=False)
        shown = json.loads(table.frame.to_json(orient="split", index=False, double_precision=12))
        heading = {"name": table.name, "caption": table.caption, "digits": table.digits}
        tables.append({**heading, "columns": shown["columns"], "rows": shown["data"]})
    for name, frame in report.data.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return {"figures": figures, "tables": tables, "data": sorted(report.data)}


def _machine(load: float) -> dict[str, Any]:
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load_before": round(load, 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
