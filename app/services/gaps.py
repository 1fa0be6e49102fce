"""What a kept run says of the return that investors leave on the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from imop_app.services import results
from imop_app.services.errors import sentences
from imop_engine.report import frames_gaps
from imop_engine.sentences import investors as say
from imop_engine.study import Study

OUTLIERS = 200  # rows of the table of outliers


@dataclass(frozen=True, eq=False)
class GapPicture:
    """The tables behind the part of the preferences page that shows gaps."""

    said: str
    arrows: pd.DataFrame  # of those who leave most
    bins: pd.DataFrame
    threshold: float
    outliers: pd.DataFrame
    outliers_said: str


@sentences
def picture(study: Study) -> GapPicture | None:
    """Gaps of all investors; None where they could not be measured. Kept with the study."""
    return _picture(results.key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _picture(key: str, _study: Study) -> GapPicture | None:
    gaps = _study.gaps
    if gaps is None:
        return None
    return GapPicture(
        said=gaps.sentence(),
        arrows=frames_gaps.gap_arrows(_study.frontier, _study.complete_decisions, gaps),
        bins=frames_gaps.gap_histogram(gaps),
        threshold=gaps.threshold,
        outliers=frames_gaps.gap_outliers(_study.decisions, gaps, OUTLIERS),
        outliers_said=say.gap_outliers_sentence(gaps.outliers, gaps.threshold),
    )


@sentences
def investor(study: Study, name: str) -> tuple[str, pd.DataFrame] | None:
    """One investor's gap in a sentence, and the arrow; None where there is none."""
    found = np.flatnonzero(study.decisions.index.astype(str) == name)
    if study.gaps is None or not len(found):
        return None
    place = found[-1]
    if not np.isfinite(study.gaps.investors["gap"].iloc[place]):
        return None
    arrow = frames_gaps.gap_arrows(study.frontier, study.complete_decisions, study.gaps, place)
    row = arrow.iloc[0]
    earned = np.nan if study.gaps.unsure[place] else row["return"]
    return say.gap_sentence(row["gap"], earned, row["risk"]), arrow
