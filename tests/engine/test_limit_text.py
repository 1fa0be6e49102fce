"""Limits as people write them: what is meant, and what is said where it cannot be read."""

import random
from contextlib import suppress

import pytest

from imop_engine.asset_groups import AssetGroups
from imop_engine.errors import InvalidInput
from imop_engine.limit_text import parse_limit, parse_limits, written
from imop_engine.limits import LinearLimit

NAMES = [
    "Technology", "Communication", "US 10-Year Bonds", "A", "B", "A-B", "Cash", "S&P 500", "3M",
    "5", "Müller's",
]  # fmt: skip
GROUPS = AssetGroups.of(
    {
        "sector": {"A": "Tech", "B": "Tech", "Cash": "Money Market", "gone": "Tech"},
        "region": {"A": "US", "B": "EU", "3M": "US", "Cash": ""},
    }
)
BENCHMARK = {"A": 0.1, "B": 0.2}


def read(text: str) -> list[str]:
    return [limit.sentence for limit in parse_limit(text, NAMES, GROUPS, BENCHMARK)]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Technology + Communication <= 30%", "Technology + Communication at most 30%"),
        ("technology+COMMUNICATION≤0,3", "Technology + Communication at most 30%"),
        ("0.5*A - B >= -5%", "0.5*A - B at least -5%"),
        ("A*0,5 + 'B' < 3e-1", "0.5*A + B at most 30%"),
        ("2*(A + B) - Cash = 0", "2*A + 2*B - Cash exactly 0%"),
        ("A <= 0.5 B + 5%", "A - 0.5*B at most 5%"),
        ("A + 2% <= 10%", "A at most 8%"),
        ("30% >= A", "A at most 30%"),
        ("Cash=5%", "Cash exactly 5%"),
        ("Cash is at least 5%", "Cash at least 5%"),
        # names with spaces, hyphens, digits, quotes
        ("S&P 500 at most 30%", "S&P 500 at most 30%"),
        ("us 10-year  bonds - Cash <= 0", "US 10-Year Bonds - Cash at most 0%"),
        ("3M >= 1%", "3M at least 1%"),
        ('"5" <= 5%', "5 at most 5%"),
        ("A-B <= 1%", "A-B at most 1%"),
        ("A - B <= 1%", "A - B at most 1%"),
        ('"A"-"B" <= 1%', "A - B at most 1%"),
        ("Müller's <= 10%", "Müller's at most 10%"),
        # groups, with and without their column
        ("sector:Tech <= 30%", "sector:Tech at most 30%"),
        ("Sector : tech + Cash <= 30%", "sector:Tech + Cash at most 30%"),
        ("money market at least 10%", "sector:Money Market at least 10%"),
        # beside a benchmark that has 10 % in A and 20 % in B
        ("active(sector:Tech) <= 5%", "sector:Tech (benchmark 30%) at most 35%"),
        ("sector:Tech >= benchmark - 5%", "sector:Tech (benchmark 30%) at least 25%"),
    ],
)
def test_one_limit_is_read_as_it_is_meant(text, meant):
    assert read(text) == [meant]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A between 5% and 10%", ["A at least 5%", "A at most 10%"]),
        ("5% <= A <= 0,1", ["A at least 5%", "A at most 10%"]),
        (
            "|A - benchmark| <= 2%",
            ["A (benchmark 10%) at most 12%", "A (benchmark 10%) at least 8%"],
        ),
        ("2% >= |A - B|", ["A - B at most 2%", "A - B at least -2%"]),
        ("each region <= 40%", ["region:US at most 40%", "region:EU at most 40%"]),
        (
            "|each region - benchmark| <= 5%",
            [
                "region:US (benchmark 10%) at most 15%",
                "region:US (benchmark 10%) at least 5%",
                "region:EU (benchmark 20%) at most 25%",
                "region:EU (benchmark 20%) at least 15%",
            ],
        ),
    ],
)
def test_some_texts_make_several_limits(text, meant):
    assert read(text) == meant


def test_what_is_said_in_words_is_read_back():
    limit = LinearLimit({"US 10-Year Bonds": 1, "3M": -0.25, "S&P 500": 2}, ">=", -0.125)
    assert parse_limit(limit.sentence, NAMES) == (limit,)
    for one in (limit, *parse_limit("|sector:Tech - 0.1*'5'| <= 33%", NAMES, GROUPS)):
        (again,) = parse_limit(written(one), NAMES)
        assert (again.row(NAMES) == one.row(NAMES)).all()
        assert (again.relation, again.value) == (one.relation, one.value)
    assert len(parse_limits(["each asset >= 1%", "A <= B"], NAMES)) == len(NAMES) + 1


def test_a_thousand_names_are_read_at_once():
    names = [f"Fund {i} of {i * i}" for i in range(1000)]
    limits = parse_limit("each asset <= 1%", names)
    assert [limit.holdings[0][0] for limit in limits] == names


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        ("Tecnology <= 30%", 1, "no asset or group 'Tecnology'; did you mean 'Technology'?"),
        ("A + Gold Bug - B <= 5%", 5, "there is no asset or group 'Gold Bug'; the assets are"),
        ("sector:Tek <= 3%", 1, "no sector 'Tek'; did you mean 'Tech'? The groups by sector are"),
        ("industry:Tech <= 1%", 1, "the columns of groups are sector, region"),
        ("'A <= 3%", 1, "the quote ' is not closed"),
        ("A + ", 5, "expected an asset, a group or a number"),
        ("* A <= 3%", 1, "expected an asset, a group or a number"),
        ("A 30%", 3, "expected a relation: <=, >=, = or between"),
        ("A <= 5% foo", 9, "expected the end of the limit"),
        ("A <= 1.234,5", 11, "expected the end of the limit"),
        ("A between 5%", 13, 'expected "and" and the greatest value after "between"'),
        ("A * B <= 5%", 5, "expected a number after *"),
        ("(A + B <= 5%", 8, 'expected ")"'),
        ("|A| + B <= 5%", 5, "an absolute value stands alone on its side"),
        ("each regio <= 3%", 6, "not 'regio'; the columns are asset, sector, region"),
        ("each sector + each region <= 3%", 26, '"each" stands for one column, sector already'),
        ("(" * 50 + "A" + ")" * 50 + "<= 1%", 21, "more than 19 brackets in one another"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_column(text, column, sentence):
    with pytest.raises(InvalidInput) as refused:
        read(text)
    assert f"cannot be read at column {column}: " in str(refused.value)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a limit is empty"),
        ("A <= 30", "has the value 30, which is 3,000% of a portfolio; write 30% for a share"),
        ("|A| >= 2%", "absolute values can only be at most something"),
        ("A - A <= 3%", "names no asset that is left"),
        ("30% <= 40%", "names no asset that is left"),
        ("A <= 1e999%", "the value of a limit is inf"),
        (None, "a limit is None; give a text"),
    ],
)
def test_what_means_nothing_is_refused(text, sentence):
    with pytest.raises(InvalidInput) as refused:
        read(text)
    assert sentence in str(refused.value)


def test_a_benchmark_that_is_not_there_and_names_of_two_groups_are_asked_for():
    with pytest.raises(InvalidInput, match="compares with a benchmark and none is given"):
        parse_limit("active(A) <= 2%", NAMES)
    with pytest.raises(InvalidInput, match="no groups are given"):
        parse_limit("sector:Tech <= 2%", NAMES)
    both = AssetGroups.of({"country": {"A": "US"}, "currency": {"A": "US", "B": "US"}})
    with pytest.raises(InvalidInput, match="may be country:US or currency:US; write one"):
        parse_limit("us <= 2%", NAMES, both)


def test_a_duration_limit_may_have_a_large_value():
    (limit,) = parse_limit("2.5*A + 7*B <= 5", ["A", "B"])
    assert limit.value == 5.0


def test_nothing_but_our_own_error_comes_of_any_text():
    likely = "A A-B sector:Tech 5% + - " * 6
    pieces = likely + 'each sector between and active ( ) | * 0,1 1e400 " benchmark §'
    rng = random.Random(7)
    read_ = 0
    for _ in range(3000):
        left, right = (" ".join(rng.choices(pieces.split(), k=rng.randint(1, 4))) for _ in "lr")
        with suppress(InvalidInput):
            read_ += bool(read(f"{left} {rng.choice(['<=', '>', '=', ''])} {right}"))
    assert read_ > 50
