"""Checks and verdict: each fires on a file made for it, and says that file's own numbers."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.bundled import market
from imop_engine.identified_subspace import IdentifiedSubspace
from imop_engine.inference.anchors import ordered_anchors
from imop_engine.inference.broken_limits import broken_limits
from imop_engine.inference.identify import sandwich_covariance
from imop_engine.inference.information import information
from imop_engine.inference.joint_covariance import JointFit
from imop_engine.inference.specification import _piled, _serial, specification
from imop_engine.limits import Limits
from imop_engine.sentences.numbers import percent
from imop_engine.sentences.returns import dead_assets
from imop_engine.study.checks import (
    CAUTION,
    NOTE,
    PILED,
    POOR,
    Check,
    _fit,
    _given,
    _refitted,
    verdict_of,
)
from imop_engine.study.estimate import investor_clusters
from imop_engine.tables.export import write_table

EIGHT = market("paper8")
R, Q, NAMES = EIGHT.expected_returns, EIGHT.covariance, list(EIGHT.names)
FREE = imop.portfolio_problem(Q, names=NAMES, bounds=(-1.0, 1.0))
FRONTIER = imop.efficient_frontier(FREE, R)
KNOWN = ("identified", "anchored", "relative")


def holdings(count=120, seed=0, noise=0.002):
    """Efficient portfolios with small errors in what is held."""
    rng = np.random.default_rng(seed)
    exact = FRONTIER.at(rng.uniform(0.05, 0.95, count))
    held = np.maximum(exact + np.where(exact > 0, rng.normal(0.0, noise, exact.shape), 0.0), 0.0)
    return held / held.sum(axis=1, keepdims=True)


def rescaled(held):
    return held / held.sum(axis=1, keepdims=True)


def table(held):
    return pd.DataFrame(held, columns=NAMES)


def run(held, **options):
    chosen = imop.StudySettings(**options.pop("settings", {}))
    return imop.run_study(R, Q, table(held), chosen, **options)


@pytest.fixture(scope="module")
def clean():
    return run(holdings())


@pytest.fixture(scope="module")
def strange():
    """A tenth holds the same of everything; moments from 60 months; an anchor with its error."""
    held = holdings()
    held[::10] = 1 / 8
    anchors = {NAMES[0]: R[0], NAMES[6]: (R[6], 0.1)}
    return run(held, months=60, settings={"anchors": anchors})


def found(study, name):
    return next(check for check in study.checks if check.name == name)


# -- verdict ---------------------------------------------------------------------------------------
def test_the_verdict_is_the_worst_of_the_checks():
    def check(severity):
        return Check("x", severity, "It is so.", "Do this.")

    assert verdict_of(()) == "good"
    assert verdict_of((check(NOTE),)) == "good"
    assert verdict_of((check(NOTE), check(CAUTION))) == "caution"
    assert verdict_of((check(CAUTION), check(POOR), check(NOTE))) == "poor"


def test_clean_portfolios_are_good(clean):
    assert clean.verdict == "good", clean.checks
    assert all(check.severity == NOTE for check in clean.checks)
    assert clean.figures["set_aside"] == 0
    assert clean.figures["verdict"] == "good"


def test_strangers_short_histories_and_loose_anchors_are_said_with_their_numbers(strange):
    assert strange.verdict == "caution"
    outliers = found(strange, "outliers")
    assert "12 of 120 portfolios" in outliers.sentence
    assert strange.figures["set_aside"] == 12
    assert list(np.flatnonzero(strange.frame_investors["status"] == "outlier")) == [
        *range(0, 120, 10)
    ]
    assert "8 assets is known as well as from 60 months" in found(strange, "history").sentence
    share = 0.1 / (R[0] - R[6])
    assert f"{100 * share:.2f}%" in found(strange, "anchors").sentence
    order = [(POOR, CAUTION, NOTE).index(check.severity) for check in strange.checks]
    assert order == sorted(order)
    with_everyone = strange.frame_returns["with_everyone"]
    assert (with_everyone - strange.frame_returns["estimate"]).abs().max() > 0.001


@pytest.mark.parametrize(("alone", "said"), [(50, False), (72, True)])
def test_portfolios_of_a_single_asset_are_counted_and_said_where_they_are_most(alone, said):
    held = holdings()
    held[:alone] = np.eye(8)[int(np.argmax(R))]
    study = run(held)
    assert ("single" in {check.name for check in study.checks}) == said
    assert study.verdict == ("caution" if said else "good")
    if said:
        sentence = found(study, "single").sentence
        assert "72 of 120 portfolios hold a single asset" in sentence
        assert "rest on the other 48" in sentence


def test_run_json_has_the_verdict_and_every_check(strange, tmp_path):
    folder = imop.save_study(strange, tmp_path)
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert document["verdict"] == document["figures"]["verdict"] == strange.verdict
    assert document["checks"] == [check.to_dict() for check in strange.checks]
    for check in document["checks"]:
        assert check["sentence"].endswith(".")
        assert check["remedy"].endswith(".")


# -- the shape of the holdings ---------------------------------------------------------------------
def shape_checks(held, clusters=None, noise_sd=0.002):
    """What the checks of shape say of portfolios beside the true frontier."""
    from imop_engine.study.checks import _shape

    own = np.arange(len(held)) if clusters is None else clusters
    seen = specification(FRONTIER, held, FRONTIER.project(held), noise_sd, own)
    said = {}

    def add(name, severity, what):
        said[name] = (severity, *what)

    _shape(
        SimpleNamespace(problem=FREE, estimate=None, noise_sd=noise_sd, own_tilts=None), seen, add
    )
    return said, seen


def largest(held, count):
    least = np.sort(held, axis=1)[:, [-count]]
    return rescaled(np.where(held >= least, held, 0.0))


def test_no_shape_is_found_in_clean_holdings():
    said, seen = shape_checks(holdings(400))
    assert said == {}
    assert abs(seen.serial) < 0.15


@pytest.mark.parametrize(
    ("name", "made", "words"),
    [
        ("rounding", lambda held: np.round(held * 20) / 20, "steps of 5.00%"),
        ("dropped", lambda held: rescaled(np.where(held < 0.02, 0.0, held)), "no holding below 2"),
        ("largest", lambda held: largest(held, 2), "Nobody holds more than 2 assets"),
        ("caps", lambda held: rescaled(np.minimum(held, 0.25)), "Holdings pile up at"),
    ],
)
def test_each_shape_is_recognised(name, made, words):
    said, _ = shape_checks(made(holdings(400)))
    assert name in said
    severity, sentence, remedy = said[name]
    assert severity == CAUTION
    assert words in sentence
    assert remedy.endswith(".")


def test_a_common_cap_is_said_with_its_value():
    problem = imop.portfolio_problem(Q, names=NAMES, upper=0.3)
    rng = np.random.default_rng(1)
    held = imop.efficient_frontier(problem, R).at(rng.uniform(0.2, 0.95, 300))
    said, seen = shape_checks(held)
    assert seen.piled_at == pytest.approx(0.3, abs=1e-9)
    assert f"{seen.piled:.1f} an investor" in said["caps"][1]
    assert "30.00%" in said["caps"][1]


def test_neighbours_who_depart_alike_are_noticed():
    lams = np.sort(np.random.default_rng(2).uniform(0.3, 0.7, 300))
    held = FRONTIER.at(lams)
    tilt = 0.01 * np.where(held > 0.03, np.random.default_rng(3).normal(size=8), 0.0)
    said, seen = shape_checks(rescaled(np.maximum(held + tilt, 0.0)))
    assert seen.serial > 0.5
    assert f"correlation {seen.serial:.2f}" in said["specification"][1]


def test_a_tilt_that_lasts_is_told_from_error():
    rng = np.random.default_rng(4)
    exact = np.repeat(FRONTIER.at(rng.uniform(0.2, 0.8, 60)), 5, axis=0)
    own = np.repeat(np.arange(60), 5)
    inside = exact > 0.03
    lasting = np.where(inside, np.repeat(rng.normal(0.0, 0.01, (60, 8)), 5, axis=0), 0.0)
    passing = np.where(inside, rng.normal(0.0, 0.01, exact.shape), 0.0)
    said, seen = shape_checks(rescaled(np.maximum(exact + lasting, 0.0)), own)
    assert seen.own > 0.9
    assert f"{100 * seen.own:.2f}%" in said["tilt"][1]
    said, seen = shape_checks(rescaled(np.maximum(exact + passing, 0.0)), own)
    assert seen.own < 0.3
    assert "tilt" not in said


# -- investors, box, errors ------------------------------------------------------------------------
def test_few_investors_and_repeated_ones_are_counted():
    held = holdings(12)
    study = run(np.vstack([held, held]))
    assert "Only 12 investors take part" in found(study, "investors").sentence
    assert found(study, "investors").severity == POOR
    assert "24 investors hold 12 portfolios between them" in found(study, "duplicates").sentence
    assert study.verdict == "poor"


def test_noise_little_explained_and_the_baseline_are_said():
    def said(**values):
        out = {}
        shares = {"errors in holdings": 0.1, "beliefs differ": 0.2, values["way"]: 0.2}
        shares |= {"implied returns": 0.3}
        found = SimpleNamespace(way=values["way"], explained=shares, tiny=values.get("tiny", 0.015))
        away = np.array([0.0, 0.08, 0.5])  # of the last, who takes no part, nothing is said
        study = SimpleNamespace(
            own_tilts=None, problem=FREE,
            fit=SimpleNamespace(investors=pd.DataFrame({"distance": away})),
            estimate=SimpleNamespace(
                found=SimpleNamespace(**vars(found), solution=SimpleNamespace(beliefs=None)),
                kept=np.array([True, True, False]),
                anchor_covariance=values.get("anchors"),
            ),
            noise_sd=values.get("noise", 0.01),
            dispersion=0.0312, explained_elsewhere=values["explained"],
            specification=SimpleNamespace(only_rounded=values.get("rounded", False)),
        )  # fmt: skip
        _fit(study, lambda name, severity, what: out.update({name: (severity, *what)}))
        return out

    loud = said(way="errors in holdings", explained=0.9, noise=0.031)
    assert set(loud) == {"noise"}
    assert "as an error of 3.10% in each holding" in loud["noise"][1]
    away = 100.0 * np.sqrt(0.08**2 / 2 / 8)
    assert f"A holding is {away:.2f}% of the portfolio away" in loud["noise"][1]
    assert "read these returns as an order" in loud["noise"][2]
    held = {"way": "errors in holdings", "explained": 0.9, "tiny": 0.0}
    assert "nobody holds traces" in said(**held, noise=0.006)["noise"][1]
    assert not said(**held, noise=0.004)
    assert not said(**held, noise=0.006, rounded=True)
    assert not said(**(held | {"tiny": 0.015}), noise=0.006)
    assert said(way="errors in holdings", explained=0.4)["explained"][0] == CAUTION
    assert said(way="errors in holdings", explained=0.2)["explained"][0] == POOR
    assert "3.12% a year" in said(way="beliefs differ", explained=0.9)["beliefs"][1]
    below = said(way="implied returns", explained=0.3)
    assert below["baseline"][0] == POOR
    assert "20.0" in below["baseline"][1]
    assert "30.0" in below["baseline"][1]


def test_anchors_the_wrong_way_round_are_poor():
    problem = imop.with_anchors(FREE, {NAMES[0]: R[6], NAMES[6]: R[0]})
    beliefs = SimpleNamespace(beliefs=R / 0.02)
    study = SimpleNamespace(
        problem=problem,
        data=SimpleNamespace(market=SimpleNamespace(periods=None)),
        estimate=SimpleNamespace(
            found=SimpleNamespace(solution=SimpleNamespace(beliefs=beliefs)),
            anchor_covariance=None,
        ),
    )
    out = []
    _given(study, lambda name, severity, what: out.append((name, severity)))
    assert out == [("anchors", POOR)]


def test_an_estimate_at_the_edge_of_the_box_is_named():
    study = run(
        holdings(), settings={"bounds": (-0.1, 0.17), "anchors": {NAMES[1]: R[1], NAMES[6]: R[6]}}
    )
    said = found(study, "box").sentence
    assert any(name in said for name in (NAMES[0], NAMES[5]))


# -- an estimate only where there is one -----------------------------------------------------------
def test_nothing_is_written_where_a_return_is_not_known(tmp_path):
    """Assets that nobody holds: no table and no file carries a number for them."""
    held = holdings()
    bold = FRONTIER.at(np.random.default_rng(1).uniform(0.8, 0.95, 120))
    bold = rescaled(np.maximum(bold + np.where(bold > 0, held * 0.01, 0.0), 0.0))
    anchors = {NAMES[0]: R[0], NAMES[4]: R[4]}
    study = run(bold, settings={"anchors": anchors, "bounds": (-0.5, 0.5)})
    known = study.frame_returns["status"].isin(KNOWN).to_numpy()
    assert known.any()
    assert not known.all()
    np.testing.assert_array_equal(study.frame_returns["estimate"].notna(), known)
    assert study.frame_returns.loc[~known, "with_everyone"].isna().all()
    folder = imop.save_study(study, tmp_path / "run")
    written = pd.read_csv(folder / "returns.csv")
    np.testing.assert_array_equal(written["estimate"].notna(), known)
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert [one is not None for one in document["estimate"]] == known.tolist()
    path = write_table(study.frame_returns, tmp_path / "returns.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert [row["estimate"] is not None for row in rows] == known.tolist()
    opened = imop.load_study(folder)
    np.testing.assert_array_equal(opened.theta, study.theta)


# -- anchors with their error ----------------------------------------------------------------------
def test_the_mean_of_a_history_given_the_order_is_that_of_the_cut_normal():
    rng = np.random.default_rng(5)
    rows = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    root = rng.normal(size=(3, 3)) * 0.02
    error = root @ root.T
    for means in ([0.05, 0.04, 0.03], [0.05, 0.05, 0.06]):
        values, covariance = ordered_anchors(rows, np.array(means), error)
        drawn = rng.multivariate_normal(means, error, 400_000) @ rows.T
        drawn = drawn[drawn[:, 1] > drawn[:, 0]]
        size = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(values, drawn.mean(axis=0), atol=0.02 * size.max())
        np.testing.assert_allclose(covariance, np.cov(drawn.T), atol=0.02 * size.max() ** 2)


def test_an_order_beyond_doubt_changes_nothing():
    values, covariance = ordered_anchors(np.eye(2), np.array([0.02, 0.09]), 1e-4 * np.eye(2))
    np.testing.assert_array_equal(values, [0.02, 0.09])
    np.testing.assert_array_equal(covariance, 1e-4 * np.eye(2))


def test_anchors_with_error_widen_intervals_by_what_the_estimate_moves():
    """D V D', with D the change of the estimate when the anchors change."""
    held, at, errors = holdings(), (1, 5), np.array([0.01, 0.02])

    def anchored(values, errors=(0.0, 0.0)):
        anchors = {NAMES[i]: (v, e) for i, v, e in zip(at, values, errors, strict=True)}
        return run(held, settings={"anchors": anchors})

    values = R[list(at)]
    exact, unsure = anchored(values), anchored(values, errors)
    np.testing.assert_array_equal(unsure.theta, exact.theta)
    D = np.column_stack(
        [(anchored(values + move).theta - exact.theta) / 0.002 for move in 0.002 * np.eye(2)]
    )
    wider = unsure.identification.sources.variances["anchors"]
    np.testing.assert_allclose(wider, (D**2) @ errors**2, rtol=2e-3)
    free = np.isfinite(exact.identification.standard_errors)
    gained = unsure.identification.standard_errors**2 - exact.identification.standard_errors**2
    np.testing.assert_allclose(gained[free], wider[free], rtol=1e-6)
    width = unsure.identification.high[5] - unsure.identification.low[5]
    assert width == pytest.approx(2 * 1.959964 * 0.02, rel=1e-4)


# -- investors who come again ----------------------------------------------------------------------
def test_the_same_portfolios_five_times_are_counted_once():
    held = holdings(150)
    problem = imop.anchor_by_history(FREE, R, held)
    once = imop.refine(problem, held, R)
    five, own = np.vstack([held] * 5), np.tile(np.arange(150), 5)
    again = imop.refine(problem, five, R)
    np.testing.assert_allclose(again.theta, once.theta, atol=1e-7)
    sizes = []
    for Y, clusters in ((held, np.arange(150)), (five, own), (five, None)):
        info = information(imop.efficient_frontier(problem, once.theta), Y)
        subspace = IdentifiedSubspace.of(problem.theta, info.hessian)
        found = sandwich_covariance(info, subspace, subspace.inverse, 0.0, clusters)
        sizes.append(np.sqrt(np.diag(found)))
    np.testing.assert_allclose(sizes[1], sizes[0], rtol=0.02)
    np.testing.assert_allclose(sizes[2] * np.sqrt(5), sizes[0], rtol=0.02)


def test_who_is_the_same_investor():
    """By name; and a portfolio that comes again to the last digit is one decision."""
    held = holdings(6)
    held[4], held[5] = held[1], np.eye(8)[0]
    people = SimpleNamespace(ids=("a", "b", "c", "a", "e", "f"))
    data = SimpleNamespace(investors=people, good=np.ones(6, bool))
    clusters = investor_clusters(data, held)
    assert clusters[3] == clusters[0]
    assert clusters[4] == clusters[1]
    assert len(set(clusters.tolist())) == 4
    order = np.random.default_rng(0).permutation(6)
    people = SimpleNamespace(ids=tuple(np.array(people.ids)[order]))
    shuffled = SimpleNamespace(investors=people, good=np.ones(6, bool))
    assert investor_clusters(shuffled, held[order]).tolist() == clusters[order].tolist()
    rounded = np.round(held, 2)
    rounded[:, 0] += 1.0 - rounded.sum(axis=1)
    assert len(set(investor_clusters(data, rounded).tolist())) == 5  # alike by rounding


def test_the_share_explained_does_not_depend_on_the_order_of_rows():
    """Halves are drawn by what investors hold; names that count rows change with the order."""
    held = holdings(80, seed=4, noise=0.03)
    order = np.random.default_rng(2).permutation(80)
    settings = {"start": "zero"}
    first, second = (run(one, months=60, settings=settings) for one in (held, held[order]))
    assert first.explained_elsewhere == pytest.approx(second.explained_elsewhere, abs=1e-6)
    assert first.estimate.clusters[order].tolist() == second.estimate.clusters.tolist()


# -- with the history ------------------------------------------------------------------------------
def test_a_study_with_its_history_opens_to_the_same_digits(tmp_path):
    rng = np.random.default_rng(6)
    history = pd.DataFrame(rng.multivariate_normal(R / 12, Q / 12, 120), columns=NAMES)
    returns, covariance = history.mean() * 12, history.cov() * 12
    anchors = {NAMES[0]: R[0], NAMES[6]: R[6]}
    study = imop.run_study(
        returns, covariance, table(holdings(100)), imop.StudySettings(anchors=anchors),
        history=history,
    )  # fmt: skip
    assert study.figures["periods"] == pytest.approx(120.0)
    assert study.identification.sources.history is not None
    opened = imop.load_study(imop.save_study(study, tmp_path))
    np.testing.assert_array_equal(opened.theta, study.theta)
    np.testing.assert_array_equal(opened.problem.covariance, study.problem.covariance)
    pd.testing.assert_frame_equal(opened.frame_returns, study.frame_returns, check_exact=True)
    pd.testing.assert_frame_equal(opened.data.market.history, history, check_exact=True)
    assert (opened.figures, opened.checks) == (study.figures, study.checks)
    assert re.fullmatch("good|caution|poor", opened.verdict)


def test_errors_only_in_what_is_held_are_no_errors_of_one_size():
    check = found(run(holdings(300, noise=0.014)), "noise")
    assert check.severity == CAUTION
    assert "nobody holds traces of what the frontier leaves out" in check.sentence


def test_investors_who_err_more_than_others_are_seen():
    rng = np.random.default_rng(4)
    sizes = np.where(rng.uniform(size=500) < 0.15, 0.02, 0.004)[:, None]
    exact = FRONTIER.at(rng.uniform(0.05, 0.95, 500))
    held = rescaled(np.maximum(exact + sizes * rng.normal(size=exact.shape), 0.0))
    study = run(held, settings={"trim": False})
    assert study.specification.uneven > 1.3
    assert study.specification.uneven_z > 5.0
    assert "Some investors err more than others" in found(study, "noise").sentence


@pytest.mark.parametrize("far", [0.0, 0.01])
def test_a_few_far_away_do_not_make_the_others_uneven(far):
    """Whoever holds an asset that the estimate does not is far away for that reason alone."""
    rng = np.random.default_rng(5)
    exact = FRONTIER.at(rng.uniform(0.05, 0.95, 600))
    exact[rng.uniform(size=600) < far, 1] += 0.2
    held = rescaled(np.maximum(exact + rng.normal(0.0, 0.005, exact.shape), 0.0))
    seen = specification(FRONTIER, held, FRONTIER.project(held), 0.005, np.arange(600))
    assert seen.uneven == pytest.approx(1.0, abs=0.15)
    assert abs(seen.uneven_z) < 3.0


def test_many_alike_are_no_cap_where_others_hold_about_as_much():
    """A frontier that explains little puts few where many are; a cap has a step beside it."""
    rng = np.random.default_rng(7)
    few = np.full((500, 8), 1 / 8)
    around = rescaled(np.maximum(rng.normal(0.1, 0.05, few.shape), 0.0))
    assert _piled(around, few)[0] < 0.2
    capped = np.minimum(around, 0.12)
    assert _piled(capped, few)[0] > 1.0
    assert _piled(capped, few)[1] == pytest.approx(0.12)


def test_errors_at_a_cap_that_was_given_are_no_other_cap():
    """Money that strays takes something from each capped holding: they pile up beside the cap."""
    capped = imop.efficient_frontier(imop.portfolio_problem(Q, upper=0.2), R)
    rng = np.random.default_rng(3)
    exact = capped.at(rng.uniform(0.1, 0.9, 150))
    held = rescaled(np.maximum(exact + rng.normal(0.0, 0.005, exact.shape), 0.0))
    found = capped.project(held)
    assert _piled(held, found.points)[0] > PILED  # but for the errors that would be a cap
    assert specification(capped, held, found, 0.005, np.arange(150)).piled < PILED
    free = FRONTIER.project(held)
    assert specification(FRONTIER, held, free, 0.005, np.arange(150)).piled > PILED


def test_largest_holdings_a_tenth_apart_are_not_equal():
    """However far portfolios are from the frontier: equal is within a hundredth."""
    held = holdings(300, noise=0.07)
    seen = specification(FRONTIER, held, FRONTIER.project(held), 0.07, np.arange(300))
    assert seen.tied < 0.05
    equal = held.copy()
    order = np.argsort(-equal, axis=1)
    rows = np.arange(300)
    both = (equal[rows, order[:, 0]] + equal[rows, order[:, 1]]) / 2
    equal[rows, order[:, 0]] = equal[rows, order[:, 1]] = both
    seen = specification(FRONTIER, equal, FRONTIER.project(equal), 0.07, np.arange(300))
    assert seen.tied > 0.5


def test_a_covariance_that_the_history_rules_out_is_said():
    """Three times the volatility of an asset: 20 years allow that, 240 months do not."""
    before = imop.portfolio_problem(Q, names=NAMES)
    change = np.zeros((8, 8))
    change[7, 7] = 8.0  # of the last column of the factor, which no other asset has a part in
    L = np.linalg.cholesky(Q)
    after = imop.portfolio_problem(L @ (np.eye(8) + change) @ L.T, names=NAMES)
    joint = JointFit(after, R, Q, Q, 0.005, change, True)
    said = []
    for periods in (20.0, 240.0):
        fitted = SimpleNamespace(
            joint=joint,
            periods=periods,
            found=SimpleNamespace(problem=before, solution=SimpleNamespace(beliefs=None)),
        )
        study = SimpleNamespace(estimate=fitted, problem=before)
        fitted.anchor_covariance = None
        _refitted(study, lambda name, severity, what: said.append((name, severity, what)))
    ((name, severity, what),) = said
    assert (name, severity) == ("refit", CAUTION)
    assert f"the volatility of {NAMES[7]}" in what.sentence
    assert "history of 240 periods all but rules out" in what.sentence
    for named in ("--risks history", 'risks="history"', "As the history has them"):
        assert named in what.remedy
    assert "read these returns as an order" in what.remedy


def test_no_order_is_recommended_where_the_anchors_may_be_the_wrong_way_round():
    """Half an error of their difference leaves the order open; a third of it does not."""
    anchored = imop.portfolio_problem(Q, names=NAMES, anchors={0: 0.08, 6: 0.04})
    remedies = {}
    for share in (0.33, 0.6):
        errors = np.diag([(share * 0.04) ** 2, 0.0])
        study = SimpleNamespace(
            problem=anchored, own_tilts=None, noise_sd=0.05, explained_elsewhere=0.9,
            fit=SimpleNamespace(investors=pd.DataFrame({"distance": [0.1]})), dispersion=None,
            data=SimpleNamespace(market=SimpleNamespace(periods=None)),
            estimate=SimpleNamespace(
                kept=np.array([True]), anchor_covariance=errors,
                found=SimpleNamespace(
                    way="errors in holdings", explained={}, tiny=0.0,
                    solution=SimpleNamespace(beliefs=None),
                ),
            ),
        )  # fmt: skip
        said = {}
        for look in (_fit, _given):
            look(study, lambda name, severity, what, said=said: said.update({name: what}))
        remedies[share] = said
    sure, open_ = remedies[0.33], remedies[0.6]
    assert "differences in sign and ranks do not" in sure["anchors"].sentence
    assert "read these returns as an order" in sure["noise"].remedy
    assert "only if they are the right way round" in open_["anchors"].sentence
    assert "as an order" not in open_["noise"].remedy
    assert "give anchors of which it is sure which returns more" in open_["noise"].remedy


def test_errors_cut_at_zero_are_nothing_systematic():
    """Money that strayed into many assets displaces neighbours' holdings alike."""
    twenty = market("us20")
    problem = imop.portfolio_problem(twenty.covariance, names=twenty.names)
    frontier = imop.efficient_frontier(problem, twenty.expected_returns)
    rng = np.random.default_rng(1)
    exact = frontier.at(rng.uniform(0.3, 0.9, 800))
    held = rescaled(np.maximum(exact + rng.normal(0.0, 0.005, exact.shape), 0.0))
    projection = frontier.project(held)
    seen = specification(frontier, held, projection, 0.005, np.arange(len(held)))
    assert _serial(frontier, held, projection, 0.005)[0] > 0.15
    assert abs(seen.serial) < 0.1


# -- limits that were given ------------------------------------------------------------------------
PAIR = ({NAMES[0]: 1.0, NAMES[1]: 1.0}, "<=", 0.3)


def limited(noise=0.0, count=200, upper=1.0):
    """Efficient portfolios under the limit on two securities, rounded to 0.001."""
    problem = imop.portfolio_problem(Q, names=NAMES, limits=[PAIR], upper=upper)
    rng = np.random.default_rng(4)
    exact = imop.efficient_frontier(problem, R).at(rng.uniform(0.05, 0.95, count))
    errors = np.where(exact > 0, rng.normal(0.0, noise, exact.shape), 0.0)
    return rescaled(rescaled(np.maximum(exact + errors, 0.0)).round(3))


def test_limits_that_are_kept_up_to_rounding_are_not_mentioned():
    settings = {"limits": [PAIR], "upper": 0.6}
    study = run(limited(upper=0.6), settings=settings)
    assert "limits" not in {check.name for check in study.checks}
    assert study.verdict == "good"


def test_limits_that_most_break_are_said_with_who_breaks_them_and_by_how_much():
    held = limited()
    tight = (PAIR[0], "<=", 0.1)
    study = run(held, settings={"limits": [tight], "upper": {NAMES[5]: 0.05}})
    check = found(study, "limits")
    assert check.severity == POOR
    beyond = held[:, :2].sum(axis=1) - 0.1
    broken = beyond > 0.001 * (held[:, :2] > 0).sum(axis=1) + 1e-9
    many = int(broken.sum())
    typical, most = np.median(beyond[broken]), beyond.max()
    assert many > 100
    assert (
        f"{NAMES[0]} + {NAMES[1]} at most 10% ({many}, by {percent(typical)} in the middle and "
        f"{percent(most)} at most)"
    ) in check.sentence
    assert f"{NAMES[5]} at most 5% (" in check.sentence
    either = int((broken | (held[:, 5] > 0.051 + 1e-9)).sum())
    assert check.sentence.startswith(f"{either} of 200 portfolios break the limits")
    assert "Correct the limit or leave it out" in check.remedy
    written = json.loads(json.dumps([one.to_dict() for one in study.checks]))
    assert check.to_dict() in written


def test_limits_that_errors_take_portfolios_over_are_a_note():
    study = run(limited(noise=0.004), settings={"limits": [PAIR]})
    check = found(study, "limits")
    assert check.severity == NOTE
    assert "Errors of" in check.sentence
    assert study.verdict == "good"


def test_few_who_break_a_limit_are_a_caution():
    held, free = limited(count=200), holdings(count=200)
    bold = np.argsort(-free[:, :2].sum(axis=1))[:10]
    assert free[bold, :2].sum(axis=1).min() > 0.33
    held[:10] = free[bold]
    check = found(run(held, settings={"limits": [PAIR]}), "limits")
    assert check.severity == CAUTION
    assert check.sentence.startswith("10 of 200")


def test_a_holding_that_a_limit_fixes_is_said_with_the_limit():
    exactly = ({NAMES[1]: 1.0}, "=", 0.02)
    study = run(limited(), settings={"limits": [exactly]})
    assert f"{NAMES[1]} exactly 2%" in found(study, "limits").sentence
    assert "loosen that" in dead_assets([NAMES[1]])


def test_a_minimum_that_nobody_keeps_is_said_with_those_of_its_size():
    limits = Limits(0.9, floors=((NAMES[0], 0.05), (NAMES[1], 0.05)))
    one, two = broken_limits(limits, NAMES, np.array([[0.0, 0.02, 0.98, 0, 0, 0, 0, 0.0]]))
    assert {one.sentence, two.sentence} == {
        f"each of {NAMES[0]}, {NAMES[1]} at least 5%",
        "every holding at most 90%",
    }
    least = one if "least" in one.sentence else two
    assert least.excess.tolist() == pytest.approx([0.05])
