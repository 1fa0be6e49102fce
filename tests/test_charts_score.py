"""Three objectives as pictures: the tables behind them hold, and the charts say what they show."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
import reference
from imop_engine.curve import decisions
from imop_engine.report import charts_score as charts
from imop_engine.report import frames_score as frames
from imop_engine.report import pictures
from imop_engine.study.scoring import score_surface
from test_charts import encodings

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
SCORES = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.8, 0.5, 0.3])
PROBLEM = imop.score_problem(Q, SCORES)
SURFACE = score_surface(PROBLEM, TRUE, corners=800)
RNG = np.random.default_rng(4)
RAW = pd.DataFrame(RNG.dirichlet([2.0, 5.0, 0.5], 240), columns=list(frames.OBJECTIVES))
WEIGHTS = frames.comparable_weights(RAW, SURFACE)
HELD = pd.DataFrame(decisions(PROBLEM, TRUE, RAW.to_numpy()), index=[f"C{i}" for i in range(240)])
PEOPLE = pd.DataFrame({"price": RNG.uniform(0, 0.05, 240), "cost": RNG.exponential(0.002, 240)})
GROUPS = RNG.choice(["calm", "bold"], 240).tolist()
LINES = frames.level_frontiers(SURFACE, frames.score_levels(SURFACE))
CHARTS = {
    "triangle": charts.ternary_chart(
        frames.triangle_density(WEIGHTS), frames.triangle_points(WEIGHTS), frames.triangle_grid()
    ),
    "weights": charts.objective_weights_chart(
        frames.weight_distribution(WEIGHTS), frames.weight_medians(WEIGHTS)
    ),
    "levels": charts.level_frontier_chart(LINES, frames.score_cloud(SURFACE, HELD)),
    "costs": charts.cost_chart(frames.cost_histogram(PEOPLE["cost"]), 0.002),
    "segments": charts.cost_segment_chart(frames.cost_segments(PEOPLE, GROUPS), "temper"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_says_what_it_shows_in_which_unit_and_answers_the_mouse(name):
    spec = CHARTS[name].to_dict()
    assert "(" in spec["title"]["text"], "the title names a unit"
    assert spec["title"]["subtitle"]
    known = {key for rows in spec["datasets"].values() for row in rows for key in row}
    for encoding in encodings(spec):
        assert encoding["tooltip"], "every mark has a tooltip"
        for channel in {"x", "y"} & set(encoding):  # a rule across the chart has no y
            assert encoding[channel]["field"] in known
    assert pictures.render(CHARTS[name], "svg").startswith(b"<svg")


def test_units_of_the_score_do_not_matter_to_comparable_weights():
    """The same scores in hundredths: weights of the fit change, those that are shown do not."""
    large = imop.score_problem(Q, 100.0 * SCORES)
    raw = RAW.assign(score=RAW["score"] / 100.0)
    raw = raw.div(raw.sum(axis=1), axis=0)
    surface = score_surface(large, TRUE, corners=800)
    np.testing.assert_allclose(frames.comparable_weights(raw, surface), WEIGHTS, atol=1e-9)
    there = frames.level_frontiers(surface, [66.0, 74.0])[["risk", "return"]]
    here = frames.level_frontiers(SURFACE, [0.66, 0.74])[["risk", "return"]]
    np.testing.assert_allclose(there, here, atol=1e-6)


def test_corners_and_middle_of_the_triangle_lie_where_they_should():
    rows = pd.DataFrame(np.vstack([np.eye(3), np.full(3, 1 / 3)]), columns=list(frames.OBJECTIVES))
    points = frames.triangle_points(rows)
    np.testing.assert_allclose(points[["x", "y"]].to_numpy()[:3], frames.CORNERS)
    np.testing.assert_allclose(points[["x", "y"]].to_numpy()[3], frames.CORNERS.mean(axis=0))
    sides = np.linalg.norm(frames.CORNERS - np.roll(frames.CORNERS, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 1.0)


def test_every_investor_is_counted_in_the_small_triangle_that_holds_him():
    corners = pd.DataFrame(
        np.vstack([np.eye(3), [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]]), columns=WEIGHTS.columns
    )
    for weights in (WEIGHTS, corners):
        cells = frames.triangle_density(weights, steps=8)
        assert cells.groupby("cell")["count"].first().sum() == len(weights)
        assert cells.groupby("cell").size().eq(3).all()
        np.testing.assert_allclose(cells[list(frames.OBJECTIVES)].sum(axis=1), 1.0)
        for weight in weights.to_numpy():
            # it lies in one with a middle no further than that of a triangle from its corner
            middles = cells[list(frames.OBJECTIVES)].drop_duplicates().to_numpy()
            assert np.abs(middles - weight).max(axis=1).min() <= 2 / 3 / 8 + 1e-9


def test_lines_of_the_grid_have_their_weight_at_both_ends():
    grid = frames.triangle_grid()
    for row in grid.to_dict("records"):
        at = list(frames.OBJECTIVES).index(row["objective"])
        for x, y in ((row["x"], row["y"]), (row["x2"], row["y2"])):
            found = np.linalg.solve(np.vstack([frames.CORNERS.T, np.ones(3)]), [x, y, 1.0])
            assert found[at] == pytest.approx(row["weight"], abs=1e-12)


def test_frontiers_at_a_level_are_what_a_solver_finds():
    levels = LINES["level"].dropna().unique()
    assert len(levels) >= 3
    for level in levels:
        part = LINES[LINES["level"] == level]
        assert (part["risk"].diff().dropna() > 0.0).all()
        assert (part["return"].diff().dropna() > -1e-12).all()
        for row in part.iloc[[40, 120]].to_dict("records"):
            x = cp.Variable(8)
            limits = [cp.sum(x) == 1, x >= 0, SCORES @ x >= level]
            limits.append(cp.quad_form(x, cp.psd_wrap(Q)) <= row["risk"] ** 2)
            best = cp.Problem(cp.Maximize(TRUE @ x), limits).solve(solver="CLARABEL")
            assert row["return"] <= best + 1e-6, "nothing is drawn that cannot be had"
            assert row["return"] == pytest.approx(best, abs=4e-4)


def test_more_score_leaves_less_return():
    *_, low, high = (part for _, part in LINES.groupby("series", sort=False))
    shared = np.linspace(high["risk"].min(), min(high["risk"].max(), low["risk"].max()), 20)
    returns = [np.interp(shared, one["risk"], one["return"]) for one in (low, high)]
    assert (returns[0] >= returns[1] - 1e-9).all()


def test_costs_are_counted_whole_and_by_group():
    assert frames.cost_histogram(PEOPLE["cost"])["count"].sum() == 240
    assert frames.cost_histogram([0.0, np.nan, 0.0])["count"].tolist()[0] == 2
    table = frames.cost_segments(PEOPLE, GROUPS)
    assert table["investors"].sum() == 240
    bold = PEOPLE["cost"][np.array(GROUPS) == "bold"]
    row = table.set_index("segment").loc["bold"]
    assert row["mean_cost"] == pytest.approx(bold.mean())
    assert row["median_cost"] == pytest.approx(bold.median())


def test_the_distribution_has_a_row_for_each_objective():
    bins = frames.weight_distribution(WEIGHTS)
    assert (bins.groupby("objective")["count"].sum() == 240).all()
    assert ((bins["top"] - bins["base"]) <= 1.0).all()
    assert bins["base"].nunique() == 3
