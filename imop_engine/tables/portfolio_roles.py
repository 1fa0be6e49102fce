"""What the columns of a portfolio file mean: investor, date, asset, holding, attribute.

Names are believed first, then values: a column is a holding when the holdings then add up to one
hundred percent. Every role is shown and can be corrected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from imop_engine.errors import UnreadableFile
from imop_engine.sentences.numbers import some
from imop_engine.tables import words
from imop_engine.tables.asset_column import FEWEST_HOLDINGS, find_asset_column
from imop_engine.tables.cells import CellColumn, CellTable
from imop_engine.tables.column_units import without_unit
from imop_engine.tables.dated_columns import dated, days_in, of_other_dates, without_date
from imop_engine.tables.extra_holdings import ADDS_UP, extra_holdings
from imop_engine.tables.history_layout import LONG, MOSTLY, UNNAMED_COLUMNS, WIDE, repeats
from imop_engine.tables.numbers import CURRENCY, Numbers
from imop_engine.tables.reading_report import Guess
from imop_engine.tables.tickers import Tickers

INVESTOR, DATE, ASSET = "investor", "date", "asset"
HOLDING, WEIGHT, AMOUNT = "holding", "weight", "amount"
SHARES, PRICE = "shares", "price"
ATTRIBUTE, TOTAL, IGNORE = "attribute", "total", "ignore"
ROLES: Final = (
    INVESTOR,
    DATE,
    ASSET,
    HOLDING,
    WEIGHT,
    AMOUNT,
    SHARES,
    PRICE,
    ATTRIBUTE,
    TOTAL,
    IGNORE,
)
VALUES: Final = (WEIGHT, AMOUNT, SHARES)


# More columns than this, of which no one is an asset's, are no portfolios on this market.
MOST_STRANGERS: Final = 2_000
NAMED: Final = 3  # assets in a sentence
# What a column that counts the rows is called; a fund could be called 1.
NUMBERED_ROWS: Final = ("#", "Nr", "Nr.", "No", "No.", "nr", "no", "N°", "Lfd. Nr.", "row", "Row")
# Of the owners of a long table so many hold portfolios that add up.
OWNERS_ADD_UP: Final = 0.9
# What may stand beside an asset's name in the name of its column.
FILLER: Final = words.WEIGHT | words.AMOUNT | words.SHARES | {"actual", "ist", "current", "held"}

# What refers to a note below the table: Fund A*, Fund B¹, Fund C (2).
_FOOTNOTE: Final = re.compile(r"\s*(?:[(\[]\d[)\]]|[*†‡§¹²³⁴⁵⁶⁷⁸⁹])+$")
_IN_CURRENCY: Final = re.compile(rf"(?:\s+in)?\s+{CURRENCY}$")


@dataclass(frozen=True, eq=False)
class Roles:
    """The role of each column, and whether the file is wide or long."""

    of: dict[str, str]
    layout: str
    matched: dict[str, str]
    doubtful: tuple[str, ...] = ()  # attributes by their values, though named like holdings

    def first(self, role: str) -> str | None:
        """Return the first column with this role."""
        return next((name for name, one in self.of.items() if one == role), None)

    def all(self, role: str) -> tuple[str, ...]:
        """Return every column with this role, from left to right."""
        return tuple(name for name, one in self.of.items() if one == role)


class AssetNames:
    """The assets of a history, found by whatever a file calls them.

    Made once for a file: a file may have as many names as the history has assets.
    """

    def __init__(self, assets: Sequence[str] | None) -> None:
        self._exact = frozenset(assets or ())
        self._by_key = {words.key(asset): asset for asset in assets or ()}
        # a history may call an asset by its currency too, and portfolios only by its name
        bare = [
            (words.key(_IN_CURRENCY.sub("", without_unit(one)[0])), one) for one in assets or ()
        ]
        often = Counter(key for key, _ in bare)
        self._by_key |= {
            key: one for key, one in bare if often[key] == 1 and key not in self._by_key
        }
        self.tickers = Tickers(assets or ())

    def spelling(self, name: str) -> str | None:
        """Return the asset that a name means, as the history spells it; None where it is none."""
        if name in self._exact:
            return name
        key = words.key(name)
        if key in self._by_key or not self._by_key:
            return self._by_key.get(key)
        spaced = name.replace("_", " ").replace("%", " ").replace("(", " ").replace(")", " ")
        bare = " ".join(word for word in spaced.split() if word.casefold() not in FILLER)
        if not bare:
            return None
        found = self._by_key.get(words.key(bare))
        if found is None and not words.is_cash(bare):
            # an asset's amounts in one currency: Fund A (USD), Fund A in EUR
            found = self._by_key.get(words.key(_IN_CURRENCY.sub("", bare)))
        if found is None and (counted := without_unit(name)[0]) != name:
            found = self.spelling(counted)
        if found is None and (plain := _FOOTNOTE.sub("", name)) not in ("", name):
            found = self.spelling(plain)
        if found is None:
            same = self.tickers.candidates(name)
            found = same[0] if len(same) == 1 else None
        return found

    def is_by_ticker(self, name: str) -> bool:
        """Whether a name means an asset only because vendors write the same ticker differently."""
        return self.spelling(name) in self.tickers.candidates(name) and (
            words.key(name) not in self._by_key
        )


def refuse_strangers(table: CellTable, assets: Sequence[str] | None) -> None:
    """Refuse a table of very many columns of which no one is an asset's, before they are read.

    Args:
        table: The file's cells by column.
        assets: Those of the history; None where it is not known.
    """
    if not assets or len(table.columns) <= MOST_STRANGERS:
        return
    known = AssetNames(assets)
    if any(known.spelling(name) is not None for name in table.names):
        return
    raise UnreadableFile(
        f"{table.file} has {len(table.columns):,} columns, and none of them is named like an asset "
        f"of the history ({some(list(assets), NAMED)}); check that it is the right file, or say "
        "which assets they are."
    )


def guess_roles(
    table: CellTable,
    numbers: dict[str, Numbers],
    date_name: str | None,
    assets: Sequence[str] | None,
    given: dict[str, str],
    layout: str,
    guessed: dict[str, Guess],
) -> Roles:
    """Give every column a role.

    Args:
        table: The file's cells by column.
        numbers: Each column read as numbers, by name.
        date_name: The column of dates; None where there is none.
        assets: Those of the history; None where it is not known.
        given: The roles that the analyst gave, by column.
        layout: Auto, wide or long.
        guessed: Collects what was detected and why, by the argument that overrides it.
    """
    of = dict(given)
    if date_name is not None:
        of[date_name] = DATE
    asset_column = next((name for name, role in of.items() if role == ASSET), None)
    if asset_column is None and layout != WIDE:
        named = [] if layout == LONG else _called_as_assets(numbers, of, assets)
        if len(named) < FEWEST_HOLDINGS:
            asset_column = find_asset_column(table, numbers, of, assets, layout)
    is_long = asset_column is not None
    if layout == LONG and not is_long:
        raise UnreadableFile(
            f"{table.file} has no column with the assets' names, which a long table needs; "
            "name it with roles, or read the file as wide."
        )
    if is_long and asset_column is not None:
        of[asset_column] = ASSET
    reason = (
        "as asked for"
        if layout != "auto"
        else (
            f"column {asset_column} names the assets"
            if is_long
            else "one row holds a whole portfolio"
        )
    )
    guessed["layout"] = Guess(LONG if is_long else WIDE, reason)
    if INVESTOR not in of.values():
        investor = _investor_column(table, numbers, of, assets, is_long)
        if investor is not None:
            of[investor] = INVESTOR
    if is_long:
        _long_values(table, numbers, of, guessed)
        if INVESTOR not in of.values():
            of |= _owner_by_sums(table, numbers, of)
        matched: dict[str, str] = {}
        doubtful: tuple[str, ...] = ()
    else:
        matched = _wide_holdings(table, numbers, of, assets)
        doubtful = _doubtful(table, numbers, of)
    for column in table.columns:
        of.setdefault(column.name, ATTRIBUTE if column.filled.any() else IGNORE)
    ordered = {name: of[name] for name in table.names}
    return Roles(ordered, LONG if is_long else WIDE, matched, doubtful)


def _called_as_assets(
    numbers: dict[str, Numbers], taken: dict[str, str], assets: Sequence[str] | None
) -> list[str]:
    """Columns of numbers that are called as assets are: in such a file a row is a portfolio."""
    known = AssetNames(assets)
    return [
        name
        for name, one in numbers.items()
        if name not in taken
        and one.share >= MOSTLY
        and (known.spelling(name) or known.spelling((without_date(name) or ("",))[0])) is not None
    ]


def _investor_column(
    table: CellTable,
    numbers: dict[str, Numbers],
    taken: dict[str, str],
    assets: Sequence[str] | None,
    is_long: bool,
) -> str | None:
    known = AssetNames(assets)
    free = [
        column
        for column in table.columns
        if column.name not in taken
        and column.filled.any()
        and known.spelling(column.name) is None
        # "% of account" and "account value" speak of an account, but do not name it.
        and not words.is_weight(column.name)
        and not words.says(column.name, words.AMOUNT)
        and not numbers[column.name].percent.any()
    ]
    for vocabulary in (words.INVESTOR - {"id", "portfolio"}, words.INVESTOR):
        for column in free:
            if words.says(column.name, vocabulary):
                return column.name
    texts = [column for column in free if numbers[column.name].share < MOSTLY]
    if is_long:
        return _owner_column(table, taken, texts)
    for column in texts:
        if words.says(column.name, {"name"}) or not repeats(column):
            return column.name
    first = table.columns[0]
    if first.name in UNNAMED_COLUMNS and first.name not in taken:
        return first.name
    return None


def _owner_column(table: CellTable, taken: dict[str, str], texts: list[CellColumn]) -> str | None:
    """Find who owns the rows of a long table that names nobody: the text that parts the assets."""
    asset = table[next(name for name, role in taken.items() if role == ASSET)]
    if not repeats(asset):
        return None
    first = table.columns[0]
    unnamed = [first] if first.name in UNNAMED_COLUMNS and first.name not in taken else []
    for column in [*unnamed, *texts]:
        pairs = pa.table({"owner": column.strings, "asset": asset.strings})
        if pairs.group_by(["owner", "asset"]).aggregate([]).num_rows == len(table):
            return column.name
    return None


def _owner_by_sums(
    table: CellTable, numbers: dict[str, Numbers], of: dict[str, str]
) -> dict[str, str]:
    """Find who owns the rows of a long table by its weights: each owner's add up to one or 100."""
    weight = next((name for name, role in of.items() if role == WEIGHT), None)
    if weight is None:
        return {}
    held = np.nan_to_num(numbers[weight].values)
    for column in table.columns:
        if column.name in of or not column.filled.all():
            continue
        coded = column.strings.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        sums = np.bincount(codes, weights=held)
        adds = [np.mean(np.abs(sums / whole - 1) <= ADDS_UP) for whole in (1.0, 100.0)]
        if 1 < len(sums) < len(table) and max(adds) >= OWNERS_ADD_UP:
            return {column.name: INVESTOR}
    return {}


def _long_values(
    table: CellTable, numbers: dict[str, Numbers], of: dict[str, str], guessed: dict[str, Guess]
) -> None:
    """Mark the column that says how much is held: weights, else amounts, else shares and price."""
    numeric = [
        column.name
        for column in table.columns
        if column.name not in of and numbers[column.name].share >= MOSTLY
    ]
    if any(role in VALUES for role in of.values()):
        for name in numeric:
            if SHARES in of.values() and words.says(name, words.PRICE) and PRICE not in of.values():
                of[name] = PRICE
        return
    found = _named_values(numeric, guessed)
    # "Shares" alone may be the word for weights; with a price beside it it is a number of units.
    roles = set(found.values())
    if WEIGHT in roles:
        use = {WEIGHT}
    elif AMOUNT in roles:
        use = {AMOUNT}
    elif {SHARES, PRICE} <= roles:
        use = {SHARES, PRICE}
    elif SHARES in roles:
        use = {SHARES}
    else:
        use = set()
    if use:
        used = {name: role if role in use else IGNORE for name, role in found.items()}
        of |= _at_latest(used, numeric, guessed)
        return
    if not numeric:
        raise UnreadableFile(
            f"{table.file} has no column of numbers; "
            "a long table needs a weight, an amount, or shares and a price."
        )
    by_date = [name for _, name in sorted(dated(numeric))]
    held = sorted(numeric, key=lambda name: words.says(name, words.NOT_HELD | words.PAST))
    best = by_date[-1] if len(by_date) > 1 else held[0]
    of |= _at_latest({best: AMOUNT}, numeric, guessed)


def _at_latest(of: dict[str, str], numeric: list[str], guessed: dict[str, Guess]) -> dict[str, str]:
    """Of columns that say the same at several dates, use the latest and leave out the others."""
    found = dict(of)
    for name, role in of.items():
        alike = of_other_dates(name, numeric) if role in (*VALUES, PRICE) else []
        if not alike:
            continue
        found |= {**dict.fromkeys(alike[:-1], IGNORE), alike[-1]: role}
        if role in VALUES:
            others = ", ".join(alike[:-1])
            guessed["value column"] = Guess(alike[-1], f"the latest date; not used: {others}")
    return found


def _named_values(numeric: list[str], guessed: dict[str, Guess]) -> dict[str, str]:
    """Return the role of every column of numbers whose name says what it holds."""
    found: dict[str, str] = {}
    weights = [name for name in numeric if words.is_weight(name)]
    weights.sort(key=lambda name: words.says(name, words.NOT_HELD | words.PAST))
    amounts = [name for name in numeric if name not in weights and _is_amount(name)]
    if weights:
        found[weights[0]] = WEIGHT
    if amounts:
        best = min(amounts, key=_doubts)
        if len(amounts) > 1:
            others = ", ".join(name for name in amounts if name != best)
            guessed["value column"] = Guess(best, f"its name says so; not used: {others}")
        found.update({name: AMOUNT if name == best else IGNORE for name in amounts})
    for role, vocabulary in ((SHARES, words.SHARES), (PRICE, words.PRICE)):
        # What was paid once is not what a unit is worth today.
        for name in sorted(numeric, key=lambda one: words.says(one, words.PAST)):
            if name not in found and role not in found.values() and words.says(name, vocabulary):
                found[name] = role
    return found


def _is_amount(name: str) -> bool:
    """Whether a name says what a holding is worth, and not what one unit of it is."""
    vocabulary = words.AMOUNT | words.DOUBTFUL_AMOUNT
    return words.says(name, vocabulary) and not words.says(name, words.PRICE)


def _doubts(name: str) -> tuple[bool, bool, bool]:
    """Order columns of amounts: today's value in one currency first."""
    return (
        words.says(name, words.PAST),
        words.says(name, words.LOCAL),
        not words.says(name, words.AMOUNT),
    )


def _wide_holdings(
    table: CellTable, numbers: dict[str, Numbers], of: dict[str, str], assets: Sequence[str] | None
) -> dict[str, str]:
    """Mark the columns that are holdings; return which asset each stands for."""
    matched: dict[str, str] = {}
    loose: list[str] = []
    known = AssetNames(assets)
    at_date = _at_one_date([name for name in table.names if name not in of], numbers, known)
    for column in table.columns:
        name = column.name
        if of.get(name) == HOLDING:
            matched[name] = known.spelling(name) or name
        if name in of:
            continue
        spelled = known.spelling(name)
        if spelled is not None:
            of[name], matched[name] = HOLDING, spelled
        elif name in at_date:
            of[name] = HOLDING if at_date[name] is not None else IGNORE
            matched |= {name: asset} if (asset := at_date[name]) is not None else {}
        elif name in NUMBERED_ROWS and numbers[name].count_rows:
            of[name] = IGNORE
        elif numbers[name].share >= MOSTLY:
            loose.append(name)
    of |= {name: TOTAL for name in loose if words.is_total(name)}
    of |= {n: ATTRIBUTE for n in loose if n not in of and words.says(n, words.PERSONAL)}
    loose = [name for name in loose if name not in of]
    totals = [numbers[name].values for name, role in of.items() if role == TOTAL]
    with np.errstate(over="ignore"):  # numbers beyond any fortune are refused later, with a line
        extra = extra_holdings(numbers, list(matched), loose, totals)
    for name in extra:
        of[name] = HOLDING
        matched[name] = name
    _check_matches(table, matched)
    return matched


def _at_one_date(
    names: list[str], numbers: dict[str, Numbers], known: AssetNames
) -> dict[str, str | None]:
    """Columns called by an asset and a date: its asset at the latest date, else None."""
    found = {}
    for name in names:
        if numbers[name].share < MOSTLY or known.spelling(name) is not None:
            continue
        asset = known.spelling((without_date(name) or ("",))[0])
        if asset is not None:
            found[name] = asset
    if len(found) < 2:
        return {}
    days = days_in(list(found))
    latest = days.max()
    pairs = zip(found.items(), days, strict=True)
    return {name: asset if day == latest else None for (name, asset), day in pairs}


def _doubtful(table: CellTable, numbers: dict[str, Numbers], of: dict[str, str]) -> tuple[str, ...]:
    """Columns of numbers that are named like holdings, but were not taken for any."""
    return tuple(
        column.name
        for column in table.columns
        if column.name not in of
        and numbers[column.name].share >= MOSTLY
        and np.nan_to_num(numbers[column.name].values).any()
        and (words.is_cash(column.name) or words.words_of(column.name) <= words.UNCLASSIFIED)
        and words.words_of(column.name)
    )


def _check_matches(table: CellTable, matched: dict[str, str]) -> None:
    if not matched:
        raise UnreadableFile(
            f"{table.file} has no column of holdings; a wide table needs one column of numbers per "
            "asset, a long one a column with the assets' names and one with weights or amounts."
        )
    first: dict[str, str] = {}
    for name, asset in matched.items():
        if asset in first:
            raise UnreadableFile(
                f"{table.file}: columns {first[asset]} and {name} both stand for {asset}; "
                "remove one of them."
            )
        first[asset] = name
