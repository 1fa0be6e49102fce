"""What the documentation's site has besides docs/: the reference, and the files that pages link to.

A hook of MkDocs. Pages of docs/ link to source files, folders and pages beside docs/, so that they
also work where the repository is browsed. Each of them becomes a page of the site: Markdown as it
is, source in a block, a folder as a list of what lies in it. So every link leads somewhere without
a network, and MkDocs checks all of them.
"""

from __future__ import annotations

import ast
import importlib
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))  # a hook is loaded by its path

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
BESIDE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security_policy.md": "SECURITY.md",
    "conduct.md": "CODE_OF_CONDUCT.md",
    "data_sources.md": "data/SOURCES.md",
}
LANGUAGES = {
    ".py": "python", ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".sh": "bash",
    ".json": "json", ".j2": "html", ".css": "css", ".csv": "text",
}  # fmt: skip
LARGEST = 200_000  # bytes of a file that becomes a page
SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that lie outside docs/: those beside it, the reference, what is linked to."""
    for address, file in BESIDE.items():
        if (ROOT / file).exists() and not (ROOT / "docs" / address).exists():
            files.append(File.generated(config, address, content=_read(file)))
    for address, text in _reference().items():
        files.append(File.generated(config, address, content=text))
    wanted = {
        target
        for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / file for file in BESIDE.values())]
        if page.exists()
        for target in _targets(page)
    }
    for target in sorted(wanted):
        files.append(File.generated(config, _address(target), content=_source_page(target)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Turn links that leave docs/ into links to the pages made for them."""
    here = page.file.src_uri
    if here.startswith(("source/", "reference/")):
        return markdown
    folder = posixpath.dirname(BESIDE.get(here, f"docs/{here}"))

    def moved(match: re.Match[str]) -> str:
        link, _, anchor = match[2].partition("#")
        if not link or re.match(r"[a-z]+:", link):
            return match[0]
        target = posixpath.normpath(posixpath.join(folder, link))
        to = posixpath.relpath(_place(target), posixpath.dirname(here) or ".")
        return f"{match[1]}{to}{'#' + anchor if anchor else ''}{match[3]}"

    return _outside_fences(markdown, lambda text: LINK.sub(moved, text))


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Take the part that lets the search run from the disk out of this site, not from elsewhere."""
    up = posixpath.relpath("assets", posixpath.dirname(page.url) or ".")
    return SHIM.sub(f'<script src="{up}/worker_from_disk.js"></script>', output)


def on_post_template(output: str, *, template_name: str, config: Any) -> str:
    """The same for the page that is shown where there is none, from whatever address."""
    return SHIM.sub("", output) if template_name == "404.html" else output


def _place(target: str) -> str:
    """Where a file of the repository lies in the site."""
    beside = {file: address for address, file in BESIDE.items()}
    if target in beside:
        return beside[target]
    return target.removeprefix("docs/") if target.startswith("docs/") else _address(target)


def _address(target: str) -> str:
    return f"source/{target}.md" if (ROOT / target).is_file() else f"source/{target}/index.md"


def _targets(page: Path) -> set[str]:
    """Files and folders outside docs/ that a page links to."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = set()
    for _, link, _ in LINK.findall(prose):
        path = link.partition("#")[0]
        if not path or re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve()
        if target.is_relative_to(ROOT / "docs") or not target.is_relative_to(ROOT):
            continue
        name = target.relative_to(ROOT).as_posix()
        if name not in BESIDE.values() and target.exists():
            found.add(name)
    return found


def _source_page(target: str) -> str:
    path = ROOT / target
    if path.is_dir():
        rows = [
            f"- `{one.name}{'/' if one.is_dir() else ''}` {_first_line(one)}"
            for one in sorted(path.iterdir())
            if not one.name.startswith((".", "__"))
        ]
        return f"{UNSEARCHED}# {target}/\n\n" + "\n".join(rows) + "\n"
    if path.stat().st_size > LARGEST:
        size = f"{path.stat().st_size:,}"
        return f"{UNSEARCHED}# {target}\n\nA file of {size} bytes, in the repository.\n"
    language = LANGUAGES.get(path.suffix, "text")
    return f"{UNSEARCHED}# {target}\n\n~~~~~~{language}\n{_read(target)}\n~~~~~~\n"


def _first_line(path: Path) -> str:
    """What a module or a package says of itself, in its first line."""
    file = path / "__init__.py" if path.is_dir() else path
    if file.suffix != ".py" or not file.exists():
        return ""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return said.splitlines()[0] if said else ""


def _reference() -> dict[str, str]:
    """A page for each room with public names, from their docstrings."""
    engine = importlib.import_module("imop_engine")
    pages = {}
    listed = []
    for module, names in engine._HOME.items():
        full = f"imop_engine.{module}"
        page = f"{module.replace('.', '_')}.md"
        said = (importlib.import_module(full).__doc__ or "").strip().splitlines()[0]
        parts = [f"::: {full}"] if names == (module,) else [f"::: {_home(full, n)}" for n in names]
        pages[f"reference/{page}"] = f"# {module}\n\n{said}\n\n" + "\n\n".join(parts) + "\n"
        names_shown = ", ".join(f"`{name}`" for name in names)
        listed.append(f"| [{module}]({page}) | {names_shown} | {said} |")
    head = (
        "# Reference\n\nEvery public name, as `import imop_engine as imop` gives it; the text is "
        "that of the docstrings, whose examples are run by the tests.\n\n"
        "| room | names | what it is |\n"
        "|---|---|---|\n"
    )
    pages["reference/index.md"] = head + "\n".join(listed) + "\n"
    return pages


def _home(module: str, name: str) -> str:
    """The module in which a public name is defined: packages pass names on."""
    value = getattr(importlib.import_module(module), name)
    return f"{getattr(value, '__module__', module)}.{name}"


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8", errors="replace")


def _outside_fences(text: str, change: Any) -> str:
    """Change what is no block of code."""
    parts, at = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, change(text[at:])])
