"""A stand-in for Yahoo's price server: real HTTP, replies in Yahoo's own JSON.

yfinance itself runs unchanged; only the address it asks is this one. A ticker can answer well, be
unknown, refuse for a while, send nothing, or keep silent.
"""

import datetime as dt
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlparse

ZONE = dt.timezone(dt.timedelta(hours=-5))
FIELDS = ("open", "high", "low", "close", "volume")


def month_starts(first: str, count: int) -> list[int]:
    year, month = (int(part) for part in first.split("-"))
    stamps = []
    for i in range(count):
        moved = month - 1 + i
        day = dt.datetime(year + moved // 12, moved % 12 + 1, 1, tzinfo=ZONE)
        stamps.append(int(day.timestamp()))
    return stamps


def chart(ticker: str, stamps: list[int], closes: list[float | None], adjusted: list[float | None]):
    """Return Yahoo's reply for one ticker."""
    meta = {
        "currency": "USD",
        "symbol": ticker,
        "exchangeName": "NMS",
        "instrumentType": "EQUITY",
        "firstTradeDate": stamps[0] if stamps else None,
        "regularMarketTime": stamps[-1] if stamps else None,
        "gmtoffset": -18000,
        "timezone": "EST",
        "exchangeTimezoneName": "America/New_York",
        "regularMarketPrice": closes[-1] if closes else None,
        "priceHint": 2,
        "currentTradingPeriod": {
            part: {"timezone": "EST", "start": 0, "end": 1, "gmtoffset": -18000}
            for part in ("pre", "regular", "post")
        },
        "dataGranularity": "1mo",
        "range": "",
        "validRanges": ["1d", "5d", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "ytd", "max"],
    }
    quote = {field: list(closes) for field in FIELDS}
    result = {
        "meta": meta,
        "timestamp": stamps,
        "indicators": {"quote": [quote], "adjclose": [{"adjclose": adjusted}]},
    }
    return {"chart": {"result": [result], "error": None}}


UNKNOWN = {
    "chart": {
        "result": None,
        "error": {"code": "Not Found", "description": "No data found, symbol may be delisted"},
    }
}


class YahooServer:
    """Serves charts; `replies[ticker]` is (status, document), or a list with one per request."""

    def __init__(self) -> None:
        self.replies: dict[str, object] = {}
        self.asked: list[str] = []
        self.silent: set[str] = set()
        self.closed = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                ticker = urlparse(self.path).path.rsplit("/", 1)[-1]
                server.asked.append(ticker)
                if ticker in server.silent:
                    server.closed.wait()
                    return
                status, document = server.reply(ticker)
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def reply(self, ticker: str) -> tuple[int, object]:
        answer = self.replies.get(ticker, (404, UNKNOWN))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        return answer

    def close(self) -> None:
        self.closed.set()
        self.http.shutdown()
        self.http.server_close()
