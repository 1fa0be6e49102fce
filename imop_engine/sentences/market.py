"""How expected returns and covariances were estimated from a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imop_engine.sentences.numbers import some

COVARIANCES: Final = {
    "sample": "sample, divided by the number of periods less one",
    "ledoit-wolf": "Ledoit–Wolf shrinkage",
    "oas": "oracle approximating shrinkage",
    "exponential": "exponentially weighted",
    "constant-correlation": "sample variances, one average correlation",
}


def gaps(
    periods: int, known: Sequence[tuple[str, int]], complete: int | None, same_means: bool
) -> str:
    """Which periods were used where some returns are missing.

    Args:
        periods: How many the history has.
        known: Assets with fewer, each with its number of periods.
        complete: In how many every asset has a return, where the covariance uses only these.
        same_means: Whether the means use only these too.
    """
    short = some([f"{name} ({count})" for name, count in known], 5)
    rule = (
        "the covariance of two assets uses the periods in which both have a return"
        if complete is None
        else f"the covariance uses the {complete} periods in which every asset has a return"
    )
    means = "means use the same periods" if same_means else "means use all returns there are"
    return f"Of {periods} periods fewer are known for {short}; {rule}, {means}."


def annualised(covariance: str, periods_per_year: int) -> str:
    """How a covariance per period, estimated by the method of that name, became yearly."""
    return f"The covariance is per period ({COVARIANCES[covariance]}) times {periods_per_year}."


def shrunk(share: float) -> str:
    """How far a covariance was moved towards one with equal variances: a fraction."""
    return f"The covariance is shrunk by {share:.1%} towards equal variances."


def exponential(half_life: float) -> str:
    """After how many periods a return counts half in a covariance."""
    return f"Covariances are exponentially weighted (half-life {half_life:g} periods)."


def not_definite(smallest: float) -> str:
    """A covariance whose smallest eigenvalue is not positive, left as it is."""
    return (
        f"The covariance is not positive definite (smallest eigenvalue {smallest:.3g}); "
        "ask for a repair, or choose ledoit-wolf, oas or complete periods."
    )


def repaired(smallest: float, share: float, largest: float, pair: tuple[str, str]) -> str:
    """A covariance replaced by the nearest positive definite one.

    Args:
        smallest: Its smallest eigenvalue before.
        share: How far it moved, as a fraction of its size.
        largest: By how much the entry moved that moved most.
        pair: The two assets of that entry.
    """
    return (
        f"The covariance was not positive definite (smallest eigenvalue {smallest:.3g}) and was "
        f"replaced by the nearest that is: it moved by {share:.2%} of its size, at most by "
        f"{largest:.3g} (at {pair[0]} and {pair[1]})."
    )


def compounded_means(periods_per_year: int) -> str:
    """Geometric means."""
    return f"Means are compounded over {periods_per_year} periods."


def exponential_means(half_life: float, periods_per_year: int) -> str:
    """Means in which a return counts half after `half_life` periods."""
    return (
        f"Means are exponentially weighted (half-life {half_life:g} periods), times "
        f"{periods_per_year}."
    )


def arithmetic_means(periods_per_year: int) -> str:
    """Plain means."""
    return f"Means are arithmetic, times {periods_per_year}."


def shrunk_means(share: float, periods_per_year: int) -> str:
    """Means moved by a fraction towards the return of the minimum-variance portfolio."""
    return (
        f"Means are shrunk by {share:.0%} towards the return of the minimum-variance portfolio, "
        f"times {periods_per_year}."
    )
