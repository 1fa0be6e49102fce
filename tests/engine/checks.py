"""What every implicit update must satisfy, whoever asked for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from draws import Instance, Quadratic

import imop_engine as imop
import reference

RELATIVE, ABSOLUTE = 1e-6, 1e-9  # the exactness that is promised
SAME_DECISION = 1e-8
IN_THETA = 1e-9


def native(drawn: Instance | Quadratic, problem: Any = None) -> Any:
    """The engine's update of a drawn instance."""
    weight = drawn.w if isinstance(drawn, Instance) else drawn.weight
    problem = drawn.problem() if problem is None else problem
    return imop.implicit_update(problem, drawn.theta, drawn.y, weight, drawn.eta)


def assert_certificate(update: Any) -> None:
    """The bound proves the objective, within the exactness that is promised."""
    assert update.certified is True
    assert update.bound <= update.objective + 1e-12
    assert update.objective - update.bound <= RELATIVE * update.objective + ABSOLUTE
    assert update.nodes >= 0


def assert_consistent(drawn: Instance | Quadratic, update: Any) -> None:
    """θ lies in Θ, x is its decision, and the objective is that of the pair."""
    weighted = drawn.weighted()
    assert update.theta.shape == weighted.low.shape
    assert np.all(update.theta >= weighted.low - IN_THETA)
    assert np.all(update.theta <= weighted.high + IN_THETA)
    assert np.allclose(weighted.C @ update.theta, weighted.e, atol=IN_THETA, rtol=0)
    decided = reference.forward(weighted, update.theta)
    assert np.allclose(update.x, decided, atol=SAME_DECISION, rtol=0)
    pair = reference.objective(drawn.theta, drawn.y, drawn.eta, update.theta, update.x)
    assert update.objective == pytest.approx(pair, rel=1e-9, abs=1e-12)


def assert_least(update: Any, best: float) -> None:
    """The objective is the twin's optimum, and never above it by more than is promised."""
    allowed = RELATIVE * best + ABSOLUTE
    assert update.objective <= best + allowed, f"{update.objective!r} is above the optimum {best!r}"
    assert update.objective >= best - allowed, f"{update.objective!r} is below the optimum {best!r}"


def check_update(drawn: Instance | Quadratic, best: float) -> None:
    """Everything at once."""
    update = native(drawn)
    assert_certificate(update)
    assert_consistent(drawn, update)
    assert_least(update, best)
