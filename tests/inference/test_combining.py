"""One estimate from several studies, each of which knows only a part of the returns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from imop_engine.inference.combining import Combined, KnownPart, combine

N = 5
ANCHORS = np.array([[1.0, 0, 0, 0, 0], [0, 0, 0, 0.5, 0.5]])
TRUTH = np.array([0.1, 0.07, 0.05, 0.03, 0.02])
GROUP = np.array([0.0, 1.0, 1.0, 0.0, 0.0])  # keeps the anchors


def inside_anchors() -> np.ndarray:
    return np.linalg.svd(ANCHORS)[2][2:].T


def part(
    rng: np.random.Generator, sd: float, unknown: np.ndarray, truth: np.ndarray = TRUTH
) -> KnownPart:
    """A study whose estimate is anywhere along what it does not see."""
    basis = inside_anchors()
    root = basis @ rng.normal(0.0, sd, (basis.shape[1], basis.shape[1]))
    seen = basis @ np.linalg.svd(np.vstack([unknown @ basis, np.zeros(3)]))[2][len(unknown) :].T
    own = seen @ seen.T @ root @ root.T @ seen @ seen.T
    error = seen @ seen.T @ root @ rng.normal(size=basis.shape[1])
    lost = unknown.T @ rng.normal(0.0, 0.1, len(unknown))
    zero = np.zeros((N, N))
    return KnownPart(truth + error + lost, own, zero, zero, unknown, np.zeros(N))


def brute(parts: list[KnownPart]) -> np.ndarray:
    """Generalised least squares by stacked rows, each whitened, anchors with a huge weight."""
    rows, values = [1e6 * ANCHORS], [1e6 * ANCHORS @ TRUTH]
    for one in parts:
        size, vectors = np.linalg.eigh(one.own)
        for value, vector in zip(size, vectors.T, strict=True):
            if value > 1e-14:
                rows.append(vector[None] / np.sqrt(value))
                values.append(np.array([vector @ one.theta / np.sqrt(value)]))
    return np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)[0]


def test_what_each_knows_is_put_together_as_by_least_squares() -> None:
    rng = np.random.default_rng(1)
    level, asset = GROUP[None], np.array([[0.0, 0, 0, 1, -1]])
    for _ in range(20):
        parts = [part(rng, 0.01, level), part(rng, 0.02, asset), part(rng, 0.01, np.zeros((0, N)))]
        found = combine(ANCHORS, parts)
        assert found.known().all()
        assert found.apart == 0.0 or found.probability < 0.01
        if found.apart == 0.0:
            assert found.theta == pytest.approx(brute(parts), abs=1e-5)
        assert ANCHORS @ found.theta == pytest.approx(ANCHORS @ TRUTH)


def test_two_that_know_only_differences_may_tell_a_level_together() -> None:
    rng = np.random.default_rng(2)
    one = part(rng, 1e-4, GROUP[None])
    other = part(rng, 1e-4, np.array([[0.0, 0, 1, 1, -1]]))
    found = combine(ANCHORS, [one, other])
    assert found.known().all()
    assert np.abs(found.theta - TRUTH).max() < 5 * np.sqrt(np.diag(found.covariance).max()) + 1e-5
    alone = combine(ANCHORS, [one])
    assert alone.known().tolist() == [True, False, False, True, True]
    assert np.isnan(alone.probability)


def test_what_nobody_sees_stays_open() -> None:
    rng = np.random.default_rng(3)
    # the same direction, but for a scale that differs a little
    unknown = [GROUP[None], (GROUP + 0.005 * np.array([0.0, 1, 0, 1, -1]))[None]]
    found = combine(ANCHORS, [part(rng, 1e-4, one) for one in unknown])
    assert len(found.open_directions) == 1
    assert not found.known()[[1, 2]].any()
    assert found.probability > 1e-4


def test_agreement_is_as_probable_as_it_says() -> None:
    rng = np.random.default_rng(4)
    found = [
        combine(ANCHORS, [part(rng, 0.01, GROUP[None]), part(rng, 0.01, np.zeros((0, N)))])
        for _ in range(300)
    ]
    assert kstest([one.probability for one in found], "uniform").pvalue > 0.01


def test_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(300):
        parts = [part(rng, 0.01, GROUP[None]), part(rng, 0.01, np.array([[0.0, 0, 1, 1, -1]]))]
        found = combine(ANCHORS, parts)
        reach = 1.96 * np.sqrt(np.diag(found.covariance)[1:])
        inside.append(np.abs(found.theta - TRUTH)[1:] <= reach)
    assert 0.93 < np.mean(inside) < 0.98


def wrong_and_sure() -> tuple[Combined, float]:
    rng = np.random.default_rng(6)
    right = part(rng, 0.002, np.zeros((0, N)))
    off = TRUTH + 0.03 * GROUP
    sure = part(rng, 0.0001, np.zeros((0, N)), off)
    return combine(ANCHORS, [right, sure]), float(off[1])


def test_a_wrong_study_does_not_decide_by_a_tiny_variance() -> None:
    found, off = wrong_and_sure()
    assert found.probability < 1e-6
    assert 0.005 < found.apart < 0.03
    reach = 1.96 * np.sqrt(np.diag(found.covariance))
    assert found.theta[1] - reach[1] < TRUTH[1] < found.theta[1] < off < found.theta[1] + reach[1]


def test_common_errors_are_not_averaged_down() -> None:
    rng = np.random.default_rng(7)
    one = part(rng, 1e-4, np.zeros((0, N)))
    basis = inside_anchors()
    common, anchors = 0.01**2 * basis @ basis.T, 0.02**2 * np.ones((N, N))
    many = [KnownPart(one.theta, one.own, common, anchors, one.unknown, one.shift)] * 4
    found = combine(ANCHORS, many)
    assert found.covariance == pytest.approx(one.own / 4 + common + anchors, rel=1e-3, abs=1e-9)


def test_steps_and_biases_come_along() -> None:
    rng = np.random.default_rng(8)
    one = part(rng, 1e-3, np.zeros((0, N)))
    shift = inside_anchors() @ np.array([0.001, -0.002, 0.0005])
    two = [KnownPart(one.theta, one.own, one.common, one.anchors, one.unknown, shift)] * 2
    assert combine(ANCHORS, two).shift == pytest.approx(shift)
