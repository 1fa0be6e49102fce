"""`imop app`: the app served on this computer.

Streamlit is imported inside the function: it takes a second, which no other command needs.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import sys
from importlib import import_module
from importlib.resources import as_file, files
from typing import Annotated, Any, Final

import typer

from imop_engine.errors import InvalidInput

DEFAULT_PORT: Final = 8501
LOOPBACK: Final = "127.0.0.1"
WILDCARDS: Final = ("0.0.0.0", "::")
HOW: Final = (
    "Without a login only this computer is served: configure one (docs/team.md says how, in ten "
    "minutes), or leave --address out."
)


def serve(
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help=f"Port to serve on.  [default: {DEFAULT_PORT}]"),
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on; the default is this computer only.")
    ] = LOOPBACK,
    share: Annotated[
        bool,
        typer.Option("--share", help="Let others in, who log in: for an --address they reach."),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = False,
) -> None:
    """Start the app and print its address; Ctrl-C ends it."""
    chosen = port or DEFAULT_PORT
    _require_free(address, chosen)
    settings = import_module("imop_app.login").settings()
    _require_sharing(address, share, settings)
    # By name: the engine's modules import nothing of the app, which builds on them. On a new
    # machine this starts compiling, so that it goes on while the server starts.
    import_module("imop_app.warmup").prepare()
    import_module("imop_app.database").database()  # what is wrong with the store is said at once
    with as_file(files("imop_app") / "main.py") as page:
        from streamlit.web.cli import main as streamlit

        import_module("imop_app.doors").close(address)
        import_module("imop_app.downloads").keep()
        shown = _in_address(_reachable(address))
        typer.echo(f"IMOP Studio: http://{shown}:{chosen}  (Ctrl-C ends it)")
        if settings is not None:
            typer.echo(f"People reach it by {settings.url} and log in there")
        sys.stdout.flush()
        options = {
            "server.address": address,
            "server.port": chosen,
            "server.headless": not browser,
            "browser.gatherUsageStats": False,
            "browser.serverAddress": _reachable(address),
            "logger.hideWelcomeMessage": True,
        }
        flags = [f"--{name}={json.dumps(value).strip(chr(34))}" for name, value in options.items()]
        streamlit.main(args=["run", str(page), *flags], standalone_mode=False)


def is_loopback(address: str) -> bool:
    """Whether only this computer reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _require_sharing(address: str, share: bool, settings: Any) -> None:
    if is_loopback(address):
        return
    if settings is None:
        raise InvalidInput(
            f"--address {address} lets other computers in, and no login is configured: whoever "
            f"reaches it would see, change and delete all workspaces. {HOW}"
        )
    if not share:
        raise InvalidInput(
            f"--address {address} lets other computers in. Add --share if that is wanted, or "
            f"leave --address out to serve this computer only ({LOOPBACK})."
        )


def _reachable(address: str) -> str:
    """The address to type on another computer; a wildcard is none."""
    if address not in WILDCARDS:
        return address
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # an address of the documentation: connecting a datagram socket sends nothing
            probe.connect(("2001:db8::1" if ":" in address else "192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _require_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # Without this a port that was in use a moment ago would look busy for a minute.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidInput(
                f"Cannot serve on {address}:{port} ({reason.lower()}); "
                f"choose another port with --port, for example --port {_neighbour(port)}."
            ) from error


def _neighbour(port: int) -> int:
    return port + 1 if port < 65535 else DEFAULT_PORT
