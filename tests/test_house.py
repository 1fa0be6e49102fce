"""The measures of a package: counted as they say, and kept where we want them."""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENGINE = Path(__file__).resolve().parents[1] / "imop_engine"
SCRIPT = ROOT / "scripts" / "house.py"
SOURCE = '''"""A module."""


def whole(first, second, third):
    """Names all.

    Args:
        first: one.
        second: two.
        third: three.
    """
    # a comment does not count

    def inner(a, b, c):
        return a + b + c

    return inner(first, second, third)


def lacking(first, second, third):
    """Names first, and seconds, which is another word."""
    return first


def _private(first, second, third):
    return None


class Thing:
    """Made of one, two and three."""

    def __init__(self, one, two, three):
        self.parts = (one, two, three)

    def small(self, one, two):
        """Too few arguments to ask for."""
'''


def measure(*arguments: str | Path) -> str:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "module.py").write_text(SOURCE)
    (folder / "_hidden.py").write_text("def told(one, two, three):\n    return one\n")
    return folder


def test_what_counts_is_counted(package):
    table = measure(package)
    assert "2 / " in table.splitlines()[0]
    assert "67%  (2 of 3)" in table  # whole, lacking, Thing(...)
    assert "3  (" in table  # the most arguments
    assert measure(package, "--missing").split(": ") == [
        "module.py:20 lacking",
        "second, third\n",
    ]


def test_code_lines_leave_out_docstrings_comments_and_blanks(package):
    longest = next(line for line in measure(package).splitlines() if "longest (code" in line)
    assert "/ 4  (module.py:4 whole)" in longest


def test_a_folder_without_python_is_refused(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds no Python files" in done.stderr


@pytest.mark.parametrize("folder", ["imop_engine", "app", "experiments"])
def test_public_functions_name_all_their_arguments(folder):
    assert measure(ROOT / folder, "--missing") == ""


def test_the_engine_keeps_within_its_aims():
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in measure(ENGINE).splitlines())
    longest_module = int(rows["module median / longest"].split(" / ")[1].replace(",", ""))
    longest = rows["function median / 95 % / longest (code lines)"]
    assert longest_module <= 600
    assert int(longest.split(" / ")[2].split()[0]) <= 100
    assert int(measured(ENGINE / "kernels", "most arguments").split()[0]) <= 9


def measured(folder: Path, row: str) -> str:
    return re.search(rf"^{row}  +(.*)$", measure(folder), re.MULTILINE)[1]


def test_a_percentage_is_written_without_a_space():
    for path in [*ENGINE.rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        for one in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            said = one.type == tokenize.STRING and not one.string.startswith('"""')
            assert not (said and re.search(r"[0-9}] %(?![(\w])", one.string)), one.string
