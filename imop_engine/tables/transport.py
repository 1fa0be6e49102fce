"""What a reader returns, as bytes and back, from the process that reads to the one that asked.

Not by pickle: bytes that come from a process that read a hostile file must not be able to do
anything. Only our own dataclasses, tables, arrays and plain values are made of them.
"""

from __future__ import annotations

import io
import json
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import PurePath
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

OURS: Final = "imop_engine."
LENGTH_BYTES: Final = 8


def packed(value: Any) -> bytes:
    """Write a value: plain values, containers, arrays, tables and our own dataclasses."""
    blocks: list[bytes] = []
    tree = json.dumps(_plain(value, blocks)).encode()
    parts = [tree, *blocks]
    sizes = json.dumps([len(part) for part in parts]).encode()
    return b"".join([len(sizes).to_bytes(LENGTH_BYTES, "big"), sizes, *parts])


def unpacked(content: bytes | bytearray | memoryview) -> Any:
    """Read what `packed` wrote.

    >>> unpacked(packed({"a": (1, 2.5, None)}))
    {'a': (1, 2.5, None)}
    """
    view = memoryview(content)
    place = LENGTH_BYTES + int.from_bytes(view[:LENGTH_BYTES], "big")
    parts = []
    for size in json.loads(bytes(view[LENGTH_BYTES:place])):
        parts.append(view[place : place + size])
        place += size
    return _whole(json.loads(bytes(parts[0])), parts[1:])


def _plain(value: Any, blocks: list[bytes]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item(), blocks)
    if isinstance(value, PurePath):
        return {"path": str(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        blocks.append(bytes(value))
        return {"bytes": len(blocks) - 1}
    if isinstance(value, list):
        return [_plain(one, blocks) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(one, blocks) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(k, blocks), _plain(v, blocks)] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return _plain_array(value, blocks)
    if isinstance(value, pd.DataFrame):
        blocks.append(_table_bytes(value))
        return {"frame": len(blocks) - 1}
    if isinstance(value, pd.Series):
        blocks.append(_table_bytes(value.to_frame("values")))
        return {"series": [len(blocks) - 1, value.name]}
    if is_dataclass(value) and type(value).__module__.startswith(OURS):
        kind = type(value)
        held = {one.name: _plain(getattr(value, one.name), blocks) for one in _given(kind)}
        return {"ours": [kind.__module__, kind.__name__, held]}
    raise TypeError(f"a {type(value).__name__} is nothing that a reader returns")


def _plain_array(array: np.ndarray, blocks: list[bytes]) -> Any:
    if array.dtype == object:
        return {"objects": [_plain(one, blocks) for one in array.tolist()]}
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    blocks.append(stream.getvalue())
    return {"array": len(blocks) - 1}


def _table_bytes(frame: pd.DataFrame) -> bytes:
    table = pa.Table.from_pandas(frame, preserve_index=True, nthreads=1)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return bytes(stream.getvalue())


def _whole(plain: Any, blocks: list[memoryview]) -> Any:
    if isinstance(plain, list):
        return [_whole(one, blocks) for one in plain]
    if not isinstance(plain, dict):
        return plain
    ((kind, held),) = plain.items()
    if kind == "tuple":
        return tuple(_whole(one, blocks) for one in held)
    if kind == "dict":
        return {_whole(key, blocks): _whole(value, blocks) for key, value in held}
    if kind == "path":
        return PurePath(held)
    if kind == "bytes":
        return bytes(blocks[held])
    if kind == "objects":
        return np.array([_whole(one, blocks) for one in held], dtype=object)
    if kind == "array":
        return np.load(io.BytesIO(blocks[held]), allow_pickle=False)
    if kind == "frame":
        return _frame(blocks[held])
    if kind == "series":
        return _frame(blocks[held[0]])["values"].rename(held[1])
    module, name, given = held
    return _ours(module, name, given, blocks)


def _frame(block: memoryview) -> pd.DataFrame:
    with pa.ipc.open_stream(pa.py_buffer(block)) as reader:
        frame: pd.DataFrame = reader.read_all().to_pandas(use_threads=False)
    return frame


def _given(kind: type) -> list[Any]:
    """The fields that a dataclass is made of."""
    return [one for one in fields(kind) if one.init]


def _ours(module: str, name: str, held: dict[str, Any], blocks: list[memoryview]) -> Any:
    kind = getattr(import_module(module), name, None) if module.startswith(OURS) else None
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise TypeError(f"{module}.{name} is nothing that a reader returns")
    return kind(**{key: _whole(value, blocks) for key, value in held.items()})
