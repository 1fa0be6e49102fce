"""Normals cut to 0..1 in shares: two of them in a fit, any number in a simulation."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit, logit

from imop_engine.arguments import Vector
from imop_engine.weight_families import normal
from imop_engine.weight_families.base import Family, Shape, moments

# On the inner scale. A component is a bump inside 0..1: sd at most 0.5, at least 0.005, or it would
# describe single investors.
SHARE_RANGE: Final = (-4.0, 4.0)  # logit: a component holds 2 % of the investors at least
BUMP: Final = ((0.0, 1.0), (float(np.log(0.005)), float(np.log(0.5))))  # mean, log sd


def _distribution(w: Vector, inner: Vector) -> Vector:
    share = expit(inner[0])
    first = normal.truncated(w, inner[1], np.exp(inner[2]))
    second = normal.truncated(w, inner[3], np.exp(inner[4]))
    result: Vector = share * first + (1.0 - share) * second
    return result


def _draw(shape: Shape, count: int, rng: np.random.Generator) -> Vector:
    shares = np.array([part[0] for part in shape.parts])
    which = rng.choice(len(shape.parts), count, p=shares / shares.sum())
    drawn = np.array([normal.draw(Shape(mean, sd), count, rng) for _, mean, sd in shape.parts])
    result: Vector = drawn[which, np.arange(count)]
    return result


def _starts(middles: Vector, share: Vector) -> list[list[float]]:
    """Investors cut in two at each quartile, and a bump within a broad rest."""
    below = np.cumsum(share)
    starts = []
    for cut in (0.25, 0.5, 0.75):
        left = below <= max(cut, float(below[0]))
        if left.all():
            continue
        parts = [
            moments(middles[s], share[s] / share[s].sum()) for s in (left, ~left) if share[s].sum()
        ]
        if len(parts) == 2:
            (m1, s1), (m2, s2) = parts
            first = float(logit(np.clip(share[left].sum(), 0.02, 0.98)))
            starts.append([first, m1, float(np.log(s1)), m2, float(np.log(s2))])
    mean, sd = moments(middles, share)
    starts.append([0.0, mean, float(np.log(sd / 3.0)), mean, float(np.log(sd * 1.3))])
    return starts


def _outer(inner: Vector) -> Vector:
    """share, mean, sd, mean, sd with the component of the lower mean first."""
    share = float(expit(inner[0]))
    first, second = normal.mean_and_sd(inner[1:3]), normal.mean_and_sd(inner[3:5])
    if first[0] > second[0]:
        share, first, second = 1.0 - share, second, first
    return np.concatenate([[share], first, second])


def _inner(outer: Vector) -> Vector:
    return np.concatenate(
        [
            [logit(outer[0])],
            normal.mean_and_log_sd(outer[1:3]),
            normal.mean_and_log_sd(outer[3:5]),
        ]
    )


FAMILY: Final = Family(
    name="mixture",
    label="Groups (a mixture of bell shapes)",
    parameters=("share", "mean", "sd", "second_mean", "second_sd"),
    ranges=(SHARE_RANGE, *BUMP, *BUMP),
    distribution=_distribution,
    starts=_starts,
    outer=_outer,
    inner=_inner,
    draw=_draw,
    has_mean_and_sd=False,
    has_parts=True,
)
