"""The app's charts as JSON: titles with units, subtitles, axes, tooltips, selections."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market, sample_portfolios
from imop_engine.errors import InvalidInput
from imop_engine.report import (
    charts,
    charts_gaps,
    charts_lab,
    charts_learn,
    charts_market,
    charts_people,
    charts_trust,
    frames,
    frames_gaps,
    frames_lab,
    frames_learn,
    frames_market,
    frames_people,
    pictures,
    style,
)

PAPER, US = market("paper8"), market("us20")
TRUTH = PAPER.expected_returns
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)
PEOPLE = sample_portfolios().set_index("investor")
FRONTIER = imop.efficient_frontier(PROBLEM, TRUTH)
WEIGHTS = FRONTIER.project(PEOPLE).weights
# all of them, and two who hold what nobody should
MIXED = PEOPLE.copy()
MIXED.iloc[[3, 40]] = [[0.0] * 7 + [1.0], [1 / 8] * 8]
CURVE = frames.curve(PROBLEM, TRUTH, style.ESTIMATED)
POINTS = frames_people.points(PROBLEM, TRUTH, PEOPLE)
MQP = imop.quadratic_problem(
    Q=[np.diag([1.0, 2.0]), np.diag([2.0, 1.0])],
    c=[[3.0, 1.0], [-6.0, -5.0]],
    A=[[-3.0, 1.0], [0.0, -1.0]],
    b=[-6.0, -3.0],
    learn="b",
)
RIGHT, WRONG = np.array([-6.0, -3.0]), np.array([-5.0, -2.5])


@dataclass(frozen=True)
class TrailStep:
    done: int
    theta: np.ndarray
    loss: float


TRAIL = [TrailStep(10 * i, TRUTH + 0.01 / (i + 1), 0.1 / (i + 1)) for i in range(30)]
RETURNS = pd.DataFrame(
    {
        "asset": PAPER.names,
        "estimate": TRUTH,
        "low": [-1.0, *(TRUTH[1:] - 0.01)],
        "high": [0.2, *(TRUTH[1:] + 0.01)],
        "status": ["bounded above", *["identified"] * 7],
        "history": TRUTH + 0.02,
        "implied": TRUTH - 0.02,
    }
)
SEGMENTS = pd.DataFrame(
    {
        "segment": ["a", "b"],
        "investors": [3, 4],
        "mean_weight": [0.4, 0.6],
        "mean_low": [0.3, 0.5],
        "mean_high": [0.5, 0.7],
    }
)
BINS = frames_people.weight_histogram(WEIGHTS)
BAND = pd.DataFrame({"risk": [0.2, 0.3], "low": [0.1, 0.1], "high": [0.2, 0.2]})
SETS = frames_lab.efficient_sets(MQP, RIGHT, WRONG)
REGION = frames_lab.regions(MQP, RIGHT, WRONG)
BOTH = frames_learn.compared_returns(RETURNS, RETURNS.assign(estimate=TRUTH + 0.01))

GAPS = imop.measure_gaps(FRONTIER, MIXED)
ARROWS = frames_gaps.gap_arrows(FRONTIER, MIXED, GAPS)

CHARTS = {
    "assets": charts_market.asset_chart(
        frames_market.assets_table(list(PAPER.names), TRUTH, PAPER.covariance),
        frames.curve(PROBLEM, TRUTH, style.HISTORY),
    ),
    "correlation": charts_market.correlation_chart(
        frames_market.correlations(list(US.names), US.covariance)
    ),
    "growth": charts_market.growth_chart(frames_market.growth(US.history)),
    "moments": charts_market.moments_chart(
        frames_market.assets_table(list(PAPER.names), TRUTH, PAPER.covariance)
    ),
    "cloud": charts_people.cloud_chart(POINTS, CURVE),
    "cloud, chosen": charts_people.cloud_chart(
        POINTS.assign(chosen=POINTS["risk"] > 0.25), CURVE, pick=False
    ),
    "density": charts_people.density_chart(frames_people.cells(PROBLEM, TRUTH, PEOPLE), CURVE),
    "holdings": charts_people.holdings_chart(frames_people.average_holdings(PEOPLE)),
    "composition": charts_people.composition_chart(
        frames_people.composition(PEOPLE, "I0001", np.full(8, 1 / 8)), "I0001"
    ),
    "weights": charts_people.preference_chart(
        BINS, frames_people.fitted_curve(BINS, lambda w: np.asarray(w))
    ),
    "aversion": charts_people.preference_chart(
        frames_people.aversion_histogram(imop.risk_aversion(WEIGHTS)), scale="risk aversion"
    ),
    "weights on paper": charts_people.preference_chart(BINS, brush=False),
    "segments": charts_people.segment_chart(SEGMENTS, "segment"),
    "distances": charts_people.distance_chart(
        frames_people.distance_histogram(np.linspace(0, 0.05, 200), 0.02), 0.02
    ),
    "gaps": charts_gaps.gap_chart(CURVE, ARROWS, POINTS),
    "one gap": charts_gaps.gap_chart(CURVE, ARROWS.head(1)),
    "gap counts": charts_gaps.gap_histogram_chart(frames_gaps.gap_histogram(GAPS), GAPS.threshold),
    "gap segments": charts_gaps.gap_segment_chart(
        imop.gap_segments(GAPS, np.repeat(["a", "b"], len(PEOPLE) // 2)), "segment"
    ),
    "losses as gaps": charts.loss_chart(
        frames.loss_blocks(np.linspace(1e-2, 1e-4, 500)), "efficiency"
    ),
    "settling": charts_learn.settling_chart(frames_learn.estimates(TRAIL, PAPER.names)),
    "intervals": charts_learn.interval_chart(RETURNS),
    "transition": charts_learn.transition_chart(frames_learn.composition(FRONTIER)),
    "live": charts_learn.live_frontier_chart(
        frames_learn.moving_curves(PROBLEM, TRAIL), frames.cloud(PROBLEM, TRUTH, PEOPLE)
    ),
    "live losses": charts.loss_chart(frames_learn.losses(TRAIL)),
    "frontier, band": charts.frontier_chart(CURVE, POINTS, band=BAND),
    "frontier, projected": charts.frontier_chart(
        CURVE, POINTS, projections=frames_people.projections(FRONTIER, PEOPLE, 50)
    ),
    "compared returns": charts_learn.compared_returns_chart(BOTH),
    "compared frontiers": charts_learn.compared_frontiers_chart(
        frames_learn.compared_curves(CURVE, CURVE)
    ),
    "compared weights": charts_learn.compared_weights_chart(
        frames_learn.compared_weights(WEIGHTS, WEIGHTS)
    ),
    "sets": charts_lab.efficient_set_chart(SETS, REGION, frames_lab.observed(np.ones((9, 2)))),
    "convergence": charts_lab.convergence_chart(
        pd.DataFrame({"round": [0, 1], "error": [2.0, 1.0]})
    ),
}


def layers(spec: dict) -> Iterator[dict]:
    if "encoding" in spec:
        yield spec
    for layer in spec.get("layer", []):
        yield from layers(layer)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_says_what_it_shows_in_which_unit_and_answers_the_mouse(name):
    spec = CHARTS[name].to_dict()
    assert "(" in spec["title"]["text"], "the title names a unit"
    assert spec["title"]["subtitle"]
    assert len(spec["title"]["text"]) <= 42, "longer titles are cut on a phone"
    assert len(spec["title"]["subtitle"]) <= 58, "longer ones are cut on a laptop"
    for layer in layers(spec):
        encoding = layer["encoding"]
        assert encoding["tooltip"], "every mark has a tooltip"
        assert any(encoding.get(axis, {}).get("title") for axis in ("x", "y"))


@pytest.mark.parametrize("name", CHARTS)
def test_no_chart_carries_more_rows_than_a_browser_draws_at_once(name):
    spec = CHARTS[name].to_dict()
    assert sum(len(rows) for rows in spec["datasets"].values()) <= 5000


def test_arrows_lead_straight_up_to_the_frontier_by_the_gap():
    """Her dot, the frontier above it, the arrow between; the largest gap is written beside it."""
    assert ARROWS["gap"].is_monotonic_decreasing
    assert set(ARROWS["investor"][:2]) <= set(MIXED.index[[3, 40]].astype(str)) | {
        ARROWS["investor"][0]
    }
    inside = ARROWS[ARROWS["risk"] < CURVE["risk"].max()]
    np.testing.assert_allclose(inside["risk_to"], inside["risk"], atol=1e-9)
    # Between two points of the curve the frontier lies above their chord.
    chord = np.interp(inside["risk"], CURVE["risk"], CURVE["return"])
    assert (inside["return_to"] >= chord - 1e-9).all()
    np.testing.assert_allclose(inside["return_to"], chord, atol=5e-4)
    np.testing.assert_allclose(ARROWS["return_to"] - ARROWS["return"], ARROWS["gap"])
    label = CHARTS["one gap"].to_dict()["layer"][-1]
    rows = CHARTS["one gap"].to_dict()["datasets"][label["data"]["name"]]
    assert rows[0]["said"] == f"+{ARROWS['points'][0]:,.1f} bp"


def test_charts_of_losses_say_which_loss_it_is():
    both = [CHARTS["live losses"].to_dict(), CHARTS["losses as gaps"].to_dict()]
    titles = [spec["title"]["text"] for spec in both]
    axes = [spec["layer"][0]["encoding"]["y"]["title"] for spec in both]
    assert "% of wealth" in titles[0]
    assert "% per year" in titles[1]
    assert axes == [
        "typical distance, % of wealth (log scale)",
        "mean return left on the table (log scale)",
    ]


def test_gap_outliers_say_what_to_exchange():
    table = frames_gaps.gap_outliers(MIXED, GAPS, 10)
    assert len(table) == GAPS.outliers > 0
    np.testing.assert_allclose(table["gap_points"], 1e4 * table["gap"])
    at = list(MIXED.index.astype(str)).index(table["investor"][0])
    change = GAPS.twins[at] - MIXED.to_numpy()[at]
    assert table["buy"][0] == f"{MIXED.columns[change.argmax()]} ({change.max():.0%})"
    assert table["sell"][0] == f"{MIXED.columns[change.argmin()]} ({-change.min():.0%})"


def test_selections_have_the_names_that_pages_read():
    names = {param["name"] for param in CHARTS["weights"].to_dict()["params"]}
    assert charts_people.BRUSH in names
    assert charts_people.PICK in {p["name"] for p in CHARTS["cloud"].to_dict()["params"]}
    assert "params" not in CHARTS["weights on paper"].to_dict()


def test_an_open_interval_is_cut_at_the_edge_of_the_chart():
    spec = CHARTS["intervals"].to_dict()
    parts = [rows for rows in spec["datasets"].values() if "from" in rows[0]]
    first = next(row for rows in parts for row in rows if row["asset"] == "Security 1")
    assert -0.2 < first["from"] < 0.0
    assert first["low"] == -1.0, "the tooltip tells the truth"


def test_cells_hold_every_investor():
    cells = frames_people.cells(PROBLEM, TRUTH, PEOPLE)
    assert cells["count"].sum() == len(PEOPLE)
    assert (cells["risk_to"] > cells["risk"]).all()


def test_the_composition_along_the_frontier_adds_up_to_one_everywhere():
    table = frames_learn.composition(FRONTIER)
    assert np.allclose(table.groupby("risk")["share"].sum(), 1.0)
    assert np.allclose(_us_composition().groupby("weight")["share"].sum(), 1.0)


def test_many_assets_share_the_last_colour():
    assert _us_composition()["asset"].nunique() <= frames_learn.MOST_ASSETS
    assert frames_learn.OTHERS in set(_us_composition()["asset"])


def _us_composition() -> pd.DataFrame:
    problem = imop.portfolio_problem(US.covariance, names=US.names, upper=0.1)
    return frames_learn.composition(imop.efficient_frontier(problem, US.expected_returns))


def test_correlations_are_those_of_the_covariance():
    table = frames_market.correlations(list(PAPER.names), PAPER.covariance)
    spread = np.sqrt(np.diag(PAPER.covariance))
    expected = PAPER.covariance / np.outer(spread, spread)
    assert np.allclose(table["correlation"].to_numpy().reshape(8, 8), expected)


def test_growth_compounds_the_returns():
    table = frames_market.growth(US.history)
    last = table[table["asset"] == "AAPL"]["value"].iloc[-1]
    assert last == pytest.approx(float((1 + US.history["AAPL"]).prod()))
    assert table.groupby("asset").size().max() <= frames_market.GROWTH_POINTS


def test_histograms_count_everybody_once():
    assert BINS["count"].sum() == len(WEIGHTS)
    aversion = frames_people.aversion_histogram([0.0, 1.0, np.inf, 5.0])
    assert aversion["count"].sum() == 4
    distances = frames_people.distance_histogram([0.0, 0.019, 0.02, 0.05], 0.02)
    assert distances["count"].sum() == 4
    assert distances.loc[distances["outlier"], "count"].sum() == 2


def test_thinning_keeps_the_chosen_first():
    table = pd.DataFrame({"x": range(10_000)})
    flags = np.zeros(10_000, bool)
    flags[5:25] = True
    some = frames_people.thinned(table, 100, flags)
    assert len(some) <= 100
    assert set(range(5, 25)) <= set(some["x"])
    assert frames_people.thinned(table, 20_000) is table


def test_implied_returns_meet_the_anchors_and_fit_the_average_portfolio():
    anchored = imop.portfolio_problem(
        PAPER.covariance, names=PAPER.names, anchors={"Security 1": 0.1791, "Security 7": 0.0352}
    )
    implied = frames_learn.implied(anchored, PEOPLE)
    assert implied[0] == pytest.approx(0.1791)
    assert implied[6] == pytest.approx(0.0352)
    average = PEOPLE.to_numpy().mean(axis=0)
    near = imop.efficient_frontier(PROBLEM, implied).project(average)
    assert near.distances[0] < 1e-8


def test_errors_count_only_what_the_portfolios_fix():
    table = RETURNS.assign(error=[9.0, *[0.0] * 6, 0.03])
    assert frames_learn.fixed_error(table) == pytest.approx(0.03)
    assert frames_learn.fixed_error(RETURNS) is None


def test_the_allowed_region_is_the_paper_s_polygon():
    corners = REGION[REGION["series"] == "true"][["x1", "x2"]].round(6).drop_duplicates()
    assert {tuple(row) for row in corners.to_numpy()} == {(0, 0), (2, 0), (3, 3), (0, 3)}


def test_pictures_are_files():
    assert pictures.render(CHARTS["transition"], "svg").startswith(b"<svg")
    assert pictures.render(CHARTS["settling"], "png").startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="choose svg or png"):
        pictures.render(CHARTS["settling"], "gif")


@pytest.mark.parametrize("name", CHARTS)
def test_names_inside_a_chart_do_not_depend_on_the_data(name):
    spec = style.stable_spec(CHARTS[name])
    assert list(spec["datasets"]) == [f"rows{i}" for i in range(len(spec["datasets"]))]
    assert _data_names(spec) == set(spec["datasets"])
    assert style.stable_spec(CHARTS[name]) == spec


def test_new_data_change_the_rows_and_nothing_else():
    first, second = (
        style.stable_spec(charts_people.cloud_chart(POINTS.iloc[:count], CURVE))
        for count in (9, 50)
    )
    assert first.pop("datasets") != second.pop("datasets")
    assert first == second


def _data_names(spec: dict) -> set[str]:
    found = {spec["data"]["name"]} if "data" in spec else set()
    return found.union(*(_data_names(layer) for layer in spec.get("layer", [])))


def test_names_in_the_plane_do_not_cover_one_another():
    table = frames_market.assets_table(
        ["A", "B", "C", "D"], [0.10, 0.101, 0.2, 0.3], np.diag([0.04, 0.0401, 0.09, 0.16])
    )
    assert table["label"].tolist() == ["", "B", "C", "D"]
    twins = frames_market.assets_table(["A", "B"], [0.1, 0.1], np.eye(2))
    assert twins["label"].tolist() == ["A", ""]


def test_a_return_that_is_only_bounded_has_no_estimate():
    table = frames_learn.only_fixed(RETURNS.assign(error=0.01))
    assert table["estimate"].isna().tolist() == [True, *[False] * 7]
    assert table["error"].isna().tolist() == [True, *[False] * 7]
    drawn = charts_learn.interval_chart(table)
    bars, reach = style.frame(drawn)[:2]
    assert reach["estimate_said"].tolist() == ["not fixed"]
    assert bars["estimate_said"].iloc[0] == "11.43%"
    marks = [layer.mark for layer in drawn.layer[:2]]
    assert marks[1].strokeWidth < marks[0].strokeWidth, "a bound does not look like an interval"
    assert marks[1].strokeDash


def test_the_report_counts_weights_in_bars_of_one_width(monkeypatch):
    from imop_engine.report import html
    from imop_engine.study import StudySettings, run_study

    names = list(PAPER.names)
    study = run_study(
        pd.Series(TRUTH, index=names),
        pd.DataFrame(PAPER.covariance, index=names, columns=names),
        PEOPLE.head(200),
        StudySettings(start="zero"),
    )
    seen = []
    draw = charts_people.preference_chart
    monkeypatch.setattr(
        charts_people,
        "preference_chart",
        lambda bins, *a, **k: seen.append(bins) or draw(bins, *a, **k),
    )
    html.html_report(study)
    (bins,) = seen
    np.testing.assert_allclose(bins["high"] - bins["low"], bins["high"][0] - bins["low"][0])
    assert bins["count"].sum() == 200


def test_the_band_never_sets_the_axis_and_ends_where_returns_are_not_fixed():
    wide = pd.DataFrame({"risk": CURVE["risk"], "low": -0.9, "high": 1.4})
    drawn = charts.frontier_chart(CURVE, POINTS, band=wide)
    area = style.frame(drawn)[0]
    values = pd.concat([CURVE["return"], POINTS["return"]])
    height = values.max() - values.min()
    assert area["to"].max() <= values.max() + 0.26 * height
    assert area["from"].min() >= values.min() - 0.26 * height
    assert (area["high"] == 1.4).all(), "the tooltip tells the truth"


def test_an_asset_has_one_colour_in_every_chart():
    held = np.tile(np.arange(len(US.names), dtype=float), (3, 1))
    coloured = frames_learn.named_assets(US.names, held)
    assert len(coloured) == frames_learn.MOST_ASSETS - 1
    trail = [TrailStep(10 * i, np.linspace(0, i, len(US.names)), 0.1) for i in range(1, 4)]
    lines = frames_learn.estimates(trail, US.names, coloured)
    problem = imop.portfolio_problem(US.covariance, names=US.names, upper=0.1)
    frontier = imop.efficient_frontier(problem, US.expected_returns)
    areas = frames_learn.composition(frontier, coloured)
    assert np.allclose(areas.groupby("weight")["share"].sum(), 1.0)

    def colours(chart):
        scale = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    first = colours(charts_learn.settling_chart(lines))
    second = colours(charts_learn.transition_chart(areas))
    both = set(first) & set(second)
    assert len(both) >= 3
    assert all(first[name] == second[name] for name in both)
    assert len(set(first.values())) == len(first)


def test_bars_have_one_height_and_shares_end_at_a_hundred_percent():
    few, many = (frames_people.average_holdings(PEOPLE.iloc[:, :k]) for k in (3, 8))
    for average in (few, many):
        bars = charts_people.holdings_chart(average).to_dict()["layer"][0]
        assert bars["mark"]["size"] == style.BAR
        assert bars["encoding"]["x"]["scale"]["domain"] == [0, 1]
    per_row = charts_people.holdings_chart(many).height - charts_people.holdings_chart(few).height
    assert per_row == 5 * style.ROW_HEIGHT
    one = frames_people.composition(PEOPLE, "I0001", np.full(8, 1 / 8))
    domain = charts_people.composition_chart(one, "I").to_dict()["layer"][0]["encoding"]["x"]
    assert domain["scale"]["domain"][1] <= 1


def test_a_brush_takes_the_bars_whose_middle_it_covers():
    bins = pd.DataFrame({"low": [0.0, 0.1, 0.2], "high": [0.1, 0.2, 0.3]})
    assert frames_people.brushed(bins, 0.04, 0.16) == (0.0, 0.2)
    assert frames_people.brushed(bins, 0.06, 0.26) == (0.1, 0.3)
    assert frames_people.brushed(bins, 0.06, 0.14) is None
    spec = CHARTS["weights"].to_dict()
    bars = next(layer for layer in layers(spec) if layer["mark"]["type"] == "rect")
    assert "datum.high" in bars["encoding"]["color"]["condition"]["test"]


def test_a_hundred_assets_are_drawn_by_every_chart_of_assets():
    names = [f"Stock {i:03d}" for i in range(100)]
    pairs = frames_market.correlations(names, np.eye(100) + 0.3)
    counted = frames_market.correlation_counts(pairs)
    assert counted["count"].sum() == 100 * 99 / 2
    closest = frames_market.closest_pairs(pairs, 10)
    assert len(closest) == 10
    assert (closest["asset"] != closest["other"]).all()
    table = pd.DataFrame({"asset": names, "share": 0.01, "held_by": 0.5, "held": 0.01})
    returns = pd.DataFrame(
        {"asset": names, "estimate": 0.1, "low": 0.0, "high": 0.2, "investors": range(100),
         "status": ["identified"] * 30 + ["bounded above"] * 70, "with_everyone": 0.12,
         "return": 0.1, "risk": 0.2}
    )  # fmt: skip
    drawn = [
        charts_market.correlation_counts_chart(counted),
        charts_people.holdings_chart(table),
        charts_people.composition_chart(table, "I"),
        charts_learn.interval_chart(returns),
        charts_trust.with_and_without_chart(returns),
        charts_market.moments_chart(returns),
    ]
    for chart in drawn:
        spec = style.stable_spec(chart)
        assert max(len(rows) for rows in spec["datasets"].values()) <= 100
        assert chart.height <= style.rows_height(style.MOST_ROWS)
    kept = {row["asset"] for rows in style.frame(drawn[3]) for row in rows.to_dict("records")}
    assert set(names[:30]) <= kept, "what is known is never left out"


def test_more_rows_than_altair_allows_do_not_end_a_page():
    names = [f"A{i}" for i in range(80)]
    drawn = charts_market.correlation_chart(frames_market.correlations(names, np.eye(80)))
    assert style.stable_spec(drawn)


def test_many_assets_make_no_endless_heat_map():
    names = [f"A{i}" for i in range(60)]
    drawn = charts_market.correlation_chart(frames_market.correlations(names, np.eye(60)))
    assert drawn.height == style.rows_height(charts_market.TALL_ASSETS)
