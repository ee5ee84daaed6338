"""Numbers that took long, in a file beside that of the runs, so that a second call goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path


class Kept:
    """Numbers by name; only in memory unless SHOESTRING_RUNS names a file."""

    def __init__(self, suffix: str) -> None:
        given = os.environ.get("SHOESTRING_RUNS")
        self._path = Path(f"{given}.{suffix}") if given else None
        self._values: dict[str, float] = {}
        if self._path and self._path.exists():
            self._values = dict(json.loads(line) for line in self._path.read_text().splitlines())

    def get(self, name: str, make: Callable[[], float]) -> float:
        if name not in self._values:
            self._values[name] = make()
            if self._path:
                with self._path.open("a") as file:
                    file.write(json.dumps([name, self._values[name]]) + "\n")
        return self._values[name]
