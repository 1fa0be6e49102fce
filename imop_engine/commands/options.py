"""Options that several commands share, as frozen groups.

A command takes a group as one argument; `grouped` shows typer its fields as options of the
command. So a command of forty options is a function of nine arguments, and what is chosen travels
as one value. Imports of the engine are inside the functions: this module is loaded for every
`imop --help`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from imop_engine import loading

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
AssetMapFile = Annotated[
    Path | None,
    typer.Option("--asset-map", help="Identifiers (ISIN, ticker, name …), a row for each asset."),
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
Gaps = Annotated[
    str,
    typer.Option(
        "--gaps",
        help="Where returns are missing: likelihood (of all there are), pairwise or complete.",
    ),
]
Repair = Annotated[
    bool,
    typer.Option("--repair", help="Replace a covariance that is none by the nearest that is one."),
]
Cash = Annotated[
    list[str] | None,
    typer.Option(
        "--cash", help="Cash without a history becomes an asset by its yearly rate, as Cash=2%."
    ),
]
Upper = Annotated[str, typer.Option("--upper", help="Cap on every holding, as 0.2 or 20%.")]
Caps = Annotated[
    list[str] | None,
    typer.Option("--cap", help="Cap of one asset, as ASSET=0.3 or ASSET=30%; repeatable."),
]
LimitTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        help="A limit on what is held, as 'sector:Technology + Cash <= 30%', 'A between 5% and "
        "10%', 'each sector <= 40%' or '|A - benchmark| <= 2%'; repeatable.",
    ),
]
Minima = Annotated[
    list[str] | None,
    typer.Option("--minimum", help="The least of an asset or a group, as Cash=5%; repeatable."),
]
GroupFile = Annotated[
    Path | None,
    typer.Option(
        "--group",
        help="Which assets belong together: a column of assets, others of sector, region …",
    ),
]
BenchmarkFile = Annotated[
    Path | None,
    typer.Option("--benchmark", help="The benchmark of limits: a table of assets and shares."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Loss = Annotated[
    str,
    typer.Option(
        "--loss",
        help="What is made small: distance to the frontier (squared, as in the paper), or "
        "efficiency: return a year left on the table.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of whatever is drawn at random.")]


@dataclass(frozen=True)
class MarketFiles:
    """Where a market comes from, if not from Yahoo."""

    returns: ReturnsFile = None
    expected: ExpectedFile = None
    covariance: CovarianceFile = None
    bundled: BundledMarket = None
    asset_map: AssetMapFile = None

    @property
    def nothing(self) -> bool:
        """Whether no source was named."""
        return self == MarketFiles()


@dataclass(frozen=True)
class YahooOptions:
    """Which prices to fetch."""

    tickers: Tickers = None
    history_from: HistoryFrom = "2000-01-01"
    history_to: HistoryTo = None
    frequency: Frequency = "monthly"
    offline: Offline = False

    def prices(self) -> loading.YahooPrices | None:
        """The same for the loader; None where no ticker was named."""
        from imop_engine.loading import YahooPrices

        if self.tickers is None:
            return None
        dates = (self.history_from, self.history_to)
        return YahooPrices(self.tickers, *dates, self.frequency, self.offline)


@dataclass(frozen=True)
class HistoryFileOptions:
    """How a history is read and what is estimated from it."""

    kind: Kind = "auto"
    units: Units = "auto"
    layout: Layout = "auto"
    sheet: Sheet = None
    periods_per_year: Periods = None
    mean_estimator: MeanEstimator = "arithmetic"
    covariance_estimator: CovarianceEstimator = "sample"
    gaps: Gaps = "likelihood"
    repair: Repair = False

    def reading(self, strict: bool = False) -> loading.HistoryOptions:
        """The same for the loader."""
        from imop_engine.loading import HistoryOptions

        return HistoryOptions(
            kind=self.kind,
            units=self.units,
            layout=self.layout,
            sheet=self.sheet,
            periods_per_year=self.periods_per_year,
            mean=self.mean_estimator,
            covariance=self.covariance_estimator,
            gaps=self.gaps,
            repair=self.repair,
            strict=strict,
        )


@dataclass(frozen=True)
class CashOptions:
    """Assets of which only a rate is known."""

    cash: Cash = None


@dataclass(frozen=True)
class CapOptions:
    """The most that anybody may hold."""

    upper: Upper = "100%"
    cap: Caps = None


@dataclass(frozen=True)
class LimitOptions(CapOptions):
    """What anybody may hold at most, at least, or together."""

    limit: LimitTexts = None
    minimum: Minima = None
    group: GroupFile = None
    benchmark: BenchmarkFile = None

    @property
    def nothing(self) -> bool:
        """Whether no limit was given."""
        return self == LimitOptions()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function whose arguments are groups of options.

    Args:
        command: a function; an argument whose type is a dataclass is a group.

    Returns:
        The same for typer, which sees every field of a group as an option.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _parameters(groups[parameter.name])
        else:
            named = parameter.replace(
                annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY
            )
            parameters.append(named)

    @wraps(command)
    def run(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**given, **made)

    run.__dict__.pop("__wrapped__")  # typer is to see the options, not the groups
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
