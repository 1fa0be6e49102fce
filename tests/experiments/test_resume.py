"""An interrupted run goes on where it stopped; what is kept is used only if it still holds."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from imop_engine.errors import ImopError, InvalidInput
from imop_experiments import catalogue, runner, store
from imop_experiments.store import Store


@pytest.fixture
def experiment():
    return next(one for one in catalogue.EXPERIMENTS if one.name == "fig3a")


@pytest.mark.slow
def test_a_finished_part_is_not_redone(tmp_path, monkeypatch):
    # What is kept and what is run again, not processes: the quick run of everything has those.
    monkeypatch.setattr(runner, "_pool", lambda workers, ready: ThreadPoolExecutor(workers))
    first = runner.reproduce(["fig3a", "fig3b"], tmp_path, quick=True, workers=1)
    assert first["parts_run"] == first["parts"] == 5
    kept = next((tmp_path / "raw" / "fig3b").glob("*.json"))
    kept.unlink()
    second = runner.reproduce(["fig3a", "fig3b"], tmp_path, quick=True, workers=1)
    assert second["parts_run"] == 1
    for one, two in zip(first["experiments"], second["experiments"], strict=True):
        assert one["numbers"] == two["numbers"]
        assert one["findings"] == two["findings"]
    third = runner.reproduce(["fig3a"], tmp_path, quick=True, workers=1, fresh=True)
    assert third["parts_run"] == 1


def test_a_file_cut_short_counts_as_missing(tmp_path, experiment):
    shelf, part = Store(tmp_path), {"seed": 1}
    shelf.save(experiment, part, {"answer": 42}, 0.1)
    assert shelf.load(experiment, part)["result"] == {"answer": 42}
    path = shelf.path(experiment, part)
    path.write_text(path.read_text()[:-5])
    assert shelf.load(experiment, part) is None


def test_other_settings_or_other_code_is_another_key(monkeypatch, experiment):
    one = store.key(experiment, {"seed": 1})
    assert store.key(experiment, {"seed": 2}) != one
    assert store.key(experiment, {"seed": 1}) == one
    monkeypatch.setattr(store, "engine_digest", lambda: "another engine")
    assert store.key(experiment, {"seed": 1}) != one


def test_a_change_in_any_room_that_computes_is_another_engine(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "files", lambda package: tmp_path)
    digest = store.engine_digest.__wrapped__
    modules = [tmp_path / name for name in ("update.py", "kernels/tree.py", "report/pages.py")]
    for module in modules:
        module.parent.mkdir(exist_ok=True)
        module.write_text("1")
    seen = [digest()]
    for module in modules:
        module.write_text("2")
        seen.append(digest())
    assert len(set(seen[:3])) == 3
    assert seen[3] == seen[2]  # pages only show


def test_settings_are_plain_json():
    for experiment in catalogue.EXPERIMENTS:
        for quick in (True, False):
            parts = experiment.parts(quick)
            assert parts
            assert json.loads(json.dumps(parts)) == parts
            keys = {store.key(experiment, part) for part in parts}
            assert len(keys) == len(parts)


def test_a_part_that_vanishes_during_the_run_is_named(tmp_path, experiment):
    with pytest.raises(ImopError, match=r"a part of fig3a is gone.*run the same command again"):
        runner._report(experiment, experiment.parts(True), Store(tmp_path), tmp_path)


@pytest.mark.slow
def test_the_shell_refuses_a_wrong_name_in_one_sentence(tmp_path):
    command = [Path(sys.executable).with_name("imop"), "reproduce", "fig9", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("imop: there is no experiment 'fig9'")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(InvalidInput, match=r"no experiment 'fig9'; use all, or one of fig1a"):
        runner.choose(["fig9"])
    assert [one.name for one in runner.choose(["all"])] == [e.name for e in catalogue.EXPERIMENTS]
