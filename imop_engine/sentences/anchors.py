"""What a choice of known returns (anchors) does to the level of all the others, in words."""

from __future__ import annotations

from imop_engine.sentences.numbers import percent


def _share(value: float) -> str:
    return f"{100.0 * value:.0f}%"


def not_held(name: str, holders: float) -> str:
    """An asset that nobody holds as an anchor.

    Args:
        name: Of the asset.
        holders: Share of the investors who hold it.
    """
    who = "Nobody holds" if holders <= 0.0 else f"Only {_share(holders)} of the investors hold"
    return (
        f"{who} {name}: the portfolios only say that it returns no more than some number, so its "
        "return ties the others to nothing. Choose an asset that many hold."
    )


def same(first: str, second: str) -> str:
    """Two anchors that investors hold as if they returned the same.

    Args:
        first: One of them.
        second: The other.
    """
    return (
        f"By the portfolios {first} and {second} return nearly the same, so they fix the level but "
        "hardly how far the other returns are apart. Choose two that differ in risk."
    )


def inverted(better: str, worse: str, said: float) -> str:
    """Anchors that contradict the portfolios.

    Args:
        better: What is said to return more.
        worse: What is said to return less.
        said: By how much, a year.
    """
    return (
        f"You say that {better} returns {percent(said)} a year more than {worse}, but investors "
        f"hold them as if {worse} returned more. No level of returns fits both: check the two "
        "numbers, or choose another pair."
    )


def loose(scale: float) -> str:
    """Anchors whose own errors leave much open.

    Args:
        scale: Standard error of the distance between returns, as a share of it.
    """
    return (
        f"By their own ± these two fix how far returns are apart only to ± {_share(scale)}. Ranks "
        "do not depend on it; levels and risk aversions do."
    )


def fixed(scale: float, level: float) -> str:
    """Anchors that do their work.

    Args:
        scale: Standard error of the distance between returns, as a share of it.
        level: Standard error of the level, a year.
    """
    if scale <= 0.0 and level <= 0.0:
        return "These two fix the level and how far returns are apart; both are taken as exact."
    return (
        f"These two fix the level to ± {percent(level)} a year and how far returns are apart to "
        f"± {_share(scale)}."
    )


def single(level: float) -> str:
    """One anchor, the rest from the history.

    Args:
        level: Its standard error, a year; 0 where it is exact.
    """
    sure = "exactly" if level <= 0.0 else f"to ± {percent(level)} a year"
    return (
        f"Your number fixes the level {sure}; how far returns are apart is taken from the history."
    )


def advice(first: str, second: str, scale: float) -> str:
    """The pair that fixes most.

    Args:
        first: One anchor.
        second: The other.
        scale: Standard error of the distance between returns, as a share of it; 0: not known.
    """
    sure = f": they fix how far returns are apart to ± {_share(scale)}" if scale > 0.0 else ""
    return f"Of these, {first} and {second} fix the most{sure}."
