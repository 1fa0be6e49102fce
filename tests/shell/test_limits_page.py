"""The page on limits is true: its commands run as they stand, one after the other."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from imop_engine.cli import main
from imop_engine.tables.mandate_table import read_mandates

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "limits.md"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
MANDATES = re.search(
    r"^```csv\n(mandate,limit\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
)


def commands() -> list[list[str]]:
    blocks = SHELL_BLOCK.findall(PAGE.read_text())
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.strip()]


def run(arguments: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code, capsys.readouterr().err


def clients_of(mandates: dict[str, list[str]], capsys) -> pd.DataFrame:
    """Forty clients under each mandate, whose column `segment` says which."""
    parts = []
    for name, limits in mandates.items():
        given = [word for limit in limits for word in ("--limit", limit)]
        run(["simulate", "--out", name, "--investors", "40", "--format", "csv", *given], capsys)
        part = pd.read_csv(Path(name) / "portfolios.csv")
        part.insert(1, "segment", name)
        part["investor"] = name + part["investor"].astype(str)
        parts.append(part)
    return pd.concat(parts)


def test_every_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    assert MANDATES is not None
    (tmp_path / "mandates.csv").write_text(MANDATES[1])
    limits = read_mandates(MANDATES[1].encode())
    assert set(limits) == {"careful", "growth", "free"}
    people = clients_of(limits, capsys)
    shares = people.drop(columns=["investor", "segment"], errors="ignore").select_dtypes("number")
    people["own cap"] = (shares.max(axis=1) + 0.1).clip(upper=1.0)  # nobody reaches it
    people.to_csv("clients.csv", index=False)
    given = commands()
    assert [one[1] for one in given] == ["frontier", "simulate", "learn", "learn", "learn"]
    for name, *arguments in given:
        assert name == "imop"
        run(arguments, capsys)
    costs = pd.read_csv("bank/learned/limits.csv")
    assert costs["binds"].any()
    told = pd.read_csv("results/returns.csv")
    alone = pd.read_csv("results/mandate-growth/returns.csv")
    known, own = ((table["status"] == "identified").sum() for table in (told, alone))
    assert known > own, "all mandates together tell more than one"
    assert len(pd.read_csv("capped/investors.csv")) == len(people)
