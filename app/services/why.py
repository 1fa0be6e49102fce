"""Why an asset of a kept run has its return."""

from __future__ import annotations

import streamlit as st

from imop_app.services import results
from imop_app.services.errors import sentences
from imop_engine.report.frames_why import Why
from imop_engine.report.frames_why import why as explained
from imop_engine.study import Study


@sentences
def why(study: Study, asset: str) -> Why:
    """What one return rests on. Kept with the study.

    Args:
        study: A kept run.
        asset: One of its assets.
    """
    return _why(results.key_of(study), study, asset)


@st.cache_resource(show_spinner=False, max_entries=64)
def _why(key: str, _study: Study, asset: str) -> Why:
    return explained(_study, asset)
