"""The written report: whole, self-contained, escaped, and true to the study."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_engine.report.frames_learn import OPEN
from imop_engine.report.html import html_report
from imop_engine.study.data import Reading

NASTY = '<script>alert("x")</script>&"\''


class Page(HTMLParser):
    """Tags and text of a page; fails on a tag that is closed out of order."""

    VOID = ("meta", "br", "img", "hr", "link", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(study):
    return Page(html_report(study, command="imop learn --out results"))


def test_the_page_says_what_the_study_says(page, study):
    text = page.text
    for _, row in study.frame_returns.iterrows():
        assert row["asset"] in text
        if row["status"] in OPEN:  # only the bound is known: an estimate would be taken for one
            ends = [end for end in (row["low"], row["high"]) if np.isfinite(end)]
            assert any(f"{100 * end:.2f}%" in text for end in ends)
        else:
            assert f"{100 * row['estimate']:.2f}%" in text
        assert row["sentence"] in text
    assert study.fit.sentence() in text
    assert f"{study.figures['median_risk_aversion']:.2f}" in text
    assert "imop learn --out results" in text
    for heading in ("Method", "Data and gaps", "Expected returns", "Efficient frontier",
                    "Investors", "Reproduction"):  # fmt: skip
        assert heading in text
    assert "By segment" in text
    assert "careful" in text


def test_the_page_needs_no_network_and_runs_nothing(page):
    for tag, attributes in page.tags:
        assert tag not in ("script", "iframe", "object", "embed", "link", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href"):
                assert (value or "").startswith(("#", "data:"))
    policy = [a["content"] for t, a in page.tags if a.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]


def test_charts_are_drawn_and_do_not_share_names(page):
    drawings = [a for t, a in page.tags if t == "svg" and a.get("role") == "img"]
    # returns, sources, frontier, weights, and two of what is left on the table
    assert len(drawings) == 6
    assert all(one["aria-label"] for one in drawings)
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))


def test_whatever_comes_from_files_is_escaped(moments, portfolios):
    names = [NASTY if i == 0 else f"asset {i} {NASTY}" for i in range(20)]
    returns = moments[0].set_axis(names)
    covariance = moments[1].set_axis(names, axis=0).set_axis(names, axis=1)
    held = portfolios.iloc[:60].set_axis(names, axis=1)
    held.index = [f"{NASTY} {i}" for i in range(60)]
    held.iloc[3, 0] = np.nan
    lines = pd.DataFrame({"row": [1]})
    reading = Reading(NASTY, 60, 59, 0, 1, (f"{NASTY}, row 4: gone.",), lines)
    study = imop.run_study(
        returns,
        covariance,
        held,
        imop.StudySettings(title=NASTY, notes=NASTY),
        attributes=pd.DataFrame({NASTY: ["a", NASTY] * 30}),
        reading=(reading,),
        notes=(NASTY,),
    )
    text = html_report(study, command=NASTY)
    assert "<script" not in text
    page = Page(text)
    assert page.text.count("alert(") > 20
    assert f"{NASTY}, row 4: gone." in page.text


@pytest.mark.slow
@pytest.mark.parametrize("text", [NASTY, "{{ 7 * 7 }}", "{% include 'report.css' %}"])
def test_text_is_never_read_as_markup_or_as_a_template(study, text):
    from dataclasses import replace

    settings = replace(study.settings, title=text, notes=text)
    whole = html_report(replace(study, settings=settings), command=text)
    assert "<script" not in whole
    page = Page(whole)
    assert page.text.count(text) >= 3  # title, remarks, command: as they were written


def test_a_name_that_a_template_does_not_know_is_an_error():
    from jinja2 import UndefinedError

    from imop_engine.report.pages import render

    with pytest.raises(UndefinedError, match="title"):
        render("imop_engine.report", "report.html.j2")


def test_what_was_noticed_while_reading_is_in_the_page(moments, portfolios):
    remarks = ("returns.csv, column V: 111 periods are missing; nothing needs to be done.",)
    reading = Reading("returns.csv", 180, 180, 0, 0, remarks, pd.DataFrame())
    study = imop.run_study(*moments, portfolios.iloc[:60], reading=(reading,))
    page = Page(html_report(study))
    assert remarks[0] in page.text
    assert "180 rows read: 180 used" in page.text
    assert "This command makes the report again" not in page.text


@pytest.mark.slow
def test_a_long_list_of_remarks_is_cut_and_says_so(moments, portfolios):
    remarks = tuple(f"remark number {i}." for i in range(55))
    reading = Reading("p.csv", 55, 0, 55, 0, remarks, pd.DataFrame())
    page = Page(html_report(imop.run_study(*moments, portfolios.iloc[:60], reading=(reading,))))
    assert "remark number 39." in page.text
    assert "remark number 40." not in page.text
    assert "And 15 more, in inputs/reading.csv." in page.text


def test_few_investors_make_a_report_too(moments, portfolios):
    page = Page(html_report(imop.run_study(*moments, portfolios.iloc[:2])))
    assert re.search(r"at least 20 investors", page.text)


@pytest.mark.slow
def test_the_same_study_makes_the_same_page(study):
    assert html_report(study) == html_report(study)
