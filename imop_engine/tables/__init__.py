"""Tables in and out: histories and portfolios as people have them, results as they want them."""

from imop_engine.tables.moment_tables import read_moments
from imop_engine.tables.portfolios import Portfolios, read_portfolios
from imop_engine.tables.reading_report import Finding, Guess, ReadingReport
from imop_engine.tables.returns import History, read_returns
from imop_engine.tables.rows import Limits
from imop_engine.tables.yahoo import read_yahoo

__all__ = [
    "Finding",
    "Guess",
    "History",
    "Limits",
    "Portfolios",
    "ReadingReport",
    "read_moments",
    "read_portfolios",
    "read_returns",
    "read_yahoo",
]
