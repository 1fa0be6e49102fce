"""Preferences: intervals that cover, p-values that are uniform, families that are found."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.inference.family_fit import fit_counts
from imop_engine.inference.preferences import (
    investor_preferences,
    plateaus_of,
    preference_segments,
    weight_distribution,
)
from imop_engine.inference.weight_bins import bins_around, even_bins, merge_bins
from imop_engine.simulate import simulate_investors
from imop_engine.weight_families import fitted_families

MARKETS = {name: market(name) for name in ("paper8", "us20")}
PROBLEMS = {name: imop.portfolio_problem(m.covariance) for name, m in MARKETS.items()}
FRONTIERS = {
    name: imop.efficient_frontier(PROBLEMS[name], m.expected_returns) for name, m in MARKETS.items()
}
FRONTIER = FRONTIERS["paper8"]


def draw(name="paper8", count=1000, seed=1, weights="uniform", noise="gaussian", level=0.005):
    return simulate_investors(
        PROBLEMS[name], MARKETS[name].expected_returns, count, weights=weights, noise=noise,
        noise_level=level, rng=np.random.default_rng(seed),
    )  # fmt: skip


def truncated(rng, mean, sd, count):
    drawn = rng.normal(mean, sd, 4 * count + 100)
    return drawn[(drawn >= 0) & (drawn <= 1)][:count]


def mixture(rng, count):
    first = rng.random(count) < 0.4
    return np.where(first, truncated(rng, 0.25, 0.07, count), truncated(rng, 0.7, 0.1, count))


def kumaraswamy(rng, count):
    """Shape 2 and 4, by the inverse of 1 - (1 - w^a)^b."""
    return (1.0 - (1.0 - rng.random(count)) ** (1.0 / 4.0)) ** (1.0 / 2.0)


DRAWS = {
    "normal": lambda rng, n: truncated(rng, 0.5, 0.15, n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "beta": lambda rng, n: rng.beta(2.0, 4.0, n),
    "kumaraswamy": kumaraswamy,
    "unbounded normal": lambda rng, n: np.clip(rng.normal(0.5, 0.1, n), 0.0, 1.0),
    "mixture": mixture,
}


# -- intervals -----------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("name", MARKETS)
@pytest.mark.parametrize("weights", ["uniform", "normal"])
def test_intervals_cover_the_true_weight_at_about_their_level(name, weights):
    """Noise sd 0.005, level 95 %. Seen: 95.7 and 96.2 % (paper8), 96.7 and 96.7 % (us20); by fifth
    of the weights between 94.5 and 97.8 %."""
    drawn = draw(name, 3000, 1, weights)
    people = investor_preferences(FRONTIERS[name], drawn.portfolios).investors
    covered = (drawn.weights >= people["weight_low"]) & (drawn.weights <= people["weight_high"])
    assert 0.94 < covered.mean() < 0.98
    fifths = covered.groupby(pd.qcut(drawn.weights, 5)).mean()
    assert fifths.between(0.93, 0.99).all()


def test_a_lower_level_covers_less():
    drawn = draw(count=3000)
    people = investor_preferences(FRONTIER, drawn.portfolios, level=0.5).investors
    covered = (drawn.weights >= people["weight_low"]) & (drawn.weights <= people["weight_high"])
    assert 0.45 < covered.mean() < 0.62


def test_on_a_straight_stretch_the_interval_is_the_textbook_one():
    lam, z, sd = 0.2, 1.959963984540054, 1e-4
    w = 2 * lam / (1 + 2 * lam)
    k = np.searchsorted(FRONTIER.lams, lam) - 1
    speed = np.linalg.norm(FRONTIER.directions[k])
    x = FRONTIER.at(w)
    people = investor_preferences(FRONTIER, [x], noise_sd=sd).investors.iloc[0]
    u = FRONTIER.directions[k] / speed
    reach = z * sd * np.sqrt(1 + np.sum(x > 1e-9) * (u @ x) ** 2) / speed
    lams = np.array([lam - reach, lam + reach])
    np.testing.assert_allclose(
        people[["weight_low", "weight_high"]].to_numpy(dtype=float), 2 * lams / (1 + 2 * lams),
        rtol=1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(
        people[["risk_aversion_low", "risk_aversion_high"]].to_numpy(dtype=float),
        1 / lams[::-1], rtol=1e-6,
    )  # fmt: skip
    up = people["risk_aversion_high"] - people["risk_aversion"]
    assert up > people["risk_aversion"] - people["risk_aversion_low"]


def test_no_noise_gives_points_and_plateaus():
    drawn = draw(noise="none")
    people = investor_preferences(FRONTIER, drawn.portfolios, noise_sd=0.0).investors
    top = FRONTIER.weights[-1]
    moving = drawn.weights < top
    np.testing.assert_allclose(people["weight"][moving], drawn.weights[moving], atol=1e-7)
    assert (people["weight_high"] - people["weight_low"])[moving].max() < 1e-3
    assert people["plateau"].to_numpy()[~moving].all()
    np.testing.assert_allclose(people["weight_low"][~moving], top, atol=1e-3)
    assert (people["weight_high"][~moving] == 1.0).all()
    assert (people["risk_aversion_low"][~moving] == 0.0).all()


def test_the_least_risky_investor_may_have_any_high_risk_aversion():
    people = investor_preferences(FRONTIER, [FRONTIER.portfolios[0]], noise_sd=0.005).investors
    assert people["weight_low"].iloc[0] == 0.0
    assert np.isinf(people["risk_aversion_high"].iloc[0])
    assert 0.0 < people["weight_high"].iloc[0] < 0.1


def test_a_frontier_of_one_portfolio_says_nothing_of_weights():
    frontier = imop.efficient_frontier(PROBLEMS["paper8"], np.full(8, 0.1))
    people = investor_preferences(frontier, frontier.portfolios[:1], noise_sd=0.005).investors
    assert people[["weight_low", "weight_high"]].to_numpy().tolist() == [[0.0, 1.0]]
    assert plateaus_of(frontier) == ((0.0, 1.0),)


def test_rows_keep_their_labels_and_bounds_their_order():
    Y = pd.DataFrame(draw(count=50).portfolios, columns=list(PROBLEMS["paper8"].names))
    Y.index = [f"client {i}" for i in range(50)]
    people = investor_preferences(FRONTIER, Y).to_frame()
    assert people.index.tolist() == Y.index.tolist()
    for name in ("weight", "risk_aversion"):
        assert (people[f"{name}_low"] <= people[name]).all()
        assert (people[name] <= people[f"{name}_high"]).all()
    assert people["weight"].between(0, 1).all()


# -- the test of a family ------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("count", [100, 500])
@pytest.mark.parametrize("name", DRAWS)
def test_p_values_are_uniform_under_the_null(name, count):
    """300 draws (100 of the mixture). Seen: Kolmogorov-Smirnov p from 0.07 to 0.84."""
    rng = np.random.default_rng(count)
    draws = 100 if name == "mixture" else 300
    p = np.array(
        [
            weight_distribution(DRAWS[name](rng, count), families=[name]).families[0].p_value
            for _ in range(draws)
        ]
    )
    tested = np.isfinite(p)  # a mixture may leave no bins for a test at 100 investors
    assert tested.mean() > 0.85
    assert kstest(p[tested], "uniform").pvalue > 0.01
    assert 0.01 <= np.mean(p[tested] < 0.05) <= 0.10


@pytest.mark.slow
def test_p_values_are_uniform_on_a_grid_and_with_a_plateau():
    rng = np.random.default_rng(4)
    grid = np.linspace(0.0, 1.0, 41)
    rounded, capped = [], []
    for _ in range(200):
        w = truncated(rng, 0.5, 0.15, 500)
        found = weight_distribution(np.rint(w * 40) / 40, grid=grid, families=["normal"])
        rounded.append(found.families[0].p_value)
        lumps = weight_distribution(
            np.minimum(w, 0.62), plateaus=[(0.62, 1.0)], families=["normal"]
        )
        capped.append(lumps.families[0].p_value)
    assert kstest(rounded, "uniform").pvalue > 0.01
    assert kstest(capped, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_normal_is_rejected_under_uniform_weights():
    """Seen: p at most 8e-6 over 20 draws of 500; the normal cut to 0..1 flattens out and stays."""
    rng = np.random.default_rng(6)
    found = [weight_distribution(rng.uniform(size=500)) for _ in range(20)]
    assert max(f.family("unbounded normal").p_value for f in found) < 1e-3
    assert sum(f.best.name == "uniform" for f in found) >= 18
    assert np.median([f.family("normal").p_value for f in found]) > 0.1


# -- families ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("normal", [0.5, 0.15]),
        ("beta", [2.0, 4.0]),
        ("kumaraswamy", [2.0, 4.0]),
        ("unbounded normal", [0.5, 0.1]),
        ("mixture", [0.4, 0.25, 0.07, 0.7, 0.1]),
    ],
)
def test_parameters_are_recovered(name, truth):
    w = DRAWS[name](np.random.default_rng(9), 20_000)
    found = weight_distribution(w, families=[name]).families[0]
    np.testing.assert_allclose(list(found.parameters.values()), truth, rtol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "uniform", "beta", "kumaraswamy", "mixture"])
def test_bic_picks_the_family_the_weights_come_from(name):
    rng = np.random.default_rng(10)
    picked = [weight_distribution(DRAWS[name](rng, 2000)).best.name for _ in range(8)]
    assert picked.count(name) >= 7


def test_a_plateau_hides_who_is_where_and_the_fit_still_finds_them():
    w = np.minimum(truncated(np.random.default_rng(3), 0.6, 0.2, 20_000), 0.7)
    distribution = weight_distribution(w, plateaus=[(0.7, 1.0)], families=["normal"])
    assert distribution.edges[-2] < 0.7
    np.testing.assert_allclose(
        list(distribution.families[0].parameters.values()), [0.6, 0.2], rtol=0.03
    )  # fmt: skip
    assert distribution.families[0].p_value > 0.01


def test_weights_on_a_grid_are_recognised():
    rng = np.random.default_rng(3)
    w = truncated(rng, 0.5, 0.15, 1000)
    distribution = weight_distribution(np.rint(w * 40) / 40)
    assert distribution.on_grid
    assert not weight_distribution(w).on_grid
    assert distribution.best.name == "normal"
    assert distribution.counts.sum() == 1000


def test_simulated_investors_end_to_end():
    drawn = draw(count=1000, weights="normal", noise="round", level=0.001)
    distribution = weight_distribution(investor_preferences(FRONTIER, drawn.portfolios))
    assert distribution.best.name == "normal"
    assert distribution.best.parameters["mean"] == pytest.approx(0.5, abs=0.02)
    assert distribution.best.parameters["sd"] == pytest.approx(0.15, abs=0.02)
    table = distribution.to_frame()
    assert table["chosen"].sum() == 1
    assert set(table["family"]) == set(fitted_families())
    area = distribution.histogram()
    assert (area["density"] * (area["high"] - area["low"])).sum() == pytest.approx(1.0)


def test_a_density_is_the_slope_of_its_cdf_and_integrates_to_one():
    distribution = weight_distribution(mixture(np.random.default_rng(2), 2000))
    w = np.linspace(0.0, 1.0, 4001)
    for fitted in distribution.families:
        if fitted.on_unit_interval:
            assert np.trapezoid(fitted.density(w), w) == pytest.approx(1.0, abs=2e-3)
            assert fitted.cdf([0.0, 1.0]).tolist() == pytest.approx([0.0, 1.0])


def test_the_fit_is_an_optimum():
    rng = np.random.default_rng(1)
    w = mixture(rng, 1000)
    edges = even_bins(w)
    counts = np.histogram(w, edges)[0]
    for family in fitted_families().values():
        inner, value = fit_counts(family, edges, counts)
        for _ in range(50):
            other = inner + rng.normal(0, 0.01, inner.size)
            assert np.sum(counts * np.log(family.bins(edges, other))) <= value + 1e-6


def test_merged_cells_expect_five_or_more():
    expected = np.random.default_rng(0).exponential(3.0, 200)
    starts = merge_bins(expected)
    sums = np.add.reduceat(expected, starts)
    assert sums.min() >= 5.0
    assert sums.sum() == pytest.approx(expected.sum())
    assert merge_bins(np.array([1.0, 1.0])).tolist() == [0]
    assert bins_around(np.array([0.0, 0.5, 1.0])).tolist() == [0.0, 0.25, 0.75, 1.0]


# -- segments ------------------------------------------------------------------------------------
def test_segments_differ_where_the_investors_do():
    rng = np.random.default_rng(5)
    w = np.concatenate([rng.uniform(0.2, 0.4, 60), rng.uniform(0.6, 0.8, 40)])
    Y = FRONTIER.at(w)
    preferences = investor_preferences(FRONTIER, Y, noise_sd=0.001)
    table = preference_segments(preferences, ["retail"] * 60 + ["private"] * 40).set_index(
        "segment"
    )
    assert table["investors"].to_dict() == {"private": 40, "retail": 60}
    assert table.loc["retail", "mean_high"] < table.loc["private", "mean_low"]
    assert table.loc["retail", "mean_weight"] == pytest.approx(w[:60].mean(), abs=1e-6)
    assert table.loc["retail", "median_risk_aversion"] > table.loc["private"].median_risk_aversion
    assert table["share"].sum() == pytest.approx(1.0)


def test_a_number_is_cut_at_quartiles_and_missing_values_are_a_segment():
    preferences = investor_preferences(FRONTIER, draw(count=100).portfolios)
    age = pd.Series(np.arange(100.0), index=preferences.investors.index)
    age.iloc[:4] = np.nan
    table = preference_segments(preferences, age.sample(frac=1.0, random_state=1))
    assert table["investors"].tolist() == [24, 24, 24, 24, 4]
    assert table["segment"].iloc[-1] == "(missing)"
    one = preference_segments(preferences, ["alone"] + ["others"] * 99)
    assert np.isnan(one["mean_low"].iloc[0])


# -- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: weight_distribution([0.5] * 5), "needs at least 20 investors; there are 5"),
        (lambda: weight_distribution([0.5] * 40), "Describe them by that one weight"),
        (lambda: weight_distribution([0.5] * 39 + [1.2]), "weight 40 is 1.2; weights lie between"),
        (
            lambda: weight_distribution(np.linspace(0, 1, 40), families=["gamma"]),
            "no family 'gamma'; choose among normal",
        ),
        (
            lambda: weight_distribution(np.linspace(0, 1, 40), grid=[0.0, 0.5, 1.0]),
            "pass the grid that",
        ),
        (
            lambda: weight_distribution(np.linspace(0, 1, 40)).family("gamma"),
            "no fitted family 'gamma'; choose one of",
        ),
        (
            lambda: investor_preferences(FRONTIER, FRONTIER.portfolios, level=95),
            "give a number between 0 and 1",
        ),
        (
            lambda: investor_preferences(FRONTIER, FRONTIER.portfolios, noise_sd=-1.0),
            "give the error in a holding",
        ),
        (
            lambda: investor_preferences(FRONTIER, FRONTIER.portfolios[-1:]),
            "noise_sd may say the error in a holding",
        ),
        (
            lambda: preference_segments(
                investor_preferences(FRONTIER, FRONTIER.portfolios, noise_sd=0.01), ["a"]
            ),
            "does not match the 12 investors; give a Series",
        ),
    ],
)
def test_errors_say_what_to_do(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_a_search_whose_damping_has_become_zero_ends(monkeypatch):
    """After hundreds of good steps damping is zero, and ten times zero is no more damping."""
    from imop_engine.inference import family_fit
    from imop_engine.weight_families import family as named

    monkeypatch.setattr(family_fit, "FIRST_DAMPING", 0.0)
    family = named("mixture")
    edges, asked = np.linspace(0.0, 1.0, 11), []

    class Counted:
        ranges = family.ranges
        bins_of_many = staticmethod(family.bins_of_many)

        @staticmethod
        def bins(edges, inner):
            asked.append(1)
            assert len(asked) < 10_000, "the search does not end"
            worse = 0.9 if len(asked) > 1 else 0.0  # no step is taken for an improvement
            p = family.bins(edges, inner)
            return (1.0 - worse) * p

    share = np.full(10, 0.1)
    start = np.array(family.starts((edges[1:] + edges[:-1]) / 2.0, share)[0])
    inner, _ = family_fit._scoring(Counted(), edges, share, start, 5)
    assert np.allclose(inner, np.clip(start, *np.array(family.ranges).T))
