"""A team's server without Docker: PostgreSQL, the app with a login, the proxy with TLS, all started
on this computer as deploy/compose.yaml starts them, and asked what a visitor would ask.

    python scripts/try_team.py --caddy /usr/bin/caddy

Needs the development environment, and Caddy. Ends with what was asked and how it was answered; an
answer that is not as it should be ends it with an error.
"""

from __future__ import annotations

import argparse
import os
import ssl
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import httpx  # noqa: E402
from joserfc import jwt  # noqa: E402
from joserfc.jwk import OctKey  # noqa: E402

import postgres  # noqa: E402
from servers import end, first_answer, reserved_port  # noqa: E402

IMOP = str(Path(sys.executable).with_name("imop"))
PATIENCE = 300.0  # seconds
SECRET = "c" * 40


@contextmanager
def provider() -> Iterator[str]:
    """An OpenID Connect provider on this computer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import oidc_provider_mock

        with oidc_provider_mock.run_server_in_thread() as server:
            yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def started(command: list[str], around: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    """A process that lasts as long as the block."""
    with log.open("w") as said:
        process = subprocess.Popen(command, env=around, stdout=said, stderr=said, cwd=log.parent)
        try:
            yield process
        finally:
            end(process)


def certificate(folder: Path) -> ssl.SSLContext:
    """What the proxy's own authority signs is believed, and nothing else."""
    path = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    until = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > until:
            raise SystemExit("the proxy made no certificate")
        time.sleep(0.1)
    return ssl.create_default_context(cafile=str(path))


def questions(address: str, known: ssl.SSLContext, name: str) -> list[tuple[str, bool]]:
    """What a visitor asks, and whether the answer is as it should be."""
    with httpx.Client(base_url=address, verify=known, timeout=PATIENCE) as visitor:
        page = _first(visitor)
        ticket = {"provider": "default", "exp": int(time.time()) + 60}
        signed = jwt.encode({"alg": "HS256"}, ticket, OctKey.import_key(SECRET))
        way = visitor.get("/auth/login", params={"provider": signed})
        upload = "/_stcore/upload_file/session/file"
        return [
            ("the page comes, encrypted", page.status_code == 200),
            ("browsers keep to https", "strict-transport-security" in page.headers),
            ("the app's own headers come through", page.headers["x-frame-options"] == "DENY"),
            ("nobody says what serves", "server" not in page.headers),
            ("cookies are for https alone", "Secure" in page.headers.get("set-cookie", "")),
            ("its state is closed", visitor.get("/_stcore/metrics").status_code == 404),
            (
                "nothing is downloaded without a login",
                visitor.get("/media/a.csv").status_code == 404,
            ),
            ("nothing is brought without a login", visitor.put(upload).status_code == 403),
            ("a login leads to the provider", name in way.headers.get("location", "")),
        ]


def _first(visitor: httpx.Client) -> httpx.Response:
    """The page, once the proxy listens."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return visitor.get("/")
        except httpx.ConnectError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def main() -> None:
    """Start everything, ask, and say how it was answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--caddy", default="caddy", help="The proxy's program.")
    caddy = parser.parse_args().caddy
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        name = stack.enter_context(provider())
        store = postgres.new_database(stack.enter_context(postgres.served()))
        inner, outer = (stack.enter_context(reserved_port()) for _ in range(2))
        address = f"https://localhost:{outer}"
        around = {
            **os.environ,
            "IMOP_HOME": str(folder / "home"),
            "IMOP_STORE": store,
            "IMOP_URL": address,
            "IMOP_LOGIN_METADATA_URL": f"{name}/.well-known/openid-configuration",
            "IMOP_LOGIN_CLIENT_ID": "studio",
            "IMOP_LOGIN_CLIENT_SECRET": "secret",
            "IMOP_LOGIN_COOKIE_SECRET": SECRET,
            "IMOP_LOGIN_ALLOW": "@example.com",
        }
        app = stack.enter_context(
            started([IMOP, "app", "--port", str(inner)], around, folder / "app.log")
        )
        first_answer(f"http://127.0.0.1:{inner}/_stcore/health", app)
        proxy = [caddy, "run", "--adapter", "caddyfile", "--config", str(ROOT / "deploy/Caddyfile")]
        places = {"STUDIO_HOST": f"localhost:{outer}", "STUDIO_APPS": f"127.0.0.1:{inner}"}
        own = {**os.environ, "XDG_DATA_HOME": str(folder), "HOME": str(folder), **places}
        stack.enter_context(started(proxy, own, folder / "proxy.log"))
        asked = questions(address, certificate(folder), name)
        listed = subprocess.run([IMOP, "runs", "list"], env=around, capture_output=True, text=True)
        asked.append(("the shell sees the same store", listed.stdout.startswith("PostgreSQL")))
        for what, good in asked:
            print(f"{'ok ' if good else 'NOT'} {what}")
        if not all(good for _, good in asked):
            raise SystemExit((folder / "app.log").read_text()[-2000:])


if __name__ == "__main__":
    main()
