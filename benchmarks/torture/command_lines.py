"""Nasty command lines: each gives an answer or ends in one sentence and exit code 2.

Every command takes part with all options it has. A line starts from arguments that are right; some
options get something nasty. What would go on for ever, or measure for hours, is held back.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final
from unittest import mock

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors

from . import fuzz
from .verdicts import Trial

TEXTS: Final = (
    "", "abc", "nan", "inf", "-inf", "-1", "0", "1e308", "9" * 400, "0.5", "é", "\u202e", "-", "--",
    "=", "A=1", "A=nan", "A=", "=1", "Security 1=0.1", "Security 1=1e400", "Security 1=0.1±-1",
    "../..", "/", "/dev/null", "/proc/self/mem", "nowhere.csv", "%s%n", "$(id)", "`id`", "'; --",
    "1,2", "0.5,0.3", "exact", "auto", "csv", "xlsx", "\n", "a\tb", "1_000", "٣", "0x10", "1e",
    "+5", "A <= 30%", "A + <= 3", "sector:x<=1", "B>=2", "A=returns.csv", "10%", "-5%", "1e-400",
    "portfolios.csv", "returns.csv", "study", ".", "C1", "C1,C2", "semivariance",
)  # fmt: skip
# What a line begins with. The history and the portfolios are of the assets A, B and C.
FILES: Final = ("--portfolios", "portfolios.csv", "--returns", "returns.csv")
COMMANDS: Final = {
    "learn": ("learn", *FILES, "--no-refine"),
    "client": ("client", "study"),
    "template": ("template",),
    "simulate": ("simulate", "--market", "paper8", "--investors", "3", "--out", "drawn"),
    "frontier": ("frontier", "--returns", "returns.csv"),
    "sensitivity": ("sensitivity", "study"),
    "resample": ("resample", "study", "--draws", "20"),
    "risks": ("risks", *FILES, "--risk", "variance", "--risk", "mad", "--folds", "2"),
    "score": ("score", *FILES, "--score", "A=1", "--score", "B=2", "--score", "C=0"),
    "demo": ("demo", "--investors", "30"),
    "bench": ("bench", "--again", "nothing"),
    "reproduce": ("reproduce", "nothing"),
    "app": ("app",),
    "runs list": ("runs", "list"),
    "runs export": ("runs", "export", "nothing"),
    "runs import": ("runs", "import", "study"),
    "runs give": ("runs", "give", "nothing", "a@example.com"),
    "runs add": ("runs", "add", "study"),
    "runs remove": ("runs", "remove", "nothing"),
}  # fmt: skip
# They wait for more rows, measure for minutes, ask a network, or say what every command says.
HELD_BACK: Final = frozenset(["--follow", "--quick", "--help", "-h", "--tickers"])
# Options that name what is written.
WRITTEN: Final = ("--out", "--page", "--record", "--pdf")
# At the end of a line: it is refused, so that no server starts.
LAST: Final = {"app": ("--port", "0")}


def commands() -> dict[str, dict[str, bool]]:
    """Every command with its options, and whether an option takes a value."""
    import typer

    from imop_engine import cli

    found: dict[str, dict[str, bool]] = {}

    def collect(name: str, command: Any) -> None:
        for own, one in getattr(command, "commands", {}).items():
            collect(f"{name} {own}".strip(), one)
        if not hasattr(command, "commands"):
            found[name] = {
                option: not one.is_flag
                for one in command.params
                if hasattr(one, "is_flag")
                for option in (*one.opts, *one.secondary_opts)
                if option.startswith("--") and option not in HELD_BACK
            }

    collect("", typer.main.get_command(cli.app))
    return found


def shell_calls(count: int, seed: int) -> Iterator[Trial]:
    """Make nasty calls of the shell, in this process and in a folder of their own.

    Args:
        count: How many.
        seed: Of the calls.
    """
    from imop_engine import cli

    known = commands()
    names = list(COMMANDS)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {"IMOP_HOME": f"{folder}/home", "IMOP_CACHE": folder}),
    ):
        _write_files()
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            name = names[number % len(names)]
            words = _words(name, known[name], rng)
            yield judged_shell(words, lambda: cli.main(words))  # noqa: B023


def _write_files() -> None:
    """A history and portfolios of three assets, and a study of eight."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2018-01-31", periods=60, freq="ME").strftime("%Y-%m-%d")
    drawn = rng.multivariate_normal([0.003, 0.006, 0.008], np.diag([1e-4, 9e-4, 2e-3]), 60)
    pd.DataFrame(drawn.round(5), days, ["A", "B", "C"]).to_csv("returns.csv", index_label="date")
    held = rng.dirichlet([2.0, 2.0, 2.0], 24).round(3)
    clients = pd.Index([f"C{i}" for i in range(24)], name="investor")
    pd.DataFrame(held, clients, ["A", "B", "C"]).to_csv("portfolios.csv")
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    people = simulate_investors(problem, paper.expected_returns, 30, rng=rng).portfolios
    study = imop.run_study(paper.returns_by_asset, paper.covariance_by_asset, people)
    imop.save_study(study, "study", report=False)


def _words(name: str, options: dict[str, bool], rng: np.random.Generator) -> list[str]:
    words = list(COMMANDS[name])
    if name in ("client", "sensitivity", "resample") or name.startswith(("runs ", "reproduce")):
        place = {"reproduce": 1}.get(name, 2 if name.startswith("runs ") else 1)
        if len(words) > place and rng.random() < 0.3:
            words[place] = str(rng.choice(TEXTS))
    for option in rng.choice(list(options), size=int(rng.integers(1, 4))):
        words.append(str(option))
        if options[str(option)]:
            text = str(rng.choice(TEXTS))
            # nothing is written outside the folder of the calls
            words.append(f"out-{text}" if option in WRITTEN and "/" in text else text)
    return words + list(LAST.get(name, ()))


def judged_shell(words: list[str], call: Callable[[], Any]) -> Trial:
    """How a call of the shell ended: with 0, or with one sentence and 2.

    Args:
        words: The command line.
        call: The call.
    """
    out, err = io.StringIO(), io.StringIO()
    what = "imop " + " ".join(repr(one[:40]) for one in words)
    try:
        with (
            fuzz.limited(fuzz.LONGEST), warnings.catch_warnings(), np.errstate(all="ignore"),
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err),
        ):  # fmt: skip
            warnings.simplefilter("ignore")
            call()
    except SystemExit as error:
        if error.code == 0:
            return Trial(what, "right")
        said = err.getvalue().strip()
        sentence = bool(said) and "Traceback" not in said and said.endswith(".")
        return Trial(what, "refused" if error.code == 2 and sentence else "unsaid", said[-300:])
    except fuzz.TooLong:
        return Trial(what, "hangs")
    except BaseException as error:
        return Trial(what, "foreign", f"{type(error).__name__}: {error}")
    return Trial(what, "right")
