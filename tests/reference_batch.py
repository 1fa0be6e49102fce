"""Twins of the whole class and of joint updates, out of the twin of a single one.

Several decisions over one θ are one long decision x = (x_1, …, x_N) whose conditions stand side by
side, so equation (batch-update) with its weights given is (update2) of the stacked problem, and
`reference.update_enumerated` enumerates its complementarity cases jointly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

import reference


def affine(spec: dict[str, Any], weight: Sequence[float]) -> reference.Weighted:
    """(PWS) for one weight, from the arguments of `affine_problem`: c_l = c0_l + C_l θ and so on.

    A variable is at its lower bound, at its upper one or at neither: one group of rows each.
    """
    weight = np.asarray(weight, float)
    A, n = np.asarray(spec["A"], float), len(spec["Q"][0])
    k = np.asarray(spec["linear"]).shape[2]
    rows, right, groups = [A], [np.asarray(spec["rhs0"], float)], [(i,) for i in range(len(A))]
    slopes = [np.asarray(spec["rhs"], float).reshape(len(A), k)]
    count = len(A)
    lower = np.broadcast_to(np.asarray(spec.get("lower", 0.0), float), n)
    upper = np.broadcast_to(np.asarray(spec.get("upper", np.inf), float), n)
    for i in range(n):
        group = []
        for sign, bound in ((1.0, lower[i]), (-1.0, upper[i])):
            if np.isfinite(bound):
                rows.append(sign * np.eye(n)[i : i + 1])
                right.append(np.array([sign * bound]))
                slopes.append(np.zeros((1, k)))
                group.append(count)
                count += 1
        if group:
            groups.append(tuple(group))
    equal = spec.get("E")
    cuts = spec.get("equalities", ())
    low, high = spec["bounds"]
    return reference.Weighted(
        H=np.einsum("l,lij->ij", weight, np.asarray(spec["Q"], float)),
        g=weight @ np.asarray(spec["linear0"], float),
        G=np.einsum("l,lij->ij", weight, np.asarray(spec["linear"], float)),
        M=np.vstack(rows),
        m=np.concatenate(right),
        N=np.vstack(slopes),
        E=np.zeros((0, n)) if equal is None else np.asarray(equal, float),
        d=np.zeros(0) if equal is None else np.asarray(spec["d"], float),
        low=np.array(np.broadcast_to(np.asarray(low, float), k)),
        high=np.array(np.broadcast_to(np.asarray(high, float), k)),
        C=np.array([row for row, _ in cuts], float).reshape(-1, k),
        e=np.array([value for _, value in cuts], float),
        groups=tuple(groups),
    )


def stacked(blocks: Sequence[reference.Weighted]) -> reference.Weighted:
    """N decisions over one θ as one long decision."""
    groups, offset = [], 0
    for block in blocks:
        groups += [tuple(row + offset for row in group) for group in block.groups]
        offset += len(block.m)
    first = blocks[0]
    return reference.Weighted(
        H=block_diag(*[block.H for block in blocks]),
        g=np.concatenate([block.g for block in blocks]),
        G=np.vstack([block.G for block in blocks]),
        M=block_diag(*[block.M for block in blocks]),
        m=np.concatenate([block.m for block in blocks]),
        N=np.vstack([block.N for block in blocks]),
        E=block_diag(*[block.E for block in blocks]) if len(first.d) else np.zeros((0, _n(blocks))),
        d=np.concatenate([block.d for block in blocks]),
        low=first.low,
        high=first.high,
        C=first.C,
        e=first.e,
        groups=tuple(groups),
    )


def _n(blocks: Sequence[reference.Weighted]) -> int:
    return sum(block.n for block in blocks)


def joint_enumerated(
    blocks: Sequence[reference.Weighted], theta: np.ndarray, Y: np.ndarray, eta: float
) -> reference.Update:
    """Equation (batch-update) with the weights given: the least over all cases of all decisions.

    Where the small solver gives up on a case, the mixed-integer twin answers for all of them.
    """
    try:
        return reference.update_enumerated(stacked(blocks), theta, np.ravel(Y), eta / len(blocks))
    except ArithmeticError:
        return joint_gurobi(blocks, theta, Y, eta)


def joint_gurobi(
    blocks: Sequence[reference.Weighted], theta: np.ndarray, Y: np.ndarray, eta: float
) -> reference.Update:
    """The same as one mixed-integer program, its case solved again to full precision.

    Multiplying an objective changes no decision, but it changes which slips Gurobi's tolerances
    allow: each block is stated twice, and the better answer taken.
    """
    sizes = [max(1e-3, np.max(np.abs(block.G))) for block in blocks]
    even = [
        replace(block, H=block.H / size, g=block.g / size, G=block.G / size)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    tried = [
        reference.update_gurobi(stacked(one), theta, np.ravel(Y), eta / len(blocks))[0]
        for one in (blocks, even)
    ]
    return min(tried, key=lambda one: one.objective)


def mqp_c(box: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """The paper's MQP with unknown c, as arguments of `affine_problem`."""
    return {
        "Q": reference.MQP_Q,
        "linear0": np.zeros((2, 2)),
        "linear": np.eye(4).reshape(2, 2, 4),
        "A": reference.MQP_A,
        "rhs0": reference.MQP_B,
        "rhs": np.zeros((2, 4)),
        "bounds": box,
    }
