"""A little of every ordeal; `make torture` runs all of it."""

import contextlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import imop_engine as imop
from imop_benchmarks.torture import __main__ as torture
from imop_benchmarks.torture import command_lines, fuzz, network, numbers
from imop_benchmarks.torture.page import page
from imop_engine import tables

ROOT = Path(__file__).resolve().parents[2]


# What these are given is right, and they say truly that there is no such study, or no network.
REFUSED_ALL_THE_SAME = {"load_study", "read_yahoo"}
# Of what the pages import these are for who extends the house: used inside, and not checked again.
INSIDE = {
    "array_parts", "decisions", "fit_counts", "limit_rows", "linear_limits", "make_backend",
    "verdict_of",
}  # fmt: skip


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    with contextlib.chdir(folder):
        yield fuzz.right_calls(folder)


def public_functions() -> set[str]:
    """The functions of imop_engine, those of imop_engine.tables, and all that the pages import."""
    found = {name for name in imop.__all__ if inspect.isfunction(getattr(imop, name))}
    found |= {name for name in tables.__all__ if inspect.isfunction(getattr(tables, name))}
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for line in re.findall(r"^from imop_engine[\w.]* import (.+)$", path.read_text(), re.M):
            found |= {name for name in re.split(r"[\s,()]+", line) if name.islower()}
    return found - INSIDE - {"bundled", "errors"}


def test_every_public_function_takes_part(calls):
    assert public_functions() <= set(calls)


def test_every_command_takes_part_with_all_its_options():
    known = command_lines.commands()
    assert set(known) == set(command_lines.COMMANDS)
    assert {"--limit", "--cluster", "--portfolio-sheet"} <= set(known["learn"])
    assert all(known.values())


@pytest.mark.slow
def test_every_call_is_right_before_it_is_made_nasty(calls):
    for name, (function, arguments) in calls.items():
        if name not in REFUSED_ALL_THE_SAME:
            assert fuzz.judged(name, lambda: function(**arguments)).ended == "right", name  # noqa: B023


@pytest.mark.slow
def test_nasty_calls_of_the_api_end_in_an_answer_or_in_our_error():
    assert [one for one in fuzz.api_calls(torture.SHORT["api"], seed=1) if one.bad] == []


def test_numbers_that_break_arithmetic_give_right_answers_or_our_error():
    trials = list(numbers.numerical(torture.SHORT["numbers"], seed=1))
    assert [one for one in trials if one.bad] == []
    assert len(trials) == torture.SHORT["numbers"]


def test_a_wrong_answer_is_noticed(monkeypatch):
    right = imop.solve
    monkeypatch.setattr(imop, "solve", lambda *given: np.roll(right(*given), 1))
    trials = [one for one in numbers.numerical(60, seed=1) if one.what.startswith("solve: usual")]
    assert [one.ended for one in trials] == ["wrong"] * len(trials)
    assert trials


@pytest.mark.slow
def test_nasty_command_lines_end_in_an_answer_or_in_one_sentence():
    trials = list(command_lines.shell_calls(torture.SHORT["shell"], seed=1))
    assert [one for one in trials if one.bad] == []
    assert {one.ended for one in trials} == {"right", "refused"}


def test_what_takes_too_long_is_noticed(monkeypatch):
    monkeypatch.setattr(fuzz, "LONGEST", 0.05)

    def forever():
        while True:
            pass

    assert fuzz.judged("forever", forever).ended == "hangs"
    assert fuzz.judged("foreign", lambda: int("x")).ended == "foreign"


@pytest.mark.slow
def test_the_command_keeps_figures_and_writes_the_page(tmp_path):
    record, written = tmp_path / "record.json", tmp_path / "page.md"
    command = [sys.executable, "-m", "imop_benchmarks.torture", "damage", "--short"]
    done = subprocess.run(
        [*command, "--record", str(record), "--page", str(written)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads(record.read_text())
    assert kept["damage"]["count"] == torture.SHORT["damage"]
    assert written.read_text() == page(kept)
    assert "| saved studies damaged" in written.read_text()


def test_the_page_in_docs_is_that_of_the_kept_figures():
    kept = json.loads((ROOT / "benchmarks" / "results" / "reliability.json").read_text())
    assert (ROOT / "docs" / "reliability.md").read_text() == page(kept)
    assert all(part["bad"] == [] for part in kept.values())


def test_an_address_outside_this_computer_is_noticed():
    here = 'connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}'
    there = here.replace("127.0.0.1", "93.184.216.34")
    assert network._judged(f"{here}, 16) = 0\n").ended == "right"
    assert (
        network._judged(f"{there}, 16) = -1 ENETUNREACH (Network is unreachable)").ended == "right"
    )
    for result in ("0", "-1 EINPROGRESS", "-1 ECONNREFUSED"):
        found = network._judged(f"{here}, 16) = 0\n{there}, 16) = {result}\n")
        assert (found.ended, found.said) == ("outside", "93.184.216.34 port 80")
        assert found.bad
