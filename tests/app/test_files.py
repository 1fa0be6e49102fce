"""What the app writes: settings, workspaces and files come back as they were, and stay inside."""

import json

import pytest
import sqlalchemy as sa

from imop_app.database import database
from imop_app.database.tables import DAMAGED, OBJECTS, WORKSPACES
from imop_app.files import FileBox
from imop_app.home import data_folder, is_safe, new_id
from imop_app.settings import (
    InvestorBatch,
    InvestorSettings,
    LearnSettings,
    Limit,
    MarketSettings,
    Settings,
    Simulation,
    StoredFile,
    from_plain,
    to_plain,
)
from imop_app.workspace import Workspace, new_workspace, open_workspace, recent_workspaces

FILE = StoredFile("clients.csv", "ab" * 32)
FULL = Settings(
    MarketSettings(
        "upload", file=FILE, limits=(Limit("A", 0.3),), bounds=(-0.1, 0.5), told=("one",)
    ),
    InvestorSettings((InvestorBatch("upload", file=FILE, roles=(("k", "date"),)), InvestorBatch())),
    LearnSettings("assets", (("A", 0.1), ("B", 0.2)), "full", 41, "zero", 2.0, 0.9, False),
)


@pytest.mark.parametrize(
    "settings", [FULL, Settings(MarketSettings(), InvestorSettings(), LearnSettings())]
)
def test_settings_come_back_from_json_as_they_were(settings):
    assert from_plain(Settings, json.loads(json.dumps(to_plain(settings)))) == settings


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("market", "source"), "elsewhere"),
        (("market", "limits"), "none"),
        (("learn", "grid"), "coarse"),
        (("learn", "rate"), "fast"),
        (("investors", "batches"), [{"source": "simulate", "simulation": 3}]),
    ],
)
def test_settings_that_do_not_fit_are_refused(path, value):
    plain = to_plain(FULL)
    plain[path[0]][path[1]] = value
    with pytest.raises((ValueError, TypeError)):
        from_plain(Settings, plain)


@pytest.mark.parametrize(
    "name", ["../up", "a/b", "a\\b", "", ".", "..", "A", "x" * 80, "-a", "a-", "a b", "a\n", "ä"]
)
def test_only_harmless_ids_name_a_folder(name):
    assert not is_safe(name)
    with pytest.raises(ValueError, match="cannot name a workspace"):
        Workspace(name)


def test_new_ids_are_harmless_and_different():
    assert is_safe(new_id("w"))
    assert new_id("w") != new_id("w")


def test_the_data_folder_can_be_chosen(home):
    assert data_folder() == home


def rows(chosen) -> list:
    with database().reading() as connection:
        return list(connection.execute(chosen).scalars())


def write(identifier: str, **values) -> None:
    """Change a row of a workspace behind the app's back."""
    with database().writing() as connection:
        chosen = sa.update(WORKSPACES).where(WORKSPACES.c.id == identifier)
        connection.execute(chosen.values(**values))


def test_a_file_is_kept_once_under_its_content(home):
    box = FileBox("w-1")
    first, second = box.put("../../evil.csv", b"a,b"), box.put("other.csv", b"a,b")
    assert first.name == "evil.csv"
    assert first.digest == second.digest
    assert box.get(first) == b"a,b"
    assert rows(sa.select(OBJECTS.c.digest)) == [first.digest]
    assert box.path(first).name == first.digest


def test_a_digest_from_elsewhere_opens_nothing(home):
    (home / "secret").parent.mkdir(parents=True, exist_ok=True)
    (home / "secret").write_text("x")
    with pytest.raises(FileNotFoundError):
        FileBox("w-1").path(StoredFile("x", "../secret"))


def test_a_workspace_comes_back_after_a_restart():
    made = Workspace("w-1", "Clients", FULL.market, FULL.investors, FULL.learn, "run-1", "T", "N")
    made.save()
    assert open_workspace("w-1") == made


def test_nothing_is_written_before_something_is_chosen():
    new_workspace()
    open_workspace("w-nobody")
    assert rows(sa.select(WORKSPACES.c.id)) == []


@pytest.mark.parametrize("damage", ["{", "[]", '{"name": 3}', '{"version": 1}'])
def test_a_damaged_workspace_is_set_aside_not_overwritten(damage):
    made = Workspace("w-1", "Clients")
    made.save()
    write("w-1", content=damage)
    opened = open_workspace("w-1")
    assert opened.name == "Untitled"
    assert rows(sa.select(DAMAGED.c.content)) == [damage]


def test_recent_workspaces_are_listed_newest_first_and_damaged_ones_left_out():
    for number, name in enumerate(["w-a", "w-b"]):
        Workspace(name, name.upper()).save()
        write(name, changed=float(number))
    Workspace("w-c").save()
    write("w-c", content="{")
    assert [(entry.id, entry.name) for entry in recent_workspaces()] == [
        ("w-b", "W-B"),
        ("w-a", "W-A"),
    ]


def test_changing_the_first_batch_drops_those_that_came_later():
    more = InvestorSettings().plus(InvestorBatch("sample"))
    assert more.with_first(more.first) == more
    changed = more.with_first(InvestorBatch("simulate", Simulation(count=5)))
    assert len(changed.batches) == 1


def test_two_tabs_keep_what_each_of_them_changed():
    Workspace("w-tabs").save()
    one, two = open_workspace("w-tabs"), open_workspace("w-tabs")
    one.name = "Clients"
    one.save()
    two.title = "Report"
    two.save()
    one.notes = "Checked."
    one.save()
    kept = open_workspace("w-tabs")
    assert (kept.name, kept.title, kept.notes) == ("Clients", "Report", "Checked.")
    two.name = "Prospects"
    two.save()
    assert open_workspace("w-tabs").name == "Prospects", "of two changes the last one counts"
