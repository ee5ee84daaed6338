"""A curve process that continues an earlier one with the same input so far.

With several objectives every decision sees other losses, so what is known of a study is collected again each time.
A process depends on which readings there are and not on their losses, so its matrices can be kept. Whether they are
those of the same input is decided by the input itself, so a process that continues another one cannot differ from one
that was built from nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from shoestring._arrays import Array
from shoestring.models.curve_process import CurveProcess


class ContinuedProcess(CurveProcess):
    """A process that remembers the calls with which it was given its input, after the first configurations X."""

    def __init__(self, X: Array, last: int, choices: tuple[bool, ...] = (), is_table: bool = False) -> None:
        super().__init__(X, last, choices, is_table)
        # Arrays cannot be compared in lists, so there are two: what identifies each call, and its arguments.
        self._calls: list[tuple[str, tuple[Hashable, ...]]] = []
        self._arguments: list[tuple[Any, ...]] = []

    def add_column(self, point: Array) -> int:
        self._record("add_column", (point,), point.tobytes())
        return super().add_column(point)

    def add(self, column: int, step: int, expected: Hashable | None = None) -> None:
        self._record("add", (column, step, expected), column, step, expected)
        super().add(column, step, expected)

    def expect(self, key: Hashable, step: int, column: int | None, point: Array) -> None:
        self._record("expect", (key, step, column, point), key, step, column, point.tobytes())
        super().expect(key, step, column, point)

    def forget(self, key: Hashable) -> None:
        self._record("forget", (key,), key)
        super().forget(key)

    def _record(self, name: str, arguments: tuple[Any, ...], *identity: Hashable) -> None:
        self._calls.append((name, identity))
        self._arguments.append(arguments)

    def after(self, earlier: ContinuedProcess) -> ContinuedProcess:
        """Continue an earlier process of the same X with the rest of this one's input; this one if they differ.

        The earlier one is used up.
        """
        known = len(earlier._calls)
        if self._calls[:known] != earlier._calls:
            return self
        for (name, _), arguments in zip(self._calls[known:], self._arguments[known:], strict=True):
            getattr(earlier, name)(*arguments)
        return earlier
