"""Who may come in, and that nothing goes out: a real server, asked as other sites would ask it."""

import asyncio
import http.client
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from imop_app.doors import HEADERS, Names, content_policy, refusal
from servers import end, first_answer, reserved_port

IMOP = Path(sys.executable).with_name("imop")
# Every connection, datagram and look-up that Python makes in the server is written down.
WATCHER = """
import os, sys

def hear(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {arguments[-1] if event == 'socket.connect' else arguments}\\n")

sys.addaudithook(hear)
with open(os.environ["WATCHED"], "a") as file:
    file.write("watching\\n")
"""


LOGIN = {
    "IMOP_URL": "https://studio.example.com",
    "IMOP_LOGIN_METADATA_URL": "https://id.example.com/.well-known/openid-configuration",
    "IMOP_LOGIN_CLIENT_ID": "studio",
    "IMOP_LOGIN_CLIENT_SECRET": "secret",
    "IMOP_LOGIN_COOKIE_SECRET": "c" * 40,
    "IMOP_LOGIN_ALLOW": "@example.com",
}


def scope(host="127.0.0.1:8501", origin=None, kind="http", path="/", method="GET", **more):
    headers = [(b"host", host.encode())] if host is not None else []
    headers += [(b"origin", origin.encode())] if origin is not None else []
    headers += [(name.encode(), value.encode()) for name, value in more.items()]
    return {"type": kind, "path": path, "method": method, "headers": headers}


HERE = Names.of("127.0.0.1")


@pytest.mark.parametrize(
    "asked",
    [
        scope(),
        scope("localhost:9000"),
        scope("[::1]:8501"),
        scope(origin="http://127.0.0.1:8501"),
        scope(origin="http://127.0.0.1:8501", kind="websocket"),
    ],
)
def test_our_own_pages_are_let_in(asked):
    assert refusal(asked, HERE) is None


@pytest.mark.parametrize(
    "asked",
    [
        scope(None),
        scope(""),
        scope("evil.example"),
        scope("evil.example:8501"),
        scope("127.0.0.1.evil.example"),
        scope("user@127.0.0.1:8501"),
        scope("127.0.0.1:eight"),
        scope("192.168.1.2:8501"),
        scope(origin="http://evil.example"),
        scope(origin="http://127.0.0.1:9999"),
        scope(origin="http://localhost:8501"),
        scope(origin="null"),
        scope(origin="file://"),
        scope(origin="http://127.0.0.1:8501/path"),
        scope(kind="websocket"),
        scope(origin="http://evil.example", kind="websocket"),
        scope(path="/_stcore/metrics"),
        scope(path="/_stcore/agent/interact", method="POST"),
        scope(method="PUT", **{"sec-fetch-site": "cross-site"}),
    ],
)
def test_others_are_refused_with_a_sentence(asked):
    said = refusal(asked, HERE)
    assert said is not None
    assert said.endswith(".")


def test_two_host_headers_are_one_too_many():
    asked = scope()
    asked["headers"] *= 2
    assert refusal(asked, HERE) is not None


def test_a_shared_server_goes_by_its_numbers_and_never_by_a_foreign_name():
    shared = Names.of("0.0.0.0")
    assert shared.accept("192.168.1.2:8501")
    assert shared.accept("[fe80::1]:8501")
    assert not shared.accept("evil.example:8501")
    assert Names.of("studio.example").accept("studio.example")
    assert not Names.of("studio.example").accept("127.0.0.1")


def test_scripts_that_stand_in_the_page_are_named_by_their_digest():
    assert "'sha256-" in content_policy("<script>one</script>")
    assert "unsafe-inline'; img" in content_policy("")
    assert "script-src 'self' 'unsafe-eval';" in content_policy("")


# -- a real server -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "watch").mkdir()
    (folder / "watch" / "sitecustomize.py").write_text(WATCHER)
    surroundings = {
        **os.environ,
        "IMOP_HOME": str(folder / "home"),
        "PYTHONPATH": str(folder / "watch"),
        "WATCHED": str(folder / "watched"),
    }
    with (folder / "log").open("w") as log, reserved_port() as port:
        command = [IMOP, "app", "--port", str(port)]
        started = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=surroundings)
        try:
            assert first_answer(f"http://127.0.0.1:{port}/_stcore/health", started) == "ok"
            yield port, folder
        finally:
            end(started)


def ask(port: int, path: str = "/", method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/nowhere", "/_stcore/metrics"])
def test_every_answer_has_the_headers(server, path):
    _, headers, _ = ask(server[0], path)
    found = {name.lower(): value for name, value in headers.items()}
    assert {name: found.get(name) for name in HEADERS} == HEADERS
    assert "frame-ancestors 'none'" in found["content-security-policy"]


@pytest.mark.slow
def test_a_foreign_name_a_foreign_page_and_metrics_are_refused(server):
    assert ask(server[0])[0] == 200
    assert ask(server[0], Host="evil.example")[0] == 403
    status, _, said = ask(server[0], Origin="http://evil.example")
    assert (status, said) == (403, "Pages of other sites may not ask this server.\n")
    assert ask(server[0], "/_stcore/metrics")[0] == 404


@pytest.mark.slow
@pytest.mark.parametrize(
    ("origin", "let_in"),
    [("http://evil.example", False), ("null", False), (None, False), ("own", True)],
)
def test_a_connection_of_a_foreign_page_is_refused_and_nobody_is_asked(server, origin, let_in):
    import websockets

    port, folder = server

    async def knock() -> bool:
        own = f"http://127.0.0.1:{port}" if origin == "own" else origin
        try:
            address = f"ws://127.0.0.1:{port}/_stcore/stream"
            async with websockets.connect(address, origin=own, subprotocols=["streamlit"]):
                return True
        except websockets.exceptions.InvalidStatus as error:
            return error.response.status_code != 403

    # in a thread of its own: browser tests in the same process may have left a loop running
    with ThreadPoolExecutor(1) as apart:
        assert apart.submit(asyncio.run, knock()).result() is let_in
    heard = (folder / "watched").read_text().splitlines()
    assert heard.pop(0) == "watching"
    heard = [line for line in heard if line != "watching"]
    assert [line for line in heard if "127.0.0.1" not in line and "localhost" not in line] == []


@pytest.mark.parametrize(
    ("given", "around", "said"),
    [
        ([], {}, "no login is configured"),
        (["--share"], {}, "no login is configured"),
        (["--share"], {"IMOP_URL": "https://studio.example.com"}, "The login lacks"),
        ([], LOGIN, "Add --share if that is wanted"),
    ],
)
def test_other_computers_are_let_in_only_with_a_login(given, around, said, tmp_path):
    command = [IMOP, "app", "--address", "0.0.0.0", "--port", "1", *given]
    with reserved_port() as port:
        command[5] = str(port)
        surroundings = {**os.environ, "IMOP_HOME": str(tmp_path), **around}
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 2
    assert said in done.stderr
