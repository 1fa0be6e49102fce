"""Encodings from before Unicode: spreadsheets in Japan, China, Korea and Eastern Europe write them.

The bytes of one fit another, and make nonsense there. Two things tell them apart: letters that only
one of them makes of the bytes in whole words (kana, Hangul), and the words by which people name
their columns. Western Europe is what is left.
"""

from __future__ import annotations

import re
from typing import Final

from imop_engine.tables import words
from imop_engine.tables.reading_report import Guess

WESTERN: Final = ("cp1252", "Windows-1252")
# Bytes that are looked at: the header and some rows.
SAMPLE_BYTES: Final = 20_000
# The least share of bytes beyond ASCII that stand in pairs, as those of East Asian letters do.
IN_PAIRS: Final = 0.9
# The least share of letters of a script that tells an encoding, and how few letters tell nothing.
OWN_LETTERS: Final = 0.25
LEAST_LETTERS: Final = 6

_HIGH: Final = re.compile(rb"[\x80-\xff]+[\x40-\x7e]?")
_OWN: Final = {
    "cp932": re.compile("[\u3040-\u30ff]"),
    "cp949": re.compile("[\uac00-\ud7a3]"),
}
# Codec, and what people call it; of those that know as many words the first is taken.
EAST_ASIAN: Final = (
    ("cp932", "Shift-JIS"),
    ("gb18030", "GB 18030"),
    ("cp949", "EUC-KR"),
    ("big5", "Big5"),
)
OTHERS: Final = (
    ("cp1250", "Windows-1250"),
    ("cp1251", "Windows-1251"),
    ("cp1254", "Windows-1254"),
    ("cp1253", "Windows-1253"),
    ("cp1255", "Windows-1255"),
    ("cp1256", "Windows-1256"),
    ("cp1257", "Windows-1257"),
)
# Words that the western encoding writes alike, of a language whose ő and ű it does not have.
HUNGARIAN: Final = words.vocabulary("ügyfél értékpapír érték árfolyam súly összeg készpénz dátum")
VOCABULARY: Final = (
    words.DATE
    | words.ASSET
    | words.INVESTOR
    | words.PRICE
    | words.RETURN
    | words.WEIGHT
    | words.AMOUNT
    | words.SHARES
    | words.TOTAL
    | words.CASH
    | words.UNCLASSIFIED
    | words.GROUPING
    | words.CURRENCY
)


def find_old_codec(content: bytes) -> tuple[str, Guess]:
    """The codec of a text that is not UTF-8, and why it is that one.

    Args:
        content: The file's bytes.

    >>> find_old_codec("日付,顧客,銘柄名".encode("cp932"))[0]
    'cp932'
    >>> find_old_codec("Kunde;Größe;Währung".encode("cp1252"))[0]
    'cp1252'
    """
    sample = content[:SAMPLE_BYTES]
    sample = sample[: sample.rfind(b"\n") + 1] or sample
    paired = _stands_in_pairs(sample)
    tried = (WESTERN, *OTHERS, *(EAST_ASIAN if paired else ()))
    codec, name = max(tried, key=lambda one: _known(sample, one[0]))
    if codec == WESTERN[0] and words.words_of(_decoded(sample, codec) or "") & HUNGARIAN:
        codec, name = OTHERS[0]
    if codec != WESTERN[0]:
        return codec, Guess(name, "its words are known that way, and the bytes are not UTF-8")
    if paired and not _known(sample, codec):
        codec, name = max(EAST_ASIAN, key=lambda one: _own_letters(sample, one[0]))
        if _own_letters(sample, codec) >= OWN_LETTERS:
            return codec, Guess(name, "the bytes make letters of that script, and are not UTF-8")
    return WESTERN[0], Guess(WESTERN[1], "the bytes are not UTF-8")


def _decoded(sample: bytes, codec: str) -> str | None:
    """The text, or None where bytes do not fit; the last letter may have been cut."""
    for end in range(len(sample), max(len(sample) - 4, 0), -1):
        try:
            return sample[:end].decode(codec)
        except UnicodeDecodeError:
            continue
    return None


def _known(sample: bytes, codec: str) -> int:
    """How many different words that name columns the text has, those beyond ASCII."""
    text = _decoded(sample, codec) or ""
    found = words.words_of(text) & VOCABULARY
    return sum(not word.isascii() for word in found)


def _stands_in_pairs(sample: bytes) -> bool:
    """Whether bytes beyond ASCII come together, as letters of two bytes do and accents do not."""
    runs = _HIGH.findall(sample)
    together = sum(len(run) for run in runs if len(run) > 1 and run[1] >= 0x80)
    lone_lead = sum(len(run) for run in runs if len(run) == 2 and run[1] < 0x80)
    return together + lone_lead >= IN_PAIRS * sum(map(len, runs)) and together > 0


def _own_letters(sample: bytes, codec: str) -> float:
    """The share of the letters beyond ASCII that are of a script which only this encoding has."""
    text, own = _decoded(sample, codec), _OWN.get(codec)
    letters = [letter for letter in text or "" if not letter.isascii()]
    if own is None or len(letters) < LEAST_LETTERS:
        return 0.0
    return sum(bool(own.match(letter)) for letter in letters) / len(letters)
