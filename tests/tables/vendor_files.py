"""Files as brokers, custodians and data vendors write them, shortened.

Each with what must be read from it; what a person is told is in vendor_files.txt, case by case.
"""

from typing import Any

# The file, options, and the prices or returns by asset, first to last.
HISTORIES: dict[str, tuple[str, dict[str, Any], dict[str, list[float]]]] = {
    "terminal with lines above and a row of fields": (
        (
            "Start Date,31/01/2024,,\nCurrency,USD,,\nPeriod,M,,\n,,,\n"
            ",SPX Index,MXEU Index,LBUSTRUU Index\nDates,PX_LAST,PX_LAST,PX_LAST\n"
            "31/01/2024,4845.65,1620.10,2131.52\n29/02/2024,5096.27,1650.42,2101.40\n"
            "28/03/2024,5254.35,1710.03,2120.77\n"
        ),
        {},
        {
            "SPX Index": [4845.65, 5096.27, 5254.35],
            "MXEU Index": [1620.10, 1650.42, 1710.03],
            "LBUSTRUU Index": [2131.52, 2101.40, 2120.77],
        },
    ),
    "index vendor with settings above": (
        (
            "Index Level:,Price,,\nCurrency:,USD,,\nSize:,Standard (Large+Mid Cap),,\n,,,\n"
            "Date,WORLD Standard,EM Standard\n"
            '"Jan 31, 2024","3,205.295","975.796"\n"Feb 29, 2024","3,337.325","1,020.944"\n'
            '"Mar 29, 2024","3,437.764","1,043.196"\n\nCopyright 2024. All rights reserved.\n'
        ),
        {},
        {
            "WORLD Standard": [3205.295, 3337.325, 3437.764],
            "EM Standard": [975.796, 1020.944, 1043.196],
        },
    ),
    "groups above names": (
        (
            "Date,Equities,,Bonds,\n,US,EU,US,EU\n2024-01-31,0.011,-0.02,0.002,0.001\n"
            "2024-02-29,-0.03,0.015,-0.004,0.002\n2024-03-31,0.02,0.01,0.003,-0.001\n"
        ),
        {},
        {
            "Equities US": [0.011, -0.03, 0.02],
            "Equities EU": [-0.02, 0.015, 0.01],
            "Bonds US": [0.002, -0.004, 0.003],
            "Bonds EU": [0.001, 0.002, -0.001],
        },
    ),
    "groups above names and a date": (
        (
            ",Equities,,Bonds,\nDate,US,EU,US,EU\n2024-01-31,0.011,-0.02,0.002,0.001\n"
            "2024-02-29,-0.03,0.015,-0.004,0.002\n2024-03-31,0.02,0.01,0.003,-0.001\n"
        ),
        {},
        {
            "Equities US": [0.011, -0.03, 0.02],
            "Equities EU": [-0.02, 0.015, 0.01],
            "Bonds US": [0.002, -0.004, 0.003],
            "Bonds EU": [0.001, 0.002, -0.001],
        },
    ),
    "quotes copied from a web page": (
        (
            "Date\tOpen\tHigh\tLow\tClose Close price adjusted for splits.\t"
            "Adj Close Adjusted close price.\tVolume\n"
            "Mar 1, 2024\t179.55\t180.53\t168.49\t171.48\t170.61\t1,432,782,800\n"
            "Feb 1, 2024\t183.99\t191.05\t179.25\t180.75\t179.60\t1,161,627,000\n"
            "Jan 1, 2024\t187.15\t196.38\t180.17\t184.40\t183.23\t1,187,219,300\n"
        ),
        {"name": "AAPL.tsv"},
        {"AAPL": [183.23, 179.60, 170.61]},
    ),
    "quotes with a change in percent": (
        (
            '"Date","Price","Open","High","Low","Vol.","Change %"\n'
            '"03/01/2024","5,254.35","5,098.51","5,264.85","5,056.82","80.2B","3.10%"\n'
            '"02/01/2024","5,096.27","4,861.12","5,111.06","4,853.52","79.5B","5.17%"\n'
            '"01/01/2024","4,845.65","4,745.20","4,931.09","4,682.11","81.9B","1.59%"\n'
        ),
        {"name": "SPX.csv"},
        {"SPX": [4845.65, 5096.27, 5254.35]},
    ),
    "polish quotes": (
        (
            "Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen\n"
            "2024-01-31,67.1,69.9,66.2,67.72,30112233\n2024-02-29,67.8,70.1,66.0,69.05,28111222\n"
            "2024-03-31,69.1,71.2,64.9,64.84,31222111\n"
        ),
        {"name": "PKN.csv"},
        {"PKN": [67.72, 69.05, 64.84]},
    ),
    "german quotes": (
        (
            '"Wertpapier: Weltaktien";\n\nDatum;Eröffnung;Hoch;Tief;Schluss;Volumen\n'
            "28.03.2024;1.092,10;1.101,55;1.090,20;1.099,80;12.345\n"
            "29.02.2024;1.060,00;1.075,20;1.055,10;1.070,40;11.222\n"
            "31.01.2024;1.021,30;1.030,00;1.015,75;1.025,60;10.111\n"
        ),
        {"name": "Welt.csv"},
        {"Welt": [1025.60, 1070.40, 1099.80]},
    ),
    "german percentages with an average": (
        (
            "Monat;Fonds A;Fonds B\nJan 2024;1,50 %;-0,30 %\nFeb 2024;-2,25 %;0,10 %\n"
            "Mrz 2024;3,00 %;0,40 %\nDurchschnitt;0,75 %;0,07 %\n"
        ),
        {},
        {"Fonds A": [0.015, -0.0225, 0.03], "Fonds B": [-0.003, 0.001, 0.004]},
    ),
    "brazilian prices": (
        (
            "Data;Fundo A;Ibovespa\n31/01/2024;R$ 101,25;127.752,28\n29/02/2024;R$ 102,"
            "50;129.020,02\n"
            "28/03/2024;R$ 103,00;128.106,10\n"
        ),
        {},
        {
            "Fundo A": [101.25, 102.50, 103.00],
            "Ibovespa": [127752.28, 129020.02, 128106.10],
        },
    ),
    "brazilian months": (
        (
            "Mês;CDI;Fundo\njan/24;0,97%;-1,20%\nfev/24;0,80%;2,10%\nset/24;0,84%;-0,50%\n"
            "out/24;0,93%;1,00%\ndez/24;0,93%;0,35%\n"
        ),
        {},
        {
            "CDI": [0.0097, 0.0080, 0.0084, 0.0093, 0.0093],
            "Fundo": [-0.012, 0.021, -0.005, 0.01, 0.0035],
        },
    ),
    "indian fund values with codes": (
        (
            "Scheme Code;ISIN Growth;Scheme Name;Net Asset Value;Date\n"
            "119551;INF209K01YM2;Bond Fund;106.2811;31-Jan-2024\n"
            "119551;INF209K01YM2;Bond Fund;107.0202;29-Feb-2024\n"
            "119551;INF209K01YM2;Bond Fund;107.8345;28-Mar-2024\n"
        ),
        {},
        {"INF209K01YM2": [106.2811, 107.0202, 107.8345]},
    ),
    "a code for none": (
        (
            "Date,A,B\n2024-01,1.20,-0.50\n2024-02,-99.99,0.40\n2024-03,-2.10,1.10\n2024-04,"
            "0.80,0.20\n"
        ),
        {},
        {"A": [0.012, -0.9999, -0.021, 0.008], "B": [-0.005, 0.004, 0.011, 0.002]},
    ),
    "a currency nobody told us of": (
        (
            "Date,A,B\n2024-01-31,LEI 101.20,13.1\n2024-02-29,LEI 102.00,13.2\n"
            "2024-03-31,LEI 103.10,13.4\n"
        ),
        {},
        {"B": [13.1, 13.2, 13.4]},
    ),
    "japanese unit prices with kanji dates": (
        ("日付,日本株ファンド,外国債券ファンド\n2024年1月31日,12,345円,9,876円\n").replace(
            "12,345円,9,876円", '"12,345円","9,876円"'
        )
        + '2024年2月29日,"12,500円","9,900円"\n2024年3月29日,"12,480円","9,950円"\n',
        {"decimal": "point"},
        {
            "日本株ファンド": [12345.0, 12500.0, 12480.0],
            "外国債券ファンド": [9876.0, 9900.0, 9950.0],
        },
    ),
    "japanese era years and wide digits": (
        (
            "基準日,ファンドA,ファンドB\n令和6年1月31日,１００．５,９９\n令和6年2月29日,１０１,９８．５\n"
            "令和6年3月31日,１０２,９９．５\n"
        ),
        {},
        {"ファンドA": [100.5, 101.0, 102.0], "ファンドB": [99.0, 98.5, 99.5]},
    ),
    "polish months in words": (
        (
            "Data;Akcje;Obligacje\n31 stycznia 2024;100,0;50,0\n29 lut 2024;101,5;50,2\n"
            "31 marca 2024;102,0;50,1\n"
        ),
        {},
        {"Akcje": [100.0, 101.5, 102.0], "Obligacje": [50.0, 50.2, 50.1]},
    ),
    "chinese net values": (
        (
            "净值日期,股票基金,债券基金\n2024/01/31,1.2345,1.0567\n2024/02/29,1.2500,1.0570\n"
            "2024/03/29,1.2600,1.0580\n"
        ),
        {},
        {"股票基金": [1.2345, 1.25, 1.26], "债券基金": [1.0567, 1.057, 1.058]},
    ),
}

# Files that end in one sentence.
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "percent signs in one column only": (
        "Date,A,B\n2024-01-31,1.2%,1.3\n2024-02-29,-2%,-0.4\n2024-03-31,1%,2\n",
        {},
    ),
}

# The file, options, and the weights by investor.
HOLDINGS: dict[str, tuple[str, dict[str, Any], dict[str, dict[str, float]]]] = {
    "activity statement of a broker": (
        (
            "Statement,Header,Field Name,Field Value\nStatement,Data,Title,Activity Statement\n"
            "Open Positions,Header,Asset Category,Currency,Symbol,Quantity,Cost Price,Cost Basis,"
            "Close Price,Value\n"
            "Open Positions,Data,Stocks,USD,AAPL,100,150,15000,190,19000\n"
            "Open Positions,Data,Stocks,USD,MSFT,50,300,15000,420,21000\n"
            "Open Positions,Total,Stocks,USD,,,,30000,,40000\n"
        ),
        {"name": "U1.csv"},
        {"U1": {"AAPL": 0.475, "MSFT": 0.525}},
    ),
    "asset classes beside symbols": (
        (
            '"ClientAccountID","AssetClass","Symbol","ReportDate","PositionValue","PercentOfNAV"\n'
            '"U1","STK","AAPL","20240331","17148","45.5"\n"U1","STK","MSFT","20240331",'
            '"20540","54.5"\n'
            '"U2","STK","AAPL","20240331","1714.8","100"\n'
        ),
        {},
        {"U1": {"AAPL": 0.455, "MSFT": 0.545}, "U2": {"AAPL": 1.0, "MSFT": 0.0}},
    ),
    "custodian with local and base values, cash and totals": (
        (
            "Custody account holdings as of 31.03.2024\n"
            "Client;ISIN;Security name;Quantity;Price;Currency;Market value (local);"
            "Market value (CHF)\n"
            "C-001;CH0038863350;Nestle N;100;90.00;CHF;9'000.00;9'000.00\n"
            "C-001;US0378331005;Apple Inc;50;200.00;USD;10'000.00;9'000.00\n"
            "C-001;;Cash CHF;;;CHF;2'000.00;2'000.00\nC-001;;Total;;;;;20'000.00\n"
            "C-002;CH0038863350;Nestle N;10;90.00;CHF;900.00;900.00\nC-002;;Total;;;;;900.00\n"
        ),
        {},
        {
            "C-001": {"CH0038863350": 0.45, "US0378331005": 0.45, "Cash CHF": 0.1},
            "C-002": {"CH0038863350": 1.0, "US0378331005": 0.0, "Cash CHF": 0.0},
        },
    ),
    "german bank with liquidity and the rest": (
        (
            "Kunde;Aktien Welt;Anleihen EUR;Liquidität;Sonstige;Alter\n"
            "Huber;55,0;30,0;10,0;5,0;61\nMaier;40,0;50,0;10,0;0,0;48\n"
            "Weiß;70,0;29,5;0,0;0,5;35\n"
        ),
        {"assets": ["Aktien Welt", "Anleihen EUR"]},
        {
            "Huber": {"Aktien Welt": 55 / 85, "Anleihen EUR": 30 / 85},
            "Maier": {"Aktien Welt": 4 / 9, "Anleihen EUR": 5 / 9},
            "Weiß": {"Aktien Welt": 70 / 99.5, "Anleihen EUR": 29.5 / 99.5},
        },
    ),
    "french insurer with cash at a rate": (
        (
            "contrat;support;montant\nC1;Actions Monde;6 000,00\nC1;Obligations;3 000,00\n"
            "C1;Liquidités;1 000,00\nC2;Actions Monde;500,00\nC2;Compte espèces EUR;500,00\n"
        ),
        {"assets": ["Actions Monde", "Obligations", "Liquidités"]},
        {
            "C1": {"Actions Monde": 0.6, "Obligations": 0.3, "Liquidités": 0.1},
            "C2": {"Actions Monde": 0.5, "Obligations": 0.0, "Liquidités": 0.5},
        },
    ),
    "italian private bank with cash in two currencies": (
        (
            "Cliente;Titolo ISIN;Controvalore valore\nRossi;IE00B4L5Y983;8.500,00\n"
            "Rossi;Liquidità EUR;1.000,00\nRossi;Liquidità USD;500,00\n"
            "Bianchi;IE00B4L5Y983;1.000,00\nBianchi;LU0290358497;1.000,00\n"
            "Verdi;LU0290358497;600,00\nVerdi;Conto liquidità;400,00\n"
        ),
        {"assets": ["IE00B4L5Y983", "LU0290358497"]},
        {
            "Rossi": {"IE00B4L5Y983": 1.0, "LU0290358497": 0.0},
            "Bianchi": {"IE00B4L5Y983": 0.5, "LU0290358497": 0.5},
        },
    ),
    "spanish fund platform, cash within percent": (
        (
            "Cliente;Renta Variable;Renta Fija;Efectivo\nGarcía;50 %;35 %;15 %\n"
            "López;45 %;50 %;5 %\n"
        ),
        {"assets": ["Renta Variable", "Renta Fija", "Efectivo"]},
        {
            "García": {"Renta Variable": 0.5, "Renta Fija": 0.35, "Efectivo": 0.15},
            "López": {"Renta Variable": 0.45, "Renta Fija": 0.5, "Efectivo": 0.05},
        },
    ),
    "polish broker with cash beside": (
        (
            "Klient id;Akcje;Obligacje;Środki pieniężne\nK1;6000;3000;1000\nK2;900;0;100\n"
            "K3;200;0;800\n"
        ),
        {"assets": ["Akcje", "Obligacje"]},
        {
            "K1": {"Akcje": 2 / 3, "Obligacje": 1 / 3},
            "K2": {"Akcje": 1.0, "Obligacje": 0.0},
        },
    ),
    "american custodian with a sweep account": (
        (
            "Account,Symbol,Market Value\n1001,VTI,$70000.00\n1001,BND,$25000.00\n"
            "1001,Cash & Equivalents,$5000.00\n1002,VTI,$9000.00\n"
            "1002,Sweep cash balance,$1000.00\n"
        ),
        {"assets": ["VTI", "BND", "Cash"]},
        {
            "1001": {"VTI": 0.7, "BND": 0.25, "Cash": 0.05},
            "1002": {"VTI": 0.9, "BND": 0.0, "Cash": 0.1},
        },
    ),
    "german custodian": (
        (
            "Depotnummer;WKN;ISIN;Bezeichnung;Stück/Nominale;Kurs;Währung;Kurswert in EUR\n"
            "4711;A0RPWH;IE00B4L5Y983;Welt;1.250,00;92,40;EUR;115.500,00\n"
            "4711;A0HGV0;IE00B0M62Q58;Schwellen;1.000,00;38,50;EUR;38.500,00\n"
            "4712;A0RPWH;IE00B4L5Y983;Welt;10,00;92,40;EUR;924,00\nSumme;;;;;;;154.924,00\n"
        ),
        {},
        {"4711": {"A0RPWH": 0.75, "A0HGV0": 0.25}, "4712": {"A0RPWH": 1.0, "A0HGV0": 0.0}},
    ),
    "french life insurance": (
        (
            "Contrat;Support;Code ISIN;Nombre de parts;Valeur liquidative;Date;Montant\n"
            "AV1;Fonds Actions;FR0000001;10,50;1\u202f000,00;31/03/2024;10\u202f500,00\n"
            "AV1;Fonds Euro;FR0000002;;;31/03/2024;31\u202f500,00\n"
            "AV2;Fonds Actions;FR0000001;1,00;1\u202f000,00;31/03/2024;1\u202f000,00\n"
        ),
        {},
        {
            "AV1": {"Fonds Actions": 0.25, "Fonds Euro": 0.75},
            "AV2": {"Fonds Actions": 1.0, "Fonds Euro": 0.0},
        },
    ),
    "brazilian broker": (
        (
            "Cliente;Ativo;Quantidade;Preço;Valor\nJoão;PETR4;1.000;36,00;R$ 36.000,00\n"
            "João;VALE3;200;60,00;R$ 12.000,00\nMaria;PETR4;100;36,00;R$ 3.600,00\n"
        ),
        {},
        {"João": {"PETR4": 0.75, "VALE3": 0.25}, "Maria": {"PETR4": 1.0, "VALE3": 0.0}},
    ),
    "one account with its percentages": (
        (
            '"Positions for account ...123 as of 2024/04/01"\n\n'
            '"Symbol","Description","Qty (Quantity)","Price","Mkt Val (Market Value)",'
            '"% of Acct (% of Account)","Security Type"\n'
            '"AAPL","APPLE INC","10","$171.50","$1,715.00","34.3%","Equity"\n'
            '"VTI","TOTAL MARKET","12","$250.00","$3,000.00","60.0%","ETFs"\n'
            '"Cash & Cash Investments","--","--","--","$285.00","5.7%","Cash"\n'
            '"Account Total","--","--","--","$5,000.00","--","--"\n'
        ),
        {"name": "mine.csv"},
        {"mine": {"AAPL": 0.343, "VTI": 0.6, "Cash & Cash Investments": 0.057}},
    ),
    "subtotals": (
        (
            "Client,Asset class,Security,Market Value\nSmith,Equity,AAPL,5000\nSmith,"
            "Equity,MSFT,3000\n"
            "Smith,Subtotal Equity,,8000\nSmith,Bonds,BND,2000\nSmith,Subtotal Bonds,,2000\n"
            "Smith,Total,,10000\nJones,Equity,AAPL,1000\nGrand Total,,,11000\n"
        ),
        {},
        {
            "Smith": {"AAPL": 0.5, "MSFT": 0.3, "BND": 0.2},
            "Jones": {"AAPL": 1.0, "MSFT": 0.0, "BND": 0.0},
        },
    ),
    "clients named once above their rows": (
        "Client,Security,Weight %\nSmith,AAPL,60\n,MSFT,40\nJones,AAPL,30\n,MSFT,70\n",
        {},
        {"Smith": {"AAPL": 0.6, "MSFT": 0.4}, "Jones": {"AAPL": 0.3, "MSFT": 0.7}},
    ),
    "several currencies": (
        "Client,Security,Value,Currency\nAnn,A,100,USD\nAnn,B,300,JPY\nBob,A,10,USD\n",
        {},
        {"Bob": {"A": 1.0, "B": 0.0}},
    ),
    "several currencies at rates": (
        "Client,Security,Value,Currency\nAnn,A,100,USD\nAnn,B,30000,JPY\nBob,A,10,USD\n",
        {"rates": {"JPY": 0.01, "USD": 1}},
        {"Ann": {"A": 0.25, "B": 0.75}, "Bob": {"A": 1.0, "B": 0.0}},
    ),
    "german depots at two key dates": (
        (
            "Depotnummer;Stichtag;ISIN;Bezeichnung;Kurswert in EUR\n"
            "4711;31.12.2023;IE00B4L5Y983;Welt;6.000,00\n"
            "4711;31.12.2023;DE0001102580;Bund;4.000,00\n"
            "4711;31.01.2024;IE00B4L5Y983;Welt;7.500,00\n"
            "4711;31.01.2024;DE0001102580;Bund;2.500,00\n"
            "4712;31.01.2024;DE0001102580;Bund;1.000,00\n"
        ),
        {},
        {
            "4711": {"IE00B4L5Y983": 0.75, "DE0001102580": 0.25},
            "4712": {"IE00B4L5Y983": 0.0, "DE0001102580": 1.0},
        },
    ),
    "french contracts in two currencies": (
        (
            "Contrat;Support;Devise;Montant\nC1;Monde;EUR;7 500,00\nC1;Oblig;CHF;2 500,00\n"
            "C2;Monde;EUR;1 000,00\n"
        ),
        {"rates": {"EUR": 1.0, "CHF": 2.0}},
        {"C1": {"Monde": 0.6, "Oblig": 0.4}, "C2": {"Monde": 1.0, "Oblig": 0.0}},
    ),
    "italian clients with birthdays": (
        (
            "Cliente;Data di nascita;Fondo A;Fondo B\nRossi;01/02/1960;60,0;40,0\n"
            "Bianchi;23/11/1985;25,5;74,5\n"
        ),
        {},
        {
            "Rossi": {"Fondo A": 0.6, "Fondo B": 0.4},
            "Bianchi": {"Fondo A": 0.255, "Fondo B": 0.745},
        },
    ),
    "dutch pension plans over two years": (
        (
            "Klant;Jaar;Aandelen;Obligaties\nK1;2022;55,0;45,0\nK2;2022;70,0;30,0\n"
            "K1;2023;60,0;40,0\nK2;2023;70,0;30,0\n"
        ),
        {"roles": {"Jaar": "date"}, "snapshots": "panel"},
        {
            "K1": {"Aandelen": 0.55, "Obligaties": 0.45},
            "K2": {"Aandelen": 0.7, "Obligaties": 0.3},
            "K1 again": {"Aandelen": 0.6, "Obligaties": 0.4},
            "K2 again": {"Aandelen": 0.7, "Obligaties": 0.3},
        },
    ),
    "a name nowhere but in notes below": (
        (
            "Account Number,Symbol,Description,Percent Of Account\nZ1,SPAXX**,MONEY MARKET,10.00%\n"
            "Z1,VTI,TOTAL MARKET,90.00%\nZ2,VTI,TOTAL MARKET,100.00%\n\n"
            '"The data in this spreadsheet are provided to you solely for your use."\n'
        ),
        {},
        {"Z1": {"SPAXX**": 0.1, "VTI": 0.9}, "Z2": {"SPAXX**": 0.0, "VTI": 1.0}},
    ),
    "columns that only ISINs tell": (
        (
            "Titolare;Codice;Controvalore\nRossi;IT0003128367;7500\nRossi;IT0003132476;2500\n"
            "Bianchi;IT0003128367;180\n"
        ),
        {},
        {
            "Rossi": {"IT0003128367": 0.75, "IT0003132476": 0.25},
            "Bianchi": {"IT0003128367": 1.0, "IT0003132476": 0.0},
        },
    ),
    "japanese accounts with a total below": (
        (
            '顧客番号,銘柄名,評価額(円)\n1001,日本株,"1,200,000"\n1001,外国債券,"800,000"\n'
            '1002,日本株,"500,000"\n1002,現金,"500,000"\n合計,,"3,000,000"\n'
        ),
        {},
        {
            "1001": {"日本株": 0.6, "外国債券": 0.4, "現金": 0.0},
            "1002": {"日本株": 0.5, "外国債券": 0.0, "現金": 0.5},
        },
    ),
    "chinese accounts with a total below": (
        "客户,证券名称,市值\n张三,股票,100000\n张三,债券,300000\n李四,股票,200000\n合计,,600000\n",
        {},
        {"张三": {"股票": 0.25, "债券": 0.75}, "李四": {"股票": 1.0, "债券": 0.0}},
    ),
    "korean accounts with a total below": (
        "고객,종목명,평가금액\n김,주식,100000\n김,채권,300000\n이,주식,200000\n합계,,600000\n",
        {},
        {"김": {"주식": 0.25, "채권": 0.75}, "이": {"주식": 1.0, "채권": 0.0}},
    ),
    "polish accounts with a total below": (
        (
            "Klient;Instrument;Wartość\nNowak;Akcje;1 000,00\nNowak;Obligacje;3 000,00\n"
            "Kowalski;Akcje;2 500,50\nRazem;;6 500,50\n"
        ),
        {},
        {"Nowak": {"Akcje": 0.25, "Obligacje": 0.75}, "Kowalski": {"Akcje": 1.0, "Obligacje": 0.0}},
    ),
    "swedish custody account with cash": (
        (
            "Kund;Värdepapper;Marknadsvärde\nSvensson;Aktier;1 000,00\nSvensson;Räntor;3 000,00\n"
            "Karlsson;Aktier;2 500,00\nKarlsson;Likvida medel;500,00\nSumma;;7 000,00\n"
        ),
        {"assets": ["Aktier", "Räntor"]},
        {"Svensson": {"Aktier": 0.25, "Räntor": 0.75}, "Karlsson": {"Aktier": 1.0, "Räntor": 0.0}},
    ),
    "currencies beside the amounts": (
        "client,asset,value\nAnn,A,$100\nAnn,B,€100\nBob,A,€100\nBob,B,€50\n",
        {},
        {"Bob": {"A": 2 / 3, "B": 1 / 3}},
    ),
    "currencies beside the amounts at rates": (
        "client,asset,value\nAnn,A,USD 100\nAnn,B,EUR 150\nBob,A,EUR 100\nBob,B,EUR 50\n",
        {"rates": {"USD": 0.5, "EUR": 1.0}},
        {"Ann": {"A": 0.25, "B": 0.75}, "Bob": {"A": 2 / 3, "B": 1 / 3}},
    ),
    "currencies beside the amounts of a wide file": (
        "client,A,B\nAnn,$1000,€1000\nBob,€1000,€500\n",
        {},
        {"Bob": {"A": 2 / 3, "B": 1 / 3}},
    ),
    "currencies in the columns' names at rates": (
        "client,A (USD),B (EUR)\nAnn,1000,1500\nBob,1000,500\n",
        {"assets": ["A", "B"], "rates": {"USD": 0.5, "EUR": 1.0}},
        {"Ann": {"A": 0.25, "B": 0.75}, "Bob": {"A": 0.5, "B": 0.5}},
    ),
    "share classes in two currencies": (
        "client,A (USD),B (EUR)\nAnn,60,40\nBob,10,90\n",
        {"assets": ["A (USD)", "B (EUR)"]},
        {"Ann": {"A (USD)": 0.6, "B (EUR)": 0.4}, "Bob": {"A (USD)": 0.1, "B (EUR)": 0.9}},
    ),
    "dates side by side": (
        "client,asset,2024-01-31,2024-02-29\nAnn,A,60,50\nAnn,B,40,50\nBob,A,10,20\nBob,B,90,80\n",
        {},
        {"Ann": {"A": 0.5, "B": 0.5}, "Bob": {"A": 0.2, "B": 0.8}},
    ),
}
