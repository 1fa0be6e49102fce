"""Files that were misread in silence, or for a reason that helped nobody, by the class of mistake.

Each with what must be read from it; what a person is told is in odd_files.txt, case by case.
"""

import datetime as dt
import io
from typing import Any

import numpy as np
import openpyxl

MARKET = {"assets": ["World", "Bonds", "Gold"]}


def held(world: float, bonds: float, gold: float) -> dict[str, float]:
    """What a portfolio holds."""
    return {"World": world, "Bonds": bonds, "Gold": gold}


def workbook(**sheets: list[list[Any]]) -> bytes:
    """An Excel file with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet: Any = book.create_sheet(title.replace("_", "-").strip("-"))
        for row in rows:
            sheet.append(row)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


# -- histories of 30 months ----------------------------------------------------------------------
RETURNS = np.round(np.random.default_rng(14).normal(0.006, 0.03, (30, 2)), 4)
PRICES = np.round(100 * np.cumprod(1 + RETURNS, axis=0), 2)
SPIKED = np.where(np.arange(60).reshape(30, 2) == 21, 100 * PRICES, PRICES)
LONGER = np.vstack([PRICES, (PRICES[-1] * np.cumprod(1 + RETURNS / 10, axis=0)).round(3)])
DAYS = [dt.date(2022, 7, 1) + dt.timedelta(days=i) for i in range(30)]
MONTHS = [dt.date(2020 + i // 12, i % 12 + 1, 28) for i in range(30)]


def table(head: str, values: Any, dates: list[Any] = MONTHS, spelled: str = "{:.4f}") -> str:
    """A history as text, a row for each date."""
    rows = zip(dates, values, strict=True)
    lines = [",".join([str(day), *(spelled.format(one) for one in row)]) for day, row in rows]
    return "\n".join([head, *lines]) + "\n"


def both(values: Any) -> dict[str, list[float]]:
    """The values of the assets A and B, as they were written."""
    return {"A": values[:, 0].tolist(), "B": values[:, 1].tolist()}


TURKISH = [
    *("ocak", "şubat", "mart", "nisan", "mayıs", "haziran"),
    *("temmuz", "ağustos", "eylül", "ekim", "kasım", "aralık"),
]
AUSTRIAN = ["Jänner", "Feber", "März", "April", "Mai", "Juni", "Juli", "August", "September"]
AUSTRIAN += ["Oktober", "November", "Dezember"]
INDONESIAN = ["Januari", "Februari", "Maret", "April", "Mei", "Juni", "Juli", "Agustus"]
INDONESIAN += ["September", "Oktober", "November", "Desember"]
UKRAINIAN = ["січень", "лютий", "березень", "квітень", "травень", "червень", "липень"]
UKRAINIAN += ["серпень", "вересень", "жовтень", "листопад", "грудень"]
QUARTERS = {
    "months of one digit": [f"{2020 + i // 12}-{i % 12 + 1}" for i in range(30)],
    "months after a colon": [f"{2020 + i // 12}:{i % 12 + 1:02d}" for i in range(30)],
    "months in Austria": [f"{AUSTRIAN[i % 12]} {2020 + i // 12}" for i in range(30)],
    "months in Indonesian": [f"{INDONESIAN[i % 12]} {2020 + i // 12}" for i in range(30)],
    "months in Ukrainian": [f"{UKRAINIAN[i % 12]} {2020 + i // 12}" for i in range(30)],
    "fiscal years": [f"{1980 + i}/{(1981 + i) % 100:02d}" for i in range(30)],
    "quarters that look like months": [f"{2010 + i // 4}-{i % 4 + 1}" for i in range(30)],
    "quarters in Portuguese": [f"{i % 4 + 1}T{2010 + i // 4}" for i in range(30)],
    "quarters in French": [f"{i % 4 + 1}e trimestre {2010 + i // 4}" for i in range(30)],
    "quarters in Polish": [
        f"{['I', 'II', 'III', 'IV'][i % 4]} kw. {2010 + i // 4}" for i in range(30)
    ],
    "quarters in Japanese": [f"{2010 + i // 4}年第{i % 4 + 1}四半期" for i in range(30)],
    "quarters of two digits": [f"Q{i % 4 + 1}/{10 + i // 4}" for i in range(30)],
    "half years in German": [f"{i % 2 + 1}. Halbjahr {2000 + i // 2}" for i in range(30)],
    "weeks of the year": [f"2020-W{i + 1:02d}" for i in range(30)],
    "seconds since 1970": [1577836800 + 86400 * i for i in range(30)],
    "months in Turkish": [f"{TURKISH[i % 12]} {2020 + i // 12}" for i in range(30)],
}
HEADS = {
    "quarters in Portuguese": "Trimestre",
    "quarters in French": "Période",
    "quarters in Polish": "Kwartał",
    "quarters in Japanese": "期間",
}

# The file, options, and the prices or returns by asset, first to last.
HISTORIES: dict[str, tuple[str | bytes, dict[str, Any], dict[str, list[float]]]] = {
    **{
        case: (table(f"{HEADS.get(case, 'date')},A,B", PRICES, days), {}, both(PRICES))
        for case, days in QUARTERS.items()
    },
    "year and month in columns of their own": (
        table("Year,Month,A,B", PRICES, [f"{day.year},{day.month}" for day in MONTHS]),
        {},
        both(PRICES),
    ),
    "year and quarter in columns of their own": (
        table("Jahr,Quartal,A,B", PRICES, [f"{2010 + i // 4},Q{i % 4 + 1}" for i in range(30)]),
        {},
        both(PRICES),
    ),
    "a column that counts the rows": (
        table("#,Date,A,B", PRICES, [f"{i + 1},{day}" for i, day in enumerate(MONTHS)]),
        {},
        both(PRICES),
    ),
    "logarithmic returns": (
        table("Date,A log return,B log return", np.log1p(RETURNS), spelled="{:.15f}"),
        {},
        {
            "A log return": np.expm1(np.round(np.log1p(RETURNS[:, 0]), 15)).tolist(),
            "B log return": np.expm1(np.round(np.log1p(RETURNS[:, 1]), 15)).tolist(),
        },
    ),
    "tickers of London": (
        table("Date,IUSA LN Equity,IWDA LN Equity", RETURNS),
        {},
        {
            "IUSA LN Equity": RETURNS[:, 0].tolist(),
            "IWDA LN Equity": RETURNS[:, 1].tolist(),
        },
    ),
    "tickers of London, prices": (
        table("Date,IUSA LN,IWDA LN", PRICES, spelled="{:.2f}"),
        {},
        {"IUSA LN": PRICES[:, 0].tolist(), "IWDA LN": PRICES[:, 1].tolist()},
    ),
    "a fraction beside percentages": (
        table("Date,A,B", RETURNS * [100, 1]),
        {},
        {"A": RETURNS[:, 0].tolist(), "B": (RETURNS[:, 1] / 100).tolist()},
    ),
    "returns in thousandths": (
        table("Date,A,B", 1000 * RETURNS, spelled="{:.1f}"),
        {},
        both(np.round(1000 * RETURNS, 1) / 100),
    ),
    "prices in several currencies": (
        table("Date,A (USD),B (EUR)", PRICES, spelled="{:.2f}"),
        {},
        {"A (USD)": PRICES[:, 0].tolist(), "B (EUR)": PRICES[:, 1].tolist()},
    ),
    "currencies in a row below the names": (
        table("Date,A,B\n,USD,EUR", PRICES, spelled="{:.2f}"),
        {},
        {"A (USD)": PRICES[:, 0].tolist(), "B (EUR)": PRICES[:, 1].tolist()},
    ),
    "an interest rate among prices": (
        table("Date,A,Interest rate %", np.column_stack([PRICES[:, 0], 2 + RETURNS[:, 1]])),
        {},
        {"A": PRICES[:, 0].tolist(), "Interest rate %": (2 + RETURNS[:, 1]).tolist()},
    ),
    "a total and a measure of risk among returns": (
        table(
            "Date,A,B,Total,Volatility A",
            np.column_stack([RETURNS, RETURNS.mean(axis=1), np.abs(RETURNS[:, 0])]),
        ),
        {},
        {
            "A": RETURNS[:, 0].tolist(),
            "B": RETURNS[:, 1].tolist(),
            "Total": [float(f"{one:.4f}") for one in RETURNS.mean(axis=1)],
            "Volatility A": np.abs(RETURNS[:, 0]).tolist(),
        },
    ),
    "two classes of one fund": (
        table("Date,A,A institutional", PRICES[:, [0, 0]] * [1, 2]),
        {},
        {"A": PRICES[:, 0].tolist(), "A institutional": (2 * PRICES[:, 0]).tolist()},
    ),
    "months, then days": (
        table("Date,A,B", LONGER, [*MONTHS, *DAYS]),
        {},
        both(LONGER),
    ),
    "returns of funds in rows, the word beside each month": (
        (
            "Name,ISIN,Return 2020-01,Return 2020-02,Return 2020-03\n"
            "Fund A,LU0000000001,1.2,-0.3,0.7\nFund B,LU0000000002,0.1,0.2,-0.3\n"
        ),
        {},
        {"Fund A": [0.012, -0.003, 0.007], "Fund B": [0.001, 0.002, -0.003]},
    ),
    "funds of a year, and a column of dates": (
        table("Date,Return 2025,Return 2026", PRICES),
        {},
        {"Return 2025": PRICES[:, 0].tolist(), "Return 2026": PRICES[:, 1].tolist()},
    ),
    "one price a hundred times too large": (table("Date,A,B", SPIKED), {}, both(SPIKED)),
    "classes before funds, months above": (
        "Class,Fund,2020-01,2020-02,2020-03\nEquity,A,1.2,-0.3,0.7\nBonds,B,0.1,0.2,-0.3\n",
        {},
        {"A": [0.012, -0.003, 0.007], "B": [0.001, 0.002, -0.003]},
    ),
}

# The file, options, and what each investor holds.
HOLDINGS: dict[str, tuple[str | bytes, dict[str, Any], dict[str, dict[str, float]]]] = {
    "names with a comma, parted by semicolons, and a note": (
        (
            "Cliente;World;Bonds;Suma\nPérez, Ana;40,0 %;60,0 %;100,0 %\n"
            "Núñez, José;20,0 %;80,0 % (1);100,0 %\n\n(1) Incluye derivados.\n"
        ),
        {},
        {"Pérez, Ana": held(0.4, 0.6, 0), "Núñez, José": held(0.2, 0.8, 0)},
    ),
    "francs without cents": (
        "Kunde;Titel;Kurswert CHF\nMeier;World;1'250'000.–\nMeier;Gold;CHF 1'250'000.-\n",
        {},
        {"Meier": held(0.5, 0, 0.5)},
    ),
    "euros without cents": (
        "klant;World;Gold\nJan;€ 1.000,-;€ 3.000,--\n",
        {},
        {"Jan": held(0.25, 0, 0.75)},
    ),
    "totals of each account in French": (
        (
            "Compte;Libellé valeur;Valorisation\n1;World;1 500,00\n1;Bonds;500,00\n"
            "1;Total compte 1;2 000,00\n2;Gold;100,00\n2;Total compte 2;100,00\n"
            "Total général;;2 100,00\n"
        ),
        {},
        {"1": held(0.75, 0.25, 0), "2": held(0, 0, 1)},
    ),
    "totals of each class, without an asset": (
        (
            "Depot;Kategorie;Titel;Anteil in %\n1;Aktien;World;60,00\n1;Summe Aktien;;60,00\n"
            "1;Anleihen;Bonds;40,00\n1;Summe Anleihen;;40,00\n2;Anleihen;Bonds;100,00\n"
        ),
        {},
        {"1": held(0.6, 0.4, 0), "2": held(0, 1, 0)},
    ),
    "a pivot table with totals of its investors": (
        workbook(
            Pivot=[
                ["Client", "Asset", "Value"],
                ["Ann", "World", 60],
                [None, "Gold", 40],
                ["Ann Total", None, 100],
                ["Bob", "Gold", 40],
                ["Bob Total", None, 40],
                ["Grand Total", None, 140],
            ]
        ),
        {"name": "file.xlsx"},
        {"Ann": held(0.6, 0, 0.4), "Bob": held(0, 0, 1)},
    ),
    "millions and thousands in the names": (
        "Kunde;World (mio. kr.);Gold (tsd. kr.)\nA;1,5;500,0\nB;0,5;1.500,0\n",
        {},
        {"A": held(0.75, 0, 0.25), "B": held(0.25, 0, 0.75)},
    ),
    "millions and thousands in a row below": (
        "Client,World,Gold\n,in EUR m,in EUR k\nA,1.5,500\nB,0.5,1500\n",
        {},
        {"A": held(0.75, 0, 0.25), "B": held(0.25, 0, 0.75)},
    ),
    "units of ten thousand in Chinese": (
        "客户名称,World（万元）,Gold（元）\n张三,6,40000\n李四,1,10000\n",
        {},
        {"张三": held(0.6, 0, 0.4), "李四": held(0.5, 0, 0.5)},
    ),
    "funds that own, told by their sums": (
        "Fund,Security,Long %,Net %\nF1,World,60,50\nF1,Bonds,50,50\nF2,Gold,100,100\n",
        {},
        {"F1": held(0.5, 0.5, 0), "F2": held(0, 0, 1)},
    ),
    "owners that nothing tells": (
        "Strategy,Security,Amount\nS1,World,60\nS1,Bonds,40\nS2,Gold,100\n",
        {"name": "file.csv"},
        {"file": held(0.3, 0.2, 0.5)},
    ),
    "what it was worth before": (
        (
            "Customer,Fund,Opening value,Closing value,Value change\nC1,World,100,160,60\n"
            "C1,Gold,100,40,-60\nC2,Bonds,10,11,1\n"
        ),
        {},
        {"C1": held(0.8, 0, 0.2), "C2": held(0, 1, 0)},
    ),
    "the weight before and the current one": (
        (
            "client,asset,Prior weight,Current weight\nA,World,50%,60%\nA,Gold,50%,40%\n"
            "B,Gold,1%,100%\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "actual and target weights side by side": (
        (
            "plan,fy,World actual %,World target %,Bonds actual %,Bonds target %\n"
            "P1,2021,58,60,42,40\nP2,2021,71,70,29,30\n"
        ),
        {},
        {"P1": held(0.58, 0.42, 0), "P2": held(0.71, 0.29, 0)},
    ),
    "dates on which each asset was bought": (
        (
            "client,asset,purchase date,value\nA,World,2019-01-31,60\nA,Gold,2020-01-31,40\n"
            "B,Gold,2021-01-31,40\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "sheets called by dates": (
        workbook(
            _2023_12=[["Client", "World", "Gold"], ["A", 0.6, 0.4]],
            _2024_01=[["Client", "World", "Gold"], ["A", 0.7, 0.3]],
        ),
        {"name": "file.xlsx"},
        {"A": held(0.7, 0, 0.3)},
    ),
    "rows that are counted": (
        "#,client,World,Gold\n1,Ann,600,400\n2,Bob,300,700\n3,Cy,100,900\n",
        {},
        {"Ann": held(0.6, 0, 0.4), "Bob": held(0.3, 0, 0.7), "Cy": held(0.1, 0, 0.9)},
    ),
    "shares and prices in Spanish": (
        (
            "Titular;Valor;Nominal;Cambio\nGarcía;World;100;10,00\nGarcía;Gold;50;20,00\n"
            "López;Gold;1;20,00\n"
        ),
        {},
        {"García": held(0.5, 0, 0.5), "López": held(0, 0, 1)},
    ),
    "accounts in Dutch": (
        "Rekening;Fonds;Waarde in EUR\n1;World;€ 100,00\n1;Gold;€ 300,00\n2;Gold;€ 30,00\n",
        {},
        {"1": held(0.25, 0, 0.75), "2": held(0, 0, 1)},
    ),
    "percentages rounded to tens": (
        "client,World,Bonds,Gold\nA,50,40,20\nB,30,30,30\nC,60,20,20\n",
        {},
        {
            "A": held(5 / 11, 4 / 11, 2 / 11),
            "B": held(1 / 3, 1 / 3, 1 / 3),
            "C": held(0.6, 0.2, 0.2),
        },
    ),
    "amounts that happen to add up to a hundred in the middle": (
        "client,World,Bonds,Gold\nA,5,4,11\nB,30,30,40\nC,60,220,20\n",
        {},
        {"A": held(0.25, 0.2, 0.55), "B": held(0.3, 0.3, 0.4), "C": held(0.2, 220 / 300, 20 / 300)},
    ),
    "a first client of whom nothing is known yet": (
        "client,World,Gold\nA,pending,pending\nB,10,90\nC,30,70\nD,20,80\n",
        {},
        {"B": held(0.1, 0, 0.9), "C": held(0.3, 0, 0.7), "D": held(0.2, 0, 0.8)},
    ),
    "one investor at many dates": (
        "date,World,Gold\n" + "".join(f"2024-{m:02d}-28,{50 + m},{50 - m}\n" for m in range(1, 9)),
        {},
        {f"row {m + 1}": held((50 + m) / 100, 0, (50 - m) / 100) for m in range(1, 9)},
    ),
    "numbers of clients that a spreadsheet shortened": (
        (
            "client,asset,value\n4.02E+11,World,60\n4.02E+11,Gold,40\n4.02E+11,World,10\n"
            "4.02E+11,Gold,90\n5.1E+11,Gold,5\n"
        ),
        {},
        {"4.02E+11": held(0.35, 0, 0.65), "5.1E+11": held(0, 0, 1)},
    ),
    "a value that is not units times price, in German": (
        (
            "Kunde;Fonds;Stück;Kurs;Bewertung\n1;World;10;10,00;100,00\n"
            "1;Bonds;10000;99,00;9900,00\n2;Gold;1;100,00;100,00\n"
        ),
        {},
        {"1": held(0.01, 0.99, 0), "2": held(0, 0, 1)},
    ),
    "a value of another name beside bonds quoted per 100": (
        (
            "client,asset,shares,price,Evaluation\n1,World,10,10,100\n1,Bonds,10000,99,9900\n"
            "2,Gold,1,100,100\n"
        ),
        {},
        {"1": held(100 / 990_100, 990_000 / 990_100, 0), "2": held(0, 0, 1)},
    ),
    "one person written in three ways": (
        "client,World,Gold\nAnn Lee,60,40\nann lee ,50,50\nAnn  Lee,10,90\n",
        {},
        {"Ann Lee": held(0.6, 0, 0.4), "ann lee": held(0.5, 0, 0.5), "Ann  Lee": held(0.1, 0, 0.9)},
    ),
    "options among shares": (
        (
            "filer,cusip,asset,value,putCall\nAlpha,A,World,600,\nAlpha,B,Gold,400,Put\n"
            "Beta,A,World,500,\nBeta,B,Gold,500,Call\n"
        ),
        {"roles": {"filer": "investor"}},
        {"Alpha": held(0.6, 0, 0.4), "Beta": held(0.5, 0, 0.5)},
    ),
    "options by their kind": (
        "client,asset,value,type\nA,World,600,Stock\nA,Gold,400,Put Option\nB,World,5,Stock\n",
        {},
        {"A": held(0.6, 0, 0.4), "B": held(1, 0, 0)},
    ),
    "the change of a day among positions": (
        (
            '"Positions for account 123 as of 04:00 PM ET, 2024/01/31"\n\n"Symbol","Price",'
            '"Mkt Val (Market Value)","Day Chng $ (Day Change $)"\n"World","100.00","$6,000.00",'
            '"$50.00"\n"Gold","72.00","$4,000.00","-$9.00"\n"Account Total","--","$10,000.00",'
            '"$41.00"\n'
        ),
        {},
        {"file": held(0.6, 0, 0.4)},
    ),
    "a recommended fund beside amounts": (
        (
            "client,recommended fund,World,Bonds,Gold\nA,World,6000,2000,2000\n"
            "B,Gold,1000,1000,8000\nC,Bonds,2000,7000,1000\n"
        ),
        {},
        {"A": held(0.6, 0.2, 0.2), "B": held(0.1, 0.1, 0.8), "C": held(0.2, 0.7, 0.1)},
    ),
    "the largest position beside percentages": (
        "client;largest position;World;Bonds;Gold\nA;World;60;20;20\nB;Gold;10;10;80\n",
        {},
        {"A": held(0.6, 0.2, 0.2), "B": held(0.1, 0.1, 0.8)},
    ),
    "a style called as sectors are": (
        "fund,style,World,Bonds,Gold\nF1,Bonds,10,80,10\nF2,World,70,10,20\n",
        {},
        {"F1": held(0.1, 0.8, 0.1), "F2": held(0.7, 0.1, 0.2)},
    ),
    "a benchmark before the asset": (
        (
            "fund,benchmark,asset,weight\nF1,World,World,60\nF1,World,Gold,40\n"
            "F2,Bonds,Bonds,50\nF2,Bonds,Gold,50\n"
        ),
        {},
        {"F1": held(0.6, 0, 0.4), "F2": held(0, 0.5, 0.5)},
    ),
    "a sleeve before the asset": (
        (
            "client,sleeve,asset,weight\nA,World,World,60\nA,World,Gold,40\nB,Gold,World,50\n"
            "B,Gold,Gold,50\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0.5, 0, 0.5)},
    ),
    "two columns of assets, one that names each once": (
        "client,region,line,weight\nA,World,World,60\nA,World,Gold,40\nB,Gold,Gold,100\n",
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "clients called as assets are": (
        "client,asset,weight\nGold,World,60\nGold,Gold,40\nWorld,Gold,100\n",
        {},
        {"Gold": held(0.6, 0, 0.4), "World": held(0, 0, 1)},
    ),
    "values at two dates": (
        (
            "client,asset,Value 31.12.2023,Value 31.01.2024\nA,World,500,600\nA,Gold,500,400\n"
            "B,Gold,100,100\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "weights of two years in German, the later first": (
        ("Kunde;Fonds;Gewicht 2023;Gewicht 2022\nA;World;60;50\nA;Gold;40;50\nB;Gold;100;100\n"),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "weights of two quarters": (
        (
            "client,asset,Q4 2023 weight,Q1 2024 weight\nA,World,50,60\nA,Gold,50,40\n"
            "B,Gold,100,100\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "shares and prices at two dates": (
        (
            "client,asset,shares_2023_12_31,shares_2024_01_31,price_2023_12_31,price_2024_01_31\n"
            "A,World,10,10,5,6\nA,Gold,5,4,10,10\nB,Gold,1,1,10,10\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0, 0, 1)},
    ),
    "each asset at two dates": (
        (
            "client,World 31.12.2023,World 31.01.2024,Gold 31.12.2023,Gold 31.01.2024\n"
            "A,50,60,50,40\nB,0,10,100,90\n"
        ),
        {},
        {"A": held(0.6, 0, 0.4), "B": held(0.1, 0, 0.9)},
    ),
    "a history that names currencies, portfolios that do not": (
        "client,World,Gold\nA,60,40\n",
        {"assets": ["World (USD)", "Gold (EUR)"]},
        {"A": {"World (USD)": 0.6, "Gold (EUR)": 0.4}},
    ),
}

# Histories that no rule can decide.
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "returns since the beginning": (
        table("Date,A,B", 100 * (np.cumprod(1 + 2 * RETURNS - 0.012, axis=0) - 1)),
        {},
    ),
    "returns of the year so far": (table("Date,A YTD,B YTD", 100 * RETURNS), {}),
    "cumulative returns by name": (table("Fecha,A,B", RETURNS), {"name": "acumulado.csv"}),
    "yearly rates in monthly rows": (table("Date,A (p.a.),B (p.a.)", 1200 * RETURNS), {}),
    "logarithms of prices": (table("Date,log A,log B", np.log(PRICES)), {}),
    "basis points": (table("Date,A bps,B bps", 10000 * RETURNS, spelled="{:.0f}"), {}),
    "yearly returns below monthly ones": (
        "Made by hand\n\n"
        + table(",Mkt,SMB", 100 * RETURNS, [day.strftime("%Y%m") for day in MONTHS])
        + "\n Annual Factors: January-December\n,Mkt,SMB\n2020,10.2,3.1\n2021,5.5,2.2\n",
        {},
    ),
    "prices beside returns": (
        table("Date,A,B", np.column_stack([PRICES[:, 0], 100 * RETURNS[:, 1]])),
        {},
    ),
    "yields by maturity": (table("Date,2Y,10Y", 3 + RETURNS), {}),
}

# Portfolios that no rule can decide.
REFUSED_PORTFOLIOS: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "transactions": (
        (
            "Date,Client,Type,Security,Amount\n2023-01-05,C1,Buy,World,1000\n"
            "2023-02-05,C1,Dividend,World,20\n2023-03-05,C1,Sell,World,500\n"
        ),
        {},
    ),
    "a cell that is a book": (f'client,note,World,Gold\nA,"{"words " * 20_000}",60,40\n', {}),
    "a second table with other columns": (
        "Client,World,Gold\nA,60,40\nC,10,90\n\nClient,Bonds,Gold\nB,50,50\nD,20,80\n",
        {},
    ),
    "a second table in Excel": (
        workbook(
            S=[["Client", "World", "Gold"], ["A", 0.6, 0.4], [None], ["Name", "Bonds", "Gold"],
               ["B", 0.5, 0.5]]
        ),
        {"name": "file.xlsx"},
    ),
}  # fmt: skip
