"""Every experiment, in the order of the paper."""

from __future__ import annotations

from imop_experiments import (
    algorithms,
    approximation,
    batches,
    convexity,
    exact,
    fig1a,
    fig1b,
    fig1c,
    fig1d,
    fig2a,
    fig2b,
    fig3a,
    fig3b,
    gap_regret,
    gurobi,
    noise,
    portfolio_table,
    regret,
    resource_allocation,
    three_objectives,
)
from imop_experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    fig1a.EXPERIMENT,
    fig1b.EXPERIMENT,
    fig1c.EXPERIMENT,
    fig1d.EXPERIMENT,
    fig2a.EXPERIMENT,
    fig2b.EXPERIMENT,
    portfolio_table.EXPERIMENT,
    fig3a.EXPERIMENT,
    fig3b.EXPERIMENT,
    regret.EXPERIMENT,
    approximation.TWO,
    approximation.THREE,
    noise.EXPERIMENT,
    convexity.EXPERIMENT,
    algorithms.EXPERIMENT,
    batches.EXPERIMENT,
    exact.EXPERIMENT,
    gap_regret.EXPERIMENT,
    three_objectives.EXPERIMENT,
    resource_allocation.EXPERIMENT,
    gurobi.EXPERIMENT,
)
