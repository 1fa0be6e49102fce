"""A visitor of the app without a browser: it speaks to the server what Streamlit's page speaks.

So eight of them cost the machine next to nothing, and what is measured is the server.
"""

from __future__ import annotations

import time
import urllib.request
from importlib import import_module
from typing import Any, Final

PATIENCE: Final = 300.0  # seconds; only what hangs takes so long
LOOK_SECONDS: Final = 0.5
ENDED: Final = (0, 3)  # a page, or a part of one, drawn to its end
FAILED: Final = 1


class Trouble(Exception):
    """The app showed an error, or did not answer."""


class Visitor:
    """One session of the app.

    Args:
        address: Of the server, "http://127.0.0.1:8501" say.
        workspace: The id of the workspace to open.
        cookie: What the browser is known by.
    """

    def __init__(self, address: str, workspace: str, cookie: str) -> None:
        client: Any = import_module("websockets.sync.client")
        self._back: Any = import_module("streamlit.proto.BackMsg_pb2")
        self._forward: Any = import_module("streamlit.proto.ForwardMsg_pb2")
        self.address, self.workspace, self._cookie = address, workspace, f"imop-visitor={cookie}"
        self._socket = client.connect(
            address.replace("http", "ws", 1) + "/_stcore/stream",
            subprotocols=["streamlit"],
            origin=address,
            additional_headers={"Cookie": self._cookie},
            max_size=None,
        )
        self._page = ""
        self._session = ""
        self._open = ""  # the page that is open, as the server names it
        self._buttons: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._fragments: dict[str, float] = {}
        self._shown: list[str] = []
        self._part = False  # whether only a part of the page was asked for

    @property
    def text(self) -> str:
        """What the page says."""
        return "\n".join(self._shown)

    def turn(self, page: str) -> float:
        """Open a page; the seconds until it was drawn."""
        self._page = page
        return self._ask()

    def press(self, key: str) -> float:
        """Press the button of that key; the seconds until the page was drawn again."""
        if key not in self._buttons:
            raise Trouble(f"{self._page}: there is no button {key}; it says {self.text[-300:]!r}")
        return self._ask(pressed=self._buttons[key])

    def learn(self) -> float:
        """Press Learn and look as the page does until the result is there; the seconds."""
        self.turn("learn")
        began = time.monotonic()
        self.press("learn_start")
        while "What came out" not in self._shown:
            if time.monotonic() - began > PATIENCE:
                raise Trouble(f"no result: {self.text[-300:]!r}")
            time.sleep(LOOK_SECONDS)
            quick = min(self._fragments, key=lambda one: self._fragments[one], default="")
            self._ask(fragment=quick)
        return time.monotonic() - began

    def export(self, name: str) -> bytes:
        """The content of a file that the page offers; names begin with the run's and end so."""
        offered = [one for one in self._files if one == name or one.endswith(f"_{name}")]
        if not offered:
            raise Trouble(f"{self._page}: there is no file {name} among {list(self._files)}")
        request = self._back.BackMsg()
        request.backend_operation_request.request_id = f"{name} {time.monotonic()}"
        request.backend_operation_request.session_id = self._session
        request.backend_operation_request.deferred_file.file_id = self._files[offered[0]]
        self._socket.send(request.SerializeToString())
        while True:
            message = self._next()
            if message.WhichOneof("type") == "backend_operation_response":
                answer = message.backend_operation_response
                if answer.error_msg:
                    raise Trouble(f"{name}: {answer.error_msg}")
                break
        url = answer.deferred_file.url
        asked = urllib.request.Request(self.address + url, headers={"Cookie": self._cookie})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as file:
            content: bytes = file.read()
        return content

    def close(self) -> None:
        """Leave."""
        self._socket.close()

    def _ask(self, pressed: str = "", fragment: str = "") -> float:
        request = self._back.BackMsg()
        state = request.rerun_script
        state.query_string = f"workspace={self.workspace}"
        if fragment:  # of the page that is open
            state.page_script_hash = self._open
        else:
            state.page_name = "" if self._page == "market" else self._page
        state.fragment_id = fragment
        state.is_auto_rerun = bool(fragment)
        if pressed:
            widget = state.widget_states.widgets.add()
            widget.id, widget.trigger_value = pressed, True
        self._part = bool(fragment)
        began = time.monotonic()
        self._socket.send(request.SerializeToString())
        while not self._drawn(self._next()):
            pass
        return time.monotonic() - began

    def _next(self) -> Any:
        message = self._forward.ForwardMsg()
        message.ParseFromString(self._socket.recv(timeout=PATIENCE))
        return message

    def _drawn(self, message: Any) -> bool:
        """Note a message; whether it says that the page is drawn."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._open = message.new_session.page_script_hash
            self._session = message.new_session.initialize.session_id or self._session
            whole, self._part = not self._part, False  # a part of a page leaves the rest as it is
            if whole:
                self._shown, self._buttons, self._files, self._fragments = [], {}, {}, {}
        elif kind == "auto_rerun":
            self._fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._note(message.delta.new_element)
        elif kind == "script_finished":
            if message.script_finished == FAILED:
                raise Trouble(f"{self._page}: the page did not run")
            return message.script_finished in ENDED
        return False

    def _note(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise Trouble(f"{self._page}: {element.exception.message}")
        if kind == "alert":
            if element.alert.format == element.alert.ERROR:
                raise Trouble(f"{self._page}: {element.alert.body}")
            self._shown.append(element.alert.body)
        elif kind == "button":
            self._buttons[_key(element.button.id)] = element.button.id
        elif kind == "download_button":
            name = _key(element.download_button.id).removeprefix("download_")
            self._files[name] = element.download_button.deferred_file_id
        elif kind in ("markdown", "heading"):
            self._shown.append(getattr(element, kind).body)
        elif kind == "progress":
            self._shown.append(element.progress.text)


def _key(identifier: str) -> str:
    """The key that we gave, in the id that Streamlit made of it."""
    return identifier.split("-", 2)[-1]
