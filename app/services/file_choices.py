"""Choices for a file of portfolios: what settles a finding, what was chosen before, what is new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from imop_app.files import FileBox
from imop_app.services.errors import AppError, sentences
from imop_app.services.people import Investors, check, load, portfolio_keys
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings


@sentences
def cured(batch: InvestorBatch, option: str, value: str) -> InvestorBatch:
    """The batch with the choice that settles a finding.

    Args:
        batch: As it is read now.
        option: The reader's argument.
        value: What to give it.
    """
    if option == "rates":
        return replace(batch, rates=rates_of(value))
    if option == "coverage":
        return replace(batch, coverage=float(value))
    if option == "roles":
        column, _, role = value.rpartition("=")
        return replace(batch, roles=tuple(sorted({**dict(batch.roles), column: role}.items())))
    change: dict[str, Any] = {option: value}
    return replace(batch, **change)


@sentences
def rates_of(text: str) -> tuple[tuple[str, float], ...]:
    """Exchange rates as somebody writes them, "USD=0.92 CHF=1.05".

    Args:
        text: Currencies with what a unit of each is worth in one of them, parted by spaces.
    """
    found: dict[str, float] = {}
    for part in text.replace(";", " ").split():
        name, sign, number = part.partition("=")
        try:
            rate = float(number)
        except ValueError:
            sign, rate = "", 0.0
        if not sign or not name or not 0 < rate < float("inf"):
            raise AppError(f"{part} is no exchange rate; write USD=0.92 for each currency.")
        found[name.upper()] = rate
    return tuple(found.items())


def cash_names(people: Investors, market: MarketSettings) -> dict[str, float | None]:
    """Cash that has no history, and cash that was given a rate: names with yearly rates, or None.

    Args:
        people: The investors as they were read.
        market: The chosen market.
    """
    findings = [finding for one in people.reading for finding in one.findings]
    asked = [
        cure.value.rpartition("=")[0]
        for finding in findings
        for cure in finding.cures
        if cure.option == "cash"
    ]
    return {**dict.fromkeys(asked), **dict(market.cash)}


def with_cash(market: MarketSettings, name: str, rate: float | None) -> MarketSettings:
    """The market with cash that earns a rate.

    Args:
        market: The chosen market.
        name: What cash is called in the portfolios.
        rate: What it earns in a year, a fraction; None takes it out of the market.
    """
    rates = {**dict(market.cash), name: rate}
    kept = tuple((one, given) for one, given in rates.items() if given is not None)
    return replace(market, cash=kept)


@sentences
def remembered(
    market: MarketSettings, before: InvestorBatch, fresh: InvestorBatch, box: FileBox
) -> InvestorBatch:
    """A new file read as the last one was, where it has the same columns; else as it comes.

    Both are read with the choices, without which some files cannot be read at all.

    Args:
        market: The chosen market.
        before: How the last file was read.
        fresh: The new file, with nothing chosen.
        box: The files of the workspace.
    """
    same = replace(before, file=fresh.file, sheet=fresh.sheet)
    if before.file is None or same == fresh:
        return fresh
    old, new = (_columns(market, one, box) for one in (before, same))
    return same if old is not None and old == new else fresh


def _columns(market: MarketSettings, batch: InvestorBatch, box: FileBox) -> tuple[str, ...] | None:
    """The columns of a file; None where it cannot be read with these choices."""
    try:
        return tuple(column for column, _ in check(market, batch, box).roles)
    except AppError:
        return None


@sentences
def more(
    market: MarketSettings, chosen: InvestorSettings, batch: InvestorBatch, box: FileBox
) -> InvestorBatch:
    """A file for the end of the stream: read as the first one, without what is there already.

    Args:
        market: The chosen market.
        chosen: The stream so far.
        batch: The file that is to be added.
        box: The files of the workspace.
    """
    batch = remembered(market, chosen.first, batch, box)
    there, new = load(market, chosen, box), check(market, batch, box)
    known = set(portfolio_keys(there))
    again = sum(key in known for key in portfolio_keys(new))
    name = "" if batch.file is None else batch.file.name
    if again == len(new):
        raise AppError(
            f"All {again:,} portfolios of {name} are in the stream already, with the same "
            "holdings; nothing is added."
        )
    return replace(batch, only_new=True) if again else batch
