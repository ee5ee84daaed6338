"""A file format for plain values and NumPy arrays, which reading cannot make run anything.

It is a zip file: ``state.json`` has the structure, and each array is an ``.npy`` file that holds no objects. Values of
other types are refused when they are written.
"""

from __future__ import annotations

import json
import zipfile
from typing import Any, BinaryIO

import numpy as np

_STRUCTURE = "state.json"
_AS_THEY_ARE = (type(None), bool, int, float, str)


class NotPlain(TypeError):
    """A value that this format cannot hold."""


def write_plain(state: object, file: BinaryIO) -> None:
    """Write None, numbers, texts, bytes, arrays, and lists, tuples, sets and dicts of them."""
    arrays: list[np.ndarray[Any, Any]] = []
    try:
        structure = json.dumps(_encode(state, arrays))
    except RecursionError:
        raise NotPlain("it contains itself, or is nested too deeply") from None
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_STRUCTURE, structure)
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_plain(file: BinaryIO) -> Any:
    """The state that was written; ValueError if the file holds none."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _decode(json.loads(archive.read(_STRUCTURE)), archive)
    except (zipfile.BadZipFile, KeyError, TypeError, IndexError, RecursionError, EOFError) as error:
        raise ValueError(f"it is damaged: {error}") from error


def _encode(value: object, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """A value as JSON: what JSON has no type for is a list of the name of its type and its content."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return ["dict", [[_encode(k, arrays), _encode(v, arrays)] for k, v in value.items()]]  # type: ignore[attr-defined]
    if kind in (list, tuple, set, frozenset):
        return [kind.__name__, [_encode(inner, arrays) for inner in value]]  # type: ignore[attr-defined]
    if kind is bytes:
        return ["bytes", value.hex()]  # type: ignore[attr-defined]
    if kind is np.ndarray or isinstance(value, np.generic):
        array = np.asarray(value)
        if not array.dtype.hasobject:
            arrays.append(array)
            return ["array" if kind is np.ndarray else "scalar", len(arrays) - 1]
    raise NotPlain(f"a {kind.__module__}.{kind.__qualname__}")


_CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _decode(coded: Any, archive: zipfile.ZipFile) -> Any:
    if not isinstance(coded, list):
        return coded
    kind, content = coded
    if kind in _CONTAINERS:
        return _CONTAINERS[kind](_decode(inner, archive) for inner in content)
    if kind == "dict":
        return {_decode(k, archive): _decode(v, archive) for k, v in content}
    if kind == "bytes":
        return bytes.fromhex(content)
    with archive.open(f"{int(content)}.npy") as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
    return array[()] if kind == "scalar" else array
