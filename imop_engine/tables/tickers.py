"""One security under the tickers of several vendors: AAPL, AAPL US Equity, AAPL.OQ, NYSE:AAPL.

A ticker is a symbol and, at most vendors, the place where it is traded. Two of them name the same
security where the symbols agree and the places do not contradict each other: BP in London is
another listing, in another currency, than BP in New York, and a plain BP may be either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

# Countries by what vendors write: Bloomberg's two letters, Reuters' and Yahoo's endings, names and
# codes of exchanges before a colon. Each list begins with the country.
_PLACES: Final = """
US: US UN UW UQ UR UA UP UV UF O OQ N NYSE NASDAQ NASDAQGS NASDAQGM NASDAQCM NYSEARCA ARCA AMEX
US: NYSEAMERICAN BATS XNAS XNYS ARCX XASE OTC OTCMKTS NMS NYQ PCX
GB: LN L LON LSE XLON IL
DE: GR GY GF GS GM GD GB DE F DEU ETR FRA FWB XETRA XETR XFRA STU SG MU BE DU HM HA GER
FR: FP PA EPA XPAR PAR
NL: NA AS AMS XAMS
BE: BB BR EBR XBRU
PT: PL LS ELI XLIS
IT: IM MI BIT XMIL
ES: SM MC BME XMAD
CH: SW SE VX S EBS SIX XSWX VTX
AT: AV VI WBAG XWBO
IE: ID IR ISE XDUB
SE: SS ST STO XSTO
DK: DC CO CPH XCSE
FI: FH HE HEL XHEL
NO: NO OL OSL XOSL
PL: PW WA WSE XWAR
CA: CN CT CV TO V TSX TSE TSXV XTSE XTSX NE
JP: JP JT T TYO XTKS
HK: HK HKG HKEX SEHK XHKG
CN: CH CG CS SS SZ SHA SHE XSHG XSHE
IN: IN IB IS NS BO NSE BSE XNSE XBOM
AU: AU AT AX ASX XASX
NZ: NZ NZX XNZE
SG: SP SI SGX SES XSES
KR: KS KP KQ KRX XKRX
TW: TT TW TWO TPE XTAI
BR: BZ BS SA BVMF BMFBOVESPA
MX: MM MX BMV XMEX
ZA: SJ JO JSE XJSE
IL: IT TA TLV XTAE
TR: TI IS IST XIST
"""
# Bloomberg's last word says what kind of instrument it is.
_KINDS: Final = "Equity|Index|Corp|Govt|Curncy|Comdty|Mtge|Pfd|Muni"
_SYMBOL: Final = r"[A-Z0-9]{1,12}(?:[./-][A-Z0-9]{1,2})?"
_FORMS: Final = (
    re.compile(rf"^(?P<symbol>{_SYMBOL}) (?P<place>[A-Z]{{2}})(?: (?:{_KINDS}))?$"),
    re.compile(rf"^(?P<symbol>{_SYMBOL})(?P<place>) (?:Index|Curncy|Comdty)$"),
    re.compile(rf"^(?P<symbol>{_SYMBOL})\.(?P<place>[A-Z]{{1,3}})$"),
    re.compile(rf"^(?P<place>[A-Z]{{2,12}}): ?(?P<symbol>{_SYMBOL})$"),
    re.compile(rf"^(?P<symbol>{_SYMBOL})[:-](?P<place>[A-Z]{{2}})$"),
    re.compile(rf"^(?P<symbol>{_SYMBOL})(?P<place>)$"),
)


def _countries() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _PLACES.strip().splitlines():
        country, _, codes = line.partition(": ")
        for code in codes.split():
            found.setdefault(code, set()).add(country)
    return {code: frozenset(countries) for code, countries in found.items()}


_COUNTRIES: Final = _countries()


@dataclass(frozen=True)
class Ticker:
    """A symbol, and the countries where it may be traded; none where the ticker does not say."""

    symbol: str
    countries: frozenset[str]

    def may_be(self, other: Ticker) -> bool:
        """Whether both can be the same security."""
        if self.symbol != other.symbol:
            return False
        return not self.countries or not other.countries or bool(self.countries & other.countries)


def ticker_of(name: str) -> Ticker | None:
    """The ticker that a name is; None where it is none.

    Args:
        name: What a file calls an asset.

    >>> [ticker_of(name).symbol for name in ("AAPL US Equity", "AAPL.OQ", "NYSE:AAPL", "AAPL")]
    ['AAPL', 'AAPL', 'AAPL', 'AAPL']
    >>> ticker_of("BRK.B").symbol, ticker_of("Real Estate")
    ('BRKB', None)
    """
    for form in _FORMS:
        found = form.match(name.strip())
        if found is None:
            continue
        place = found["place"]
        if place and place not in _COUNTRIES:
            continue  # BRK.B is a class of shares, traded nowhere in particular
        symbol = "".join(letter for letter in found["symbol"] if letter.isalnum())
        return Ticker(symbol, _COUNTRIES.get(place, frozenset()))
    return None


class Tickers:
    """The assets of a history that are named by tickers, found by those of another vendor."""

    def __init__(self, assets: Iterable[str]) -> None:
        self._by_symbol: dict[str, list[tuple[str, Ticker]]] = {}
        for asset in assets:
            ticker = ticker_of(asset)
            if ticker is not None:
                self._by_symbol.setdefault(ticker.symbol, []).append((asset, ticker))

    def candidates(self, name: str) -> list[str]:
        """The assets that a name may mean: none, one, or several that it does not tell apart."""
        ticker = ticker_of(name)
        if ticker is None:
            return []
        return [
            asset for asset, one in self._by_symbol.get(ticker.symbol, []) if one.may_be(ticker)
        ]

    def listed_elsewhere(self, name: str) -> list[str]:
        """The assets with the same symbol that are traded in another country."""
        ticker = ticker_of(name)
        if ticker is None:
            return []
        return [
            asset for asset, one in self._by_symbol.get(ticker.symbol, []) if not one.may_be(ticker)
        ]


def contradictory(names: Sequence[str]) -> bool:
    """Whether tickers of one symbol name listings in different countries.

    Args:
        names: What a file calls one asset.

    >>> contradictory(["SAP GY Equity", "SAP US Equity"]), contradictory(["AAPL.O", "AAPL US"])
    (True, False)
    """
    tickers = [one for one in map(ticker_of, names) if one is not None]
    return any(
        not one.may_be(other) for place, one in enumerate(tickers) for other in tickers[:place]
    )
