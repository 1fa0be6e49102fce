"""Simulated studies: equal by seed, valid, and each departs in the way that its condition says."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from imop_benchmarks.conditions import (
    CONDITIONS,
    DEPARTURES,
    INVESTORS,
    MANDATE,
    DrawnStudy,
    draw,
)
from imop_benchmarks.departures import CASH, ERROR, Scene, own_beliefs, with_errors
from imop_benchmarks.drawn_markets import draw_history, random_market, yearly_moments
from imop_engine import efficient_frontier, portfolio_problem
from imop_engine.limits import LinearLimit

EVEN, ODD = 2, 3  # a bundled market and a random one


def drawn(key: str, seed: int = ODD, assets: int = 8) -> DrawnStudy:
    return draw(CONDITIONS[f"{key}@{assets}"], seed)


def off(study: DrawnStudy) -> np.ndarray:
    return study.portfolios.to_numpy() - study.efficient


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def test_every_condition_is_there_with_8_and_20_assets() -> None:
    keys = [one.key for one in DEPARTURES]
    assert len(set(keys)) == len(keys) == 36
    assert {f"{key}@{n}" for key in keys for n in (8, 20)} | {"clean@30", "clean@50"} == set(
        CONDITIONS
    )


@pytest.mark.parametrize("label", CONDITIONS)
def test_a_study_is_what_an_analyst_could_have(label: str) -> None:
    study = draw(CONDITIONS[label], EVEN)
    held = study.portfolios.to_numpy()
    n = study.condition.assets + (study.condition.key == "cash-sleeve")
    assert held.shape == study.efficient.shape == (len(study.true_weights), n)
    assert held.min() >= 0.0
    assert held.sum(axis=1) == pytest.approx(1.0)
    names = list(study.names)
    assert list(study.portfolios) == list(study.covariance) == list(study.covariance.index) == names
    assert np.linalg.eigvalsh(study.covariance.to_numpy()).min() > 0.0
    people = study.portfolios.index.nunique()
    lost = study.condition.key == "cash-unseen"  # who holds hardly anything but cash
    assert lost or people >= INVESTORS[0]
    assert people <= INVESTORS[1]
    if study.anchors is not None:
        truth = dict(zip(names, study.true_returns, strict=True))
        assert len({value for _, value in study.anchors}) == 2
        assert all(truth[name] == value for name, value in study.anchors)
        for name, _ in study.anchors:
            assert (study.portfolios[name] > 0.02).mean() > 0.05


@pytest.mark.parametrize("label", ["clean@8", "both-60@20", "tilt-dates@8", "index-10@8"])
def test_equal_seeds_draw_equal_studies_and_others_do_not(label: str) -> None:
    one, again, other = (draw(CONDITIONS[label], seed) for seed in (ODD, ODD, ODD + 2))
    for field in fields(DrawnStudy):
        a, b = getattr(one, field.name), getattr(again, field.name)
        assert a.equals(b) if isinstance(a, pd.DataFrame | pd.Series) else np.array_equal(a, b)
    assert not one.expected_returns.equals(other.expected_returns)


def test_bundled_and_random_markets_alternate() -> None:
    assert [drawn("clean", seed).market for seed in range(4)] == ["paper8", "random"] * 2
    assert [drawn("clean", seed, 20).market for seed in (0, 1)] == ["us20", "random"]
    assert {drawn("clean", seed, 30).market for seed in (0, 1)} == {"random"}


@pytest.mark.parametrize("assets", [8, 20, 50])
def test_a_random_market_is_realistic_and_most_of_it_is_held(assets: int) -> None:
    for seed in range(5):
        market = random_market(assets, np.random.default_rng(seed))
        volatility = np.sqrt(np.diag(market.covariance))
        assert volatility.min() >= 0.05
        assert volatility.max() <= 0.35
        values = np.linalg.eigvalsh(market.covariance)
        assert values.min() > 0.0
        assert values[-3:].sum() > 0.3 * values.sum()
        assert -0.05 < market.returns.min() < market.returns.max() < 0.4
        held = market.frontier.at(np.linspace(0.1, 0.9, 50)).max(axis=0) > 0.25 / assets
        assert held.mean() >= 0.65  # 0.7 on a finer grid


@pytest.mark.parametrize("assets", [8, 20])
def test_limits_that_are_given_are_kept_and_bind(assets: int) -> None:
    for seed in (EVEN, ODD):
        study = drawn("limits-given", seed, assets)
        assert study.attributes is None
        given = (study.mandates or {})[""]
        (limit,) = (LinearLimit.of(one) for one in given["limits"])
        beyond = limit.excess(study.efficient, study.names)
        assert beyond.max() <= 1e-9
        assert np.mean(beyond > -1e-6) > 0.3
        assert study.efficient.max() <= given["upper"] + 1e-9
        assert limit.excess(study.portfolios.to_numpy(), study.names).max() > 0.0  # errors


def test_mandates_are_labelled_and_differ_in_what_they_allow() -> None:
    for key, count in (("mandates-given", 2), ("caps-given", 4)):
        study = drawn(key)
        assert study.attributes is not None
        labels = study.attributes[MANDATE]
        assert set(labels) == set(study.mandates or {})
        assert len(set(labels)) == count
        assert labels.value_counts().min() >= len(labels) // count
        for label, given in (study.mandates or {}).items():
            most = study.efficient[labels == label].max()
            assert most <= given.get("upper", 1.0) + 1e-9
        assert study.efficient[labels == "free"].max() > 0.45


def test_clean_errors_are_small_and_the_analyst_does_not_start_from_the_truth() -> None:
    for seed in (EVEN, ODD):
        study = drawn("clean", seed)
        assert 0.6 * ERROR < rms(off(study)) < 1.4 * ERROR
        assert np.array_equal(study.covariance, study.true_covariance)
        assert study.history is None
        assert np.abs(study.expected_returns - study.true_returns).max() > 0.01
        assert not study.contaminated.any()


@pytest.mark.parametrize("months", [60, 120, 240])
def test_covariances_are_as_far_off_as_that_many_months(months: int) -> None:
    ratios = []
    for seed in range(12):
        study = drawn(f"covariance-{months}", seed)
        assert study.history is not None
        assert study.anchors is not None
        assert len(study.history) == months
        assert study.covariance.to_numpy() == pytest.approx(study.history.cov().to_numpy() * 12)
        ratios.append(np.diag(study.covariance) / np.diag(study.true_covariance) - 1.0)
    assert rms(np.array(ratios)) == pytest.approx(np.sqrt(2.0 / (months - 1)), rel=0.35)


@pytest.mark.parametrize("months", [60, 120, 240])
def test_only_the_means_err_where_anchors_come_from_history(months: int) -> None:
    scores = []
    for seed in range(12):
        study = drawn(f"anchors-{months}", seed)
        assert study.anchors is None
        assert study.history is not None
        assert np.array_equal(study.covariance, study.true_covariance)
        means, covariance = yearly_moments(study.history)
        assert covariance == pytest.approx(study.true_covariance)
        assert study.expected_returns.to_numpy() == pytest.approx(means)
        error = np.sqrt(np.diag(study.true_covariance) / (months / 12))
        scores.append((study.expected_returns - study.true_returns) / error)
    assert rms(np.array(scores)) == pytest.approx(1.0, rel=0.35)


def test_both_moments_come_from_one_history() -> None:
    study = drawn("both-120")
    assert study.anchors is None
    assert study.history is not None
    means, covariance = yearly_moments(study.history)
    assert study.expected_returns.to_numpy() == pytest.approx(means)
    assert study.covariance.to_numpy() == pytest.approx(covariance)
    assert not np.allclose(covariance, study.true_covariance, rtol=0.01)


def test_a_history_is_normal_with_the_moments_of_its_market() -> None:
    market = random_market(4, np.random.default_rng(5))
    means, covariance = yearly_moments(draw_history(market, 120_000, np.random.default_rng(6)))
    assert means == pytest.approx(market.returns, abs=0.01)
    assert covariance == pytest.approx(market.covariance, rel=0.05, abs=5e-4)


def test_beliefs_of_their_own_move_holdings_more_the_more_they_differ() -> None:
    sizes = [rms(off(drawn(f"beliefs-{sd}", EVEN))) for sd in ("0.005", "0.01", "0.03")]
    assert 2 * ERROR < sizes[0] < sizes[1] < sizes[2]


def test_own_beliefs_have_the_size_they_say() -> None:
    """Read them back from two assets that are held: r_1 - r_2 = ((Qx)_1 - (Qx)_2) / lam."""
    market = random_market(2, np.random.default_rng(1))
    weight = 0.3
    scene = Scene(market, np.full(4000, weight), np.random.default_rng(2))
    held = own_beliefs(scene, 0.002).holdings
    inside = (held > 0.02).all(axis=1)
    assert inside.mean() > 0.99
    slope = held[inside] @ market.covariance / (weight / (2 * (1 - weight)))
    spread = np.std(slope[:, 0] - slope[:, 1])
    noise = np.diff(market.covariance, axis=0)[0] @ [1, -1] * ERROR / np.sqrt(2)
    noise /= weight / (2 * (1 - weight))
    assert spread**2 == pytest.approx(2 * 0.002**2 + noise**2, rel=0.1)


def test_covariances_of_their_own_move_holdings() -> None:
    study = drawn("own-covariance")
    assert rms(off(study)) > 4 * ERROR
    assert np.array_equal(study.covariance, study.true_covariance)


@pytest.mark.parametrize("share", [10, 30])
@pytest.mark.parametrize("who", ["random", "even", "index"])
def test_strangers_are_as_many_as_said_and_the_others_clean(who: str, share: int) -> None:
    study = drawn(f"{who}-{share}")
    strange = study.contaminated
    assert strange.sum() == round(share / 100 * len(strange))
    assert rms(off(study)[~strange]) < 1.4 * ERROR
    held = study.portfolios.to_numpy()[strange]
    spread = held.std(axis=0).mean()
    if who == "random":
        assert held.mean(axis=0) == pytest.approx(1 / 8, abs=0.08)
        assert spread > 0.07
    else:
        assert spread < 1.4 * ERROR
        even = np.abs(held.mean(axis=0) - 1 / 8).max() < 0.002
        assert even == (who == "even")


@pytest.mark.parametrize("sd", [0.1, 0.3])
def test_lognormal_errors_are_in_the_ratios(sd: float) -> None:
    study = drawn(f"lognormal-{sd:g}", EVEN)
    seen, held = study.portfolios.to_numpy(), study.efficient
    assert np.array_equal(seen == 0.0, held == 0.0)
    first, second = np.argsort(-np.median(held, axis=0))[:2]
    both = (held[:, [first, second]] > 1e-6).all(axis=1)
    ratio = np.log(seen[both][:, [first, second]] / held[both][:, [first, second]])
    spread = np.std(ratio[:, 0] - ratio[:, 1])
    assert spread == pytest.approx(np.sqrt(2) * sd, rel=0.15)


def test_dirichlet_errors_grow_with_the_holding() -> None:
    study = drawn("dirichlet-0.05", EVEN)
    held = study.efficient
    inside = (held > 0.02) & (held < 0.98)
    scores = off(study)[inside] / np.sqrt(held[inside] * (1.0 - held[inside]))
    assert rms(scores) == pytest.approx(2 * 0.05, rel=0.1)


@pytest.mark.parametrize("step", [1, 5])
def test_rounded_holdings_are_whole_steps(step: int) -> None:
    steps = drawn(f"rounding-{step}").portfolios.to_numpy() * 100 / step
    assert steps == pytest.approx(np.rint(steps))
    assert (steps == 1).any()  # and no multiple of it


def test_small_holdings_are_left_out() -> None:
    held = drawn("dropped-2").portfolios.to_numpy()
    assert held[held > 0].min() >= 0.02
    assert ((held == 0) & (drawn("dropped-2").efficient > 0.005)).any()


def test_only_the_largest_four_are_reported() -> None:
    study = drawn("largest-4")
    assert ((study.portfolios > 0).sum(axis=1) <= 4).all()
    assert ((study.efficient > 0.01).sum(axis=1) > 4).mean() > 0.1


def test_caps_bind_where_they_are_set() -> None:
    room = 6 * ERROR
    differ = drawn("caps-differ", EVEN)
    assert differ.portfolios.to_numpy().max() < 0.6 + room
    assert differ.efficient.max() > 0.6 + room
    assert (differ.portfolios.max(axis=1) > 0.3).any()
    half = drawn("half-capped", EVEN).portfolios.max(axis=1)
    assert 0.45 < (half < 0.2 + room).mean() < 0.6
    assert (half > 0.3).any()


def test_unseen_cash_leaves_the_cautious_with_one_portfolio() -> None:
    study = drawn("cash-unseen", EVEN)
    assert CASH not in study.names
    held = study.portfolios.to_numpy()
    cautious = study.true_weights < np.quantile(study.true_weights, 0.4)
    typical = np.median(held[cautious], axis=0)
    apart = np.linalg.norm(held[cautious] - typical, axis=1)
    wanted = np.linalg.norm(study.efficient[cautious] - typical, axis=1)
    assert np.median(apart) < 0.05 < np.median(wanted)
    frontier = efficient_frontier(portfolio_problem(study.true_covariance), study.true_returns)
    assert frontier.project(typical[None]).distances[0] < 0.02


def test_a_cash_sleeve_has_nothing_to_do_with_the_preference() -> None:
    study = drawn("cash-sleeve", EVEN)
    cash = study.portfolios[CASH].to_numpy()
    assert cash.mean() == pytest.approx(0.15, abs=0.02)
    assert cash.max() < 0.3 + 6 * ERROR
    assert abs(np.corrcoef(cash, study.true_weights)[0, 1]) < 0.15
    others = study.portfolios.drop(columns=CASH).to_numpy()
    problem = portfolio_problem(study.true_covariance[:-1, :-1])
    frontier = efficient_frontier(problem, study.true_returns[:-1])
    near = frontier.project(others / others.sum(axis=1, keepdims=True)).distances
    assert np.median(near) < 4 * ERROR


def test_a_home_tilt_is_a_tenth_in_one_asset() -> None:
    study = drawn("home-tilt")
    moved = np.sort((study.portfolios.to_numpy() - 0.9 * study.efficient).mean(axis=0))
    assert moved[-1] == pytest.approx(0.1, abs=0.01)
    assert np.abs(moved[:-1]).max() < 0.01


def test_tilts_are_the_same_at_all_five_dates() -> None:
    study = drawn("tilt-dates")
    assert study.dates is not None
    assert study.attributes is not None
    assert (study.portfolios.groupby(level=0).size() == 5).all()
    assert study.dates.nunique() == 5
    assert study.attributes["investor"].tolist() == study.portfolios.index.tolist()
    residual = pd.DataFrame(off(study), index=study.portfolios.index)
    own = residual.groupby(level=0).transform("mean").to_numpy()
    assert rms(own) > 0.75 * rms(residual.to_numpy())
    assert 0.03 < rms(residual.to_numpy()) < 0.06


def test_errors_do_not_change_what_they_are_given() -> None:
    held = np.full((3, 4), 0.25)
    seen = with_errors(held, np.random.default_rng(0))
    assert (held == 0.25).all()
    assert seen.sum(axis=1) == pytest.approx(1.0)
    assert not np.allclose(seen, held)
