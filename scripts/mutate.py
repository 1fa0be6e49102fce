"""Change the code a little and see whether a test notices. Run: python scripts/mutate.py --help

Every change (a mutant) turns one comparison, sign, number, condition or min/max of the source, or
leaves out one statement. The tests run once as they are while the lines that each of them executes
are written down; then, for each mutant, the tests that reach its statement run until one fails, the
quickest first. A mutant that all of them let pass has survived: a test is missing, or the change
makes no difference.

The process is forked for every mutant and the changed source never touches a file. Times are
processor seconds, so a busy machine changes nothing. Kernels are mutated with NUMBA_DISABLE_JIT=1,
as plain Python.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
KEPT_LOADED = ("imop_engine.kernels", "imop_engine.compiling")  # compiled once, shared by all
# Loaded once, before the forks: none of them knows the engine.
PRELOADED = ("hypothesis", "joblib", "pandas", "pyarrow", "pytest", "scipy.optimize", "scipy.stats")
PATIENCE = 7200.0  # seconds by the clock; only what waits for something takes so long
QUIET = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "--no-header", "--tb=no"]

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
SIGNS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NAMES = {
    "maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "any": "all",
    "all": "any", "argmax": "argmin", "argmin": "argmax", "ceil": "floor", "floor": "ceil",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: where, what was there, what is there now, and the changed module."""

    file: str
    number: int  # of the change in its file
    line: int
    lines: tuple[int, int] | None  # of its statement; None if that runs when imported
    before: str
    after: str
    source: str


class TooLong(BaseException):
    """A test took more processor time than tests are given; no test catches this by accident."""


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """What may be changed at a node: the node itself, the field, its new value."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield node, "ops", [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SIGNS:
        yield node, "op", SIGNS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node, "op", ast.UAdd()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        bare = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        yield node, "test", node.test.operand if bare else ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, "value", not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, "value", node.value + 1
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield node, "value", 2.0 * node.value + (node.value == 0.0)
    elif isinstance(node, ast.Name) and node.id in NAMES and isinstance(node.ctx, ast.Load):
        yield node, "id", NAMES[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield node, "attr", NAMES[node.attr]


def left_out(node: ast.AST) -> Iterator[tuple[ast.AST, str, Any]]:
    """Statements that can be left out: a call for its effect, `x += y`, `x[i] = y`, a break."""
    for field in ("body", "orelse"):
        found = getattr(node, field, None)
        for number, one in enumerate(found if isinstance(found, list) else []):
            effect = isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
            stored = isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Subscript)
            ends = isinstance(one, ast.Raise | ast.Break | ast.Continue | ast.AugAssign)
            if effect or stored or ends:
                rest = [*found[:number], ast.copy_location(ast.Pass(), one), *found[number + 1 :]]
                yield node, field, rest


@dataclass(frozen=True)
class Place:
    """Where a module can be changed, and to what."""

    node: ast.AST
    field: str
    value: Any
    statement: ast.stmt  # the innermost one around it

    def lines(self, functions: list[ast.AST]) -> tuple[int, int] | None:
        """The lines of the statement, without a body; None where it runs when imported."""
        first, last = self.statement.lineno, self.statement.end_lineno
        body = getattr(self.statement, "body", None)
        if body and self.node is not body[0]:
            last = max(first, body[0].lineno - 1)
        inside = any(one.body[0].lineno <= first <= one.end_lineno for one in functions)
        return (first, last) if inside else None


def places_in(tree: ast.AST) -> list[Place]:
    """Every change of a module, apart from those in texts and annotations."""
    left_alone: set[int] = set()
    statements: dict[int, ast.stmt] = {}
    for node in ast.walk(tree):
        parts = [getattr(node, name, None) for name in ("annotation", "returns")]
        parts += [node] if isinstance(node, ast.JoinedStr) else []
        left_alone |= {id(inner) for part in parts if part for inner in ast.walk(part)}
        for child in ast.iter_child_nodes(node):  # a parent comes before its children
            around = child if isinstance(child, ast.stmt) else statements.get(id(node))
            if around is not None:
                statements[id(child)] = around
    found = []
    for node in ast.walk(tree):
        if id(node) not in left_alone:
            found += [Place(*one, statements[id(one[0])]) for one in changes(node)]
        for one, field, rest in left_out(node):
            gone = next(a for a, b in zip(getattr(one, field), rest, strict=True) if a is not b)
            found.append(Place(one, field, rest, gone))
    return found


def mutant_of(file: Path, number: int) -> Mutant:
    """The change of that number in a file."""
    tree = ast.parse(file.read_text())
    place = places_in(tree)[number]
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    lines, gone = place.lines(functions), isinstance(place.value, list) and place.field != "ops"
    line = place.statement.lineno if gone else place.node.lineno
    before = ast.unparse(place.statement if gone else place.node)
    setattr(place.node, place.field, place.value)
    after = "left out" if gone else short(ast.unparse(place.node))
    source = ast.unparse(ast.fix_missing_locations(tree))
    name = str(file.relative_to(ROOT))
    return Mutant(name, number, line, lines, short(before), after, source)


def short(text: str) -> str:
    """The beginning of a piece of source, on one line."""
    return " ".join(text.split())[:70]


# -- running tests in a child --------------------------------------------------------------------
class Changed(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module from its changed source."""

    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.file).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.path, self.source = str(ROOT / mutant.file), mutant.source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Found here if it is the changed one."""
        if fullname != self.name:
            return None
        package = [str(Path(self.path).parent)] if self.path.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=package
        )

    def get_filename(self, fullname: str) -> str:
        """The file that it stands for."""
        return self.path

    def get_data(self, path: str) -> bytes:
        """Its changed source; no compiled file is kept of it."""
        if not path.endswith(".py"):
            raise OSError(path)
        return self.source.encode()


def around(hook: Any) -> Any:
    """Mark a hook of pytest as one that goes around the others."""
    import pytest

    return pytest.hookimpl(wrapper=True)(hook)


def processor_seconds() -> float:
    """Of this process and of those it started and waited for."""
    return sum(os.times()[:4])


class Tracer:
    """A plugin of pytest that writes down which lines of the watched files each test executes.

    Args:
        files: The watched files.
        most: Processor seconds that a test may take, being traced; one that takes more is left out.
    """

    def __init__(self, files: set[str], most: float) -> None:
        self.files, self.most = files, most
        self.lines: set[tuple[str, int]] = set()
        self.shared: dict[str, set[tuple[str, int]]] = {}  # by what prepares the tests of a file
        self.tests: dict[str, dict[str, Any]] = {}
        self.began = processor_seconds()
        signal.signal(signal.SIGPROF, self.stop)

    def stop(self, number: int, frame: Any) -> None:
        """The processor time of a phase is over."""
        raise TooLong

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        """Called by Python for every function; lines are watched in the watched files only."""
        file = frame.f_code.co_filename
        if file not in self.files:
            return None
        self.lines.add((file, frame.f_lineno))
        return self.trace

    def pytest_runtest_logreport(self, report: Any) -> None:
        """After each phase of a test."""
        now = processor_seconds()
        name, module = report.nodeid, report.nodeid.partition("::")[0]
        if report.when == "setup":
            self.shared.setdefault(module, set()).update(self.lines)
            self.tests[name] = {"seconds": 0.0, "lines": set(), "good": True}
        found = self.tests[name]
        found["lines"] |= self.lines
        found["seconds"] += now - self.began
        found["good"] &= report.passed
        self.lines, self.began = set(), now

    def pytest_runtest_setup(self, item: Any) -> None:
        """Watch from here on: pytest takes some tracers away."""
        sys.settrace(self.trace)

    @around
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Only while a test itself runs, where pytest takes TooLong for its failure."""
        signal.setitimer(signal.ITIMER_PROF, self.most)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


def in_a_child(work: Any, seconds: float | None = None) -> tuple[int | None, Any]:
    """Fork, do the work there; its exit code (None: took too long) and what it returned.

    Args:
        work: Returns a code and what can be written as JSON.
        seconds: Of processor time that it is given.
    """
    with tempfile.NamedTemporaryFile(suffix=".json") as answer:
        child = os.fork()
        if child == 0:
            os.setsid()
            if seconds is not None:
                most = int(processor_seconds() + seconds) + 1
                resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            code = 1
            try:
                code, result = work()
                Path(answer.name).write_text(json.dumps(result))
            finally:
                os._exit(code)
        until = time.monotonic() + PATIENCE
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                text = Path(answer.name).read_text()
                over = code in (-signal.SIGXCPU, -signal.SIGKILL)
                return None if over else code, json.loads(text) if text else None
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None, None
            time.sleep(0.05)


def forget_the_engine(kept: tuple[str, ...]) -> None:
    """Make the child import the engine anew, apart from what cannot be the changed module."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "imop_engine"]:
        if not name.startswith(kept):
            del sys.modules[name]


def baseline(files: list[Path], tests: list[str], most: float) -> dict[str, dict[str, Any]]:
    """Lines and processor seconds of every test; whether it passed within what tests may take."""

    def work() -> tuple[int, Any]:
        import pytest

        tracer = Tracer({str(file) for file in files}, most)
        pytest.main([*(one for one in QUIET if one != "-x"), *tests], plugins=[tracer])
        for name, found in tracer.tests.items():
            found["lines"] = sorted(found["lines"] | tracer.shared[name.partition("::")[0]])
        return 0, tracer.tests

    return in_a_child(work)[1]


def chosen_tests(mutant: Mutant, known: dict[str, dict[str, Any]], budget: float) -> list[str]:
    """The tests that reach its statement, or its file if it runs when imported; quickest first."""
    file, (first, last) = str(ROOT / mutant.file), mutant.lines or (0, sys.maxsize)
    reach = [
        name
        for name, test in known.items()
        if any(one == file and first <= line <= last for one, line in test["lines"])
    ]
    taken, spent = [], 0.0
    for name in sorted(reach, key=lambda one: known[one]["seconds"]):
        spent += known[name]["seconds"]
        if taken and spent > budget:
            break
        taken.append(name)
    return taken


def attempt(mutant: Mutant, names: list[str], kept: tuple[str, ...], seconds: float) -> str:
    """How the tests answer to a mutant."""

    def work() -> tuple[int, Any]:
        import pytest

        sys.meta_path.insert(0, Changed(mutant))
        forget_the_engine(kept)
        return int(pytest.main([*QUIET, *names])), None

    code, _ = in_a_child(work, seconds)
    return "too long" if code is None else "survived" if code == 0 else "killed"


def options() -> argparse.Namespace:
    """What the command is told."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", help="files or folders to mutate")
    parser.add_argument("--tests", nargs="+", required=True, help="tests that should notice")
    parser.add_argument("--count", type=int, default=100, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests a mutant")
    parser.add_argument("--most", type=float, default=60.0, help="seconds that a test may take")
    parser.add_argument("--again", type=Path, help="only those that survived in this file")
    parser.add_argument("--out", type=Path, default=Path("artifacts/mutants.json"))
    return parser.parse_args()


def survivors(earlier: Path) -> list[tuple[Path, int]]:
    """Those of an earlier run that no test noticed; their files must not have changed since."""
    found = []
    for one in json.loads(earlier.read_text()):
        if one["end"] not in ("killed", "too long"):
            mutant = mutant_of(ROOT / one["file"], one["number"])
            if (mutant.before, mutant.after) != (one["before"], one["after"]):
                sys.exit(f"{one['file']} has changed since {earlier}.")
            found.append((ROOT / one["file"], one["number"]))
    return found


def try_all(
    drawn: list[tuple[Path, int]], known: dict[str, Any], budget: float, out: Path, kept: Any
) -> None:
    """Try the mutants one by one and write after each what came out."""
    results = []
    for count, (file, place) in enumerate(drawn, start=1):
        mutant = mutant_of(file, place)
        names = chosen_tests(mutant, known, budget)
        limit = 30.0 + 5.0 * sum(known[name]["seconds"] for name in names)
        end = attempt(mutant, names, kept, limit) if names else "no test"
        record = {key: value for key, value in asdict(mutant).items() if key != "source"}
        results.append({**record, "tests": len(names), "end": end})
        where = f"{mutant.file}:{mutant.line}"
        print(f"{count:4d} {end:9s} {where:50s} {mutant.before} -> {mutant.after}", flush=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(results, indent=1) + "\n")
    ends = [one["end"] for one in results]
    print({end: ends.count(end) for end in sorted(set(ends))})


def main() -> None:
    """Read the options, run, and write what came out."""
    given = options()
    os.chdir(ROOT)
    files: list[Path] = []
    for one in map(Path, given.sources):
        files += sorted((ROOT / one).rglob("*.py")) if one.is_dir() else [ROOT / one]
    every = [
        (file, number)
        for file in files
        for number in range(len(places_in(ast.parse(file.read_text()))))
    ]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    if given.again:
        drawn = survivors(given.again)
    for name in PRELOADED:
        importlib.import_module(name)
    kept = KEPT_LOADED if not os.environ.get("NUMBA_DISABLE_JIT") else ()
    if kept:
        from imop_engine.warm import warm

        warm()
    every_test = baseline(files, given.tests, given.most)
    known = {name: test for name, test in every_test.items() if test["good"]}
    found = f"{len(every)} mutants in {len(files)} files"
    print(f"{found}; {len(known)} of {len(every_test)} tests pass in time.", flush=True)
    # a file that some test reaches: without a name pytest would run everything
    unchanged = (
        Mutant(str(one.relative_to(ROOT)), 0, 0, None, "", "", one.read_text()) for one in files
    )
    reached = ((one, chosen_tests(one, known, given.budget)) for one in unchanged)
    same, names = next((found for found in reached if found[1]), (None, []))
    if same is None:
        sys.exit("None of these tests reaches any of these files.")
    if attempt(same, names, kept, 600.0) != "survived":
        sys.exit("The tests fail on unchanged code when they run as they do for mutants.")
    try_all(drawn, known, given.budget, given.out, kept)


if __name__ == "__main__":
    main()
