"""Templates can be filled in and samples read as they are, from the shell and beside uploaders."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from imop_app.services import examples
from imop_engine import templates
from imop_engine.cli import app
from imop_engine.errors import InvalidInput
from imop_engine.moments import estimate_moments
from imop_engine.tables import read_moments, read_portfolios, read_returns


def content(form: str, *, sample: bool) -> bytes:
    return (examples.sample(form) if sample else examples.template(form)).encode()


@pytest.mark.parametrize("sample", [False, True])
def test_what_is_handed_out_is_read_without_a_change(sample):
    returns = read_returns(content("returns", sample=sample), name="returns.csv")
    assert returns.report.clean
    moments = read_moments(content("expected", sample=sample), content("covariance", sample=sample))
    assets = list(moments.expected_returns.index)
    for form in ("portfolios", "holdings"):
        people = read_portfolios(content(form, sample=sample), assets, name=f"{form}.csv")
        assert people.report.clean
        assert len(people) == (1000 if sample else 2)
        assert not people.report.needs_you


@pytest.mark.parametrize("sample", [False, True])
def test_what_is_handed_out_goes_together(sample):
    returns = read_returns(content("returns", sample=sample), name="returns.csv")
    moments = read_moments(content("expected", sample=sample), content("covariance", sample=sample))
    assert list(returns.returns) == list(moments.expected_returns.index)
    if sample:
        found = estimate_moments(returns.returns, periods_per_year=returns.periods_per_year)
        np.testing.assert_allclose(found.expected_returns, moments.expected_returns, atol=1e-4)
        np.testing.assert_allclose(found.covariance, moments.covariance, atol=1e-4)
    for form in ("portfolios", "holdings"):
        people = read_portfolios(content(form, sample=sample), list(returns.returns))
        assert people.report.covered == 1.0
        assert not people.report.needs_you


def test_a_template_names_the_markets_own_assets():
    text = examples.template("portfolios", ("A", "B", "C", "D", "E", "F", "G"))
    people = read_portfolios(text.encode(), list("ABCDEFG"), name="p.csv")
    assert list(people.weights) == list("ABCDEFG")
    assert people.report.clean
    assert all(examples.about(form) for form in templates.FORMS)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_the_shell_writes_them(tmp_path, ending):
    out = tmp_path / "t"
    given = [
        "template",
        "all",
        "--out",
        str(out),
        "--format",
        ending,
        "--asset",
        "X",
        "--asset",
        "Y",
    ]
    result = CliRunner().invoke(app, [*given, "--json"])
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert set(files) == set(templates.FORMS)
    assert list(read_portfolios(files["portfolios"], ["X", "Y"]).weights) == ["X", "Y"]
    assert list(read_returns(files["returns"]).returns) == ["X", "Y"]


def test_the_shell_writes_samples_and_says_what_they_are(tmp_path):
    result = CliRunner().invoke(app, ["template", "expected", "--sample", "--out", str(tmp_path)])
    assert "expected.csv: Expected returns per year: a row for each asset." in result.stdout
    assert len(pd.read_csv(io.BytesIO((tmp_path / "expected.csv").read_bytes()))) == 8


def test_a_form_that_is_none_is_a_sentence(tmp_path):
    with pytest.raises(InvalidInput, match="There is no form 'prices'; choose returns, portfolios"):
        templates.template("prices")
    result = CliRunner().invoke(app, ["template", "--sample", "--asset", "X"])
    assert "--sample brings its own assets" in str(result.exception)
    result = CliRunner().invoke(app, ["template", "--format", "pdf", "--out", str(tmp_path)])
    assert "--format is 'pdf'" in str(result.exception)
