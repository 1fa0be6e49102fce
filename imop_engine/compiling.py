"""How kernels are compiled, and where the compiled code is kept between processes.

numba's own cache looks at the file of a function and not at the functions it calls, so a change in
another file would go unnoticed. Here all compiled code lies in one folder whose name is a digest of
every kernel file and of the compiler's version: after any change the folder is another, empty one.
Each kernel, signature and kind of processor has its own file, so processes can compile side by
side. numba itself is loaded only by who compiles.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

ENGINE = Path(__file__).parent
PREFIX = "imop-kernels-"
OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "nogil": True}  # see `compiled`
KEPT = 3  # folders of compiled code: today's and what other versions used last


def digest(engine: Path = ENGINE) -> str:
    """A short digest of all that decides what the compiled code is.

    Args:
        engine: the folder of the engine's package.
    """
    compiler = (sys.version_info[:2], version("numba"), OPTIONS)
    found = hashlib.sha256(repr(compiler).encode())
    for file in sorted((engine / "kernels").glob("*.py")):
        found.update(f"{file.name} {file.stat().st_size}\n".encode())
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


@lru_cache(maxsize=1)
def folder() -> Path:
    """The folder of this version's compiled code, made if need be.

    In NUMBA_CACHE_DIR where that is set, else in the first place that can be written to: beside
    the kernels, in the home folder, in the folder of temporary files.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    temporary = Path(tempfile.gettempdir()) / f"imop-compiled-{_user()}"
    home = Path("~").expanduser()
    places = [ENGINE / "kernels" / "__pycache__", home / ".cache" / "imop", temporary]
    for place in [Path(given)] if given else places:
        wanted = place / (PREFIX + digest())
        try:
            wanted.mkdir(parents=True, exist_ok=True, mode=0o700 if place == temporary else 0o777)
            # Compiled code of somebody else is not run: anybody may write to a temporary folder.
            if os.access(wanted, os.W_OK) and (place != temporary or _is_ours(place)):
                return wanted
        except OSError:
            continue
    return Path(tempfile.mkdtemp(prefix=PREFIX))


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_ours(place: Path) -> bool:
    return not hasattr(os, "getuid") or place.stat().st_uid == os.getuid()


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a kernel when it is first called, or load what an earlier process compiled.

    Divisions do not check for zero: what is divided by is positive by construction, and the checks
    cost more time to compile and to run than all the divisions. Kernels run without Python's lock,
    so that another thread (another user's page) goes on meanwhile.
    """
    return _compiled(function, {"_nrt": True})  # said: a callee inherits its caller's


def borrowing(function: Callable[..., Any]) -> Any:
    """A kernel that makes no array, is handed none by another kernel, and returns none.

    Whoever calls it keeps its arrays alive, so nothing in it is reference counted: counting each
    array of a named tuple at each call would cost a fifth of a round. numba refuses to compile one
    that makes an array, `_Files` one that returns an array, a test one that receives an array.
    """
    return _compiled(function, {"_nrt": False})


def inlined(function: Callable[..., Any]) -> Any:
    """A borrowing kernel that becomes part of whoever calls it.

    For short ones: a call passes every array of a named tuple, used or not.
    """
    return _compiled(function, {"_nrt": False, "forceinline": True})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit  # here, so that `is_ready` does not load it

    dispatcher = njit(**OPTIONS, **options)(function)
    if hasattr(dispatcher, "_cache"):  # not where compilation is switched off
        name = f"{function.__module__.rsplit('.')[-1]}.{function.__name__}"
        dispatcher._cache = _Files(name, options["_nrt"])
    return dispatcher


class _Files:
    """What numba asks of a cache, with one file for each kernel, signature and processor."""

    def __init__(self, name: str, counted: bool) -> None:
        self.name = name
        self.counted = counted  # whether references to arrays are
        self.cache_path = str(folder())

    def _file(self, signature: object, codegen: Any) -> Path:
        key = hashlib.sha256(repr((signature, codegen.magic_tuple())).encode()).hexdigest()
        return folder() / f"{self.name}-{key[:16]}.nbc"

    def load_overload(self, signature: object, target_context: Any) -> Any:
        """The kernel for some types of arguments, or None if it was not compiled yet."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        try:
            stored = self._file(signature, target_context.codegen()).read_bytes()
        except FileNotFoundError:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(stored))

    def save_overload(self, signature: object, result: Any) -> None:
        """Keep what was just compiled: written aside, then put in place whole.

        Args:
            signature: the types of the arguments.
            result: what numba compiled for them.

        Raises:
            TypeError: if it would return an array that nobody counts.
        """
        from numba.core.serialize import dumps

        returned = result.signature.return_type
        models = result.target_context.data_model_manager
        if not self.counted and models[returned].contains_nrt_meminfo():
            raise TypeError(f"{self.name} returns {returned}: compile it with `compiled`.")
        write_whole(self._file(signature, result.codegen), dumps(result._reduce()))


def write_whole(file: Path, content: bytes) -> None:
    """Write a file so that nobody ever reads half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(aside).replace(file)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


@lru_cache(maxsize=1)
def _marker(place: Path) -> Path:
    """Its being there says that everything was compiled, for this kind of processor."""
    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    processor = hashlib.sha256(f"{binding.get_host_cpu_name()} {features}".encode()).hexdigest()
    return place / f"ready-{processor[:16]}"


def is_ready() -> bool:
    """Whether every kernel lies compiled on disk, for these sources and this processor.

    Every call of a learner asks: the processor is looked at once.
    """
    return os.environ.get("NUMBA_DISABLE_JIT", "0") != "0" or _marker(folder()).exists()


def is_stored(kernel: str) -> bool:
    """Whether some version of a kernel, as "module.function", lies compiled on disk."""
    return any(folder().glob(f"{kernel}-*.nbc"))


def mark_ready() -> None:
    """Say that everything is compiled, and remove compiled code of versions long gone."""
    write_whole(_marker(folder()), b"")
    others = [one for one in folder().parent.glob(PREFIX + "*") if one != folder()]
    others.sort(key=lambda one: one.stat().st_mtime, reverse=True)
    for old in others[KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
