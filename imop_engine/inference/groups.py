"""Beliefs by group of investors: shrunk to the common ones, with a test whether they differ.

`group_effects` says how groups depart from the common beliefs and how surely, `group_test` whether
chance alone would give as much, `group_shrinkage` how far each departure is to be believed. Here
they are put together into what an analyst reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from imop_engine.arguments import Vector
from imop_engine.errors import InvalidInput
from imop_engine.inference.group_effects import Effects, group_effects
from imop_engine.inference.group_labels import LEAST_INVESTORS, MUCH_ASIDE, GroupLabels
from imop_engine.inference.group_scores import Codes, ScoreModel
from imop_engine.inference.group_shrinkage import Shrunk, shrink
from imop_engine.inference.group_test import GroupTest, asset_p_values, difference_test
from imop_engine.sentences import groups as say

SENTENCES: Final = 4  # assets that have a sentence of their own

COMPARED, TOO_FEW, NOT_SEEN = "compared", "too few", "not seen"


@dataclass(frozen=True, eq=False)
class CommonBeliefs:
    """The estimate that groups are compared with.

    Args:
        names: of the assets.
        returns: yearly.
        errors: standard errors of these, all sources.
        known: which have an estimate.
        anchored: whether anchors fix level and scale.
        level: confidence of intervals.
    """

    names: tuple[str, ...]
    returns: Vector
    errors: Vector
    known: NDArray[np.bool_]
    anchored: bool
    level: float


@dataclass(frozen=True, eq=False)
class Groups:
    """What groups of investors believe.

    Attributes:
        column: what the groups are made by.
        names: of all groups, in order.
        in_time: whether they follow one another in time.
        table: group, portfolios, investors, set_aside, asset, estimate, low, high, difference,
            difference_low, difference_high, own, status, apart: one row for each group and asset.
            Yearly returns; `estimate` is shrunk to the common one, `difference` is what it departs
            from that by, `own` the group's estimate by itself. NaN where a group tells nothing.
            `apart` is how many portfolios count here although the estimate for all set them aside.
        assets: asset, common, between (standard deviation between groups beyond chance, yearly),
            p_value (how likely chance gives as much in this asset).
        test: whether groups differ at all.
        between: standard deviation between groups beyond chance, all assets, yearly return.
        notes: what the analyst should know.
        anchored: whether anchors fix level and scale.
    """

    column: str
    names: tuple[str, ...]
    in_time: bool
    table: pd.DataFrame
    assets: pd.DataFrame
    test: GroupTest
    between: float
    notes: tuple[str, ...]
    anchored: bool

    @property
    def differ(self) -> bool:
        """Whether groups differ by more than chance would give."""
        return self.test.p_value <= say.CHANCE

    @property
    def differing(self) -> tuple[str, ...]:
        """Assets of which groups believe something else, most so first; none where they agree."""
        if not self.differ:
            return ()
        told = self.table.groupby("asset", sort=False)["estimate"]
        spread = (told.max() - told.min()).sort_values(ascending=False, kind="stable")
        sure = set(self.assets.loc[self.assets["p_value"] <= say.CHANCE, "asset"])
        return tuple(asset for asset in spread.index if asset in sure)

    def sentences(self) -> tuple[str, ...]:
        """The same for an analyst to read."""
        lines = [say.difference_sentence(self.test.p_value, self.in_time, self.between)]
        sizes = self.table.drop_duplicates("group")
        lost = sizes.loc[sizes["set_aside"] > MUCH_ASIDE * sizes["portfolios"], "group"]
        if len(lost) and not self.differ:
            lines = [say.lost_sentence(list(lost), self.test.p_value)]
        for asset in self.differing[:SENTENCES]:
            rows = self.table[(self.table["asset"] == asset) & self.table["estimate"].notna()]
            told = list(zip(rows["group"], rows["estimate"], strict=True))
            lines.append(say.asset_sentence(self.column, asset, told, self.in_time))
        if len(self.differing) > SENTENCES:
            lines.append(say.more_assets(self.differing[SENTENCES:]))
        return (*lines, say.caveat(self.anchored))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        sizes = self.table.drop_duplicates("group")
        return {
            "by": self.column,
            "groups": [
                {
                    "name": row["group"],
                    "portfolios": int(row["portfolios"]),
                    "investors": int(row["investors"]),
                    "set_aside": int(row["set_aside"]),
                    "apart": int(row["apart"]),
                    "compared": row["status"] != TOO_FEW,
                }
                for _, row in sizes.iterrows()
            ],
            "p_value": self.test.p_value,
            "statistic": self.test.statistic,
            "degrees": self.test.degrees,
            "draws": self.test.draws,
            "differ": self.differ,
            "between": self.between,
            "differing": list(self.differing),
            "sentences": list(self.sentences()),
            "notes": list(self.notes),
        }


def compare_groups(
    model: ScoreModel,
    labels: GroupLabels,
    kept: NDArray[np.bool_],
    clusters: Codes,
    common: CommonBeliefs,
    seed: int = 0,
    explained: NDArray[np.bool_] | None = None,
) -> Groups:
    """Compare what groups of investors believe.

    Args:
        model: what the portfolios that take part say of beliefs.
        labels: the group of every portfolio.
        kept: which portfolios take part; the model was made from these.
        clusters: a number for every portfolio; equal numbers err together.
        common: the estimate that all of them share.
        seed: of the labels that are dealt for the test.
        explained: which portfolios the common estimate counts; None: all that take part.

    Returns:
        Beliefs by group, whether they differ, and what to know of them.
    """
    rows = np.flatnonzero(kept)[model.rows]
    codes, own = labels.codes[rows], clusters[rows]
    pairs = np.unique(np.column_stack([codes, own]), axis=0)
    investors = np.bincount(pairs[:, 0], minlength=len(labels.names))
    enough = np.flatnonzero(investors >= LEAST_INVESTORS)
    if len(enough) < 2:
        listed = list(zip(labels.names, investors.tolist(), strict=True))
        raise InvalidInput(say.too_few_in_groups(labels.column, LEAST_INVESTORS, listed))
    some = np.isin(codes, enough)
    first, found = group_effects(
        _only(model, some), np.searchsorted(enough, codes[some]), own[some], common.known,
        None if explained is None else explained[rows[some]],
    )  # fmt: skip
    spread = float(np.std(common.returns[common.known])) if common.known.any() else 1.0
    shrunk = shrink(found.departures, found.covariance, found.open, found.weights, spread or 1.0)
    aside = np.bincount(labels.codes[~kept], minlength=len(labels.names))
    apart = np.zeros_like(kept) if explained is None else kept & ~explained
    sizes = {
        "portfolios": np.bincount(labels.codes, minlength=len(labels.names)).astype(np.int64),
        "investors": investors.astype(np.int64),
        "set_aside": aside.astype(np.int64),
        "apart": np.bincount(labels.codes[apart], minlength=len(labels.names)).astype(np.int64),
    }
    assets = pd.DataFrame(
        {
            "asset": list(common.names),
            "common": np.where(common.known, common.returns, np.nan),
            "between": shrunk.between,
            "p_value": asset_p_values(found),
        }
    )
    return Groups(
        labels.column,
        labels.names,
        labels.in_time,
        _table(labels.names, enough, sizes, found, shrunk, common),
        assets,
        difference_test(first, seed),
        shrunk.overall,
        (*labels.notes, *_notes(labels.names, enough, sizes)),
        common.anchored and found.by_anchors,
    )


def _only(model: ScoreModel, some: NDArray[np.bool_]) -> ScoreModel:
    return model if some.all() else model.cut(some)


def _table(
    names: Sequence[str],
    enough: Codes,
    sizes: dict[str, NDArray[np.int64]],
    found: Effects,
    shrunk: Shrunk,
    common: CommonBeliefs,
) -> pd.DataFrame:
    z = float(ndtri(0.5 + common.level / 2))
    n = len(common.names)
    blocks = []
    for code, name in enumerate(names):
        block = pd.DataFrame({"group": name, "asset": list(common.names)})
        for column, counts in sizes.items():
            block[column] = counts[code]
        departure, error, own = (np.full(n, np.nan) for _ in range(3))
        status = np.full(n, TOO_FEW, dtype=object)
        at = np.flatnonzero(enough == code)
        if len(at):
            departure, error = shrunk.departures[at[0]], shrunk.errors[at[0]]
            known = np.isfinite(departure)
            own = np.where(known, common.returns + found.departures[at[0]], np.nan)
            status = np.where(known, COMPARED, NOT_SEEN)
        half = z * np.hypot(error, common.errors)
        block["estimate"] = common.returns + departure
        block["low"], block["high"] = block["estimate"] - half, block["estimate"] + half
        block["difference"] = departure
        block["difference_low"], block["difference_high"] = (
            departure - z * error,
            departure + z * error,
        )
        block["own"], block["status"] = own, status
        blocks.append(block)
    first, last = ["group", "portfolios", "investors", "set_aside", "asset"], ["apart"]
    table = pd.concat(blocks, ignore_index=True)
    rest = [name for name in table.columns if name not in (*first, *last)]
    return table[[*first, *rest, *last]]


def _notes(
    names: Sequence[str], enough: Codes, sizes: dict[str, NDArray[np.int64]]
) -> tuple[str, ...]:
    few = [name for code, name in enumerate(names) if code not in enough]
    notes = [say.too_few_note(few, LEAST_INVESTORS)] if few else []
    for name, total, aside in zip(names, sizes["portfolios"], sizes["set_aside"], strict=True):
        if aside > MUCH_ASIDE * total:
            notes.append(say.set_aside_note(name, int(aside), int(total)))
    for name, total, some in zip(names, sizes["portfolios"], sizes["apart"], strict=True):
        if some:
            notes.append(say.apart_note(name, int(some), int(total)))
    return tuple(notes)
