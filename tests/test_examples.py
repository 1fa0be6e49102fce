"""Examples run, and what they print is what they claim."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text()
    assert [file.name for file in EXAMPLES.glob("*.py") if f"({file.name})" not in listed] == []


def test_the_papers_securities_are_found(capsys):
    errors = run("paper_securities")
    assert errors["Algorithm 2, 41 weights"] < 0.0091  # the paper's error with as many weights
    assert errors["return left on the table, all at once"] < 2e-4
    assert "largest error" in capsys.readouterr().out


@pytest.mark.slow
def test_messy_files_are_read_and_what_needs_the_analyst_is_said(capsys):
    found = run("messy_files")
    assert (found["months"], found["investors"], found["refused"]) == (239, 299, 2)
    said = capsys.readouterr().out
    assert "siehe Anlage" in said
    assert "Summe" in said
    assert "Verdict" in said
    assert found["verdict"] in ("good", "caution")


@pytest.mark.slow
def test_groups_that_differ_are_told_apart_and_in_what(capsys):
    found = run("groups")
    assert found["differ"]
    assert found["differing"] == ("Security 3",)
    assert "Security 3" in capsys.readouterr().out


@pytest.mark.slow
def test_the_estimate_gives_the_same_portfolio_in_other_optimisers():
    pytest.importorskip("pypfopt")
    pytest.importorskip("skfolio")
    apart = run("to_optimisers")
    assert apart["PyPortfolioOpt"] < 1e-5
    assert apart["skfolio"] < 1e-5


def test_a_stream_follows_beliefs_that_change():
    errors = list(run("endless_stream").values())
    assert len(errors) == 3
    assert max(errors) < 0.002  # beliefs moved by 0.02
