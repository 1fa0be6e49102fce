"""Who may come in: every request and every WebSocket is looked at before Streamlit sees it.

A page of another site can make a browser ask this server anything. So the name in the address must
be ours (a foreign name that points here is a trick), what comes from a page must come from ours,
and what is of no use to a person is closed. Nothing is ever asked outside: Streamlit would look up
this machine's address on a server far away to judge an origin it does not know; it never gets to.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ipaddress
import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from imop_app import access, downloads, login
from imop_app.downloads import file_of
from imop_app.login import LoginSettings
from imop_app.visitors import COOKIE, new_cookie

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS: Final = frozenset({"0.0.0.0", "::"})
CLOSED: Final = ("/_stcore/metrics", "/_stcore/agent", "/_stcore/script-health-check")
# The one script of ours (see main.py); allowed by its digest like those of Streamlit's own page.
OWN_SCRIPT: Final = Path(__file__).with_name("assets") / "focus.html"
MEDIA: Final = "/media/"
UPLOADS: Final = "/_stcore/upload_file"
LOGOUT: Final = "/auth/logout"
# A page says by itself that a session has ended; this ends what does not.
GRACE_SECONDS: Final = 5.0
POLICY_VIOLATION: Final = 1008  # the code with which a WebSocket is refused
HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# What a page may load: itself. Charts are compiled from their specification (unsafe-eval), styles
# are set by scripts; the report is shown in a frame that holds its whole page.
POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-eval'{hashes}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Names:
    """What this server may be called in an address."""

    known: frozenset[str]
    any_number: bool = False  # whether every address in numbers is one of ours

    @classmethod
    def of(cls, address: str) -> Names:
        """The names of a server that listens on an address."""
        if address in WILDCARDS:
            own = socket.gethostname().lower()
            return cls(LOOPBACK_NAMES | {own, f"{own}.local"}, any_number=True)
        if address in LOOPBACK_NAMES:
            return cls(LOOPBACK_NAMES)
        return cls(frozenset({address.lower()}))

    @classmethod
    def reached_by(cls, settings: LoginSettings) -> Names:
        """The names of a server with a login: the one people use, and this computer's own."""
        return cls(LOOPBACK_NAMES | {settings.host})

    def accept(self, host: str | None) -> bool:
        """Whether a Host header names this server.

        A name that points here by a trick is never an address in numbers.

        >>> Names.of("127.0.0.1").accept("localhost:8501")
        True
        >>> Names.of("127.0.0.1").accept("evil.example:8501")
        False
        """
        name = _host_name(host)
        if name is None:
            return False
        return name in self.known or (self.any_number and _is_number(name))


def _host_name(host: str | None) -> str | None:
    if not host or re.search(r"[\s/@?#\\]", host):
        return None
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # which must be a number
        return parts.hostname
    except ValueError:
        return None


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def refusal(scope: dict[str, Any], names: Names) -> str | None:
    """Why a request is not let in; None lets it in.

    Args:
        scope: The request, as ASGI describes it.
        names: What this server may be called.
    """
    headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    hosts = [value for name, value in headers if name == b"host"]
    origins = [value for name, value in headers if name == b"origin"]
    if len(hosts) != 1 or not names.accept(hosts[0]):
        return "This server does not go by that name. Use the address it printed when it started."
    if any(scope["path"].startswith(closed) for closed in CLOSED):
        return "There is nothing here."
    if not origins and scope["type"] == "websocket":
        return "A connection says which page it comes from; this one does not."
    if any(urlsplit_netloc(origin) != hosts[0].lower() for origin in origins) or len(origins) > 1:
        return "Pages of other sites may not ask this server."
    fetched = [value for name, value in headers if name == b"sec-fetch-site"]
    if "cross-site" in fetched and scope.get("method") not in ("GET", "HEAD"):
        return "Pages of other sites may not ask this server."
    return None


def urlsplit_netloc(origin: str) -> str | None:
    """The server of an origin; None where it is none of the web's."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") and not parts.path else None


class Doors:
    """The app behind the doors.

    Args:
        app: What answers those who are let in.
        names: What this server may be called.
        policy: What a page may load.
        settings: How people log in; None where there is no login.
    """

    def __init__(
        self, app: Any, names: Names, policy: str, settings: LoginSettings | None = None
    ) -> None:
        self.app, self.names, self.settings = app, names, settings
        self.headers = [
            (name.encode(), value.encode())
            for name, value in {**HEADERS, "content-security-policy": policy}.items()
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request in, or answer it with a sentence."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        reason = refusal(scope, self.names)
        if reason is None and self.settings is not None:
            reason = await asyncio.to_thread(not_hers, scope)
        if reason is None:
            known = any(
                name.lower() == b"cookie" and f"{COOKIE}=".encode() in value
                for name, value in scope["headers"]
            )
            sending = self._with_headers(send, greet=not known)
            if scope["type"] == "websocket" and self.settings is not None:
                await self._while_it_lasts(scope, receive, sending, self.settings)
            else:
                await self.app(scope, receive, sending)
        elif scope["type"] == "websocket":
            await receive()
            await send(
                {"type": "websocket.close", "code": POLICY_VIOLATION, "reason": reason[:120]}
            )
        else:
            status = 404 if reason.startswith("There is nothing") else 403
            body = (reason + "\n").encode()
            plain = [(b"content-type", b"text/plain; charset=utf-8")]
            length = [(b"content-length", str(len(body)).encode())]
            start = {"type": "http.response.start", "status": status}
            await send({**start, "headers": plain + length + self.headers})
            await send({"type": "http.response.body", "body": body})

    async def _while_it_lasts(
        self, scope: Any, receive: Any, send: Any, settings: LoginSettings
    ) -> None:
        """Serve a tab until the session of its visitor ends; then the page says so by itself."""
        found = await asyncio.to_thread(access.read, cookies_of(scope))
        if found.visitor is None:
            await self.app(scope, receive, send)
            return
        left = found.visitor.begun + settings.hours * access.HOUR - time.time()
        try:
            await asyncio.wait_for(self.app(scope, receive, send), left + GRACE_SECONDS)
        except TimeoutError:
            ended = {"type": "websocket.close", "code": POLICY_VIOLATION}
            await send({**ended, "reason": "Your session has ended."})

    def _with_headers(self, send: Any, greet: bool) -> Any:
        secure = b"; Secure" if self.settings is not None and self.settings.encrypted else b""

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self.headers} | {b"server"}
                kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in ours]
                cookie = [(b"set-cookie", new_cookie().encode())] if greet else []
                kept = [
                    (name, value + secure if name.lower() == b"set-cookie" else value)
                    for name, value in (*kept, *cookie)
                ]
                message = {**message, "headers": kept + self.headers}
            await send(message)

        return sending


def cookies_of(scope: dict[str, Any]) -> dict[str, str]:
    """The cookies of a request, by name; none where they cannot be read."""
    found: SimpleCookie = SimpleCookie()
    for name, value in scope["headers"]:
        if name.lower() == b"cookie":
            try:
                found.load(value.decode("latin-1"))
            except CookieError:
                continue
    return {name: one.value for name, one in found.items()}


def not_hers(scope: dict[str, Any]) -> str | None:
    """Why whoever asks may not have this; None where she may, or it is nobody's.

    What comes over the connection of a page is looked at by the services. Here is what goes beside
    it: files to fetch, files that are brought, and the way out.

    Args:
        scope: The request, as ASGI describes it.
    """
    path, cookies = scope["path"], cookies_of(scope)
    if path == LOGOUT:
        if (b"sec-fetch-site", b"cross-site") in scope["headers"]:
            return "Pages of other sites may not log anybody out."
        access.end(cookies)
    if path.startswith(UPLOADS) and access.read(cookies).visitor is None:
        return "You are not logged in."
    if path.startswith(MEDIA) and not access.may_fetch(file_of(path), cookies):
        return "There is nothing here."
    return None


def content_policy(page: str) -> str:
    """What a page may load, with the digests of the scripts that stand in it."""
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts)
    return POLICY.format(hashes="".join(f" 'sha256-{one}'" for one in digests))


def close(address: str) -> None:
    """Put the doors before Streamlit's server, and cut its ways to the outside.

    Args:
        address: What the server listens on.
    """
    settings = login.settings()
    if settings is not None:
        login.tell_streamlit(settings)
        downloads.guard()
    from starlette.middleware import Middleware
    from streamlit import file_util, net_util
    from streamlit.web.server.starlette import starlette_app

    page = Path(file_util.get_static_dir()) / "index.html"
    policy = content_policy("".join(one.read_text(encoding="utf-8") for one in (page, OWN_SCRIPT)))
    usual = starlette_app.create_streamlit_middleware

    names = Names.of(address) if settings is None else Names.reached_by(settings)

    def guarded() -> list[Middleware]:
        return [Middleware(Doors, names=names, policy=policy, settings=settings), *usual()]

    starlette_app.create_streamlit_middleware = guarded
    _ask_nobody((net_util,))


def _ask_nobody(modules: Iterable[Any]) -> None:
    """Streamlit asks a server far away for this machine's address, and opens a socket towards
    another to learn its own: both answer that it is not known."""
    for module in modules:
        module.get_external_ip = lambda: None
        module.get_internal_ip = lambda: None
