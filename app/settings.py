"""What the analyst chose, as frozen values: equal choices give equal results.

Every value can be written as plain JSON and read back (`to_plain`, `from_plain`), which is how a
workspace survives a reload. Reading checks types and refuses what does not fit.
"""

from __future__ import annotations

import types
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from imop_engine.weight_families import DRAWN

Noise = Literal["round", "gaussian", "uniform", "none"]
MarketSource = Literal["bundled", "upload", "tickers", "moments"]
InvestorSource = Literal["simulate", "sample", "upload"]
Grid = int | Literal["exact"]
Start = Literal["efficiency", "search", "history", "zero"]
Loss = Literal["distance", "efficiency"]
Anchoring = Literal["history", "assets", "total", "none"]
Errors = Literal["auto", "holdings", "beliefs"]
Risks = Literal["fitted", "history"]
Relation = Literal["<=", ">=", "="]
Algorithm = Literal["accelerated", "full", "newton"]

GRIDS: Final[tuple[Grid, ...]] = ("exact", 6, 11, 21, 41, 81)
SEGMENTS: Final = "segments"  # three groups of investors instead of one distribution of weights
T = TypeVar("T")


@dataclass(frozen=True)
class StoredFile:
    """A file the analyst gave, kept under the digest of its content."""

    name: str
    digest: str


@dataclass(frozen=True)
class Limit:
    """The most that anybody may hold of one asset."""

    asset: str
    cap: float = 1.0


@dataclass(frozen=True)
class SumLimit:
    """What is held of a group, an asset, or a sum of them, at most, at least or exactly."""

    what: str
    relation: Relation
    share: float


@dataclass(frozen=True)
class MarketSettings:
    """Where the assets, their history and their covariance come from."""

    source: MarketSource = "bundled"
    bundled: str = "paper8"
    file: StoredFile | None = None
    second: StoredFile | None = None  # the covariance, where moments are given directly
    asset_map: StoredFile | None = None  # what else the assets are called
    groups: StoredFile | None = None  # which of them belong together
    tickers: tuple[str, ...] = ()
    kind: str = "auto"
    units: str = "auto"
    layout: str = "auto"
    sheet: str | None = None
    mean: str = "arithmetic"
    covariance: str = "sample"
    gaps: str = "likelihood"
    repair: bool = False  # a covariance that is not positive definite
    periods_per_year: int | None = None  # of a history whose dates do not tell
    told: tuple[str, ...] = ()  # what a download had to say
    cash: tuple[tuple[str, float], ...] = ()  # assets without a history, and their yearly rates
    limits: tuple[Limit, ...] = ()
    sums: tuple[SumLimit, ...] = ()
    bounds: tuple[float, float] | None = None  # where every believed return lies

    @property
    def data(self) -> MarketSettings:
        """The same without limits: what has to be read again when it changes."""
        return replace(self, limits=(), sums=(), bounds=None)


@dataclass(frozen=True)
class Simulation:
    """Who is simulated, and how well their portfolios are seen."""

    count: int = 1000
    weights: str = "normal"  # a distribution of the engine's registry, or SEGMENTS
    mean: float = 0.5
    sd: float = 0.15
    noise: Noise = "round"
    noise_level: float = 0.001
    views: float = 0.0  # standard deviation of the beliefs around the market's own returns
    seed: int = 0

    def __post_init__(self) -> None:
        if self.weights not in (*DRAWN, SEGMENTS):
            raise ValueError(f"{self.weights!r} is not {(*DRAWN, SEGMENTS)}")


@dataclass(frozen=True)
class InvestorBatch:
    """One lot of portfolios: simulated, the bundled sample, or a file."""

    source: InvestorSource = "simulate"
    simulation: Simulation = field(default_factory=Simulation)
    file: StoredFile | None = None
    sheet: str | None = None
    roles: tuple[tuple[str, str], ...] = ()  # only the columns the analyst corrected
    units: str = "auto"
    sums: str = "rescale"
    unknown: str = "drop"
    coverage: float = 0.8  # the least share of a portfolio that needs a return history
    negative: str = "refuse"
    duplicates: str = "first"
    snapshots: str = "latest"
    drift: str = "keep"
    rates: tuple[tuple[str, float], ...] = ()  # currency, and what a unit of it is worth
    only_new: bool = False  # without portfolios that earlier batches have


@dataclass(frozen=True)
class Selection:
    """Some of the investors: only these, or all but these."""

    mode: Literal["only", "without"]
    ids: tuple[str, ...]
    said: str = ""  # how they were chosen, in words


@dataclass(frozen=True)
class InvestorSettings:
    """The stream of portfolios: a first batch, those that came later, and who of them counts."""

    batches: tuple[InvestorBatch, ...] = (InvestorBatch(),)
    selection: Selection | None = None

    @property
    def first(self) -> InvestorBatch:
        """The batch that the Investors page edits."""
        return self.batches[0]

    def with_first(self, batch: InvestorBatch) -> InvestorSettings:
        """The same with another first batch; batches that came later stay only if it did."""
        return self if batch == self.first else InvestorSettings((batch,))

    def plus(self, batch: InvestorBatch) -> InvestorSettings:
        """The same with one more batch at the end of the stream."""
        return replace(self, batches=(*self.batches, batch))


@dataclass(frozen=True)
class LearnSettings:
    """What is taken as known, and how the learner goes about the rest."""

    anchoring: Anchoring = "history"
    known: tuple[tuple[str, float], ...] = ()  # name and return, where anchoring is "assets"
    algorithm: Algorithm = "accelerated"
    grid: Grid = "exact"
    start: Start = "efficiency"
    rate: float = 5.0
    level: float = 0.95
    refine: bool = True
    loss: Loss = "distance"
    trim: bool = True  # set investors aside whom no common frontier explains
    errors: Errors = "auto"  # what keeps investors from the frontier
    risks: Risks = "fitted"  # which covariance the estimate is under
    known_errors: tuple[tuple[str, float], ...] = ()  # asset and standard error; others are exact
    total: float | None = None  # yearly return of the average portfolio, where anchoring is "total"
    total_error: float = 0.0  # its standard error; 0: exact

    @property
    def used(self) -> LearnSettings:
        """The part that a run depends on: returns named as known count only where they anchor."""
        used = self if self.anchoring == "assets" else replace(self, known=(), known_errors=())
        return used if used.anchoring == "total" else replace(used, total=None, total_error=0.0)


@dataclass(frozen=True)
class Settings:
    """One run in full."""

    market: MarketSettings
    investors: InvestorSettings
    learn: LearnSettings


def files_in(value: Any) -> tuple[StoredFile, ...]:
    """The files that settings name, in order and each once.

    Args:
        value: Settings of any kind; None names none.
    """
    if isinstance(value, StoredFile):
        return (value,)
    parts: tuple[Any, ...] = ()
    if is_dataclass(value) and not isinstance(value, type):
        parts = tuple(getattr(value, part.name) for part in fields(value))
    elif isinstance(value, tuple):
        parts = value
    return tuple(dict.fromkeys(file for part in parts for file in files_in(part)))


def to_plain(value: Any) -> Any:
    """Frozen settings as dicts, lists and scalars."""
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], plain: Any) -> T:
    """Settings from what `to_plain` wrote; ValueError where it is something else."""
    result: T = _read(kind, plain)
    return result


def _read(kind: Any, plain: Any) -> Any:
    if isinstance(kind, type) and is_dataclass(kind):
        if not isinstance(plain, dict):
            raise ValueError(f"{kind.__name__} needs named values, not {plain!r}")
        hints = get_type_hints(kind)
        known = {part.name for part in fields(kind)}
        return kind(**{k: _read(hints[k], v) for k, v in plain.items() if k in known})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, plain)
    if origin is Literal:
        return _require(plain in arguments, plain, arguments)
    if origin is tuple:
        _require(isinstance(plain, list), plain, "a list")
        repeated = len(arguments) == 2 and arguments[1] is Ellipsis
        kinds = [arguments[0]] * len(plain) if repeated else list(arguments)
        return tuple(_read(k, item) for k, item in zip(kinds, plain, strict=True))
    if kind is type(None):
        return _require(plain is None, plain, "nothing")
    if kind is float and type(plain) is int:
        return float(plain)
    return _require(type(plain) is kind, plain, kind)


def _read_union(kinds: tuple[Any, ...], plain: Any) -> Any:
    for kind in kinds:
        try:
            return _read(kind, plain)
        except (ValueError, TypeError):
            continue
    raise ValueError(f"{plain!r} is none of {kinds}")


def _require(fits: bool, plain: Any, wanted: Any) -> Any:
    if not fits:
        raise ValueError(f"{plain!r} is not {wanted}")
    return plain
