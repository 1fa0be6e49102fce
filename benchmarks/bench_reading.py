"""Claims: 100,000 investors × 30 assets (wide CSV) are read and checked within 10 seconds,
1,000,000 rows of a long CSV within 20, and neither takes 2 GB of memory.

Each file is read in a process of its own, which reports its seconds and its peak memory (the
interpreter and its packages included). Rows with known faults are planted, so that a reader that
skips its checks fails the benchmark. Results go to benchmarks/results/reading.json.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

INVESTORS, ASSETS = 100_000, 30
LONG_ROWS, HELD = 1_000_000, 10
LIMIT_SECONDS = {"wide": 10.0, "wide, decimal comma": 10.0, "long": 20.0}
LIMIT_GIGABYTES = 2.0
# Every so manieth portfolio is short of its sum, and as many have a cell that is no number.
FAULT_EVERY = 1_000
RESULTS = Path(__file__).parent / "results" / "reading.json"
PAGE = Path(__file__).parents[1] / "docs" / "files.md"
MARKS = ("<!-- reading benchmark -->\n", "<!-- end of reading benchmark -->")
SEED = 0


def main() -> int:
    """Measure every file; return 1 when a claim does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder))
        rows = [measure(name, path) for name, path in files.items()]
    report = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 2),
        "files": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    write_page(report)
    for row in rows:
        print(
            f"reading: {row['file']}, {row['rows']:,} rows, {row['megabytes']} MB: "
            f"{row['seconds']} s ({row['cpu seconds']} s of processor), "
            f"{row['gigabytes']} GB; claimed: {row['limit seconds']:g} s, {LIMIT_GIGABYTES:g} GB"
        )
    return int(any(not row["holds"] for row in rows))


def write_page(report: dict[str, Any]) -> None:
    """Put the table into docs/files.md, between its marks."""
    head = "| file | rows | seconds | processor seconds | GB |\n|---|---:|---:|---:|---:|\n"
    lines = [
        f"| {row['file']} | {row['rows']:,} | {row['seconds']} | {row['cpu seconds']} | "
        f"{row['gigabytes']} |\n"
        for row in report["files"]
    ]
    where = (
        f"\nOne run on {report['cores']} cores, Python {report['python']}; the machine's load "
        f"before it was {report['load before']}, and with others at work seconds exceed those of "
        "the processor.\n\n"
    )
    before, rest = PAGE.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(before + MARKS[0] + where + head + "".join(lines) + "\n" + MARKS[1] + after)


def write_files(folder: Path) -> dict[str, Path]:
    """Write the three files, with faults planted in known rows."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(SEED)
    names = [f"A{j:02d}" for j in range(ASSETS)]
    ids = np.array([f"C{i:06d}" for i in range(INVESTORS)])
    weights = rng.dirichlet(np.full(ASSETS, 0.3), INVESTORS)
    weights[::FAULT_EVERY] *= 0.9
    wide = pd.DataFrame(weights, columns=names)
    wide.insert(0, "investor", ids)
    wide.insert(1, "segment", rng.choice(["retail", "private", "other"], INVESTORS))
    files = {name: folder / f"{i}.csv" for i, name in enumerate(LIMIT_SECONDS)}
    broken = wide.astype({names[0]: object})
    broken.loc[1::FAULT_EVERY, names[0]] = "abc"
    broken.to_csv(files["wide"], index=False)
    broken.to_csv(files["wide, decimal comma"], index=False, sep=";", decimal=",")

    count = LONG_ROWS // HELD
    held = np.argsort(rng.random((count, ASSETS)), axis=1)[:, :HELD].ravel()
    owner = np.repeat(np.arange(count), HELD)
    shares = rng.dirichlet(np.ones(HELD), count)
    shares[::FAULT_EVERY] *= 0.9
    cells = pd.Series(shares.ravel(), dtype=object)
    cells[HELD :: HELD * FAULT_EVERY] = "abc"
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(owner % 700, unit="D")
    long = {"investor": ids[owner], "date": days, "asset": np.array(names)[held], "weight": cells}
    pd.DataFrame(long).to_csv(files["long"], index=False)
    return files


def measure(name: str, path: Path) -> dict[str, object]:
    """Read one file in a fresh process and judge what it says of itself."""
    done = subprocess.run(
        [sys.executable, __file__, "--read", str(path)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    per_fault = INVESTORS // FAULT_EVERY
    # In the long file a bad cell costs its whole portfolio, and every row of one is rescaled.
    rows = HELD if name == "long" else 1
    checked = found["refused"] == found["changed"] == per_fault * rows
    limit = LIMIT_SECONDS[name]
    return {
        "file": name,
        "megabytes": round(path.stat().st_size / 1e6),
        **found,
        "faults found": checked,
        "limit seconds": limit,
        "holds": checked and found["seconds"] < limit and found["gigabytes"] < LIMIT_GIGABYTES,
    }


def read(path: str) -> dict[str, object]:
    """Read one file here and now."""
    from imop_engine.tables import read_portfolios

    start, start_cpu = time.perf_counter(), time.process_time()
    people = read_portfolios(path, [f"A{j:02d}" for j in range(ASSETS)])
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "rows": people.report.rows_read,
        "portfolios": len(people),
        "changed": people.report.rows_changed,
        "refused": people.report.rows_refused,
        "seconds": round(seconds, 2),
        "cpu seconds": round(cpu, 2),
        "gigabytes": round(peak / 1e9, 2),
    }


if __name__ == "__main__":
    if "--read" in sys.argv:
        print(json.dumps(read(sys.argv[-1])))
    else:
        sys.exit(main())
