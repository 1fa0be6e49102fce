"""Whether beliefs moved while the portfolios of a kept run came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from imop_app.services import results
from imop_engine.inference.movement import movement_sentence
from imop_engine.report.charts_movement import movement_chart
from imop_engine.report.frames_movement import movement_frame
from imop_engine.study import Study
from imop_engine.study.movement import beliefs_over_time


@dataclass(frozen=True, eq=False)
class MovementPicture:
    """What the preferences page shows of beliefs over time."""

    said: str
    drawn: Any
    table: pd.DataFrame  # asset, first, last, middle, estimate, low, high


def picture(study: Study) -> MovementPicture | None:
    """The test, the picture and its table; None where nothing can be said. Kept with the study."""
    return _picture(results.key_of(study), study)


@st.cache_resource(show_spinner=False, max_entries=8)
def _picture(key: str, _study: Study) -> MovementPicture | None:
    found = beliefs_over_time(_study)
    if found is None:
        return None
    level = _study.settings.level
    return MovementPicture(
        movement_sentence(found), movement_chart(found, level), movement_frame(found, level)
    )
