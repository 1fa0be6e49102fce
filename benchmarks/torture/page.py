"""The page of what the house withstands, from kept figures."""

from __future__ import annotations

from typing import Any, Final

HEAD: Final = """# What it withstands

Made by `make torture` from seeded ordeals; the figures lie in
[reliability.json](../benchmarks/results/reliability.json), the ordeals in
[benchmarks/torture](../benchmarks/torture). `make test` runs a little of each. What is guarded
against whom, and by which test, is in [security.md](security.md).

| ordeal | how many | how they ended | ended badly | made |
|---|--:|---|--:|---|
"""
SAID: Final = {
    "damage": (
        "saved studies damaged (bits flipped, files cut, exchanged, replaced, links, foreign lists)"
    ),
    "workspaces": "workspaces of the app damaged in the same ways",
    "api": "nasty calls of the Python API",
    "shell": "nasty command lines",
    "app kills": "the app's run killed, from the click to 10 s after the result",
    "shell kills": "`imop learn` killed, half of them while overwriting another study",
}
MEANING: Final = """
*Refused*: ended in our own error, with what to do. *Unchanged*: opened, and every number is the one
that was saved. *Right*: gave an answer, or after a kill everything was found again and learning
went on to the same digits. *Old*, *new*: the folder was the study before or the one after, whole.
*Badly* would be: other numbers in silence, somebody else's exception, more than ten processor
seconds, a finished run lost, a workspace damaged.

Killed runs of the app are processes that do what the button Learn does, without a browser; each is
ended by SIGKILL after a drawn share of the time it takes. A call that is refused by the general
gate ([gate.py](../imop_engine/gate.py)) and not by a check of its own says what was given and how
the function is called.
"""


def page(record: dict[str, Any]) -> str:
    """The whole page."""
    rows = [_row(part, record[part]) for part in SAID if part in record]
    lines = [_figures(record[part]) for part in SAID if part in record]
    lines += [f"\n{found['note']}\n" for found in record.values() if "note" in found]
    return HEAD + "\n".join(rows) + "\n" + MEANING + "".join(line for line in lines if line)


def _row(part: str, found: dict[str, Any]) -> str:
    ended = ", ".join(f"{count:,} {word}" for word, count in found["counts"].items())
    made = f"{found['when']}, version {found['version']}"
    return f"| {SAID[part]} | {found['count']:,} | {ended} | {len(found['bad'])} | {made} |"


def _figures(found: dict[str, Any]) -> str:
    if "worst seconds learned again" not in found["figures"]:
        return ""
    worst = found["figures"]["worst seconds learned again"]
    took = found["figures"]["seconds undisturbed"]
    return (
        f"\nOf the app's killed runs the one that lost most had to learn {worst:.1f} s again, of "
        f"{took:.1f} s that a run took undisturbed on that machine ({found['cores']} cores, shared "
        "with other work).\n"
    )
