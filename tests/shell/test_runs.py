"""`imop runs`: the store from the shell."""

import io
import json
import sys

import numpy as np
import pytest

import imop_engine as imop
from imop_app.database import database
from imop_app.workspace import open_workspace, recent_workspaces
from imop_engine.bundled import market
from imop_engine.simulate import simulate_investors
from imop_engine.storage import load_study, save_study

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("IMOP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IMOP_STORE", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small study as `imop learn --out` writes it."""
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    rng = np.random.default_rng(0)
    people = simulate_investors(problem, paper.expected_returns, 20, rng=rng).portfolios
    moments = paper.returns_by_asset, paper.covariance_by_asset
    study = imop.run_study(*moments, people, imop.StudySettings(start="zero", refine=False))
    return save_study(study, tmp_path_factory.mktemp("kept") / "results")


@pytest.fixture
def shell(run_here):
    def run(*arguments: object) -> str:
        done = run_here(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_folder_becomes_a_run_and_a_run_a_folder(shell, folder, tmp_path):
    made = json.loads(shell("runs", "add", folder, "--json"))
    (one,) = json.loads(shell("runs", "list", "--json"))["workspaces"]
    assert (one["workspace"], one["name"]) == (made["workspace"], "results")
    assert [run["run"] for run in one["runs"]] == [made["run"]]
    shell("runs", "export", made["run"], "--out", tmp_path / "again")
    again = load_study(tmp_path / "again")
    np.testing.assert_array_equal(again.theta, load_study(folder).theta)
    assert made["run"] in shell("runs", "list")
    more = json.loads(shell("runs", "add", folder, "--workspace", made["workspace"], "--json"))
    assert more["workspace"] == made["workspace"]


def test_a_workspace_is_given_and_removed(shell, folder):
    made = json.loads(shell("runs", "add", folder, "--json"))["workspace"]
    shell("runs", "give", made, "Anna@Example.com")
    assert recent_workspaces() == []
    assert [entry.id for entry in recent_workspaces("anna@example.com")] == [made]
    assert open_workspace(made, "anna@example.com").name == "results"
    shell("runs", "remove", made, "--yes")
    assert recent_workspaces("anna@example.com") == []
    with database().reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM objects").scalar_one() == 0


def test_without_anybody_to_ask_nothing_is_removed(run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = run_here("runs", "remove", "work")
    assert done.returncode == 2
    assert "work was not deleted: nobody said yes. Where nobody can be asked, say --yes." in (
        " ".join(done.stderr.split())
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("export", "run-none", "--out", "x"), "holds no run 'run-none'"),
        (("remove", "../w", "--yes"), "holds no workspace '../w'"),
        (("import", "."), "holds no folder workspaces"),
    ],
)
def test_what_is_not_there_is_named(run_here, given, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_here("runs", *given)
    assert done.returncode == 2
    assert said in done.stderr
