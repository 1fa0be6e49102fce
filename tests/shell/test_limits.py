"""Limits in the shell: said, kept, priced, and refused in a sentence."""

import json

import numpy as np
import pandas as pd
import pytest

from imop_engine import load_study
from imop_engine.bundled import market

TECHNOLOGY = ["AAPL", "AMD", "MSFT"]
SAID = ("--limit", "sector:Technology <= 20%", "--minimum", "defensive=40%", "--minimum", "KO=2%")


def test_a_frontier_under_limits_keeps_them_and_says_what_they_cost(run_here):
    done = run_here("frontier", "--market", "us20", *SAID, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    held = pd.DataFrame(told["frontier"])
    assert held[TECHNOLOGY].sum(axis=1).max() <= 0.2 + 1e-9
    assert held["KO"].min() >= 0.02 - 1e-9
    costs = {one["limit"]: one for one in told["limits"]}
    assert set(costs) == {
        "all limits together", "sector:Technology at most 20%", "cycle:defensive at least 40%",
        "KO at least 2%",
    }  # fmt: skip
    assert costs["sector:Technology at most 20%"]["greatest_price"] > 5e-4
    shown = run_here("frontier", "--market", "us20", *SAID)
    assert "What the limits cost" in shown.stdout


def test_caps_are_read_in_per_cent_or_as_shares(run_here):
    said = (["--upper", "20%", "--cap", "KO=5%"], ["--upper", "0.2", "--cap", "KO=0.05"])
    one, other = (run_here("frontier", "--market", "us20", *each, "--json") for each in said)
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout
    held = pd.DataFrame(json.loads(one.stdout)["frontier"])[list(market("us20").names)]
    assert held.to_numpy().max() == pytest.approx(0.2, abs=1e-9)
    assert held["KO"].max() <= 0.05 + 1e-9


def test_more_than_the_whole_may_be_held_where_others_are_sold_short(run_here):
    given = ("--upper", "1.2", "--minimum", "KO=-50%")
    done = run_here("frontier", "--market", "us20", *given, "--json")
    assert done.returncode == 0, done.stderr
    held = pd.DataFrame(json.loads(done.stdout)["frontier"])[list(market("us20").names)]
    assert 1.0 < held.to_numpy().max() <= 1.2 + 1e-9
    assert held["KO"].min() == pytest.approx(-0.5, abs=1e-9)


def test_groups_and_a_benchmark_come_from_files(run_here, tmp_path):
    returns, groups, held = (tmp_path / name for name in ("r.csv", "g.csv", "b.csv"))
    market("us20").history[["AAPL", "MSFT", "KO", "PG"]].to_csv(returns)
    groups.write_text("Ticker;Branche\naapl;Technik\nMSFT;Technik\nKO;Konsum\nPG;Konsum\n")
    held.write_text("asset,weight\nAAPL,0.25\nMSFT,0.25\nKO,0.5\n")
    given = ("--returns", returns, "--group", groups, "--benchmark", held)
    done = run_here("frontier", *given, "--limit", "|Technik - benchmark| <= 5%", "--json")
    assert done.returncode == 0, done.stderr
    share = pd.DataFrame(json.loads(done.stdout)["frontier"])[["AAPL", "MSFT"]].sum(axis=1)
    assert share.min() >= 0.45 - 1e-9
    assert share.max() <= 0.55 + 1e-9
    held.write_text("asset,weight\nAAPL,0.5\nPGG,0.5\n")
    wrong = run_here("frontier", *given, "--limit", "active(Technik) <= 5%")
    assert wrong.returncode == 2
    assert "--benchmark b.csv: there is no asset 'PGG' to limit; did you mean 'PG'?" in wrong.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--limit", "sector:Technolgy <= 30%"], "did you mean 'Technology'?"),
        (["--limit", "AAPL <= 30"], "write 30% for a share of 0.3"),
        (["--upper", "20"], "Is 20% meant? Then write --upper 20%"),
        (["--upper", "1.5"], "--upper 1.5 is 150% of the portfolio, which is no cap"),
        (["--upper", "a fifth"], "--upper is 'a fifth'; write it as 0.2 or 20%"),
        (["--cap", "KO=30"], "--cap KO=30 is 3,000% of the portfolio, which is no cap"),
        (["--cap", "KO=2.5", "--minimum", "AAPL=-50%"], "Is 2.5% meant?"),
        (["--limit", "active(AAPL) <= 3%"], "give the benchmark's holdings"),
        (["--minimum", "KO"], "--minimum is 'KO'; write it as Cash=5%"),
        (
            ["--limit", "Energy <= 30%", "--minimum", "Energy=40%"],
            "these contradict one another: sector:Energy at least 40%; sector:Energy at most 30%",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(run_here, options, sentence):
    done = run_here("frontier", "--market", "us20", *options)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_study_under_limits_keeps_them_in_its_folder(run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = run_here("simulate", "--out", "bank", "--investors", 150, *SAID)
    assert drawn.returncode == 0, drawn.stderr
    held = pd.read_csv("bank/portfolios.csv")
    assert held[TECHNOLOGY].sum(axis=1).max() <= 0.2 + 3e-3  # holdings are rounded to 0.001
    files = ("--market", "us20", "--portfolios", "bank/portfolios.csv")
    done = run_here("learn", *files, *SAID, "--out", "out")
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "out" / "run.json").read_text())["settings"]
    assert settings["limits"][1]["name"] == "sector:Technology"
    assert settings["lower"] == {"KO": 0.02}
    assert "what a limit costs" in (tmp_path / "out" / "report.html").read_text().lower()
    costs = pd.read_csv(tmp_path / "out" / "limits.csv").set_index("limit")
    assert costs.loc["sector:Technology at most 20%", "binds"]
    study = load_study("out")
    assert [limit.sentence for limit in study.settings.limits] == [
        "cycle:defensive at least 40%", "sector:Technology at most 20%",
    ]  # fmt: skip
    technology = [study.problem.names.index(name) for name in TECHNOLOGY]
    assert np.max(study.frontier.portfolios[:, technology].sum(axis=1)) <= 0.2 + 1e-9


@pytest.mark.slow
def test_mandates_are_learned_together(run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = []
    for name, limits in (("careful", ("--limit", "calm:1 >= 60%")), ("free", ())):
        (tmp_path / "groups.csv").write_text(
            "asset,calm\n" + "".join(f"Security {i},{int(i > 4)}\n" for i in range(1, 9))
        )
        drawn = run_here(
            "simulate", "--market", "paper8", "--out", name, "--investors", 80,
            "--group", "groups.csv", *limits,
        )  # fmt: skip
        assert drawn.returncode == 0, drawn.stderr
        part = pd.read_csv(tmp_path / name / "portfolios.csv")
        part.insert(1, "segment", name)
        part["investor"] = name + part["investor"].astype(str)
        parts.append(part)
    pd.concat(parts).to_csv("held.csv", index=False)
    (tmp_path / "mandates.csv").write_text("mandate,limit\ncareful,calm:1 >= 60%\nfree,\n")
    files = ("--market", "paper8", "--group", "groups.csv", "--portfolios", "held.csv")
    known = ("--anchor", "Security 1=17.91%", "--anchor", "Security 7=3.52%")
    done = run_here("learn", *files, *known, "--mandate", "segment=mandates.csv", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "segment careful: 80 portfolios" in done.stdout
    table = pd.read_csv("out/returns.csv").set_index("asset")
    truth = market("paper8").returns_by_asset
    told = table[table["status"] == "identified"]
    assert len(told) >= 3
    assert (told["estimate"] - truth[told.index]).abs().max() < 0.01
    assert len(pd.read_csv("out/investors.csv")) == 160
    (limit,) = load_study("out/mandate-careful").settings.limits
    assert limit.sentence == "calm:1 at least 60%"
    (tmp_path / "mandates.csv").write_text("mandate,limit\ncareful,calms:1 >= 60%\n")
    wrong = run_here("learn", *files, "--mandate", "segment=mandates.csv")
    assert wrong.returncode == 2
    assert "mandates.csv, mandate careful: the limit" in wrong.stderr
    (tmp_path / "mandates.csv").write_text(
        "mandate,limit\ncareful,calm:1 >= 60%\ncareful,calm:1 <= 50%\nfree,\n"
    )
    wrong = run_here("learn", *files, "--mandate", "segment=mandates.csv")
    assert wrong.returncode == 2
    assert (
        "mandates.csv, mandate careful: no portfolio keeps all limits; these contradict one "
        "another: calm:1 at least 60%; calm:1 at most 50%."
    ) in " ".join(wrong.stderr.split())
    (tmp_path / "mandates.csv").write_text("mandate,limit\ncareful,calm:1 >= 60%\n")
    wrong = run_here("learn", *files, "--mandate", "segment=mandates.csv")
    assert wrong.returncode == 2
    assert (
        "column 'segment' names 'free', for which mandates.csv has no mandate; give it a row for "
        "each limit, or one row with an empty limit"
    ) in " ".join(wrong.stderr.split())


@pytest.mark.slow
def test_caps_of_everyones_own_come_from_a_column(run_here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = run_here(
        "simulate", "--market", "paper8", "--out", "sim", "--investors", 200, "--seed", 5
    )
    assert drawn.returncode == 0, drawn.stderr
    held = pd.read_csv("sim/portfolios.csv")
    # caps that nobody reaches, but for five who are at theirs
    largest = held[list(market("paper8").names)].max(axis=1)
    caps = (100 * (largest + 0.1).clip(upper=1.0)).round(1)
    caps[:5] = (100 * largest[:5]).round(1)
    held["own cap"] = caps.astype(str) + "%"
    held.to_csv("held.csv", index=False)
    files = ("--market", "paper8", "--portfolios", "held.csv")
    done = run_here("learn", *files, "--own-caps", "own cap", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "cap not reached: 195 portfolios" in done.stdout
    people = pd.read_csv("out/mandate-cap-not-reached/investors.csv")
    assert len(people) >= 195
    both = run_here("learn", *files, "--own-caps", "own cap", "--mandate", "a=b.csv")
    assert both.returncode == 2
    assert "--mandate and --own-caps both say who is under which limits" in both.stderr
    wrong = run_here("learn", *files, "--own-caps", "owncap")
    assert "there is no column 'owncap' with the investors' caps" in wrong.stderr
