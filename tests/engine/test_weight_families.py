"""Every distribution of weights is drawn, fitted and shown from one registry."""

import numpy as np
import pytest

from imop_engine.errors import InvalidInput
from imop_engine.population import WeightLaw
from imop_engine.weight_families import (
    DRAWN,
    FITTED_ONLY,
    drawn_by_mean_and_sd,
    family,
    fitted_families,
)
from imop_engine.weight_families.base import Shape

PARTS = ((0.4, 0.25, 0.06), (0.6, 0.7, 0.1))


def test_names_labels_and_fits_are_different():
    every = [family(name) for name in (*DRAWN, *FITTED_ONLY)]
    assert [one.name for one in every] == list(fitted_families()) == [*DRAWN, *FITTED_ONLY]
    assert len({one.label for one in every}) == len(every)
    assert list(fitted_families()) == [
        "normal", "uniform", "beta", "kumaraswamy", "mixture", "unbounded normal"
    ]  # fmt: skip
    assert drawn_by_mean_and_sd() == ("normal", "uniform", "beta", "kumaraswamy")


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_is_distributed_as_what_is_fitted(name):
    """Largest distance between the distribution functions of 20,000 draws and of the best fit."""
    one, rng = family(name), np.random.default_rng(4)
    drawn = WeightLaw(name, 0.4, 0.2, PARTS if one.has_parts else ()).draw(20_000, rng)
    assert np.all((drawn >= 0.0) & (drawn <= 1.0))
    outer = {
        "beta": [0.4 * 5.0, 0.6 * 5.0],
        "kumaraswamy": [1.7512, 3.2696],
        "mixture": [0.4, 0.25, 0.06, 0.7, 0.1],
    }.get(name, [0.4, 0.2])
    inner = one.inner(np.array(outer[: len(one.parameters)]))
    np.testing.assert_allclose(one.outer(inner), outer[: len(one.parameters)])
    at = np.linspace(0.01, 0.99, 99)
    below = np.searchsorted(np.sort(drawn), at, side="right") / len(drawn)
    assert np.abs(below - one.cdf(at, inner)).max() < 0.015


def test_a_kumaraswamy_has_the_distribution_function_of_its_definition():
    one, at = family("kumaraswamy"), np.linspace(0.0, 1.0, 41)
    for a, b in ((0.5, 0.5), (1.0, 1.0), (2.0, 4.0), (7.0, 30.0)):
        np.testing.assert_allclose(
            one.cdf(at, one.inner(np.array([a, b]))), 1.0 - (1.0 - at**a) ** b, atol=1e-14
        )


@pytest.mark.parametrize(
    ("mean", "sd"), [(0.05, 0.2), (0.95, 0.2), (0.5, 0.45), (0.3, 0.01), (0.5, 0.001)]
)
def test_a_kumaraswamy_is_drawn_wide_and_narrow(mean, sd):
    drawn = WeightLaw("kumaraswamy", mean, sd).draw(50_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(mean, abs=0.02 * sd)
    assert drawn.std() == pytest.approx(sd, rel=0.03)


@pytest.mark.parametrize(
    ("mean", "sd", "words"),
    [
        (0.5, 0.5, "must lie between 0.000647 and 0.483"),
        (0.5, 1e-5, "must lie between"),
        (0.05, 0.4, "can be drawn with mean 0.05 and standard deviation 0.4"),
        (0.0, 0.1, "above 0 and below 1"),
        (1.0, 0.1, "above 0 and below 1"),
    ],
)
def test_a_kumaraswamy_that_does_not_exist_is_a_sentence(mean, sd, words):
    with pytest.raises(InvalidInput, match=words):
        WeightLaw("kumaraswamy", mean, sd).draw(3, np.random.default_rng(0))


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(InvalidInput, match="is fitted, never drawn"):
        family("unbounded_normal").drawn(Shape(), 3, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="mean weight is 2"):
        WeightLaw("mixture", parts=((1.0, 2.0, 0.1),)).draw(3, np.random.default_rng(0))


@pytest.mark.parametrize("name", list(fitted_families()))
def test_bins_of_many_are_the_bins_of_each_to_the_last_digit(name):
    family = fitted_families()[name]
    rng = np.random.default_rng(1)
    low, high = (np.array([r[i] for r in family.ranges]) for i in (0, 1))
    inner = rng.uniform(np.maximum(low, -2.0), np.minimum(high, 2.0), (7, len(low)))
    edges = np.linspace(0.0, 1.0, 12)
    if not len(low):
        return
    each = np.array([family.bins(edges, one) for one in inner])
    np.testing.assert_array_equal(family.bins_of_many(edges, inner), each)
