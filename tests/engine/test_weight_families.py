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
    assert len({one.name for one in every}) == len(fitted_families()) == len(every)
    assert len({one.label for one in every}) == len(every)
    assert list(fitted_families()) == ["truncated normal", "uniform", "beta", "mixture", "normal"]
    assert drawn_by_mean_and_sd() == ("normal", "uniform", "beta")


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_is_distributed_as_what_is_fitted(name):
    """Largest distance between the distribution functions of 20,000 draws and of the best fit."""
    one, rng = family(name), np.random.default_rng(4)
    drawn = WeightLaw(name, 0.4, 0.2, PARTS if one.has_parts else ()).draw(20_000, rng)
    assert np.all((drawn >= 0.0) & (drawn <= 1.0))
    outer = {"beta": [0.4 * 5.0, 0.6 * 5.0], "mixture": [0.4, 0.25, 0.06, 0.7, 0.1]}.get(
        name, [0.4, 0.2]
    )
    inner = one.inner(np.array(outer[: len(one.parameters)]))
    np.testing.assert_allclose(one.outer(inner), outer[: len(one.parameters)])
    at = np.linspace(0.01, 0.99, 99)
    below = np.searchsorted(np.sort(drawn), at, side="right") / len(drawn)
    assert np.abs(below - one.cdf(at, inner)).max() < 0.015


def test_what_cannot_be_drawn_says_so():
    with pytest.raises(InvalidInput, match="is fitted, never drawn"):
        family("unbounded_normal").drawn(Shape(), 3, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="mean weight is 2"):
        WeightLaw("mixture", parts=((1.0, 2.0, 0.1),)).draw(3, np.random.default_rng(0))
