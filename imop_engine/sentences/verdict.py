"""The verdict on a study in words, as shell, report and app say it."""

from __future__ import annotations

from typing import Final, Protocol

VERDICTS: Final = {
    "good": "Good: nothing was found that speaks against these returns and their intervals.",
    "caution": "Caution: these returns hold with reservations.",
    "poor": "Poor: do not rely on these returns.",
}
WORDS: Final = {"poor": "Poor", "caution": "Caution", "note": "Note"}  # severities, worst first


class Reason(Protocol):
    """A check of a study."""

    @property
    def severity(self) -> str:
        """ "note", "caution" or "poor"."""
        ...

    @property
    def sentence(self) -> str:
        """What is the matter."""
        ...

    @property
    def remedy(self) -> str:
        """What helps."""
        ...


def verdict_line(verdict: str) -> str:
    """The verdict, said in one line.

    Args:
        verdict: "good", "caution" or "poor".

    >>> verdict_line("poor")
    'Verdict: poor. Do not rely on these returns.'
    """
    word, _, rest = VERDICTS[verdict].partition(": ")
    return f"Verdict: {word.lower()}. {rest[:1].upper()}{rest[1:]}"


def reason_line(reason: Reason) -> str:
    """One reason of a verdict in a line: how bad, what is the matter, what helps.

    Args:
        reason: a check of the study.
    """
    return f"{WORDS[reason.severity]}: {reason.sentence} What helps: {reason.remedy}"
