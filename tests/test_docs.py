"""The documents are true: their Python runs, and their links lead somewhere."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "data").glob("*.md"),
    ]
)
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMAGE_TAG = re.compile(r'(?:src|href)="([^"]+)"')


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def python_blocks(document: Path) -> list[tuple[int, str]]:
    """Return each Python block with the line on which it starts."""
    text = document.read_text()
    return [
        (text.count("\n", 0, match.start(1)), match.group(1))
        for match in PYTHON_BLOCK.finditer(text)
    ]


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if python_blocks(d)], ids=name_of)
def test_python_blocks_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, block in python_blocks(document):
        # Blank lines in front, so that a traceback names the document's own line.
        exec(compile("\n" * line + block, str(document), "exec"), namespace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_relative_links_exist(document: Path) -> None:
    prose = ANY_BLOCK.sub("", document.read_text())
    links = LINK.findall(prose) + IMAGE_TAG.findall(prose)
    relative = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    missing = [link for link in relative if not (document.parent / unquote(link)).exists()]
    assert not missing


def test_there_is_a_readme_with_python_in_it() -> None:
    assert python_blocks(ROOT / "README.md")
