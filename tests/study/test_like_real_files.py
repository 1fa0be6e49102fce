"""What a study says of a file as institutions publish them, counted again from the file itself.

Investors at many dates, holdings with tilts of their own, a column without a history, histories of
unequal length, an asset that nobody holds, categories: made here, once with small positions and
once without, and read by the shell with its defaults. Every number that a sentence counts is
counted with pandas from the two files.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from imop_engine import cli

pytestmark = pytest.mark.slow

HELD = ["Equity", "Bonds", "Property", "Private", "Hedge", "Cash"]
ASSETS = [*HELD, "Gold"]  # which nobody holds
OUTSIDE = "Unclassified"  # and has no history
INVESTORS, DATES, YEARS = 70, 6, 25
RISKS = np.array([0.17, 0.06, 0.12, 0.20, 0.08, 0.015, 0.16])
RETURNS = np.array([0.085, 0.04, 0.065, 0.095, 0.05, 0.02, 0.03])


def histories(rng):
    """Returns a year; the fifth asset begins four years after the others."""
    common = rng.normal(size=(YEARS, 1))
    own = rng.normal(size=(YEARS, 7))
    shocks = 0.6 * common + 0.8 * own
    shocks[:, 5] = own[:, 5]
    table = pd.DataFrame(RETURNS + RISKS * shocks, columns=ASSETS).round(5)
    table.loc[:3, "Hedge"] = np.nan
    table.insert(0, "date", pd.date_range("1996-12-31", periods=YEARS, freq="YE"))
    return table


def portfolios(rng, traces):
    """Mixes of six assets that lean one way all along, and change a little from date to date; with
    traces, some hold less than a hundredth of an asset."""
    bold = rng.uniform(0.0, 1.0, INVESTORS)
    cautious = np.array([0.20, 0.45, 0.08, 0.04, 0.08, 0.15])
    daring = np.array([0.50, 0.12, 0.12, 0.20, 0.05, 0.01])
    middle = bold[:, None] * daring + (1.0 - bold[:, None]) * cautious
    lean = middle * np.exp(rng.normal(0.0, 0.35, (INVESTORS, 6)))
    lean[rng.random((INVESTORS, 6)) < 0.12] = 0.0  # not everybody holds everything
    if traces:
        lean[rng.random((INVESTORS, 6)) < 0.15] = 0.004
    rows = []
    for number in range(DATES):
        held = lean * np.exp(rng.normal(0.0, 0.08, lean.shape))
        outside = np.where(rng.random(INVESTORS) < 0.2, rng.uniform(0.0, 0.08, INVESTORS), 0.0)
        outside[:3] = 0.35  # more than is allowed
        held *= ((1.0 - outside) / held.sum(axis=1))[:, None]
        for first, last in ((5, 8), (9, 13)):  # two model portfolios for seven of them
            held[first:last], outside[first:last] = held[first], outside[first]
        table = pd.DataFrame(held, columns=HELD).assign(Gold=0.0, Unclassified=outside).round(4)
        table.insert(0, "date", pd.Timestamp(f"{2015 + number}-06-30"))
        table.insert(0, "investor", [f"Plan {i:03d}" for i in range(INVESTORS)])
        table["category"] = np.where(bold > 0.5, "growth", "income")
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


@pytest.fixture(scope="module", params=[True, False], ids=["traces", "dropped"])
def told(tmp_path_factory, request):
    """The two files, and what the shell made of them."""
    folder = tmp_path_factory.mktemp("like_real")
    rng = np.random.default_rng(20)
    history, held = histories(rng), portfolios(rng, request.param)
    history.to_csv(folder / "returns.csv", index=False)
    held.to_csv(folder / "portfolios.csv", index=False)
    out = folder / "out"
    run = CliRunner().invoke(
        cli.app,
        ["learn", "--returns", str(folder / "returns.csv"), "--portfolios",
         str(folder / "portfolios.csv"), "--by", "category", "--out", str(out)],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    document = json.loads((out / "run.json").read_text())
    tables = {name: pd.read_csv(out / f"{name}.csv") for name in ("returns", "investors", "groups")}
    return history, held, document, tables


@pytest.fixture(scope="module")
def used(told):
    """The latest portfolio of each investor with enough of it in the history, made whole."""
    _, held, _, _ = told
    share = held[ASSETS].sum(axis=1) / held[[*ASSETS, OUTSIDE]].sum(axis=1)
    last = held[share >= 0.8].sort_values("date", kind="stable").groupby("investor").tail(1)
    weights = last.set_index("investor")[ASSETS]
    return weights.div(weights.sum(axis=1), axis=0)


def numbers(pattern, text):
    """The numbers in a sentence of this form."""
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return [float(one.replace(",", "")) for one in found.groups()]


def said(document, name):
    return next((one for one in document["checks"] if one["name"] == name), None)


def test_rows_of_the_files_are_counted_as_they_are(told, used):
    history, held, document, _ = told
    market, people = document["reading"]
    assert (market["rows_read"], market["rows_kept"]) == (YEARS, YEARS)
    assert (people["rows_read"], people["rows_kept"]) == (len(held), len(used))
    assert document["figures"]["investors"] - document["figures"]["refused"] == len(used)
    sentences = " ".join(people["sentences"])
    whole = held[[*ASSETS, OUTSIDE]].sum(axis=1)
    share = held[ASSETS].sum(axis=1) / whole
    rows = (np.flatnonzero(share < 0.8) + 2).tolist()
    named = numbers(r"rows (\d+), (\d+), (\d+) and ([\d,]+) more: less than 80%", sentences)
    assert named == [*rows[:3], len(rows) - 3]
    (lost,) = numbers(r"([\d.]+)% of the value of this file has no return history", sentences)
    assert lost == pytest.approx(100 * held[OUTSIDE].sum() / whole.sum(), abs=0.06)
    assert people["covered"] == pytest.approx(1 - held[OUTSIDE].sum() / whole.sum(), abs=1e-4)
    several, latest, all_ = numbers(
        r"([\d,]+) investors come at several dates.*?, ([\d,]+) of ([\d,]+)", sentences
    )
    assert (several, latest, all_) == (len(used), len(used), int((share >= 0.8).sum()))
    notes = " ".join(document["notes"])
    there, of = numbers(r"Hedge \(begins in December 2000, (\d+) of (\d+) periods\)", notes)
    assert (there, of) == (history["Hedge"].notna().sum(), len(history))


def completed(document):
    """Whether what the file seems to leave out was completed."""
    return said(document, "dropped") is not None


def test_a_file_without_small_positions_is_recognised(told, used):
    _, _, document, _ = told
    least = used.to_numpy()[used.to_numpy() > 0].min()
    check = said(document, "dropped")
    assert (check is not None) == (least > 0.008)
    if check:
        (below,) = numbers(r"no holding below ([\d.]+)%", check["sentence"])
        assert below == pytest.approx(100 * least, abs=0.02)


def test_investors_who_share_a_portfolio_are_counted(told, used):
    _, _, document, _ = told
    sizes = used.round(9).value_counts()
    sentence = said(document, "duplicates")["sentence"]
    counts = numbers(r"([\d,]+) investors hold ([\d,]+) portfolios", sentence)
    assert counts == [sizes[sizes > 1].sum(), len(sizes[sizes > 1])]
    assert counts[0] >= 7


def test_who_holds_what_is_what_the_file_says(told, used):
    _, _, document, tables = told
    returns = tables["returns"].set_index("asset")
    gold = returns.loc["Gold"]
    assert np.isnan(gold["estimate"])
    kept = (tables["investors"]["status"] == "learned").sum()
    without, total = numbers(r"(\d+) of (\d+) investors do not hold it", gold["sentence"])
    assert without == total == kept, "nobody holds it"
    if gold["status"] == "not seen":
        assert np.isnan([gold["low"], gold["high"]]).all()
        assert "%" not in gold["sentence"]
    else:
        assert gold["status"] == "bounded above"
        assert gold["high"] < 1.0
    for name in HELD:
        row, holders = returns.loc[name], int((used[name] > 0).sum())
        if row["status"] == "identified":
            informing, total = numbers(r"(\d+) of (\d+) investors inform", row["sentence"])
            assert informing == row["investors"]
            assert informing <= holders or completed(document)
            assert total == kept
            assert row["low"] < row["estimate"] < row["high"]
        else:
            assert np.isnan(row["estimate"])
    statuses = returns["status"].value_counts().to_dict()
    assert document["figures"]["status"] == statuses
    given = [None if np.isnan(one) else one for one in returns["estimate"]]
    assert document["estimate"] == given


def test_distances_weights_and_shares_are_those_of_the_tables(told, used):
    _, _, document, tables = told
    figures, people = document["figures"], tables["investors"]
    learned = people[people["status"] == "learned"]
    assert (people["status"] == "outlier").sum() == figures["set_aside"]
    check = said(document, "noise")
    away, _ = numbers(r"is ([\d.]+)% of the portfolio.*?error of ([\d.]+)%", check["sentence"])
    rms = np.sqrt((learned["distance"] ** 2).mean() / len(ASSETS))
    assert away == pytest.approx(100 * rms, abs=0.006)
    if said(document, "outliers"):
        counts = numbers(
            r"([\d,]+) of ([\d,]+) portfolios are", said(document, "outliers")["sentence"]
        )
        assert counts == [figures["set_aside"], len(used)]
    weights = people["weight"].dropna()
    assert figures["median_weight"] == pytest.approx(weights.median())
    Y = used.loc[people.loc[people["weight"].notna(), "id"]].to_numpy()
    spread = ((Y - Y.mean(axis=0)) ** 2).sum()
    share = 1.0 - (people["distance"].dropna() ** 2).sum() / spread
    if not completed(document):  # then it is of the completed portfolios
        assert share == pytest.approx(figures["explained"], abs=1e-6)
    far = people["risk_aversion"].isna() & people["weight"].notna()
    assert people.loc[far, "reason"].str.startswith("no risk aversion").all()
    assert (people["risk_aversion"].dropna() <= 98.0).all()


def test_no_order_is_recommended_where_the_anchors_leave_it_open(told):
    _, _, document, _ = told
    anchors = said(document, "anchors")
    open_ = anchors is not None and "the right way round" in anchors["sentence"]
    remedies = " ".join(one["remedy"] for one in document["checks"])
    assert not (open_ and "as an order" in remedies)


def test_groups_have_the_sizes_that_the_file_gives_them(told, used):
    _, held, document, tables = told
    groups = document["groups"]
    if document["figures"]["way"] == "implied returns":
        assert groups is None
        return
    of = held.drop_duplicates("investor").set_index("investor")["category"].reindex(used.index)
    sizes = {one["name"]: one["portfolios"] for one in groups["groups"]}
    assert sizes == of.value_counts().to_dict()
    status = tables["investors"].set_index("id")["status"].reindex(used.index)
    for one in groups["groups"]:
        aside = (status[of == one["name"]] == "outlier").sum()
        assert one["set_aside"] + one["apart"] == aside
