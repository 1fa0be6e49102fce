"""Files to start from: templates to fill in, and samples that can be read as they are.

The shell writes them, the app hands them out beside each uploader. Those of portfolios name the
assets of the market they are for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from imop_engine.bundled import market, sample_portfolios
from imop_engine.errors import InvalidInput

# What each file is, in the words of somebody who has to fill it in.
FORMS: Final[dict[str, str]] = {
    "returns": "Return history: a row for each date, a column for each asset.",
    "portfolios": "Portfolios: a row for each investor, a column for each asset.",
    "holdings": "Holdings: a row for each investor, date and asset.",
    "expected": "Expected returns per year: a row for each asset.",
    "covariance": "Covariance per year: assets by assets.",
    "mandates": "Limits of mandates: a row for each limit, with the mandate beside it.",
    "groups": "Groups of assets, for limits: a row for each asset, a column for each grouping.",
}
ASSETS: Final = ("Equity fund", "Bond fund", "Gold")
INVESTORS: Final = ("Ann", "Bob")
SAMPLE_MONTHS: Final = 240  # twenty years
MONTHS: Final = pd.DatetimeIndex(["2024-01-31", "2024-02-29", "2024-03-31"], name="date")


def template(form: str, assets: Sequence[str] = ASSETS) -> pd.DataFrame:
    """A small table of a form, to be filled in.

    Args:
        form: Returns, portfolios, holdings, expected, covariance, mandates or groups.
        assets: What the columns, or the rows, are called.

    >>> template("expected", ["A", "B"])["asset"].tolist()
    ['A', 'B']
    """
    return _made(form, _TEMPLATES)(tuple(assets))


def sample(form: str) -> pd.DataFrame:
    """A whole table of a form; all of them belong together.

    They are the paper's eight securities and 1,000 simulated investors. The returns are drawn, so
    that their means and covariance are the paper's.

    Args:
        form: Returns, portfolios, holdings, expected, covariance, mandates or groups.

    >>> sample("expected").shape, sample("portfolios").shape
    ((8, 2), (1000, 9))
    """
    return _made(form, _SAMPLES)()


def _made(form: str, makers: dict[str, Callable[..., pd.DataFrame]]) -> Callable[..., pd.DataFrame]:
    if form not in makers:
        raise InvalidInput(f"There is no form {form!r}; choose {', '.join(FORMS)}.")
    return makers[form]


def _returns(assets: tuple[str, ...]) -> pd.DataFrame:
    pattern = np.array([0.01, -0.005, 0.002])
    values = {name: np.roll(pattern, place) for place, name in enumerate(assets)}
    return pd.DataFrame(values, index=MONTHS).reset_index()


def _portfolios(assets: tuple[str, ...]) -> pd.DataFrame:
    held = _weights(len(assets))
    table = pd.DataFrame(held, columns=list(assets))
    table.insert(0, "segment", ["retail", "private"])
    table.insert(0, "investor", INVESTORS)
    return table


def _weights(count: int) -> np.ndarray:
    """Two portfolios: all alike up to the rounding, and half in the first asset."""
    even = np.full(count, np.floor(1000 / count) / 1000)
    half = np.full(count, 0.5 / max(count - 1, 1)).round(3)
    for row in (even, half):
        row[0] = 1.0 - row[1:].sum()
    return np.vstack([even, half]).round(6)


def _holdings(assets: tuple[str, ...]) -> pd.DataFrame:
    held = _weights(len(assets))
    return pd.DataFrame(
        {
            "investor": np.repeat(INVESTORS, len(assets)),
            "date": np.repeat(MONTHS[-1:], 2 * len(assets)),
            "asset": np.tile(assets, 2),
            "weight": held.ravel(),
        }
    )


def _expected(assets: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame({"asset": assets, "expected_return": 0.05})


def _covariance(assets: tuple[str, ...]) -> pd.DataFrame:
    square = np.full((len(assets), len(assets)), 0.01) + 0.03 * np.eye(len(assets))
    table = pd.DataFrame(square, columns=list(assets))
    table.insert(0, "asset", assets)
    return table


def _groups(assets: tuple[str, ...]) -> pd.DataFrame:
    half = (len(assets) + 1) // 2
    return pd.DataFrame(
        {
            "asset": assets,
            "sector": ["first"] * half + ["second"] * (len(assets) - half),
            "region": "home",
        }
    )


def _mandates(assets: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "mandate": ["retail", "retail", "private"],
            "limit": [f'"{assets[0]}" <= 60%', f'"{assets[-1]}" >= 5%', ""],
        }
    )


def _calm_and_bold() -> pd.DataFrame:
    """The paper's securities, the four with the least risk apart from the others."""
    known = market("paper8")
    calm = known.risks <= np.median(known.risks)
    return pd.DataFrame({"asset": known.names, "risk": np.where(calm, "calm", "bold")})


def _history(name: str) -> pd.DataFrame:
    """Monthly returns whose yearly means and covariance are those of a bundled market."""
    known = market(name)
    drawn = np.random.default_rng(0).normal(size=(SAMPLE_MONTHS, known.size))
    drawn -= drawn.mean(axis=0)
    # made uncorrelated with a variance of one, then given the market's covariance
    plain = np.linalg.solve(np.linalg.cholesky(np.cov(drawn.T)), drawn.T).T
    spread = np.linalg.cholesky(known.covariance / 12)
    months = pd.date_range("2004-01-31", periods=SAMPLE_MONTHS, freq="ME", name="date")
    values = known.expected_returns / 12 + plain @ spread.T
    return pd.DataFrame(values.round(6), index=months, columns=list(known.names)).reset_index()


_TEMPLATES: Final[dict[str, Callable[..., pd.DataFrame]]] = {
    "returns": _returns,
    "portfolios": _portfolios,
    "holdings": _holdings,
    "expected": _expected,
    "covariance": _covariance,
    "mandates": _mandates,
    "groups": _groups,
}
_SAMPLES: Final[dict[str, Callable[..., pd.DataFrame]]] = {
    "returns": lambda: _history("paper8"),
    "portfolios": sample_portfolios,
    "holdings": lambda: sample_portfolios("long"),
    "expected": lambda: (
        market("paper8").returns_by_asset.rename("expected_return").rename_axis("asset")
    ).reset_index(),
    "covariance": lambda: market("paper8").covariance_by_asset.rename_axis("asset").reset_index(),
    "mandates": lambda: _mandates(("Security 1", "Security 2")),
    "groups": _calm_and_bold,
}
