"""Charts as JSON, the tables behind them, and the files they can be saved to."""

import io
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.report import charts, charts_trust, frames
from imop_engine.simulate import simulate_investors
from imop_engine.tables.export import csv_text

PAPER = market("paper8")
TRUTH = PAPER.expected_returns
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)
INVESTORS = simulate_investors(PROBLEM, TRUTH, 60, rng=np.random.default_rng(2))
RETURNS = pd.DataFrame({"asset": PAPER.names, "estimate": TRUTH + 0.01, "true": TRUTH})
RETURNS["error"] = RETURNS["estimate"] - RETURNS["true"]
CURVES = pd.concat(
    [
        frames.curve(PROBLEM, TRUTH, charts.TRUE),
        frames.curve(PROBLEM, TRUTH + np.linspace(0, 0.01, 8), charts.ESTIMATED),
    ]
)
SHARES = pd.DataFrame(
    {
        "asset": ["Security 1", "Security 2"] * 2,
        "source": ["sample", "sample", "anchors", "anchors"],
        "share": [0.25, 0.5, 0.75, 0.5],
        "order": [0, 0, 3, 3],
    }
)

CHARTS = {
    "frontier": charts.frontier_chart(CURVES, frames.cloud(PROBLEM, TRUTH, INVESTORS.portfolios)),
    "frontier, true only": charts.frontier_chart(CURVES[CURVES["series"] == charts.TRUE]),
    "sources": charts_trust.sources_chart(SHARES),
    "with and without": charts_trust.with_and_without_chart(
        RETURNS.assign(with_everyone=TRUTH + 0.02)
    ),
    "losses": charts.loss_chart(frames.loss_blocks(np.linspace(1, 0.1, 500))),
}


def encodings(spec: dict) -> Iterator[dict]:
    if "encoding" in spec:
        yield spec["encoding"]
    for layer in spec.get("layer", []):
        yield from encodings(layer)


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_says_what_it_shows_in_which_unit_and_answers_the_mouse(name):
    spec = CHARTS[name].to_dict()
    assert "(" in spec["title"]["text"], "the title names a unit"
    assert spec["title"]["subtitle"]
    for encoding in encodings(spec):
        assert encoding["tooltip"], "every mark has a tooltip"
        assert encoding["x"]["title"]
        for channel in ("x", "y"):
            field = encoding[channel]["field"]
            assert field in {"asset", *_columns(spec)}


def _columns(spec: dict) -> set[str]:
    return {key for rows in spec["datasets"].values() for row in rows for key in row}


def test_truth_and_estimate_have_fixed_colours_safe_for_colour_blind_eyes():
    scales = [e["color"]["scale"] for e in encodings(CHARTS["frontier"].to_dict()) if "color" in e]
    assert scales
    for scale in scales:
        assert scale == {"domain": ["true", "estimated"], "range": ["#D55E00", "#0072B2"]}


def test_the_legend_names_only_what_is_shown():
    for encoding in encodings(CHARTS["frontier, true only"].to_dict()):
        assert encoding["color"]["scale"]["domain"] == ["true"]


def test_frontier_is_drawn_along_the_weight_on_risk_and_return():
    lines = [
        layer for layer in CHARTS["frontier"].to_dict()["layer"] if "order" in layer["encoding"]
    ]
    assert len(lines) == 2
    for line in lines:
        assert line["encoding"]["x"]["field"] == "risk"
        assert line["encoding"]["y"]["field"] == "return"
        assert line["encoding"]["order"]["field"] == "weight"
    assert "strokeDash" in lines[1]["mark"], "the estimate differs in shape too"


def test_a_curve_rises_from_least_risk_to_most_return():
    curve = frames.curve(PROBLEM, TRUTH, charts.TRUE)
    assert np.all(np.diff(curve["risk"]) > -1e-12)
    assert np.all(np.diff(curve["return"]) > -1e-12)
    assert curve["return"].iloc[-1] == pytest.approx(TRUTH.max())
    assert len(curve) >= frames.CURVE_POINTS


def test_a_cloud_of_many_investors_is_thinned_evenly_and_a_small_one_is_not():
    many = np.tile(INVESTORS.portfolios, (100, 1))
    shown = frames.cloud(PROBLEM, TRUTH, many)
    assert len(shown) == frames.CLOUD_POINTS
    assert shown["investor"].iloc[[0, -1]].tolist() == [1, len(many)]
    assert len(frames.cloud(PROBLEM, TRUTH, INVESTORS.portfolios)) == 60


def test_a_cloud_has_the_risk_and_return_of_its_portfolios():
    shown = frames.cloud(PROBLEM, TRUTH, INVESTORS.portfolios)
    held = INVESTORS.portfolios[4]
    assert shown["return"][4] == pytest.approx(held @ TRUTH)
    assert shown["risk"][4] == pytest.approx(np.sqrt(held @ PAPER.covariance @ held))


@pytest.mark.parametrize("grid", [None, 2, 6, 11, 21, 41, 81, 401])
def test_bins_cover_everything_and_no_edge_falls_on_a_grid_weight(grid):
    edges = frames.weight_edges(grid)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert np.all(np.diff(edges) > 0)
    if grid is not None:
        inner = np.linspace(0, 1, grid)[1:-1]
        assert inner.size == 0 or np.abs(edges[:, None] - inner).min() > 1e-4
    bins = frames.weight_bins({"true": np.linspace(0, 1, 1001)}, edges)
    assert bins["share"].sum() == pytest.approx(1)


def test_losses_are_averaged_over_blocks_that_cover_every_round():
    losses = np.arange(1.0, 1001.0)
    blocks = frames.loss_blocks(losses)
    assert len(blocks) <= frames.LOSS_POINTS
    sizes = blocks["last"] - blocks["first"] + 1
    assert sizes.sum() == 1000
    assert (blocks["loss"] * sizes).sum() == pytest.approx(losses.sum())
    assert len(frames.loss_blocks([])) == 0


def test_csv_keeps_numbers_to_the_last_digit_and_disarms_formulas():
    table = pd.DataFrame(
        {"asset": ["=1+1", "+x", "-y", "@z", "plain", "a,b"], "=estimate": 0.1 + 0.2}
    )
    text = csv_text(table)
    back = pd.read_csv(io.StringIO(text))
    assert back["asset"].tolist() == ["'=1+1", "'+x", "'-y", "'@z", "plain", "a,b"]
    assert back["'=estimate"].tolist() == [0.1 + 0.2] * 6
    assert table.columns[1] == "=estimate", "the table itself is left alone"


def test_negative_numbers_stay_numbers():
    assert csv_text(pd.DataFrame({"asset": ["a"], "error": [-0.5]})) == "asset,error\na,-0.5\n"


def test_the_axis_of_losses_marks_powers_of_ten():
    losses = pd.DataFrame({"first": [1, 2], "last": [1, 2], "loss": [0.03, 0.000004]})
    axis = charts.loss_chart(losses).to_dict()["layer"][0]["encoding"]["y"]["axis"]
    assert axis["values"] == pytest.approx([1e-3, 1e-2, 1e-1, 1.0]), "roots of the squares"


def test_sources_keep_their_order_and_their_colours():
    spec = CHARTS["sources"].to_dict()
    colour = spec["layer"][0]["encoding"]["color"]["scale"]
    assert colour["domain"] == ["sample", "anchors"]
    assert colour["range"] == [charts_trust.COLOURS[0], charts_trust.COLOURS[3]]
    assert spec["layer"][0]["encoding"]["x"]["stack"] == "zero"
    assert spec["layer"][0]["encoding"]["order"]["field"] == "order"


def test_with_and_without_joins_both_estimates_of_an_asset():
    rule, everyone, estimated = CHARTS["with and without"].to_dict()["layer"]
    assert (rule["encoding"]["x"]["field"], rule["encoding"]["x2"]["field"]) == (
        "estimate",
        "with_everyone",
    )
    assert everyone["mark"]["shape"] != estimated["mark"]["shape"], "not by colour alone"
