"""Value without a history and cash with a rate, from files to verdict, as a person sees it."""

import json

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.cli import main
from imop_engine.simulate import simulate_investors
from imop_engine.storage import load_study
from imop_engine.study.checks import CAUTION, POOR, _coverage

RATE = 0.03


@pytest.fixture
def shell(capsys):
    """The shell in this process: what it printed, spaces made single."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), " ".join(out.split()), " ".join(err.split())

    return run


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Moments of eight securities, and clients who also hold cash at 3 % a year."""
    folder = tmp_path_factory.mktemp("cash")
    eight = market("paper8")
    nine = eight.with_cash("Liquidität", RATE, 1e-4)
    eight.returns_by_asset.rename("expected").to_csv(folder / "expected.csv")
    eight.covariance_by_asset.to_csv(folder / "covariance.csv")
    problem = imop.portfolio_problem(nine.covariance, names=list(nine.names))
    drawn = simulate_investors(
        problem, nine.expected_returns, 120, noise="gaussian", noise_level=0.01,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    table = pd.DataFrame(drawn.portfolios.round(4), columns=nine.names)
    table.insert(0, "Kunde", [f"K{i}" for i in range(len(table))])
    table["Kosten"] = 0.012
    table.to_csv(folder / "kunden.csv", index=False)
    pd.DataFrame({"asset": nine.names, "true": nine.expected_returns}).to_csv(
        folder / "truth.csv", index=False
    )
    return folder


def of(folder):
    return (
        "learn", "--expected", folder / "expected.csv", "--covariance", folder / "covariance.csv",
        "--portfolios", folder / "kunden.csv",
    )  # fmt: skip


def test_value_without_a_history_is_said_with_its_options(shell, files, tmp_path):
    code, out, err = shell(*of(files), "--out", tmp_path)
    assert code == 0, err
    assert "Verdict: caution." in out
    assert "of the value of kunden.csv has no return history: what was learned speaks of the" in out
    assert "less than 80% of the portfolio has a return history, so it is set aside" in out
    assert "Try --min-coverage 0." in out
    assert "Try --cash 'Liquidität=2%' or --role 'Liquidität=ignore'." in out
    people = pd.read_csv(tmp_path / "investors.csv")
    aside = people[people["status"] == "refused"]
    assert len(people) == 120
    assert len(aside) > 0
    assert aside["reason"].str.match(r"has a return history for [\d.]+% of its value, less").all()
    assert f"{len(aside)} portfolios took no part; investors.csv says why." in out
    document = json.loads((tmp_path / "run.json").read_text())
    (check,) = [one for one in document["checks"] if one["name"] == "coverage"]
    assert check["severity"] == "caution"
    read = next(one for one in document["reading"] if one["name"] == "kunden.csv")
    held = pd.read_csv(files / "kunden.csv")["Liquidität"]
    assert read["covered"] == pytest.approx(1 - held.mean(), abs=1e-3)
    again = load_study(tmp_path)
    assert [one.covered for one in again.data.reading] == [read["covered"]]
    assert "coverage" in [one.name for one in again.checks]


def test_cash_with_a_rate_is_learned_about_like_any_other_asset(shell, files, tmp_path):
    code, out, err = shell(
        *of(files), "--cash", f"Liquidität={RATE:.0%}", "--truth", files / "truth.csv",
        "--out", tmp_path,
    )  # fmt: skip
    assert code == 0, err
    assert "no return history" not in out
    assert "Liquidität has no history: it earns 3.00% a year as given" in out
    table = pd.read_csv(tmp_path / "returns.csv").set_index("asset")
    known = table[table["status"].isin(["identified", "anchored"])]
    assert "Liquidität" in known.index
    assert len(known) >= 4
    np.testing.assert_allclose(known["estimate"], known["true"], atol=0.003)
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--min-coverage", "80", "--min-coverage is 80; give a share from 0 to 1"),
        ("--cash", "Cash", "--cash is 'Cash'; write it as Cash=2%."),
        ("--cash", "Security 1=2%", "Security 1 is an asset of the market already"),
    ],
)
def test_options_that_make_no_sense_end_in_a_sentence(shell, files, option, value, said):
    code, _, err = shell(*of(files), option, value)
    assert code == 2
    assert said in err


@pytest.mark.parametrize(
    ("covered", "severity"), [(None, None), (0.96, None), (0.94, CAUTION), (0.79, POOR)]
)
def test_how_grave_missing_value_is(covered, severity):
    from types import SimpleNamespace

    reading = [SimpleNamespace(covered=one, name="x.csv") for one in (covered, 1.0)]
    study = SimpleNamespace(data=SimpleNamespace(reading=reading))
    found = []
    _coverage(study, lambda name, severe, what: found.append((name, severe, what.sentence)))
    assert [one[:2] for one in found] == ([] if severity is None else [("coverage", severity)])
    if found:
        assert f"{100 * (1 - covered):.2f}% of the value of x.csv" in found[0][2]
