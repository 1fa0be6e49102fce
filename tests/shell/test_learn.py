"""`imop simulate`, `imop learn` and `imop frontier` as a person runs them."""

import contextlib
import datetime as dt
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.cli import main
from imop_engine.tables import yahoo_cache
from imop_engine.weight_families import drawn_by_mean_and_sd
from thirty import thirty_stocks

EIGHT = ["AAPL", "AMD", "JPM", "KO", "PG", "UNH", "WMT", "XOM"]


@pytest.fixture
def shell(capsys):
    """The shell in this process: the same entry, without starting Python again."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def good(shell, *arguments):
    code, out, err = shell(*arguments)
    assert code == 0, err
    return out


def printed(*arguments: object) -> str:
    """What a command prints, for what a whole module shares."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert not ended.value.code
    return out.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Eight stocks, and investors simulated once by the command itself; several tests read them."""
    folder = tmp_path_factory.mktemp("simulated")
    history = folder / "eight.csv"
    market("us20").history[EIGHT].to_csv(history)
    printed(
        "simulate", "--returns", history, "--investors", "200", "--disagreement", "0.01",
        "--segment", "young=0.5,normal,0.7,0.1", "--segment", "old=0.5,beta,0.35,0.1",
        "--from", "2022-01-31", "--to", "2023-12-31", "--out", folder, "--json",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def learned(files, tmp_path_factory):
    """A run with every default, once: its folder, and what it told a person."""
    folder = tmp_path_factory.mktemp("learned")
    return folder, printed("learn", *of(files), "--out", folder)


def of(files: Path) -> tuple[str, ...]:
    return ("--returns", f"{files}/returns.csv", "--portfolios", f"{files}/portfolios.csv")


# -- simulate ------------------------------------------------------------------------------------
def test_simulate_writes_what_it_says(shell, tmp_path):
    out = good(
        shell, "simulate", "--out", tmp_path, "--investors", 30, "--market", "paper8", "--json"
    )
    document = json.loads(out)
    assert document["investors"] == 30
    assert sorted(document["files"]) == ["portfolios", "returns", "truth", "truth_investors"]
    held = pd.read_csv(tmp_path / "portfolios.csv")
    assert held.shape == (30, 9)
    truth = pd.read_csv(tmp_path / "truth.csv")
    assert truth["true"].tolist() == document["true"]
    weights = pd.read_csv(tmp_path / "truth_investors.csv")
    np.testing.assert_allclose(
        weights["risk_aversion"], 2 * (1 - weights["weight"]) / weights["weight"]
    )


def test_simulate_repeats_with_its_seed(shell, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        good(shell, "simulate", "--out", tmp_path / name, "--investors", 20, "--seed", seed)
    read = {name: (tmp_path / name / "portfolios.csv").read_bytes() for name in "abc"}
    assert read["a"] == read["b"] != read["c"]


def test_simulate_tells_people_the_next_command(shell, tmp_path):
    out = good(shell, "simulate", "--out", tmp_path, "--investors", 20)
    assert "20 investors on 20 assets, seed 0" in out
    assert f"Next: imop learn --returns {tmp_path}/returns.csv" in out


def test_simulate_takes_every_kind_of_noise_and_a_change_of_belief(shell, tmp_path):
    for noise in ("round", "uniform", "gaussian", "dirichlet", "epsilon", "none"):
        good(
            shell, "simulate", "--market", "paper8", "--investors", 10, "--noise", noise,
            "--weights", "mixture", "--part", "0.5,0.3,0.05", "--part", "0.5,0.7,0.05",
            "--cap", "Security 1=0.4", "--layout", "long", "--from", "2022-01-01",
            "--to", "2022-12-31", "--change", "2022-07-01:Security 2=12%",
            "--out", tmp_path / noise,
        )  # fmt: skip
        truth = pd.read_csv(tmp_path / noise / "truth.csv")
        assert truth["true from change 1"].tolist()[1] == 0.12
        held = pd.read_csv(tmp_path / noise / "portfolios.csv")
        assert list(held.columns) == ["investor", "date", "asset", "weight"]


@pytest.mark.parametrize("weights", drawn_by_mean_and_sd())
def test_simulate_takes_every_distribution_of_weights(shell, tmp_path, weights):
    good(
        shell, "simulate", "--market", "paper8", "--investors", 400, "--weights", weights,
        "--mean", "0.5", "--sd", "0.1", "--out", tmp_path,
    )  # fmt: skip
    assert pd.read_csv(tmp_path / "truth_investors.csv")["weight"].mean() == pytest.approx(
        0.5, abs=0.05
    )


# -- learn ---------------------------------------------------------------------------------------
@pytest.mark.slow
def test_learn_writes_the_folder_of_the_contract(shell, files, tmp_path):
    out = good(
        shell, "learn", *of(files), "--truth", files / "truth.csv", "--out", tmp_path,
        "--also", "xlsx", "--title", "North", "--json",
    )  # fmt: skip
    document = json.loads(out)
    returns = pd.read_csv(tmp_path / "returns.csv")
    assert list(returns.columns[:5]) == ["asset", "estimate", "low", "high", "status"]
    investors = pd.read_csv(tmp_path / "investors.csv")
    assert list(investors.columns[:4]) == ["id", "weight", "risk_aversion", "distance"]
    assert set(investors["segment"]) == {"young", "old"}
    assert len(investors) == 200
    assert {"weight", "risk", "return"} <= set(pd.read_csv(tmp_path / "frontier.csv").columns)
    run = json.loads((tmp_path / "run.json").read_text())
    assert {"settings", "versions", "seed", "figures", "reading", "command"} <= set(run)
    assert run["command"].startswith("imop learn --returns ")
    assert [one["name"] for one in run["reading"]] == ["returns.csv", "portfolios.csv"]
    known = returns["status"].isin(["identified", "anchored", "relative"])
    written = returns["estimate"].astype(object).where(known, None).tolist()
    assert document["estimate"] == run["estimate"] == written
    assert returns.loc[~known, "estimate"].isna().all()
    assert document["verdict"] == run["verdict"] in ("good", "caution", "poor")
    assert document["figures"]["raw_error"] > 0
    page = (tmp_path / "report.html").read_text()
    assert "<title>North</title>" in page
    assert (tmp_path / "study.xlsx").stat().st_size > 10_000


def test_learn_equals_the_engine(shell, files):
    document = json.loads(good(shell, "learn", *of(files), "--json"))
    history = pd.read_csv(files / "returns.csv", index_col="date", parse_dates=True)
    held = pd.read_csv(files / "portfolios.csv", index_col="investor")[list(history.columns)]
    study = imop.run_study(history.mean() * 12, history.cov() * 12, held, history=history)
    np.testing.assert_allclose(
        np.array(document["estimate"], float), study.frame_returns["estimate"], atol=1e-9
    )


def test_learn_by_what_is_left_on_the_table(shell, files, tmp_path):
    few = ("--no-refine", "--out", tmp_path)
    document = json.loads(good(shell, "learn", *of(files), "--loss", "efficiency", *few, "--json"))
    assert document["settings"]["loss"] == document["figures"]["loss"] == "efficiency"
    study = imop.load_study(tmp_path)
    gaps = imop.efficiency(study.problem, study.theta, study.decisions).gaps
    written = pd.read_csv(tmp_path / "investors.csv")
    np.testing.assert_allclose(written["gap"], gaps, rtol=1e-9, atol=1e-15)
    assert document["figures"]["mean_gap"] == pytest.approx(gaps.mean())
    assert document["figures"]["total_gap"] == pytest.approx(gaps.sum())
    code, _, err = shell("learn", *of(files), *few, "--resume")
    assert code == 2
    assert "had loss 'efficiency' and this one has 'distance'" in err


@pytest.mark.slow
def test_learn_for_people_shows_table_fit_and_where_the_files_are(learned):
    _, out = learned
    for word in (
        "asset",
        "estimate",
        "status",
        "AAPL",
        "One frontier explains",
        "report.html",
        "At their own risk investors could earn",
    ):
        assert word in out
    assert "Learning" not in out, "progress is no result"


def test_learn_takes_anchors_of_assets_and_of_portfolios(shell, files, tmp_path):
    portfolio = tmp_path / "mine.csv"
    portfolio.write_text("asset,weight\nAAPL,0.5\nPG,0.5\n")
    document = json.loads(
        good(
            shell, "learn", *of(files), "--anchor", "UNH=25%",
            "--anchor-portfolio", f"{portfolio}=0.2", "--json",
        )
    )  # fmt: skip
    values = dict(zip(document["assets"], document["estimate"], strict=True))
    assert values["UNH"] == 0.25
    assert (values["AAPL"] + values["PG"]) / 2 == pytest.approx(0.2)


@pytest.mark.slow
def test_learn_takes_moments_given_directly(shell, tmp_path):
    good(shell, "simulate", "--market", "paper8", "--investors", 60, "--out", tmp_path)
    paper = market("paper8")
    pd.DataFrame({"asset": paper.names, "expected_return": paper.expected_returns}).to_csv(
        tmp_path / "expected.csv", index=False
    )
    square = pd.DataFrame(paper.covariance, index=list(paper.names), columns=list(paper.names))
    square.rename_axis("asset").to_csv(tmp_path / "covariance.csv")
    people = ("--portfolios", tmp_path / "portfolios.csv", "--json")
    given = json.loads(
        good(
            shell, "learn", "--expected", tmp_path / "expected.csv",
            "--covariance", tmp_path / "covariance.csv", *people,
        )
    )  # fmt: skip
    bundled = json.loads(good(shell, "learn", "--market", "paper8", *people))
    assert given["estimate"] == bundled["estimate"]


@pytest.mark.slow
def test_settings_reach_the_learner(shell, files):
    document = json.loads(
        good(
            shell, "learn", *of(files), "--weights", 11, "--algorithm", "full", "--rate", 2,
            "--no-refine", "--upper", 0.6, "--cap", "AAPL=0.3", "--bounds", 0, 0.6,
            "--mean-estimator", "shrunk", "--covariance-estimator", "ledoit-wolf",
            "--level", 0.9, "--seed", 5, "--json",
        )
    )  # fmt: skip
    settings = document["settings"]
    assert (settings["weights"], settings["algorithm"], settings["rate"]) == (11, "full", 2.0)
    assert settings["upper"]["AAPL"] == 0.3
    assert settings["upper"]["PG"] == 0.6
    assert settings["bounds"] == [0.0, 0.6]
    assert settings["refine"] is False
    assert document["seed"] == 5
    assert any("Bayes-Stein" in note or "shrunk" in note for note in document["notes"])


@pytest.mark.slow
def test_gaps_in_the_history_are_in_the_report(shell, files, tmp_path):
    history = pd.read_csv(files / "returns.csv")
    history.loc[:49, "AMD"] = np.nan
    history.to_csv(tmp_path / "gappy.csv", index=False)
    out = tmp_path / "out"
    good(
        shell, "learn", "--returns", tmp_path / "gappy.csv",
        "--portfolios", files / "portfolios.csv", "--out", out,
    )  # fmt: skip
    page = (out / "report.html").read_text()
    assert re.search(r"gappy\.csv[^<]*AMD[^<]*missing", page)
    assert "AMD" in (out / "inputs" / "reading.csv").read_text()


@pytest.mark.slow
def test_thirty_stocks_with_gaps_in_one_command(shell, tmp_path):
    history = tmp_path / "thirty.csv"
    thirty_stocks().to_csv(history)
    good(shell, "simulate", "--returns", history, "--investors", 500, "--out", tmp_path / "sim")
    out = tmp_path / "out"
    document = json.loads(
        good(
            shell, "learn", "--returns", history, "--portfolios", tmp_path / "sim/portfolios.csv",
            "--truth", tmp_path / "sim/truth.csv", "--out", out, "--json",
        )
    )  # fmt: skip
    assert document["figures"]["assets"] == 30
    assert document["figures"]["explained"] > 0.99
    assert document["figures"]["raw_error"] < 0.01
    page = (out / "report.html").read_text()
    assert re.search(r"thirty\.csv[^<]*GS and V: returns are missing", page)
    assert "V (begins in April 2008, 69 of 180 periods)" in page
    pairs = tmp_path / "pairs"
    good(
        shell, "learn", "--returns", history, "--portfolios", tmp_path / "sim/portfolios.csv",
        "--gaps", "pairwise", "--no-refine", "--out", pairs,
    )  # fmt: skip
    assert "uses the periods in which both have a return" in (pairs / "report.html").read_text()


# -- stop and resume -----------------------------------------------------------------------------
# Ctrl-C at a known step: the run sends the signal to itself, however fast the machine is. A process
# whose parent ignores the signal (a job in the background of a script) would ignore it as well.
STOPPING = """
import signal, sys
from imop_engine.cli import main
from imop_engine.study import steps

signal.signal(signal.SIGINT, signal.default_int_handler)
all_steps = steps.steps_of

def steps_of(*arguments):
    for number, step in enumerate(all_steps(*arguments)):
        yield step
        if number == int(sys.argv[1]):
            signal.raise_signal(signal.SIGINT)

steps.steps_of = steps_of
main(sys.argv[2:])
"""


def stop_in_another_process(arguments: list[str], step: int) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", STOPPING, str(step), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_an_interrupted_run_resumes_to_the_same_digits(shell, tmp_path):
    good(
        shell, "simulate", "--investors", 400, "--noise", "gaussian", "--noise-level", "0.01",
        "--format", "parquet", "--out", tmp_path,
    )  # fmt: skip
    source = ("--returns", f"{tmp_path}/returns.parquet", "--no-refine")
    people = ("--portfolios", f"{tmp_path}/portfolios.parquet")
    out = tmp_path / "out"
    checkpoint = out / "unfinished.npz"
    stopped = stop_in_another_process(["learn", *source, *people, "--out", str(out)], step=5)
    assert stopped.returncode == 130, stopped.stderr
    said = " ".join(stopped.stderr.split())
    done = re.search(r"Stopped after ([\d,]+) of 400 portfolios", said)
    assert done, said
    assert 0 < int(done[1]) < 400
    assert checkpoint.exists()
    assert not (out / "run.json").exists()

    code, text, err = shell("learn", *source, *people, "--out", out, "--resume", "--json")
    assert code == 0, err
    assert f"Going on after {done[1]} portfolios" in err
    whole = json.loads(good(shell, "learn", *source, *people, "--json"))
    assert json.loads(text)["estimate"] == whole["estimate"]
    assert not checkpoint.exists(), "a finished run leaves no trace of the stop"


@pytest.mark.slow
def test_resume_with_more_portfolios_learns_only_the_new_ones(shell, files, tmp_path):
    table = pd.read_csv(files / "portfolios.csv")
    table.iloc[:150].to_csv(tmp_path / "portfolios.csv", index=False)
    source = ("--returns", files / "returns.csv", "--portfolios", tmp_path / "portfolios.csv")
    out = tmp_path / "out"
    first = json.loads(good(shell, "learn", *source, "--out", out, "--json"))
    table.to_csv(tmp_path / "portfolios.csv", index=False)
    code, text, err = shell("learn", *source, "--out", out, "--resume", "--json")
    assert code == 0, err
    assert "Going on after 150 portfolios" in err
    second = json.loads(text)
    assert second["figures"]["rounds"] == 200
    assert second["anchors"] == first["anchors"]


@pytest.mark.slow
def test_resume_without_a_checkpoint_starts_at_the_beginning(shell, files, tmp_path):
    out = json.loads(good(shell, "learn", *of(files), "--out", tmp_path, "--resume", "--json"))
    assert out["figures"]["rounds"] == 200


# -- frontier ------------------------------------------------------------------------------------
@pytest.mark.slow
def test_frontier_of_a_study_and_of_the_history(shell, files, learned):
    folder, _ = learned
    believed = json.loads(good(shell, "frontier", "--study", folder, "--json"))
    history = json.loads(good(shell, "frontier", "--returns", files / "returns.csv", "--json"))
    assert (believed["source"], history["source"]) == ("estimated", "historical")
    assert believed["frontier"] != history["frontier"]
    saved = imop.load_study(folder)
    assert believed["turning_points"] == len(saved.frontier.weights)
    for rows in (believed["frontier"], history["frontier"]):
        risks = [row["risk"] for row in rows]
        assert risks == sorted(risks)
        held = np.array([[row[name] for name in saved.problem.names] for row in rows])
        np.testing.assert_allclose(held.sum(axis=1), 1.0, atol=1e-9)


def test_frontier_prints_and_writes(shell, tmp_path):
    path = tmp_path / "frontier.xlsx"
    out = good(shell, "frontier", "--market", "paper8", "--upper", "0.4", "--out", path)
    assert "largest holdings" in out
    assert "turning points" in out
    assert f"points written to {path}" in out
    table = pd.read_excel(path)
    assert table.iloc[:, 4:].to_numpy().max() <= 0.4 + 1e-12


def test_prices_from_yahoo_come_from_the_cache_when_offline(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("IMOP_CACHE", str(tmp_path))
    code, _, err = shell("frontier", "--tickers", "AAA BBB", "--offline")
    assert code == 2
    assert "AAA" in err
    days = pd.date_range("2015-01-31", periods=60, freq="ME")
    rng = np.random.default_rng(0)
    for ticker, drift in (("AAA", 0.004), ("BBB", 0.01)):
        prices = pd.Series(100 * np.exp(np.cumsum(rng.normal(drift, 0.04, 60))), index=days)
        request = yahoo_cache.Request(ticker, "2015-01-01", "2019-12-31", "monthly")
        yahoo_cache.store(request, prices, yahoo_cache.cache_folder(), dt.datetime.now(dt.UTC))
    out = good(
        shell, "frontier", "--tickers", "AAA BBB", "--offline", "--history-from", "2015-01-01",
        "--history-to", "2019-12-31", "--json",
    )  # fmt: skip
    assert {"AAA", "BBB"} <= set(json.loads(out)["frontier"][0])


# -- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("learn", "--portfolios", "p.csv"), "say what the assets return"),
        (("learn", "--returns", "no.csv", "--portfolios", "p.csv"), "no.csv"),
        (("learn", "--returns", "{f}/returns.csv"), "--portfolios"),
        (("learn", "--returns", "{f}/returns.csv", "--portfolios", "gone.csv"), "gone.csv"),
        (("learn", "--market", "us30", "--portfolios", "p.csv"), "no bundled market 'us30'"),
        (("learn", "--expected", "e.csv", "--portfolios", "p.csv"), "belong together"),
        (("learn", "{ok}", "--anchor", "AAPL"), "--anchor is 'AAPL'; write it as AAPL=0.08"),
        (("learn", "{ok}", "--anchor", "AAPL=x"), "--anchor is 'AAPL=x'"),
        (("learn", "{ok}", "--anchor", "ZZZ=0.1", "--anchor", "UNH=0.2"), "no asset 'ZZZ'"),
        (("learn", "{ok}", "--anchor", "UNH=0.1", "--anchor", "UNH=0.2"), "names UNH twice"),
        (("learn", "{ok}", "--anchor-portfolio", "m.csv=0.1"), "m.csv: there is no such file"),
        (("learn", "{ok}", "--weights", "few"), "--weights is 'few'"),
        (("learn", "{ok}", "--algorithm", "magic"), "no algorithm 'magic'"),
        (("learn", "{ok}", "--loss", "gap"), "no loss 'gap'; use one of distance, efficiency"),
        (("learn", "{ok}", "--loss", "efficiency", "--algorithm", "full"), "take algorithm"),
        (("learn", "{ok}", "--start", "there"), "no start 'there'; choose one of efficiency"),
        (("demo", "--loss", "gap"), "no loss 'gap'"),
        (("learn", "{ok}", "--sums", "ignore"), "sums"),
        (("learn", "{ok}", "--kind", "tea"), "kind"),
        (("learn", "{ok}", "--cap", "ZZZ=0.1"), "--cap names ZZZ"),
        (("learn", "{ok}", "--upper", "0.01"), "caps add up to 0.08"),
        (("learn", "{ok}", "--resume"), "name it with --out"),
        (("learn", "{ok}", "--also", "xlsx"), "name it with --out"),
        (("learn", "{ok}", "--out", "{f}/returns.csv"), "returns.csv"),
        (("learn", "{ok}", "--truth", "{f}/portfolios.csv"), "no column 'asset'"),
        (("learn", "{ok}", "--role", "investor"), "--role is 'investor'"),
        (("learn", "{ok}", "--mean-estimator", "median"), "median"),
        (("simulate",), "--out"),
        (("simulate", "--out", "x", "--format", "doc"), "--format is 'doc'"),
        (("simulate", "--out", "x", "--layout", "round"), "--layout is 'round'"),
        (("simulate", "--out", "x", "--segment", "a"), "--segment is 'a'"),
        (("simulate", "--out", "x", "--segment", "a=b,c"), "--segment is 'a=b,c'"),
        (("simulate", "--out", "x", "--weights", "mixture"), "A mixture needs parts"),
        (("simulate", "--out", "x", "--weights", "mixture", "--part", "1"), "--part is '1'"),
        (("simulate", "--out", "x", "--from", "2020-01-01"), "--from and --to belong together"),
        (("simulate", "--out", "x", "--change", "AAPL=1"), "--change is 'AAPL=1'"),
        (("simulate", "--out", "x", "--noise", "pink"), "no noise 'pink'"),
        (("frontier",), "say what the assets return"),
        (("frontier", "--study", "nowhere"), "holds no study"),
        (("frontier", "--study", "x", "--market", "us20"), "brings its own returns"),
        (("frontier", "--market", "us20", "--out", "f.doc"), "no ending we can write"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_sentence_and_code_2(
    arguments, words, shell, files, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    given = []
    for one in arguments:
        given += of(files) if one == "{ok}" else [one.format(f=files)]
    code, out, err = shell(*given)
    assert code == 2
    assert out == ""
    assert words in err
    assert re.fullmatch(r"imop: [^\n]+\.\n", err), err


def test_the_shell_answers_at_once():
    """Help loads no numerical code: heavy imports live inside the commands."""
    code = "import sys, imop_engine.cli; print('numba' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.split() == ["False", "False"]


# -- whether to trust it -------------------------------------------------------------------------
@pytest.mark.slow
def test_learn_says_the_verdict_and_its_reasons_before_the_table(shell, tmp_path):
    # twenty assets, of which some are held by nobody
    people, folder = tmp_path / "people", tmp_path / "run"
    good(
        shell, "simulate", "--market", "us20", "--investors", "200", "--disagreement", "0.01",
        "--segment", "young=0.5,normal,0.7,0.1", "--segment", "old=0.5,beta,0.35,0.1",
        "--out", people,
    )  # fmt: skip
    out = good(shell, "learn", *of(people), "--out", folder)
    document = json.loads((folder / "run.json").read_text())
    flat = " ".join(out.split())
    assert flat.startswith(f"Verdict: {document['verdict']}. ")
    assert document["checks"], "a history of anchors is never without a remark here"
    for check in document["checks"]:
        line = (
            f"{check['severity'].capitalize()}: {check['sentence']} What helps: {check['remedy']}"
        )
        assert line in flat
        assert flat.index(line) < flat.index("Expected returns per year, given the anchors")
    table = pd.read_csv(folder / "returns.csv")
    unknown = table["status"].str.startswith(("bounded", "not seen"))
    assert unknown.any()
    assert table.loc[unknown, "estimate"].isna().all()
    for asset in table.loc[unknown, "asset"]:
        row = next(line for line in out.splitlines() if re.match(rf"│ {asset} +│", line))
        assert row.split("│")[2].strip() == "–"
    assert [one is None for one in document["estimate"]] == unknown.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["±", "+-", "+/-"])
def test_an_anchor_may_carry_its_error(shell, files, sign):
    document = json.loads(
        good(
            shell, "learn", *of(files), "--anchor", f"UNH=25%{sign}2%", "--anchor", "AAPL=0.27",
            "--no-trim", "--errors", "holdings", "--risks", "history", "--json",
        )
    )  # fmt: skip
    known = document["settings"]["anchors"]
    assert known == [
        {"asset": "UNH", "return": 0.25, "error": 0.02},
        {"asset": "AAPL", "return": 0.27},
    ]
    assert document["settings"]["trim"] is False
    assert document["settings"]["errors"] == "holdings"
    assert document["settings"]["risks"] == "history"
    assert document["figures"]["covariance_fitted"] is False
    assert document["figures"]["set_aside"] == 0


@pytest.mark.slow
def test_months_make_estimates_of_given_moments(shell, tmp_path):
    good(shell, "simulate", "--market", "paper8", "--investors", 80, "--out", tmp_path)
    people = ("--market", "paper8", "--portfolios", tmp_path / "portfolios.csv", "--json")
    sure = json.loads(good(shell, "learn", *people))
    unsure = json.loads(good(shell, "learn", *people, "--months", 60))
    assert sure["figures"]["periods"] is None
    assert unsure["figures"]["periods"] == 60
    assert "history" in [check["name"] for check in unsure["checks"]]
    assert "history" not in [check["name"] for check in sure["checks"]]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--anchor", "UNH=25%±0.02"), "both numbers as fractions, or both in %"),
        (("--anchor", "UNH=25%±x%"), "with its standard error as"),
        (("--anchor", "UNH=25%±-2%", "--anchor", "AAPL=20%"), "give a standard error"),
        (("--months", "60"), "leave --months out"),
        (("--errors", "taste"), "no error model 'taste'"),
        (("--risks", "mine"), "risks cannot be 'mine'; choose one of fitted, history"),
    ],
)
def test_what_cannot_be_read_is_said(option, words, shell, files):
    code, out, err = shell("learn", *of(files), *option)
    assert (code, out) == (2, "")
    assert words in err
    assert re.fullmatch(r"imop: [^\n]+\.\n", err), err


TWO_DATES = (
    "client,date,AAPL,KO,XOM\nAnn,2020-01-31,0.5,0.3,0.2\nBob,2020-01-31,0.1,0.8,0.1\n"
    "Ann,2020-02-29,0.4,0.4,0.2\nBob,2020-02-29,0.1,0.7,0.2\n"
)


def test_what_needs_the_analyst_comes_with_its_option(shell, tmp_path):
    path = tmp_path / "clients.csv"
    path.write_text(TWO_DATES)
    run = ("learn", "--market", "us20", "--portfolios", path, "--no-refine")
    said = " ".join(good(shell, *run).split())
    assert "2 investors come at several dates; only the latest portfolio of each is used" in said
    assert "Try --snapshots panel or --snapshots 'by date'." in said
    assert "clients.csv: 1 thing was done for you, in 2 rows." in said
    document = json.loads(good(shell, *run, "--snapshots", "panel", "--json"))
    assert document["figures"]["investors"] == 4
    code, _, err = shell(*run, "--snapshots", "sometimes")
    assert code == 2
    assert "snapshots is 'sometimes'; choose latest, panel, by date, or a date" in err


def test_currencies_and_sheets_name_their_options(shell, tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("client,asset,value,currency\nAnn,AAPL,10,USD\nAnn,KO,20,EUR\n")
    run = ("learn", "--market", "us20", "--no-refine", "--portfolios")
    code, _, err = shell(*run, path)
    assert code == 2
    assert "say what one EUR and one USD is worth in one of them" in err
    assert "Try --currency-rate EUR=1" in err
    code, _, err = shell(*run, path, "--currency-rate", "USD")
    assert code == 2
    assert "--currency-rate is 'USD'; write it as USD=0.92." in err
    book = tmp_path / "c.xlsx"
    with pd.ExcelWriter(book) as writer:
        pd.DataFrame({"a": ["x"]}).to_excel(writer, sheet_name="Notes", index=False)
        pd.read_csv(path).to_excel(writer, sheet_name="Clients", index=False)
    code, _, err = shell(*run, book, "--portfolio-sheet", "Notes")
    assert code == 2
    assert "c.xlsx, sheet Notes" in err
    assert "The workbook also has Clients; choose one of these." in err
    assert "--portfolio-sheet for portfolios" in err


def test_groups_are_compared_by_a_column_or_by_time(shell, files, tmp_path):
    learn = ["learn", "--returns", files / "returns.csv", "--portfolios", files / "portfolios.csv"]
    said = good(shell, *learn, "--by", "segment", "--out", tmp_path)
    assert "more than chance would give" in said
    table = pd.read_csv(tmp_path / "groups.csv")
    assert set(table["group"]) == {"young", "old"}
    assert json.loads((tmp_path / "run.json").read_text())["groups"]["by"] == "segment"
    code, _, err = shell(*learn, "--by", "branch", "--out", tmp_path)
    assert code != 0
    assert "there is no column 'branch' to make groups by" in " ".join(err.split())
