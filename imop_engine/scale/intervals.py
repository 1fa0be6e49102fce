"""How far the returns of a population are known: the sums say how surely, the sample the rest.

Standard errors come from the scores of everybody. What errors in holdings do to an estimate, and
what may be believed of assets that nobody holds, is seen in the sample; what history and anchors
leave open does not shrink with the number of investors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from imop_engine.errors import InvalidInput
from imop_engine.inference.belief_identification import WholeBeliefs, identification_of_beliefs
from imop_engine.inference.estimating_equations import least_investors
from imop_engine.inference.first_order import Positions, fit_beliefs
from imop_engine.inference.fit import Noise, noise_of
from imop_engine.inference.identify import Counts, Identification, WholeSums, identification
from imop_engine.scale.assigning import Assigned
from imop_engine.scale.settling import SAMPLE, Choices, Settled
from imop_engine.study.outcome import KNOWN, Study


def population_identification(
    study: Study, choices: Choices, settled: Settled, said: Assigned
) -> Identification:
    """Intervals around the returns of everybody.

    Args:
        study: of the sample.
        choices: what it has settled.
        settled: the returns.
        said: what everybody says at them.
    """
    estimate, settings = study.estimate, study.settings
    assert estimate is not None
    if settled.way == SAMPLE:
        known: Identification = study.identification
        return known
    counts = Counts(said.count, said.informing, said.unexplained, said.holding)
    problem, theta = choices.problem, settled.theta
    if settled.beliefs is not None and settled.informed is not None:
        positions = Positions.of(problem, choices.sample, choices.tiny)
        fit = fit_beliefs(problem, positions, least_holders=least_investors(len(choices.sample)))
        n, at = problem.n, np.ix_(settled.informed, settled.informed)
        information, outer, beliefs = np.zeros((n, n)), np.zeros((n, n)), fit.beliefs.copy()
        sums = settled.beliefs.sums
        information[at], outer[at] = sums.information, sums.outer
        beliefs[settled.informed] = settled.beliefs.beliefs + fit.beliefs[settled.informed].mean()
        counts = replace(counts, informing=said.holding)
        whole = WholeBeliefs(beliefs, information, outer, sums.used, counts)
        return identification_of_beliefs(
            problem, theta, choices.sample, fit, choices.tiny, settings.level, settings.seed,
            None, estimate.given, whole,
        )  # fmt: skip
    noise = noise_of_all(said, choices)
    return identification(
        problem, theta, choices.sample, settings.level, seed=settings.seed,
        solution=settled.solution, given=estimate.given,
        held=choices.held if settled.order is not None else None,
        whole=WholeSums(said.hessian, said.outer, said.degrees, noise, counts),
    )  # fmt: skip


def noise_of_all(said: Assigned, choices: Choices) -> Noise:
    """The error in a single holding, from everybody who takes part.

    Args:
        said: what everybody says at the estimate.
        choices: with what the sample says, where residuals are too few.
    """
    taken = max(choices.problem.n - 2, 0)
    try:
        return noise_of(((float(a), int(b)) for a, b in said.residuals), taken, said.count)
    except InvalidInput:
        return Noise(choices.noise_sd, 0)


def returns_table(study: Study, known: Identification) -> pd.DataFrame:
    """The returns of everybody as a study writes them: no number where a return is only bounded.

    Args:
        study: of the sample, with the history.
        known: what is known of each return.
    """
    table = known.to_frame()
    told = table["status"].isin(KNOWN)
    table["estimate"] = table["estimate"].where(told)
    if study.settings.bounds is None:  # an edge of the box, which nobody chose, is no end
        box = known.problem.theta
        table.loc[table["low"].to_numpy() <= box.lower, "low"] = np.nan
        table.loc[table["high"].to_numpy() >= box.upper, "high"] = np.nan
    table["history"] = study.data.expected_returns.to_numpy()
    of_sample = study.frame_returns.set_index("asset")["estimate"]
    table["of_the_sample"] = of_sample.reindex(table["asset"]).to_numpy()
    if study.data.truth is not None:
        table["true"] = study.data.truth.to_numpy()
    return table
