"""What a page says of the trust a study deserves: verdict, reasons, error model."""

from __future__ import annotations

from typing import Any, Final

from imop_engine.sentences import verdict as say
from imop_engine.study import Study

# Marks of the verdict and of each reason, so that nobody has to rely on colour.
MARKS: Final = {"good": "✓", "caution": "!", "poor": "✕", "note": "i"}


def verdict_values(study: Study) -> dict[str, Any]:
    """The verdict and its reasons for a template.

    Args:
        study: finished.

    Returns:
        `verdict` ("good", "caution" or "poor"), its `line` and `mark`, and `reasons`, worst first.
    """
    return {
        "verdict": study.verdict,
        "line": say.verdict_line(study.verdict),
        "mark": MARKS[study.verdict],
        "reasons": [
            {**check.to_dict(), "word": say.WORDS[check.severity], "mark": MARKS[check.severity]}
            for check in study.checks
        ],
    }


def way_sentences(study: Study) -> list[str]:
    """Which error model the estimate rests on, and what was fitted besides the returns.

    Args:
        study: finished.

    Returns:
        No sentence where the portfolios were not fitted together.
    """
    estimate = study.estimate
    if estimate is None:
        return []
    asked = study.settings.errors != "auto"
    said = [say.way_sentence(estimate.found.way, asked, estimate.explained)]
    if study.dispersion is not None:
        said.append(say.dispersion_sentence(study.dispersion))
    if study.own_tilts is not None:
        tilts = study.own_tilts
        said.append(say.tilts_sentence(tilts.sd, tilts.changing_sd, tilts.investors))
    if estimate.joint is not None and estimate.periods is not None:
        said.append(say.covariance_sentence(estimate.periods))
    return said
