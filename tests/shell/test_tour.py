"""The tour of the shell is true: its commands run as they stand, one after the other."""

import re
import shlex
from pathlib import Path

import pytest

from imop_engine.cli import main

pytestmark = pytest.mark.slow

TOUR = Path(__file__).resolve().parents[2] / "docs" / "shell.md"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    blocks = SHELL_BLOCK.findall(TOUR.read_text())
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.strip()]


def test_every_command_of_the_tour_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = commands()
    assert {one[1] for one in given} == {
        "simulate", "learn", "client", "frontier", "sensitivity", "resample", "runs",
        "template",
    }  # fmt: skip
    for name, *arguments in given:
        assert name == "imop"
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code, capsys.readouterr().err
    for file in ("sim/truth.csv", "sim2/portfolios.parquet", "results/report.html",
                 "anchored/study.xlsx", "frontier.csv", "samples/portfolios.csv"):  # fmt: skip
        assert (tmp_path / file).stat().st_size > 0


def test_the_tour_names_every_file_of_the_folder(tmp_path, monkeypatch, capsys):
    """What the table promises is what the command writes."""
    monkeypatch.chdir(tmp_path)
    first = commands()[0]
    learn = next(one for one in commands() if one[1] == "learn")
    for _, *arguments in (first, learn):
        with pytest.raises(SystemExit):
            main(arguments)
    listed = set(re.findall(r"^\| `([\w.]+)/?` \|", TOUR.read_text(), re.MULTILINE))
    written = {path.name for path in Path("results").iterdir()}
    # the covariance is there only where it was fitted, groups and limits where they were asked
    # for, as their rows say
    sometimes = {"covariance.csv", "groups.csv", "limits.csv"}
    assert sometimes <= listed
    assert written - sometimes == listed - sometimes
