"""Limits as people write them: "Technology + Communication <= 30%".

A small language over the names of assets and groups. Names may hold spaces, hyphens and digits: at
every place where a name can stand the longest known one is taken, so nothing needs quotes unless
two readings are possible. What cannot be read is refused with the column and the nearest name.

    limit    = side relation side [relation side] | side "between" side "and" side
    side     = ["-"] term { ("+" | "-") term }
    term     = number ["*" factor] | factor | number factor
    factor   = asset | group | "each" column | "benchmark" | "active" "(" side ")"
             | "(" side ")" | "|" side "|"
    relation = "<=" | ">=" | "=" | "at most" | "at least" | "exactly"
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from imop_engine import gate
from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import InvalidInput
from imop_engine.limit_names import NUMBER, LimitNames, Named
from imop_engine.limits import LinearLimit
from imop_engine.sentences import limits as said

RELATION: Final = re.compile(
    r"<=|>=|==|≤|≥|=<|=>|<|>|=|\b(?:is\s+)?(?:at\s+most|at\s+least|exactly)\b", re.IGNORECASE
)
MEANT: Final = {
    "at most": "<=",
    "at least": ">=",
    "exactly": "=",
    "=<": "<=",
    "=>": ">=",
    **{sign: sign for sign in ("<=", ">=", "=")},
    "==": "=",
    "≤": "<=",
    "≥": ">=",
    "<": "<=",
    ">": ">=",
}
TURNED: Final = {"<=": ">=", ">=": "<=", "=": "="}
WORD: Final = re.compile(r"[^\s+*<>=≤≥|()\"]+")
SIGNS: Final = {"+": 1.0, "-": -1.0, "−": -1.0}
PLAIN: Final = re.compile(r"[^\W\d]\w*")  # a name that needs no quotes
QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»"}
# Words of the language; a name that is one of them is still a name where it is known.
BENCHMARK: Final = "benchmark"
ACTIVE: Final = "active"
EACH: Final = "each"
# A bare number from here on is taken for per cent that lack their sign.
NO_SHARE: Final = 2.0
DEEPEST: Final = 20  # brackets in one another, and the side around them


@dataclass
class Side:
    """One side of a limit: coefficients of assets, of the benchmark's holdings, and a number.

    `named` are the coefficients of what was written: assets, or groups in full.
    """

    holdings: dict[str, float] = field(default_factory=dict)
    named: dict[str, float] = field(default_factory=dict)
    benchmark: float = 0.0
    constant: float = 0.0

    def add(self, other: Side, factor: float = 1.0) -> None:
        """Add another side, times a factor."""
        for mine, theirs in ((self.holdings, other.holdings), (self.named, other.named)):
            for name, coefficient in theirs.items():
                mine[name] = mine.get(name, 0.0) + factor * coefficient
        self.benchmark += factor * other.benchmark
        self.constant += factor * other.constant


def parse_limit(
    text: str,
    names: Sequence[str],
    groups: AssetGroups | None = None,
    benchmark: Mapping[str, float] | None = None,
) -> tuple[LinearLimit, ...]:
    """Read a limit as people write it.

    Args:
        text: the limit. Percentages or fractions, a point or a comma before decimals; groups as
            `sector:Technology`; `each sector` for every group of a column; `A between 5% and 10%`;
            `|A - benchmark| <= 2%` and `active(A) >= -1%` for holdings beside a benchmark's.
        names: the assets.
        groups: what groups can be named.
        benchmark: the benchmark's holdings, shares by asset; None where there is none.

    Returns:
        Limits; one that has two ends, an absolute value or `each` makes several.

    >>> [one.sentence for one in parse_limit("0,5*A - B >= -5%", ["A", "B"])]
    ['0.5*A - B at least -5%']
    >>> [one.sentence for one in parse_limit("Cash between 5% and 10%", ["Cash", "Gold"])]
    ['Cash at least 5%', 'Cash at most 10%']
    """
    return parse_limits([text], names, groups, benchmark)


@gate.public("imop_engine.limit_text")
def parse_limits(
    texts: Sequence[str],
    names: Sequence[str],
    groups: AssetGroups | None = None,
    benchmark: Mapping[str, float] | None = None,
) -> tuple[LinearLimit, ...]:
    """Read several limits; see `parse_limit`.

    Args:
        texts: the limits.
        names: the assets.
        groups: what groups can be named.
        benchmark: the benchmark's holdings.
    """
    if benchmark is not None and not isinstance(benchmark, Mapping):
        raise InvalidInput(
            f"benchmark is {gate.shown(benchmark)}; give its holdings by asset, or None."
        )
    known = LimitNames(names, None if groups is None else groups.on(names))
    found: list[LinearLimit] = []
    for text in texts:
        gate.text("a limit", text)
        if not text.strip():
            raise InvalidInput('a limit is empty; write it as "A + B <= 30%".')
        reader = _Reader(text, known, benchmark)
        limits = reader.limits()
        if reader.column is None:
            found += limits
            continue
        for group in known.values_of(reader.column):
            found += _Reader(text, known, benchmark, group).limits()
    return tuple(found)


def written(limit: LinearLimit) -> str:
    """A limit as text that `parse_limit` reads back, without groups and to the last digit.

    >>> written(LinearLimit({"AAPL": 1, "S&P 500": -0.5}, "<=", 0.3))
    'AAPL - 0.5*"S&P 500" <= 0.3'
    """
    text = ""
    for asset, factor in limit.holdings:
        size = "" if abs(factor) == 1.0 else f"{abs(factor)!r}*"
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {size}{_quoted(str(asset))}"
    return f"{text.removeprefix(' + ').strip()} {limit.relation} {limit.value!r}"


def _quoted(name: str) -> str:
    if PLAIN.fullmatch(name):
        return name
    sign = next((sign for sign, end in QUOTES.items() if sign not in name and end not in name), '"')
    return f"{sign}{name}{QUOTES[sign]}"


class _Reader:
    """Reads one text from left to right; `at` is where it stands."""

    def __init__(
        self,
        text: str,
        known: LimitNames,
        benchmark: Mapping[str, float] | None,
        each: str | None = None,
    ) -> None:
        self.text, self.known = text, known
        self.benchmark, self.each = benchmark, each
        self.column: str | None = None  # that "each" was said of
        self.at = 0
        self.depth = 0

    def limits(self) -> tuple[LinearLimit, ...]:
        """The whole text."""
        first = self._side()
        if self._word("between"):
            low = self._side()
            if not self._word("and"):
                raise self._wrong('expected "and" and the greatest value after "between"')
            made = [*self._limit(first, ">=", low), *self._limit(first, "<=", self._side())]
        else:
            made, left, relation = [], first, self._relation()
            while relation is not None:
                right = self._side()
                made += self._limit(left, relation, right)
                left, relation = right, self._relation()
        self._space()
        if not made:
            raise self._wrong("expected a relation: <=, >=, = or between")
        if self.at < len(self.text):
            raise self._wrong("expected the end of the limit")
        return tuple(made)

    def _limit(self, left: Side, relation: str, right: Side) -> Iterator[LinearLimit]:
        """One relation; two where an absolute value stands on its small side."""
        if isinstance(right, _Absolute):
            left, relation, right = right, TURNED[relation], left
        if not isinstance(left, _Absolute):
            yield self._linear(left, relation, right)
            return
        if relation != "<=" or isinstance(right, _Absolute):
            raise InvalidInput(
                f"the limit {self.text!r} keeps an absolute value from being small, which no "
                "portfolio can be optimised under; absolute values can only be at most something."
            )
        yield self._linear(left, "<=", right)
        mirrored = Side()
        mirrored.add(right, -1.0)
        yield self._linear(left, ">=", mirrored)

    def _linear(self, left: Side, relation: str, right: Side) -> LinearLimit:
        """Everything with assets on the left, the number on the right."""
        sides = Side()
        sides.add(left)
        sides.add(right, -1.0)
        if not any(sides.holdings.values()):
            raise InvalidInput(
                f"the limit {self.text!r} names no asset that is left after both sides are taken "
                'together; write it as "A + B <= 30%".'
            )
        if not any(left.holdings.values()):  # 5% <= A: people mean A at least 5%
            turned = Side()
            turned.add(sides, -1.0)
            sides, relation = turned, TURNED[relation]
        value = -sides.constant - sides.benchmark * self._of_benchmark(sides)
        largest = max(abs(factor) for factor in sides.holdings.values())
        if NO_SHARE <= abs(value) < math.inf and largest <= 1.0:
            raise InvalidInput(
                f"the limit {self.text!r} has the value {value:g}, which is {value:,.0%} of a "
                f"portfolio; write {value:g}% for a share of {value / 100:g}."
            )
        return LinearLimit(sides.holdings, relation, value, self._name(sides))

    def _of_benchmark(self, sides: Side) -> float:
        """What the benchmark holds of the assets of a limit."""
        if not sides.benchmark:
            return 0.0
        if self.benchmark is None:
            raise InvalidInput(
                f"the limit {self.text!r} compares with a benchmark and none is given; give the "
                "benchmark's holdings."
            )
        held = self.benchmark
        return sum(factor * held.get(asset, 0.0) for asset, factor in sides.holdings.items())

    def _name(self, sides: Side) -> str:
        """What people call the left side where groups are in it; "" for the sum as it is."""
        written = [(name, factor) for name, factor in sides.named.items() if factor]
        name = "" if sides.named == sides.holdings else said.terms(written)
        if sides.benchmark != -1.0:
            return name
        return f"{said.terms(written)} (benchmark {said.share(self._of_benchmark(sides))})"

    def _side(self) -> Side:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"there are more than {DEEPEST - 1} brackets in one another")
        side = self._sum()
        self.depth -= 1
        return side

    def _sum(self) -> Side:
        side = Side()
        first = True
        while True:
            sign = self._sign()
            if sign is None and not first:
                return side
            term = self._term()
            if isinstance(term, _Absolute):
                if not first or sign == -1.0 or self._sign(step=False) is not None:
                    raise self._wrong("an absolute value stands alone on its side")
                return term
            side.add(term, -1.0 if sign == -1.0 else 1.0)
            first = False

    def _sign(self, step: bool = True) -> float | None:
        self._space()
        sign = self.text[self.at : self.at + 1]
        if sign not in SIGNS:
            return None
        self.at += step
        return SIGNS[sign]

    def _term(self) -> Side:
        name = self._known_name()
        if name is not None:
            return self._times(name)
        self._space()
        number = NUMBER.match(self.text, self.at)
        if number is None:
            return self._times(self._factor())
        self.at = number.end()
        value = _value(number[0])
        self._space()
        if self.text.startswith("*", self.at):
            self.at += 1
            return _scaled(self._known_name() or self._factor(), value)
        start = self.at
        follows = self._known_name()  # "0.5 A"
        if follows is not None:
            return _scaled(follows, value)
        self.at = start
        return Side(constant=value)

    def _times(self, side: Side) -> Side:
        """What is multiplied from the right: A * 0.5."""
        self._space()
        if not self.text.startswith("*", self.at):
            return side
        self.at += 1
        self._space()
        number = NUMBER.match(self.text, self.at)
        if number is None:
            raise self._wrong("expected a number after *")
        self.at = number.end()
        return _scaled(side, _value(number[0]))

    def _factor(self) -> Side:
        self._space()
        sign = self.text[self.at : self.at + 1]
        if sign == "(":
            self.at += 1
            return self._until(self._side(), ")")
        if sign == "|":
            self.at += 1
            inside = self._until(self._side(), "|")
            return _Absolute(inside.holdings, inside.named, inside.benchmark, inside.constant)
        if self._word(BENCHMARK):
            return Side(benchmark=1.0)
        if self._word(ACTIVE):
            self._space()
            if not self.text.startswith("(", self.at):
                raise self._wrong('expected "(" after "active"')
            self.at += 1
            inside = self._until(self._side(), ")")
            inside.benchmark -= 1.0
            return inside
        if self._word(EACH):
            return self._each()
        raise self._unknown()

    def _until(self, side: Side, end: str) -> Side:
        self._space()
        if not self.text.startswith(end, self.at):
            raise self._wrong(f'expected "{end}"')
        self.at += 1
        return side

    def _each(self) -> Side:
        """One group after the other: which one is told from outside."""
        self._space()
        for column in sorted(self.known.columns, key=len, reverse=True):
            if self._word(column):
                if self.column not in (None, column):
                    raise self._wrong(f'"each" stands for one column, {self.column} already')
                self.column = column
                first, *_ = self.known.values_of(column)
                return self._holdings(self.known.named(column, self.each or first))
        word = WORD.match(self.text, self.at)
        found = "" if word is None else f", not {word[0]!r}"
        raise self._wrong(
            f'expected a column of groups after "each"{found}; the columns are '
            f"{', '.join(self.known.columns)}"
        )

    @staticmethod
    def _holdings(named: Named) -> Side:
        name, assets = named
        return Side(dict.fromkeys(assets, 1.0), {name: 1.0})

    def _known_name(self) -> Side | None:
        """The longest known name that stands here, quoted or not; None where there is none."""
        self._space()
        start, close = self.at, QUOTES.get(self.text[self.at : self.at + 1])
        if close is not None:
            end = self.text.find(close, start + 1)
            if end < 0:
                raise self._wrong(f"the quote {self.text[start]} is not closed")
            side = self._holdings(self._named(self.text[start + 1 : end]))
            self.at = end + 1
            return side
        name = self.known.match(self.text, self.at)
        if name is None:
            return None
        side = self._holdings(self._named(name))
        self.at += len(name)
        return side

    def _named(self, name: str) -> Named:
        try:
            found = self.known.find(name)
        except InvalidInput as unclear:
            raise self._wrong(str(unclear)) from None
        if found is None:
            raise self._wrong(self.known.unknown(name))
        return found

    def _unknown(self) -> InvalidInput:
        """Nothing known stands here: say what does, and what may be meant."""
        self._space()
        rest = self.text[self.at :]
        end = RELATION.search(rest)
        chunk = rest[: end.start()] if end else rest
        name = re.split(r"\s[+\-−]\s|[*+|()]|\bbetween\b", chunk, maxsplit=1)[0].strip()
        if not name:
            return self._wrong("expected an asset, a group or a number")
        return self._wrong(self.known.unknown(name))

    def _relation(self) -> str | None:
        self._space()
        match = RELATION.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return MEANT[" ".join(match[0].lower().split()).removeprefix("is ")]

    def _word(self, word: str) -> bool:
        """Step over a word, if it stands here."""
        self._space()
        match = re.compile(rf"{re.escape(word)}(?!\w)", re.IGNORECASE).match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return True

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _wrong(self, why: str) -> InvalidInput:
        return InvalidInput(
            f"the limit {self.text!r} cannot be read at column {self.at + 1}: {why}."
        )


class _Absolute(Side):
    """A side between bars."""


def _scaled(side: Side, factor: float) -> Side:
    scaled = Side()
    scaled.add(side, factor)
    return scaled


def _value(text: str) -> float:
    plain = text.replace(",", ".").strip()
    return float(plain.removesuffix("%")) / (100.0 if plain.endswith("%") else 1.0)
