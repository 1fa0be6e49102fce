"""In what an amount is counted, as the name of its column says: Fund A (mio. kr.), Gold in TEUR.

Such a word is no part of the asset's name. Where columns of one table are counted differently, in
millions and in thousands, say, their numbers are brought to the same before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imop_engine.tables import words
from imop_engine.tables.numbers import CURRENCY
from imop_engine.tables.reading_report import CHANGED, NOTHING, Notes

THOUSAND: Final = words.vocabulary(
    "k t tsd tsd. tys тыс thousand thousands tausend mille miles mil 千"
)
MILLION: Final = words.vocabulary(
    "m mm mn mio mill mln million millions millionen milliones millones milhões milioni miljoen "
    "млн 百万"
)
BILLION: Final = words.vocabulary("bn mrd mld mia billion billions milliarden md млрд")
SCALES: Final = (
    *((word, 1e3) for word in THOUSAND),
    *((word, 1e6) for word in MILLION),
    *((word, 1e9) for word in BILLION),
    ("千円", 1e3), ("万円", 1e4), ("百万円", 1e6), ("億円", 1e8), ("万元", 1e4), ("亿元", 1e8),
    ("천원", 1e3), ("백만원", 1e6),
)  # fmt: skip
SCALE: Final = dict(SCALES)
# TEUR, KCHF, MEUR: a letter before the code.
LETTERED: Final = re.compile(r"^([tkm])(eur|usd|chf|gbp|sek|nok|dkk|pln)$")
BESIDE: Final = frozenset(["in", "i", "en", "em", "w", "v", "of", "de", "amount", "betrag"])
# What stands in brackets at the end of a name, or after "in".
ENDING: Final = re.compile(
    r"^(?P<name>.+?)"
    r"(?:\s*[(\[（](?P<unit>[^()\[\]（）]{1,20})[)\]）]|\s+in\s+(?P<said>[^()]{1,20}))\s*$"
)
CODE: Final = re.compile(rf"^{CURRENCY}$", re.IGNORECASE)


def without_unit(name: str) -> tuple[str, float]:
    """The name without what it is counted in, and how much one of that is; 1 where nothing is said.

    >>> without_unit("Gold (mio. kr.)"), without_unit("Gold in TEUR"), without_unit("Gold (old)")
    (('Gold', 1000000.0), ('Gold', 1000.0), ('Gold (old)', 1.0))
    """
    found = ENDING.match(name)
    if found is None:
        return name, 1.0
    scale = scale_of(found["unit"] or found["said"] or "")
    return (name, 1.0) if scale is None else (found["name"], scale)


def scale_of(text: str) -> float | None:
    """How much one is in the unit of a text such as "mio. EUR"; None where it names no unit.

    >>> scale_of("EUR k"), scale_of("€"), scale_of("hedged")
    (1000.0, 1.0, None)
    """
    scale, said = 1.0, False
    for word in text.replace(".", ". ").split():
        plain = word.strip(".,").casefold()
        lettered = LETTERED.match(plain)
        if plain in SCALE:
            scale *= SCALE[plain]
        elif lettered is not None:
            scale *= SCALE[lettered[1]]
        elif not (CODE.match(word) or CODE.match(word.strip(".,")) or plain in BESIDE):
            return None
        said = said or plain not in BESIDE
    return scale if said else None


def with_one_unit(
    names: Sequence[str], values: NDArray[np.float64], notes: Notes
) -> NDArray[np.float64]:
    """Bring columns that are counted in different units to the same one.

    Args:
        names: What the columns of holdings are called.
        values: What each row holds, a column for each name.
        notes: Collects what was noticed, changed or refused.
    """
    scales = np.array([without_unit(name)[1] for name in names])
    least = float(scales.min()) if len(scales) else 1.0
    if not len(scales) or (scales == least).all():
        return values
    other = np.flatnonzero(scales > least)
    notes.add(
        "the columns are counted in different units by their names, and are brought to one",
        CHANGED,
        NOTHING,
        rows=[0] * len(other),
        columns=[names[int(j)] for j in other],
        values=[f"times {scales[j] / least:,.0f}" for j in other],
    )
    return np.asarray(values * (scales / least))
