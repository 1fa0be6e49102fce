"""The cache of compiled code: noticed changes, safe places, a marker that says when it is whole."""

import importlib
import json
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from imop_engine import compiling, kernels, warm

ENGINE = Path(compiling.__file__).parent


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The cache in a folder of this test alone."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    compiling.folder.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    compiling.folder.cache_clear()


@pytest.mark.slow
def test_a_change_in_a_called_kernel_of_another_file_is_noticed(tmp_path):
    package = tmp_path / "imop_engine"
    (package / "kernels").mkdir(parents=True)
    shutil.copy(ENGINE / "compiling.py", package)
    (package / "__init__.py").write_text("")
    (package / "kernels" / "__init__.py").write_text("")
    head = "from imop_engine.compiling import compiled\n"
    called = package / "kernels" / "called.py"
    (package / "kernels" / "caller.py").write_text(
        head + "from imop_engine.kernels.called import one\n\n"
        "@compiled\ndef two(x):\n    return 2.0 * one(x)\n"
    )
    code = (
        "from imop_engine.kernels.caller import two; from imop_engine import compiling\n"
        "print(compiling.is_stored('caller.two'), two(1.0))"
    )

    def answer(body):
        called.write_text(f"{head}\n@compiled\ndef one(x):\n    return {body}\n")
        done = subprocess.run(
            [sys.executable, "-c", code],
            # Python itself takes two changes within a second for one, where it keeps bytecode
            env=os.environ
            | {
                "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1",
            },
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.split()

    assert answer("x + 1.0") == ["False", "4.0"]
    assert answer("x + 1.0") == ["True", "4.0"]
    assert answer("x + 2.0") == ["False", "6.0"]
    assert answer("x + 1.0") == ["True", "4.0"]


def test_the_digest_sees_every_kernel_file(tmp_path):
    shutil.copytree(ENGINE / "kernels", tmp_path / "kernels", ignore=shutil.ignore_patterns("*c"))
    assert compiling.digest(tmp_path) == compiling.digest()
    seen = {compiling.digest()}
    for file in sorted((tmp_path / "kernels").glob("*.py")):
        file.write_text(file.read_text() + "# changed\n")
        seen.add(compiling.digest(tmp_path))
    assert len(seen) == 1 + len(list((ENGINE / "kernels").glob("*.py")))


def test_it_is_ready_only_when_everything_was_compiled(own_folder):
    assert compiling.folder().parent == own_folder
    assert not warm.is_ready()
    assert kernels.needs_compiling()
    (compiling.folder() / "portfolio.portfolio_run-0.nbc").touch()  # half a cache
    assert not warm.is_ready()
    compiling.mark_ready()
    assert warm.is_ready()
    assert not kernels.needs_compiling()


def test_old_folders_do_not_pile_up(own_folder):
    for age in range(6):
        old = own_folder / f"{compiling.PREFIX}{age}"
        old.mkdir()
        os.utime(old, (1000 - age, 1000 - age))
    (own_folder / "of somebody else").mkdir()
    compiling.mark_ready()
    kept = {one.name for one in own_folder.iterdir()}
    now = compiling.folder().name
    assert kept == {now, f"{compiling.PREFIX}0", f"{compiling.PREFIX}1", "of somebody else"}


def test_without_a_place_to_write_the_temporary_folder_serves(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(compiling, "ENGINE", Path("/proc"))  # nobody can write there
    monkeypatch.setattr(compiling, "digest", lambda: "0")
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setattr(compiling.tempfile, "gettempdir", lambda: str(tmp_path))
    compiling.folder.cache_clear()
    try:
        assert tmp_path in compiling.folder().parents
    finally:
        compiling.folder.cache_clear()


def test_progress_is_told_in_lines_and_in_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(warm, "_compile_all", lambda report: report(2, 7, "the frontier"))
    status = tmp_path / "status.json"
    assert warm.main(["--status", str(status), "--lines"]) == 0
    first, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    total = len(warm.TASKS)
    assert first == {"done": 2, "total": total, "state": "compiling", "what": "the frontier"}
    assert last == {"done": total, "total": total, "state": "ready", "what": ""}
    assert json.loads(status.read_text()) == last


def test_a_failure_is_told_too(tmp_path, monkeypatch):
    def broken(report):
        raise ValueError("no compiler here")

    monkeypatch.setattr(warm, "_compile_all", broken)
    status = tmp_path / "status.json"
    with pytest.raises(ValueError, match="no compiler"):
        warm.main(["--status", str(status)])
    report = json.loads(status.read_text())
    assert report["state"] == "failed"
    assert "no compiler here" in report["what"]


def test_tasks_come_after_what_they_need():
    before = set()
    for name, task in warm.TASKS.items():
        assert before.issuperset(task.after), name
        before.add(name)


# -- kernels without reference counting -----------------------------------------------------------
jit = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled"
)


def all_kernels():
    """Every compiled function, by the name of its files in the cache."""
    found = {}
    for module in pkgutil.iter_modules(kernels.__path__):
        for one in vars(importlib.import_module(f"imop_engine.kernels.{module.name}")).values():
            if hasattr(one, "targetoptions"):
                found[one._cache.name] = one
    return found


def returned_types(name):
    """What each compiled version of a kernel returns, as the cache says."""
    stored = compiling.folder().glob(f"{name}-*.nbc")
    return [pickle.loads(one.read_bytes())[3].return_type for one in stored]


def holds_array(returned):
    from numba.core.registry import cpu_target

    models = cpu_target.target_context.data_model_manager
    return models[returned].contains_nrt_meminfo()


@jit
def test_a_kernel_without_reference_counting_neither_returns_nor_receives_an_array():
    warm.run()
    kernels_by_name = all_kernels()
    borrowing = {
        name: one for name, one in kernels_by_name.items() if one.targetoptions["_nrt"] is False
    }
    assert len(borrowing) > 40
    unseen = set()
    for name, kernel in borrowing.items():
        returned = returned_types(name)
        unseen |= set() if returned else {name}
        assert not any(holds_array(one) for one in returned), name
        for used in kernel.py_func.__code__.co_names:
            called = kernel.py_func.__globals__.get(used)
            if hasattr(called, "targetoptions"):
                returned = returned_types(called._cache.name)
                assert not any(holds_array(one) for one in returned), f"{name} receives from {used}"
    assert not unseen  # each was compiled, so each was looked at
    makers = {name for name in kernels_by_name if any(map(holds_array, returned_types(name)))}
    assert "nouns.empty_working_set" in makers  # the cache does tell


@jit
def test_a_kernel_that_returns_what_it_borrowed_is_refused(own_folder):
    @compiling.borrowing
    def given_back(x):
        return x, 1.0

    with pytest.raises(TypeError, match="given_back returns"):
        given_back(np.zeros(2))


@jit
def test_a_kernel_that_makes_an_array_without_counting_is_refused(own_folder):
    from numba.core.errors import TypingError

    @compiling.borrowing
    def first_of_new(n):
        return np.zeros(n)[0]

    with pytest.raises(TypingError, match="zeros"):
        first_of_new(2)
