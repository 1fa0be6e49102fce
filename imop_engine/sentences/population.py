"""What is said of a population: how its returns were found, and who took no part."""

from __future__ import annotations

from imop_engine.sentences.checks import CheckText


def method(investors: int, sampled: int, way: str, passes: int, everybody: bool) -> str:
    """How the returns of a population were found.

    Args:
        investors: Portfolios that took part.
        sampled: Portfolios that the study of the sample took.
        way: Which errors investors make, in words.
        passes: How often all portfolios were read to settle.
        everybody: Whether the returns are those of everybody.
    """
    began = (
        f"A study of {sampled:,} portfolios, evenly spread, chose how the returns are read ({way})"
    )
    if not everybody:
        return f"{began}; the returns are its own, and everybody was assigned a weight."
    times = "once" if passes == 1 else f"{passes} times"
    return f"{began}; the returns solve one equation of {investors:,} investors, read {times}."


def took_no_part(aside: int, refused: int, total: int) -> str:
    """Who took no part; "" where everybody did.

    Args:
        aside: Portfolios too far from the frontier.
        refused: Rows that are no portfolios.
        total: All rows.
    """
    said = []
    if aside:
        said.append(f"{aside:,} of {total:,} portfolios are too far from any common frontier")
    if refused:
        said.append(f"{refused:,} rows are no portfolios")
    return f"{' and '.join(said)}; they took no part." if said else ""


def refused_rows(refused: int, total: int, row: int, reason: str) -> CheckText:
    """That rows are no portfolios.

    Args:
        refused: How many.
        total: Of how many.
        row: The first of them, from 1.
        reason: Why it is none.
    """
    return CheckText(
        f"{refused:,} of {total:,} rows are no portfolios; the first, row {row:,}, {reason}.",
        "Look for them in the investors' files: status refused, with a reason for each.",
    )


def of_the_sample() -> CheckText:
    """That returns come from the sample alone."""
    sentence = (
        "The files hide some of what investors hold, or they keep tilts of their own, which is "
        "made good one investor at a time: the returns are those of the sample, not of everybody."
    )
    return CheckText(
        sentence,
        "Take a larger sample (--sample 20000), or files that hold every position.",
    )


def not_settled(left: float) -> CheckText:
    """That the equations of everybody were not solved.

    Args:
        left: Standard errors that are still asked for.
    """
    sentence = (
        f"The equations of all investors were not solved: they still ask for {left:.2g} standard "
        "errors."
    )
    return CheckText(
        sentence,
        "Take a larger sample (--sample 20000): it is where the search begins.",
    )


def convex(mean: float, certified: bool) -> str:
    """What everybody leaves on the table under the returns that make it least.

    Args:
        mean: Return a year, a fraction.
        certified: Whether no other returns make it less.
    """
    proof = ", and none leaves less (proven)" if certified else ""
    return (
        f"Under the returns of the convex fit investors leave {mean:.3%} a year on the "
        f"table{proof}."
    )
