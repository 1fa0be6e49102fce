"""Who may come in, and what is whose: settings, the list, cookies, sessions, shares, files."""

import json
import time

import pytest
from itsdangerous import URLSafeTimedSerializer

from app.test_learning import run, state
from imop_app import access, doors, downloads, kept, login
from imop_app.access import Asked, NotAllowed, Visitor
from imop_app.database import database
from imop_app.doors import Names, not_hers
from imop_app.files import FileBox
from imop_app.services import learning, projects, results
from imop_app.state import AppState
from imop_app.store import DatabaseStore
from imop_app.workspace import Workspace, open_workspace, recent_workspaces
from imop_engine.errors import CannotWrite, InvalidInput

SECRET = "s" * 40
GIVEN = {
    "IMOP_URL": "https://studio.example.com",
    "IMOP_LOGIN_METADATA_URL": "https://id.example.com/.well-known/openid-configuration",
    "IMOP_LOGIN_CLIENT_ID": "studio",
    "IMOP_LOGIN_CLIENT_SECRET": "known to both",
    "IMOP_LOGIN_COOKIE_SECRET": SECRET,
    "IMOP_LOGIN_ALLOW": "anna@example.com, @partner.example group:Risk",
}
ANNA, BERT = "anna@example.com", "bert@partner.example"


@pytest.fixture
def configured(monkeypatch):
    """A server with a login."""
    for name, value in GIVEN.items():
        monkeypatch.setenv(name, value)
    login.settings.cache_clear()
    access._ALIVE.clear()
    yield
    monkeypatch.undo()
    login.settings.cache_clear()


def cookies(address: str | None = ANNA, secret: str = SECRET, age: float = 0.0, **claims):
    """What a browser has after a login, so many seconds ago."""
    whole = {"is_logged_in": True, "origin": GIVEN["IMOP_URL"], "email": address, **claims}
    signed = URLSafeTimedSerializer(secret, salt=access.COOKIE)
    real = time.time
    time.time = lambda: real() - age
    try:
        return {access.COOKIE: signed.dumps(json.dumps(whole))}
    finally:
        time.time = real


@pytest.fixture
def asks(configured, monkeypatch):
    """Lets somebody ask, as the script of a page would."""

    def ask(address: str | None) -> None:
        found = Asked(None, "nobody") if address is None else Asked(Visitor(address, session="s"))
        monkeypatch.setattr(access, "asked", lambda: found)

    return ask


# -- settings ------------------------------------------------------------------------------------
def test_nothing_set_is_no_login(monkeypatch):
    for name in GIVEN:
        monkeypatch.delenv(name, raising=False)
    assert login.chosen() is None


def test_half_a_login_is_refused_with_what_it_lacks(configured, monkeypatch):
    monkeypatch.delenv("IMOP_LOGIN_ALLOW")
    with pytest.raises(InvalidInput, match="lacks IMOP_LOGIN_ALLOW"):
        login.chosen()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("IMOP_URL", "http://studio.example.com", "begins with https://"),
        ("IMOP_URL", "studio.example.com", "begins with https://"),
        ("IMOP_LOGIN_METADATA_URL", "http://id.example.com", "begins with https://"),
        ("IMOP_LOGIN_COOKIE_SECRET", "short", "needs 32"),
        ("IMOP_LOGIN_ALLOW", "anna", "give addresses"),
        ("IMOP_LOGIN_ALLOW", "a@b@example.com", "give addresses"),
        ("IMOP_LOGIN_HOURS", "0", "more than 0"),
        ("IMOP_LOGIN_HOURS", "soon", "more than 0"),
    ],
)
def test_settings_that_would_let_anybody_in_are_refused(configured, monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=said):
        login.chosen()


def test_a_file_of_secrets_is_its_owners_alone(monkeypatch, tmp_path):
    for name in GIVEN:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "login.toml"
    names = {variable: name for name, variable in login.VARIABLES.items()}
    lines = [f"{names[variable]} = {value!r}" for variable, value in GIVEN.items()]
    path.write_text("\n".join([*lines, "hours = 2.5"]))
    monkeypatch.setenv("IMOP_LOGIN_FILE", str(path))
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match=f"chmod 600 {path}"):
        login.chosen()
    path.chmod(0o600)
    assert login.chosen().hours == 2.5
    monkeypatch.setenv("IMOP_LOGIN_HOURS", "4")
    assert login.chosen().hours == 4.0, "the environment comes first"
    path.write_text("secret = 'x'")
    with pytest.raises(InvalidInput, match="names secret"):
        login.chosen()


# -- who comes in --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (cookies(), ""),
        (cookies("Anna@Example.com"), ""),
        (cookies("x@y.example", groups=["Risk"]), ""),
        (cookies(BERT), ""),
        (cookies("eve@example.com"), "refused"),
        (cookies("x@y.example", groups=["risk"]), "refused"),
        (cookies("anna@example.com.evil.example"), "refused"),
        (cookies("evil@partner.example@evil.example"), "refused"),
        (cookies("@partner.example"), "refused"),
        (cookies(None), "refused"),
        (cookies(email_verified=False), "refused"),
        (cookies(origin="https://evil.example"), "nobody"),
        (cookies(is_logged_in=False), "nobody"),
        (cookies(secret="t" * 40), "nobody"),
        (lambda: cookies(age=8.1 * 3600), "ended"),
        (lambda: cookies(age=7.9 * 3600), ""),
        ({access.COOKIE: "nonsense"}, "nobody"),
        ({}, "nobody"),
    ],
)
def test_who_is_let_in(configured, given, reason):
    found = access.read(given() if callable(given) else given)  # ages count from now
    assert found.reason == reason
    assert (found.visitor is not None) is (reason == "")


def test_a_session_that_was_ended_stays_ended_on_every_server(configured):
    given = cookies()
    assert access.read(given).visitor.address == ANNA
    access.end(given)
    assert access.read(given).reason == "ended"
    access._ALIVE.clear()  # another server, or this one after a restart
    assert access.read(given).reason == "ended"
    access.end(given)  # twice harms nobody
    assert access.read(cookies(name="A later login")).visitor is not None


# -- what is whose -------------------------------------------------------------------------------
@pytest.mark.slow
def test_nobody_opens_lists_changes_or_deletes_what_is_anothers(asks):
    state(name="w-hers")  # made for nobody; given to her as `imop runs give` does it
    kept.give("w-hers", ANNA)
    asks(ANNA)
    hers = AppState(open_workspace("w-hers", ANNA))
    job = run(hers)
    file = hers.workspace.box.put("clients.csv", b"secret")
    content = projects.packed(hers.workspace, hers.store)
    asks(BERT)
    own = open_workspace("w-hers", BERT)
    assert own.id != "w-hers", "as if there were none of that id"
    assert own.name == "Untitled"
    assert open_workspace("w-none", BERT).id != "w-none", "and so is one that nobody has"
    assert recent_workspaces(BERT) == []
    his = DatabaseStore("w-hers", BERT)
    assert his.list() == his.shared() == []
    assert not his.has(job.run)
    for act in (his.open, his.location, his.contents, his.delete, his.sharers):
        with pytest.raises(FileNotFoundError):
            act(job.run)
    with pytest.raises(FileNotFoundError):
        his.rename(job.run, "Mine")
    with pytest.raises(FileNotFoundError):
        FileBox("w-his", BERT).get(file)
    # with what he could forge of hers in his hands
    for act in (
        lambda: open_workspace("w-hers", ANNA),
        lambda: recent_workspaces(ANNA),
        lambda: DatabaseStore("w-hers", ANNA).open(job.run),
        lambda: hers.store.list(),
        lambda: hers.workspace.save(),
        lambda: hers.workspace.box.get(file),
        lambda: hers.workspace.box.put("more.csv", b"more"),
        lambda: hers.job,
        lambda: learning.start(hers.workspace, hers.store),
        lambda: learning.resume(hers.workspace, hers.store),
        lambda: learning.discard(hers.workspace),
        lambda: results.open_run(hers.store, job.run),
        lambda: projects.delete(hers.workspace),
        lambda: projects.remove("w-hers", ANNA),
        lambda: projects.bring_back("w-hers", ANNA),
        lambda: projects.unpacked(content, "hers.imop", ANNA),
    ):
        with pytest.raises(Exception, match="belongs to somebody else"):
            act()
    with pytest.raises(CannotWrite, match="belongs to somebody else"):
        Workspace("w-hers", owner=BERT).save()
    projects.remove("w-hers", BERT)
    asks(ANNA)
    assert [one.id for one in hers.store.list()] == [job.run]


@pytest.mark.slow
def test_a_run_is_shared_with_whom_she_names_and_only_to_look_at(asks):
    of = state()
    job = run(of)
    kept.give("w-test", ANNA)
    asks(ANNA)
    store = DatabaseStore("w-test", ANNA)
    for wrong in ("", "bert", ANNA, "a@b@c"):
        with pytest.raises(InvalidInput, match="not the address of somebody else"):
            store.share(job.run, wrong)
    store.share(job.run, " Bert@Partner.example ")
    store.share(job.run, BERT)
    assert store.sharers(job.run) == [BERT]
    asks(BERT)
    his = DatabaseStore("w-his", BERT)
    assert [one.id for one in his.shared()] == [job.run]
    assert his.list() == []
    assert (his.open(job.run).theta == store_of(asks, job.run).theta).all()
    asks(BERT)
    assert results.record_of(his, job.run).name
    for act in (his.delete, his.sharers, lambda one: his.rename(one, "Mine")):
        with pytest.raises(FileNotFoundError):
            act(job.run)
    with pytest.raises(FileNotFoundError):
        his.share(job.run, "eve@elsewhere.example")
    asks(ANNA)
    store.unshare(job.run, BERT)
    asks(BERT)
    assert his.shared() == []
    with pytest.raises(FileNotFoundError):
        his.open(job.run)
    asks(ANNA)
    store.share(job.run, BERT)
    store.delete(job.run)
    with database().reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM shares").scalar_one() == 0


def store_of(asks, run: str):
    asks(ANNA)
    return DatabaseStore("w-test", ANNA).open(run)


def test_who_is_not_logged_in_gets_nothing(asks):
    asks(None)
    for act in (lambda: open_workspace("w-1", ANNA), lambda: DatabaseStore("w-1", ANNA).list()):
        with pytest.raises(NotAllowed, match="log in again"):
            act()
    with pytest.raises(NotAllowed, match="log in again"):
        access.visitor()


# -- what goes beside the pages ------------------------------------------------------------------
def scope(path: str, given: dict[str, str], **headers: str) -> dict:
    cookie = "; ".join(f"{name}={value}" for name, value in given.items())
    more = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": path, "headers": [(b"cookie", cookie.encode()), *more]}


def test_a_file_is_fetched_only_by_whom_it_was_made_for(configured, monkeypatch):
    monkeypatch.setattr(access, "_TABS", {"tab-anna": cookies(), "tab-old": cookies(age=1e6)})
    access.hand_out("f00", "tab-anna")
    assert not_hers(scope("/media/f00.csv", cookies())) is None
    for others in (cookies(BERT), cookies("eve@example.com"), {}, cookies(age=1e6)):
        assert not_hers(scope("/media/f00.csv", others)) == "There is nothing here."
    assert not_hers(scope("/media/f01.csv", cookies())) == "There is nothing here."
    for tab in ("tab-old", "tab-nobody"):
        with pytest.raises(NotAllowed):
            access.hand_out("f02", tab)
    assert downloads.file_of("/media/f00.csv") == "f00"


def test_files_are_brought_and_sessions_ended_only_by_who_is_in(configured):
    path = "/_stcore/upload_file/session/file"
    assert not_hers(scope(path, cookies())) is None
    assert not_hers(scope(path, {})) == "You are not logged in."
    asked = scope(doors.LOGOUT, cookies(), sec_fetch_site="cross-site")
    assert "other sites" in not_hers(asked)
    given = cookies()
    assert not_hers(scope(doors.LOGOUT, given)) is None
    assert access.read(given).reason == "ended"
    assert not_hers(scope("/", {})) is None


def test_a_server_with_a_login_goes_by_the_name_that_people_use(configured):
    names = Names.reached_by(login.settings())
    assert names.accept("studio.example.com")
    assert names.accept("127.0.0.1:8501")
    assert not names.accept("192.168.1.2:8501")
    assert not names.accept("evil.example")
