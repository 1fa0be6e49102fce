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
    stichtag monat jahr mois mês mese maand
    """
)
ASSET: Final = vocabulary(
    """
    asset assets ticker tickers symbol security securities isin cusip sedol instrument fund
    stock wertpapier holding position name ric product scheme scrip wkn bezeichnung titel titre
    support ativo activo
    """
)
INVESTOR: Final = vocabulary(
    """
    investor client customer account person household kunde depot portfolio holder member user
    owner id kundennummer depotnummer kontonummer inhaber anleger contrat compte titulaire
    cliente contrato conta cuenta conto klant
    """
)
PRICE: Final = vocabulary(
    """
    price prices close px nav kurs last quote index level preis ltp prix cours liquidative vl
    preço preco precio prezzo koers
    """
)
RETURN: Final = vocabulary(
    """
    return returns ret rets rendite performance perf rendement retorno rentabilidade rendimento
    """
)
WEIGHT: Final = vocabulary(
    """
    weight weights share allocation pct percent percentage fraction proportion gewicht anteil w
    gewichtung poids peso
    """
)
AMOUNT: Final = vocabulary(
    """
    amount amounts value balance exposure notional mv worth betrag wert marketvalue invested
    kurswert marktwert montant valeur importe importo valore waarde
    """
)
SHARES: Final = vocabulary(
    """
    shares units quantity qty number count pieces stück stueck nominal anzahl nominale nombre
    parts quantité quantidade cantidad quantità aantal
    """
)
TOTAL: Final = vocabulary(
    """
    total sum totals gesamt summe subtotal zwischensumme gesamtsumme insgesamt totale totaal
    """
)
FOOTER: Final = TOTAL | frozenset(
    ["average", "mean", "median", "grand", "avg", "durchschnitt", "mittelwert", "moyenne", "média"]
)
# A sum over a part is a total whatever it is the sum of.
PART_TOTAL: Final = frozenset(["subtotal", "subtotals", "zwischensumme"])
CASH: Final = vocabulary(
    """
    cash liquidity liquid money bargeld liquidität liquiditaet liquidités liquidites efectivo caixa
    kasse guthaben tagesgeld flüssige liquide liquides liquidità liquidita contanti trésorerie
    tresorerie espèces especes tesorería tesoreria liquidez dinheiro disponível kontanten
    kasmiddelen liquiditeiten gotówka gotowka środki kontanter likvida
    """
)
# What may stand beside the word for cash in the name of cash and nothing else.
CASH_COMPANY: Final = vocabulary(
    """
    and or the in at of equivalents equivalent market account accounts balance balances position
    positions on hand sweep uninvested settlement deposit deposits bank free
    mittel konto kontoguthaben und bei äquivalente et équivalents equivalents compte solde y e ed
    equivalentes cuenta saldo equivalenti conto corrente mezzi equivalenten en rekening pieniężne
    usd eur chf gbp jpy cad aud sek nok dkk pln brl inr hkd sgd
    """
)
# What is held and was put in no class: a holding, though no series can belong to it.
UNCLASSIFIED: Final = vocabulary(
    """
    unclassified unallocated other others miscellaneous misc residual remainder rest unknown
    sonstige sonstiges übrige andere autres autre divers otros otro outros outro altri altro overige
    pozostałe övrigt
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
    typ währung classe catégorie devise categoria moneda moeda
    """
)
CURRENCY: Final = frozenset(["currency", "ccy", "währung", "devise", "moneda", "moeda", "valuta"])
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
    nascita scadenza geboortedatum sinds urodzenia född
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
