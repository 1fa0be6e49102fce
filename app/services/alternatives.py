"""A study's estimate under other choices as plain tables, in whatever process is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from imop_engine.progress import watched


def of_study(study: Any, notice: Callable[[float], None]) -> dict[str, Any]:
    """Table, summary, and what they say.

    Args:
        study: One whose portfolios were fitted together.
        notice: Told the share that is done; may raise `Stopped`.
    """
    from imop_engine.study.sensitivity import gathered, sensitivity_steps

    with watched(notice):
        steps = tuple(sensitivity_steps(study))
    found = gathered(study, steps)
    return {"table": found.table, "summary": found.summary, "said": tuple(found.sentences())}
