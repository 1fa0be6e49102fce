"""The risk class that a client stated, against the risk that the client holds.

A column of the file says the class: numbers (1 to 5), numbered names ("R3", "2 - balanced"), usual
words (conservative, balanced, growth), or any names whose order the analyst gives. Classes divide
the risk score's 1 to 99 into equal parts, calmest first, unless the analyst says up to which
volatility each class goes.

The rule: a client holds more risk than stated where the whole interval of the score of the holdings
lies above the stated class, less where it lies below. Where the score lies outside and its interval
reaches in, the data cannot tell ("borderline").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from imop_engine.arguments import Vector
from imop_engine.clients.risk_score import LEAST_SCORE, MOST_SCORE, risk_score
from imop_engine.errors import InvalidInput
from imop_engine.sentences import clients as say

MORE, LESS, BORDERLINE, AGREES, NOT_STATED = say.MISMATCHES
MISMATCHED: Final = (MORE, LESS)
# The columns that a list of mismatches begins with.
MISMATCHES_FIRST: Final = ("id", "mismatch", "stated", "held", "score", "score_low", "score_high")
MOST_CLASSES: Final = 10
# What a column that states a class is usually called.
CLASS_NAME: Final = re.compile(r"risk|risiko|profil|mandate|suitab|toleran", re.IGNORECASE)
# Usual words for classes, calmest first; those of one line mean the same.
USUAL: Final = (
    ("very low", "very conservative", "very cautious", "capital preservation", "secure"),
    ("low", "conservative", "cautious", "careful", "defensive", "prudent", "konservativ",
     "defensiv", "sicherheit"),
    ("moderately low", "moderately conservative", "moderately cautious", "income", "ertrag"),
    ("medium", "moderate", "balanced", "neutral", "ausgewogen", "mittel"),
    ("moderately high", "moderately aggressive", "growth", "wachstum"),
    ("high", "aggressive", "bold", "dynamic", "adventurous", "offensive", "dynamisch", "offensiv",
     "chance"),
    ("very high", "very aggressive", "speculative", "spekulativ"),
)  # fmt: skip
_RANK: Final = {word: place for place, words in enumerate(USUAL) for word in words}
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class RiskClasses:
    """Stated classes, calmest first, and the scores that belong to each.

    Args:
        column: where the file states them.
        labels: what each is called.
        edges: scores between neighbouring classes, one fewer than labels.
    """

    column: str
    labels: tuple[str, ...]
    edges: tuple[float, ...]

    def band(self, label: str) -> tuple[float, float]:
        """The scores from which and up to which a class goes."""
        at = self.labels.index(label)
        ends = (LEAST_SCORE, *self.edges, MOST_SCORE)
        return ends[at], ends[at + 1]

    def of(self, score: Any) -> NDArray[np.object_]:
        """The class that each score belongs to; None where there is no score."""
        scores = np.asarray(score, dtype=float)
        names = np.array([*self.labels, None], dtype=object)
        places = np.searchsorted(self.edges, scores, side="right")
        return np.asarray(names[np.where(np.isfinite(scores), places, len(self.labels))])

    def compare(
        self, stated: Sequence[str | None], score: Vector, low: Vector, high: Vector
    ) -> Any:
        """How what is held compares with what was stated; the rule is that of the module.

        Args:
            stated: the label of each client, None where nothing is stated.
            score: of the holdings.
            low: lower end of its interval.
            high: upper end.

        Returns:
            One of "more", "less", "borderline", "agrees" and "not stated" for each.
        """
        found = np.full(len(score), NOT_STATED, dtype=object)
        for label in self.labels:
            mine = np.array([one == label for one in stated], dtype=bool)
            begins, ends = self.band(label)
            first, last = begins == LEAST_SCORE, ends == MOST_SCORE
            above = (score >= ends) & (not last)
            below = (score < begins) & (not first)
            found[mine] = AGREES
            found[mine & (above | below)] = BORDERLINE
            found[mine & above & (low > ends)] = MORE
            found[mine & below & (high < begins)] = LESS
        found[~np.isfinite(score)] = NOT_STATED
        return found


def risk_classes(
    values: Any,
    column: str,
    order: Sequence[str] | None = None,
    volatilities: Sequence[float] | None = None,
) -> RiskClasses:
    """The classes of a column, in order, with the scores that belong to each.

    Args:
        values: what the column states of each client.
        column: its name.
        order: all classes, calmest first; None: by number or by usual words.
        volatilities: standard deviation a year up to which each class but the last goes; None:
            equal parts of the score.

    Returns:
        The classes.
    """
    present = list(dict.fromkeys(one for one in class_labels(values) if one is not None))
    labels = _in_order(present, column) if order is None else tuple(map(str, order))
    strange = [one for one in present if one not in labels]
    if strange:
        raise InvalidInput(
            f"{column} has the class {strange[0]!r}, which the order does not name; give all "
            f"classes, calmest first: {', '.join(present)}."
        )
    if len(set(labels)) < len(labels) or len(labels) < 2:
        raise InvalidInput(f"{column} needs at least two different classes; got {list(labels)}.")
    if volatilities is None:
        steps = np.linspace(LEAST_SCORE, MOST_SCORE, len(labels) + 1)[1:-1]
        return RiskClasses(column, labels, tuple(float(one) for one in steps))
    limits = [float(one) for one in volatilities]
    if len(limits) != len(labels) - 1 or np.any(np.diff([0.0, *limits]) <= 0.0):
        raise InvalidInput(
            f"{len(labels)} classes need {len(labels) - 1} volatilities between them, rising; got "
            f"{limits}. Write 0.05 for 5% a year."
        )
    return RiskClasses(column, labels, tuple(float(one) for one in risk_score(limits)))


def class_labels(values: Any) -> list[str | None]:
    """What a column states, as text; 3.0 of a column with gaps is "3"."""
    return [_label(one) for one in pd.Series(values).tolist()]


def _label(value: Any) -> str | None:
    if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() or None


def _in_order(present: list[str], column: str) -> tuple[str, ...]:
    if not 2 <= len(present) <= MOST_CLASSES:
        raise InvalidInput(
            f"{column} has {len(present)} different values; a risk class has 2 to {MOST_CLASSES}."
        )
    words = [_RANK.get(one.lower()) for one in present]
    if None not in words and len(set(words)) == len(words):
        return tuple(sorted(present, key=lambda one: _RANK[one.lower()]))
    numbers = [_NUMBER.findall(one) for one in present]
    if all(len(found) == 1 for found in numbers):
        by_number = {int(found[0]): one for found, one in zip(numbers, present, strict=True)}
        if len(by_number) == len(present):
            return _numbered(by_number)
    raise InvalidInput(
        f"the order of the classes of {column} is not known ({', '.join(present)}); say it, "
        "calmest first."
    )


def _numbered(by_number: dict[int, str]) -> tuple[str, ...]:
    """Classes by their number; one that nobody stated still takes its place between the others."""
    least, most = min(min(by_number), 1), max(by_number)
    if most - least >= MOST_CLASSES:
        raise InvalidInput(
            f"classes are numbered up to {most}; there may be {MOST_CLASSES} of them. Say their "
            "order."
        )
    return tuple(by_number.get(number, str(number)) for number in range(least, most + 1))


def class_columns(attributes: pd.DataFrame) -> tuple[str, ...]:
    """Columns that can be read as stated classes, those that are called so first."""
    found = []
    for name in attributes.columns:
        if name == "date" or pd.api.types.is_datetime64_any_dtype(attributes[name]):
            continue
        if attributes[name].nunique() > MOST_CLASSES:
            continue
        try:
            risk_classes(attributes[name], str(name))
        except InvalidInput:
            continue
        found.append(str(name))
    return tuple(sorted(found, key=lambda one: CLASS_NAME.search(one) is None))


def default_column(attributes: pd.DataFrame) -> str | None:
    """The column that is called like a risk class, where there is one."""
    named = [one for one in class_columns(attributes) if CLASS_NAME.search(one)]
    return named[0] if named else None
