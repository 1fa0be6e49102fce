"""Measure a package the way the table "our own house beside theirs" does, ours or anybody's.

    python scripts/house.py imop_engine --tests tests
    python scripts/house.py imop_engine --tests tests --missing      # which docstrings to complete
    python scripts/house.py .venv/lib/python3.11/site-packages/cvxcla

What counts:

- Lines of a file are all its lines. Lines of a function are its code lines: no docstring, comment
  or blank line; functions inside it count as part of it and once more on their own.
- Arguments are all parameters of a function besides `self` and `cls`.
- A public function has no leading underscore, nor has any module, class or function around it;
  functions within functions, properties, magic methods and the shell's commands (their arguments
  are typer's options, each with its own help) are not public functions. The docstring of a class
  may name the arguments of its `__init__`, which therefore counts with its class.
- A docstring names an argument where the name stands in it as a whole word.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FEW_ARGUMENTS = 3  # from this many on, a docstring should name them all
NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Measured(NamedTuple):
    """One function of the package."""

    where: str  # file:line name
    code_lines: int
    arguments: tuple[str, ...]
    public: bool
    docstring: str

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Arguments that the docstring does not name."""
        return tuple(
            name
            for name in self.arguments
            if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.docstring)
        )


def main() -> None:
    """Print the table of one package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", type=Path, help="folder of the package")
    parser.add_argument("--tests", type=Path, help="folder of its tests")
    parser.add_argument("--root", type=Path, help="folder of its repository; default: above it")
    parser.add_argument("--missing", action="store_true", help="list incomplete docstrings")
    chosen = parser.parse_args()
    files = sources(chosen.package)
    if not files:
        parser.error(f"{chosen.package} holds no Python files; give the folder of a package.")
    functions = [one for path in files for one in functions_of(path, chosen.package)]
    asked = [one for one in functions if one.public and len(one.arguments) >= FEW_ARGUMENTS]
    if chosen.missing:
        for one in asked:
            if one.unnamed:
                print(f"{one.where}: {', '.join(one.unnamed)}")
        return
    for name, value in table(chosen.package, chosen.tests, chosen.root, functions).items():
        print(f"{name:58}{value}")


def table(
    package: Path, tests: Path | None, root: Path | None, functions: list[Measured]
) -> dict[str, str]:
    """The rows of the table.

    Args:
        package: Folder of the package.
        tests: Folder of its tests, None where there is none.
        root: Folder of its repository; None means the folder above the package.
        functions: All functions of the package.

    Returns:
        What was measured by the name of the row.
    """
    lines = [_lines(path) for path in sources(package)]
    code = sorted(one.code_lines for one in functions) or [0]
    most = max(functions, key=lambda one: len(one.arguments), default=None)
    longest = max(functions, key=lambda one: one.code_lines, default=None)
    asked = [one for one in functions if one.public and len(one.arguments) >= FEW_ARGUMENTS]
    whole = [one for one in asked if not one.unnamed]
    home = root or package.resolve().parent
    tested = sum(_lines(path) for path in sources(tests)) if tests else 0
    habits = {
        "CONTRIBUTING": any(home.glob("CONTRIBUTING*")),
        "pre-commit": (home / ".pre-commit-config.yaml").exists(),
        "CI": any(home.glob(".github/workflows/*")) or (home / ".ci").exists(),
    }
    return {
        "files / lines": f"{len(lines)} / {sum(lines):,}",
        "module median / longest": f"{statistics.median(lines):.0f} / {max(lines):,}",
        "function median / 95 % / longest (code lines)": f"{statistics.median(code):.0f} / "
        f"{code[int(0.95 * (len(code) - 1))]} / {code[-1]}"
        + (f"  ({longest.where})" if longest else ""),
        "most arguments": f"{len(most.arguments)}  ({most.where})" if most else "0",
        f"public functions with {FEW_ARGUMENTS}+ arguments, docstring names all": (
            f"{len(whole) / len(asked):.0%}  ({len(whole)} of {len(asked)})" if asked else "none"
        ),
        "test lines / source lines": f"{tested / sum(lines):.2f}" if tests else "not asked for",
        "CONTRIBUTING, pre-commit, CI": ", ".join(k for k, v in habits.items() if v) or "none",
    }


def sources(folder: Path) -> list[Path]:
    """The Python files of a folder."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def functions_of(path: Path, package: Path) -> Iterator[Measured]:
    """All functions of a file, methods and inner ones too."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    code = _code_lines(text)
    place = path.relative_to(package)
    open_module = not any(part.startswith("_") for part in place.with_suffix("").parts) or (
        place.name == "__init__.py" and not any(p.startswith("_") for p in place.parts[:-1])
    )
    yield from _walk(tree, code, place.as_posix(), open_module, "")


def _walk(
    node: ast.AST, code: set[int], place: str, public: bool, class_doc: str
) -> Iterator[Measured]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            said = ast.get_docstring(child) or ""
            yield from _walk(child, code, place, public and not child.name.startswith("_"), said)
        elif isinstance(child, Function):
            yield _measured(child, code, place, public, class_doc, isinstance(node, ast.ClassDef))
            yield from _walk(child, code, place, False, "")
        else:
            yield from _walk(child, code, place, public, class_doc)


def _measured(
    node: Function, code: set[int], place: str, public: bool, class_doc: str, method: bool
) -> Measured:
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    if method and names and names[0] in ("self", "cls"):
        names = names[1:]
    names += [one.arg for one in given.kwonlyargs]
    names += [one.arg for one in (given.vararg, given.kwarg) if one is not None]
    made = node.name == "__init__"
    doc = ast.get_docstring(node, clean=False) or ""
    shown = public and (made or not node.name.startswith("_")) and not _is_command(node)
    body = code & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return Measured(
        f"{place}:{node.lineno} {node.name}",
        len(body - _docstring_lines(node)),
        tuple(names),
        shown,
        f"{doc} {class_doc}" if made else doc,
    )


def _is_command(node: Function) -> bool:
    """Whether the arguments are options of the shell."""
    given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return any("typer." in ast.unparse(one.annotation) for one in given if one.annotation)


def _docstring_lines(node: Function) -> set[int]:
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return set()
    if not isinstance(first.value.value, str):
        return set()
    return set(range(first.lineno, (first.end_lineno or first.lineno) + 1))


def _code_lines(text: str) -> set[int]:
    """Numbers of the lines that hold more than a comment or nothing."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    main()
