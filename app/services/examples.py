"""Templates and samples of files, as text to download."""

from __future__ import annotations

from imop_engine import templates
from imop_engine.tables.export import csv_text


def about(form: str) -> str:
    """What a form is, in one sentence."""
    return templates.FORMS[form]


def template(form: str, assets: tuple[str, ...] = ()) -> str:
    """A table to fill in.

    Args:
        form: Which file, as the engine names it.
        assets: What it names; none takes the engine's own.
    """
    return csv_text(templates.template(form, assets or templates.ASSETS))


def sample(form: str) -> str:
    """A whole table, to try."""
    return csv_text(templates.sample(form))
