"""How much of what is held has a return history: coverage of value.

A holding without a history cannot be learned from. What is known of a portfolio is then only a
part of it, and a part may say something else than the whole: below a least share the portfolio is
set aside, and how much of the file has no history is said in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.sentences.numbers import some
from imop_engine.tables import words
from imop_engine.tables.history_layout import WIDE
from imop_engine.tables.holdings import Book
from imop_engine.tables.isin import note_mistyped
from imop_engine.tables.portfolio_roles import HOLDING, IGNORE, AssetNames, Roles
from imop_engine.tables.portfolio_rules import AMOUNTS, CASH_NAME, FLOAT_ROOM, Rules
from imop_engine.tables.reading_report import CHANGED, KEPT, REFUSED, Cure, Notes
from imop_engine.tables.tickers import contradictory

# Assets that a sentence names, and columns that get a choice of their own.
NAMED: Final = 3
# A rate to write in the place of the analyst's own.
EXAMPLE_RATE: Final = "2%"

# Of the value, so much may be offered to be ignored.
MOST_IGNORED: Final = 0.5
NO_HISTORY: Final = "has no return history"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Uncovered:
    """What has no history: names, their shares of the file, and the share of each portfolio."""

    names: tuple[str, ...]
    of_file: FloatArray
    of_portfolio: FloatArray
    total: float

    @property
    def largest(self) -> list[str]:
        """The names, those with the most value first."""
        return [self.names[i] for i in np.argsort(-self.of_file, kind="stable")]

    @property
    def listed(self) -> str:
        """The largest with their shares of the file's value."""
        order = np.argsort(-self.of_file, kind="stable")
        said = [f"{self.names[i]} {share_text(float(self.of_file[i]))}" for i in order]
        return some(said, NAMED)


def share_text(share: float) -> str:
    """A share for a sentence: whole percent, more digits where it is small.

    >>> share_text(0.7612), share_text(0.0312), share_text(0.00004)
    ('76%', '3.1%', '0.004%')
    """
    size = 100 * abs(share)
    if size >= 9.95 or size == 0:
        return f"{100 * share:.0f}%"
    digits = 1 if size >= 0.1 else min(8, int(np.ceil(-np.log10(size))))
    return f"{100 * share:.{digits}f}%"


def apply_coverage_rule(
    book: Book,
    assets: Sequence[str],
    units: str,
    rules: Rules,
    roles: Roles,
    notes: Notes,
    places: HistoryWords = PYTHON,
) -> Book:
    """Bring the book to the assets of the history, and say what has none.

    Args:
        book: The portfolios as they were read.
        assets: Those of the history.
        units: Fraction, percent or amounts.
        rules: The analyst's choices.
        roles: What the columns are; in a wide file a column can be ignored.
        notes: Collects what was noticed, changed or refused.
        places: What other places are called where the sentences are read.

    Returns:
        The portfolios with these assets in this order, those without enough history set aside.
    """
    spelled = _spelled(book, assets, rules, notes)
    spelled = _by_ticker(book, spelled, AssetNames(assets), roles, notes, places)
    columns = [*assets, *([CASH_NAME] if CASH_NAME in spelled and CASH_NAME not in assets else [])]
    position = {name: j for j, name in enumerate(columns)}
    values = np.zeros((len(book), len(columns)))
    for j, asset in enumerate(spelled):
        if asset is not None:
            values[:, position[asset]] += book.values[:, j]
    left = _uncovered(book, [asset is None for asset in spelled], units)
    notes.covered = 1.0 - left.total
    known = replace(
        book, assets=tuple(columns), values=values, covered=np.asarray(1.0 - left.of_portfolio)
    )
    if not left.names:
        return known
    notes.add(
        f"{share_text(left.total)} of the value of this file {NO_HISTORY}: {left.listed}",
        KEPT,
        _remedy(left, places),
        needs=True,
        cures=_cures(left, roles),
    )
    note_mistyped(left.names, assets, notes)
    return _leave_out(known, left, rules, notes, places)


def _spelled(book: Book, assets: Sequence[str], rules: Rules, notes: Notes) -> list[str | None]:
    """The asset of the history that each holding is; None where there is none.

    Cash by another name is the market's cash, where that has exactly one.
    """
    history = AssetNames(assets)
    found = [history.spelling(name) for name in book.assets]
    cash = [name for name in assets if words.is_cash(name)]
    if not cash and rules.sums == "cash":
        cash = [CASH_NAME]
    if len(cash) != 1:
        return found
    spelled = [
        cash[0] if one is None and words.is_cash(name) else one
        for one, name in zip(found, book.assets, strict=True)
    ]
    counted = [
        name
        for j, (name, one) in enumerate(zip(book.assets, found, strict=True))
        if one is None and spelled[j] and name != cash[0] and book.values[:, j].any()
    ]
    if counted:
        notes.add(
            f"{some(counted, NAMED)} {'is' if len(counted) == 1 else 'are'} counted as {cash[0]}",
            KEPT,
            "nothing needs to be done unless it is another asset",
        )
    return spelled


def _by_ticker(
    book: Book,
    spelled: Sequence[str | None],
    history: AssetNames,
    roles: Roles,
    notes: Notes,
    places: HistoryWords,
) -> list[str | None]:
    """Say which holdings were found by their tickers, and leave open what may be two listings.

    Args:
        book: The portfolios as they were read.
        spelled: The asset of the history that each holding is; None where there is none.
        history: The assets of the history.
        roles: What the columns are; those of a wide file carry the tickers.
        notes: Collects what was noticed, changed or refused.
        places: What other places are called where the sentences are read.
    """
    wide = roles.layout == WIDE
    names = list(roles.matched) if wide else list(book.assets)
    found: dict[str, list[str]] = {}
    for name in names:
        if history.is_by_ticker(name):
            found.setdefault(str(history.spelling(name)), []).append(name)
    open_ = {asset: ones for asset, ones in found.items() if contradictory(ones)}
    done = [f"{ones[0]} is {asset}" for asset, ones in found.items() if asset not in open_]
    if done:
        notes.add(
            f"assets are found by their tickers: {some(done, NAMED)}",
            KEPT,
            "nothing needs to be done unless it is another security",
        )
    said = [f"{' and '.join(ones)} may both be {asset}" for asset, ones in open_.items()]
    said += _undecided(list(roles.of) if wide else names, history)
    if said:
        notes.add(
            f"tickers do not tell which asset is meant, so none is taken: {some(said, NAMED)}",
            KEPT,
            f"say with {places.asset_map} which assets they are",
            needs=True,
        )
    if wide:
        return list(spelled)
    return [
        None if one in open_ and name in open_[one] else one
        for name, one in zip(book.assets, spelled, strict=True)
    ]


def _undecided(names: Sequence[str], history: AssetNames) -> list[str]:
    """Which names have the symbol of an asset, but may be several or are listed elsewhere."""
    said = []
    for name in names:
        if history.spelling(name) is not None:
            continue
        several, abroad = history.tickers.candidates(name), history.tickers.listed_elsewhere(name)
        if several:
            said.append(f"{name} may be {' or '.join(several)}")
        elif abroad:
            said.append(f"{name} is listed elsewhere than {some(abroad, NAMED)}")
    return said


def _uncovered(book: Book, stranger: Sequence[bool], units: str) -> _Uncovered:
    """Measure what has no history; weights count every portfolio alike, amounts by their size."""
    held = np.abs(book.values)
    whole = held.sum(axis=1)
    weight = np.where(whole > 0, 1.0 if units == AMOUNTS else 1.0 / np.maximum(whole, 1e-300), 0.0)
    everything = float(whole @ weight)
    strange = np.flatnonzero(np.asarray(stranger, bool) & held.any(axis=0))
    foreign = held[:, strange].sum(axis=1)
    of_file = weight @ held[:, strange] / (everything or 1.0)
    return _Uncovered(
        tuple(book.assets[j] for j in strange),
        of_file,
        np.divide(foreign, whole, out=np.zeros_like(whole), where=whole > 0),
        float(of_file.sum()),
    )


def _remedy(left: _Uncovered, places: HistoryWords) -> str:
    said = ["add the histories", f"say with {places.asset_map} which assets they are"]
    if any(words.is_cash(name) for name in left.names):
        said.append(f"give cash a rate with {places.cash}")
    return f"{', '.join(said[:-1])} or {said[-1]}"


def _cures(left: _Uncovered, roles: Roles) -> list[Cure]:
    cash = next((name for name in left.largest if words.is_cash(name)), None)
    cures = []
    if cash is not None:
        cures.append(Cure("cash", f"{cash}={EXAMPLE_RATE}", f"Give {cash} a rate"))
    if left.total > MOST_IGNORED:
        return cures  # without these columns hardly anything would be left to learn from
    column = {asset: name for name, asset in roles.matched.items()}
    cures.extend(
        Cure("roles", f"{column[name]}={IGNORE}", f"Ignore the column {name}")
        for name in left.largest[:NAMED]
        if roles.of.get(column.get(name, "")) == HOLDING
    )
    return cures


def _leave_out(
    book: Book, left: _Uncovered, rules: Rules, notes: Notes, places: HistoryWords
) -> Book:
    """Set aside what has too little history, and make whole portfolios of the others."""
    named = some(left.largest, NAMED)
    covered = 1.0 - left.of_portfolio

    def share_left(p: int) -> str:
        return f"{left.of_portfolio[p]:.2%}"

    hit = left.of_portfolio > 0
    if rules.unknown == "refuse":
        book.note(
            hit,
            f"the portfolio holds assets without a history: {named}",
            REFUSED,
            "add their histories, or choose to drop such assets",
            notes,
            share_left,
        )
        return book.set_aside(hit, lambda _: f"holds assets without a history: {named}", notes)
    nothing = hit & ~(book.values != 0).any(axis=1)
    book.note(
        nothing,
        f"all that is held are assets without a history: {named}",
        REFUSED,
        f"add their histories, or say with {places.asset_map} which assets they are",
        notes,
        lambda p: str(book.ids[p]),
        needs=False,
    )
    little = hit & ~nothing & (covered < rules.coverage - FLOAT_ROOM)
    book.note(
        little,
        f"less than {share_text(rules.coverage)} of the portfolio has a return history, so it is "
        "set aside",
        REFUSED,
        "add the missing histories, or ask for a smaller share",
        notes,
        lambda p: f"{book.ids[p]}: {share_text(float(covered[p]))}",
        cures=[Cure("coverage", "0", "Use them all the same")],
    )
    book.note(
        hit & ~nothing & ~little,
        f"assets without a history are left out and the rest is enlarged to the whole: {named}",
        CHANGED,
        "nothing needs to be done, or add their histories",
        notes,
        share_left,
    )
    kept = np.where(hit & ~nothing, covered, 1.0)[:, None]
    return replace(book, values=book.values / kept).set_aside(
        nothing | little, lambda p: _too_little(float(covered[p]), rules.coverage), notes
    )


def _too_little(covered: float, asked: float) -> str:
    """Why a portfolio is set aside, as what follows the investor's name."""
    if covered <= 0:
        return "holds only assets without a return history"
    return (
        f"has a return history for {share_text(covered)} of its value, less than the "
        f"{share_text(asked)} asked for"
    )
