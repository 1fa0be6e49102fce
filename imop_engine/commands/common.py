"""What the commands share: reading a market, small texts from the command line, saying results."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from imop_engine.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from imop_engine.tables import History

EXAMPLE_ANCHOR: Final = "AAPL=0.08"
ASSETS_NAMED: Final = 8  # in a sentence about a name that is none of them

ReturnsFile = Annotated[
    Path | None,
    typer.Option("--returns", help="Return or price history: CSV, Excel, Parquet or JSON."),
]
ExpectedFile = Annotated[
    Path | None,
    typer.Option("--expected", help="Yearly expected returns, with --covariance."),
]
CovarianceFile = Annotated[
    Path | None, typer.Option("--covariance", help="Yearly covariance, with --expected.")
]
BundledMarket = Annotated[
    str | None, typer.Option("--market", help="A bundled market instead: paper8 or us20.")
]
Tickers = Annotated[
    str | None,
    typer.Option("--tickers", help="Prices from Yahoo instead, as 'AAPL MSFT NESN.SW'."),
]
HistoryFrom = Annotated[
    str, typer.Option("--history-from", help="First day of Yahoo's prices, as 2010-01-01.")
]
HistoryTo = Annotated[
    str | None, typer.Option("--history-to", help="Last day of Yahoo's prices; today if not said.")
]
Frequency = Annotated[
    str, typer.Option("--frequency", help="Of Yahoo's prices: daily, weekly or monthly.")
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Ask nobody; take Yahoo's prices from the cache.")
]
Kind = Annotated[str, typer.Option("--kind", help="What the history holds: auto, prices, returns.")]
Units = Annotated[
    str, typer.Option("--units", help="Units of the returns: auto, fraction, percent.")
]
Layout = Annotated[str, typer.Option("--layout", help="Layout of the history: auto, wide, long.")]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Sheet of the history, in a workbook.")]
Periods = Annotated[
    int | None,
    typer.Option("--periods-per-year", min=1, help="12 for months; detected from the dates."),
]
MeanEstimator = Annotated[
    str,
    typer.Option("--mean-estimator", help="arithmetic, geometric, exponential or shrunk."),
]
CovarianceEstimator = Annotated[
    str,
    typer.Option(
        "--covariance-estimator",
        help="sample, ledoit-wolf, oas, exponential or constant-correlation.",
    ),
]
Repair = Annotated[
    bool,
    typer.Option("--repair", help="Replace a covariance that is none by the nearest that is one."),
]
Upper = Annotated[float, typer.Option("--upper", help="Cap on every holding.")]
Caps = Annotated[
    list[str] | None, typer.Option("--cap", help="Cap of one asset, as ASSET=0.3; repeatable.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of whatever is drawn at random.")]


@dataclass(frozen=True, eq=False)
class Market:
    """Moments, the history they come from where there is one, and what was noticed on the way."""

    expected_returns: pd.Series[Any]
    covariance: pd.DataFrame
    history: pd.DataFrame | None
    periods_per_year: int
    reading: tuple[Any, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class HistoryChoices:
    """How a history is read and what is estimated from it."""

    kind: str = "auto"
    units: str = "auto"
    layout: str = "auto"
    sheet: str | None = None
    periods_per_year: int | None = None
    mean: str = "arithmetic"
    covariance: str = "sample"
    repair: bool = False
    strict: bool = False


@dataclass(frozen=True)
class Yahoo:
    """Which prices to fetch."""

    tickers: str | None = None
    start: str = "2000-01-01"
    end: str | None = None
    frequency: str = "monthly"
    offline: bool = False


def load_market(
    returns: Path | None,
    expected: Path | None,
    covariance: Path | None,
    bundled: str | None,
    choices: HistoryChoices,
    yahoo: Yahoo | None = None,
) -> Market:
    """The market from a history, from Yahoo, from two tables of moments, or from a bundled set."""
    fetched = yahoo is not None and yahoo.tickers is not None
    tables = expected is not None or covariance is not None
    if [returns is not None, tables, bool(bundled), fetched].count(True) != 1:
        raise InvalidInput(
            "say what the assets return: --returns FILE, or --expected FILE with --covariance "
            "FILE, or --tickers, or --market paper8; exactly one of them."
        )
    if returns is not None:
        return _from_history(_read_history(returns, choices), choices)
    if yahoo is not None and yahoo.tickers is not None:
        return _from_history(_fetch_history(yahoo, choices.strict), choices)
    if bundled:
        return _from_bundle(bundled)
    if expected is None or covariance is None:
        raise InvalidInput(
            "--expected and --covariance belong together: one is missing. Give both, or a history "
            "with --returns."
        )
    from imop_engine.tables import read_moments

    moments = read_moments(
        table_source(expected),
        table_source(covariance),
        names=(expected.name, covariance.name),
        repair=choices.repair,
    )
    return Market(moments.expected_returns, moments.covariance, None, 1, (), tuple(moments.notes))


def _read_history(path: Path, choices: HistoryChoices) -> History:
    from imop_engine.tables import read_returns

    return read_returns(
        table_source(path),
        name=path.name,
        kind=choices.kind,
        units=choices.units,
        layout=choices.layout,
        sheet=choices.sheet,
        strict=choices.strict,
        periods_per_year=choices.periods_per_year,
    )


def _fetch_history(yahoo: Yahoo, strict: bool) -> History:
    from imop_engine.tables import read_yahoo

    return read_yahoo(
        yahoo.tickers or "",
        yahoo.start,
        yahoo.end,
        yahoo.frequency,
        offline=yahoo.offline,
        strict=strict,
    )


def _from_history(history: History, choices: HistoryChoices) -> Market:
    from imop_engine.moments import estimate_moments

    moments = estimate_moments(
        history.returns,
        mean=choices.mean,
        covariance=choices.covariance,
        periods_per_year=history.periods_per_year,
        repair=choices.repair,
    )
    return Market(
        moments.expected_returns,
        moments.covariance,
        history.returns,
        history.periods_per_year,
        (history.report,),
        tuple(moments.notes),
    )


def _from_bundle(name: str) -> Market:
    import pandas as pd

    from imop_engine.bundled import market

    found = market(name)
    names = list(found.names)
    return Market(
        pd.Series(found.expected_returns, index=names),
        pd.DataFrame(found.covariance, index=names, columns=names),
        found.history,
        found.periods_per_year,
        (),
        (f"{found.description}.",),
    )


def make_folder(out: Path) -> Path:
    """Make the folder for results before any work is done, so that none is lost."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise PermissionError(13, "permission denied")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidInput(
            f"nothing can be written into the folder {out} ({reason}); choose another with --out."
        ) from None
    return out


def table_source(path: Path) -> Any:
    """What a reader takes: the path, or for JSON (a list of rows) the table itself."""
    if path.suffix.lower() != ".json":
        return path
    from imop_engine.tables.export import read_json_table

    return read_json_table(path)


def assignments(given: Sequence[str] | None, option: str, example: str) -> dict[str, float]:
    """Options like ASSET=0.03, each once."""
    found: dict[str, float] = {}
    for text in given or ():
        name, number = assignment(text, option, example)
        if name in found:
            raise InvalidInput(f"{option} names {name} twice; give it once.")
        found[name] = number
    return found


def assignment(text: str, option: str, example: str) -> tuple[str, float]:
    """One NAME=NUMBER; the name may contain the sign itself."""
    name, sign, number = text.rpartition("=")
    percent = number.strip().endswith("%")
    try:
        value = float(number.strip().removesuffix("%")) / (100.0 if percent else 1.0)
    except ValueError:
        sign, value = "", 0.0
    if not sign or not name.strip():
        raise InvalidInput(f"{option} is {text!r}; write it as {example}.")
    return name.strip(), value


def parse_weights(text: str) -> int | str:
    """Read the option --weights: a whole number of weights from 2 up, or 'exact'."""
    if text == "exact":
        return text
    if text.isascii() and text.isdigit() and int(text) >= 2:
        return int(text)
    raise InvalidInput(
        f"--weights is {text!r}; give a whole number from 2 up, for example 41, or 'exact'."
    )


def command_line(context: typer.Context) -> str:
    """The command that was given, to be given again."""
    arguments = context.find_root().obj
    return shlex.join(["imop", *(arguments if isinstance(arguments, list) else sys.argv[1:])])


def say_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    from imop_engine.tables.export import plain

    typer.echo(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def caps_of(upper: float, caps: dict[str, float], names: Sequence[str]) -> Any:
    """One cap for all, or one for each where some differ."""
    for option, cap in {
        "--upper": upper,
        **{f"--cap {name}": cap for name, cap in caps.items()},
    }.items():
        if not cap > 0:
            raise InvalidInput(f"{option} is {cap:g}; give a share of the portfolio, 0.3 say.")
    if not caps:
        return upper
    strange = [name for name in caps if name not in names]
    if strange:
        raise InvalidInput(
            f"--cap names {strange[0]}, which is none of the assets; they are "
            f"{', '.join(names[:ASSETS_NAMED])}{', …' if len(names) > ASSETS_NAMED else ''}."
        )
    return {name: caps.get(name, upper) for name in names}
