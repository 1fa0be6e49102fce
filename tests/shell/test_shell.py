"""The commands as a person runs them: what they print, where, and how they fail."""

import json
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

IMOP = Path(sys.executable).with_name("imop")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([IMOP, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo() -> dict:
    done = run("demo", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"imop {version('imop')}\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("--help",), ("demo", "--help"), ("app", "--help")])
def test_help_goes_to_standard_output(run_here, arguments):
    done = run_here(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: imop")
    assert done.stderr == ""


def test_demo_json_has_the_figures_of_the_run(demo):
    assert demo["assets"] == [f"Security {i}" for i in range(1, 9)]
    assert len(demo["true"]) == len(demo["estimate"]) == 8
    assert demo["rounds"] == 1000
    assert demo["weights"] == 41
    assert demo["certified"] == 1.0
    assert demo["version"] == version("imop")
    assert demo["seconds"] > 0


def test_demo_takes_two_returns_as_known(demo):
    for known in (0, 6):
        assert demo["estimate"][known] == pytest.approx(demo["true"][known], abs=1e-9)


def test_demo_errors_are_those_of_its_own_figures(demo):
    off = [e - t for e, t in zip(demo["estimate"], demo["true"], strict=True)]
    assert demo["raw_error"] == pytest.approx(sum(x * x for x in off) ** 0.5)
    assert 0 < demo["aligned_error"] <= demo["raw_error"]


@pytest.mark.slow
def test_demo_learns_by_what_is_left_on_the_table_too(demo, run_here):
    done = json.loads(run_here("demo", "--loss", "efficiency", "--json").stdout)
    assert (demo["loss"], done["loss"]) == ("distance", "efficiency")
    assert done["certified"] == 1.0
    assert done["raw_error"] < 0.01
    few = run_here("demo", "--loss", "efficiency", "--investors", "30")
    assert "Investors by weight" in few.stdout


@pytest.mark.slow
def test_demo_repeats_with_its_seed_and_not_with_another(run_here):
    small = ["demo", "--investors", "50", "--json", "--seed"]
    # the same seed in another process too
    one, same, other = (
        json.loads(start(*small, seed).stdout)
        for start, seed in ((run, "3"), (run_here, "3"), (run_here, "4"))
    )
    assert one["estimate"] == same["estimate"] != other["estimate"]
    assert (one["rounds"], one["seed"]) == (50, 3)


@pytest.mark.slow
def test_demo_exact_is_closer_than_a_grid(demo, run_here):
    exact = json.loads(run_here("demo", "--weights", "exact", "--json").stdout)
    assert exact["weights"] == "exact"
    assert exact["raw_error"] < demo["raw_error"]
    assert exact["raw_error"] < 0.002


@pytest.mark.slow
def test_demo_for_people_shows_table_histogram_and_the_papers_figure(run_here):
    done = run_here("demo", "--investors", "200")
    assert done.returncode == 0
    for word in ("asset", "true", "estimated", "error", "Security 8", "█", "0.0091"):
        assert word in done.stdout
    assert re.search(r"0\.4\d–0\.\d\d +\d+\.\d% █+", done.stdout)
    assert "Learning from 200 investors" not in done.stdout, "progress is no result"


MISTAKE = re.compile(r"imop: [^\n]+\.\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("learnt",), "No such command 'learnt'"),
        (("demo", "--investor", "5"), "--investor"),
        (("demo", "--investors", "many"), "--investors"),
        (("demo", "--investors", "0"), "--investors"),
        (("demo", "--weights", "1"), "whole number from 2 up"),
        (("demo", "--weights", "fine"), "whole number from 2 up"),
        (("demo", "--seed", "-1"), "--seed"),
        (("demo", "leftover"), "leftover"),
        (("app", "--port", "70000"), "--port"),
        (("app", "--address", "not an address"), "Cannot serve on not an address"),
        (
            ("simulate", "--out", "/dev/null/x"),
            "nothing can be written into the folder /dev/null/x",
        ),
        (("simulate", "--out", "x", "--upper", "nan"), "--upper is nan; give a share"),
        (("simulate", "--out", "x", "--cap", "AAPL=0"), "--cap AAPL is 0; give a share"),
        (("simulate", "--out", "x", "--cap", "X=1"), "none of the assets; they are AAPL, AMD"),
        (
            ("frontier", "--market", "paper8", "--out", "/dev/null/f.csv"),
            "/dev/null/f.csv was not written: what should be its folder is a file",
        ),
    ],
)
def test_a_mistake_gets_one_sentence_and_code_2(run_here, arguments, words):
    done = run_here(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert MISTAKE.fullmatch(done.stderr), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("learnt",), ("simulate", "--out", "x", "--cap", "X=1")], ids=["typer", "engine"]
)
def test_a_process_ends_like_that_too(run_here, arguments):
    here, done = run_here(*arguments), run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == here.stderr
    assert MISTAKE.fullmatch(done.stderr)


@pytest.mark.slow
def test_a_reader_who_leaves_early_gets_no_complaint():
    shown = subprocess.Popen(
        [IMOP, "frontier", "--market", "us20", "--points", "4000", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert shown.stdout.readline() == "{\n"
    shown.stdout.close()
    assert shown.stderr.read() == ""
    shown.wait()


def test_a_busy_port_is_said_before_anything_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("app", "--port", str(port))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"127.0.0.1:{port}" in done.stderr
    assert "choose another port" in done.stderr
    assert done.stderr.count("\n") == 1
