"""The store: SQLite and PostgreSQL, killed, damaged, shared, of yesterday, and full."""

import io
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import postgres
from app.test_learning import MANY, PLAIN, run, shown, state, stopped_at_a_known_step
from app_harness import PATIENCE
from imop_app import copies, quota, recovery
from imop_app.database import Database, Place, database, migrations
from imop_app.database import connection as connecting
from imop_app.database.tables import AUDIT, METADATA, OBJECTS, PIECES, RUN_FILES
from imop_app.jobs import JobBook
from imop_app.services import learning
from imop_app.store import DatabaseStore, keep_files
from imop_app.workspace import Workspace, open_workspace, recent_workspaces
from imop_engine.errors import CannotRead, CannotWrite, InvalidInput
from imop_engine.study import load_state

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
# What the app of before the store kept, as it kept it; and what was learned there.
FOLDERS = HERE / "folders_before_the_store.tar.xz"
FIRST = HERE / "store_of_version_1.db.xz"
LEARNED_BEFORE = 0.17931778872620743  # of the first asset


@pytest.fixture(scope="session")
def server():
    reason = postgres.why_not()
    if reason:
        pytest.skip(reason)
    with postgres.served() as address:
        yield address


@pytest.fixture
def shared(server, monkeypatch):
    """A PostgreSQL with nothing in it, as the store."""
    address = postgres.new_database(server)
    monkeypatch.setenv("IMOP_STORE", address)
    yield address
    for opened in connecting._OPENED.values():
        opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    """Each of the databases, one after the other."""
    if request.param == "postgresql":
        request.getfixturevalue("shared")
    return database()


def count(store: Database, table: sa.Table) -> int:
    with store.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


# -- whole or absent -----------------------------------------------------------------------------
def test_a_run_is_kept_opened_renamed_and_deleted_with_all_that_is_its_own(store):
    of = state()
    job = run(of)
    (record,) = of.store.list()
    assert record.id == job.run
    first = of.store.open(job.run)
    of.store.rename(job.run, "Another name")
    assert [one.name for one in of.store.list()] == ["Another name"]
    np.testing.assert_array_equal(DatabaseStore("w-test").open(job.run).theta, first.theta)
    assert DatabaseStore("w-other").list() == []
    assert not DatabaseStore("w-other").has(job.run)
    with pytest.raises(FileNotFoundError):
        DatabaseStore("w-other").location(job.run)
    assert quota.used() > 0
    of.store.delete(job.run)
    assert (of.store.list(), quota.used()) == ([], 0)
    assert [count(store, table) for table in (RUN_FILES, OBJECTS, PIECES)] == [0, 0, 0]
    assert not (store.place.copies / "runs" / job.run).exists()
    with store.reading() as connection:
        done = connection.execute(sa.select(AUDIT.c.what).order_by(AUDIT.c.number)).scalars().all()
    assert done == ["run kept", "run deleted"]


def test_of_a_run_that_cannot_be_written_to_its_end_nothing_is_there(store):
    of = state()
    run(of)
    (record,) = of.store.list()
    of.store.delete(record.id)

    def breaks() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        keep_files("w-test", "", record, {"a": lambda: b"a" * 9_000_000, "b": breaks})
    assert of.store.list() == []
    assert count(store, OBJECTS) == count(store, PIECES) == 0


def test_a_file_is_kept_once_whoever_brings_it_and_large_ones_in_pieces(store):
    content = os.urandom(9_000_000)
    first, second = Workspace("w-1").box, Workspace("w-2").box
    stored = first.put("large.csv", content)
    with pytest.raises(FileNotFoundError):
        second.get(stored)  # a digest alone opens nothing
    assert second.put("again.csv", content).digest == stored.digest
    assert (count(store, OBJECTS), count(store, PIECES)) == (1, 3)
    assert first.get(stored) == second.path(stored).read_bytes() == content


def test_a_checkpoint_of_a_run_that_another_replaced_is_not_kept(store):
    of = state(MANY)
    stopped_at_a_known_step(of, pytest.MonkeyPatch())
    old = recovery.under_way("w-test").run
    recovery.begin("w-test", recovery.UnderWay("run-new", of.settings, 1.0), anew=True)
    recovery.keep_checkpoint("w-test", old, b"of the old one")
    assert recovery.checkpoint("w-test") is None
    recovery.keep_checkpoint("w-test", "run-new", b"of the new one")
    recovery.forget("w-test", old)
    assert recovery.checkpoint("w-test") == b"of the new one"


# -- copies --------------------------------------------------------------------------------------
def test_a_copy_that_is_gone_or_was_changed_is_made_anew(store):
    of = state()
    job = run(of)
    theta = of.store.open(job.run).theta
    path = Path(of.store.location(job.run)) / "inputs" / "moments.csv"
    path.write_text(path.read_text().replace("0", "1"))
    np.testing.assert_array_equal(of.store.open(job.run).theta, theta)
    for later in (0.0, copies.KEPT_SECONDS + 1):
        os.utime(path.parents[1], (0, copies.time.time() - later))
        copies.sweep()
        assert path.exists() == (later == 0.0)
    np.testing.assert_array_equal(of.store.open(job.run).theta, theta)


def test_a_content_that_was_changed_in_the_store_is_refused_by_name(store):
    of = state()
    job = run(of)
    with store.writing() as connection:
        chosen = sa.select(RUN_FILES.c.digest).where(RUN_FILES.c.path == "inputs/moments.csv")
        digest = connection.execute(chosen).scalar_one()
        changed = sa.update(PIECES).where(PIECES.c.digest == digest)
        connection.execute(changed.values(content=b"asset,changed"))
    with pytest.raises(CannotRead, match=r"does not hold inputs/moments\.csv as it was saved"):
        of.store.renew(job.run)


# -- kills ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "count"), [("app", 2), ("worker", 1)])
def test_killed_at_random_moments_nothing_is_lost_in_postgresql(kind, count, server, tmp_path):
    command = [sys.executable, "-m", "imop_benchmarks.torture.kills", kind, str(count), "7"]
    command += [str(tmp_path), server]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    trials = json.loads(done.stdout)["trials"]
    assert [ended for _, ended, _ in trials] == ["right"] * count, trials


# -- two servers ---------------------------------------------------------------------------------
class Other:
    """A server in another process, with another data folder."""

    def __init__(self, home: Path) -> None:
        script = str(HERE.parent / "other_server.py")
        surroundings = {**os.environ, "IMOP_HOME": str(home)}
        self.process = subprocess.Popen(
            [sys.executable, script], env=surroundings, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def send(self, what: str, workspace: str = "w-test") -> None:
        self.process.stdin.write(f"{what} {workspace}\n")
        self.process.stdin.flush()

    def answer(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def asked(self, what: str, workspace: str = "w-test") -> dict:
        self.send(what, workspace)
        return self.answer()


@pytest.fixture
def other(shared, tmp_path):
    made = Other(tmp_path / "elsewhere")
    yield made
    made.process.stdin.close()
    made.process.wait(PATIENCE)


def test_two_servers_with_one_store_do_not_disturb_each_other(other, monkeypatch):
    whole = state(MANY, name="w-whole")
    run(whole)
    of = state(MANY)
    with monkeypatch.context() as held:  # at work here, and waiting at a known step
        from waiting_runs import waiting

        held.setattr(learning, "_steps", waiting(learning._steps))
        job = learning.start(of.workspace, of.store)
        seen = other.asked("look")
        assert seen["interrupted"] == recovery.AT_WORK
        assert not seen["can resume"]
        assert other.asked("start")["refused"] == recovery.AT_WORK
        assert other.asked("resume")["refused"] == recovery.AT_WORK
        assert other.asked("rename") == {}
        of.choose_learning(PLAIN)
        job.stop()
        job.wait(PATIENCE)
    assert job.status == "stopped"
    assert open_workspace("w-test").name == "Renamed elsewhere", "each keeps what the other changed"
    monkeypatch.setattr(recovery, "SILENT_SECONDS", 0.0)
    with database().writing() as connection:  # what the next beat says of a run that has stopped
        connection.execute(sa.text("UPDATE under_way SET seen = 0"))
    resumed = other.asked("resume")
    assert resumed["status"] == "finished", resumed
    (theta,) = other.asked("theta").values()
    np.testing.assert_array_equal(theta, shown(whole).theta)
    fresh = JobBook()
    monkeypatch.setattr(learning, "JOBS", fresh)
    np.testing.assert_array_equal(of.store.open(resumed["run"]).theta, theta)
    assert of.store.list()[0].id == resumed["run"]


def test_two_servers_write_at_once_and_nothing_is_lost_or_kept_twice(other):
    other.send("crowd", "w-there")
    for number in range(20):
        made = Workspace(f"w-here-{number}", "Crowd")
        made.save()
        made.box.put("same.csv", b"the same for both")
        made.box.put("own.csv", f"w-here-{number}".encode())
    assert other.answer() == {"shared": True}
    assert len(recent_workspaces(limit=100)) == 40
    assert count(database(), OBJECTS) == 41


# -- the store of yesterday ----------------------------------------------------------------------
def test_the_tables_are_those_that_the_migrations_make(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)
    assert differences == []
    assert max(migrations.known()) == migrations.HEAD


def test_a_store_of_a_newer_version_is_refused(store):
    with store.writing() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    connecting._OPENED.clear()
    with pytest.raises(CannotRead, match="written by a newer version"):
        database()


def test_folders_of_before_the_store_are_taken_in_and_stay_aside(home):
    home.mkdir()
    with tarfile.open(FOLDERS) as packed:
        packed.extractall(home, filter="data")
    (home / "workspaces" / "w-bad").mkdir()
    (home / "workspaces" / "w-bad" / "workspace.json").write_text("{")
    opened = open_workspace("w-before")
    assert (opened.name, opened.notes, opened.run) == (
        "Clients of before", "As it was", "run-before",
    )  # fmt: skip
    kept = DatabaseStore("w-before")
    assert [record.name for record in kept.list()] == ["First"]
    assert kept.open("run-before").theta[0] == LEARNED_BEFORE
    assert recovery.under_way("w-before").run == "run-under-way"
    assert "Resume goes on" in recovery.interrupted("w-before")
    assert (home / "workspaces-before-the-store" / "w-before" / "stopped.npz").is_file()
    assert not (home / "workspaces").exists()
    with database().reading() as connection:
        done = connection.execute(sa.select(AUDIT.c.about, AUDIT.c.detail)).all()
    assert sorted(map(tuple, done)) == [
        ("w-bad", "left in its folder: workspace.json"),
        ("w-before", ""),
    ]
    checkpoint = load_state(io.BytesIO(recovery.checkpoint("w-before")))
    assert checkpoint.rounds == 20


def first_store(folder: Path) -> Path:
    """The store as its first version wrote it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "studio.db"
    path.write_bytes(lzma.decompress(FIRST.read_bytes()))
    return path


def is_as_it_was() -> None:
    opened, kept = open_workspace("w-before"), DatabaseStore("w-before")
    assert (opened.name, opened.run) == ("Clients of before", "run-before")
    assert kept.open("run-before").theta[0] == LEARNED_BEFORE
    assert load_state(io.BytesIO(recovery.checkpoint("w-before"))).rounds == 20
    assert kept.shared() == []
    with database().reading() as connection:
        asked = sa.text("SELECT version_num FROM alembic_version")
        assert connection.execute(asked).scalar_one() == migrations.HEAD


def test_a_store_of_the_first_version_opens_and_is_kept_as_it_was(home):
    first_store(home)
    is_as_it_was()
    copy = home / f"studio-before-{migrations.HEAD}-from-0001.db"
    with sqlite3.connect(copy) as kept:
        asked = "SELECT version_num FROM alembic_version"
        assert kept.execute(asked).fetchone() == ("0001",)
    assert copy.stat().st_mode & 0o077 == 0


def test_a_store_of_the_first_version_opens_in_postgresql(server, monkeypatch, tmp_path):
    address = postgres.new_database(server)
    place = Place.of(address, tmp_path)
    old = sa.create_engine(f"sqlite:///{first_store(tmp_path / 'first')}")
    made = Database(place)
    with made.writing() as connection:
        migrations.upgrade(connection, "0001")
        tables = sa.MetaData()
        tables.reflect(connection)
        with old.connect() as source:
            for table in tables.sorted_tables:
                rows = source.execute(sa.text(f"SELECT * FROM {table.name}")).mappings().all()
                if rows and table.name != migrations.TABLE:
                    connection.execute(sa.insert(table), [dict(row) for row in rows])
    made.close()
    monkeypatch.setenv("IMOP_STORE", address)
    is_as_it_was()


# -- what goes wrong -----------------------------------------------------------------------------
def test_a_full_disk_is_said_and_nothing_is_lost(monkeypatch):
    of = state()
    of.rename("Before")
    real = sqlite3.connect

    def small(*arguments, **options):
        made = real(*arguments, **options)
        made.execute("PRAGMA max_page_count = 1")  # not one page more than there are
        return made

    with monkeypatch.context() as broken:
        broken.setattr(sqlite3, "connect", small)
        with pytest.raises(CannotWrite, match=r"studio\.db was not written: the disk is full"):
            of.workspace.box.put("large.csv", os.urandom(2_000_000))
        job = learning.start(of.workspace, of.store)
        job.wait(PATIENCE)
        assert job.status == "failed"
        assert "the disk is full" in job.error
        assert job.unsaved
    learning.resume(of.workspace, of.store).wait(PATIENCE)
    assert of.adopt()
    assert shown(of).rounds == 60
    assert open_workspace("w-test").name == "Before"


def test_a_store_that_is_damaged_or_gone_is_named(home):
    Workspace("w-1", "Clients").save()
    path = home / "studio.db"
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    with pytest.raises(CannotRead, match=r"studio\.db is damaged"):
        open_workspace("w-1")
    path.write_bytes(whole)
    assert open_workspace("w-1").name == "Clients"


def test_a_database_that_does_not_answer_is_named_without_its_password(monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("IMOP_STORE", "postgresql://anna:secret@127.0.0.1:1/imop")
    with pytest.raises(
        CannotRead, match=r"PostgreSQL imop on 127\.0\.0\.1 does not answer"
    ) as said:
        open_workspace("w-1")
    assert "secret" not in str(said.value)


@pytest.mark.parametrize("given", ["mysql://a/b", "sqlite:///", "a file", "postgresql:/one"])
def test_what_is_no_address_of_a_store_is_refused(given, tmp_path):
    with pytest.raises(InvalidInput, match="give postgresql://user:password@host/name"):
        Place.of(given, tmp_path)
