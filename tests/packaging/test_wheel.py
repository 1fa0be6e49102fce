"""The wheel, alone in a fresh environment away from the checkout, does what the checkout does."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from imop_engine import compiling
from servers import end, first_answer, reserved_port

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
FOLDERS = {
    "imop_engine": "imop_engine",
    "app": "imop_app",
    "benchmarks": "imop_benchmarks",
    "data": "imop_data",
    "experiments": "imop_experiments",
}
SOURCES = (*FOLDERS, "pyproject.toml", "setup.py", "README.md", "LICENSE")

pytestmark = pytest.mark.packaging


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built from a copy: an old build/ in the checkout would leak into the wheel.
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run(*build, "--outdir", target, source, cwd=target)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel and what it needs."""
    home = tmp_path_factory.mktemp("environment")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    venv.create(home, with_pip=uv is None)
    folder = home / ("Scripts" if sys.platform == "win32" else "bin")
    python = folder / "python"
    pip = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    run(*pip, "--quiet", "--constraint", CONSTRAINTS, wheel, cwd=home)
    hand_over_compiled_code(python, home)
    return folder


def hand_over_compiled_code(python: Path, home: Path) -> None:
    """Give the wheel the checkout's compiled code, which costs two minutes of processor to make.

    Its folder is named by a digest of all kernels: the wheel's own digest says that its kernels are
    the checkout's to the last byte, or this fails.
    """
    code = (
        "from imop_engine import compiling as c;"
        "print(c.digest(), c.ENGINE / 'kernels' / '__pycache__')"
    )
    digest, place = run(python, "-c", code, cwd=home).split(maxsplit=1)
    assert digest == compiling.digest()
    if compiling.is_ready():
        target = Path(place.strip()) / compiling.folder().name
        shutil.copytree(compiling.folder(), target, dirs_exist_ok=True)


def test_the_wheel_holds_five_packages_and_every_file_they_need(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(FOLDERS.values())
    wanted = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        # what benchmarks found on one machine stays in the checkout
        if path.is_file() and not {"__pycache__", "results"} & set(path.parts)
    }
    assert wanted <= set(names)


def test_no_common_top_level_module_is_installed(scripts: Path, tmp_path: Path) -> None:
    common = [name for name in FOLDERS if name != "imop_engine"]
    code = f"import importlib.util as u; print([n for n in {common} if u.find_spec(n)])"
    assert run(scripts / "python", "-c", code, cwd=tmp_path).strip() == "[]"


def test_the_version_is_the_wheels(wheel: Path, scripts: Path, tmp_path: Path) -> None:
    assert wheel.name.split("-")[1] in run(scripts / "imop", "--version", cwd=tmp_path)


def test_the_installed_kernels_run_from_the_checkouts_compiled_code(
    scripts: Path, tmp_path: Path
) -> None:
    if not compiling.is_ready():
        pytest.skip("the checkout is not compiled")
    code = "from imop_engine import compiling as c; print(c.is_ready(), c.folder())"
    ready, place = run(scripts / "python", "-c", code, cwd=tmp_path).split(maxsplit=1)
    assert ready == "True"
    assert Path(place.strip()).is_relative_to(scripts.parent)
    kept = {path.name for path in Path(place.strip()).glob("*.nbc")}
    run(scripts / "imop", "demo", "--json", cwd=tmp_path)
    assert {path.name for path in Path(place.strip()).glob("*.nbc")} == kept


def test_the_wheel_compiles_where_there_is_nothing_compiled(scripts: Path, tmp_path: Path) -> None:
    # one kernel and all that it calls: the others take minutes and are compiled the same way
    code = (
        "import imop_engine as imop; problem = imop.portfolio_problem([[0.04, 0], [0, 0.09]]);"
        "print(imop.efficient_frontier(problem, [0.02, 0.06]).portfolios[0].round(4).tolist())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    done = subprocess.run(
        [scripts / "python", "-c", code], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[0.6923, 0.3077]"
    (made,) = (tmp_path / "compiled").iterdir()
    assert made.name == compiling.folder().name
    assert any(made.glob("critical_line.trace-*.nbc"))


def test_demo_prints_one_json_document(scripts: Path, tmp_path: Path) -> None:
    result = json.loads(run(scripts / "imop", "demo", "--json", cwd=tmp_path))
    assert len(result["assets"]) == len(result["true"]) == len(result["estimate"]) == 8
    assert result["rounds"] == 1000
    assert result["raw_error"] < 0.0091


def test_an_experiment_runs_and_its_page_needs_nothing_else(scripts: Path, tmp_path: Path) -> None:
    command = [scripts / "imop", "reproduce", "fig3a", "--quick", "--out", "results", "--json"]
    made = json.loads(run(*command, cwd=tmp_path))
    assert [one["name"] for one in made["experiments"]] == ["fig3a"]
    text = (tmp_path / made["page"]).read_text()
    assert "<svg" in text
    assert "src=" not in text
    assert "<link" not in text


def test_the_app_answers_on_loopback(scripts: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("w") as output, reserved_port() as port:
        server = subprocess.Popen(
            [scripts / "imop", "app", "--port", str(port)],
            cwd=tmp_path,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            health = first_answer(f"http://127.0.0.1:{port}/_stcore/health", server)
            assert health == "ok", log.read_text()
        finally:
            end(server)
