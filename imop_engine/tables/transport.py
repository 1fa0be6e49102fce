"""What a process of ours returns, as bytes and back, to the one that asked.

Not by pickle: bytes that come from a process that read a hostile file must not be able to do
anything. Only our own dataclasses, tables, arrays and plain values are made of them. Readers'
results are made anew by their constructors, which check them; a finished study (`computed`) is
taken as it is, with the tables that were computed of it, and what it holds twice is sent once.
"""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

OURS: Final = "imop_engine."
LENGTH_BYTES: Final = 8


def packed(value: Any, computed: bool = False) -> bytes:
    """Write a value: plain values, containers, arrays, tables and our own dataclasses.

    Args:
        value: What to write.
        computed: Whether dataclasses come with all that was computed of them.
    """
    blocks: list[bytes] = []
    tree = json.dumps(_Packing(blocks, computed).plain(value)).encode()
    parts = [tree, *blocks]
    sizes = json.dumps([len(part) for part in parts]).encode()
    return b"".join([len(sizes).to_bytes(LENGTH_BYTES, "big"), sizes, *parts])


def unpacked(content: bytes | bytearray | memoryview, computed: bool = False) -> Any:
    """Read what `packed` wrote.

    >>> unpacked(packed({"a": (1, 2.5, None)}))
    {'a': (1, 2.5, None)}

    Args:
        content: The bytes.
        computed: Whether dataclasses may come with what was computed of them, unchecked.
    """
    view = memoryview(content)
    place = LENGTH_BYTES + int.from_bytes(view[:LENGTH_BYTES], "big")
    parts = []
    for size in json.loads(bytes(view[LENGTH_BYTES:place])):
        parts.append(view[place : place + size])
        place += size
    return _Unpacking(parts[1:], computed).whole(json.loads(bytes(parts[0])))


class _Packing:
    """A value as JSON, and beside it blocks of bytes for what is large.

    Args:
        blocks: Where blocks are put.
        computed: Whether dataclasses come with all that was computed of them.
    """

    def __init__(self, blocks: list[bytes], computed: bool) -> None:
        self._blocks, self._computed = blocks, computed
        self._known: dict[int, tuple[int, Any]] = {}  # and the value, so that no id is used again

    def plain(self, value: Any) -> Any:
        """The value as JSON."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if not self._computed:
            return self._large(value)
        if id(value) in self._known:
            return {"again": self._known[id(value)][0]}
        found = self._large(value)
        self._known[id(value)] = len(self._known), value
        return {"first": [self._known[id(value)][0], found]}

    def _large(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            return self._small_array(value) if self._computed else self.plain(value.item())
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if isinstance(value, bytes | bytearray | memoryview):
            return {"bytes": self._block(bytes(value))}
        if isinstance(value, list):
            return [self.plain(one) for one in value]
        if isinstance(value, tuple):
            return self._tuple(value)
        if isinstance(value, frozenset):
            return {"set": [self.plain(one) for one in value]}
        if isinstance(value, dict):
            return {"dict": [[self.plain(k), self.plain(v)] for k, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, pd.DataFrame):
            return self._frame(value)
        if isinstance(value, pd.Series):
            return {"series": [self._frame(value.to_frame("values")), value.name]}
        kind = type(value)
        if isinstance(value, Enum) and kind.__module__.startswith(OURS):
            return {"one": [kind.__module__, kind.__name__, value.name]}
        if is_dataclass(value) and kind.__module__.startswith(OURS):
            names = vars(value) if self._computed else (one.name for one in _given(kind))
            held = {name: self.plain(getattr(value, name)) for name in names}
            return {"ours": [kind.__module__, kind.__name__, held]}
        raise TypeError(f"a {kind.__name__} is nothing that is handed over")

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        parts, kind = [self.plain(one) for one in value], type(value)
        if kind is tuple:
            return {"tuple": parts}
        if not kind.__module__.startswith(OURS):
            raise TypeError(f"a {kind.__name__} is nothing that is handed over")
        return {"named": [kind.__module__, kind.__name__, parts]}

    def _array(self, array: np.ndarray) -> Any:
        if array.dtype == object:
            return {"objects": [self.plain(one) for one in array.tolist()]}
        kind = "array" if array.flags.writeable else "fixed"
        return {kind if self._computed else "array": self._block(_array_bytes(array))}

    def _small_array(self, value: np.generic) -> Any:
        return {"number": self._block(_array_bytes(np.asarray(value)))}

    def _frame(self, frame: pd.DataFrame) -> Any:
        """A table by Arrow, which knows neither two columns of one name nor mixed columns."""
        usual = frame.columns.is_unique and all(isinstance(one, str) for one in frame.columns)
        try:
            if usual:
                return {"frame": self._block(_table_bytes(frame))}
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass
        bare = frame.set_axis([f"c{i}" for i in range(frame.shape[1])], axis=1)
        odd = [name for name in bare.columns if bare[name].dtype == object]
        cells = [[name, self._array(bare[name].to_numpy())] for name in odd]
        block = self._block(_table_bytes(bare.drop(columns=odd)))
        return {"mixed": [block, cells, [self.plain(one) for one in frame.columns]]}

    def _block(self, content: bytes) -> int:
        self._blocks.append(content)
        return len(self._blocks) - 1


def _array_bytes(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _table_bytes(frame: pd.DataFrame) -> bytes:
    table = pa.Table.from_pandas(frame, preserve_index=True, nthreads=1)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return bytes(stream.getvalue())


class _Unpacking:
    """The value again.

    Args:
        blocks: What was too large for JSON.
        computed: Whether dataclasses may be taken as they are.
    """

    def __init__(self, blocks: list[memoryview], computed: bool) -> None:
        self._blocks, self._computed = blocks, computed
        self._known: dict[int, Any] = {}

    def whole(self, plain: Any) -> Any:
        """The value of its JSON."""
        if isinstance(plain, list):
            return [self.whole(one) for one in plain]
        if not isinstance(plain, dict):
            return plain
        ((kind, held),) = plain.items()
        if kind == "first":
            self._known[held[0]] = self.whole(held[1])
            return self._known[held[0]]
        if kind == "again":
            return self._known[held]
        if kind in ("tuple", "set"):
            made = (self.whole(one) for one in held)
            return tuple(made) if kind == "tuple" else frozenset(made)
        if kind == "dict":
            return {self.whole(key): self.whole(value) for key, value in held}
        if kind == "path":
            return PurePath(held)
        if kind in ("ours", "named", "one"):
            return self._ours(kind, *held)
        return self._large(kind, held)

    def _large(self, kind: str, held: Any) -> Any:
        if kind == "bytes":
            return bytes(self._blocks[held])
        if kind == "objects":
            return np.array([self.whole(one) for one in held] + [None], dtype=object)[:-1]
        if kind in ("array", "fixed", "number"):
            array = np.load(io.BytesIO(self._blocks[held]), allow_pickle=False)
            if kind == "fixed":
                array.setflags(write=False)
            return array[()] if kind == "number" else array
        if kind == "frame":
            return self._frame(held)
        if kind == "mixed":
            return self._mixed(*held)
        table, name = held
        return self.whole(table)["values"].rename(name)

    def _frame(self, block: int) -> pd.DataFrame:
        with pa.ipc.open_stream(pa.py_buffer(self._blocks[block])) as reader:
            frame: pd.DataFrame = reader.read_all().to_pandas(use_threads=False)
        return frame

    def _mixed(self, block: int, cells: list[Any], names: list[Any]) -> pd.DataFrame:
        frame = self._frame(block)
        for name, values in cells:
            frame[name] = pd.Series(self.whole(values), index=frame.index, dtype=object)
        order = [f"c{i}" for i in range(len(names))]
        return frame[order].set_axis([self.whole(one) for one in names], axis=1)

    def _ours(self, sort: str, module: str, name: str, held: Any) -> Any:
        kind = getattr(import_module(module), name, None) if module.startswith(OURS) else None
        if sort == "named" and isinstance(kind, type) and issubclass(kind, tuple):
            return kind(*(self.whole(one) for one in held))
        if sort == "one" and isinstance(kind, type) and issubclass(kind, Enum):
            return kind[held]
        if not isinstance(kind, type) or not is_dataclass(kind) or sort != "ours":
            raise TypeError(f"{module}.{name} is nothing that is handed over")
        values = {key: self.whole(value) for key, value in held.items()}
        if not self._computed:
            return kind(**values)
        made = object.__new__(kind)
        vars(made).update(values)
        return made


def _given(kind: type) -> list[Any]:
    """The fields that a dataclass is made of."""
    return [one for one in fields(kind) if one.init]
