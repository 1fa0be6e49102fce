"""Files that are reports rather than tables, and those of further languages, shortened.

Headings of merged cells, clients above their holdings, notes below, portfolios side by side, pages
that are called .xls. Each with what must be read from it; what a person is told is in
report_files.txt, case by case.
"""

import io
from typing import Any

import openpyxl

MARKET = {"assets": ["World", "Bonds", "Gold", "Nestlé"]}


def workbook(rows: list[list[Any]], merged: tuple[str, ...] = ()) -> bytes:
    """An Excel file with one sheet."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in rows:
        sheet.append(row)
    for cells in merged:
        sheet.merge_cells(cells)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def held(world: float, bonds: float, gold: float, nestle: float) -> dict[str, float]:
    """What a portfolio holds."""
    return {"World": world, "Bonds": bonds, "Gold": gold, "Nestlé": nestle}


PAGE = """<html><head><style>td {color: red}</style></head><body><p>Positions</p>
<table><tr><td>Menu</td><td>Log out</td></tr></table>
<table border=1><tr><th>Client</th><th colspan=1>World</th><th>Bonds<br></th></tr>
<tr><td>Ann</td><td>60&nbsp;%</td><td>40 %</td></tr>
<tr><td>Bob<td>30 %<td>70 %</tr></table></body>"""
XML = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
 xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet ss:Name="P"><Table>
<Row><Cell><Data ss:Type="String">client</Data></Cell><Cell><Data>World</Data></Cell>
<Cell><Data>Bonds</Data></Cell><Cell><Data>Gold</Data></Cell></Row>
<Row><Cell><Data>Ann</Data></Cell><Cell><Data>60</Data></Cell><Cell ss:Index="4"><Data>40</Data>
</Cell></Row><Row><Cell><Data>Bob</Data></Cell><Cell><Data>30</Data></Cell><Cell><Data>70</Data>
</Cell></Row></Table></Worksheet></Workbook>"""

# The file, options, and the weights by investor.
HOLDINGS: dict[str, tuple[str | bytes, dict[str, Any], dict[str, dict[str, float]]]] = {
    "merged cells over the assets, a total and a note": (
        workbook(
            [
                ["Bank Muster AG, Bestandesliste"],
                ["Stichtag", "30.06.2024"],
                [],
                ["Kunde", "Kategorie", "Aktien", None, "Anleihen", "Rohstoffe"],
                [None, None, "World", "Nestlé", "Bonds", "Gold"],
                ["Muster Hans", "A", 40, 20, 30, 10],
                ["Meier Vreni", "B", 10, 10, 70, 10],
                ["Total", None, 50, 30, 100, 20],
                ["¹ Kurse per Stichtag, ohne Gewähr"],
            ],
            ("C4:D4", "A4:A5", "B4:B5"),
        ),
        {"name": "file.xlsx"},
        {"Muster Hans": held(0.4, 0.3, 0.1, 0.2), "Meier Vreni": held(0.1, 0.7, 0.1, 0.1)},
    ),
    "clients above their holdings, with subtotals": (
        (
            "Client holdings report as of 30/06/2024\n"
            "Security,ISIN,Quantity,Market Value EUR,Weight\n"
            "Client: Ann Lee,,,,\n"
            "World,IE00B4L5Y983,100,8000,40%\nBonds,DE0001102440,100,10000,50%\n"
            "Gold,DE000A0S9GB0,40,2000,10%\nSubtotal Ann Lee,,,20000,100%\nClient: Bob Ray,,,,\n"
            "World,IE00B4L5Y983,50,4000,80%\nBonds,DE0001102440,10,1000,20%\n"
            "Total Bob Ray,,,5000,100%\nGrand total,,,25000,\n"
        ),
        {},
        {"Ann Lee": held(0.4, 0.5, 0.1, 0), "Bob Ray": held(0.8, 0.2, 0, 0)},
    ),
    "clients above their holdings, told by their assets": (
        (
            "Titel;Stück;Kurswert EUR\nMeier Vreni;;\nWorld;10;600,00\nBonds;4;400,00\n"
            "Huber Urs;;\nWorld;5;300,00\nGold;5;700,00\n"
        ),
        {},
        {"Meier Vreni": held(0.6, 0.4, 0, 0), "Huber Urs": held(0.3, 0, 0.7, 0)},
    ),
    "classes above their funds": (
        (
            "Account,Fund,Market value\nA1,World,600\nA1,Bonds,400\nA2,World,50\nA2,Gold,150\n"
            "\nEquities,,\nA3,World,500\nBond funds,,\nA3,Bonds,500\n"
        ),
        {},
        {
            "A1": held(0.6, 0.4, 0, 0),
            "A2": held(0.25, 0, 0.75, 0),
            "A3": held(0.5, 0.5, 0, 0),
        },
    ),
    "classes above the funds of one depot": (
        (
            "Bezeichnung;Stück;Wert in EUR;+/- %\nAktien;;;\nWorld;10;801,20;+14,46\n"
            "Summe Aktien;;801,20;\nRohstoffe;;;\nGold;5;198,80;-3,85\nSumme Rohstoffe;;198,80;\n"
            "Summe;;1.000,00;\n"
        ),
        {"name": "depot.csv"},
        {"depot": held(0.8012, 0, 0.1988, 0)},
    ),
    "notes and their marks": (
        (
            "client,World*,Bonds¹,Gold (2)\nC1,50*,30,20\nC2,20,20 ¹,60\n* provisional\n¹ at cost\n"
            "(2) valued by an agent of the custodian at the last price\n"
        ),
        {},
        {"C1": held(0.5, 0.3, 0.2, 0), "C2": held(0.2, 0.2, 0.6, 0)},
    ),
    "a table of Markdown": (
        "| client | World | Gold |\n|---|---:|:---:|\n| C1 | 60 | 40 |\n| C2 | 30 | 70 |\n",
        {},
        {"C1": held(0.6, 0, 0.4, 0), "C2": held(0.3, 0, 0.7, 0)},
    ),
    "a page that is called .xls": (
        PAGE,
        {"name": "export.xls"},
        {"Ann": held(0.6, 0.4, 0, 0), "Bob": held(0.3, 0.7, 0, 0)},
    ),
    "the XML of an old spreadsheet": (
        XML,
        {"name": "export.xls"},
        {"Ann": held(0.6, 0, 0.4, 0), "Bob": held(0.3, 0.7, 0, 0)},
    ),
    "model portfolios side by side": (
        (
            "Fund,ISIN,Cautious,Balanced,Bold\nWorld,IE00B4L5Y983,20%,50%,90%\n"
            "Bonds,DE0001102440,70%,40%,0%\nGold,DE000A0S9GB0,10%,10%,10%\nTotal,,100%,100%,100%\n"
        ),
        {},
        {
            "Cautious": held(0.2, 0.7, 0.1, 0),
            "Balanced": held(0.5, 0.4, 0.1, 0),
            "Bold": held(0.9, 0, 0.1, 0),
        },
    ),
    "amounts of clients side by side": (
        "Asset;Client 17;Client 18\nWorld;6.000,00;1.500,00\nGold;4.000,00;500,00\n",
        {},
        {"Client 17": held(0.6, 0, 0.4, 0), "Client 18": held(0.75, 0, 0.25, 0)},
    ),
    "cells that shall stay text": (
        '="client",="World",="Gold"\n="007",="60",="40"\n"=""008""","=""30""",="70"\n',
        {},
        {"007": held(0.6, 0, 0.4, 0), "008": held(0.3, 0, 0.7, 0)},
    ),
    "a Dutch broker with local values": (
        (
            "Product,Symbol/ISIN,Aantal,Slotkoers,Lokale waarde,Waarde in EUR\n"
            'World,IE00B4L5Y983,10,"60,12",USD 650.00,"600,00"\n'
            'Gold,DE000A0S9GB0,8,"50,00",EUR 400.00,"400,00"\n'
        ),
        {"name": "degiro.csv"},
        {"degiro": held(0.6, 0, 0.4, 0)},
    ),
    "a German bank with changes in per cent": (
        (
            '"Depotübersicht vom 30.06.2024"\n\n"Stück/Nom.";"Bezeichnung";"WKN";"Letzter Kurs";'
            '"Wert in EUR";"+/- %"\n"10";"World";"A0RPWH";"80,12";"801,20";"+14,46"\n'
            '"5";"Gold";"A0S9GB";"39,76";"198,80";"-3,85"\n"";"Summe";"";"";"1.000,00";""\n'
        ),
        {"name": "comdirect.csv"},
        {"comdirect": held(0.8012, 0, 0.1988, 0)},
    ),
    "Turkish, in the encoding of Windows": (
        "Müşteri;Varlık;Tutar\nAyşe;World;1.500,00\nAyşe;Gold;500,00\nCan;Gold;750,50\n".encode(
            "cp1254"
        ),
        {},
        {"Ayşe": held(0.75, 0, 0.25, 0), "Can": held(0, 0, 1, 0)},
    ),
    "Greek, in the encoding of Windows": (
        "Πελάτης;World;Gold\nΓιώργος;60,5;39,5\nΆννα;30;70\n".encode("cp1253"),
        {},
        {"Γιώργος": held(0.605, 0, 0.395, 0), "Άννα": held(0.3, 0, 0.7, 0)},
    ),
    "Hebrew, in the encoding of Windows": (
        "לקוח,נייר,שווי\nדוד,World,600\nדוד,Gold,400\nרות,Gold,100\n".encode("cp1255"),
        {},
        {"דוד": held(0.6, 0, 0.4, 0), "רות": held(0, 0, 1, 0)},
    ),
    "Arabic with its digits": (
        "العميل,World,Gold\nأحمد,٦٠٪,٤٠٪\nليلى,٢٥٪,٧٥٪\n",
        {},
        {"أحمد": held(0.6, 0, 0.4, 0), "ليلى": held(0.25, 0, 0.75, 0)},
    ),
    "Hungarian, in the encoding of Windows": (
        "Ügyfél;Értékpapír;Érték\nNagy Gőz;World;1 500,50\nNagy Gőz;Gold;1 500,50\n".encode(
            "cp1250"
        ),
        {},
        {"Nagy Gőz": held(0.5, 0, 0.5, 0)},
    ),
    "Excel's Unicode text": (
        "Kunde\tWorld\tGold\tNestlé\r\nMüller\t50\t30\t20\r\n".encode("utf-16"),
        {},
        {"Müller": held(0.5, 0, 0.3, 0.2)},
    ),
    "a mistyped ISIN beside the right one": (
        "client,isin,weight\nC1,IE00B4L5Y983,0.9\nC1,IE00B4L5Y938,0.1\nC2,IE00B4L5Y983,1\n",
        {"assets": ["IE00B4L5Y983", "US0378331005"]},
        {
            "C1": {"IE00B4L5Y983": 1.0, "US0378331005": 0.0},
            "C2": {"IE00B4L5Y983": 1.0, "US0378331005": 0.0},
        },
    ),
    "the side of a position in a column of its own": (
        (
            "account,symbol,side,market value\nC1,World,Long,1000\nC1,Gold,Short,250\n"
            "C2,World,Long,400\nC2,Gold,Long,600\n"
        ),
        {},
        {"C2": held(0.4, 0, 0.6, 0)},
    ),
    "what was bought and sold": (
        (
            "client,asset,B/S,amount\nC1,World,B,1000\nC1,Gold,B,400\nC1,World,S,400\n"
            "C2,Gold,B,100\n"
        ),
        {},
        {"C1": held(0.6, 0, 0.4, 0), "C2": held(0, 0, 1, 0)},
    ),
    "sizes that look like sides": (
        "client,asset,size,amount\nC1,World,L,600\nC1,Gold,S,400\n",
        {},
        {"C1": held(0.6, 0, 0.4, 0)},
    ),
    "what is wanted before what is held": (
        (
            "Kunde;Titel;Soll %;Ist %\nK1;World;50;60\nK1;Gold;50;40\nK2;World;50;30\n"
            "K2;Gold;50;70\n"
        ),
        {},
        {"K1": held(0.6, 0, 0.4, 0), "K2": held(0.3, 0, 0.7, 0)},
    ),
    "active weights before those of the portfolio": (
        (
            "client,asset,active weight,benchmark weight,portfolio weight\nC1,World,10%,50%,60%\n"
            "C1,Gold,-10%,50%,40%\n"
        ),
        {},
        {"C1": held(0.6, 0, 0.4, 0)},
    ),
    "the header again on the next page": (
        "client,World,Gold\nC1,60,40\n\nclient,World,Gold\nC2,10,90\n",
        {},
        {"C1": held(0.6, 0, 0.4, 0), "C2": held(0.1, 0, 0.9, 0)},
    ),
    "cash that was overdrawn": (
        "client,World,Bonds,Cash\nC1,500,600,-100\nC2,300,700,0\n",
        {},
        {"C2": held(0.3, 0.7, 0, 0)},
    ),
}

# The file, options, and the prices or returns by asset, first to last.
HISTORIES: dict[str, tuple[str | bytes, dict[str, Any], dict[str, list[float]]]] = {
    "a year in each row, a month in each column": (
        (
            "Year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec,YTD\n"
            "2022,,,,,,,,,-2.1,1.5,0.7,-0.4,-0.4\n"
            "2023,1.1,-0.2,0.3,2.4,-1.5,0.6,0.7,-0.8,-0.9,1.0,2.1,1.2,6.1\n2024,0.5,1.6,,,,,,,,,,,2.1\n"
        ),
        {"name": "balanced fund.csv"},
        {
            "balanced fund": [
                *(-0.021, 0.015, 0.007, -0.004, 0.011, -0.002, 0.003, 0.024, -0.015, 0.006),
                *(0.007, -0.008, -0.009, 0.010, 0.021, 0.012, 0.005, 0.016),
            ]
        },
    ),
    "years and months of several funds": (
        (
            "Fund;Jahr;Jan;Feb;Mär;Apr;Mai;Jun;Jul;Aug;Sep;Okt;Nov;Dez\n"
            "World;2023;1,1%;-0,2%;0,3%;2,4%;-1,5%;0,6%;0,7%;-0,8%;-0,9%;1,0%;2,1%;1,2%\n"
            "Gold;2023;0,1%;0,2%;-0,3%;0,4%;0,5%;-0,6%;0,7%;0,8%;-0,9%;1,0%;0,1%;0,2%\n"
        ),
        {},
        {
            "Gold": [
                *(0.001, 0.002, -0.003, 0.004, 0.005, -0.006),
                *(0.007, 0.008, -0.009, 0.010, 0.001, 0.002),
            ],
            "World": [
                *(0.011, -0.002, 0.003, 0.024, -0.015, 0.006),
                *(0.007, -0.008, -0.009, 0.010, 0.021, 0.012),
            ],
        },
    ),
    "days as a spreadsheet counts them": (
        "Date,World,Gold\n45322,100,50\n45351,101.5,50.4\n45382,103.2,49.9\n",
        {},
        {"World": [100, 101.5, 103.2], "Gold": [50, 50.4, 49.9]},
    ),
    "volumes beside prices, and figures below": (
        (
            "Date;World;World Volume;Gold;Gold Volume\n31.01.2024;100,5;1000;50,1;900\n"
            "29.02.2024;101,5;1100;50,4;950\n31.03.2024;103,2;1050;49,9;980\nØ;1,0;;0,2;\n"
            "Std.abw.;1,2;;2,1;\n"
        ),
        {},
        {"World": [100.5, 101.5, 103.2], "Gold": [50.1, 50.4, 49.9]},
    ),
    "prices on a page, with a note below": (
        (
            "<table><tr><th>Date</th><th>World</th><th>Gold</th></tr>"
            "<tr><td>31.01.2024</td><td>1.100,50</td><td>50,00</td></tr>"
            "<tr><td>29.02.2024</td><td>1.101,50</td><td>51,00</td></tr>"
            "<tr><td>31.03.2024</td><td>1.108,75</td><td>51,50</td></tr>"
            "<tr><td colspan=3>Quelle: die Börse</td></tr></table>"
        ),
        {"name": "kurse.xls"},
        {"World": [1100.5, 1101.5, 1108.75], "Gold": [50.0, 51.0, 51.5]},
    ),
}

# Histories that no rule can decide.
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "months without years": (
        (
            "Fund,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\nWorld,1,2,1,-1,0,1,2,1,-1,0,1,2\n"
            "Gold,1,2,1,-1,0,1,2,1,-1,0,1,2\n"
        ),
        {},
    ),
    "a year that comes twice": (
        (
            "Year,Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec\n2023,1,2,1,-1,0,1,2,1,-1,0,1,2\n"
            "2023,1,2,1,-1,0,1,2,1,-1,0,1,2\n"
        ),
        {},
    ),
}
