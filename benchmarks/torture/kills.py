"""Processes killed at random moments while they learn and write; then what is left is opened.

Every trial is a process of its own, forked from this one so that it starts at once, and ended by
SIGKILL after a seeded share of the time that an undisturbed one takes. What an undisturbed one
learns is what every killed one must have learned in the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from .verdicts import Trial

PATIENCE: Final = 600.0  # seconds; only what hangs takes so long
AFTER: Final = 10.0  # kills come until so many seconds after the result
INVESTORS: Final = 4000
WORKSPACE: Final = "w-torture"


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said until then, each word with its moment."""

    code: int
    said: tuple[tuple[float, str], ...]
    seconds: float  # from its first word to its end

    def words(self, start: str) -> list[tuple[float, str]]:
        """What it said that begins so."""
        return [(when, line) for when, line in self.said if line.startswith(start)]


def in_process(
    work: Callable[[Callable[[str], None]], None], kill_after: float | None, since: str = ""
) -> Ended:
    """Do work in a process of its own and kill it so many seconds after a word.

    Args:
        work: What is done; it is given a function to say words with.
        kill_after: None lets it end by itself.
        since: How the word begins from which the seconds count; the first word by default.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_end(work, reads, writes)
    os.close(writes)
    return _listen(child, reads, kill_after, since)


def _work_and_end(work: Callable[[Callable[[str], None]], None], reads: int, writes: int) -> None:
    os.close(reads)
    code = 1
    try:
        work(lambda line: _say(writes, line))
        code = 0
    except BaseException:
        _say(writes, f"error {traceback.format_exc()[-800:]!r}")
    finally:
        os._exit(code)


def _say(writes: int, line: str) -> None:
    os.write(writes, (line + "\n").encode())


def _listen(child: int, reads: int, kill_after: float | None, since: str) -> Ended:
    said: list[tuple[float, str]] = []
    rest, begun, killed = b"", None, False
    until = time.monotonic() + PATIENCE
    while True:
        now = time.monotonic()
        due = begun is not None and kill_after is not None and now - begun >= kill_after
        if (due or now > until) and not killed:
            os.kill(child, signal.SIGKILL)
            killed = True
        ready, _, _ = select.select([reads], [], [], 0.005)
        if not ready:
            continue
        block = os.read(reads, 65536)
        if not block:
            break
        *lines, rest = (rest + block).split(b"\n")
        said += [(time.monotonic(), line.decode()) for line in lines]
        if begun is None:
            begun = next((when for when, line in said if line.startswith(since)), None)
    os.close(reads)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    first = said[0][0] if said else time.monotonic()
    return Ended(code, tuple(said), time.monotonic() - first)


# -- the app -------------------------------------------------------------------------------------
ADDRESS: Final = "address"  # of the database, in the data folder; where there is none, SQLite


def _app_home(home: Path) -> None:
    os.environ["IMOP_HOME"] = str(home)
    address = home / ADDRESS
    os.environ["IMOP_STORE"] = address.read_text() if address.is_file() else ""
    os.environ["IMOP_WORKERS"] = "1"  # whoever calls may have chosen threads for itself


def _prepare_workspace() -> None:
    from imop_app.settings import (
        InvestorBatch,
        InvestorSettings,
        LearnSettings,
        MarketSettings,
        Simulation,
    )
    from imop_app.workspace import Workspace

    people = InvestorSettings((InvestorBatch("simulate", Simulation(count=INVESTORS)),))
    learn = LearnSettings(start="zero", refine=False)
    Workspace(WORKSPACE, "Torture", MarketSettings(), people, learn).save()


def _data_folder(home: Path, before: Path | None, postgres: str) -> Path:
    """A data folder: a copy of another with all that is in its store, or a fresh one.

    Args:
        home: The folder.
        before: What it is a copy of; None: of nothing.
        postgres: Address of a PostgreSQL that may make databases; "" keeps the store in a file.
    """
    if before is None:
        home.mkdir(parents=True, exist_ok=True)
    else:
        shutil.copytree(before, home)
    if postgres:
        name = _database(home)
        template = "" if before is None else f" TEMPLATE {_database(before)}"
        _ask(postgres, f"CREATE DATABASE {name}{template}")
        (home / ADDRESS).write_text(urlsplit(postgres)._replace(path=f"/{name}").geturl())
    return home


def _remove(home: Path, postgres: str) -> None:
    if postgres:
        _ask(postgres, f"DROP DATABASE {_database(home)} WITH (FORCE)")
    shutil.rmtree(home)


def _database(home: Path) -> str:
    return "kill_" + hashlib.sha256(str(home).encode()).hexdigest()[:20]


def _ask(postgres: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(statement.encode())


def _make_workspace(home: Path) -> Callable[[Callable[[str], None]], None]:
    def work(say: Callable[[str], None]) -> None:
        _app_home(home)
        _prepare_workspace()
        say("made")

    return work


def _click_learn(home: Path, how: str) -> Callable[[Callable[[str], None]], None]:
    """What the button Learn does, and what the page says meanwhile."""

    def work(say: Callable[[str], None]) -> None:
        from imop_app.services import learning
        from imop_app.state import AppState
        from imop_app.workspace import open_workspace

        _app_home(home)
        state = AppState(open_workspace(WORKSPACE))
        say("click")
        job = getattr(learning, how)(state.workspace, state.store)
        done = -1
        while job.status == "running":
            if job.done != done:
                done = job.done
                say(f"seen {done}")
            job.wait_for_result(0.01)
        if job.status != "finished":
            raise AssertionError(f"{job.status}: {job.error}")
        say(f"finished {job.run}")
        time.sleep(AFTER + 1.0)  # nobody looks: no page adopts the run

    return work


def _look(home: Path) -> Callable[[Callable[[str], None]], None]:
    """Open the workspace as a page does, and say what is there."""

    def work(say: Callable[[str], None]) -> None:
        import sqlalchemy as sa

        from imop_app import copies, recovery
        from imop_app.database import database
        from imop_app.database.tables import DAMAGED
        from imop_app.state import AppState
        from imop_app.workspace import open_workspace
        from imop_engine.study import load_state

        _app_home(home)
        opened = open_workspace(WORKSPACE)
        state = AppState(opened)
        copies.sweep()
        with database().reading() as connection:
            damaged = list(connection.execute(sa.select(DAMAGED.c.about)).scalars())
        state.adopt()
        runs = [record.id for record in state.store.list()]
        thetas = {run: state.store.open(run).theta.tolist() for run in runs}
        rounds = None
        kept = recovery.checkpoint(WORKSPACE)
        if kept is not None:
            rounds = load_state(io.BytesIO(kept)).rounds
        left = [path.name for path in (database().place.copies / "runs").glob(".*")]
        say(
            "found "
            + json.dumps(
                {
                    "name": opened.name,
                    "run": state.workspace.run,
                    "runs": runs,
                    "rounds": rounds,
                    "thetas": thetas,
                    "damaged": damaged,
                    "left": left,
                }
            )
        )

    return work


def _found(home: Path) -> dict[str, Any]:
    ended = in_process(_look(home), None)
    words = ended.words("found ")
    if not words:
        return {"error": ended.said}
    found: dict[str, Any] = json.loads(words[0][1].removeprefix("found "))
    return found


def app_kills(
    work: Path, count: int, seed: int, postgres: str = ""
) -> tuple[list[Trial], dict[str, float]]:
    """Kill the app at random moments from the click to ten seconds after the result.

    Args:
        work: A folder for the data folders of the app.
        count: How many kills.
        seed: Of the moments.
        postgres: Address of a PostgreSQL that may make databases; "" keeps stores in files.

    Returns:
        The trials, and figures: the longest time that was learned again.
    """
    template = _data_folder(work / "home", None, postgres)
    in_process(_make_workspace(template), None)
    whole = _data_folder(work / "whole", template, postgres)
    undisturbed = in_process(_click_learn(whole, "start"), None)
    if undisturbed.code != 0:
        raise AssertionError(undisturbed.said[-1:])
    took = undisturbed.words("finished")[0][0] - undisturbed.words("click")[0][0]
    expected = next(iter(_found(whole)["thetas"].values()))
    trials, worst = [], 0.0
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        # two of three while it works, one after the result
        span = (0.0, took) if number % 3 else (took, took + AFTER)
        home = _data_folder(work / f"home-{number}", template, postgres)
        ended = in_process(_click_learn(home, "start"), float(rng.uniform(*span)))
        trial, lost = _judge_app(home, ended, expected)
        worst = max(worst, lost)
        trials.append(trial)
        _remove(home, postgres)
    return trials, {"worst seconds learned again": worst, "seconds undisturbed": took}


def _judge_app(home: Path, ended: Ended, expected: list[float]) -> tuple[Trial, float]:
    said_finished = ended.words("finished ")
    found = _found(home)
    seen = ended.words("seen ")
    what = f"killed after {ended.seconds:.2f} s, {'finished' if said_finished else seen[-1:]}"
    if "error" in found or found["damaged"] or found["name"] != "Torture":
        return Trial(what, "workspace damaged", str(found)), 0.0
    if found["left"]:
        return Trial(what, "left over", str(found["left"])), 0.0
    if any(theta != expected for theta in found["thetas"].values()):
        return Trial(what, "other digits", ""), 0.0
    if said_finished:
        run = said_finished[0][1].split()[1]
        kept = found["run"] == run and run in found["runs"]
        return Trial(what, "right" if kept else "lost", str(found["run"])), 0.0
    if found["runs"]:  # written, and killed before it was said
        return Trial(what, "right" if found["run"] in found["runs"] else "lost"), 0.0
    if found["rounds"] is None:
        return Trial(what, "right" if len(seen) <= 1 else "lost", "no checkpoint"), 0.0
    return _judge_resumed(home, ended, found, expected, what)


def _judge_resumed(
    home: Path, ended: Ended, found: dict[str, Any], expected: list[float], what: str
) -> tuple[Trial, float]:
    seen = [(when, int(line.split()[1])) for when, line in ended.words("seen ")]
    last = seen[-1][0] if seen else 0.0
    later = [when for when, done in seen if done > found["rounds"]]
    lost = last - later[0] if later else 0.0
    again = in_process(_click_learn(home, "resume"), None)
    after = _found(home)
    same = again.code == 0 and list(after.get("thetas", {}).values()) == [expected]
    return Trial(what, "right" if same else "not resumed", str(again.said[-1:])), lost


# -- the process that learns ---------------------------------------------------------------------
def _learn_and_lose_the_process(
    home: Path, after: float
) -> Callable[[Callable[[str], None]], None]:
    """What the button Learn does, while the process that learns is killed at a moment."""

    def work(say: Callable[[str], None]) -> None:
        from imop_app.services import learning
        from imop_app.state import AppState
        from imop_app.worker_jobs import WorkerJob
        from imop_app.workspace import open_workspace

        _app_home(home)
        state = AppState(open_workspace(WORKSPACE))
        job = learning.start(state.workspace, state.store)
        assert isinstance(job, WorkerJob)
        say("begun")  # from here an undisturbed one is timed
        began = time.monotonic()
        while time.monotonic() - began < after and job.status == "running":
            job.wait_for_result(0.001)
        at, pid = job.done, job.pid
        if pid is not None and job.status == "running":
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                say(f"killed at {at}")
        job.wait(PATIENCE)
        if job.status != "finished":
            raise AssertionError(f"{job.status}: {job.error}")
        say(f"finished {job.run}")
        say(f"told {job.notice}")

    return work


def worker_kills(work: Path, count: int, seed: int, postgres: str = "") -> list[Trial]:
    """Kill the process that learns, and not the server, at random moments of a run.

    Args:
        work: A folder for the data folders of the app.
        count: How many kills.
        seed: Of the moments.
        postgres: Address of a PostgreSQL that may make databases; "" keeps stores in files.
    """
    template = _data_folder(work / "home", None, postgres)
    in_process(_make_workspace(template), None)
    whole = _data_folder(work / "whole", template, postgres)
    undisturbed = in_process(_learn_and_lose_the_process(whole, PATIENCE), None)
    if undisturbed.code != 0:
        raise AssertionError(undisturbed.said[-1:])
    expected = next(iter(_found(whole)["thetas"].values()))
    trials = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        home = _data_folder(work / f"home-{number}", template, postgres)
        moment = float(rng.uniform(0.0, undisturbed.seconds))
        ended = in_process(_learn_and_lose_the_process(home, moment), None)
        killed = ended.words("killed ")
        what = f"{killed[0][1] if killed else 'not killed'}, {moment:.2f} s"
        thetas = list(_found(home).get("thetas", {}).values())
        right = ended.code == 0 and thetas == [expected]
        trials.append(Trial(what, "right" if right else "lost", str(ended.said[-1:])))
        _remove(home, postgres)
    return trials


# -- the shell -----------------------------------------------------------------------------------
def _shell(arguments: list[str]) -> Callable[[Callable[[str], None]], None]:
    def work(say: Callable[[str], None]) -> None:
        from imop_engine import cli, manifest, storage

        save, digests = storage.save_study, manifest.write

        def saving(*arguments: Any, **options: Any) -> Path:
            say("saving")
            return save(*arguments, **options)

        def placing(*arguments: Any, **options: Any) -> Any:
            written = digests(*arguments, **options)
            say("placing")  # all is written beside its place, which it takes now
            return written

        storage.save_study, manifest.write = saving, placing
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        say("begun")
        with contextlib.suppress(SystemExit):
            cli.main(arguments)
        say("ended")

    return work


def _opened(folder: Path) -> Callable[[Callable[[str], None]], None]:
    def work(say: Callable[[str], None]) -> None:
        from imop_engine import load_study

        say("theta " + json.dumps(load_study(folder).theta.tolist()))

    return work


def _theta(folder: Path) -> str:
    ended = in_process(_opened(folder), None)
    words = ended.words("theta ")
    return words[0][1] if words else f"cannot be opened: {ended.said}"


def shell_kills(work: Path, count: int, seed: int) -> list[Trial]:
    """Kill `imop learn` at random moments, half of the time while it overwrites another study.

    Args:
        work: A folder for the files.
        count: How many kills.
        seed: Of the moments.
    """
    old, new = work / "old", work / "new"
    files: dict[Path, list[str]] = {}
    for folder, number in ((old, 1), (new, 2)):
        people = work / f"people-{number}"
        in_process(_shell(["simulate", "--market", "paper8", "--investors", "300", "--seed",
                           str(number), "--out", str(people)]), None)  # fmt: skip
        files[folder] = ["learn", "--market", "paper8", "--portfolios",
                         str(people / "portfolios.csv"), "--no-refine"]  # fmt: skip
    took = writes = takes = 0.0
    for folder, command in files.items():
        done = in_process(_shell([*command, "--out", str(folder)]), None)
        took, last = done.seconds, done.said[-1][0]
        writes, takes = (last - done.words(word)[0][0] for word in ("saving", "placing"))
    thetas = {_theta(old): "old", _theta(new): "new"}
    trials = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        out = work / f"out-{number}"
        if number % 2:
            shutil.copytree(old, out)
        command = [*files[new], "--out", str(out)]
        # a quarter at any time, a quarter while it writes, half while the new takes its place
        span, since = ((took, ""), (writes, "saving"), (takes, "placing"), (takes, "placing"))[
            number // 2 % 4
        ]
        moment = float(rng.uniform(0.0, 1.1 * span))
        ended = in_process(_shell(command), moment, since)
        trials.append(_judge_shell(out, command, ended, thetas, fresh=number % 2 == 0))
        shutil.rmtree(out, ignore_errors=True)
    return trials


def _judge_shell(
    out: Path, command: list[str], ended: Ended, thetas: dict[str, str], fresh: bool
) -> Trial:
    writing = "while writing" if ended.words("saving") else "before writing"
    what = f"killed {writing}, {ended.seconds:.2f} s, {'fresh' if fresh else 'overwriting'}"
    there = (out / "run.json").exists()
    if not there and not fresh:
        return Trial(what, "lost", "the old study is gone")
    ending = thetas.get(_theta(out), "damaged") if there else "absent"
    if ending == "damaged":
        return Trial(what, "damaged", _theta(out))
    if ending != "new":
        again = in_process(_shell([*command, "--resume"] if fresh else command), None)
        if thetas.get(_theta(out)) != "new":
            return Trial(what, "not resumed", str(again.said))
    left = [path.name for path in out.parent.glob(f".{out.name}.*")]
    if left and ending != "new":
        return Trial(what, "left over", str(left))
    return Trial(what, "old" if ending == "absent" else ending)


def main(arguments: list[str]) -> None:
    """Run some kills and print the trials as JSON: kind, count, seed, folder, and the address of a
    PostgreSQL where stores are to be kept there."""
    kind, count, seed, folder, *rest = arguments
    postgres = rest[0] if rest else ""
    work = Path(folder)
    load_everything()
    figures: dict[str, float] = {}
    if kind in ("app", "worker"):
        from imop_app import workers

        workers.wait_until_ready()  # before any fork, so that all share the one that is loaded
    if kind == "app":
        trials, figures = app_kills(work, int(count), int(seed), postgres)
    elif kind == "worker":
        trials = worker_kills(work, int(count), int(seed), postgres)
    else:
        trials = shell_kills(work, int(count), int(seed))
    said = [[trial.what, trial.ended, trial.said] for trial in trials]
    print(json.dumps({"trials": said, "figures": figures}))


def load_everything() -> None:
    """Import what the forked processes need, and start no thread here that a fork would lose."""
    import imop_engine.cli
    import imop_engine.report.html
    import imop_engine.storage
    import imop_engine.tables.readers  # noqa: F401


if __name__ == "__main__":
    main(sys.argv[1:])
