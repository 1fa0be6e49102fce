"""What the analyst chose, as frozen values: equal settings give equal runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

WeightFamily = Literal["normal", "uniform", "beta"]
Noise = Literal["round", "gaussian", "uniform", "none"]
Grid = int | Literal["exact"]
Start = Literal["zero", "anchors"]

GRIDS: Final[tuple[Grid, ...]] = (6, 11, 21, 41, 81, "exact")


@dataclass(frozen=True)
class InvestorSettings:
    """Who is simulated, and how well their portfolios are seen."""

    count: int = 1000
    weights: WeightFamily = "normal"
    mean: float = 0.5
    sd: float = 0.15
    noise: Noise = "round"
    noise_level: float = 0.001
    seed: int = 0


@dataclass(frozen=True)
class LearnSettings:
    """What is taken as known, and how the learner goes about the rest."""

    anchors: tuple[str, ...] = ()
    grid: Grid = 41
    start: Start = "anchors"
    rate: float = 5.0


@dataclass(frozen=True)
class Settings:
    """One run in full."""

    market: str = "paper8"
    investors: InvestorSettings = field(default_factory=InvestorSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)
