"""The words by which people name their columns, and how a name is compared with another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final


def vocabulary(text: str) -> frozenset[str]:
    """The words of a text, to look for in the names of columns."""
    return frozenset(text.split())


DATE: Final = vocabulary(
    """
    date dates day datum fecha month quarter year time timestamp datetime period asof snapshot
    stichtag monat jahr mois mês mese maand tarih dato дата
    日付 基準日 年月日 年月 日期 净值日期 날짜 일자 기준일
    """
)
ASSET: Final = vocabulary(
    """
    asset assets ticker tickers symbol security securities isin cusip sedol instrument fund
    stock wertpapier holding position name ric product scheme scrip wkn bezeichnung titel titre
    support ativo activo strumento titolo libellé värdepapper verdipapir
    værdipapir walor fundusz инструмент бумага
    銘柄 銘柄名 銘柄コード ファンド名 証券コード 证券名称 证券代码 基金名称 基金代码
    종목 종목명 종목코드
    """
)
INVESTOR: Final = vocabulary(
    """
    investor client customer account person household kunde depot portfolio holder member user
    owner id kundennummer depotnummer kontonummer inhaber anleger contrat compte titulaire
    cliente contrato conta cuenta conto klant klient kund titular intestatario rachunek клиент
    顧客 顧客名 顧客番号 お客様番号 口座 口座番号 客户 客户号 客户编号 客户名称 账户 账号
    고객 고객명 고객번호 계좌 계좌번호
    """
)
PRICE: Final = vocabulary(
    """
    price prices close px nav kurs last quote index level preis ltp prix cours liquidative vl
    preço preco precio prezzo koers cena цена курс
    基準価額 株価 終値 価格 净值 单位净值 收盘价 价格 종가 기준가
    """
)
RETURN: Final = vocabulary(
    """
    return returns ret rets rendite performance perf rendement retorno rentabilidade rendimento
    rentabilidad avkastning доходность 収益率 騰落率 リターン 收益率 수익률
    """
)
WEIGHT: Final = vocabulary(
    """
    weight weights share allocation pct percent percentage fraction proportion gewicht anteil w
    gewichtung poids peso waga udział vikt andel доля
    構成比 構成比率 保有比率 比率 割合 占比 权重 比例 비중 비율
    """
)
AMOUNT: Final = vocabulary(
    """
    amount amounts value balance exposure notional mv worth betrag wert marketvalue invested
    kurswert marktwert montant valeur importe importo valore waarde valorisation encours
    controvalore wartość wycena marknadsvärde värde markedsverdi markedsværdi стоимость
    評価額 時価 時価評価額 残高 金額 市值 金额 평가금액 평가액 금액
    """
)
SHARES: Final = vocabulary(
    """
    shares units quantity qty number count pieces stück stueck nominal anzahl nominale nombre
    parts quantité quantidade cantidad quantità aantal ilość liczba antal количество
    口数 株数 数量 保有数量 份额 持有份额 수량 보유수량 좌수
    """
)
TOTAL: Final = vocabulary(
    """
    total sum totals gesamt summe subtotal zwischensumme gesamtsumme insgesamt totale totaal
    totaux soma somma razem suma ogółem summa ialt yhteensä toplam összesen celkem итого всего
    合計 総計 小計 合计 总计 小计 합계 총계 소계
    """
)
FOOTER: Final = TOTAL | frozenset(
    ["average", "mean", "median", "grand", "avg", "durchschnitt", "mittelwert", "moyenne", "média"]
)
# A sum over a part is a total whatever it is the sum of.
PART_TOTAL: Final = frozenset(["subtotal", "subtotals", "zwischensumme", "小計", "小计", "소계"])
CASH: Final = vocabulary(
    """
    cash liquidity liquid money bargeld liquidität liquiditaet liquidités liquidites efectivo caixa
    kasse guthaben tagesgeld flüssige liquide liquides liquidità liquidita contanti trésorerie
    tresorerie espèces especes tesorería tesoreria liquidez dinheiro disponível kontanten
    kasmiddelen liquiditeiten gotówka gotowka środki kontanter likvida kontantbeholdning
    наличные nakit készpénz hotovost käteinen 現金 預金 預り金 キャッシュ 现金 存款 현금 예수금
    """
)
# What may stand beside the word for cash in the name of cash and nothing else.
CASH_COMPANY: Final = vocabulary(
    """
    and or the in at of equivalents equivalent market account accounts balance balances position
    positions on hand sweep uninvested settlement deposit deposits bank free
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
CURRENCY: Final = vocabulary(
    """
    currency ccy währung devise divisa moneda moeda valuta waluta валюта 通貨 币种 货币 통화
    """
)
# Values that are not what the holding is worth today.
PAST: Final = frozenset(
    ["cost", "book", "purchase", "gain", "loss", "unrealized", "accrued", "einstand"]
)
# Values in the currency of each holding, which must not be added up.
LOCAL: Final = frozenset(["local", "lokal", "lokalwährung", "fremdwährung", "native"])
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
    ]
)

_WORD = re.compile(r"[^\W\d_]+")
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
    return bool(found & FOOTER) and found <= FOOTER | WEIGHT | AMOUNT | TOTAL_COMPANY


def is_cash(name: str) -> bool:
    """Whether a name says cash and nothing else.

    >>> is_cash("Cash & Equivalents (USD)"), is_cash("Flüssige Mittel"), is_cash("Liquid Alpha")
    (True, True, False)
    """
    found = words_of(name)
    return bool(found & CASH) and found <= CASH | CASH_COMPANY


def is_weight(name: str) -> bool:
    """Whether a column's name says that it holds shares of a portfolio.

    >>> is_weight("% of Acct"), is_weight("Weight"), is_weight("Change %")
    (True, True, False)
    """
    found = words_of(name)
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

    >>> common_hint(["AAPL ret %", "MSFT ret %", "3% bond"], "monthly")
    '% ret monthly'
    """
    counts = Counter(word for name in names for word in words_of(name))
    counts["%"] = sum("%" in name for name in names)
    shared = sorted(word for word, count in counts.items() if 2 * count >= len(names) and count)
    return " ".join([*shared, *others])
