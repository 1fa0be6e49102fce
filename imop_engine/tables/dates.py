"""Dates as people write them, and which of day and month comes first.

A column is read in one way throughout: 13/02/2020 settles what 03/02/2020 means beside it. A month,
quarter or year without a day stands for its last day, as a return over that time does.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from imop_engine.tables.cells import BoolArray, CellColumn
from imop_engine.tables.reading_report import Guess

DAY_FIRST: Final = "day first"
MONTH_FIRST: Final = "month first"
ORDERS: Final = (DAY_FIRST, MONTH_FIRST)

# Two-digit years from here on are of the last century, as in spreadsheets' usual rule.
CENTURY_TURN: Final = 70
EARLIEST, LATEST = 1800, 2200
# Excel counts days from here; these numbers are the years 1927 to 2119.
EXCEL_EPOCH: Final = dt.datetime(1899, 12, 30)
EXCEL_FIRST, EXCEL_LAST = 10_000, 80_000

# Spread of the steps between dates, as a share of the usual step, that is called even (months of 28
# to 31 days, weekends) and uneven.
EVEN: Final = 0.2
UNEVEN: Final = 0.6

# January to December, as people and programs write them, parted by bars.
MONTH_WORDS: Final = """
    jan january januar janvier janv enero ene gennaio gen janeiro januari sty styczeń stycznia
    január leden ledna ocak oca tammikuu tammi янв январь января ιανουάριος ιαν jänner jän
    ianuarie січень січня |
    feb february februar février fevrier févr fév fev febrero febbraio fevereiro februari lut
    luty lutego február únor února şubat şub helmikuu helmi фев февраль февраля φεβρουάριος φεβ
    feber februarie лютий лютого |
    mar march märz maerz mär mrz mars marzo março marco mrt maart marts marca marzec március
    márc březen března mart maaliskuu maalis мар март марта μάρτιος μαρ martie maret березень
    березня |
    apr april avril avr abril abr aprile kwi kwiecień kwietnia április ápr duben dubna nisan nis
    huhtikuu huhti апр апрель апреля απρίλιος απρ aprilie квітень квітня |
    may mai mayo maggio mag maio mei maj május máj květen května mayıs toukokuu touko май мая
    μάιος μαϊ травень травня |
    jun june juni juin junio giugno giu junho cze czerwiec czerwca június jún červen června
    haziran haz kesäkuu kesä июн июнь июня ιούνιος ιουν iunie червень червня |
    jul july juli juillet juil julio luglio lug julho lip lipiec lipca július júl červenec
    července temmuz tem heinäkuu heinä июл июль июля ιούλιος ιουλ iulie липень липня |
    aug august août aout agosto ago augustus augusti sie sierpień sierpnia augusztus srpen srpna
    ağustos ağu elokuu elo авг август августа αύγουστος αυγ agustus серпень серпня |
    sep sept september septembre septiembre settembre set setembro wrz wrzesień września
    szeptember szept září eylül eyl syyskuu syys сен сентябрь сентября σεπτέμβριος σεπ
    septembrie вересень вересня |
    oct october oktober okt octobre octubre ottobre ott outubro out paź październik października
    október říjen října ekim eki lokakuu loka окт октябрь октября οκτώβριος οκτ octombrie
    жовтень жовтня |
    nov november novembre noviembre novembro lis listopad listopada listopadu kasım kas
    marraskuu marras ноя ноябрь ноября νοέμβριος νοε noiembrie листопад листопада |
    dec december dezember dez décembre decembre déc diciembre dic dicembre dezembro gru grudzień
    grudnia prosinec prosince aralık ara joulukuu joulu дек декабрь декабря δεκέμβριος δεκ
    decembrie desember грудень грудня
"""
MONTHS: Final = {
    word: number
    for number, of_month in enumerate(MONTH_WORDS.split("|"), start=1)
    for word in of_month.split()
}
WEEKDAY: Final = re.compile(
    r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]?\s+(?=\S*\d|[a-z]+ \d)", re.I
)
CLOCK: Final = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?$"
)
YEAR: Final = r"(?P<year>\d{4}|'?\d{2})"
WORD: Final = r"(?P<word>[^\W\d_]{3,12})\.?"
EAST_ASIAN: Final = r"\s*[年년]\s*(?P<month>\d{1,2})\s*[月월]"
EAST_ASIAN_DAY: Final = r"\s*(?P<day>\d{1,2})\s*[日일]\s*(?:[(]\w[)])?$"
# The years before the first ones of Japan's eras.
ERAS: Final = {"令和": 2018, "平成": 1988, "昭和": 1925}
ERA_YEAR: Final = rf"^(?P<era>{'|'.join(ERAS)})\s*(?P<year>\d{{1,2}}|元)"
# What a quarter and a half of a year are called beside their number.
QUARTER: Final = (
    r"(?:[QqTt]|[Qq](?:uarter|uartal|tr)|[Qq]\.|[Kk]w(?:artał|artaal|artal)?|[Kk]vartal[iet]*"
    r"|[Tt]r(?:im(?:est(?:re|er|ral)|\.)?|\.)?|кв(?:артал)?|čtvrtletí|negyedév|neljännes"
    r"|çeyrek|τρίμηνο)\.?"
)
HALF: Final = r"(?:[HhSs]|[Hh]alf|[Hh]albjahr|[Hh]j|[Ss]em(?:est(?:re|er)|\.)?|半期)\.?"
ORDINAL: Final = r"(?:\.|er?|ère|ème|º|°|o|ste?|nd|rd|th)?"
ROMAN: Final = r"(?P<roman>IV|I{1,3})"
ROMANS: Final = {"I": 1, "II": 2, "III": 3, "IV": 4}
HAN: Final = {"一": 1, "二": 2, "三": 3, "四": 4, "上": 1, "下": 2}
BETWEEN: Final = r"[-/.,\s']*"
YMD: Final = r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
NUMBERED_DAY: Final = r"^(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
MONTH_DAY: Final = "^" + WORD + r"[-/\s]*(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+"

# 2020-1 beside 2020-12; alone, up to 2020-4, these may be quarters and are read as nothing.
SHORT_MONTH: Final = "month of one digit"
LAST_QUARTER: Final = 4
# 2001/02, of which each ends in the year after the one it begins in.
FISCAL_YEAR: Final = re.compile(r"^(?P<begin>(?:19|20)\d{2})[-/](?P<end>\d{2})$")
FEWEST_YEARS: Final = 3

Parts = dict[str, Any]


@dataclass(frozen=True)
class _Form:
    """One way of writing a date: its pattern and what people call it."""

    name: str
    pattern: re.Pattern[str]


def _form(name: str, pattern: str) -> _Form:
    return _Form(name, re.compile(pattern))


FORMS: Final = (
    _form("year-month-day", YMD + CLOCK),
    _form("yyyymmdd", r"^(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})$"),
    _form("two numbers", r"^(?P<a>\d{1,2})[-/.\s](?P<b>\d{1,2})[-/.\s]" + YEAR + CLOCK),
    _form("day month year", NUMBERED_DAY + r"[-/\s]*" + WORD + r"[-/,\s]*" + YEAR + CLOCK),
    _form("month day year", MONTH_DAY + r"(?P<year>\d{4})" + CLOCK),
    _form("year month day", r"^(?P<year>\d{4})[-/\s]" + WORD + r"[-/\s](?P<day>\d{1,2})$"),
    _form("year-month-day", r"^(?P<year>\d{4})" + EAST_ASIAN + EAST_ASIAN_DAY),
    _form("year-month-day", ERA_YEAR + EAST_ASIAN + EAST_ASIAN_DAY),
    _form("month", r"^(?P<year>\d{4})" + EAST_ASIAN + "$"),
    _form("month", ERA_YEAR + EAST_ASIAN + "$"),
    _form("month", r"^(?P<year>\d{4})[-/.:\s]?(?P<month>0[1-9]|1[0-2])$"),
    _form(SHORT_MONTH, r"^(?P<year>(?:19|20)\d{2})[-/:](?P<month>[1-9])$"),
    _form("month", r"^(?P<month>0?[1-9]|1[0-2])[-/.](?P<year>\d{4})$"),
    _form("month", r"^(?P<year>\d{4})[-/\s]?[Mm](?P<month>\d{1,2})$"),
    _form("month", "^" + WORD + r"[-/,\s]*" + YEAR + "$"),
    _form("month", r"^(?P<year>\d{4})[-/\s]" + WORD + "$"),
    _form("quarter", rf"^(?P<year>\d{{4}}){BETWEEN}{QUARTER}\s?(?P<quarter>[1-4])$"),
    _form("quarter", rf"^(?P<year>\d{{4}}){BETWEEN}(?P<quarter>[1-4]){ORDINAL}\s?{QUARTER}$"),
    # T101 or S1-20 are more likely somebody's number than a quarter
    _form("quarter", rf"^[Qq]\s?(?P<quarter>[1-4]){BETWEEN}(?P<year>\d{{4}})$"),
    _form("quarter", r"^[Qq]\s?(?P<quarter>[1-4])[-/.\s']+(?P<year>\d{2})$"),
    _form("quarter", rf"^{QUARTER}\s?(?P<quarter>[1-4])[-/.\s']+(?P<year>\d{{4}})$"),
    _form(
        "quarter",
        rf"^(?P<quarter>[1-4]){ORDINAL}\s?{QUARTER}{BETWEEN}(?:de\s|d\.\s)?(?P<year>\d{{4}}|\d{{2}})$",
    ),
    _form("quarter", rf"^{ROMAN}\.?\s?{QUARTER}{BETWEEN}(?:de\s)?(?P<year>\d{{4}}|\d{{2}})$"),
    _form("quarter", rf"^(?P<year>\d{{4}}){BETWEEN}{ROMAN}\.?\s?{QUARTER}$"),
    _form(
        "quarter",
        r"^(?P<year>\d{4})\s*[年년]?\s*第?(?P<quarter>[1-4一二三四])\s*(?:四半期|季度|季|분기)$",
    ),
    _form("half", rf"^(?P<year>\d{{4}}){BETWEEN}{HALF}\s?(?P<part>[12])$"),
    _form("half", rf"^{HALF}\s?(?P<part>[12])[-/.\s']+(?P<year>\d{{4}})$"),
    _form(
        "half",
        rf"^(?P<part>[12]){ORDINAL}\s?{HALF}{BETWEEN}(?:de\s)?(?P<year>\d{{4}}|\d{{2}})$",
    ),
    _form("half", r"^(?P<year>\d{4})\s*[年년]?\s*(?P<part>[上下])(?:半期|半年)$"),
    _form("week", r"^(?P<year>\d{4})[-/\s]?[Ww](?P<week>\d{1,2})$"),
    _form("week", r"^(?:KW|[Ww]eek)\s?(?P<week>\d{1,2})[-/.,\s]+(?P<year>\d{4})$"),
    _form("year", r"^(?P<year>(?:19|20)\d{2})$"),
    _form("seconds since 1970", r"^(?P<seconds>[1-4]\d{9})(?P<more>\d{3})?(?:\.0)?$"),
)
# Of these forms, those that name a day beyond doubt.
DAYS: Final = ("year-month-day", "yyyymmdd", "day month year", "month day year", "year month day")


@dataclass(frozen=True, eq=False)
class Dates:
    """A column as dates, NaT where there is none; `bad` are cells that say something else."""

    values: NDArray[np.datetime64]
    bad: BoolArray
    guess: Guess
    open_order: bool

    @property
    def share(self) -> float:
        """How many of the filled cells are dates."""
        good = int((~np.isnat(self.values)).sum())
        return good / (good + int(self.bad.sum())) if good else 0.0


def read_dates(column: CellColumn, order: str = "auto") -> Dates:
    """Read a column as dates; `order` settles 03/02/2020 where the column does not."""
    values = np.full(len(column), np.datetime64("NaT"), dtype="datetime64[us]")
    forms: dict[str, int] = {}
    open_order = False
    reason = "every date is written that way"
    if column.times is not None:
        values[:] = column.times
        if not np.isnat(column.times).all():
            forms["dates"] = int((~np.isnat(column.times)).sum())
            reason = "the file says so"
    if column.numbers is not None:
        _read_native(column.numbers, values, forms)
    if column.text is not None:
        said, open_order = _read_texts(column.text, values, forms, order)
        reason = said or reason
    bad = column.filled & np.isnat(values)
    shown = " or ".join(sorted(forms, key=lambda form: -forms[form])) or "none"
    return Dates(values, bad, Guess(shown, reason), open_order)


def _read_native(
    numbers: NDArray[np.float64], values: NDArray[np.datetime64], forms: dict[str, int]
) -> None:
    for i in np.flatnonzero(~np.isnan(numbers)):
        number = float(numbers[i])
        if EXCEL_FIRST <= number <= EXCEL_LAST:
            values[i] = np.datetime64(EXCEL_EPOCH + dt.timedelta(days=number), "us")
            forms["Excel day numbers"] = forms.get("Excel day numbers", 0) + 1
        elif number.is_integer() and 0 < number < 1e8:
            parsed = _parse(str(int(number)))
            if parsed and "a" not in parsed[1]:
                moment = _moment(parsed[1], DAY_FIRST)
                if moment is not None:
                    values[i] = moment
                    forms[parsed[0]] = forms.get(parsed[0], 0) + 1


def _read_texts(
    text: pa.Array, values: NDArray[np.datetime64], forms: dict[str, int], order: str
) -> tuple[str, bool]:
    coded = pc.dictionary_encode(text)
    words = coded.dictionary.to_pylist()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    parsed = _fiscal_years(words) or _without_quarters([_parse(word) for word in words])
    pairs = [one[1] for one in parsed if one and "a" in one[1]]
    chosen, reason, open_order = _order(pairs, order)
    moments = np.full(len(words), np.datetime64("NaT"), dtype="datetime64[us]")
    counts = np.bincount(codes, minlength=len(words))
    for i, one in enumerate(parsed):
        moment = _moment(one[1], chosen) if one else None
        if one and moment is not None:
            moments[i] = moment
            name = chosen if "a" in one[1] else one[0]
            forms[name] = forms.get(name, 0) + int(counts[i])
    read = moments[codes]
    values[~np.isnat(read)] = read[~np.isnat(read)]
    return reason, open_order


def _fiscal_years(words: list[str]) -> list[tuple[str, Parts] | None] | None:
    """Years like 2001/02, where every cell is one; None where they are something else."""
    found = [FISCAL_YEAR.match(word) for word in words if word]
    ends = [
        str(int(one["begin"]) + 1)
        for one in found
        if one is not None and (int(one["begin"]) + 1) % 100 == int(one["end"])
    ]
    if len(ends) < max(FEWEST_YEARS, len(found)):
        return None
    years = iter(ends)
    return [("fiscal year", {"year": next(years)}) if word else None for word in words]


def _without_quarters(
    parsed: list[tuple[str, Parts] | None],
) -> list[tuple[str, Parts] | None]:
    """Leave out months of one digit where no cell says a later month than there are quarters."""
    months = [int(one[1]["month"]) for one in parsed if one and one[0] in ("month", SHORT_MONTH)]
    if not months or max(months) > LAST_QUARTER:
        return parsed
    return [None if one and one[0] == SHORT_MONTH else one for one in parsed]


def _parse(word: str) -> tuple[str, Parts] | None:
    if not word or len(word) > 40:
        return None
    bare = WEEKDAY.sub("", word if word.isascii() else unicodedata.normalize("NFKC", word))
    for form in FORMS:
        match = form.pattern.match(bare)
        if match:
            parts = {key: value for key, value in match.groupdict().items() if value is not None}
            if "word" in parts:
                month = MONTHS.get(parts["word"].lower())
                if month is None:
                    continue
                parts["month"] = month
            return form.name, parts
    if bare.isascii() and bare.isdigit() and EXCEL_FIRST <= int(bare) <= EXCEL_LAST:
        return "Excel day numbers", {"serial": int(bare)}
    return None


def is_written_date(text: str) -> bool:
    """Whether a text is a date as people write it; no program's count of days.

    Args:
        text: For example 31.12.2023 or Q4 2023.
    """
    found = _parse(text)
    if found is None or "serial" in found[1] or "seconds" in found[1]:
        return False
    return any(_moment(found[1], order) is not None for order in ORDERS)


def _order(pairs: list[Parts], asked: str) -> tuple[str, str, bool]:
    """Decide which of two numbers is the day; return also why, and whether it stayed open."""
    if asked in ORDERS:
        return asked, "as asked for" if pairs else "", False
    if not pairs:
        return DAY_FIRST, "", False
    first = sum(int(pair["a"]) > 12 for pair in pairs)
    second = sum(int(pair["b"]) > 12 for pair in pairs)
    if first != second:
        chosen = DAY_FIRST if first > second else MONTH_FIRST
        return chosen, f"dates that make sense only that way: {max(first, second):,}", False
    uneven = {order: _unevenness(pairs, order) for order in ORDERS}
    best, other = sorted(ORDERS, key=lambda one: uneven[one])
    if np.isinf(uneven[other]) and not np.isinf(uneven[best]):
        return best, "only then are the dates in order", False
    if uneven[best] <= EVEN and uneven[other] >= UNEVEN:
        return best, "only then are the dates evenly spaced", False
    return DAY_FIRST, "the dates do not tell", True


def _unevenness(pairs: list[Parts], order: str) -> float:
    """Return how much the steps between dates vary, infinite where they go back and forth."""
    moments = [_moment(pair, order) for pair in pairs]
    known = np.array([one for one in moments if one is not None], dtype="datetime64[us]")
    steps = np.diff(known) / np.timedelta64(1, "D")
    if not len(steps):
        return 0.0
    if not ((steps > 0).all() or (steps < 0).all()):
        return float("inf")
    return float(np.std(steps) / np.abs(np.mean(steps)))


def _moment(parts: Parts, order: str) -> np.datetime64 | None:
    """Return the moment the parts describe, or None where there is no such day."""
    try:
        return np.datetime64(_calendar_day(parts, order), "us")
    except (ValueError, OverflowError):
        return None


def _calendar_day(parts: Parts, order: str) -> dt.datetime:
    if "serial" in parts:
        return EXCEL_EPOCH + dt.timedelta(days=parts["serial"])
    if "seconds" in parts:
        return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(parts["seconds"]))
    year = _era_year(parts) if "era" in parts else _full_year(str(parts["year"]))
    if not EARLIEST <= year <= LATEST:
        raise ValueError("a year that no market saw")
    if "week" in parts:
        friday = dt.date.fromisocalendar(year, int(parts["week"]), 5)
        return dt.datetime.combine(friday, dt.time())
    if "quarter" in parts or "roman" in parts:
        month = 3 * _counted(str(parts.get("quarter") or parts["roman"]))
    elif "part" in parts:
        month = 6 * _counted(parts["part"])
    elif "a" in parts:
        month = int(parts["b"] if order == DAY_FIRST else parts["a"])
    else:
        month = int(parts.get("month", 12))
    if not 1 <= month <= 12:
        raise ValueError("no such month")
    if "a" in parts:
        day = int(parts["a"] if order == DAY_FIRST else parts["b"])
    else:
        day = int(parts.get("day", calendar.monthrange(year, month)[1]))
    return dt.datetime(year, month, day) + _time_of_day(parts)


def _era_year(parts: Parts) -> int:
    """The year of an era of Japan; its first one has a word of its own."""
    return ERAS[parts["era"]] + (1 if parts["year"] == "元" else int(parts["year"]))


def _counted(word: str) -> int:
    """The number of a quarter or a half: in digits, Roman or Chinese."""
    return ROMANS.get(word) or HAN.get(word) or int(word)


def _full_year(text: str) -> int:
    digits = text.lstrip("'")
    if len(digits) == 4:
        return int(digits)
    return int(digits) + (1900 if int(digits) >= CENTURY_TURN else 2000)


def _time_of_day(parts: Parts) -> dt.timedelta:
    hour, minute = int(parts.get("hour", 0)), int(parts.get("minute", 0))
    if hour > 23 or minute > 59:
        raise ValueError("no such time")
    half = parts.get("half", "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    passed = dt.timedelta(hours=hour, minutes=minute, seconds=int(parts.get("second", 0)))
    zone = parts.get("zone", "")
    if zone[:1] in "+-" and zone:
        away = dt.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        passed += away if zone[0] == "-" else -away
    return passed
