"""The likelihood of histories with missing returns, against slow twins and against itself."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from imop_engine.estimators import is_positive_definite
from imop_engine.missing_returns import fit_missing
from reference_moments import naive_chain, naive_em, naive_objective

# Both iterations stop where a step moves nothing by more than about this, in standard deviations.
CLOSE = 1e-5


def history(rng, periods, count):
    """Correlated returns of the size that months have."""
    loadings = rng.normal(0, 0.03, (2, count))
    return 0.005 + rng.normal(size=(periods, 2)) @ loadings + rng.normal(0, 0.02, (periods, count))


def late(values, starts):
    values = values.copy()
    for j, start in enumerate(starts):
        values[:start, j] = np.nan
    return values


def holes(rng, values, share):
    values = values.copy()
    values[rng.random(values.shape) < share] = np.nan
    values[:3] = np.nan_to_num(values[:3], nan=0.01)  # every asset keeps a few
    return values


def blocks(rng, periods):
    """Three assets, two of them at a time, never all three."""
    values = history(rng, 3 * periods, 3)
    for block in range(3):
        values[block * periods : (block + 1) * periods, block] = np.nan
    return values


def own_variances(values):
    return np.nanvar(values, axis=0, ddof=1)


def assert_same(fit, mean, covariance, values):
    scale = np.sqrt(own_variances(values))
    assert fit.settled
    assert np.abs((fit.mean - mean) / scale).max() < CLOSE
    assert np.abs((fit.covariance - covariance) / np.outer(scale, scale)).max() < CLOSE


def test_without_gaps_it_is_the_sample():
    values = history(np.random.default_rng(1), 40, 5)
    fit = fit_missing(values)
    np.testing.assert_allclose(fit.mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, np.cov(values.T), rtol=1e-11)
    np.testing.assert_allclose(fit.mean_covariance, np.cov(values.T) / 40, rtol=1e-11)
    assert fit.extra_periods == 0


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_late_beginnings_are_a_chain_of_regressions(seed, count):
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 56, count))
    starts[0] = 0
    values = late(history(rng, 60, count), starts)
    fit = fit_missing(values)
    assert fit.steps == 1
    assert_same(fit, *naive_chain(values, fit.extra_periods, own_variances(values)), values)


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([0.02, 0.2, 0.5]))
@settings(max_examples=25)
def test_holes_against_the_textbook(seed, count, share):
    rng = np.random.default_rng(seed)
    values = holes(rng, history(rng, 40, count), share)
    fit = fit_missing(values)
    assert_same(fit, *naive_em(values, fit.extra_periods, own_variances(values)), values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        blocks(np.random.default_rng(3), 30),
        late(history(np.random.default_rng(4), 50, 3), [0, 49 - 2, 10]),
        holes(np.random.default_rng(5), history(np.random.default_rng(6), 30, 3), 0.4),
    ],
    ids=["never all three", "three months only", "holes"],
)
def test_no_other_moments_are_more_likely(values):
    """Maximised directly over the mean and the root of the covariance, from the answer and off it.

    The gradient is numerical, so the optimum is only known to about the root of its error.
    """
    fit = fit_missing(values)
    scale = np.sqrt(own_variances(values))
    standard, count = values / scale, values.shape[1]
    lower = np.tril_indices(count)

    def minus(parameters):
        root = np.zeros((count, count))
        root[lower] = parameters[count:]
        return -naive_objective(
            standard, parameters[:count], root @ root.T, fit.extra_periods, np.ones(count)
        )

    ours = np.r_[
        fit.mean / scale, np.linalg.cholesky(fit.covariance / np.outer(scale, scale))[lower]
    ]
    rng = np.random.default_rng(0)
    for push in (0.0, 0.05):
        start = ours + push * rng.normal(size=ours.shape)
        best = minimize(minus, start, method="BFGS", options={"gtol": 1e-6})
        assert minus(ours) <= best.fun + 1e-7
        assert np.abs(best.x - ours).max() < 1e-3


def test_one_common_month_and_none():
    rng = np.random.default_rng(8)
    values = history(rng, 60, 3)
    values[:30, 0] = np.nan
    values[31:, 1] = np.nan
    one = fit_missing(values)
    assert_same(one, *naive_em(values, one.extra_periods, own_variances(values)), values)
    values[30, 1] = np.nan
    assert is_positive_definite(fit_missing(values).covariance)


@given(st.integers(0, 10_000), st.integers(1, 12), st.sampled_from([0.05, 0.4, 0.8]))
@settings(max_examples=40)
def test_always_positive_definite(seed, count, share):
    """Fewer months than assets, assets that are the same, assets that never move."""
    rng = np.random.default_rng(seed)
    values = history(rng, 12, count)
    values[:, count // 2] = values[:, 0]
    if count > 4:
        values[:, 3] = 0.002
    values = holes(rng, values, share)
    if count > 4:
        values[np.isfinite(values[:, 3]), 3] = 0.002
    if np.isnan(values).any():
        fit = fit_missing(values)
        assert fit.settled
        assert is_positive_definite(fit.covariance)
        assert np.linalg.eigvalsh(fit.mean_covariance)[0] > 0


def test_an_asset_that_never_moves_is_unrelated_to_the_others():
    values = late(history(np.random.default_rng(9), 50, 3), [0, 20, 0])
    values[:, 2] = 0.001
    fit = fit_missing(values)
    assert fit.constant.tolist() == [False, False, True]
    assert fit.mean[2] == pytest.approx(0.001, rel=1e-12)
    assert fit.covariance[2, :2].tolist() == [0, 0]
    assert fit.covariance[2, 2] == 1e-8 * np.diag(fit.covariance).max()
    np.testing.assert_allclose(fit.covariance[:2, :2], fit_missing(values[:, :2]).covariance)


def test_one_hole_moves_hardly_anything():
    """The further periods fade with the gaps: nothing jumps where the first return is missing."""
    values = history(np.random.default_rng(10), 240, 6)
    whole = fit_missing(values)
    values[100, 2] = np.nan
    hole = fit_missing(values)
    scale = np.sqrt(np.diag(whole.covariance))
    assert 0 < hole.extra_periods < 0.1
    assert np.abs((hole.covariance - whole.covariance) / np.outer(scale, scale)).max() < 0.02


def test_the_order_of_assets_and_empty_periods_do_not_matter():
    rng = np.random.default_rng(11)
    values = holes(rng, late(history(rng, 80, 5), [0, 30, 5, 60, 0]), 0.1)
    plain = fit_missing(values)
    order = rng.permutation(5)
    turned = fit_missing(
        np.vstack([values[:40, order], np.full((2, 5), np.nan), values[40:, order]])
    )
    np.testing.assert_allclose(turned.mean, plain.mean[order], atol=1e-9)
    np.testing.assert_allclose(turned.covariance, plain.covariance[np.ix_(order, order)], atol=1e-9)
    np.testing.assert_allclose(
        turned.mean_covariance, plain.mean_covariance[np.ix_(order, order)], atol=1e-9
    )


def test_weights_count_periods():
    """A period that counts twice is there twice, up to what estimating the mean costs."""
    rng = np.random.default_rng(12)
    values = late(history(rng, 60, 3), [0, 25, 40])
    doubled = fit_missing(np.vstack([values, values]))
    weighted = fit_missing(values, np.full(60, 7.0))
    single = fit_missing(values)
    np.testing.assert_allclose(weighted.covariance, single.covariance, rtol=1e-10)
    np.testing.assert_allclose(doubled.mean, single.mean, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("scattered", [False, True], ids=["late", "late and holes"])
def test_the_error_of_the_means_is_what_repetition_shows(scattered):
    """Of 400 histories drawn from one truth, the errors over their stated spread spread by one."""
    rng = np.random.default_rng(13)
    root = np.linalg.cholesky(np.array([[1, 0.7, 0.5], [0.7, 1, 0.6], [0.5, 0.6, 1]]))
    errors = []
    for _ in range(400):
        values = late(rng.normal(size=(120, 3)) @ root.T, [0, 60, 100])
        if scattered:
            values[rng.random(values.shape) < 0.15] = np.nan
        fit = fit_missing(values)
        errors.append(fit.mean / np.sqrt(np.diag(fit.mean_covariance)))
    spread = np.array(errors).std(axis=0)
    assert (spread > 0.9).all(), spread  # a standard deviation of 400 draws is known to 3.5 %
    assert (spread < 1.15).all(), spread


def test_all_months_beat_the_common_ones():
    """What the likelihood is for: a short history's mean, with the help of a long one's."""
    rng = np.random.default_rng(14)
    root = np.linalg.cholesky(np.array([[1, 0.9], [0.9, 1]]))
    likely, own = [], []
    for _ in range(200):
        values = late(rng.normal(size=(240, 2)) @ root.T, [0, 200])
        likely.append(fit_missing(values).mean[1])
        own.append(np.nanmean(values[:, 1]))
    assert np.std(likely) < 0.75 * np.std(own)


def test_a_frame_of_one_asset():
    values = np.array([[0.01], [np.nan], [0.03], [0.02]])
    fit = fit_missing(values)
    assert fit.mean[0] == pytest.approx(0.02)
    assert fit.covariance[0, 0] == pytest.approx(pd.Series(values[:, 0]).var())
