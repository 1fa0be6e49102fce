"""A journey with files of one's own: a custodian's list with two dates to the mismatches."""

import io

import pandas as pd
import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
from playwright.sync_api import expect

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
