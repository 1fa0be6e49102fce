"""Why this return: the tables add up, and the sentences are true of the study."""

import numpy as np
import pandas as pd
import pytest

from imop_engine.bundled import market, sample_portfolios
from imop_engine.report import charts_why, style
from imop_engine.report.frames_why import REST, why
from imop_engine.study import StudySettings, run_study

PAPER = market("paper8")


@pytest.fixture(scope="module")
def study():
    names = list(PAPER.names)
    return run_study(
        pd.Series(PAPER.expected_returns, index=names),
        pd.DataFrame(PAPER.covariance, index=names, columns=names),
        sample_portfolios().set_index("investor").head(200),
        StudySettings(start="zero"),
    )


@pytest.mark.parametrize("asset", PAPER.names)
def test_every_asset_has_its_reasons(study, asset):
    found = why(study, asset)
    at = study.problem.names.index(asset)
    assert found.covariance["part"].sum() == pytest.approx(1.0)
    assert set(found.covariance["asset"]) <= {*study.problem.names, REST}
    held = study.decisions.to_numpy()[:, at]
    sizes = np.array([len(part) for part in np.array_split(np.arange(200), 10)])
    mean = (found.holders["share"].to_numpy() * sizes).sum() / 200
    assert mean == pytest.approx(held.mean())
    assert found.efficient["share"].between(-1e-9, 1 + 1e-9).all()
    assert f"{100 * (held >= 0.005).mean():.0f}% of the investors hold {asset}" in found.said[0]
    estimate = study.frame_returns["estimate"].iloc[at]
    text = " ".join(found.said)
    assert ("There is no estimate" in text) == bool(np.isnan(estimate))
    for chart in (
        charts_why.holders_chart(found.holders, found.efficient, asset),
        charts_why.covariance_chart(found.covariance, asset),
    ):
        spec = style.plain_spec(chart)
        assert len(spec["title"]["text"]) <= 42
        assert len(spec["title"]["subtitle"]) <= 60
