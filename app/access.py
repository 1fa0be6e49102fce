"""Who asks, and what of the store is hers.

Without login there is one visitor, who is nobody in particular, and everything kept without login
is hers. With a login a visitor is known by the cookie that Streamlit signed when she came back from
the provider; it counts for some hours, until she logs out, and while she is on the list.

Services and stores ask `require` before they open, list, stop, delete or hand out anything.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from imop_app import login
from imop_app.database import database, note
from imop_app.database.tables import ENDED_SESSIONS
from imop_app.login import LoginSettings
from imop_engine.errors import ImopError

COOKIE: Final = "_streamlit_user"  # Streamlit's name of it
HOUR: Final = 3600.0
REMEMBERED: Final = 5000  # sessions and files; the oldest are forgotten
FRESH_SECONDS: Final = 2.0  # a logout on another server counts after this long


class NotAllowed(ImopError):
    """Nobody is logged in, or somebody whose this is not."""


@dataclass(frozen=True)
class Visitor:
    """Who asks.

    Args:
        address: Hers, in small letters; "" on a computer without login.
        name: As the provider has it.
        session: What recognises this login.
        begun: When she logged in, seconds since the epoch.
    """

    address: str
    name: str = ""
    session: str = ""
    begun: float = 0.0


LOCAL: Final = Visitor("")


@dataclass(frozen=True)
class Asked:
    """A visitor, or why there is none.

    Args:
        visitor: Who may come in; None where nobody may.
        reason: "nobody" logged in, a session that has "ended", somebody "refused".
        address: Of who was refused.
    """

    visitor: Visitor | None
    reason: str = ""
    address: str = ""


def read(cookies: Mapping[str, str]) -> Asked:
    """Who asks, by the cookies of a browser.

    Args:
        cookies: By name.
    """
    settings = login.settings()
    if settings is None:
        return Asked(LOCAL)
    claims = _claims(cookies, settings)
    if claims is None:
        return Asked(None, "nobody")
    session, begun = _session(cookies, settings)
    if time.time() - begun > settings.hours * HOUR or _has_ended(session):
        return Asked(None, "ended")
    address = _address(claims)
    if not address or not settings.allows(address, _groups(claims, settings)):
        return Asked(None, "refused", address)
    return Asked(Visitor(address, str(claims.get("name") or ""), session, begun))


def _claims(cookies: Mapping[str, str], settings: LoginSettings) -> dict[str, Any] | None:
    from streamlit.auth_util import get_cookie_with_chunks
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

    def one(name: str) -> bytes | None:
        value = cookies.get(name)
        return None if value is None else decode_signed_value(settings.cookie_secret, name, value)

    try:
        claims = json.loads(get_cookie_with_chunks(one, COOKIE) or b"null")
    except ValueError:
        return None
    known = isinstance(claims, dict) and claims.get("is_logged_in") is True
    return claims if known and claims.get("origin") == settings.origin else None


def _session(cookies: Mapping[str, str], settings: LoginSettings) -> tuple[str, float]:
    from itsdangerous import URLSafeTimedSerializer

    value = cookies[COOKIE]
    signed = URLSafeTimedSerializer(settings.cookie_secret, salt=COOKIE)
    _, moment = signed.loads(value, return_timestamp=True)
    return hashlib.sha256(value.encode()).hexdigest(), moment.timestamp()


def _address(claims: Mapping[str, Any]) -> str:
    """Hers as the provider knows it; "" where it has none, or has not verified it."""
    given = claims.get("email")
    if not isinstance(given, str) or claims.get("email_verified") in (False, "false"):
        return ""
    address = given.strip().lower()
    whole = address.isprintable() and " " not in address and len(address) <= login.LONGEST_ADDRESS
    return address if whole and address.count("@") == 1 and not address.startswith("@") else ""


def _groups(claims: Mapping[str, Any], settings: LoginSettings) -> tuple[str, ...]:
    given = claims.get(settings.groups_claim)
    listed = given if isinstance(given, list) else [given]
    return tuple(one for one in listed if isinstance(one, str))


# -- sessions that were ended --------------------------------------------------------------------
_LOCK: Final = threading.Lock()
_ALIVE: Final[OrderedDict[str, float]] = OrderedDict()  # when a session was last found not ended


def _has_ended(session: str) -> bool:
    now = time.monotonic()
    with _LOCK:
        if now - _ALIVE.get(session, float("-inf")) < FRESH_SECONDS:
            return False
    chosen = sa.select(ENDED_SESSIONS.c.at).where(ENDED_SESSIONS.c.session == session)
    with database().reading() as connection:
        ended = connection.execute(chosen).first() is not None
    if not ended:
        _remember(_ALIVE, session, now)
    return ended


def end(cookies: Mapping[str, str]) -> None:
    """End the session of a browser for good: its cookie opens nothing any more, wherever it is.

    Args:
        cookies: Of the browser.
    """
    settings = login.settings()
    claims = None if settings is None else _claims(cookies, settings)
    if settings is None or claims is None:
        return
    session, _ = _session(cookies, settings)
    with database().writing(session) as connection:
        known = sa.select(ENDED_SESSIONS.c.at).where(ENDED_SESSIONS.c.session == session)
        if connection.execute(known).first() is None:
            row = {"session": session, "at": time.time()}
            connection.execute(sa.insert(ENDED_SESSIONS).values(row))
            note(connection, _address(claims), "logged out", session[:12])
    with _LOCK:
        _ALIVE.pop(session, None)


def came_in(visitor: Visitor) -> None:
    """Write down that somebody opened the app; without login nothing.

    Args:
        visitor: Who.
    """
    if visitor.session:
        with database().writing() as connection:
            note(connection, visitor.address, "came in", visitor.session[:12])


# -- who asks now --------------------------------------------------------------------------------
# By Streamlit's id of a tab: the cookies it came with, for what is asked outside of its script.
_TABS: Final[OrderedDict[str, Mapping[str, str]]] = OrderedDict()
_FILES: Final[OrderedDict[str, frozenset[str]]] = OrderedDict()  # who may fetch a file, by its id


def asked() -> Asked | None:
    """Who asks in the script that runs here; None where none does: a thread at work, the shell."""
    if "streamlit" not in sys.modules:
        return None
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return None
    if login.settings() is None:
        return Asked(LOCAL)
    import streamlit as st

    cookies = dict(st.context.cookies)
    _remember(_TABS, context.session_id, cookies)
    return read(cookies)


def visitor() -> Visitor:
    """Who asks; NotAllowed where nobody may."""
    found = asked()
    if found is None and login.settings() is None:
        return LOCAL
    if found is None or found.visitor is None:
        raise _lost()
    return found.visitor


def _lost() -> NotAllowed:
    """What is raised where nobody may come in; a page is drawn again first, to say so."""
    import streamlit as st

    again: Any = st.rerun  # which returns where no page is drawn
    again()
    return NotAllowed("Your session has ended, or you are not logged in; log in again.")


def require(owner: str) -> None:
    """Let through whoever asks for what is hers; NotAllowed for everybody else.

    A thread at work asks for whom it was let through when it began, and whoever has a shell on
    the server has the store anyway.

    Args:
        owner: Whose it is.
    """
    found = asked()
    if found is None:
        return
    if found.visitor is None:
        raise _lost()
    if found.visitor.address != owner:
        raise NotAllowed("This belongs to somebody else.")


def hand_out(file: str, tab: str) -> None:
    """Let a tab's visitor fetch a file that was made for her.

    Args:
        file: Its id.
        tab: Streamlit's id of the tab.
    """
    found = read(_TABS.get(tab, {}))
    if found.visitor is None:
        raise NotAllowed("Your session has ended, or you are not logged in; log in again.")
    with _LOCK:
        before = _FILES.get(file, frozenset())
    _remember(_FILES, file, before | {found.visitor.address})


def may_fetch(file: str, cookies: Mapping[str, str]) -> bool:
    """Whether a file was made for whoever has these cookies.

    Args:
        file: Its id.
        cookies: Of the browser.
    """
    found = read(cookies).visitor
    return found is not None and found.address in _FILES.get(file, frozenset())


def _remember(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    with _LOCK:
        known[key] = value
        known.move_to_end(key)
        while len(known) > REMEMBERED:
            known.popitem(last=False)
