"""The words by which people name their columns, and how a name is compared with another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final


def vocabulary(text: str) -> frozenset[str]:
    """The words of a text, to look for in the names of columns."""
    return frozenset(text.casefold().split())


DATE: Final = vocabulary(
    """
    fy fiscal geschäftsjahr exercice ejercicio esercizio week kw semaine semana
    date dates day datum fecha month quarter year time timestamp datetime period asof snapshot
    stichtag monat jahr mois mês mese maand tarih dato дата
    quartal semester halbjahr zeitraum zeitpunkt année annee trimestre semestre période periode
    año ano mes periodo período anno jaar kwartaal år kvartal rok miesiąc kwartał okres měsíc
    čtvrtletí év hónap negyedév yıl ay çeyrek dönem vuosi kuukausi год месяц квартал период
    έτος μήνας τρίμηνο 年度 年 月 四半期 期間 季度 期 분기 연도 월
    dátum päivä ημερομηνία תאריך التاريخ تاريخ
    日付 基準日 年月日 年月 日期 净值日期 날짜 일자 기준일
    """
)
# Parts of a date in columns of their own.
YEAR_PART: Final = vocabulary(
    """
    year yr yyyy jahr année annee año ano anno jaar år rok év yıl vuosi год έτος 年
    年度 년 연도
    """
)
MONTH_PART: Final = vocabulary(
    """
    month mon mm monat mois mes mês mese maand måned månad miesiąc měsíc hónap ay
    kuukausi месяц μήνας 月 월
    """
)
QUARTER_PART: Final = vocabulary(
    """
    quarter qtr quartal trimestre kwartaal kwartał kvartal čtvrtletí negyedév çeyrek
    квартал 四半期 季度 분기
    """
)
DAY_PART: Final = vocabulary(
    """
    day dd tag jour día dia giorno dag dzień den nap gün päivä день 日 일
    """
)
ASSET: Final = vocabulary(
    """
    asset assets ticker tickers symbol security securities isin cusip sedol instrument fund
    stock wertpapier holding position name ric product scheme scrip wkn bezeichnung titel titre
    support ativo activo strumento titolo libellé värdepapper verdipapir
    værdipapir walor fundusz инструмент бумага varlık menkul kıymet papír értékpapír arvopaperi
    τίτλος προϊόν נייר קרן الأصل السهم الصندوق
    銘柄 銘柄名 銘柄コード ファンド名 証券コード 证券名称 证券代码 基金名称 基金代码
    종목 종목명 종목코드
    """
)
INVESTOR: Final = vocabulary(
    """
    investor client customer account acct person participant household kunde depot portfolio
    holder member user participante partícipe afiliado titolare porteur souscripteur mandat
    mandant mandato investidor inversor investisseur investitore rekening rekeningnummer deelnemer
    inwestor uczestnik befektő sijoittaja инвестор счет счёт
    owner id kundennummer depotnummer kontonummer inhaber anleger contrat compte titulaire
    cliente contrato conta cuenta conto klant klient kund titular intestatario rachunek клиент
    müşteri yatırımcı účet ügyfél asiakas πελάτης λογαριασμός לקוח חשבון العميل عميل الحساب حساب
    顧客 顧客名 顧客番号 お客様番号 口座 口座番号 客户 客户号 客户编号 客户名称 账户 账号
    고객 고객명 고객번호 계좌 계좌번호
    """
)
PRICE: Final = vocabulary(
    """
    price prices close px nav kurs last quote index level preis ltp prix cours liquidative vl
    preço preco precio cotización cotizacion cotação cambio prezzo quotazione koers slotkoers
    cena цена курс fiyat kurz árfolyam kurssi
    τιμή שער السعر سعر
    基準価額 株価 終値 価格 净值 单位净值 收盘价 价格 종가 기준가
    """
)
RETURN: Final = vocabulary(
    """
    return returns ret rets rendite performance perf rendement retorno rentabilidade rendimento
    rentabilidad avkastning доходность getiri výnos hozam tuotto απόδοση תשואה العائد
    収益率 騰落率 リターン 收益率 수익률
    """
)
# Returns that are not those of one period: since a beginning, of a year so far, of twelve months.
RUNNING: Final = vocabulary(
    """
    cumulative cumulated accumulated kumuliert kumulierte kumulierter cumulé cumulée cumulés
    cumulées acumulado acumulada acumulados cumulativo cumulata cumulato cumulatief cumulatieve
    skumulowana skumulowany kumulerad kumulativ kumulovaný halmozott накопленная 累積 累计 누적
    """
)
SO_FAR: Final = vocabulary("ytd mtd qtd")
ROLLING: Final = vocabulary(
    """
    annualised annualized annualisiert annualisierte annualisé annualisée anualizado anualizada
    annualizzato annualizzata geannualiseerd rolling trailing rollierend rollierende glissant
    glissante 年率
    """
)
# Figures about an asset or a portfolio that are neither its price nor its return.
MEASURES: Final = vocabulary(
    "volatility volatilität volatilité volatilidad volatilidade volatilità drawdown sharpe beta "
    "duration tracking"
)
BASIS_POINTS: Final = frozenset(["bp", "bps", "basispunkte", "basispunkten"])
LOGARITHM: Final = vocabulary(
    "log ln logarithmic logreturn logreturns logret logrendite logrenditen logarithmisch"
)
# Levels of interest, whose changes are no returns.
YIELD: Final = vocabulary(
    """
    yield yields rate zins zinsen zinssatz taux tasso tasa taxa rente oprocentowanie
    ränta 利回り 金利
    """
)
WEIGHT: Final = vocabulary(
    """
    weight weights share allocation pct percent percentage fraction proportion gewicht anteil w
    gewichtung poids peso waga udział vikt andel доля ağırlık podíl váha súly arány osuus
    répartition βάρος ποσοστό משקל אחוז الوزن النسبة
    構成比 構成比率 保有比率 比率 割合 占比 权重 比例 비중 비율
    """
)
AMOUNT: Final = vocabulary(
    """
    amount amounts value balance exposure notional mv worth betrag wert marketvalue invested
    kurswert marktwert montant valeur importe importo valore waarde valorisation encours
    controvalore wartość wycena marknadsvärde värde markedsverdi markedsværdi стоимость tutar
    değer hodnota érték összeg αξία ποσό שווי סכום القيمة قيمة المبلغ مبلغ
    bewertung kursværdi kursverdi arvo nilai valoare вартість tržní vrijednost
    評価額 時価 時価評価額 残高 金額 市值 金额 평가금액 평가액 금액
    """
)
SHARES: Final = vocabulary(
    """
    shares units quantity qty number count pieces stück stueck nominal anzahl nominale nombre
    parts quantité quantidade cantidad quantità aantal ilość liczba antal количество
    adet množství počet darab mennyiség määrä τεμάχια ποσότητα
    כמות الكمية كمية
    口数 株数 数量 保有数量 份额 持有份额 수량 보유수량 좌수
    """
)
TOTAL: Final = vocabulary(
    """
    total sum totals gesamt summe subtotal zwischensumme gesamtsumme insgesamt totale totaal
    totaux soma somma razem suma ogółem summa ialt yhteensä toplam összesen celkem итого всего
    σύνολο סהכ المجموع الإجمالي
    合計 総計 小計 合计 总计 小计 합계 총계 소계
    """
)
FOOTER: Final = TOTAL | vocabulary(
    """
    average mean median grand avg durchschnitt mittelwert moyenne média media gemiddelde średnia
    genomsnitt gesamtbetrag eindtotaal loppusumma
    """
)
# Beside these, rows below a history that are no dates.
SUMMARY: Final = FOOTER | vocabulary("ø min max std stdev stdabw abw volatility volatilität cagr")
# A sum over a part is a total whatever it is the sum of.
PART_TOTAL: Final = frozenset(["subtotal", "subtotals", "zwischensumme", "小計", "小计", "소계"])
CASH: Final = vocabulary(
    """
    cash liquidity liquid money bargeld liquidität liquiditaet liquidités liquidites efectivo caixa
    kasse guthaben tagesgeld flüssige liquide liquides liquidità liquidita contanti trésorerie
    tresorerie espèces especes tesorería tesoreria liquidez dinheiro disponível kontanten
    kasmiddelen liquiditeiten gotówka gotowka środki kontanter likvida kontantbeholdning
    наличные nakit készpénz hotovost käteinen μετρητά מזומן نقد
    現金 預金 預り金 キャッシュ 现金 存款 현금 예수금
    """
)
# What may stand beside the word for cash in the name of cash and nothing else.
CASH_COMPANY: Final = vocabulary(
    """
    and or the in at of equivalents equivalent market account accounts balance balances position
    positions on hand sweep investments uninvested settlement deposit deposits bank free
    mittel konto kontoguthaben und bei äquivalente et équivalents equivalents compte solde y e ed
    equivalentes cuenta saldo equivalenti conto corrente mezzi equivalenten en rekening pieniężne
    middelen medel midler och og i
    usd eur chf gbp jpy cad aud sek nok dkk pln brl inr hkd sgd cny krw czk huf try 円 米ドル
    """
)
# What is held and was put in no class: a holding, though no series can belong to it.
UNCLASSIFIED: Final = vocabulary(
    """
    unclassified unallocated other others miscellaneous misc residual remainder rest unknown
    sonstige sonstiges übrige andere autres autre divers otros otro outros outro altri altro overige
    pozostałe övrigt øvrige прочее その他 其他 기타
    """
)
PERCENT: Final = frozenset(["pct", "percent", "percentage"])
# Portuguese and Spanish for a value, but in Switzerland a security's number.
DOUBTFUL_AMOUNT: Final = frozenset(["valor"])
# What groups assets or says in what they are counted; such a column names no single asset.
GROUPING: Final = vocabulary(
    """
    class category type sector industry country region currency ccy group klasse kategorie gattung
    anlageklasse assetklasse branche sektor land emittent issuer secteur settore
    typ währung classe catégorie devise categoria moneda moeda valuta waluta валюта
    資産クラス 資産分類 分類 業種 通貨 类别 资产类别 币种 자산군 분류 통화
    """
)
# What a portfolio is compared with, called by, or mostly holds: it names an asset not held there.
BESIDE_ASSET: Final = vocabulary(
    """
    benchmark bench style top largest biggest main favourite favorite recommended preferred
    proposed suggested next model strategy profile referenzindex vergleichsindex größte groesste
    stil empfohlen empfohlener empfohlene empfehlung principal principale référence recommandé
    mayor recomendado referencia indice índice maior referência maggiore consigliato riferimento
    """
)
CURRENCY: Final = vocabulary(
    """
    currency ccy währung devise divisa moneda moeda valuta waluta валюта 通貨 币种 货币 통화
    """
)
# Values that are not what the holding is worth today.
PAST: Final = vocabulary(
    """
    cost book purchase gain loss unrealized accrued einstand opening beginning begin start initial
    previous prior old last change changes contribution contributions
    anfangsbestand anfangswert anfang vorjahr vormonat veränderung gewinn verlust einstandswert
    initiale précédent précédente variation début revient inicial anterior variación variação ganho
    iniziale precedente variazione costo begin vorige wijziging początkowa zmiana 取得 取得価額 前回
    hankinta 前月 損益 評価損益 期初 成本 盈亏 취득
    """
)
# Weights that are not what is held: wanted, compared with, or a difference from these.
NOT_HELD: Final = vocabulary(
    """
    target soll benchmark bench index active aktiv model strategic policy cible objectif objetivo
    obiettivo doel neutral difference diff deviation abweichung drift tolerance min max limit
    """
)
# Which side of the market a position is on, where its amount has no sign.
SIDE: Final = vocabulary("side direction buy sell bs ls l s b long short sens seite richtung")
LONG_SIDE: Final = vocabulary("long l buy b bought purchase kauf achat compra acquisto koop haben")
SHORT_SIDE: Final = vocabulary("short s sell sold sale verkauf vente venta venda vendita verkoop")
# What is done with an asset on a day, and what is paid for it or comes of it.
TRADE: Final = vocabulary(
    """
    buy buys bought sell sells sold purchase purchased sale subscription redemption subscribe redeem
    kauf verkauf gekauft verkauft zeichnung rücknahme achat vente souscription rachat compra venta
    venda suscripción reembolso subscrição resgate acquisto vendita sottoscrizione rimborso koop
    aankoop verkoop kupno sprzedaż nabycie köp sälj försäljning køb salg kjøp nákup prodej vétel
    eladás alış satış покупка продажа 買付 売却 購入 買入 卖出 买入 賣出 매수 매도
    """
)
CASH_FLOW: Final = vocabulary(
    """
    dividend dividends interest coupon fee fees deposit withdrawal transfer tax commission
    dividende zinsen zins gebühr gebühren einzahlung auszahlung übertrag steuer dividendes frais
    intérêts versement retrait dividendo dividendos comisión comissão depósito retiro saque juros
    intereses cedola commissione versamento prelievo rente kosten storting dywidenda opłata wpłata
    wypłata utdelning avgift udbytte gebyr 配当 配当金 手数料 入金 出金 分红 手续费 배당
    """
)
# What is told of an asset beside its price, in a column of its own.
BESIDE_PRICE: Final = vocabulary("volume vol volumen umsatz turnover wolumen")
# Values in the currency of each holding, which must not be added up.
LOCAL: Final = vocabulary(
    """
    local lokal lokale lokalwährung fremdwährung handelswährung positionswährung native locale
    lokalna divisa
    """
)
# What may stand beside a percent sign in the name of a column of weights.
OF_THE_WHOLE: Final = frozenset(
    ["of", "the", "acct", "account", "nav", "portfolio", "total", "assets", "net", "aum"]
)
# Numbers that name something and measure nothing.
CODE: Final = frozenset(["code", "id", "isin", "cusip", "sedol", "wkn", "number", "nr", "no"])
# One stock's daily quotes: what each column is, best price first.
QUOTES: Final = (
    "adj close",
    "adjusted close",
    "adjclose",
    "close",
    "last",
    "price",
    "nav",
    "schlusskurs",
    "schluss",
    "clôture",
    "cloture",
    "cierre",
    "fechamento",
    "chiusura",
    "zamknięcie",
    "zamkniecie",
)
QUOTE_COLUMNS: Final = vocabulary(
    """
    open high low volume vol close dividends stock splits adj adjusted adjclose price last nav
    change chg for turnover
    eröffnung eroeffnung hoch tief schluss schlusskurs volumen umsatz
    ouverture haut bas plus clôture cloture
    apertura máximo mínimo cierre chiusura
    abertura máxima mínima fechamento
    otwarcie najwyższy najwyzszy najniższy najnizszy zamknięcie zamkniecie wolumen
    """
)

# Numbers about a person that are no holdings.
PERSONAL: Final = frozenset(
    [
        "age",
        "income",
        "salary",
        "score",
        "tenure",
        "phone",
        "zip",
        "postcode",
        "postal",
        "children",
        "horizon",
        "rating",
        "grade",
        "birth",
        "aum",
        "wealth",
        "networth",
        "risk",
        "profile",
        "level",
        "class",
    ]
)

# Dates of a person's or a contract's own, on which no portfolio was seen.
PERSONAL_DATE: Final = vocabulary(
    """
    birth born dob birthday opened opening since joined retirement maturity expiry
    geburt geburtsdatum geburtstag eröffnet eröffnungsdatum seit fälligkeit
    naissance ouverture depuis échéance nacimiento apertura desde vencimiento nascimento abertura
    nascita scadenza geboortedatum sinds urodzenia född 生年月日 出生日期 생년월일
    """
)

# What may stand beside "total" in the name of a total.
TOTAL_COMPANY: Final = frozenset(
    [
        "account",
        "all",
        "assets",
        "client",
        "holdings",
        "market",
        "of",
        "portfolio",
        "positions",
        "row",
        "général",
        "general",
        "geral",
        "generale",
        "ogółem",
        "patrimonio",
        "patrimônio",
        "portefeuille",
        "cartera",
        "carteira",
    ]
)

_WORD = re.compile(r"[^\W\d_]+")
# Bloomberg's code of an exchange behind a ticker, and the kind of instrument: LN Equity. Of the
# codes alone only London's is a word for something else.
_TRADED_AT = re.compile(
    r"(?<=[A-Z0-9]) LN$"
    r"|(?<=\S) [A-Z]{2} (?:Equity|Index|Corp|Govt|Curncy|Comdty|Mtge|Pfd|Muni)$"
)
_CAMEL = re.compile(r"(?<=[a-zäöü])(?=[A-ZÄÖÜ])")


@lru_cache(maxsize=4096)
def words_of(name: str) -> frozenset[str]:
    """Split a column's name into lower-case words.

    >>> sorted(words_of("AsOf_Date (UTC)"))
    ['as', 'date', 'of', 'utc']
    """
    spaced = _CAMEL.sub(" ", name)
    return frozenset(word.casefold() for word in _WORD.findall(spaced.replace("_", " ")))


def says(name: str, words: Iterable[str]) -> bool:
    """Whether a column's name has one of these words in it.

    >>> says("Ticker symbol", ASSET), says("Region", ASSET)
    (True, False)
    """
    return bool(words_of(name) & frozenset(words))


def key(name: str) -> str:
    """Return what two spellings of the same name share: letters and digits, case aside.

    >>> key(" Brk.B ") == key("BRK-B")
    True
    """
    return "".join(character for character in name.casefold() if character.isalnum())


def is_total(name: str) -> bool:
    """Whether a name says "total" and nothing else that could be an asset's or a person's.

    >>> is_total("Total weight"), is_total("Grand total"), is_total("TotalEnergies")
    (True, True, False)
    """
    found = words_of(name)
    if found & PART_TOTAL:
        return True
    return bool(found & FOOTER) and found <= FOOTER | WEIGHT | AMOUNT | TOTAL_COMPANY | INVESTOR


def is_cash(name: str) -> bool:
    """Whether a name says cash and nothing else.

    >>> is_cash("Cash & Equivalents (USD)"), is_cash("Flüssige Mittel"), is_cash("Liquid Alpha")
    (True, True, False)
    """
    found = words_of(name)
    return bool(found & CASH) and found <= CASH | CASH_COMPANY


def is_weight(name: str) -> bool:
    """Whether a column's name says that it holds shares of a portfolio.

    >>> is_weight("% of Acct"), is_weight("Weight"), is_weight("Change %"), is_weight("+/- %")
    (True, True, False, False)
    """
    found = words_of(name)
    if not found:
        return name.strip("()[] ") == "%"
    return bool(found & WEIGHT) or ("%" in name and found <= OF_THE_WHOLE)


def quote_of(name: str) -> str | None:
    """Return which closing quote a column's name begins with, best known first.

    >>> quote_of("Adj Close**"), quote_of("<CLOSE>"), quote_of("Volume")
    ('adj close', 'close', None)
    """
    plain = " ".join(_WORD.findall(name.casefold())) + " "
    return next((quote for quote in QUOTES if plain.startswith(quote + " ")), None)


def are_quotes(names: Sequence[str]) -> bool:
    """Whether columns are one asset's open, high, low and close, not assets called High and Low.

    >>> are_quotes(["Price", "Open", "Vol."]), are_quotes(["Low", "High"])
    (True, False)
    """
    labels = [words_of(name) for name in names]
    known = all(label and label <= QUOTE_COLUMNS for label in labels)
    return len(names) > 1 and known and any(quote_of(name) for name in names)


def common_hint(names: Sequence[str], *others: str) -> str:
    """Join the words that at least half of the names share, and all words of the others.

    One asset called "3% bond" does not make a table of percentages.

    Where a ticker is traded is no word: LN is London, and no logarithm.

    >>> common_hint(["AAPL ret %", "MSFT ret %", "3% bond"], "monthly")
    '% ret monthly'
    >>> common_hint(["IUSA LN Equity", "IWDA LN Equity", "EIMI LN Equity"])
    ''
    >>> common_hint(["A ln", "B ln", "C ln"])
    'ln'
    """
    counts = Counter(word for name in names for word in words_of(_TRADED_AT.sub("", name)))
    counts["%"] = sum("%" in name for name in names)
    shared = sorted(word for word, count in counts.items() if 2 * count >= len(names) and count)
    return " ".join([*shared, *others])
