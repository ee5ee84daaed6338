"""Finished runs, kept in a file so that a long benchmark can be stopped and continued.

With SHOESTRING_RUNS=FILE every run is appended to that file as a line of JSON when it ends, and is not repeated. All
benchmarks can share one file, because a run's key says everything its result depends on: the task, the seed, the full
description of the method, the settings of the run, the package version and a digest of the package's code. A run of
changed code therefore has another key and is played again; changed comments and docstrings do not count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any, TypeVar

import shoestring
from shoestring.methods.registry import describe

Item = TypeVar("Item")


@cache
def code_version(package: Path | None = None) -> str:
    """The version, and a digest of the package's syntax trees without docstrings."""
    package = package or Path(shoestring.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_text(body[0]):
                del body[0]
        digest.update(f"{path.relative_to(package).as_posix()} {ast.dump(tree)}\n".encode())
    return f"{shoestring.__version__}+{digest.hexdigest()[:12]}"


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def key(task: str, seed: int, method: object, *, code: str | None = None, **settings: Any) -> str:
    """Identify a run. ``method`` is one of ours, or a text for others: "Optuna TPE, 5.0.0".

    ``code`` is the version of the code that was run, by default that of the package. With the version of another
    library, its runs are not repeated when the package changes.
    """
    description = method if isinstance(method, str) else describe(method)
    identity = {
        "task": task,
        "seed": seed,
        "method": description,
        "settings": settings,
        "code": code or code_version(),
    }
    return json.dumps(identity, sort_keys=True, default=str)


class Kept:
    """Results by key; only in memory if no file is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._results: dict[str, Any] = {}
        if self._path and self._path.exists():
            for line in self._path.read_bytes().split(b"\n"):
                self._results.update(_parsed(line))

    def get(self, name: str, run: Callable[[], Any]) -> Any:
        """The result of a run: read if it was finished before, else played and kept."""
        if name not in self._results:
            self._keep(name, run())
        return self._results[name]

    def all(self, jobs: Iterable[tuple[str, Item]], run: Callable[[Item], Any], processes: int = 2) -> dict[str, Any]:
        """The results of many runs by key; those that are missing are played in some processes."""
        wanted = dict(jobs)
        missing = [(name, item, run) for name, item in wanted.items() if name not in self._results]
        if missing:
            with Pool(processes) as pool:
                for name, result in pool.imap_unordered(_played, missing):
                    self._keep(name, result)
        return {name: self._results[name] for name in wanted}

    def _keep(self, name: str, result: Any) -> None:
        line = json.dumps([name, result])
        self._results.update(_parsed(line))  # as it will be read
        if self._path:
            # One write in append mode, so that processes do not mix their lines. The newline in front ends a line
            # that a killed process left torn.
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(file, f"\n{line}\n".encode())
            finally:
                os.close(file)


@cache
def runs() -> Kept:
    """Return where this process keeps its runs: the file that SHOESTRING_RUNS names, or its memory."""
    given = os.environ.get("SHOESTRING_RUNS")
    return Kept(Path(given) if given else None)


def _played(job: tuple[str, Item, Callable[[Item], Any]]) -> tuple[str, Any]:
    name, item, run = job
    return name, run(item)


def _parsed(line: str | bytes) -> dict[str, Any]:
    """A kept run as a mapping; empty for a blank line or one that a kill tore."""
    try:
        name, result = json.loads(line)
    except ValueError:
        return {}
    return {name: result}
