"""What the commands share: reading a market, small texts from the command line, saying results.

Imports of the engine are inside the functions: this module is loaded for every `imop --help`.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from imop_engine.errors import ImopError, InvalidInput, OldStudy

if TYPE_CHECKING:
    from imop_engine.commands.options import CashOptions, LimitOptions, MarketFiles, YahooOptions
    from imop_engine.loading import HistoryOptions, TableFile
    from imop_engine.market import Market
    from imop_engine.study import Study

LOG = logging.getLogger("imop")

EXAMPLE_ANCHOR: Final = "AAPL=0.08"
EXAMPLE_CASH: Final = "Cash=2%"
LONGEST_NUMBER: Final = 9  # digits of a whole number that anybody means
PLUS_MINUS: Final = r"±|\+/-|\+-"


def load_market(
    files: MarketFiles,
    reading: HistoryOptions | None = None,
    yahoo: YahooOptions | None = None,
    cash: CashOptions | None = None,
    limits: LimitOptions | None = None,
) -> Market:
    """The market from a history, from Yahoo, from two tables of moments, or from a bundled set.

    Args:
        files: The analyst's tables, or the name of a bundled market.
        reading: How a history is read and what is estimated from it; None takes the defaults.
        yahoo: Which prices to fetch; None fetches none.
        cash: Assets of which only a rate is known; None adds none.
        limits: What is held at most, with the file of groups; None knows none.

    Returns:
        Yearly expected returns and covariance, with what was noticed on the way.
    """
    from imop_engine import loading
    from imop_engine.sentences.market import SHELL
    from imop_engine.tables.readers import read_within_budget

    source = loading.MarketSource(
        history=_table(files.returns),
        expected=_table(files.expected),
        covariance=_table(files.covariance),
        yahoo=None if yahoo is None else yahoo.prices(),
        bundled=files.bundled,
        asset_map=_table(files.asset_map),
        groups=None if limits is None else _table(limits.group),
        cash=() if cash is None else tuple(assignments(cash.cash, "--cash", EXAMPLE_CASH).items()),
    )
    words = loading.SourceWords(
        "say what the assets return: --returns FILE, or --expected FILE with --covariance FILE, or "
        "--tickers, or --market paper8; exactly one of them.",
        "--expected and --covariance belong together: one is missing. Give both, or a history with "
        "--returns.",
        SHELL,
    )
    found = loading.load_market(source, reading, words, read_within_budget)
    # a results folder says on which data it stands; of a file it says the name
    return replace(found, notes=(found.description, *found.notes)) if files.bundled else found


def _table(path: Path | None) -> TableFile | None:
    from imop_engine.loading import TableFile

    return None if path is None else TableFile.at(path)


def opened_study(folder: Path) -> Study:
    """The study of a folder, with what was noticed said in the log, and the code to work with it.

    Args:
        folder: As `imop learn` wrote it.
    """
    from imop_engine.storage import load_study

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldStudy)  # said as a sentence instead
        study = load_study(folder)
    for remark in study.remarks:
        LOG.warning(remark)
    prepare()
    return study


def prepare() -> None:
    """Compile the numerical code where that has not been done, on all cores, and say so first.

    Where an app or another shell is at it already, this waits for that and compiles nothing twice.
    """
    from imop_engine import warm

    if warm.is_ready():
        return
    LOG.warning("Compiling the numerical code; this happens once and takes about a minute.")
    try:
        warm.run()
    except RuntimeError as error:
        raise ImopError(f"{error}; `python -m imop_engine.warm` shows the whole message") from error


def make_folder(out: Path) -> Path:
    """Make the folder for results before any work is done, so that none is lost."""
    from imop_engine import disk

    try:
        disk.own_folder(out)
        if not os.access(out, os.W_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInput(
            f"nothing can be written into the folder {out} ({reason}); choose another with --out."
        ) from None
    return out


def assignments(given: Sequence[str] | None, option: str, example: str) -> dict[str, float]:
    """Options like ASSET=0.03, each once.

    Args:
        given: The texts of all these options; None where there were none.
        option: Its name, for errors.
        example: A right one, for errors.

    Returns:
        Numbers by name.
    """
    found: dict[str, float] = {}
    for text in given or ():
        name, number = assignment(text, option, example)
        if name in found:
            raise InvalidInput(f"{option} names {name} twice; give it once.")
        found[name] = number
    return found


def assignment(text: str, option: str, example: str) -> tuple[str, float]:
    """One NAME=NUMBER; the name may contain the sign itself.

    Args:
        text: As the analyst wrote it.
        option: Its name, for errors.
        example: A right one, for errors.

    Returns:
        The name and the number.
    """
    name, sign, number = text.rpartition("=")
    value = _number(number)
    if value is None or not sign or not name.strip():
        raise InvalidInput(f"{option} is {text!r}; write it as {example}.")
    return name.strip(), value


def share(text: str, option: str, example: str) -> float:
    """One number, which may be in percent.

    Args:
        text: As the analyst wrote it.
        option: Its name, for errors.
        example: A right one, for errors.
    """
    value = _number(text)
    if value is None:
        raise InvalidInput(f"{option} is {text!r}; write it as {example}.")
    return value


def unsure_assignment(text: str, option: str, example: str) -> tuple[str, float, float]:
    """One NAME=NUMBER, or NAME=NUMBER±ERROR; "+-" and "+/-" are the same sign.

    Args:
        text: As the analyst wrote it.
        option: Its name, for errors.
        example: A right one, for errors.

    Returns:
        The name, the number, and its standard error: 0 where none was written.
    """
    head, sign, tail = text.rpartition("=")
    number, *more = re.split(PLUS_MINUS, tail)
    if not more:
        return *assignment(text, option, example), 0.0
    error = _number(more[0]) if len(more) == 1 else None
    mixed = number.strip().endswith("%") != more[0].strip().endswith("%")
    if error is None or mixed:
        raise InvalidInput(
            f"{option} is {text!r}; write it as {example}, or with its standard error as "
            f"{example}±0.01: both numbers as fractions, or both in %."
        )
    return *assignment(f"{head}{sign}{number}", option, example), error


def _number(text: str) -> float | None:
    """A number, which may be in percent; None where it is none."""
    plain = text.strip()
    try:
        return float(plain.removesuffix("%")) / (100.0 if plain.endswith("%") else 1.0)
    except ValueError:
        return None


def parse_weights(text: str) -> int | str:
    """Read the option --weights: a whole number, or 'exact'; the learner's options check it."""
    if text == "exact":
        return text
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER:
        return int(text)
    raise InvalidInput(
        f"--weights is {text!r}; give a whole number from 2 up, for example 41, or 'exact'."
    )


def with_cures(sentence: str, cures: Sequence[Any], options: Mapping[str, str]) -> str:
    """A sentence about a file with the options that would settle it.

    Args:
        sentence: What is so, and what to do.
        cures: Choices that would settle it, as the readers know them.
        options: What the shell calls the readers' arguments, where it is another name.

    >>> from imop_engine.tables import Cure
    >>> with_cures("x.csv: odd.", [Cure("sums", "cash", ""), Cure("units", "percent", "")],
    ...     {"units": "--portfolio-units"})
    'x.csv: odd. Try --sums cash or --portfolio-units percent.'
    """
    if not cures:
        return sentence
    tries = [f"{options.get(one.option, f'--{one.option}')} {_quoted(one.value)}" for one in cures]
    return f"{sentence} Try {' or '.join(tries)}."


def _quoted(value: str) -> str:
    return shlex.quote(value) if value else ""


def command_line(context: typer.Context) -> str:
    """The command that was given, to be given again."""
    arguments = context.find_root().obj
    return shlex.join(["imop", *(arguments if isinstance(arguments, list) else sys.argv[1:])])


def say_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    from imop_engine.tables.export import plain

    typer.echo(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def portfolio(path: Path, names: Sequence[str]) -> dict[str, float]:
    """One portfolio: rows of asset and weight, or one row with a column for each asset.

    Args:
        path: The table.
        names: The assets; columns that are none of them are not read.
    """
    from imop_engine.tables.export import read_table

    table = read_table(path)
    if {"asset", "weight"} <= set(table.columns):
        shares = dict(zip(table["asset"].astype(str), table["weight"], strict=True))
    elif len(table) == 1:
        shares = {name: table[name].iloc[0] for name in table.columns if name in names}
    else:
        shares = {}
    try:
        found = {name: float(share) for name, share in shares.items() if float(share) != 0.0}
    except (TypeError, ValueError):
        found = {}
    if not found:
        raise InvalidInput(
            f"{path.name} holds no portfolio; give rows of asset and weight, or one row with a "
            "column an asset."
        )
    return found
