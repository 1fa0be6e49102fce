"""Two implementations agree: the engine's update against the paper's mixed-integer program.

With test_update_quadratic.py more than 500 instances, seeds drawn by hypothesis.
"""

import numpy as np
import pytest
from checks import check_update
from draws import instances, tries
from hypothesis import given

import imop_engine as imop
import reference

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("smallest", "largest", "count"), [(2, 4, 120), (5, 7, 100), (8, 10, 80), (11, 12, 50)]
)
def test_it_is_gurobis_optimum(smallest, largest, count):
    @tries(count)
    @given(instances(smallest, largest))
    def agree(drawn):
        best, _ = reference.update_gurobi(drawn.weighted(), drawn.theta, drawn.y, drawn.eta)
        check_update(drawn, best.objective)

    agree()


@pytest.mark.parametrize("w", [0.001, 0.025, 0.5, 0.975, 0.999])
def test_it_is_gurobis_optimum_on_the_papers_securities(w):
    Q, truth = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
    anchors = {0: truth[0], 6: truth[6]}
    rows = [(np.eye(8)[i], value) for i, value in anchors.items()]
    weighted = reference.portfolio(Q, w, anchors=rows)
    start = reference.project_on_theta(weighted, [0.0] * 8)
    y = reference.forward(reference.portfolio(Q, 0.6), truth).round(3)
    best, _ = reference.update_gurobi(weighted, start, y, 5.0)
    update = imop.implicit_update(imop.portfolio_problem(Q, anchors=anchors), start, y, w, 5.0)
    assert update.certified
    assert update.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-9)
