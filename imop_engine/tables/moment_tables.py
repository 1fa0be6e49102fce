"""Expected returns and covariance given directly, as two tables: `read_moments`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from imop_engine import gate
from imop_engine.errors import UnreadableFile
from imop_engine.moments import SYMMETRY, Moments, repair_definiteness
from imop_engine.sentences.market import PYTHON, HistoryWords
from imop_engine.tables import words as vocabulary
from imop_engine.tables.cells import CellTable
from imop_engine.tables.history_layout import MOSTLY, read_all_numbers, separator_of
from imop_engine.tables.numbers import Numbers
from imop_engine.tables.open_table import Source, load_table
from imop_engine.tables.reading_report import Notes


@gate.public("imop_engine.tables")
def read_moments(
    returns_source: Source,
    covariance_source: Source,
    *,
    names: tuple[str | None, str | None] = (None, None),
    decimal: str = "auto",
    repair: bool = False,
    words: HistoryWords = PYTHON,
) -> Moments:
    """Read yearly expected returns (asset, return) and a covariance matrix (assets by assets).

    Nothing is rescaled: both tables are taken as yearly fractions, unless cells carry a percent
    sign. The covariance must be symmetric and name the same assets; its order follows the returns.

    Args:
        returns_source: A path, bytes, an open file or a data frame with asset and yearly return.
        covariance_source: The same with the covariance of yearly returns.
        names: What the two files are called in sentences.
        decimal: Auto, point or comma.
        repair: Whether to replace a covariance that is not positive definite by the nearest that
            is.
        words: What the choices are called where errors and notes are read.

    Returns:
        Yearly expected returns and covariance.

    >>> returns = b"asset,expected_return\\nA,5%\\nB,0.08\\n"
    >>> read_moments(returns.replace(b"5%", b"0.05"), b",A,B\\nA,0.04,0.01\\nB,0.01,0.09\\n"
    ...     ).expected_returns.to_dict()
    {'A': 0.05, 'B': 0.08}
    """
    returns = _read_returns(load_table(returns_source, name=names[0]), decimal)
    covariance = _read_covariance(
        load_table(covariance_source, name=names[1]), list(returns.index), decimal
    )
    moments = Moments(
        expected_returns=returns,
        covariance=covariance,
        mean="given",
        covariance_method="given",
        periods_per_year=1,
        notes=("Expected returns and covariance were given, as yearly fractions.",),
    )
    return repair_definiteness(moments, repair=repair, words=words)


def _labels(table: CellTable, name: str) -> list[str]:
    labels = [str(word) for word in table[name].strings.to_pylist()]
    before: set[str] = set()
    for i, label in enumerate(labels):
        if not label:
            raise UnreadableFile(
                f"{table.file}, row {table.rows[i]}, column {name}: the asset's name is missing; "
                "fill in the name."
            )
        if label in before:
            raise UnreadableFile(
                f"{table.file}, row {table.rows[i]}: {label} is there twice; remove one row."
            )
        before.add(label)
    return labels


def _values(table: CellTable, name: str, numbers: Numbers) -> np.ndarray:
    bad = np.flatnonzero(~np.isfinite(numbers.values))
    if len(bad):
        shown = table[name].show(bad[:1])[0]
        what = f"{shown} is not a number" if shown else "the number is missing"
        raise UnreadableFile(
            f"{table.file}, row {table.rows[bad[0]]}, column {name}: {what}; fill in the number."
        )
    return numbers.values


def _split(table: CellTable, decimal: str) -> tuple[str, list[str], dict[str, Numbers]]:
    """Return the column of names, the columns of numbers, and the numbers."""
    if not len(table):
        raise UnreadableFile(f"{table.file} has a header but no rows; give one row per asset.")
    numbers = read_all_numbers(table.columns, decimal, separator_of(table), {}, Notes(table.file))
    texts = [c.name for c in table.columns if numbers[c.name].share < MOSTLY and c.filled.any()]
    label = next((name for name in texts if vocabulary.says(name, vocabulary.ASSET)), None)
    if label is None:
        label = texts[0] if texts else table.names[0]
    return label, [name for name in table.names if name != label and name not in texts], numbers


def _read_returns(table: CellTable, decimal: str) -> pd.Series:
    label, numeric, numbers = _split(table, decimal)
    named = [name for name in numeric if vocabulary.says(name, vocabulary.RETURN)]
    chosen = named or numeric
    if len(chosen) != 1:
        found = ", ".join(chosen) or "none"
        raise UnreadableFile(
            f"{table.file}: one column of expected returns is needed, found: {found}; "
            "keep the assets' names and one column called expected_return."
        )
    values = _values(table, chosen[0], numbers[chosen[0]])
    return pd.Series(values, index=_labels(table, label), name="expected_return")


def _read_covariance(table: CellTable, assets: list[str], decimal: str) -> pd.DataFrame:
    label, numeric, numbers = _split(table, decimal)
    rows = _labels(table, label)
    for where, found in (("row", rows), ("column", numeric)):
        missing = [asset for asset in assets if asset not in found]
        if missing:
            raise UnreadableFile(
                f"{table.file} has no {where} for {missing[0]}; "
                "the covariance needs one row and one column for every asset with a return."
            )
    frame = pd.DataFrame(
        {name: _values(table, name, numbers[name]) for name in assets}, index=rows
    ).loc[assets, assets]
    matrix = frame.to_numpy()
    gap = np.abs(matrix - matrix.T)
    scale = max(float(np.abs(matrix).max()), np.finfo(float).tiny)
    if gap.max() > SYMMETRY * scale:
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        raise UnreadableFile(
            f"{table.file} is not symmetric: {assets[i]} with {assets[j]} is {matrix[i, j]:.6g}, "
            f"{assets[j]} with {assets[i]} is {matrix[j, i]:.6g}; correct one of them."
        )
    negative = np.flatnonzero(np.diag(matrix) < 0)
    if len(negative):
        raise UnreadableFile(
            f"{table.file}: the variance of {assets[negative[0]]} is negative; correct it."
        )
    return pd.DataFrame((matrix + matrix.T) / 2, index=assets, columns=assets)
