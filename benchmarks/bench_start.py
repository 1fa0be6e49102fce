"""Claim: once set up, `imop app` serves the page within 5 seconds.

The clock runs from starting the command until the page's health check answers.
"""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

LIMIT_SECONDS = 5.0
GIVE_UP_SECONDS = 60.0


def main() -> int:
    """Print what was measured; return 1 when the claim does not hold."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).parent / "imop", "app", "--port", str(port)]
    start = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        served = answers(f"http://127.0.0.1:{port}/_stcore/health", start + GIVE_UP_SECONDS)
        seconds = time.perf_counter() - start
    finally:
        server.terminate()
        server.wait()
    if not served:
        print(f"start: no answer within {GIVE_UP_SECONDS:g} s; run `imop app` to see why")
        return 1
    print(f"start: the page answers after {seconds:.2f} s; claimed: within {LIMIT_SECONDS:g} s")
    return int(seconds > LIMIT_SECONDS)


def answers(address: str, deadline: float) -> bool:
    """Return whether the address answers before the deadline."""
    while time.perf_counter() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.05)
    return False


if __name__ == "__main__":
    sys.exit(main())
