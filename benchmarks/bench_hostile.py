"""Claims: every hostile file ends within 5 seconds of processor time and 500 MB, with a sentence,
and a page of another user answers within 1 second meanwhile.

The files are those of tests/tables/hostile_files.py, read as the app reads them: in a process of
their own, while the Market page of another workspace is drawn again and again in this one. The
slowest drawing while nothing is read is printed beside it. Seconds by the clock are those of the
whole machine; what reading itself takes from pages is the processor time that this process spends
on it, in all and without a pause: it is measured first, while no page is drawn.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

LIMIT_SECONDS, LIMIT_MEGABYTES, LIMIT_PAGE = 5.0, 500.0, 1.0
MEGABYTE = 1_000_000
TICK = 0.003  # seconds between two looks at the processor's clock
ALONE = 5  # drawings of the page while nothing is read


def main() -> int:
    """Print what each file took; return 1 when a claim does not hold."""
    from app_harness import page, workspace
    from imop_engine.tables import apart
    from tables.hostile_files import PORTFOLIOS

    took = _noted(apart)
    workspace("w-other", investors=None)
    other = page("market", "w-other")
    alone = max(_drawn(other) for _ in range(ALONE))
    print(f"hostile: the other page alone: at most {alone:.2f} s")
    broken = 0
    for name, make in PORTFOLIOS.items():
        content, said = make(), []
        served, stalled = _served(apart, content)
        reading = threading.Thread(target=_read, args=(apart, content, said))
        reading.start()
        pages = [_drawn(other)]
        while reading.is_alive():
            pages.append(_drawn(other))
        seconds, memory = took[-1]["seconds"], took[-1]["memory"] / MEGABYTE
        holds = seconds <= LIMIT_SECONDS and memory <= LIMIT_MEGABYTES and max(pages) <= LIMIT_PAGE
        broken += not holds
        print(
            f"hostile: {name}: {seconds:.2f} s of processor, {memory:.0f} MB; the other page "
            f"{max(pages):.2f} s at most of {len(pages)}, kept from it {served:.3f} s of processor "
            f"in all and {stalled:.3f} s without a pause; {said[0][:90]}"
        )
    return int(broken > 0)


def _noted(apart: Any) -> list[dict[str, Any]]:
    """What reading processes took, noted as they end."""
    seen: list[dict[str, Any]] = []
    answers = apart._answers

    def note(*arguments: Any) -> Any:
        answer, how = answers(*arguments)
        seen.append(how)
        return answer, how

    apart._answers = note
    return seen


def _read(apart: Any, content: bytes, said: list[str]) -> None:
    from imop_engine.errors import ImopError

    try:
        apart.read_apart("portfolios", [content], {"name": "bad", "assets": ["A", "B"]})
        said.append("read")
    except ImopError as error:
        said.append(str(error))


def _served(apart: Any, content: bytes) -> tuple[float, float]:
    """Processor seconds of this process while another reads, and the most without a pause."""
    reading = threading.Thread(target=_read, args=(apart, content, []))
    first = last = time.process_time()
    most = 0.0
    reading.start()
    while reading.is_alive():
        time.sleep(TICK)
        now = time.process_time()
        most, last = max(most, now - last), now
    return last - first, most


def _drawn(test: Any) -> float:
    start = time.perf_counter()
    test.run()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
