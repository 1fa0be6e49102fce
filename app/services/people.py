"""The investors: simulated or read from files, one stream of portfolios on the market."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.files import FileBox
from imop_app.services import market as markets
from imop_app.services.errors import AppError, sentences
from imop_app.services.preparing import PREPARATION, compiled
from imop_app.services.reading import read
from imop_app.settings import (
    SEGMENTS,
    InvestorBatch,
    InvestorSettings,
    MarketSettings,
    Selection,
    Simulation,
)
from imop_engine.bundled import market as bundled_market
from imop_engine.bundled import sample_portfolios
from imop_engine.investors import SIMULATED, joined
from imop_engine.investors import Investors as Investors  # the views name the type by this service
from imop_engine.market import Market
from imop_engine.report import frames, frames_people, style
from imop_engine.weight_families import drawn_by_mean_and_sd
from imop_engine.weight_families import family as weight_family

if TYPE_CHECKING:
    from imop_engine.tables import AssetMap

# Three groups of simulated investors: share of all, and mean weight on return.
GROUPS: Final = (("careful", 0.35, 0.3), ("balanced", 0.4, 0.5), ("bold", 0.25, 0.7))
# What a simulation may draw weights from, as the menu calls it.
FAMILIES: Final[dict[str, str]] = {
    **{name: weight_family(name).label for name in drawn_by_mean_and_sd()},
    SEGMENTS: "Three groups: careful, balanced, bold",
}
# Above this many dots a browser slows down and the eye sees a blot: investors are counted instead.
DOTS: Final = 2000


@dataclass(frozen=True, eq=False)
class PeoplePicture:
    """The tables behind the charts of the investors."""

    curve: pd.DataFrame
    points: pd.DataFrame | None  # one row for each investor, where they are few
    cells: pd.DataFrame | None  # counts, where they are many
    holdings: pd.DataFrame


def has_mean(weights: str) -> bool:
    """Whether the analyst says the mean of such weights; groups have means of their own."""
    return weights != SEGMENTS and weight_family(weights).has_mean_and_sd


def has_spread(weights: str) -> bool:
    """Whether the analyst says the spread of such weights; that of groups is made of it."""
    return weights == SEGMENTS or weight_family(weights).has_mean_and_sd


@sentences
def load(market: MarketSettings, investors: InvestorSettings, box: FileBox) -> Investors:
    """The investors that these settings describe; read or drawn once for each content.

    Args:
        market: The chosen market.
        investors: The chosen investors.
        box: The files of the workspace.
    """
    return _load(market, investors, box)


@st.cache_resource(show_spinner=False, max_entries=16)
def _load(market: MarketSettings, investors: InvestorSettings, _box: FileBox) -> Investors:
    parts: list[Investors] = []
    for batch in investors.batches:
        part = _batch(market, batch, _box)
        parts.append(_only_new(part, parts) if batch.only_new and parts else part)
    whole = parts[0] if len(parts) == 1 else joined(parts, f"in {len(parts)} batches")
    return whole if investors.selection is None else _selected(whole, investors.selection)


def _selected(people: Investors, selection: Selection) -> Investors:
    """Only the chosen investors, or all but them; what they are called says so."""
    named = np.isin(np.array(people.ids, dtype=str), selection.ids)
    mask = named if selection.mode == "only" else ~named
    if not mask.any():
        raise AppError("Nobody of these investors is left; use all of them again.")
    how = "only" if selection.mode == "only" else "without"
    return replace(people.only(mask), origin=f"{people.origin}, {how} {selection.said}".strip())


def portfolio_keys(people: Investors) -> list[tuple[str, str, bytes]]:
    """What makes a portfolio the same: whose, when, and which holdings."""
    count = len(people)
    dates = [""] * count if people.dates is None else list(map(str, pd.Series(people.dates)))
    held = np.ascontiguousarray(people.portfolios.round(6))
    return [(people.ids[i], dates[i], held[i].tobytes()) for i in range(count)]


def _only_new(more: Investors, before: list[Investors]) -> Investors:
    """Portfolios that are not in the stream already; how many were is a line of the report."""
    from imop_engine.tables.reading_report import repeated_portfolios

    known = {key for part in before for key in portfolio_keys(part)}
    new = np.array([key not in known for key in portfolio_keys(more)])
    kept = more.only(new)
    if new.all() or not more.reading:
        return kept
    report = more.reading[0]
    findings = (*report.findings, repeated_portfolios(report.file, int((~new).sum()), len(more)))
    return replace(kept, reading=(replace(report, findings=findings), *more.reading[1:]))


def _batch(market: MarketSettings, batch: InvestorBatch, box: FileBox) -> Investors:
    data = markets.load(market, box)
    if batch.source == "simulate":
        return _simulated(market, data, batch.simulation)
    if batch.source == "sample":
        return _from_table(data, sample_portfolios(), "sample", batch, truth=_paper_truth(data))
    if batch.file is None:
        raise AppError("Choose a file with portfolios first.")
    known = markets.asset_map(market, box)
    return _from_table(data, box.path(batch.file), batch.file.name, batch, known=known)


def beliefs(data: Market, simulation: Simulation) -> pd.Series:
    """What simulated investors believe: the market's returns, or views of their own around them."""
    returns = data.returns_by_asset
    if simulation.views == 0.0:
        return returns
    draw = np.random.default_rng([simulation.seed, 1]).normal(0.0, simulation.views, data.size)
    return returns + draw


def _simulated(settings: MarketSettings, data: Market, simulation: Simulation) -> Investors:
    from imop_engine.population import simulate_population

    PREPARATION.require()
    return simulate_population(
        markets.problem(data, settings),
        beliefs(data, simulation).to_numpy(),
        simulation.count,
        segments=_laws(simulation),
        noise=simulation.noise,
        noise_level=simulation.noise_level,
        rng=np.random.default_rng(simulation.seed),
    )


def _laws(simulation: Simulation) -> Any:
    from imop_engine.population import Segment, WeightLaw

    if simulation.weights != SEGMENTS:
        return WeightLaw(simulation.weights, simulation.mean, simulation.sd)
    return [
        Segment(name, share, WeightLaw("normal", mean, 0.6 * simulation.sd))
        for name, share, mean in GROUPS
    ]


def _from_table(
    data: Market,
    source: Any,
    name: str,
    batch: InvestorBatch,
    truth: pd.Series | None = None,
    known: AssetMap | None = None,
) -> Investors:
    from imop_engine.loading import PortfolioOptions, TableFile, load_investors
    from imop_engine.sentences.market import APP

    options = PortfolioOptions(
        sheet=batch.sheet or None,
        roles=batch.roles,
        units=batch.units,
        sums=batch.sums,
        unknown=batch.unknown,
        coverage=batch.coverage,
        negative=batch.negative,
        duplicates=batch.duplicates,
        snapshots=batch.snapshots,
        drift=batch.drift,
        rates=batch.rates,
    )
    file = TableFile(name, source)
    people = load_investors(file, data.names, options, truth, read, data.history, known, words=APP)
    if len(people) == 0:
        raise AppError(
            f"No portfolio of {name} could be used; the reading report says why row by row."
        )
    # an asset without a column is not held, as on every page; only the shell says so
    return replace(people, notes=())


def _paper_truth(data: Market) -> pd.Series | None:
    """The sample was drawn from the paper's returns; on another market they mean nothing."""
    paper = bundled_market("paper8")
    same = set(data.names) == set(paper.names)
    return paper.returns_by_asset if same else None


def title(people: Investors) -> str:
    """How many, and from where, beside the word "investors"."""
    return f"{len(set(people.ids)) if people.reading else len(people):,} {people.origin}"


def heading(people: Investors) -> str:
    """The same with that word in its place."""
    if people.origin == SIMULATED:
        return f"{len(people):,} {people.origin} investors"
    names = len(set(people.ids))
    if people.reading and names < len(people):
        return f"{len(people):,} portfolios of {names:,} investors {people.origin}"
    return f"{len(people):,} investors {people.origin}"


def reports_table(people: Investors) -> pd.DataFrame:
    """Everything reading changed or refused, a line each."""
    tables = [report.to_frame() for report in people.reading]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def filters(people: Investors) -> dict[str, list[str]]:
    """The attributes by which investors can be filtered, each with its values."""
    return frames_people.categories(people.attributes)


@compiled
def picture(
    market: MarketSettings,
    investors: InvestorSettings,
    box: FileBox,
    chosen: tuple[tuple[str, tuple[str, ...]], ...] = (),
) -> PeoplePicture:
    """The tables behind the charts, for the investors that pass the filter.

    Args:
        market: The chosen market.
        investors: The chosen investors.
        box: The files of the workspace.
        chosen: The values that pass, by attribute.
    """
    return _picture(market, investors, box, chosen)


@st.cache_resource(show_spinner=False, max_entries=32)
def _picture(
    market: MarketSettings,
    investors: InvestorSettings,
    _box: FileBox,
    chosen: tuple[tuple[str, tuple[str, ...]], ...],
) -> PeoplePicture:
    data, people = markets.load(market, _box), load(market, investors, _box)
    problem = markets.problem(data, market)
    theta = data.expected_returns if people.truth is None else people.truth
    mask = frames_people.passing(people.attributes, dict(chosen))
    if not mask.any():
        raise AppError("No investor passes this filter; choose more values.")
    held = people.holdings[mask]
    many = len(held) > DOTS
    series = style.HISTORY if people.truth is None else style.TRUE
    return PeoplePicture(
        curve=frames.curve(problem, theta, series),
        points=None if many else frames_people.points(problem, theta, held),
        cells=frames_people.cells(problem, theta, held) if many else None,
        holdings=frames_people.average_holdings(held),
    )


def shown_rows(
    people: Investors, chosen: tuple[tuple[str, tuple[str, ...]], ...], search: str
) -> np.ndarray:
    """Positions of the investors that pass the filter and whose name contains the search.

    Args:
        people: The investors as they were read or drawn.
        chosen: The values that pass, by attribute.
        search: Part of a name; "" passes all.

    Returns:
        Row numbers from 0.
    """
    return frames_people.search(people.attributes, people.holdings.index, dict(chosen), search)


def page_of(people: Investors, rows: np.ndarray, page: int, size: int) -> pd.DataFrame:
    """One page of the table of portfolios, holdings in percent.

    Args:
        people: The investors as they were read or drawn.
        rows: Row numbers that pass the filters, from 0.
        page: Which page, from 0.
        size: Rows of a page.
    """
    known = people.attributes
    if people.dates is not None and "date" not in known.columns:
        known = known.copy()
        known.insert(0, "date", pd.Series(people.dates).to_numpy())
    return frames_people.page(people.holdings, known, rows, page, size)


def set_aside(people: Investors) -> pd.DataFrame:
    """Investors of the file who take no part: name, reason, then what else is known of them."""
    return people.set_aside.rename_axis("investor").reset_index()


def composition(people: Investors, investor: str) -> pd.DataFrame | None:
    """asset and held of one investor, largest first; None where there is no such investor."""
    return frames_people.composition(people.holdings, investor)


def asset_names(market: MarketSettings, box: FileBox) -> tuple[str, ...]:
    """The market's assets, in its order."""
    return markets.load(market, box).names


def offers_sample(market: MarketSettings, box: FileBox) -> bool:
    """Whether the bundled sample of portfolios holds this market's assets."""
    return _paper_truth(markets.load(market, box)) is not None


@sentences
def check(market: MarketSettings, batch: InvestorBatch, box: FileBox) -> Investors:
    """Read a batch on a market from the files in its box; what cannot be read raises."""
    return _load(market, InvestorSettings((batch,)), box)


def more_simulated(batch: InvestorBatch, already: int) -> InvestorBatch:
    """Another lot of the same kind of investors, not drawn before."""
    drawn = batch.simulation
    return replace(batch, simulation=replace(drawn, seed=drawn.seed + 1000 + already))
