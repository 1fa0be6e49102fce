"""Templates and samples to download beside an uploader."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from imop_app.components.show import download
from imop_app.services import examples


def offer(
    forms: Sequence[str], assets: Sequence[str] = (), *, samples: bool = True, place: str = ""
) -> None:
    """Buttons that hand out a template of each form, and a sample where there is one that fits.

    Args:
        forms: Which files, as the engine names them.
        assets: What templates name; none takes the engine's own.
        samples: Whether samples are offered too.
        place: Tells two offers on one page apart.
    """
    with st.container(horizontal=True, key=f"examples_{place}{'_'.join(forms)}"):
        for form in forms:
            download(
                f"Template: {form}",
                lambda form=form: examples.template(form, tuple(assets)),
                f"{form}_template.csv",
                "text/csv",
                examples.about(form),
                place=place,
            )
            if samples:
                download(
                    f"Sample: {form}",
                    lambda form=form: examples.sample(form),
                    f"{form}_sample.csv",
                    "text/csv",
                    examples.about(form) + " A whole one, to try.",
                    place=place,
                )
