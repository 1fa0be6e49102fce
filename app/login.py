"""Who may come in where the app is served to others: an OpenID Connect provider, and a list.

Set by the environment, or by a file that nobody but its owner may read. Streamlit logs people in;
it is told here how, and nothing of it is ever written down.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from imop_app.home import data_folder
from imop_engine.errors import InvalidInput

FILE: Final = "login.toml"
FILE_VARIABLE: Final = "IMOP_LOGIN_FILE"
VARIABLES: Final = {
    "url": "IMOP_URL",
    "metadata_url": "IMOP_LOGIN_METADATA_URL",
    "client_id": "IMOP_LOGIN_CLIENT_ID",
    "client_secret": "IMOP_LOGIN_CLIENT_SECRET",
    "cookie_secret": "IMOP_LOGIN_COOKIE_SECRET",
    "allow": "IMOP_LOGIN_ALLOW",
    "groups_claim": "IMOP_LOGIN_GROUPS_CLAIM",
    "hours": "IMOP_LOGIN_HOURS",
}
NEEDED: Final = ("url", "metadata_url", "client_id", "client_secret", "cookie_secret", "allow")
GROUP: Final = "group:"
SECRET_LENGTH: Final = 32  # characters: no one guesses so many
LONGEST_ADDRESS: Final = 320
CALLBACK: Final = "/oauth2callback"
HOURS: Final = 8.0
MOST_HOURS: Final = 30 * 24.0  # Streamlit's cookie ends by then


@dataclass(frozen=True)
class LoginSettings:
    """How people log in, and who may.

    Args:
        url: Where people reach the app, as `https://studio.example.com`.
        metadata_url: Of the provider, ending in `/.well-known/openid-configuration`.
        client_id: What the provider calls this app.
        client_secret: What the provider knows this app by.
        cookie_secret: What this app signs cookies with; the same on all its servers.
        allow: Addresses (`anna@example.com`), domains (`@example.com`), groups (`group:risk`).
        groups_claim: What the provider calls the groups of a person.
        hours: After which a session ends.
    """

    url: str
    metadata_url: str
    client_id: str
    client_secret: str
    cookie_secret: str
    allow: tuple[str, ...]
    groups_claim: str = "groups"
    hours: float = HOURS

    @property
    def host(self) -> str:
        """The name in the app's address."""
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> str:
        """The app's address without a path, as browsers say where a page is from."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def encrypted(self) -> bool:
        """Whether people reach the app by https."""
        return self.url.startswith("https://")

    def allows(self, address: str, groups: tuple[str, ...]) -> bool:
        """Whether somebody is on the list.

        Args:
            address: Hers, in small letters.
            groups: Those the provider says she is in.
        """
        domain = address[address.rfind("@") :]
        mine = {address, domain, *(f"{GROUP}{group}" for group in groups)}
        return not mine.isdisjoint(self.allow)


@cache
def settings() -> LoginSettings | None:
    """What the environment and the file say; None where there is no login."""
    return chosen()


def chosen() -> LoginSettings | None:
    """The same, read anew."""
    given = _from_file()
    for name, variable in VARIABLES.items():
        if value := os.environ.get(variable, "").strip():
            given[name] = value
    if not given:
        return None
    missing = [VARIABLES[name] for name in NEEDED if not given.get(name)]
    if missing:
        raise InvalidInput(
            f"The login lacks {', '.join(missing)}. Set all of "
            f"{', '.join(VARIABLES[name] for name in NEEDED)}, or none; docs/team.md says how."
        )
    return _checked(given)


def _checked(given: dict[str, Any]) -> LoginSettings:
    allow = given["allow"]
    entries = allow.replace(",", " ").split() if isinstance(allow, str) else list(map(str, allow))
    made = LoginSettings(
        url=_address(str(given["url"]).rstrip("/"), VARIABLES["url"]),
        metadata_url=_address(str(given["metadata_url"]), VARIABLES["metadata_url"]),
        client_id=str(given["client_id"]),
        client_secret=str(given["client_secret"]),
        cookie_secret=str(given["cookie_secret"]),
        allow=tuple(_entry(one) for one in entries),
        groups_claim=str(given.get("groups_claim", "groups")),
        hours=_hours(given.get("hours", HOURS)),
    )
    if len(made.cookie_secret) < SECRET_LENGTH:
        raise InvalidInput(
            f"{VARIABLES['cookie_secret']} has {len(made.cookie_secret)} characters and needs "
            f'{SECRET_LENGTH}: make one with `python -c "import secrets; '
            'print(secrets.token_hex(32))"`.'
        )
    return made


def _address(given: str, variable: str) -> str:
    try:
        parts = urlsplit(given)
        _ = parts.port  # which must be a number
    except ValueError:
        parts = urlsplit("")
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    allowed = ("http", "https") if here else ("https",)
    if not parts.hostname or parts.scheme not in allowed:
        raise InvalidInput(
            f"{variable} is {given[:80]!r}; give an address that begins with https:// (http:// "
            "only for this computer): without encryption whoever is between reads along."
        )
    return given


def _entry(one: str) -> str:
    if one.startswith(GROUP) and len(one) > len(GROUP):
        return one
    name, at, domain = one.lower().rpartition("@")
    if not at or "." not in domain or name.count("@"):
        raise InvalidInput(
            f"{VARIABLES['allow']} holds {one[:80]!r}; give addresses (anna@example.com), domains "
            "(@example.com) and groups (group:risk), with spaces between."
        )
    return one.lower()


def _hours(given: Any) -> float:
    try:
        hours = float(given)
    except (TypeError, ValueError):
        hours = 0.0
    if not 0.0 < hours <= MOST_HOURS:
        raise InvalidInput(
            f"{VARIABLES['hours']} is {str(given)[:20]!r}; give hours after which a session ends, "
            f"more than 0 and at most {MOST_HOURS:g}."
        )
    return hours


def _from_file() -> dict[str, Any]:
    named = os.environ.get(FILE_VARIABLE, "").strip()
    path = Path(named).expanduser() if named else data_folder() / FILE
    if not named and not path.is_file():
        return {}
    try:
        mode = path.stat().st_mode
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as TOML ({error}); correct it.") from None
    if os.name != "nt" and mode & 0o077:
        raise InvalidInput(
            f"{path} holds secrets and may be read by others (mode {mode & 0o777:o}); make it "
            f"yours alone: chmod 600 {path}."
        )
    unknown = sorted(set(given) - set(VARIABLES))
    if unknown:
        raise InvalidInput(f"{path} names {', '.join(unknown)}; known are {', '.join(VARIABLES)}.")
    return given


def tell_streamlit(chosen: LoginSettings) -> None:
    """Let Streamlit log people in; it keeps this in memory alone.

    Args:
        chosen: How.
    """
    from importlib.util import find_spec

    from streamlit.runtime.secrets import secrets_singleton

    lacking = [name for name in ("authlib", "httpx") if find_spec(name) is None]
    if lacking:
        raise InvalidInput(
            f"The login needs {' and '.join(lacking)}, which is not installed: install imop[team]."
        )

    auth = {
        "redirect_uri": f"{chosen.url}{CALLBACK}",
        "cookie_secret": chosen.cookie_secret,
        "client_id": chosen.client_id,
        "client_secret": chosen.client_secret,
        "server_metadata_url": chosen.metadata_url,
    }
    secrets_singleton._secrets = {"auth": auth}
