"""Load the compiled code before somebody waits for it: a study as small as studies get."""

from __future__ import annotations

import pandas as pd

from imop_engine.bundled import market, sample_portfolios
from imop_engine.study import StudySettings, run_study


def compiled_code() -> None:
    """Run every kernel that a first run will need, on forty portfolios."""
    paper = market("paper8")
    names = list(paper.names)
    study = run_study(
        pd.Series(paper.expected_returns, index=names),
        pd.DataFrame(paper.covariance, index=names, columns=names),
        sample_portfolios().set_index("investor").head(40),
        StudySettings(start="zero", refine=True),
    )
    study.frame_investors  # noqa: B018  computes the intervals too
