"""Limits on groups in the app: edited, written, read from a file; what they cost is drawn."""

import pandas as pd
import pytest

from app_harness import charts_on, page, quiet, said, state_of, workspace
from imop_app.files import FileBox
from imop_app.services import limits as limited
from imop_app.services import market as markets
from imop_app.services.errors import AppError
from imop_app.settings import MarketSettings, SumLimit, from_plain, to_plain

US20 = MarketSettings(bundled="us20")
TECHNOLOGY = SumLimit("sector:Technology", "<=", 0.3)


@pytest.fixture
def box():
    return FileBox("w-limits-box")


def edited(*rows):
    return pd.DataFrame(rows, columns=["what", "relation", "share"])


def test_a_table_and_a_sentence_make_the_same_limits(box):
    data = markets.load(US20, box)
    by_table = limited.with_table(US20, data, edited(("sector:Technology", "at most", 30.0)))
    assert by_table.sums == (TECHNOLOGY,)
    assert limited.with_text(US20, data, "Technology <= 30%") == by_table
    assert limited.with_table(by_table, data, limited.table(by_table)) == by_table
    assert from_plain(MarketSettings, to_plain(by_table)) == by_table
    assert by_table.data == US20
    unfinished = edited(("sector:Technology", "at most", 30.0), ("AAPL", None, None))
    assert limited.with_table(US20, data, unfinished) == by_table
    (row,) = markets.problem(data, by_table).limits
    assert row.sentence == "sector:Technology at most 30%"
    more = limited.with_text(by_table, data, "AAPL + 0,5*KO between 5% and 10%")
    assert [one.what for one in more.sums[1:]] == ["AAPL + 0.5*KO"] * 2
    assert "AAPL + 0.5*KO" in limited.choices(data, more)
    assert limited.with_table(more, data, limited.table(more)) == more


def test_what_cannot_be_is_said_in_a_sentence(box):
    data = markets.load(US20, box)
    with pytest.raises(AppError, match="did you mean 'Technology'"):
        limited.with_text(US20, data, "Tecnology <= 30%")
    two = edited(("sector:Technology", "at most", 30.0), ("sector:Technology", "at least", 40.0))
    with pytest.raises(AppError, match=r"contradict one another.*at most 30%"):
        limited.with_table(US20, data, two)
    other = MarketSettings(sums=(TECHNOLOGY,))  # on the paper's securities
    eight = markets.load(other, box)
    found, lost = markets.linear_of(other, eight)
    assert found == ()
    assert "no groups are given" in lost[0]
    assert limited.picture(other, box) is None


def test_groups_come_from_a_file(box):
    stored = box.put("groups.csv", b"asset,kind\nSecurity 1,bold\nSecurity 2,calm\n")
    grouped = MarketSettings(groups=stored)
    assert markets.load(grouped, box).groups.written == ("kind:bold", "kind:calm")


def test_the_market_page_draws_what_limits_cost():
    made = workspace("w-limits")
    made.market = US20
    made.save()
    test = page("market", "w-limits")
    before = charts_on(test)
    assert "sector: Technology" in said(test).replace("\\", "")
    test.text_input(key="limit_text").input("sector:Technology <= 20%")
    next(one for one in test.button if one.label == "Add").click()
    quiet(test.run())
    assert state_of(test).workspace.market.sums == (SumLimit("sector:Technology", "<=", 0.2),)
    assert charts_on(test) == before + 3
    test.text_input(key="limit_text").input("sector:Technolgy <= 20%")
    next(one for one in test.button if one.label == "Add").click()
    quiet(test.run(), errors=1)
    assert "did you mean" in test.error[0].value
