"""What functions cannot use ends in one sentence of our own, wherever users import them from."""

import numpy as np
import pytest

import imop_engine as imop
from imop_engine import gate
from imop_engine.bundled import market
from imop_engine.errors import InvalidInput
from imop_engine.limit_text import parse_limits
from imop_engine.moments import estimate_moments
from imop_engine.simulate import simulate_investors
from imop_engine.tables import read_portfolios, read_returns
from imop_engine.workers import open_workers

PAPER = market("paper8")
PROBLEM = imop.portfolio_problem(PAPER.covariance, names=PAPER.names)
RETURNS = np.random.default_rng(0).normal(size=(30, 8))
PEOPLE = b"client,A,B\nx,0.1,0.9\n"
DRAWN = np.random.default_rng(1)
SCORED = imop.score_problem(PAPER.covariance, np.linspace(0, 1, 8))

REFUSED = {
    "number as text": (
        lambda: estimate_moments(RETURNS, periods_per_year="41"),
        (
            r"estimate_moments cannot use what it was given, \(a ndarray of shape \(30, 8\), "
            r"periods_per_year='41'\): .* Call it as estimate_moments\(returns, mean=…, .*\); "
            r"help\(imop_engine\.moments\.estimate_moments\) says what each of them is\."
        ),
    ),
    "array for a number": (
        lambda: read_portfolios(PEOPLE, coverage=np.zeros(9)),
        r"coverage is a ndarray of shape \(9,\); give a number from 0 up\.",
    ),
    "number for a name": (
        lambda: read_returns(b"date,A\n2020-01-31,0.1\n", name=3),
        r"name is 3; give a text or None\.",
    ),
    "text for a problem": (
        lambda: simulate_investors("x", [0.1], 3, rng=DRAWN),
        r"problem is 'x'; give a problem, as portfolio_problem makes it\.",
    ),
    "argument that is none": (
        lambda: open_workers(number=3),
        r"open_workers .* call it as open_workers\(where=…, count=…, memory=…\)\.",
    ),
    "workers that cannot be counted": (
        lambda: open_workers(count="many").__enter__(),
        r"count is 'many'; give a whole number from 1 up, or None\.",
    ),
    "price that is a text": (
        lambda: imop.risk_problem(RETURNS, "mad", cost="é"),
        r"risk_problem cannot use what it was given, .* cost='é'\): could not convert string",
    ),
    "price of nothing": (
        lambda: imop.risk_problem(RETURNS, "mad", cost=0.01),
        (
            r"cost is that of getting from one portfolio to another; give previous, the portfolio "
            r"before, or leave cost out\."
        ),
    ),
    "corners below none": (
        lambda: imop.efficient_surface(SCORED, PAPER.expected_returns, corners=-1),
        r"corners is -1; give a whole number from 3 up\.",
    ),
    "cash without a name": (
        lambda: PAPER.with_cash(float("inf"), 0.02),
        r"name is inf; give a text\.",
    ),
    "benchmark that is a number": (
        lambda: parse_limits(["A <= 30%"], ["A", "B"], None, 2.5),
        r"benchmark is 2\.5; give its holdings by asset, or None\.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_said_in_one_sentence(case):
    call, said = REFUSED[case]
    with pytest.raises(InvalidInput, match=said):
        call()


def test_steps_end_in_our_error_too():
    steps = imop.study_steps(
        PAPER.returns_by_asset, PAPER.covariance_by_asset, np.full((8, 8), 0.125), dates=-1e-9
    )
    with pytest.raises(InvalidInput, match=r"study_steps cannot use what it was given"):
        list(steps)


def test_steps_hand_on_what_they_are_sent_and_what_they_return():
    @gate.gated
    def adding():
        got = yield 1
        return got + 1

    steps = adding()
    assert next(steps) == 1
    with pytest.raises(StopIteration) as ended:
        steps.send(41)
    assert ended.value.value == 42


def test_a_reader_that_is_out_of_memory_says_so_itself():
    """Whoever limits the memory of reading turns this into a sentence about the file."""

    @gate.public("imop_engine.tables")
    def reading():
        raise MemoryError

    with pytest.raises(MemoryError):
        reading()


def test_an_argument_may_be_free_of_the_rules():
    @gate.public("imop_engine.handover", free=("study",))
    def handed(study):
        return study

    assert handed("anything") == "anything"
