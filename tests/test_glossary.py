"""The glossary is true: each word once, each name in code font a name of the code."""

import ast
import re
from pathlib import Path

import pytest

import imop_engine

ROOT = Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
ROW = re.compile(r"^\| (?!word \||---)(.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(GLOSSARY.read_text())


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Names of modules, classes, functions, arguments, attributes and statuses of the engine."""
    found: set[str] = set()
    for path in (ROOT / "imop_engine").rglob("*.py"):
        found |= {path.stem, path.parent.name}
        for node in ast.walk(ast.parse(path.read_text())):
            for name in ("name", "id", "attr", "arg"):
                value = getattr(node, name, None)
                found |= {value} if isinstance(value, str) else set()
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_every_word_is_there_once_with_its_name_in_the_code() -> None:
    words = [word for word, _, _ in rows()]
    assert len(words) > 60
    assert len(set(words)) == len(words)
    for word, meaning, names in rows():
        assert CODE.findall(names), word
        assert not meaning.endswith("."), word


def test_every_name_exists(known: set[str]) -> None:
    for word, _, names in rows():
        for name in CODE.findall(names):
            assert all(part in known for part in name.split(".")), f"{word}: {name}"


def test_public_classes_are_explained() -> None:
    named = {name for _, _, names in rows() for name in CODE.findall(names)}
    # results of one public function each, explained beside it
    beside = {"BatchFit", "Bootstrap", "Constants", "History", "Identification", "JointUpdate"}
    beside |= {"Preferences", "Progress", "Result"}
    classes = {name for name in imop_engine.__all__ if name[0].isupper()}
    assert classes - beside <= named
