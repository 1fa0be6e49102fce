"""Files as people have them: semicolons, decimal commas, a total, a mistyped cell, a lost price."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import imop_engine as imop
from imop_engine.bundled import market, sample_portfolios
from imop_engine.market import Market
from imop_engine.tables import read_portfolios, read_returns


def main() -> dict[str, object]:
    """Write two such files, read them, learn, and say what was done and what is asked."""
    eight = market("paper8")
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        prices, clients = Path(folder, "Kurse.csv"), Path(folder, "Kunden.csv")
        _write_prices(prices, eight, rng)
        _write_clients(clients)
        history = read_returns(prices)
        people = read_portfolios(clients, assets=list(eight.names))
    print(history.report.summary())
    for sentence in [*history.report.sentences(), *people.report.sentences()]:
        print("-", sentence)
    returns = history.returns
    study = imop.run_study(returns.mean() * 12, returns.cov() * 12, people.weights, history=returns)
    print(f"\nVerdict: {study.verdict}")
    for check in study.checks:
        print(f"- {check.sentence} {check.remedy}")
    return {
        "months": len(returns),
        "investors": len(study.decisions),
        "refused": people.report.rows_refused,
        "verdict": study.verdict,
        "checks": [check.name for check in study.checks],
    }


def _write_prices(path: Path, eight: Market, rng: np.random.Generator) -> None:
    """Twenty years of month-end prices, German numbers, one price missing."""
    monthly = rng.multivariate_normal(eight.expected_returns / 12, eight.covariance / 12, 240)
    table = pd.DataFrame(100.0 * np.cumprod(1.0 + monthly, axis=0), columns=eight.names)
    cells = table.map(lambda price: f"{price:.2f}".replace(".", ","))
    cells.iloc[100, 2] = "n/a"
    days = pd.date_range("2005-01-31", periods=240, freq="ME").strftime("%d.%m.%Y")
    cells.insert(0, "Datum", days)
    cells.to_csv(path, sep=";", index=False)


def _write_clients(path: Path) -> None:
    """Holdings in per cent, with a total at the bottom and one cell that is no number."""
    table = sample_portfolios().set_index("investor").iloc[:300] * 100
    cells = table.map(lambda share: f"{share:.1f}".replace(".", ","))
    cells.iloc[17, 3] = "siehe Anlage"
    cells.loc["Summe"] = [f"{total:.1f}".replace(".", ",") for total in table.sum()]
    cells.to_csv(path, sep=";", index_label="Kunde")


if __name__ == "__main__":
    main()
