"""A workspace as one file, its copies, its name, and deleting it."""

import io
import zipfile

import pytest
import sqlalchemy as sa

from app_harness import (
    history_file,
    learned,
    page,
    portfolio_file,
    quiet,
    said,
    state_of,
    workspace,
)
from imop_app.database import database
from imop_app.database.tables import AUDIT, METADATA
from imop_app.services import projects, results
from imop_app.services.errors import AppError
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
from imop_app.state import AppState
from imop_app.workspace import (
    UNNAMED,
    Workspace,
    deleted_workspaces,
    open_workspace,
    recent_workspaces,
)


def given() -> AppState:
    """A workspace with files of its own."""
    of = AppState(Workspace("w-given"))
    box = of.workspace.box
    of.choose_market(MarketSettings("upload", file=box.put("history.csv", history_file())))
    name, content = portfolio_file("wide")
    file = box.put(name, content)
    of.choose_investors(InvestorSettings((InvestorBatch("upload", file=file),)))
    return of


def parts(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return {name: source.read(name) for name in source.namelist()}


def zipped(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        for name, content in contents.items():
            out.writestr(name, content)
    return buffer.getvalue()


def everything() -> dict[str, list]:
    """What the store holds, but the log of what was done."""
    with database().reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(sa.select(table)).all()))
            for table in METADATA.sorted_tables
            if table is not AUDIT
        }


def test_it_is_named_by_what_is_in_it_until_somebody_names_it():
    of = given()
    assert of.workspace.name == "clients on history"
    of.choose_investors(InvestorSettings((InvestorBatch("simulate", Simulation(count=60)),)))
    assert open_workspace("w-given").name == "60 simulated on history"
    of.rename("Clients")
    of.choose_market(MarketSettings())
    assert of.workspace.name == "Clients"
    of.rename(" ")
    assert of.workspace.name == "60 simulated on Eight securities (paper)"
    assert Workspace("w-new").name == UNNAMED


@pytest.mark.slow
def test_one_file_opens_with_everything_under_ids_of_its_own():
    of = state_of(learned(workspace("w-test").id))
    of.rename("Clients")
    content = projects.packed(of.workspace, of.store)
    other = AppState(open_workspace(projects.unpacked(content, "clients.imop")))
    assert other.workspace.id != of.workspace.id
    assert other.workspace.name == "Clients"
    assert other.workspace.settings == of.workspace.settings
    before, after = of.store.list(), other.store.list()
    assert [one.name for one in before] == [one.name for one in after]
    assert other.workspace.run == after[0].id != before[0].id
    studies = [results.open_run(one.store, one.workspace.run) for one in (of, other)]
    assert (studies[0].theta == studies[1].theta).all()
    assert quiet(page("frontier", other.workspace.id)).title[0].value == "Frontier"


def test_files_that_were_given_come_along():
    of = given()
    copied = open_workspace(projects.duplicate(of.workspace, of.store))
    assert copied.name == "clients on history (2)"
    assert copied.market == of.workspace.market
    assert copied.box.get(copied.market.file) == history_file()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda found: {}, "no workspace.json"),
        (lambda found: {**found, "../../evil": b""}, "no part called"),
        (lambda found: {**found, "runs/run-1/../../x": b""}, "no part called"),
        (lambda found: {**found, "files/" + "0" * 64: b"other"}, "not what was given"),
        (lambda found: {**found, "runs/run-1/studio.json": b"{}"}, "run.json"),
        (
            lambda found: {**found, "workspace.json": found["workspace.json"].replace(b"0", b"1")},
            "not what was written",
        ),
    ],
)
def test_a_file_that_is_none_is_refused_and_leaves_nothing(change, told):
    of = given()
    found = parts(projects.packed(of.workspace, of.store))
    before = everything()
    with pytest.raises(AppError, match=told):
        projects.unpacked(zipped(change(found)), "sent.imop")
    assert everything() == before


@pytest.mark.parametrize("content", [b"", b"PK", b"roses are red", None])
def test_what_is_no_archive_is_refused(content):
    of = given()
    whole = projects.packed(of.workspace, of.store)
    with pytest.raises(AppError, match="cannot be opened as a workspace"):
        projects.unpacked(whole[: len(whole) // 2] if content is None else content, "sent.imop")


def test_more_than_is_allowed_is_not_unpacked(monkeypatch):
    of = given()
    content = projects.packed(of.workspace, of.store)
    monkeypatch.setattr(projects, "MOST_BYTES", 1000)
    with pytest.raises(AppError, match="are allowed"):
        projects.unpacked(content, "sent.imop")


def test_a_deleted_workspace_comes_back_or_goes_for_good(monkeypatch):
    of = given()
    test = page("market", "w-given")
    test.button(key="workspace_delete").click().run()
    quiet(test)
    assert state_of(test).workspace.id != "w-given"
    assert recent_workspaces() == []
    assert [entry.id for entry in deleted_workspaces()] == ["w-given"]
    assert "Deleted; kept for 30 days" in said(test)
    test.button(key="welcome_back_w-given").click().run()
    assert state_of(quiet(test)).workspace.id == "w-given"
    assert [entry.id for entry in recent_workspaces()] == ["w-given"]
    projects.delete(of.workspace)
    monkeypatch.setattr(projects, "KEPT_DAYS", -1)
    other = Workspace("w-other", deleted=None)
    other.save()
    projects.delete(other)
    assert not everything()["inputs"]
    assert [entry.id for entry in deleted_workspaces()] == ["w-other"]


def test_an_open_workspace_that_was_deleted_says_so():
    of = given()
    projects.delete(of.workspace)
    test = page("investors", "w-given")
    assert "This workspace was deleted." in [one.value for one in test.warning]
    test.button(key="workspace_back").click().run()
    assert open_workspace("w-given").deleted is None
