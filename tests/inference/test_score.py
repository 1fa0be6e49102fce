"""A third objective: returns and the price of a score are found again, and doubts are said."""

import json

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
import reference
from imop_engine.cli import main
from imop_engine.curve import decisions
from imop_engine.inference.score_anchors import score_anchors

Q, TRUE = reference.SECURITIES_COVARIANCE, reference.SECURITIES_RETURN
SCORES = np.array([0.1, 0.9, 0.4, 0.7, 0.2, 0.8, 0.5, 0.3])
ANCHORS = {0: TRUE[0], 4: TRUE[4], 5: TRUE[5]}
FREE = [1, 2, 3, 6, 7]


def drawn(count: int, seed: int, noise: float = 0.0):
    """Portfolios of investors with prices of the score from 0 to 0.05, and those prices."""
    rng = np.random.default_rng(seed)
    a = np.exp(rng.normal(np.log(0.12), 0.7, count))
    price = rng.uniform(0.0, 0.05, count)
    weights = np.column_stack([2 * a, np.ones(count), 2 * a * price])
    weights /= weights.sum(axis=1, keepdims=True)
    Y = decisions(imop.score_problem(Q, SCORES), TRUE, weights)
    if noise:
        Y = np.maximum(Y + noise * rng.normal(size=Y.shape), 0.0)
        return Y / Y.sum(axis=1, keepdims=True), price
    return np.round(Y, 3), price


def test_returns_and_prices_come_back_from_rounded_portfolios():
    Y, price = drawn(200, 1)
    found = imop.fit_score(imop.score_problem(Q, SCORES, anchors=ANCHORS), Y)
    assert found.certain
    assert found.open == 0
    np.testing.assert_allclose(found.returns["estimate"], TRUE, atol=1e-3)
    assert np.median(np.abs(found.investors["price"] - price)) < 5e-4
    assert found.price == pytest.approx(np.median(price), abs=1e-3)
    assert np.allclose(found.investors[["return", "risk", "score"]].sum(axis=1), 1.0)
    dear = found.investors["price"] > 0.03
    cheap = found.investors["price"] < 0.01
    assert found.investors["cost"][dear].mean() > 3.0 * found.investors["cost"][cheap].mean()


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say():
    hits = []
    for seed in range(8):
        Y, _ = drawn(150, 300 + seed)
        table = imop.fit_score(imop.score_problem(Q, SCORES, anchors=ANCHORS), Y).returns
        inside = (table["low"] <= TRUE) & (table["high"] >= TRUE)
        hits.append(inside.to_numpy()[FREE])
    assert np.mean(hits) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.002, 0.005])
def test_intervals_hold_under_errors_also_with_many_investors(noise):
    # the bias does not shrink with the number of investors; without its simulation intervals of
    # 1,000 held the truth in 52 % (0.002) and 60 % (0.005) of cases
    hits, worst, before = [], [], []
    for seed in range(3):
        Y, _ = drawn(1000, 2000 + seed, noise)
        found = imop.fit_score(imop.score_problem(Q, SCORES, anchors=ANCHORS), Y)
        table = found.returns
        inside = (table["low"] <= TRUE) & (table["high"] >= TRUE)
        hits.append(inside.to_numpy()[FREE])
        worst.append(np.abs(table["estimate"] - TRUE).max())
        before.append(np.abs(table["estimate"] + found.bias - TRUE).max())
        assert found.noise_sd == pytest.approx(noise, rel=0.1)
    assert np.mean(hits) > 0.85
    assert np.median(worst) < np.median(before)


def test_two_anchors_leave_the_price_open_and_that_is_said():
    Y, _ = drawn(120, 2)
    two = imop.score_problem(Q, SCORES, anchors={0: TRUE[0], 5: TRUE[5]})
    found = imop.fit_score(two, Y)
    assert found.open >= 1
    assert found.returns["estimate"].isna().any()
    assert np.isnan(found.price)
    # no number that follows an open return, in the table of investors either
    assert found.investors[["return", "risk", "score", "price", "cost"]].isna().all(axis=None)
    assert found.investors["distance"].notna().all()
    assert "not determined" in found.sentences()[0]
    assert any("three anchors" in one for one in found.sentences())


@pytest.mark.slow
def test_with_two_anchors_or_none_prices_are_counted_from_the_average_investors():
    Y, price = drawn(150, 2)
    for known in ({1: TRUE[1], 5: TRUE[5]}, None):
        problem = imop.score_problem(Q, SCORES, anchors=known)
        given = score_anchors(problem, Y, TRUE, 0.001 * np.eye(8))
        found = imop.fit_score(
            given.problem, Y, relative=given.relative, anchor_covariance=given.covariance
        )
        assert given.relative
        assert found.open == 0
        assert "as portfolios say without the score" in given.sentences[-1]
        # the returns are the true ones but for level, scale and the price of the average investor
        open_to = np.column_stack([TRUE, np.ones(8), SCORES])
        estimate = found.returns["estimate"].to_numpy()
        (scale, _, shift), *_ = np.linalg.lstsq(open_to, estimate, rcond=None)
        parts = np.linalg.lstsq(open_to, estimate, rcond=None)[0]
        np.testing.assert_allclose(open_to @ parts, estimate, atol=5e-4)
        assert np.median(np.abs(found.investors["price"] - (scale * price - shift))) < 2e-3
        assert found.investors[["return", "cost"]].isna().all(axis=None)
        assert "counted from the average" in found.sentences()[0]
    # history's errors widen what rests on it
    assert given.covariance is not None
    exact = imop.fit_score(given.problem, Y, relative=True)
    width = found.returns["high"] - found.returns["low"]
    assert (width > exact.returns["high"] - exact.returns["low"]).all()


def test_anchors_that_are_missing_or_contradict_are_said():
    Y, _ = drawn(60, 2)
    with pytest.raises(imop.errors.InvalidInput, match="fixes neither scale"):
        score_anchors(imop.score_problem(Q, SCORES, anchors={0: 0.1}), Y, TRUE)
    turned = imop.score_problem(Q, SCORES, anchors={1: 0.18, 5: 0.11})
    with pytest.raises(imop.errors.InvalidInput, match="name other assets"):
        score_anchors(turned, Y, TRUE)
    three = imop.score_problem(Q, SCORES, anchors=ANCHORS)
    given = score_anchors(three, Y, TRUE, errors=[0.01, 0.0, 0.0])
    assert given.problem is three
    assert given.covariance[0, 0] == pytest.approx(1e-4)
    with pytest.raises(imop.errors.InvalidInput, match="anchor_covariance"):
        imop.fit_score(three, Y, anchor_covariance=np.eye(2))


@pytest.mark.slow
def test_what_explains_less_than_two_objectives_is_not_shown():
    # a third anchor far from what portfolios say: no price of zero or more can mend that
    Y, _ = drawn(100, 5, 0.005)
    wrong = imop.score_problem(
        Q, SCORES, bounds=(-1.0, 1.0), anchors={0: TRUE[0], 5: TRUE[5], 1: 0.5}
    )
    found = imop.fit_score(wrong, Y)
    assert not found.shown
    assert found.explained_of_others <= max(found.without_score, 0.0)
    assert found.returns[["estimate", "low", "high"]].isna().all(axis=None)
    assert found.investors["price"].isna().all()
    assert "No returns and no price are shown" in found.sentences()[0]


@pytest.mark.slow
def test_a_score_that_nobody_cares_for_is_told_from_one_that_is_cared_for():
    Y, _ = drawn(150, 6, 0.005)
    real = imop.fit_score(imop.score_problem(Q, SCORES, anchors=ANCHORS), Y)
    assert real.others_as_good == 0
    dealt = np.random.default_rng(4).permutation(SCORES)
    other = imop.fit_score(imop.score_problem(Q, dealt, anchors=ANCHORS), Y)
    assert other.others_as_good is None or other.others_as_good > 0 or not other.shown
    assert real.explained_of_others > other.explained_of_others


def test_a_surface_lies_on_its_decisions_and_is_cut_at_a_level():
    problem = imop.score_problem(Q, SCORES)
    surface = imop.efficient_surface(problem, TRUE, corners=120)
    middle = surface.weights[surface.triangles[:40]].mean(axis=1)
    X = decisions(problem, TRUE, middle)
    assert np.median(surface.project(X).distances) < 0.02
    assert surface.project(surface.decisions[:5]).distances.max() < 1e-12
    level = float(np.quantile(surface.values[:, 2], 0.5))
    pieces = surface.cut(2, level)
    assert len(pieces)
    np.testing.assert_allclose(pieces[:, :, 2], level)
    with pytest.raises(imop.errors.InvalidInput, match="three objectives"):
        imop.efficient_surface(imop.portfolio_problem(Q), TRUE)


def test_a_program_of_its_own_has_a_surface_too():
    x, r = cp.Variable(3), cp.Parameter(3)
    objectives = [-r @ x, cp.norm(x), -np.array([1.0, 0.5, 0.0]) @ x]
    problem = imop.convex_problem(objectives, [cp.sum(x) == 1, x >= 0], x, r, (0.0, 1.0))
    surface = imop.efficient_surface(problem, [0.1, 0.2, 0.3], corners=25)
    assert surface.decisions.shape == (25, 3)
    np.testing.assert_allclose(
        surface.values[:, 0], -surface.decisions @ [0.1, 0.2, 0.3], atol=1e-7
    )


def test_the_command_reads_a_table_of_scores(tmp_path, capsys):
    names = [f"S{i}" for i in range(1, 9)]
    Y, _ = drawn(60, 3)
    Y[:, 5] += 1.0 - Y.sum(axis=1)
    pd.DataFrame(Y, columns=names).to_csv(tmp_path / "held.csv", index_label="id")
    table = pd.DataFrame({"asset": names, "score": SCORES})
    table.to_csv(tmp_path / "score.csv", index=False)
    pd.DataFrame({"asset": names, "return": TRUE}).to_csv(tmp_path / "mu.csv", index=False)
    pd.DataFrame(Q, index=names, columns=names).to_csv(tmp_path / "cov.csv")
    given = ["score", "--expected", tmp_path / "mu.csv", "--covariance", tmp_path / "cov.csv",
             "--portfolios", tmp_path / "held.csv", "--score", tmp_path / "score.csv"]  # fmt: skip
    for i in ANCHORS:
        given += ["--anchor", f"{names[i]}={TRUE[i]}"]
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in [*given, "--out", tmp_path / "out", "--json"]])
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    document = json.loads(said.out)
    estimate = {one["asset"]: one["estimate"] for one in document["returns"]}
    assert estimate["S2"] == pytest.approx(TRUE[1], abs=5e-3)
    assert len(pd.read_csv(tmp_path / "out" / "investors.csv")) == 60
    table.iloc[:5].to_csv(tmp_path / "score.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in given])
    assert ended.value.code == 2
    assert "no score for S6" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0] * 8, [np.nan] * 8])
def test_scores_that_say_nothing_are_refused(scores):
    with pytest.raises(imop.errors.InvalidInput):
        imop.score_problem(Q, scores)
