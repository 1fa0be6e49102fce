"""How expected returns and covariances were estimated from a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from imop_engine.sentences.numbers import percent, some


@dataclass(frozen=True)
class HistoryWords:
    """What the choices about a history are called in the place where a sentence is read.

    Each is a noun phrase: an argument in Python, an option in the shell, a control in the app. The
    last two are requests: where a file of portfolios, and where a history belongs.
    """

    repair: str
    shrink: str
    sample: str
    arithmetic: str
    all_periods: str
    complete: str
    prices: str
    returns: str
    asset_map: str
    cash: str
    to_portfolios: str
    to_market: str


PYTHON: Final = HistoryWords(
    repair="repair=True",
    shrink='covariance="ledoit-wolf"',
    sample='covariance="sample"',
    arithmetic='mean="arithmetic"',
    all_periods='gaps="likelihood"',
    complete='gaps="complete"',
    prices='kind="prices"',
    returns='kind="returns"',
    asset_map="asset_map=read_asset_map(...)",
    cash="MarketSource(cash=...) or Market.with_cash",
    to_portfolios="Read it with read_portfolios",
    to_market="Read it with read_returns",
)
SHELL: Final = HistoryWords(
    repair="--repair",
    shrink="--covariance-estimator ledoit-wolf",
    sample="--covariance-estimator sample",
    arithmetic="--mean-estimator arithmetic",
    all_periods="--gaps likelihood",
    complete="--gaps complete",
    prices="--kind prices",
    returns="--kind returns",
    asset_map="--asset-map",
    cash="--cash",
    to_portfolios="Give it with --portfolios",
    to_market="Give it with --returns",
)
APP: Final = HistoryWords(
    repair="“Repair the covariance”",
    shrink="“Shrunk (Ledoit–Wolf)” under Covariance",
    sample="“Sample” under Covariance",
    arithmetic="“Arithmetic mean” under Expected returns",
    all_periods="“All returns there are” under Missing returns",
    complete="“Complete periods only” under Missing returns",
    prices="“Prices” under Contents",
    returns="“Returns” under Contents",
    asset_map="“Identifiers of the assets” on the page Market",
    cash="the field below",
    to_portfolios="Upload it on the page Investors",
    to_market="Upload it on the page Market",
)

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


def likelihood(
    periods: int,
    known: Sequence[tuple[str, int, str]],
    extra: float,
    apart: Sequence[tuple[str, str]],
    settled: bool,
) -> str:
    """What was done about missing returns where the likelihood used all there are.

    Args:
        periods: How many the history has.
        known: Assets with fewer, each with its number of periods and, if it begins later than the
            history, the month in which it does.
        extra: How many further periods of unrelated assets were counted.
        apart: Pairs of assets without a common period.
        settled: Whether the iteration came to rest.
    """
    short = some([_shorter(*one, periods) for one in known], 5)
    rule = (
        f"Some returns are missing: {short}. Means and covariances are those of the greatest "
        "likelihood given all returns there are; the other assets' returns in the missing periods "
        "help to place the mean and the risk of these."
    )
    said = [rule]
    if extra:
        said.append(
            f"{extra:.2g} further periods of unrelated assets are counted, so that the covariance "
            "is positive definite."
        )
    if apart:
        pairs = some([" and ".join(pair) for pair in apart], 3)
        said.append(f"No period in common: {pairs}; how they move together is hardly known.")
    if not settled:
        said.append("The estimate had not come to rest when the iteration was ended.")
    return " ".join(said)


def _shorter(name: str, count: int, begins: str, periods: int) -> str:
    start = f"begins in {begins}, " if begins else ""
    return f"{name} ({start}{count:,} of {periods:,} periods)"


def constant(names: Sequence[str]) -> str:
    """Assets that never moved, in a history with gaps."""
    one = len(names) == 1
    return (
        f"{some(list(names), 5)} never moved; {'it gets' if one else 'they get'} a standard "
        "deviation of one ten-thousandth of the largest, so that the covariance is positive "
        "definite."
    )


def annualised(covariance: str, periods_per_year: int, likely: bool = False) -> str:
    """How a covariance per period became yearly.

    Args:
        covariance: The method that estimated it.
        periods_per_year: What it was multiplied by.
        likely: Whether it is the likelihood's, as returns are missing.
    """
    method = COVARIANCES[covariance]
    if likely:
        method = "greatest likelihood" if covariance == "sample" else f"{method}, by likelihood"
    return f"The covariance is per period ({method}) times {periods_per_year}."


def shrunk(share: float) -> str:
    """How far a covariance was moved towards one with equal variances: a fraction."""
    return f"The covariance is shrunk by {share:.1%} towards equal variances."


def exponential(half_life: float) -> str:
    """After how many periods a return counts half in a covariance."""
    return f"Covariances are exponentially weighted (half-life {half_life:g} periods)."


def not_definite(smallest: float, remedies: Sequence[str]) -> str:
    """A covariance whose smallest eigenvalue is not positive, left as it is.

    Args:
        smallest: The eigenvalue.
        remedies: The choices that help, in the words of the place.
    """
    return (
        f"The covariance is not positive definite (smallest eigenvalue {smallest:.3g}); use "
        f"{' or '.join(remedies)}."
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


def cash_given(name: str, rate: float, risk: float) -> str:
    """Cash that became an asset by a rate.

    Args:
        name: What it is called.
        rate: What it earns in a year, a fraction.
        risk: Its standard deviation a year, a fraction.
    """
    return (
        f"{name} has no history: it earns {percent(rate)} a year as given, with a standard "
        f"deviation of {percent(risk)} and no relation to the other assets."
    )
