"""Small parts of a study by themselves: draws that are pulled in, stray money, old checkpoints."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import imop_engine as imop
from imop_engine.errors import InvalidInput
from imop_engine.frontier import Projection
from imop_engine.study import estimate, opening
from imop_engine.study.outcome import Study
from imop_engine.study.state import load_state, save_state

PROBLEM = imop.portfolio_problem(
    np.diag([0.04, 0.05, 0.3]), names=["a", "b", "c"], anchors={"a": 0.02, "b": 0.1},
    bounds=(-1.0, 1.0),
)  # fmt: skip


@pytest.mark.parametrize("far", [[9.0, 8.0], [-9.0, -8.0], [9.0, -9.0]])
def test_returns_of_resampled_histories_that_are_far_off_are_pulled_in_at_both_ends(
    far, monkeypatch
):
    """Fits of drawn covariances are given here: none can be made to run away on command."""
    usual = 0.05 + 0.001 * np.arange(-11, 11)
    drawn = np.concatenate([usual, far])
    given = iter(drawn)

    def fit(*_arguments, **_named):
        return SimpleNamespace(beliefs=np.array([0.02, 0.1, next(given)]))

    monkeypatch.setattr(estimate, "fit_beliefs", fit)
    Y = imop.efficient_frontier(PROBLEM, [0.02, 0.1, 0.05]).at(np.linspace(0.2, 0.8, 30))
    found = SimpleNamespace(problem=PROBLEM, kept=np.ones(30, bool), tiny=0.0)
    covariance = estimate._history_error(found, None, Y, 120.0)
    middle = np.median(drawn)
    reach = 5.0 * 1.4826 * np.median(np.abs(drawn - middle))
    low, high = middle - reach, middle + reach
    inside = np.array([low if r < low else high if r > high else r for r in drawn])
    assert covariance[2, 2] == pytest.approx(np.var(inside, ddof=1), rel=1e-6)
    assert covariance[0, 0] == pytest.approx(0.0, abs=1e-20)


def test_stray_money_is_given_back_only_where_the_frontier_holds_nothing():
    theta = np.array([0.02, 0.1, -0.5])
    frontier = imop.efficient_frontier(PROBLEM, theta)
    rng = np.random.default_rng(1)
    Y = frontier.at(rng.uniform(0.1, 0.9, 200)) + rng.normal(0.0, 0.01, (200, 3))
    Y = np.maximum(Y, 0.0)
    Y[0] = [0.004, 0.992, 0.004]  # a and b are held by the frontier, c is not
    Y /= Y.sum(axis=1, keepdims=True)
    found = frontier.project(Y)
    found.points[0] = [0.01, 0.99, 0.0]
    back = opening._given_back(PROBLEM, Y, theta, found, False)
    assert back[0] == pytest.approx([0.004 / 0.996, 0.992 / 0.996, 0.0])
    assert opening._given_back(PROBLEM, Y, theta, found, True)[0].tolist() == [0.0, 1.0, 0.0]
    level = min(3.0 * opening._noise(PROBLEM, Y, theta, found), 0.5 / 3)
    stray = (level > Y) & (found.points <= 1e-9)
    assert np.all(back[stray] == 0.0)
    assert stray[:, 2].sum() > 100
    assert np.all(back[~stray] >= Y[~stray] - 1e-12)


def test_whoever_would_keep_less_than_half_keeps_everything():
    theta = np.array([0.02, 0.1, -0.5])
    Y = np.array([[0.1, 0.4, 0.5], [0.15, 0.15, 0.7]])
    points = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    found = Projection(np.full(2, 0.5), points, np.linalg.norm(Y - points, axis=1))
    back = opening._given_back(PROBLEM, Y, theta, found, True)
    # the level is half of an even holding, 1/6: only 0.7 stays of the second, 0.9 of the first
    assert back[0] == pytest.approx([0.0, 0.4 / 0.9, 0.5 / 0.9])
    assert back[1] == pytest.approx([0.0, 0.0, 1.0])
    thin = np.array([[0.16, 0.16, 0.16, 0.16, 0.16, 0.2]])
    six = imop.portfolio_problem(np.eye(6), anchors={0: 0.02, 1: 0.1}, bounds=(-1.0, 1.0))
    far = Projection(np.full(1, 0.5), np.eye(6)[:1], np.ones(1))
    assert opening._given_back(six, thin, np.zeros(6), far, True).tolist() == [
        pytest.approx(thin[0].tolist())
    ]


def test_holdings_at_their_cap_say_nothing_of_the_error():
    """Half of the holdings are exactly at a cap, as meant and as reported: they have no error."""
    capped = imop.portfolio_problem(
        np.diag([0.04, 0.05, 0.06, 0.07]), upper=[0.3, 0.3, 1.0, 1.0],
        anchors={2: 0.02, 3: 0.1}, bounds=(-1.0, 1.0),
    )  # fmt: skip
    rng = np.random.default_rng(2)
    points = np.column_stack([np.full((100, 2), 0.3), np.full((100, 2), 0.2)])
    errors = np.zeros((100, 4))
    errors[:, 2] = rng.normal(0.0, 0.01, 100)
    errors[:, 3] = -errors[:, 2]
    Y = points + errors
    theta = np.array([0.5, 0.5, 0.02, 0.1])
    found = Projection(np.full(100, 0.5), points, np.linalg.norm(errors, axis=1))
    sizes = np.abs(errors[:, 2])
    assert opening._noise(capped, Y, theta, found) <= 1.4826 * np.median(sizes)
    assert opening._noise(capped, Y, theta, found) > 0.5 * 1.4826 * np.median(sizes)


def older(path, version, without):
    """A checkpoint as an earlier format has it."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name not in without}
    about = json.loads(str(arrays["about"])) | {"format": version}
    arrays["about"] = np.array(json.dumps(about))
    old = path.with_name(f"format_{version}.npz")
    np.savez(old, **arrays)
    return old


def test_a_checkpoint_of_format_2_is_read_and_one_of_3_needs_its_digest(study, tmp_path):
    path = tmp_path / "state.npz"
    save_state(study.state, path)
    state = load_state(older(path, 2, ("digest",)))
    assert state.rounds == study.state.rounds
    assert state.seen == study.state.seen
    assert state.learned.theta.tolist() == study.state.learned.theta.tolist()
    with pytest.raises(InvalidInput, match="not what was saved"):
        load_state(older(path, 3, ("digest",)))
    with pytest.raises(InvalidInput, match="format 0, this version reads 3"):
        load_state(older(path, 0, ("digest",)))


def test_risk_aversion_stands_beside_every_weight(study):
    for table in (study.frame_investors, study.frame_frontier):
        w = table["weight"].to_numpy(dtype=float)
        some = np.isfinite(w) & (w > 0.0)
        expected = 2.0 * (1.0 - w[some]) / w[some]
        assert table["risk_aversion"].to_numpy(dtype=float)[some] == pytest.approx(expected)


def test_where_gaps_cannot_be_told_nobody_is_an_outlier_by_gap(study, monkeypatch):
    assert study.frame_investors["gap"].notna().any()
    monkeypatch.setattr(Study, "gaps", None)
    table = Study.frame_investors.func(study)
    assert not table["gap_outlier"].any()
    assert table["gap"].isna().all()
