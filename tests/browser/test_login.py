"""Login in a real browser, against a real provider on this computer: strangers, two users, the end
of a session. What somebody shares is in tests/app/test_access.py."""

import os
import re
import warnings
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from app_harness import history_file
from browser_harness import PATIENCE, served
from imop_app.access import COOKIE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    provider_mock = pytest.importorskip("oidc_provider_mock", reason="no provider to log in at")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANNA, BERT, EVE = "anna@example.com", "bert@partner.example", "eve@elsewhere.example"


def surroundings(provider: str, address: str, **more: str) -> dict[str, str]:
    return {
        "IMOP_URL": address,
        "IMOP_LOGIN_METADATA_URL": f"{provider}/.well-known/openid-configuration",
        "IMOP_LOGIN_CLIENT_ID": "studio",
        "IMOP_LOGIN_CLIENT_SECRET": "secret",
        "IMOP_LOGIN_COOKIE_SECRET": "c" * 40,
        "IMOP_LOGIN_ALLOW": "@example.com group:risk",
        "AUTHLIB_INSECURE_TRANSPORT": "1",  # the provider of the test speaks http
        **more,
    }


@pytest.fixture(scope="module")
def provider():
    users = [
        provider_mock.User(sub=ANNA, claims={"email": ANNA, "email_verified": True}),
        provider_mock.User(sub=BERT, claims={"email": BERT, "groups": ["risk"]}),
        provider_mock.User(sub=EVE, claims={"email": EVE}),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with provider_mock.run_server_in_thread(user_claims=users) as server:
            yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def studio(provider, tmp_path_factory, browser):
    with served(
        tmp_path_factory.mktemp("team"), more=lambda address: surroundings(provider, address)
    ) as address:
        yield address


class Person:
    """Somebody with a browser of her own."""

    def __init__(self, browser, address: str) -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": 1280, "height": 1500})
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)

    def visit(self, path: str = "/") -> None:
        self.page.goto(self.address + path)

    def key(self, name: str):
        return self.page.locator(f".st-key-{name}").first

    def press(self, name: str) -> None:
        self.key(name).get_by_role("button").first.click()

    def log_in(self, name: str) -> None:
        self.visit()
        self.press("login_in")
        self.page.get_by_role("button", name=name, exact=True).click()

    def come_in(self, name: str) -> None:
        self.log_in(name)
        expect(self.key("log_out")).to_be_visible()

    def leave(self, button: str) -> None:
        """Log out, and tell the provider that she is sure."""
        self.press(button)
        self.page.wait_for_url("**/oauth2/end_session**")
        self.page.get_by_role("button").first.click()
        expect(self.key("login_in")).to_be_visible()

    @property
    def workspace(self) -> str:
        return re.search(r"workspace=([a-z0-9-]+)", self.page.url)[1]

    def fetch(self, path: str) -> int:
        """The status that the browser gets for a path, with its cookies."""
        return self.context.request.get(self.address + path).status


@contextmanager
def person(browser, address: str):
    made = Person(browser, address)
    yield made
    made.context.close()


def example(of: Person) -> None:
    of.page.get_by_role("button", name=re.compile("Example: Eight securities")).click()
    expect(of.key("status")).to_contain_text("1,000 simulated")


def test_a_stranger_is_refused_and_may_log_out(browser, studio):
    with person(browser, studio) as eve:
        eve.visit()
        expect(eve.page.get_by_text("Log in to see your workspaces.")).to_be_visible()
        expect(eve.key("status")).to_have_count(0)
        eve.log_in(EVE)
        expect(eve.page.get_by_text("is not on the list")).to_be_visible()
        expect(eve.page.get_by_text(EVE)).to_be_visible()
        expect(eve.key("status")).to_have_count(0)
        eve.leave("login_out")


def test_two_users_never_see_each_others_work(browser, studio):
    with person(browser, studio) as anna, person(browser, studio) as bert:
        anna.come_in(ANNA)
        example(anna)
        hers = anna.workspace
        anna.page.get_by_test_id("stSidebarNav").get_by_role(
            "link", name=re.compile("learn", re.IGNORECASE)
        ).click()
        anna.press("learn_start")
        expect(anna.page.get_by_text("What came out")).to_be_visible()

        bert.come_in(BERT)
        expect(bert.page.get_by_text("Recent work")).to_be_visible()
        bert.visit(f"/?workspace={hers}")
        expect(bert.key("log_out")).to_be_visible()
        expect(bert.page.get_by_text("Recent work")).to_be_visible()
        bert.page.wait_for_function("id => !location.href.includes(id)", arg=hers)
        expect(bert.page.get_by_text("Eight securities (paper), 1,000")).to_have_count(0)
        bert.visit(f"/runs?workspace={hers}")
        expect(bert.page.get_by_text("No runs yet")).to_be_visible()

        # what she downloads, by its address: hers alone, whoever knows it
        anna.visit(f"/report?workspace={hers}")
        found = []
        anna.page.on("request", lambda request: found.append(request.url))
        with anna.page.expect_download():
            anna.page.get_by_role("button", name=re.compile("Excel|CSV")).first.click()
        paths = [url.removeprefix(studio) for url in found if "/media/" in url]
        assert paths
        assert anna.fetch(paths[-1]) == 200
        assert bert.fetch(paths[-1]) == 404
        with person(browser, studio) as nobody:
            assert nobody.fetch(paths[-1]) == 404


def test_a_logout_ends_the_session_for_every_copy_of_its_cookie(browser, studio):
    with person(browser, studio) as anna, person(browser, studio) as thief:
        anna.come_in(ANNA)
        stolen = [one for one in anna.context.cookies() if one["name"].startswith(COOKIE)]
        thief.context.add_cookies(stolen)
        thief.visit()
        expect(thief.key("log_out")).to_be_visible()
        anna.leave("log_out")
        thief.visit()
        expect(thief.page.get_by_text("Your session has ended.")).to_be_visible()


def test_a_session_ends_by_itself(browser, provider, tmp_path):
    def short(address: str) -> dict[str, str]:
        return surroundings(provider, address, IMOP_LOGIN_HOURS="0.008")  # 29 seconds

    with served(tmp_path, more=short) as address, person(browser, address) as anna:
        anna.log_in(ANNA)
        ended = anna.page.get_by_text("Your session has ended.")
        either = anna.key("log_out").or_(anna.key("login_in")).first
        expect(either).to_be_visible()
        while not ended.is_visible():  # however slow the machine is, it comes
            anna.page.wait_for_timeout(1000)
            anna.visit()
            expect(either).to_be_visible()
        expect(anna.key("status")).to_have_count(0)


def test_a_file_is_brought_only_by_who_is_logged_in(browser, studio):
    with person(browser, studio) as nobody:
        nobody.visit()
        expect(nobody.key("login_in")).to_be_visible()
        answer = nobody.context.request.put(
            f"{studio}/_stcore/upload_file/{os.urandom(8).hex()}/a",
            multipart={"file": {"name": "a.csv", "mimeType": "text/csv", "buffer": history_file()}},
        )
        assert answer.status == 403
