"""Studies are whole or absent: written in one step, compared with their digests when opened."""

import errno
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import imop_engine as imop
from imop_benchmarks.torture import damage
from imop_engine import disk, manifest, storage
from imop_engine.bundled import market
from imop_engine.errors import CannotWrite, InvalidInput, OldStudy
from imop_engine.simulate import simulate_investors
from imop_engine.tables.export import write_table


def small(seed: int) -> imop.Study:
    paper = market("paper8")
    problem = imop.portfolio_problem(paper.covariance, names=paper.names)
    drawn = simulate_investors(problem, paper.expected_returns, 40, rng=np.random.default_rng(seed))
    settings = imop.StudySettings(start="zero", refine=False)
    moments = paper.returns_by_asset, paper.covariance_by_asset
    return imop.run_study(*moments, drawn.portfolios, settings)


@pytest.fixture(autouse=True)
def quick_report(monkeypatch):
    """Its charts take most of the time that saving takes, and are not what is asked here."""
    monkeypatch.setattr(storage, "html_report", lambda *_, **__: "a page")


@pytest.fixture(scope="module")
def one():
    return small(1)


@pytest.fixture(scope="module")
def two():
    return small(2)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# -- the list ------------------------------------------------------------------------------------
def test_the_list_names_every_file_with_its_digest_and_the_format(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run", also=("xlsx",))
    document = json.loads((folder / manifest.FILE).read_text())
    files = {name: each for name, each in content(folder).items() if name != manifest.FILE}
    assert document["format"] == storage.FORMAT == 2
    assert {name: about["sha256"] for name, about in document["files"].items()} == {
        name: manifest.digest(each) for name, each in files.items()
    }
    assert "study.xlsx" in files


def test_many_damages_are_refused_or_change_nothing(one, two, tmp_path):
    first, second = (
        imop.save_study(study, tmp_path / name) for study, name in ((one, "one"), (two, "two"))
    )
    trials = damage.damaged_studies(first, second, tmp_path / "work", 120, seed=0)
    assert [trial for trial in trials if trial.bad] == []
    assert {trial.ended for trial in trials} == {"refused", "unchanged"}


def test_run_json_of_another_study_is_refused_by_its_name(one, two, tmp_path):
    first, second = imop.save_study(one, tmp_path / "one"), imop.save_study(two, tmp_path / "two")
    shutil.copyfile(second / "run.json", first / "run.json")
    with pytest.raises(InvalidInput, match=r"run\.json was changed since it was saved\. Put"):
        imop.load_study(first)


def test_an_unknown_format_is_refused_with_what_to_do(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    damage.later_format(folder, folder, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match=r"is a study of format .* Open it with the version"):
        imop.load_study(folder)


def as_of_before(folder: Path) -> Path:
    """The folder as version 0.1.0 left it."""
    (folder / manifest.FILE).unlink()
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "format": 1}))
    return folder


def test_a_list_that_is_a_pipe_is_refused_and_not_waited_for(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    (folder / manifest.FILE).unlink()
    os.mkfifo(folder / manifest.FILE)
    said = r"run cannot be opened as a study: manifest\.json is no file\. Put the folder back"
    with pytest.raises(InvalidInput, match=said):
        imop.load_study(folder)


def test_a_study_of_today_without_its_list_is_not_called_old(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    (folder / manifest.FILE).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(
            InvalidInput, match=r"manifest\.json is missing, so that nobody can say"
        ):
            imop.load_study(folder)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "1" + 400 * "0" + ".0"])
def test_numbers_that_are_none_are_refused(one, number, tmp_path):
    folder = as_of_before(imop.save_study(one, tmp_path / "run"))
    path = folder / "run.json"
    path.write_text(re.sub(r'"seconds": [0-9.e+-]+', f'"seconds": {number}', path.read_text()))
    with (
        pytest.warns(OldStudy),
        pytest.raises(InvalidInput, match=r"run.json holds .* which is no number"),
    ):
        imop.load_study(folder)


def test_figures_that_make_no_sense_are_null(one):
    before = one.figures
    try:
        vars(one)["figures"] = {**before, "explained": -3e32, "noise": float("inf")}
        written = storage.run_document(one)["figures"]
    finally:
        vars(one)["figures"] = before
    assert written["explained"] is None
    assert written["noise"] is None
    assert written["rounds"] == before["rounds"]


def test_a_study_of_before_opens_and_says_so(one, tmp_path):
    folder = as_of_before(imop.save_study(one, tmp_path / "run"))
    with pytest.warns(OldStudy, match="without digests"):
        opened = imop.load_study(folder)
    np.testing.assert_array_equal(opened.theta, one.theta)
    assert "Saving it again adds them" in opened.remarks[0]
    imop.save_study(opened, folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert imop.load_study(folder).remarks == ()


def test_the_shell_says_that_a_study_is_of_before(one, tmp_path):
    folder = as_of_before(imop.save_study(one, tmp_path / "run"))
    command = [sys.executable, "-m", "imop_engine.cli", "frontier", "--study", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "without digests" in done.stderr
    assert "UserWarning" not in done.stderr


def test_a_table_that_somebody_edited_is_remarked_and_not_used(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    (folder / "returns.csv").write_text("asset,estimate\n")
    (folder / "report.html").unlink()
    with pytest.warns(OldStudy, match=r"report\.html is gone, returns\.csv was changed"):
        opened = imop.load_study(folder)
    np.testing.assert_array_equal(opened.theta, one.theta)


def test_a_table_that_the_list_does_not_name_is_not_read(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    (folder / "inputs" / "history.parquet").write_bytes(b"evil")
    np.testing.assert_array_equal(imop.load_study(folder).theta, one.theta)


@pytest.mark.parametrize("name", ["digest", "values"])
def test_a_checkpoint_that_was_changed_is_refused(one, name, tmp_path):
    path = tmp_path / "checkpoint.npz"
    imop.study.save_state(one.state, path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = np.array("0" * 64) if name == "digest" else arrays[name] + 1e-9
    np.savez(path, **arrays)
    with pytest.raises(InvalidInput, match="its content is not what was saved"):
        imop.study.load_state(path)


# -- in one step ---------------------------------------------------------------------------------
def test_a_study_replaces_another_and_leaves_nothing_of_it(one, two, tmp_path):
    folder = imop.save_study(one, tmp_path / "run", also=("xlsx",))
    (folder / "unfinished.npz").write_bytes(b"x")
    imop.save_study(two, folder)
    listed = json.loads((folder / manifest.FILE).read_text())["files"]
    assert set(content(folder)) == {*listed, manifest.FILE}
    np.testing.assert_array_equal(imop.load_study(folder).theta, two.theta)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_files_of_others_stay(one, two, tmp_path):
    folder = imop.save_study(one, tmp_path / "run", also=("xlsx",))
    (folder / "my notes.txt").write_text("mine")
    (folder / "shell").mkdir()
    (folder / "shell" / "a.csv").write_text("mine")
    imop.save_study(two, folder)
    assert (folder / "my notes.txt").read_text() == "mine"
    assert (folder / "shell" / "a.csv").read_text() == "mine"
    assert not (folder / "study.xlsx").exists(), "of the study before"
    np.testing.assert_array_equal(imop.load_study(folder).theta, two.theta)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_the_folder_one_stands_in_is_not_exchanged(one, two, tmp_path, monkeypatch):
    folder = imop.save_study(one, tmp_path / "run")
    monkeypatch.chdir(folder)
    imop.save_study(two, ".")
    np.testing.assert_array_equal(imop.load_study(Path.cwd()).theta, two.theta)
    assert Path("run.json").is_file(), "the folder is still the one the shell is in"


@pytest.mark.parametrize("exchange", [True, False])
def test_where_two_cannot_change_places_the_old_one_steps_aside(
    one, two, tmp_path, monkeypatch, exchange
):
    if not exchange:
        monkeypatch.setattr(disk, "_exchange", lambda *_: False)
    folder = imop.save_study(one, tmp_path / "run")
    imop.save_study(two, folder)
    np.testing.assert_array_equal(imop.load_study(folder).theta, two.theta)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_study_that_stood_aside_in_a_crash_is_put_back(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "run")
    folder.rename(tmp_path / ".run.old-1234")
    np.testing.assert_array_equal(imop.load_study(folder).theta, one.theta)


def test_two_who_save_at_once_take_turns(one, two, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda study: imop.save_study(study, tmp_path / "run"), [one, two] * 4))
    imop.load_study(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


# -- kills ---------------------------------------------------------------------------------------
KILLED = """
import os, sys
import imop_engine as imop
from imop_engine import disk, storage

storage.html_report = lambda *_, **__: "a page"

def counted(owner, name, last):
    real = getattr(owner, name)
    def step(*arguments, **options):
        global calls
        calls += 1
        if calls == last:
            os.kill(os.getpid(), 9)
        return real(*arguments, **options)
    setattr(owner, name, step)

# Imports and tables are made once, here, and not in each of the processes: they only write.
study = imop.load_study(sys.argv[1])
imop.save_study(study, sys.argv[2])

for folder, last in zip(sys.argv[3::2], map(int, sys.argv[4::2])):
    child = os.fork()
    if child == 0:
        calls = 0
        for name in ("fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "chmod"):
            counted(os, name, last)
        counted(disk, "_exchange", last)
        imop.save_study(study, folder)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
STEPS = (1, 2, 9, 17, 25, 33, 35, 36, 37, 38, 39, 40, 42, 44, 47, 50, 55, 60, 70, 80, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("foreign", [False, True], ids=["exchanged", "taken in"])
def test_killed_at_any_step_the_folder_is_old_or_new(one, two, tmp_path, foreign):
    """Processes are killed at their n-th call that changes the disk, for n all over the saving."""
    second, first = imop.save_study(two, tmp_path / "two"), imop.save_study(one, tmp_path / "one")
    if foreign:
        (first / "mine.txt").write_text("mine")
    folders = [Path(shutil.copytree(first, tmp_path / f"run-{last}")) for last in STEPS]
    orders = [word for pair in zip(folders, STEPS, strict=True) for word in map(str, pair)]
    command = [sys.executable, "-c", KILLED, str(second), str(tmp_path / "before"), *orders]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    codes = [int(line) for line in done.stdout.split()]
    assert codes[0] == -signal.SIGKILL
    assert codes[-1] == 0, done.stderr
    seen = set()
    for folder in folders:
        theta = imop.load_study(folder).theta
        old, new = np.array_equal(theta, one.theta), np.array_equal(theta, two.theta)
        assert old or new
        seen.add("old" if old else "new")
        imop.save_study(two, folder)
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]
        assert not foreign or (folder / "mine.txt").read_text() == "mine"
    assert seen == {"old", "new"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


# -- what the disk says --------------------------------------------------------------------------
def test_a_study_is_its_owners_alone(one, tmp_path):
    folder = imop.save_study(one, tmp_path / "a" / "run")
    for path in [folder, folder.parent, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only or belongs to somebody else"),
        (errno.ENOENT, "its folder is gone"),
        (errno.EIO, "was not written"),
    ],
)
def test_what_the_disk_refuses_is_one_sentence_and_the_old_study_stays(
    one, two, tmp_path, monkeypatch, number, said
):
    folder = imop.save_study(one, tmp_path / "run")
    before = content(folder)

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(storage.manifest, "write", refuse)
    with pytest.raises(CannotWrite, match=said):
        imop.save_study(two, folder)
    assert content(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_file_is_the_old_one_where_the_new_one_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "file"
    disk.write_whole(path, b"old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="Nothing that was there is lost"):
        disk.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "json"])
def test_a_table_is_the_old_one_where_the_new_one_cannot_be_written(ending, tmp_path, monkeypatch):
    path = write_table(pd.DataFrame({"a": [1.0]}), tmp_path / f"table.{ending}")
    path.chmod(0o640)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(CannotWrite, match="the disk is full"):
            write_table(pd.DataFrame({"a": [2.0]}), path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    write_table(pd.DataFrame({"a": [2.0]}), path)
    assert path.read_bytes() != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640, "who could read it still can"


def test_a_table_goes_through_a_link_and_into_a_device_and_makes_no_folder(tmp_path):
    real = tmp_path / "real.csv"
    real.write_text("old")
    (tmp_path / "link.csv").symlink_to(real)
    write_table(pd.DataFrame({"a": [1.0]}), tmp_path / "link.csv")
    assert real.read_text() == "a\n1.0\n"
    assert (tmp_path / "link.csv").is_symlink()
    disk.replace_file(Path(os.devnull), b"text")
    assert not Path(os.devnull).is_file()
    with pytest.raises(CannotWrite, match="its folder is gone"):
        write_table(pd.DataFrame({"a": [1.0]}), tmp_path / "gone" / "table.csv")


def test_figures_that_make_no_sense_are_not_in_the_document(one, monkeypatch):
    nonsense = {"explained": -3e32, "explained_elsewhere": -1.5, "median_risk_aversion": 201.0}
    figures = {**one.figures, **nonsense}
    monkeypatch.setitem(vars(one), "figures", figures)
    told = storage.run_document(one)
    assert [told["figures"][name] for name in nonsense] == [None] * 3
    assert set(told["not_defined"]) == set(nonsense)
    assert "average portfolio explains them better" in told["not_defined"]["explained"]
    assert "risk alone counts" in told["not_defined"]["median_risk_aversion"]
    people = one.frame_investors.copy()
    people.loc[1, "risk_aversion"] = 1e12
    people.loc[1, "risk_aversion_high"] = np.inf
    monkeypatch.setitem(vars(one), "frame_investors", people)
    written = storage.study_tables(one)["investors"]
    assert written.loc[1, ["risk_aversion", "risk_aversion_high"]].isna().all()
    assert written.loc[1, "reason"].startswith("no risk aversion: at a weight on return this small")
    assert written.loc[[0, 2], "risk_aversion"].notna().all()
    assert (written.loc[[0, 2], "reason"] == "").all()
    monkeypatch.undo()
    assert storage.run_document(one)["not_defined"] == {}
