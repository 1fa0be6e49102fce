"""One direction of imports, and an engine that loads nothing heavy until it is used."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("streamlit", "altair", "cvxpy", "gurobipy", "yfinance", "skfolio", "dask", "plotly")
# numba alone brings in about 500 modules; the slowest packages bring in as many again.
MODULES_AT_MOST = 1500


@pytest.mark.slow
def test_the_contracts_hold() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_engine_loads_nothing_heavy() -> None:
    code = "import imop_engine, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert not {name.partition(".")[0] for name in loaded} & {
        *HEAVY,
        "imop_app",
        "imop_benchmarks",
        "imop_experiments",
    }
    assert len(loaded) < MODULES_AT_MOST


@pytest.mark.parametrize(
    "package", ["imop_engine", "imop_app", "imop_benchmarks", "imop_data", "imop_experiments"]
)
def test_each_package_is_found_under_its_own_name(package: str) -> None:
    code = f"import importlib.util as u; print(bool(u.find_spec({package!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("name", ["export_study", "load_study", "save_study"])
def test_scripts_written_by_the_app_of_0_1_0_find_what_they_import(name: str) -> None:
    import imop_engine
    import imop_engine.study

    assert getattr(imop_engine.study, name) is getattr(imop_engine, name)


def test_learning_loads_no_reader_of_files() -> None:
    code = (
        "import sys, imop_engine as imop; imop.study_steps; imop.identification; imop.summarize;"
        "print([name for name in sys.modules if name.startswith('imop_engine.tables')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
