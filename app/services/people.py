"""The investors: simulated or read from files, one stream of portfolios on the market."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.home import FileBox
from imop_app.services import market as markets
from imop_app.services.errors import AppError, sentences
from imop_app.services.preparing import PREPARATION, compiled
from imop_app.settings import InvestorBatch, InvestorSettings, MarketSettings, Simulation
from imop_engine.bundled import market as bundled_market
from imop_engine.bundled import sample_portfolios
from imop_engine.market import Market
from imop_engine.report import frames, frames_people, style

SIMULATED: Final = "simulated"
# Three groups of simulated investors: share of all, and mean weight on return.
GROUPS: Final = (("careful", 0.35, 0.3), ("balanced", 0.4, 0.5), ("bold", 0.25, 0.7))
# Above this many dots a browser slows down and the eye sees a blot: investors are counted instead.
DOTS: Final = 2000


@dataclass(frozen=True, eq=False)
class PeopleData:
    """Portfolios in stream order, and what else is known of whoever holds them."""

    portfolios: pd.DataFrame  # index: investor, columns: the market's assets
    attributes: pd.DataFrame  # same index
    dates: pd.Series | None
    truth: pd.Series | None  # the returns they were made to believe in, where simulated
    weights: np.ndarray | None  # their true weights, where simulated
    roles: tuple[tuple[str, str], ...]
    reports: tuple[Any, ...]
    origin: str  # "simulated", "from" a file, or "in" batches

    def __len__(self) -> int:
        return len(self.portfolios)

    @property
    def title(self) -> str:
        """How many, and from where, beside the word "investors"."""
        return f"{len(self):,} {self.origin}"

    @property
    def heading(self) -> str:
        """The same with that word in its place."""
        if self.origin == SIMULATED:
            return f"{len(self):,} {self.origin} investors"
        return f"{len(self):,} investors {self.origin}"

    @property
    def simulated(self) -> bool:
        """Whether the truth is known because we made it."""
        return self.truth is not None


@dataclass(frozen=True, eq=False)
class PeoplePicture:
    """The tables behind the charts of the investors."""

    curve: pd.DataFrame
    points: pd.DataFrame | None  # one row for each investor, where they are few
    cells: pd.DataFrame | None  # counts, where they are many
    holdings: pd.DataFrame


@sentences
def load(market: MarketSettings, investors: InvestorSettings, box: FileBox) -> PeopleData:
    """The investors that these settings describe; read or drawn once for each content.

    Args:
        market: The chosen market.
        investors: The chosen investors.
        box: The files of the workspace.
    """
    return _load(market, investors, box)


@st.cache_resource(show_spinner=False, max_entries=16)
def _load(market: MarketSettings, investors: InvestorSettings, _box: FileBox) -> PeopleData:
    parts = [_batch(market, batch, _box) for batch in investors.batches]
    return parts[0] if len(parts) == 1 else _joined(parts)


def _batch(market: MarketSettings, batch: InvestorBatch, box: FileBox) -> PeopleData:
    data = markets.load(market, box)
    if batch.source == "simulate":
        return _simulated(market, data, batch.simulation)
    if batch.source == "sample":
        return _from_table(data, sample_portfolios(), "sample", batch, truth=_paper_truth(data))
    if batch.file is None:
        raise AppError("Choose a file with portfolios first.")
    return _from_table(data, box.get(batch.file), batch.file.name, batch)


def beliefs(data: Market, simulation: Simulation) -> pd.Series:
    """What simulated investors believe: the market's returns, or views of their own around them."""
    returns = data.returns_by_asset
    if simulation.views == 0.0:
        return returns
    draw = np.random.default_rng([simulation.seed, 1]).normal(0.0, simulation.views, data.size)
    return returns + draw


def _simulated(settings: MarketSettings, data: Market, simulation: Simulation) -> PeopleData:
    from imop_engine.population import simulate_population

    PREPARATION.require()
    truth = beliefs(data, simulation)
    drawn = simulate_population(
        markets.problem(data, settings),
        truth.to_numpy(),
        simulation.count,
        segments=_laws(simulation),
        noise=simulation.noise,
        noise_level=simulation.noise_level,
        rng=np.random.default_rng(simulation.seed),
    )
    index = pd.Index(drawn.ids, name="investor")
    known = {} if drawn.segments is None else {"segment": list(drawn.segments)}
    return PeopleData(
        portfolios=pd.DataFrame(drawn.portfolios, index=index, columns=list(data.names)),
        attributes=pd.DataFrame(known, index=index),
        dates=None,
        truth=truth,
        weights=drawn.weights,
        roles=(),
        reports=(),
        origin=SIMULATED,
    )


def _laws(simulation: Simulation) -> Any:
    from imop_engine.population import Segment, WeightLaw

    if simulation.weights != "segments":
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
) -> PeopleData:
    from imop_engine.loading import PortfolioOptions, TableFile, load_portfolios

    options = PortfolioOptions(
        sheet=batch.sheet or None,
        roles=batch.roles,
        sums=batch.sums,
        unknown=batch.unknown,
        negative=batch.negative,
    )
    people = load_portfolios(TableFile(name, source), data.names, options)
    held = people.weights.reindex(columns=list(data.names), fill_value=0.0)
    if len(held) == 0:
        raise AppError(
            f"No portfolio of {name} could be used; the reading report says why row by row."
        )
    return PeopleData(
        portfolios=held,
        attributes=people.attributes,
        dates=people.dates,
        truth=truth,
        weights=None,
        roles=tuple((str(k), str(v)) for k, v in dict(people.roles).items()),
        reports=(people.report,),
        origin=f"from {name}",
    )


def _paper_truth(data: Market) -> pd.Series | None:
    """The sample was drawn from the paper's returns; on another market they mean nothing."""
    paper = bundled_market("paper8")
    same = set(data.names) == set(paper.names)
    return paper.returns_by_asset if same else None


def _joined(parts: list[PeopleData]) -> PeopleData:
    portfolios = pd.concat([part.portfolios for part in parts])
    truths = [part.truth for part in parts if part.truth is not None]
    same = len(truths) == len(parts) and all(truths[0].equals(truth) for truth in truths)
    weights = [part.weights for part in parts if part.weights is not None]
    dates = [part.dates for part in parts if part.dates is not None]
    return PeopleData(
        portfolios=portfolios,
        attributes=pd.concat([part.attributes for part in parts]),
        dates=pd.concat(dates) if len(dates) == len(parts) else None,
        truth=truths[0] if same else None,
        weights=np.concatenate(weights) if len(weights) == len(parts) else None,
        roles=parts[0].roles,
        reports=tuple(report for part in parts for report in part.reports),
        origin=f"in {len(parts)} batches",
    )


def reports_table(people: PeopleData) -> pd.DataFrame:
    """Everything reading changed or refused, a line each."""
    tables = [report.to_frame() for report in people.reports]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def reports_said(people: PeopleData) -> list[str]:
    """The same in sentences."""
    return [str(line) for report in people.reports for line in report.sentences()]


def filters(people: PeopleData) -> dict[str, list[str]]:
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
    belief = data.returns_by_asset if people.truth is None else people.truth
    theta = belief.to_numpy(dtype=float)
    mask = frames_people.passing(people.attributes, dict(chosen))
    if not mask.any():
        raise AppError("No investor passes this filter; choose more values.")
    held = people.portfolios[mask]
    many = len(held) > DOTS
    series = style.HISTORY if people.truth is None else style.TRUE
    return PeoplePicture(
        curve=frames.curve(problem, theta, series),
        points=None if many else frames_people.points(problem, theta, held),
        cells=frames_people.cells(problem, theta, held) if many else None,
        holdings=frames_people.average_holdings(held),
    )


def shown_rows(
    people: PeopleData, chosen: tuple[tuple[str, tuple[str, ...]], ...], search: str
) -> np.ndarray:
    """Positions of the investors that pass the filter and whose name contains the search.

    Args:
        people: The investors as they were read or drawn.
        chosen: The values that pass, by attribute.
        search: Part of a name; "" passes all.

    Returns:
        Row numbers from 0.
    """
    return frames_people.search(people.attributes, people.portfolios.index, dict(chosen), search)


def page_of(people: PeopleData, rows: np.ndarray, page: int, size: int) -> pd.DataFrame:
    """One page of the table of portfolios, holdings in percent.

    Args:
        people: The investors as they were read or drawn.
        rows: The row numbers that are listed, from 0.
        page: Which page of them, from 0.
        size: How many rows a page has.
    """
    return frames_people.page(people.portfolios, people.attributes, rows, page, size)


def composition(people: PeopleData, investor: str) -> pd.DataFrame | None:
    """asset and held of one investor, largest first; None where there is no such investor."""
    return frames_people.composition(people.portfolios, investor)


def offers_sample(market: MarketSettings, box: FileBox) -> bool:
    """Whether the bundled sample of portfolios holds this market's assets."""
    return _paper_truth(markets.load(market, box)) is not None


@sentences
def check(market: MarketSettings, batch: InvestorBatch, box: FileBox) -> PeopleData:
    """Read a batch; what cannot be read raises and changes nothing.

    Args:
        market: The chosen market.
        batch: Which file or simulation.
        box: The files of the workspace.
    """
    return _load(market, InvestorSettings((batch,)), box)


def more_simulated(batch: InvestorBatch, already: int) -> InvestorBatch:
    """Another lot of the same kind of investors, not drawn before."""
    drawn = batch.simulation
    return replace(batch, simulation=replace(drawn, seed=drawn.seed + 1000 + already))
