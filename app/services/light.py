"""What a traffic light is: nouns that the strip needs before anything of the engine is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Colour = Literal["none", "good", "caution", "poor", "unknown"]
Action = Literal[
    "market", "investors", "learn", "accept", "groups", "page", "again", "without_outliers"
]


@dataclass(frozen=True)
class Press:
    """What a button beside a light does.

    Args:
        label: What stands on it.
        action: Where the change goes.
        change: What is chosen then: settings, a finding, a column or a page.
        learns: Whether a run begins with it.
    """

    label: str
    action: Action
    change: Any = None
    learns: bool = False


@dataclass(frozen=True)
class Light:
    """One of the three.

    Args:
        part: "market", "investors" or "result".
        colour: "none" before there is anything.
        said: What is loaded, in a few words.
        reason: Why it is not green; "" where it is.
        about: All reasons in full, with what helps.
        presses: The buttons that cure them, that of the worst reason first; none where none can.
    """

    part: str
    colour: Colour
    said: str = ""
    reason: str = ""
    about: str = ""
    presses: tuple[Press, ...] = ()

    @property
    def press(self) -> Press | None:
        """The first button; None where there is none."""
        return self.presses[0] if self.presses else None
