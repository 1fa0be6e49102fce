"""Value without a history on the Investors page: what it says, and the choices that settle it."""

from app.test_pages import quiet, said, uploaded_people
from app_harness import page
from imop_app.services import file_choices
from imop_app.services import market as markets
from imop_app.settings import InvestorBatch, MarketSettings
from imop_app.workspace import open_workspace

# Ann and Bob hold cash, which has no history; of Cyd's portfolio a half has none.
WITH_CASH = (
    b"client,AAPL,AMD,Cash,Unclassified,fee\nAnn,0.5,0.4,0.1,0,0.01\nBob,0.3,0.6,0.1,0,0.01\n"
    b"Cyd,0.4,0.1,0.1,0.4,0.02\nDan,0.6,0.4,0,0,0.01\n"
)


def plain(test):
    return said(test).replace("\\", "")


def labelled(elements, label):
    return next(one for one in elements if one.label == label)


def test_value_without_a_history_is_asked_about():
    test = uploaded_people("c.csv", WITH_CASH)
    text = plain(test)
    assert (
        "18% of the value of this file has no return history: Unclassified 10%, Cash 7.5%; add the "
        "histories, say with “Identifiers of the assets” on the page Market which assets they are "
        "or give cash a rate with the field below." in text
    )
    assert "less than 80% of the portfolio has a return history, so it is set aside" in text
    assert "(Cyd: 50%)" in text
    assert "3 investors from c.csv" in text


def test_whoever_is_set_aside_is_listed_with_the_reason():
    test = uploaded_people("c.csv", WITH_CASH)
    assert labelled(test.expander, "Set aside: 1 portfolio")
    table = next(one.value for one in test.dataframe if "reason" in one.value.columns)
    assert table[["investor", "reason"]].to_numpy().tolist() == [
        ["Cyd", "has a return history for 50% of its value, less than the 80% asked for"]
    ]


def test_a_smaller_share_is_one_click_or_a_field():
    test = uploaded_people("c.csv", WITH_CASH)
    test = quiet(labelled(test.button, "Use them all the same").click().run())
    assert open_workspace("w-needs").investors.first.coverage == 0.0
    assert "4 investors from c.csv" in said(test)
    field = labelled(test.number_input, "Least share with a history (%)")
    assert field.value == 0
    test = quiet(field.set_value(80).run())
    assert open_workspace("w-needs").investors.first.coverage == 0.8
    assert "3 investors from c.csv" in said(test)


def test_cash_gets_a_rate_and_is_an_asset_of_the_market():
    test = uploaded_people("c.csv", WITH_CASH)
    labelled(test.number_input, "Rate of Cash (% a year)").set_value(3.0).run()
    test = quiet(labelled(test.button, "Give Cash this rate").click().run())
    opened = open_workspace("w-needs")
    assert opened.market.cash == (("Cash", 0.03),)
    data = markets.load(opened.market, opened.box)
    assert data.names[-1] == "Cash"
    assert "Cash has no history: it earns 3.00% a year as given" in data.notes[-1]
    assert "10% of the value of this file has no return history: Unclassified 10%" in plain(test)
    test = quiet(labelled(test.button, "Take Cash out of the market").click().run())
    assert open_workspace("w-needs").market.cash == ()


def test_a_column_is_ignored_by_one_click():
    test = uploaded_people("c.csv", WITH_CASH)
    test = quiet(labelled(test.button, "Ignore the column Unclassified").click().run())
    assert open_workspace("w-needs").investors.first.roles == (("Unclassified", "ignore"),)
    assert "has no return history: Cash" in plain(test)


def test_cash_that_fills_portfolios_up_asks_for_a_rate():
    test = uploaded_people("c.csv", b"client,AAPL,AMD\nAnn,0.5,0.4\nBob,0.3,0.7\n")
    cash = labelled(test.button, "What is missing is cash")
    test = cash.click().run()
    assert not test.exception
    assert "is taken as Cash, which has no return history" in test.error[0].value
    test = quiet(labelled(test.button, "Give Cash this rate").click().run())
    assert open_workspace("w-needs").market.cash == (("Cash", 0.02),)
    assert "2 investors from c.csv" in said(test)


def test_choices_are_kept_beside_one_another():
    batch = file_choices.cured(InvestorBatch(roles=(("A", "date"),)), "roles", "B=x=ignore")
    assert batch.roles == (("A", "date"), ("B=x", "ignore"))
    two = file_choices.with_cash(MarketSettings(cash=(("Cash", 0.02),)), "Euro", 0.01)
    assert two.cash == (("Cash", 0.02), ("Euro", 0.01))
    assert file_choices.with_cash(two, "Cash", None).cash == (("Euro", 0.01),)


def test_a_history_without_dates_is_asked_about_and_one_click_settles_it():
    rows = "".join(f"day {i},{100 + i % 7},{50 + i % 5}\n" for i in range(40))
    test = page("market", "w-dates")
    test.segmented_control(key="market_source").set_value("upload").run()
    test.file_uploader(key="market_file").upload("p.csv", f"when,A,B\n{rows}".encode(), "text/csv")
    test = quiet(test.run())
    assert "no dates are read, so the rows are taken as months" in plain(test)
    test = quiet(labelled(test.button, "They are days").click().run())
    opened = open_workspace("w-dates")
    assert opened.market.periods_per_year == 252
    assert markets.load(opened.market, opened.box).periods_per_year == 252
    assert "no dates are read" not in plain(test)
