"""Files as they should not be. What a person then sees is in bad_files.txt, case by case."""

import io
import re
import zipfile
from typing import Any

import pandas as pd

from imop_engine.tables import ReadingLimits

# The file's bytes, and the options it is read with.
BadFile = tuple[bytes, dict[str, Any]]


def workbook(rows: list[list[Any]]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Data"
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return without_times(file.getvalue())


def two_quarters() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Q1"
    for sheet, held in ((book.active, (60, 40)), (book.create_sheet("Q2"), (50, 50))):
        for row in (["investor", "A", "B"], ["Ann", *held], ["Bob", *held[::-1]]):
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return without_times(file.getvalue())


def two_sheets() -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Notes"
    sheet = book.create_sheet("Clients")
    for row in (["investor", "A", "B"], ["Ann", 0.5, 0.5]):
        sheet.append(row)
    book.create_sheet("Archive").append(["old"])
    file = io.BytesIO()
    book.save(file)
    return without_times(file.getvalue())


def parts_of(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as package:
        return {name: package.read(name) for name in package.namelist()}


def without_times(book: bytes) -> bytes:
    """Return the workbook as if saved at a fixed time: the same bytes on every run."""
    parts = parts_of(book)
    properties = "docProps/core.xml"
    parts[properties] = re.sub(
        rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"2020-01-01T00:00:00Z", parts[properties]
    )
    return archive(parts)


def with_part(book: bytes, part: str, old: bytes, new: bytes) -> bytes:
    """Return a workbook in which one part was changed, as no spreadsheet would."""
    parts = parts_of(book)
    assert old in parts[part]
    return archive({**parts, part: parts[part].replace(old, new)})


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def archive(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            # a ZipInfo of its own carries a fixed date, a bare name the time of day
            package.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def months(count: int, cell: Any, header: bytes = b"date,A", first_year: int = 2018) -> bytes:
    """Return a history of months with one column, cell by cell."""
    lines = [header]
    for i in range(count):
        day = f"{first_year + i // 12}-{i % 12 + 1:02d}-28"
        lines.append(f"{day},{cell(i)}".encode())
    return b"\n".join(lines) + b"\n"


CLEAN = months(26, lambda i: f"0.0{i % 7 + 1},-0.0{i % 5}", b"date,A,B", 2020)


def changed(old: bytes, new: bytes) -> bytes:
    """Return the clean history with one thing changed."""
    assert CLEAN.count(old), "the clean history does not have what is to be changed"
    return CLEAN.replace(old, new, 1)


def added(name: bytes, cell: bytes) -> bytes:
    """Return the clean history with one more column, the same in every row."""
    first, *rest = CLEAN.strip().split(b"\n")
    return b"\n".join([first + b"," + name, *(line + b"," + cell for line in rest)]) + b"\n"


# Ann held on through February, in which A gained a tenth; Bob moved.
DATED = (
    b"client,date,A,B\nAnn,2024-01-31,0.5,0.5\nBob,2024-01-31,1,0\n"
    b"Ann,2024-02-29,0.5238,0.4762\nBob,2024-02-29,0.2,0.8\n"
)
ONE_MONTH = pd.DataFrame(
    {"A": [0.02, 0.1], "B": [0.01, 0.0]}, index=pd.DatetimeIndex(["2024-01-31", "2024-02-29"])
)
LINES = CLEAN.strip().split(b"\n")
PEOPLE = b"investor,A,B\nAnn,0.5,0.5\n"


def walk(count: int, start: float, *, width: int = 2) -> bytes:
    """Return month-ends and prices that move by about a percent, the same every time."""
    header = b",".join([b"date", *(b"ABCDEF"[j : j + 1] for j in range(width))])
    return months(
        count,
        lambda i: ",".join(
            f"{start * (1 + 0.01 * ((i * (3 + j)) % 7 - 2)):.4f}" for j in range(width)
        ),
        header,
    )


# Returns of a few percent, of which a history is made that swings around zero.
STEPS = (0.02, -0.031, 0.012, 0.045, -0.022, -0.008, 0.027)
STANDING = months(40, lambda i: f"{100 + (i if i < 20 else 20 if i < 32 else i - 10)}")
QUARTERLY = months(40, lambda i: f"{100 + 2 * (i // 3)},{100 + i * i % 7}", b"date,A,B")


RETURNS: dict[str, BadFile] = {
    "returns by name, prices by value": (walk(30, 12.0), {"name": "returns.csv"}),
    "prices by name, returns by value": (
        months(30, lambda i: f"0.0{(i * 5) % 8 + 1},0.{(i * 3) % 7 + 1}", b"date,A,B"),
        {"name": "closing prices.csv"},
    ),
    "portfolios with investors": (
        b"investor,date,A,B\nAnn,2020-01-31,600,400\nBob,2020-01-31,250,740\n",
        {"name": "clients.csv"},
    ),
    "portfolios of accounts without dates": (
        b"Account,IUSA,EMB\nK1,38662,1200\nK2,150,99000\nK3,7000,7000\n",
        {"name": "depots.csv"},
    ),
    "rows that add up": (
        b"who,A,B\nx1,0.6,0.4\nx2,0.25,0.75\nx3,0.5,0.5\nx4,1,0\n",
        {"name": "weights.csv"},
    ),
    "long portfolios": (b"client,asset,weight\nAnn,A,0.5\nAnn,B,0.5\n", {}),
    "prices with a hole": (
        months(30, lambda i: "" if i in (9, 10) else f"{100 + i % 4}", b"date,A"),
        {},
    ),
    "a quarter's prices among months": (
        months(40, lambda i: f"{100 + i % 4},{50 + i % 5 if i % 3 == 0 else ''}", b"date,A,B"),
        {},
    ),
    "empty file": (b"", {}),
    "only blanks": (b" \n\n  \n", {}),
    "header only": (b"date,A,B\n", {}),
    "old excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", {"name": "kurse.xls"}),
    "pdf": (b"%PDF-1.7 ...", {"name": "report.pdf"}),
    "gzip": (b"\x1f\x8b\x08\x00", {"name": "returns.csv.gz"}),
    "web page": (
        b"<!DOCTYPE html><html><body>Please log in</body></html>",
        {"name": "download.csv"},
    ),
    "json": (b'{"A": [1, 2]}', {"name": "returns.json"}),
    "zip without workbook": (archive({"a.csv": b"x"}), {"name": "data.zip"}),
    "damaged zip": (b"PK\x03\x04garbage", {"name": "returns.xlsx"}),
    "damaged workbook": (archive({"xl/workbook.xml": b"<broken"}), {"name": "returns.xlsx"}),
    "zip bomb": (
        archive({"xl/workbook.xml": b"<x/>", "xl/worksheets/sheet1.xml": bytes(30000000)}),
        {"name": "returns.xlsx", "limits": ReadingLimits(megabytes=5)},
    ),
    "xml document type": (
        archive({"xl/workbook.xml": b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "y">]><a/>'}),
        {"name": "returns.xlsx"},
    ),
    "a row beyond the last": (
        with_part(
            workbook([["date", "A"], ["2020-01-31", 0.1]]),
            "xl/worksheets/sheet1.xml",
            b'<row r="2">',
            b'<row r="99999999999">',
        ),
        {"name": "returns.xlsx"},
    ),
    "damaged parquet": (b"PAR1garbagePAR1", {"name": "returns.parquet"}),
    "binary": (b"abc\x00\x01\x02def,1,2\n", {}),
    "control character": (b"date,A\n2020-01-31,0.1\n2020-02-29,\x070.2\n", {}),
    "broken utf-16": (b"\xff\xfed\x00a\x00t\x00e\x00\x00\xd8,", {}),
    "quote never closed": (b'date,A\n2020-01-31,"0.1\n2020-02-29,0.2\n', {}),
    "no such sheet": (
        workbook([["date", "A"], ["2020-01-31", 0.1]]),
        {"name": "r.xlsx", "sheet": "Prices"},
    ),
    "no such sheet number": (
        workbook([["date", "A"], ["2020-01-31", 0.1]]),
        {"name": "r.xlsx", "sheet": 3},
    ),
    "sheet of csv": (CLEAN, {"sheet": "Prices"}),
    "empty workbook": (workbook([]), {"name": "r.xlsx"}),
    "too large": (CLEAN * 4000, {"limits": ReadingLimits(megabytes=1)}),
    "too many columns": (
        b"date," + b",".join(b"A%d" % i for i in range(40)) + b"\n2020-01-31" + b",1" * 40 + b"\n",
        {"limits": ReadingLimits(columns=20)},
    ),
    "two columns one name": (b"date,A,A\n2020-01-31,1,2\n", {}),
    "decimal comma unquoted": (
        b"date,A,B\n2020-01-31,0,5,0,3\n2020-02-29,0,1,0,2\n2020-03-31,0,1,0,2\n",
        {},
    ),
    "nested parquet": (
        parquet(pd.DataFrame({"date": ["2020-01-31"], "A": [[1, 2]]})),
        {"name": "r.parquet"},
    ),
    "no numbers": (b"date,A\n2020-01-31,x\n2020-02-29,y\n", {}),
    "one row": (b"date,A\n2020-01-31,0.1\n", {}),
    "long without dates": (b"ticker,price\nA,1\nA,2\nB,1\nB,2\n", {}),
    "dates unreadable": (b"date,A\nsoon,0.1\nlater,-0.2\n", {"roles": {"date": "date"}}),
    "no such column": (CLEAN, {"roles": {"Datum": "date"}}),
    "no such role": (CLEAN, {"roles": {"date": "when"}}),
    "no such kind": (CLEAN, {"kind": "yields"}),
    "no such units": (CLEAN, {"units": "bp"}),
    "transposed without dates": (CLEAN, {"layout": "transposed"}),
    "long without assets": (CLEAN, {"layout": "long"}),
    "bad cell": (changed(b"0.03", b"abc"), {}),
    "excel error": (changed(b"0.03", b"#DIV/0!"), {}),
    "missing word": (changed(b"0.03", b"n/a"), {}),
    "infinite": (changed(b"0.03", b"inf"), {}),
    "bad date": (changed(b"2020-03-28", b"2020-02-30"), {}),
    "no date": (changed(b"2020-03-28", b""), {}),
    "total row": (CLEAN + b"Average,0.01,0.01\n", {}),
    "duplicate date same": (CLEAN + b"2020-01-28,0.01,-0.00\n", {}),
    "duplicate date other": (CLEAN + b"2020-01-28,0.09,-0.00\n", {}),
    "unsorted": (b"date,A,B\n2020-03-31,0.01,0.02\n" + CLEAN[9:], {}),
    "newest first": (b"\n".join([LINES[0], *LINES[:0:-1]]), {}),
    "zero price": (months(30, lambda i: 0 if i == 7 else 100 + i % 3), {}),
    "negative price": (months(30, lambda i: -101 if i == 7 else 100 + i % 3), {}),
    "a price carried forward": (STANDING, {}),
    "a return of zero carried forward": (
        months(40, lambda i: "0" if 12 <= i < 20 else f"{(-1) ** i * 0.01 * (i % 4 + 1):.2f}"),
        {},
    ),
    "priced once a quarter": (QUARTERLY, {}),
    "split": (months(30, lambda i: (100 + i % 3) // (2 if i > 14 else 1)), {}),
    "split removed": (
        months(30, lambda i: (100 + i % 3) // (2 if i > 14 else 1)),
        {"jumps": "missing"},
    ),
    "loss of more than everything": (changed(b"0.03", b"-1.5"), {"units": "fraction"}),
    "tenfold": (changed(b"0.03", b"30"), {"units": "fraction"}),
    "gap": (changed(b"0.03", b""), {}),
    "short history": (
        b"date,A,B\n2020-01-31,0.01,-0.02\n2020-02-29,0.02,0.01\n2020-03-31,-0.02,0.03\n",
        {},
    ),
    "asset with one return": (
        months(26, lambda i: f"0.0{i % 5},{('-0.01' if i == 3 else '')}", b"date,A,B"),
        {"kind": "returns"},
    ),
    "constant asset": (added(b"C", b"0.001"), {}),
    "missing dates": (b"\n".join([*LINES[:9], *LINES[12:]]), {}),
    "empty row": (changed(b"\n2020-05", b"\n\n2020-05"), {}),
    "row too long": (changed(b"0.03", b"0.03,7,8"), {}),
    "row too short": (CLEAN + b"2023-01-31,0.02\n", {}),
    "text column": (added(b"note", b"fine"), {}),
    "no header": (CLEAN[9:], {}),
    "title above": (b"Monthly returns\n\n" + CLEAN, {}),
    "day or month": (
        b"date,A\n01/02/2020,0.01\n02/02/2020,-0.01\n03/02/2020,0.02\n04/02/2020,-0.02\n",
        {},
    ),
    "percent sign missing": (
        b"date,A\n2020-01-31,1%\n2020-02-29,-2%\n2020-03-31,3%\n2020-04-30,1\n",
        {},
    ),
    "doubtful units": (months(26, lambda i: (-1) ** i * 0.3), {}),
    "open decimal mark": (b"date;A\n2020-01-31;1,234\n2020-02-29;1,301\n2020-03-31;1,298\n", {}),
    "strict history": (changed(b"0.03", b"abc"), {"strict": True}),
    "mixed decimal marks": (
        b"date;A\n2020-01-31;0,01\n2020-02-29;-0,02\n2020-03-31;0.03\n2020-04-30;0,01\n",
        {},
    ),
    "two rows of one asset and date": (
        b"date,ticker,close\n2020-01-31,A,10\n2020-02-29,A,11\n2020-02-29,A,12\n2020-03-31,A,13\n2020-03-31,A,13\n",
        {},
    ),
    "nameless asset in a history": (
        b"date,ticker,close\n2020-01-31,A,10\n2020-02-29,A,11\n2020-03-31,A,12\n2020-03-31,,13\n",
        {},
    ),
    "quotes of one stock": (
        b"Date,Open,Close,Volume\n2020-01-31,9,10,5\n2020-02-29,10,11,6\n2020-03-31,11,12,7\n",
        {"name": "AAPL.csv"},
    ),
    "not a table at all": (b"Dear all, please find the data attached.\nBest regards\n", {}),
    "absurd return": (changed(b"0.03", b"1e300"), {"units": "fraction"}),
    "price that overflows": (
        months(30, lambda i: "1e-300" if i == 7 else "1e300" if i == 8 else 100 + i % 3),
        {"kind": "prices"},
    ),
    "growth factors": (
        (
            "date,A\n"
            + "".join(
                f"{2000 + y}-{m:02d}-28,{1 + STEPS[(3 * y + 5 * m) % 7]:.3f}\n"
                for y in range(3)
                for m in range(1, 13)
            )
        ).encode(),
        {},
    ),
    "dates that cannot be read": (
        (
            b"when,A,B\nday one,100.0,50.0\nday two,101.0,50.5\nday three,102.0,50.1\n"
            b"day four,101.5,50.9\n"
        ),
        {"name": "prices.csv"},
    ),
}

PORTFOLIOS: dict[str, BadFile] = {
    "a history of prices": (walk(1565, 148.2, width=3), {"name": "prices.csv"}),
    "a history of returns": (CLEAN, {"name": "returns.csv"}),
    "header only portfolios": (b"investor,A,B\n", {}),
    "picture": (b"\x89PNG\r\n\x1a\n", {"name": "scan.png"}),
    "text after quote": (b'investor,A\n"Ann"x,1\n', {}),
    "uncalculated formula": (
        workbook([["investor", "A", "B"], ["Ann", 0.5, "=1-B2"]]),
        {"name": "p.xlsx"},
    ),
    "uncalculated formula over a range": (
        with_part(
            workbook([["investor", "A", "B"], ["Ann", 0.5, "=1-B2"]]),
            "xl/worksheets/sheet1.xml",
            b"<f>",
            b'<f t="array" ref="C2:C2">',
        ),
        {"name": "p.xlsx"},
    ),
    "too many rows": (b"investor,A,B\n" + b"x,1,0\n" * 50, {"limits": ReadingLimits(rows=20)}),
    "no holdings": (b"investor,region\nAnn,EU\nBob,US\n", {}),
    "no value in long": (b"investor,asset\nAnn,A\nAnn,B\n", {"layout": "long"}),
    "shares without price": (b"investor,asset,shares\nAnn,A,3\nAnn,B,4\n", {}),
    "bad sums choice": (b"investor,A,B\nAnn,1,0\n", {"sums": "ignore"}),
    "bad unknown choice": (b"investor,A,B\nAnn,1,0\n", {"unknown": "keep"}),
    "assets twice": (b"investor,A,B\nAnn,1,0\n", {"assets": ["A", "A"]}),
    "asset in two columns": (b"investor,A,weight A\nAnn,0.5,0.5\n", {"assets": ["A"]}),
    "holding is text": (PEOPLE + b"Bob,abc,0.5\nCyd,0.1,0.9\nDan,0,1\n", {}),
    "holding missing": (PEOPLE + b"Bob,n/a,0.5\nCyd,0.1,0.9\nDan,0,1\n", {}),
    "negative": (PEOPLE + b"Bob,-0.5,1.5\n", {}),
    "negative to zero": (PEOPLE + b"Bob,-0.5,1.5\n", {"negative": "zero"}),
    "sum off": (PEOPLE + b"Bob,0.5,0.4\nCyd,0.1,0.9\n", {}),
    "sum off refused": (PEOPLE + b"Bob,0.5,0.4\nCyd,0.1,0.9\n", {"sums": "refuse"}),
    "sum off cash": (PEOPLE + b"Bob,0.5,0.4\nCyd,0.1,0.9\n", {"sums": "cash"}),
    "sum above one cash": (PEOPLE + b"Bob,0.8,0.4\nCyd,0.1,0.9\n", {"sums": "cash"}),
    "rounding": (b"investor,A,B,C\nAnn,0.333,0.333,0.333\nBob,0.5,0.5,0\n", {}),
    "sum zero": (PEOPLE + b"Bob,0,0\n", {}),
    "unknown dropped": (
        b"investor,A,B,X\nAnn,0.5,0.3,0.2\nBob,0,0,1\nCyd,0.5,0.5,0\n",
        {"assets": ["A", "B"]},
    ),
    "unknown refused": (
        b"investor,A,B,X\nAnn,0.5,0.3,0.2\nCyd,0.5,0.5,0\n",
        {"assets": ["A", "B"], "unknown": "refuse"},
    ),
    "most of the value unknown": (
        b"client,isin,value\nAnn,A,900\nAnn,B,100\nBob,X,6000\nBob,A,1000\nCyd,Y,3000\nCyd,B,1000\n",
        {"assets": ["A", "B"]},
    ),
    "most of the value unknown and used": (
        b"client,isin,value\nAnn,A,900\nAnn,B,100\nBob,X,6000\nBob,A,1000\nCyd,Y,3000\nCyd,B,1000\n",
        {"assets": ["A", "B"], "coverage": 0.0},
    ),
    "nobody with enough history": (
        b"client,A,B,Cash\nAnn,0.3,0.2,0.5\nBob,0.3,0.1,0.6\n",
        {"assets": ["A", "B"]},
    ),
    "least share as percent": (PEOPLE, {"assets": ["A", "B"], "coverage": 80}),
    "unclassified beside numbers that are attributes": (
        (
            b"plan,A,B,Unclassified,stated return,rating\nAnn,0.6,0.4,0,0.07,3\n"
            b"Bob,0.5,0.4,0.1,0.08,4\nCyd,0.5,0.5,0,0.075,5\nDan,0.3,0.5,0.2,0.08,1\n"
        ),
        {"assets": ["A", "B"]},
    ),
    "cash and unclassified without a series": (
        b"client,A,B,Cash,Other,fee\nAnn,60,25,10,5,1.2\nBob,50,40,2,8,0.8\nCyd,70,30,0,0,1.5\n",
        {"assets": ["A", "B"]},
    ),
    "cash beside portfolios that add up": (
        b"client,A,B,cash\nAnn,0.6,0.4,0.3\nBob,0.5,0.5,0.2\n",
        {"assets": ["A", "B"]},
    ),
    "amounts that reach their total only with cash": (
        b"client,A,B,Cash,fee,total\nAnn,6000,3000,1000,75,10000\nBob,500,400,100,20,1000\n",
        {"assets": ["A", "B"]},
    ),
    "cash by another name": (
        b"client,A,B,Bargeld (EUR)\nAnn,0.6,0.3,0.1\nBob,0.5,0.5,0\n",
        {"assets": ["A", "B", "Cash"]},
    ),
    "duplicate investor": (PEOPLE + b"Ann,0.4,0.6\nBob,1,0\nBob,1,0\n", {}),
    "nameless investor": (PEOPLE + b",0.4,0.6\n", {}),
    "empty portfolio": (b"investor,region,A,B\nAnn,EU,0.5,0.5\nBob,US,,\n", {}),
    "total row": (b"investor,A,B\nAnn,50,50\nBob,40,60\nTotal,90,110\n", {}),
    "total column": (b"investor,A,B,total\nAnn,50,50,100\nBob,40,60,100\n", {}),
    "bad date": (
        b"investor,date,A,B\nAnn,2020-01-31,0.5,0.5\nBob,someday,0.4,0.6\nCyd,2020-01-30,1,0\n",
        {},
    ),
    "long bad weight": (
        b"investor,asset,weight\nAnn,A,0.5\nAnn,B,x\nBob,A,0.5\nBob,B,0.5\nCyd,A,1\n",
        {},
    ),
    "long repeated row": (b"investor,asset,weight\nAnn,A,0.5\nAnn,B,0.5\nAnn,B,0.5\nBob,A,1\n", {}),
    "long added rows": (
        b"investor,asset,amount,account\nAnn,A,50,1\nAnn,A,30,2\nAnn,B,20,1\nBob,A,1,1\n",
        {},
    ),
    "long nameless asset": (
        b"investor,asset,weight\nAnn,A,0.5\nAnn,,0.5\nBob,A,1\nBob,B,0\n",
        {"assets": ["A", "B"]},
    ),
    "long total row": (
        b"investor,asset,weight\nAnn,A,50\nAnn,B,50\nAnn,Total,100\nBob,A,100\n",
        {},
    ),
    "percent sign odd": (b"investor,A,B\nAnn,50%,50%\nBob,0.4,60%\nCyd,10%,90%\n", {}),
    "nothing left": (b"investor,A,B\nAnn,-1,2\nBob,-2,3\n", {}),
    "strict portfolios": (PEOPLE + b"Bob,0.5,0.4\nCyd,0.1,0.9\n", {"strict": True}),
    "amounts negative sum": (
        b"investor,A,B\nAnn,500,500\nBob,-900,100\nCyd,10,9000\n",
        {"negative": "keep"},
    ),
    "quote inside row": (
        b'investor,A,B\n"Ann ""the boss""","0,25","0,75"\nBob,"0,5","0,5"\nCyd,"0,25","0,75"\n',
        {},
    ),
    "roles wrong for portfolios": (PEOPLE, {"roles": {"A": "asset class"}}),
    "tolerance wrong": (PEOPLE, {"tolerance": 3}),
    "all dates bad": (b"investor,date,A,B\nAnn,soon,0.5,0.5\nBob,later,1,0\n", {}),
    "price is missing in long": (
        b"investor,asset,shares,price\nAnn,A,3,10\nAnn,B,4,\nBob,A,1,10\n",
        {},
    ),
    "several sheets": (two_sheets(), {"name": "clients.xlsx"}),
    "holding beyond any fortune": (
        b"investor,A,B\nAnn,500,500\nBob,1e308,1e308\nCyd,10,9000\n",
        {},
    ),
    "one column": (b"0.5\n0.6\n", {}),
    "sums of three": (b"investor,A,B\nAnn,1.5,1.5\nBob,1,2\nCyd,2.5,0.5\n", {}),
    "sums of a half": (b"investor,A,B\nAnn,0.25,0.25\nBob,0.1,0.4\nCyd,0.5,0\n", {}),
    "sums of a half as cash": (
        b"investor,A,B\nAnn,0.25,0.25\nBob,0.1,0.4\nCyd,0.5,0\n",
        {"sums": "cash"},
    ),
    "weights of three in rows": (
        b"investor,asset,weight\nAnn,A,1.5\nAnn,B,1.5\nBob,A,1\nBob,B,2\n",
        {},
    ),
    "percentages among fractions": (PEOPLE + b"Bob,40,60\nCyd,0.1,0.9\n", {}),
    "fractions among percentages": (
        b"investor,A,B\nAnn,50,50\nBob,0.4,0.6\nCyd,10,90\nDan,70,29.9\n",
        {},
    ),
    "percentages among fractions refused": (
        PEOPLE + b"Bob,40,60\nCyd,0.1,0.9\n",
        {"sums": "refuse"},
    ),
    "currencies mixed in every portfolio": (
        b"investor,asset,value,currency\nAnn,A,10,USD\nAnn,B,20,EUR\n",
        {},
    ),
    "a rate is missing": (
        b"investor,asset,value,ccy\nAnn,A,10,USD\nAnn,B,20,EUR\nBob,A,5,USD\nBob,B,5,CHF\n",
        {"rates": {"EUR": 1.0, "usd": 0.9}},
    ),
    "a rate of nothing": (PEOPLE, {"rates": {"USD": 0.0}}),
    "two dates": (DATED, {}),
    "two dates as a panel": (DATED, {"snapshots": "panel"}),
    "two dates by date": (DATED, {"snapshots": "by date"}),
    "one of two dates": (DATED, {"snapshots": "31.01.2024"}),
    "a date that is not there": (DATED, {"snapshots": "2023-12-31"}),
    "the latest portfolio cannot be used": (DATED.replace(b"0.5238", b"abc"), {}),
    "the latest portfolios cannot be used": (
        DATED.replace(b"0.5238", b"abc").replace(b"0.2,0.8", b"-0.2,1.2"),
        {},
    ),
    "tickers of vendors": (
        b"client,asset,weight\nAnn,AAPL US Equity,60\nAnn,NYSE:IBM,40\nBob,AAPL.OQ,100\n",
        {"assets": ["AAPL", "IBM"]},
    ),
    "tickers of vendors in columns": (
        b"client,AAPL US Equity,XNYS:IBM\nAnn,60,40\nBob,30,70\n",
        {"assets": ["AAPL.OQ", "IBM"]},
    ),
    "tickers of two listings": (
        b"client,asset,weight\nAnn,SAP GY Equity,5\nAnn,SAP US Equity,5\nAnn,IBM,90\n",
        {"assets": ["SAP", "IBM"]},
    ),
    "a ticker that may be two assets": (
        b"client,asset,weight\nAnn,BMW,10\nAnn,IBM,90\nBob,BP US Equity,10\nBob,IBM,90\n",
        {"assets": ["BMW.DE", "BMW.PA", "BP.L", "IBM"]},
    ),
    "snapshots wrong": (DATED, {"snapshots": "all"}),
    "drift wrong": (DATED, {"drift": "undo"}),
    "drift kept": (DATED, {"returns": ONE_MONTH, "snapshots": "panel"}),
    "drift left out": (DATED, {"returns": ONE_MONTH, "snapshots": "panel", "drift": "drop"}),
    "drift and the latest choice": (DATED, {"returns": ONE_MONTH, "drift": "drop"}),
    "a sheet that is not there": (two_sheets(), {"name": "clients.xlsx", "sheet": "Kunden"}),
    "a sheet number that is not there": (two_sheets(), {"name": "clients.xlsx", "sheet": 4}),
    "the wrong sheet": (two_sheets(), {"name": "clients.xlsx", "sheet": "Archive"}),
    "a sheet of a text file": (PEOPLE, {"sheet": "Clients"}),
    "damaged cells": (
        with_part(
            workbook([["investor", "A", "B"], ["Ann", 0.5, 0.5]]),
            "xl/worksheets/sheet1.xml",
            b"<v>0.5</v>",
            b"<v>half</v>",
        ),
        {"name": "p.xlsx"},
    ),
    "a column beyond the last": (
        with_part(
            workbook([["investor", "A", "B"], ["Ann", 0.5, 0.5]]),
            "xl/worksheets/sheet1.xml",
            b'r="C2"',
            b'r="ZZZ2"',
        ),
        {"name": "p.xlsx"},
    ),
    "currencies in the columns' names": (
        b"client,A (USD),B (EUR)\nAnn,1000,1500\nBob,1000,500\n",
        {"assets": ["A", "B"]},
    ),
    "other identifiers than the history's": (
        b"client,ISIN,weight\nAnn,US0378331005,60\nAnn,US5949181045,40\n",
        {"assets": ["Apple", "Microsoft"]},
    ),
    "a sheet for each quarter": (
        two_quarters(),
        {"name": "clients.xlsx"},
    ),
    "dates side by side": (
        b"client,asset,2024-01-31,2024-02-29\nAnn,A,60,50\nAnn,B,40,50\nBob,A,10,20\nBob,B,90,80\n",
        {},
    ),
}
