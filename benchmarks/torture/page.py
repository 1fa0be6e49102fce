"""The page of what the house withstands, from kept figures."""

from __future__ import annotations

from typing import Any, Final

from imop_engine.versions import NUMBERED

HEAD: Final = f"""# What it withstands

Made by `make torture` from seeded ordeals; the figures lie in
[reliability.json](../benchmarks/results/reliability.json), the ordeals in
[benchmarks/torture](../benchmarks/torture). `make test` runs a little of each. What is guarded
against whom, and by which test, is in [security.md](security.md).
{NUMBERED}

| ordeal | how many | how they ended | ended badly | made |
|---|--:|---|--:|---|
"""
SAID: Final = {
    "damage": (
        "saved studies damaged (bits flipped, files cut, exchanged, replaced, links, foreign lists)"
    ),
    "workspaces": "workspaces of the app damaged in the same ways",
    "numbers": (
        "numbers that break arithmetic: covariances hardly invertible or without rank, sizes from "
        "1e-12 to 1e12 and denormal, ties, duplicates, a single asset, 200,000 portfolios"
    ),
    "api": "nasty calls of the Python API",
    "shell": "nasty command lines",
    "network": (
        "steps from the start of the app to a printed report under strace, foreign Origins and "
        "hosts among them; the last is that no address outside this computer was spoken to"
    ),
    "app kills": "the app's run killed, from the click to 10 s after the result",
    "worker kills": "the process that learns killed, and not the server",
    "shell kills": "`imop learn` killed, half of them while overwriting another study",
}
MEANING: Final = """
*Refused*: ended in our own error, with what to do. *Unchanged*: opened, and every number is the one
that was saved. *Right*: gave an answer, or after a kill everything was found again and learning
went on to the same digits. *Old*, *new*: the folder was the study before or the one after, whole.
Of numbers that break arithmetic an answer is *right* where it keeps the limits and none of some
hundred other portfolios does better ([numbers.py](../benchmarks/torture/numbers.py)).
*Badly* would be: other numbers in silence, somebody else's exception, more than ten processor
seconds, a finished run lost, a workspace damaged.

Killed runs of the app are processes that do what the button Learn does, without a browser; each is
ended by SIGKILL after a drawn share of the time it takes, and the process that learns for it ends
with it. Where only that process is killed, another goes on from the last checkpoint. A call that is
refused by the general gate ([gate.py](../imop_engine/gate.py)) and not by a check of its own says
what was given and how the function is called.
"""
SAID_WAITS: Final = {
    "alone": "page turned by one who looks, alone",
    "beside those who work": "the same, while the others load, learn and look",
    "beside very many": "the same, while one learns from very many investors",
    "page": "page turned by those who work",
    "click to result": "their runs: click to result, the queue included",
    "export": "table taken away",
}
USERS: Final = """
## People at once

Made by `make users` ([users.py](../benchmarks/users.py)): {users} people without browsers load
files, learn, look at every page for a second and take tables away for {seconds} s, on one server
with its usual settings ({cores} cores, shared with other work; load {load}; {when}). {runs} runs
and {exports} exports, each compared with whose it is: {failed}. Another, who has learned before,
turns pages meanwhile; then beside one who learns from {many} investors.

| wait, seconds | times | median | 95 % | worst |
|---|--:|--:|--:|--:|
{rows}

The median page of the one who looks took {ratio} as long beside those who work, and {ratio_many}
beside very many. The server itself held {first} MB in the first quarter of the time and {last} MB
in the last; with all its processes at most {most} MB, what they share counted once.
"""
BESIDE: Final = """
What the learner alone costs others was measured side by side
(`python -m imop_benchmarks.users --pairs {pairs}`): {pairs} pairs of pages, in turns one while
another learns from {many:,} investors and one with that process halted, on a machine full of other
work (load {load}, {cores} cores; {when}). The median page took {learning} s beside the learner and
{halted} s without it; the median of the ratios of the two is {ratio}. The busier a machine is, the
smaller is the learner's part in it: this says little of a quiet one.
"""


def page(record: dict[str, Any]) -> str:
    """The whole page."""
    rows = [_row(part, record[part]) for part in SAID if part in record]
    lines = [_figures(record[part]) for part in SAID if part in record]
    lines += [f"\n{found['note']}\n" for found in record.values() if "note" in found]
    lines += [users_section(record["users"])] if "users" in record else []
    lines += [BESIDE.format(**record["beside"])] if "beside" in record else []
    return HEAD + "\n".join(rows) + "\n" + MEANING + "".join(line for line in lines if line)


def users_section(found: dict[str, Any]) -> str:
    """What people at once met."""
    waits = found["waits"]
    others = sorted(set(waits) - set(SAID_WAITS))
    rows = [
        f"| {SAID_WAITS.get(name, name)} | {one['times']} | {one['median']:.2f} | "
        f"{one['95 %']:.2f} | {one['worst']:.2f} |"
        for name, one in ((name, waits[name]) for name in [*SAID_WAITS, *others] if name in waits)
    ]
    first, last = _memory(found["memory"], "first"), _memory(found["memory"], "last")
    most = max(one[2] for one in found["memory"])
    failed = len(found["bad"])
    return USERS.format(
        **{name: found[name] for name in ("users", "runs", "exports", "cores", "load", "when")},
        seconds=f"{found['seconds']:.0f}",
        many=f"{found['many']:,}",
        failed=f"{failed} failed" if failed else "nothing failed",
        rows="\n".join(rows),
        ratio=_ratio(waits, "beside those who work"),
        ratio_many=_ratio(waits, "beside very many"),
        first=f"{first:,.0f}",
        last=f"{last:,.0f}",
        most=f"{most:,.0f}",
    )


def _ratio(waits: dict[str, Any], name: str) -> str:
    if name not in waits:
        return "not measured"
    return f"{waits[name]['median'] / waits['alone']['median']:.1f} times"


def _memory(series: list[list[float]], end: str) -> float:
    """The server's own megabytes, in the middle of its first or last quarter."""
    quarter = max(1, len(series) // 4)
    part = series[:quarter] if end == "first" else series[-quarter:]
    return sorted(one[1] for one in part)[len(part) // 2]


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
