"""Sentences for people: pure, true to their numbers, and written in one place."""

import ast
from pathlib import Path

import numpy as np
import pytest

from imop_engine.sentences import investors, market, numbers, returns, run
from imop_engine.sentences.words import WORDS, word

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "imop_engine" / "sentences"


def known(status, **other):
    given = {
        "name": "Gold", "estimate": 0.05, "low": 0.04, "high": 0.06, "investors": 7, "holders": 3,
        "dead": False,
    }  # fmt: skip
    return returns.KnownReturn(status=status, **given | other)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (known("anchored"), "Gold returns 5.00%, because an anchor says so."),
        (
            known("anchored", dead=True),
            (
                "Gold returns 5.00%, because an anchor says so; 3 of 9 investors hold it, and the "
                "estimate explains none of that."
            ),
        ),
        (
            known("identified"),
            (
                "Gold returns 5.00%, between 4.00% and 6.00% with 95% confidence; 7 of 9 "
                "investors inform about it."
            ),
        ),
        (
            known("bounded above", holders=1),
            (
                "Gold returns at most 6.00%: 8 of 9 investors do not hold it, and would if it "
                "returned more (1 does, too few or too little to go by). The portfolios say no "
                "more than that."
            ),
        ),
        (
            known("bounded below", holders=7),
            (
                "Gold returns at least 4.00%: 7 of 9 investors hold it, and all of them, or all "
                "but a few, at its cap. The portfolios say no more than that."
            ),
        ),
        (
            known("bounded"),
            (
                "Gold returns between 4.00% and 6.00%: some of 9 investors hold it at its cap, "
                "the others not at all."
            ),
        ),
        (
            known("not seen"),
            (
                "3 of 9 investors hold Gold, and yet they hardly tell its return: it may be "
                "anything between 4.00% and 6.00%."
            ),
        ),
        (
            known("not seen", holders=0, low=-np.inf, high=np.inf),
            (
                "The portfolios say nothing of Gold: 9 of 9 investors do not hold it, and they "
                "rule no return out."
            ),
        ),
        (
            known("not seen", high=np.inf),
            (
                "3 of 9 investors hold Gold, and yet they hardly tell its return: it may be "
                "4.00% or more."
            ),
        ),
        (
            known("identified", low=-np.inf),
            (
                "Gold returns 5.00%, 6.00% or less with 95% confidence; 7 of 9 investors inform "
                "about it."
            ),
        ),
    ],
)
def test_what_is_known_of_an_asset(one, said):
    assert returns.asset_sentence(one, 9, 0.95, "") == said


def test_a_return_known_only_against_the_others_says_what_is_open():
    for undetermined in ("shift", "shift and scale"):
        said = returns.asset_sentence(known("relative"), 9, 0.9, undetermined)
        assert f"because the {undetermined} of the returns is open" in said
        assert "90% confidence" in said


def test_an_anchor_names_its_parts_the_largest_first():
    names = ["A", "B", "C", "D", "E"]
    holdings = np.array([0.1, 0.4, 0.2, 0.05, 0.25])
    said = returns.anchor_sentence(names, holdings, 0.06)
    assert said == (
        "A portfolio (40.0% B, 25.0% E, 20.0% C, 10.0% A and 1 more) returns 6.00% a year."
    )
    named = returns.anchor_sentence(names, holdings, 0.06, [("the market", holdings)])
    assert named.startswith("The market (40.0% B")
    assert returns.anchor_sentence(names, np.eye(5)[2], 0.03) == "C returns 3.00% a year."


@pytest.mark.parametrize(("found", "who"), [(0, "and no portfolio lies"), (1, "one of them lies"),
                                            (4, "4 of them lie ")])  # fmt: skip
def test_the_fit_counts_its_outliers(found, who):
    assert who in investors.fit_sentence(0.91, 30, found, 0.02)


def test_a_family_is_contradicted_below_five_percent():
    assert "is rejected" in investors.best_family("beta", {}, 0.049)
    assert "is not rejected" in investors.best_family("beta", {}, 0.05)
    assert "contradicts it" in investors.family_advice("beta", {"a": 2.0}, 0.049)
    assert "does not contradict it" in investors.family_advice("beta", {"a": 2.0}, 0.05)
    assert "too few investors" in investors.family_advice("beta", {"a": 2.0}, float("nan"))
    assert "(b 9.88e+94)" in investors.family_advice("kumaraswamy", {"b": 9.878e94}, 0.5)


def test_an_investor_without_interval_and_with_infinite_risk_aversion():
    said = investors.investor_sentence(0.0, None, float("inf"), 0.01, outlier=True)
    assert said == (
        "Weight on return 0.000. The portfolio lies 1.00% of wealth from the frontier. This is an "
        "outlier: one frontier does not explain it."
    )


def test_lists_are_cut_and_say_so():
    assert numbers.some(list("ABCDEF"), 4) == "A, B, C, D and 2 more"
    assert run.absent_columns(["A"]) == "The portfolios have no column for A: counted as not held."
    assert run.took_no_part(11, 20, 10) == "11 of 20 portfolios took no part, the first of them:"
    assert run.took_no_part(10, 20, 10) == "10 of 20 portfolios took no part:"
    assert "Gold (3)" in market.gaps(5, [("Gold", 3)], None, same_means=False)


def test_every_word_is_explained_in_a_sentence():
    for name in WORDS:
        assert word(name).endswith(".")
    with pytest.raises(KeyError):
        word("no such word")


def test_no_sentence_is_written_twice():
    """A piece of text long enough to be a sentence of ours stands nowhere else in the source."""
    ours = {text for path in HOME.glob("*.py") for text in _texts(path)}
    assert len(ours) > 30
    for folder in ("imop_engine", "app"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent != HOME:
                assert not ours & set(_texts(path)), path


def _texts(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 30:
            yield node.value.strip()


# -- words that a user reads ---------------------------------------------------------------------
def test_the_list_of_words_is_alphabetical_and_has_every_status_and_verdict():
    from imop_engine.inference.identify import STATUSES
    from imop_engine.sentences.words import WORDS
    from imop_engine.study.checks import VERDICTS
    from imop_engine.study.data import LEARNED, REFUSED
    from imop_engine.study.outcome import OUTLIER

    assert list(WORDS) == sorted(WORDS)
    statuses = {*STATUSES, *VERDICTS.values(), LEARNED, REFUSED, OUTLIER, "unknown", "not reached"}
    assert statuses <= set(WORDS)


def test_nothing_that_a_user_reads_calls_an_investor_she():
    import ast
    import re
    from pathlib import Path

    root = Path(__file__).resolve().parents[1]
    files = [
        *(root / "imop_engine" / "sentences").glob("*.py"),
        *(root / "imop_engine" / "report").glob("*.py"),
        *(root / "app").rglob("*.py"),
    ]
    unclear = re.compile(
        r"\b(she|her|hers|herself)\b|without a trace|standard errors more|Take it away"
        r"|Seen through|Surprise|same digits|Pass noise_sd|`bounds`|What is taken as known",
        re.IGNORECASE,
    )
    for path in files:
        tree = ast.parse(path.read_text())
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = unclear.search(node.value)
                assert id(node) in docs or not found, f"{path.name}: {node.value[:80]}"
    for name in ("README.md", "docs/app.md", "docs/shell.md", "docs/files.md"):
        assert not re.search(r"\b(she|her|hers)\b", (root / name).read_text()), name
