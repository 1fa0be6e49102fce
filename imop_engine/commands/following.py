"""The work of `imop learn --follow`: learn from what comes, keep where it has come to, say so.

Imports of the engine and of the screen's toolkit are inside the functions: this module is loaded
for every `imop --help`.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.commands import common
from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    from imop_engine.market import Market
    from imop_engine.scale.follow import Event, Follower
    from imop_engine.study import StudySettings

CHECKPOINT_SECONDS: Final = 2.0  # a kill loses no more than that, and nothing of what it says
LOOK_SECONDS: Final = 60.0  # between two looks at whether beliefs moved
PAUSE: Final = 0.25  # seconds between two looks for new rows
PACE_SECONDS: Final = 5.0  # over which rows a second are told


@dataclass(frozen=True)
class FollowOptions:
    """How to learn from portfolios as they come."""

    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Go on learning from rows as they are added to a CSV file, or from files as they "
            "come into a folder, until Ctrl+C; then write the study.",
        ),
    ] = False
    idle: Annotated[
        float | None,
        typer.Option(
            "--idle",
            min=0.0,
            max=1e7,
            help="With --follow: end when nothing has come for so many seconds.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.idle is not None and not self.follow:
            raise InvalidInput("--idle belongs to --follow; leave it out, or follow.")


class _Stop:
    """Ctrl+C and the end of the service end it cleanly: after the rows that are at work."""

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self.before: dict[int, Any] = {}

    def __enter__(self) -> _Stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, lambda *_: self.wanted.set())
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def follow(
    market: Market,
    portfolios: Path,
    settings: StudySettings,
    options: FollowOptions,
    out: Path,
    as_json: bool,
    command: str,
) -> None:
    """Learn from what comes until it is stopped, then write the study of the even sample.

    Args:
        market: Its assets and moments.
        portfolios: A CSV file that grows, or a folder.
        settings: The analyst's choices.
        options: When to end.
        out: The folder of the results, and of what is gone on from.
        as_json: Whether events are printed, a JSON document in each line.
        command: The line of the shell that makes it again.
    """
    from imop_engine.scale.follow import CHECKPOINT, Follower, save_following
    from imop_engine.tables.arrivals import Arrivals

    path = out / CHECKPOINT
    state, settings = _state(path, settings)
    follower = Follower(market, Arrivals(portfolios, market.names), settings, state)
    common.prepare()
    tell = _Told(follower, as_json)
    if state is not None:
        tell.said("resumed", f"Going on after {state.learned_rows:,} portfolios.")

    def keep() -> None:
        save_following(follower.state, settings, path)

    with _Stop() as stop, tell:
        try:
            _run(follower, options.idle, stop.wanted, keep, tell)
        finally:
            keep()  # what was learned is kept, whatever ended it
    _finish(follower, out, tell, command)


def _state(path: Path, settings: StudySettings) -> tuple[Any, StudySettings]:
    from imop_engine.scale.follow import load_following

    if not path.exists():
        return None, settings
    state, before = load_following(path)
    for name in (
        "algorithm",
        "rate",
        "forgetting",
        "loss",
        "weights",
        "anchors",
        "upper",
        "bounds",
    ):
        if getattr(before, name) != getattr(settings, name):
            raise InvalidInput(
                f"what was followed into {path.parent} had {name} {getattr(before, name)!r} and "
                f"this has {getattr(settings, name)!r}; follow with the same options, or name "
                "another --out."
            )
    return state, settings


def _run(
    follower: Follower,
    idle: float | None,
    stop: threading.Event,
    keep: Callable[[], None],
    tell: _Told,
) -> None:
    written = looked = came = time.monotonic()
    while not stop.is_set():
        fresh = False
        for event in follower.catch_up():
            fresh = True
            tell.event(event)
            now = time.monotonic()
            if now - written >= CHECKPOINT_SECONDS:
                keep()
                written = now
            if stop.is_set():
                return
        now = time.monotonic()
        if fresh:
            came = now
        if now - written >= CHECKPOINT_SECONDS and fresh:
            keep()
            written = now
        if now - looked >= LOOK_SECONDS:
            tell.moved(follower.movement())
            looked = time.monotonic()
        if not fresh:
            tell.waiting()
            if idle is not None and now - came >= idle:
                return
            stop.wait(PAUSE)


class _Told:
    """A status line for a person, or events for a program."""

    def __init__(self, follower: Follower, as_json: bool) -> None:
        from rich.console import Console

        self.follower, self.as_json = follower, as_json
        self.console = Console(stderr=True)
        self.status = self.console.status("Waiting for portfolios.")
        self.marks: list[tuple[float, int]] = []
        self.move: int | None = None

    def __enter__(self) -> _Told:
        if not self.as_json:
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.status.stop()

    def event(self, event: Event) -> None:
        if self.as_json:
            names = self.follower.market.names
            theta = None if event.theta is None else dict(zip(names, event.theta, strict=True))
            _print({"event": event.kind, "rows": event.rows, "refused": event.refused,
                    "file": event.file, "stream": theta, "loss": event.loss,
                    "sentence": event.said})  # fmt: skip
        elif event.said:
            self.console.print(f"{event.file}: {event.said}.", markup=False, highlight=False)
        self._line(event.rows, event.refused, False)

    def waiting(self) -> None:
        state = self.follower.state
        self._line(state.learned_rows, state.refused, True)

    def said(self, kind: str, sentence: str, **more: Any) -> None:
        if self.as_json:
            _print({"event": kind, "sentence": sentence, **more})
        else:
            self.console.print(sentence, markup=False, highlight=False)

    def moved(self, found: Any) -> None:
        """Say that beliefs moved, once for each move."""
        from imop_engine.inference.movement import movement_sentence

        if found is None or not found.moved:
            return
        row = int(self.follower.state.sample.rows[min(found.at, found.count) - 1])
        apart = max(1, found.count // 20) * self.follower.state.sample.stride
        if self.move is None or abs(row - self.move) > apart:
            self.move = row
            self.said("moved", movement_sentence(found), after=row, p_value=found.p_value)

    def _line(self, rows: int, refused: int, waiting: bool) -> None:
        from imop_engine.sentences.movement import status

        now = time.monotonic()
        self.marks = [one for one in self.marks if now - one[0] <= PACE_SECONDS] + [(now, rows)]
        took = now - self.marks[0][0]
        pace = (rows - self.marks[0][1]) / took if took > 0 else 0.0
        self.status.update(status(rows, refused, pace, waiting))


def _print(document: dict[str, Any]) -> None:
    from imop_engine.tables.export import plain

    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False)
    typer.echo(text)


def _finish(follower: Follower, out: Path, tell: _Told, command: str) -> None:
    """The study of the even sample, and beliefs over time beside it."""
    from imop_engine import disk
    from imop_engine.inference.movement import movement_sentence
    from imop_engine.report.frames_movement import movement_frame
    from imop_engine.scale.follow import BELIEFS
    from imop_engine.storage import save_study
    from imop_engine.study.movement import beliefs_over_time
    from imop_engine.tables.export import csv_text

    state = follower.state
    rows = state.learned_rows + len(state.first)
    if not rows:
        tell.said("stopped", "No portfolio came; there is nothing to study.", rows=0)
        return
    study = follower.study()
    found = beliefs_over_time(study)
    save_study(study, out, command=command)
    whole = (
        f"Followed {rows:,} portfolios; {len(state.sample.rows):,} of them, evenly spread, are the "
        f"study in {out}."
    )
    said = [whole]
    if found is not None:
        text = csv_text(movement_frame(found, study.settings.level))
        disk.write_whole(out / BELIEFS, text.encode())
        said.append(movement_sentence(found))
    names = follower.market.names
    tell.said(
        "stopped", " ".join(said), rows=rows, refused=state.refused,
        estimate=dict(zip(names, study.frame_returns["estimate"], strict=True)),
        stream=None if follower.theta is None else dict(zip(names, follower.theta, strict=True)),
        verdict=study.verdict, moved=None if found is None else found.moved,
        moved_p_value=None if found is None else found.p_value,
    )  # fmt: skip
