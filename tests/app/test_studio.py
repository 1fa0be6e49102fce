"""The page's logic, without a browser: what it offers, what it computes, what it hands out."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import imop_app
from imop_app import services
from imop_app.services import AppError, Learning
from imop_app.settings import InvestorSettings, LearnSettings, Settings
from imop_app.state import KEY, AppState

MAIN = Path(imop_app.__file__).with_name("main.py")
SMALL = InvestorSettings(count=60)
LINES_AT_MOST = 400


@pytest.fixture
def page() -> AppTest:
    test = AppTest.from_file(str(MAIN), default_timeout=120)
    test.run()
    assert not test.exception
    return test


def state_of(page: AppTest) -> AppState:
    return page.session_state[KEY]


def small(page: AppTest) -> AppTest:
    page.number_input(key="count").set_value(60)
    page.run()
    return page


def learn(page: AppTest) -> AppTest:
    page.button(key="button_start").click()
    page.run()
    assert not page.exception
    assert not page.error
    return page


def said(page: AppTest) -> str:
    return " ".join(block.value for block in page.markdown)


def charts_on(page: AppTest) -> int:
    return len(page.get("vega_lite_chart"))


def test_the_page_opens_ready_to_learn(page):
    assert page.title[0].value == "What do your investors believe?"
    assert "Ready." in said(page)
    assert page.button(key="button_start").label == "Learn"
    assert charts_on(page) == 2


def test_every_setting_has_a_sentence_of_help(page):
    widgets = [*page.selectbox, *page.number_input, *page.slider, *page.multiselect]
    assert len(widgets) >= 10
    for widget in widgets:
        assert widget.help.endswith("."), widget.label


def test_learning_shows_figures_charts_and_the_table(page):
    learn(small(page))
    assert "Learned." in said(page)
    assert [metric.label for metric in page.metric] == [
        "Raw error",
        "Aligned error",
        "Holdings explained",
        "Updates certified",
        "Time",
    ]
    assert charts_on(page) == 5
    table = page.dataframe[0].value
    assert table["asset"].tolist() == [f"Security {i}" for i in range(1, 9)]
    run = state_of(page).learning
    np.testing.assert_allclose(table["estimate"], run.learner.theta_)


def test_changed_settings_are_pointed_out_and_learned_on_request(page):
    learn(small(page))
    page.number_input(key="seed").set_value(8).run()
    assert "The settings have changed" in said(page)
    learn(page)
    assert "Learned." in said(page)
    assert state_of(page).learning.settings.investors.seed == 8


def test_the_other_market_learns_too(page):
    page.selectbox(key="market").select("us20")
    learn(small(page))
    assert len(page.dataframe[0].value) == 20
    assert len(state_of(page).settings.learn.anchors) == 2


def test_a_stopped_run_goes_on_where_it_stopped(page):
    small(page)
    state = state_of(page)
    state.learning = services.start_learning(state.settings)
    services.advance(state.learning)
    seen = state.learning.seen
    assert 0 < seen < 60
    page.run()
    assert f"after {seen} of 60" in said(page)
    page.button(key="button_resume").click().run()
    assert "Learned." in said(page)
    assert state_of(page).learning.seen == 60


def test_without_two_known_returns_the_page_says_what_that_means(page):
    page.multiselect(key="anchors_paper8").set_value(["Security 1"]).run()
    assert any("fewer than two" in caption.value for caption in page.caption)
    learn(small(page))


@pytest.mark.parametrize("noise", ["gaussian", "uniform", "none"])
def test_every_way_of_observing_can_be_chosen(page, noise):
    page.selectbox(key="noise").select(noise).run()
    learn(small(page))


def test_an_impossible_choice_is_a_sentence_not_a_crash(page):
    page.selectbox(key="weights").select("beta")
    page.slider(key="mean").set_value(0.05)
    page.slider(key="sd").set_value(0.4).run()
    assert not page.exception
    assert "No beta distribution" in page.error[0].value


def test_engine_errors_become_sentences():
    wrong = Settings(investors=InvestorSettings(count=0))
    with pytest.raises(AppError, match="The number of investors is 0"):
        services.prepare(wrong)


def finished(settings: Settings) -> Learning:
    run = services.start_learning(settings)
    while not run.finished:
        services.advance(run)
    return run


def anchored(market: str = "paper8", **choices) -> Settings:
    return Settings(market, SMALL, LearnSettings(services.default_anchors(market), **choices))


def test_steps_of_any_size_end_where_one_batch_ends():
    run = finished(anchored())
    at_once = services.start_learning(anchored())
    at_once.learner.partial_fit(at_once.scene.investors.portfolios)
    np.testing.assert_array_equal(run.learner.theta_, at_once.learner.theta_)


def test_the_download_is_the_table():
    picture = services.picture_of(finished(anchored()))
    back = pd.read_csv(io.StringIO(picture.returns_csv()))
    assert list(back) == ["asset", "estimate", "true", "error", "held_by"]
    np.testing.assert_array_equal(back["estimate"], picture.result.returns["estimate"])
    investors = pd.read_csv(io.StringIO(picture.investors_csv()))
    assert list(investors) == ["weight", "risk_aversion", "distance"]
    assert len(investors) == 60


def test_a_picture_is_computed_once_for_each_state_of_a_run():
    run = finished(anchored())
    assert services.picture_of(run) is services.picture_of(run)


@pytest.mark.parametrize("market", ["paper8", "us20"])
def test_default_anchors_are_two_assets_that_investors_hold(market):
    anchors = services.default_anchors(market)
    scene = services.prepare(anchored(market))
    held = scene.investors.portfolios.max(axis=0) > 0
    assert len(set(anchors)) == 2
    assert all(held[scene.market.names.index(name)] for name in anchors)


@pytest.mark.parametrize("market", ["paper8", "us20"])
def test_the_truth_lies_inside_what_the_learner_may_answer(market):
    scene = services.prepare(anchored(market))
    assert scene.problem.theta.contains(scene.market.expected_returns)


def test_only_services_call_the_engine_and_no_file_is_long():
    for file in MAIN.parent.rglob("*.py"):
        lines = file.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LINES_AT_MOST, file.name
        engine = {line for line in lines if "import" in line and "imop_engine" in line}
        if file.name != "services.py":
            assert engine <= {"from imop_engine.report import charts"}, file.name
