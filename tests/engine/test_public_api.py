"""The public names, and the parameters that others rely on."""

import inspect

import numpy as np
import pytest

import imop_engine as imop
import reference

FUNCTIONS = {
    "portfolio_problem": ["covariance", "upper", "bounds", "anchors", "names"],
    "quadratic_problem": ["Q", "c", "A", "b", "learn", "bounds"],
    "solve": ["problem", "theta", "weight"],
    "implicit_update": ["problem", "theta", "decision", "weight", "rate", "backend"],
    "efficient_frontier": ["problem", "theta"],
    "OnlineLearner": ["problem", "weights", "algorithm", "rate", "theta0", "backend"],
}
DEFAULTS = {
    ("portfolio_problem", "upper"): 1.0,
    ("portfolio_problem", "bounds"): (0.0, 1.0),
    ("implicit_update", "backend"): "native",
    ("OnlineLearner", "weights"): 41,
    ("OnlineLearner", "algorithm"): "accelerated",
    ("OnlineLearner", "rate"): 5.0,
    ("OnlineLearner", "theta0"): None,
    ("OnlineLearner", "backend"): "native",
}


def test_every_public_name_exists_and_none_is_private():
    assert len(set(imop.__all__)) == len(imop.__all__)
    for name in imop.__all__:
        assert hasattr(imop, name), f"imop_engine.__all__ promises {name}"
        assert name == "__version__" or not name.startswith("_")


def test_the_contract_is_public():
    assert set(FUNCTIONS) <= set(imop.__all__)
    assert "errors" in dir(imop)


def test_nothing_public_is_undocumented():
    for name in imop.__all__:
        thing = getattr(imop, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert inspect.getdoc(thing), f"{name} has no docstring"


def test_nothing_public_was_left_out_of_all():
    """Every function or class of ours that a user can see at the top is promised."""
    seen = {
        name
        for name, thing in vars(imop).items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__.startswith("imop_engine")
        and not name.startswith("_")
    }
    assert seen <= set(imop.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_contract_parameters_in_their_order(name):
    parameters = list(inspect.signature(getattr(imop, name)).parameters)
    wanted = FUNCTIONS[name]
    assert [one for one in parameters if one in wanted] == wanted


@pytest.mark.parametrize(("name", "parameter"), DEFAULTS)
def test_contract_defaults(name, parameter):
    default = inspect.signature(getattr(imop, name)).parameters[parameter].default
    wanted = DEFAULTS[name, parameter]
    assert default == wanted
    assert type(default) is type(wanted)


def test_the_call_of_the_contract_as_it_is_written():
    Q, names = reference.SECURITIES_COVARIANCE[:2, :2], ["A", "B"]
    problem = imop.portfolio_problem(
        Q, upper=1.0, bounds=(0.0, 1.0), anchors={"A": 0.03, "B": 0.07}, names=names
    )
    theta, y = np.array([0.03, 0.07]), np.array([0.4, 0.6])
    x = imop.solve(problem, theta, 0.5)
    assert x.shape == (2,)
    update = imop.implicit_update(problem, theta, y, 0.5, 1.0, backend="native")
    for attribute in ("theta", "x", "objective", "bound", "certified", "nodes"):
        assert hasattr(update, attribute)
    frontier = imop.efficient_frontier(problem, theta)
    assert len(frontier.weights) == len(frontier.portfolios)
    projection = frontier.project(y[None])
    assert projection.weights.shape == projection.distances.shape == (1,)
    assert projection.points.shape == (1, 2)
    learner = imop.OnlineLearner(
        problem, weights=41, algorithm="accelerated", rate=5.0, theta0=None, backend="native"
    )
    learner.partial_fit(y[None])
    assert learner.theta_.shape == (2,)
    assert len(learner.losses_) == learner.rounds_ == 1
    assigned = learner.assign(y[None])
    assert assigned.weights.shape == assigned.distances.shape == (1,)
