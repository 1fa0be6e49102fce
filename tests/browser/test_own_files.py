"""A journey with files of one's own: a custodian's list with two dates to the mismatches."""

import io

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

import imop_engine as imop
from browser_harness import Visit, own_files

pytestmark = pytest.mark.browser


def custodian_file() -> tuple[bytes, bytes]:
    """A history, and holdings in amounts at two dates as a custodian lists them, in German form."""
    history, wide = own_files(60)
    table = pd.read_csv(io.BytesIO(wide))
    assets = list(table.columns[2:])
    rows = [
        (day, row.client, asset, round(amount * scale, 2), row.profile)
        for day, scale in (("30.06.2024", 0.9), ("31.12.2024", 1.0))
        for row in table.rename(columns={"risk profile": "profile"}).itertuples()
        for asset, amount in zip(assets, row[3:], strict=True)
        if amount > 0
    ]
    names = ["Stichtag", "Depot", "Fonds", "Kurswert", "Risikoprofil"]
    long = pd.DataFrame(rows, columns=names)
    return history, long.to_csv(sep=";", decimal=",", index=False).encode()


def test_a_custodians_list_with_two_dates_to_the_mismatches(browser, address, tmp_path):
    visit = Visit(browser, address, 1920, "dark")
    history, holdings = custodian_file()
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "depots.csv", holdings)
    expect(visit.key("status")).to_contain_text("60 from depots.csv")
    visit.wait_until_idle()
    visit.key("light_investors").get_by_role("button", name="Keep the latest date").click()
    expect(visit.key("light_investors")).to_have_count(0)
    visit.learn()
    visit.open("clients")
    expect(visit.page.get_by_text("hold more risk than stated")).to_be_visible()
    visit.page.get_by_text("Mismatches first", exact=True).click()
    visit.wait_until_idle()
    visit.expect_nothing_sticks_out()
    visit.picture("mismatches")
    rows = pd.read_csv(visit.download("These clients (CSV)", tmp_path))
    assert len(rows) == 60
    assert {"more", "agrees"} <= set(rows["mismatch"])
    visit.close_in_peace()


def plans_files(plans: int = 45, years: int = 16) -> tuple[bytes, bytes]:
    """Yearly returns of asset classes with a gap, and plans that report shares year after year.

    As public pension plans publish them: a column without a history, plans that begin late, a
    number among the attributes.
    """
    rng = np.random.default_rng(11)
    names = ["Equity", "Bonds", "Real estate", "Private equity", "Hedge funds", "Cash"]
    risks = np.array([0.16, 0.05, 0.1, 0.2, 0.08, 0.015])
    beliefs = np.array([0.075, 0.035, 0.06, 0.09, 0.05, 0.02])
    covariance = np.outer(risks, risks) * (0.35 + 0.65 * np.eye(6))
    days = [f"{2004 + year}-06-30" for year in range(years)]
    history = pd.DataFrame(rng.multivariate_normal(beliefs, covariance, years), days, names)
    history.loc[days[0], "Hedge funds"] = np.nan
    frontier = imop.efficient_frontier(imop.portfolio_problem(covariance), beliefs)
    rows = []
    for plan in range(plans):
        held = frontier.at(np.full(4, rng.uniform(0.15, 0.4)))
        held = np.maximum(held + rng.normal(0.0, 0.02, held.shape), 0.0)
        held *= 0.99 / held.sum(axis=1, keepdims=True)
        rate = round(0.06 + 0.0025 * (plan % 12), 4)
        first = rng.integers(0, 2)
        rows += [
            (f"Plan {plan:02d} (R)", day, *np.round(row, 4), 0.01, rate)
            for day, row in zip(days[-4 + first :], held[first:], strict=True)
        ]
    columns = ["investor", "date", *names, "Unclassified", "stated return"]
    table = pd.DataFrame(rows, columns=columns)
    return history.round(5).to_csv(index_label="date").encode(), table.to_csv(index=False).encode()


def test_plans_that_report_each_year_from_upload_to_report(browser, address, tmp_path):
    visit = Visit(browser, address, 1280, "dark")
    history, portfolios = plans_files()
    visit.bring_history(history)
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "plans.csv", portfolios)
    expect(visit.key("status")).to_contain_text("45 from plans.csv")
    expect(visit.page.get_by_text("come at several dates").first).to_be_visible()
    visit.learn()
    visit.expect_access()
    visit.picture("plans")
    visit.open("preferences")
    expect(visit.page.get_by_role("heading", name="By segment").first).to_be_visible()
    drawn = visit.page.get_by_role("button", name="Mean weight by stated return").first
    expect(drawn).to_be_attached()
    visit.expect_nothing_sticks_out()
    visit.open("report")
    table = pd.read_csv(visit.download("Returns (CSV)", tmp_path))
    assert len(table) == 6
    people = pd.read_csv(visit.download("Investors (CSV)", tmp_path))
    assert people["weight"].notna().sum() == 45
    report = visit.download("Report (HTML)", tmp_path).read_text()
    assert all(name in report for name in table["asset"])
    visit.close_in_peace()


def hundred_assets() -> tuple[bytes, bytes]:
    """A history of a hundred assets, and a wide file of investors who hold some of them."""
    rng = np.random.default_rng(3)
    names = [f"A{number:03d}" for number in range(100)]
    loads = rng.normal(0.04, 0.015, (100, 1))
    drawn = rng.normal(0.005, 1.0, (240, 1)) @ loads.T + rng.normal(0.004, 0.05, (240, 100))
    months = pd.period_range("2004-01", periods=240, freq="M").to_timestamp().strftime("%Y-%m-%d")
    history = pd.DataFrame(drawn, months, names)
    frontier = imop.efficient_frontier(
        imop.portfolio_problem(12 * history.cov()), 12 * history.mean().to_numpy()
    )
    held = pd.DataFrame(frontier.at(rng.uniform(0.1, 0.6, 80)).round(4), columns=names)
    held.insert(0, "client", [f"C{number:03d}" for number in range(80)])
    return history.to_csv(index_label="date").encode(), held.to_csv(index=False).encode()


def test_a_hundred_assets_from_upload_to_report(visit, tmp_path):
    history, portfolios = hundred_assets()
    visit.bring_history(history)
    expect(visit.page.get_by_text("moves with").first).to_be_attached()
    visit.expect_nothing_sticks_out()
    visit.open("investors")
    visit.choose("Upload portfolios")
    visit.upload("investor_file", "clients.csv", portfolios)
    expect(visit.key("status")).to_contain_text("80 from clients.csv")
    visit.learn()
    for name in ("frontier", "preferences", "clients"):
        visit.open(name)
        visit.expect_nothing_sticks_out()
        visit.picture(f"hundred-{name}")
        visit.expect_peace()
    visit.open("report")
    assert len(pd.read_csv(visit.download("Returns (CSV)", tmp_path))) == 100
    visit.close_in_peace()
