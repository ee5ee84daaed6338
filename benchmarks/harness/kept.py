"""Finished runs, kept in a file so that a long benchmark can be stopped and continued.

With SHOESTRING_RUNS=FILE every run is appended to that file as a line of JSON when it ends, and is not repeated. All
benchmarks can share one file, because a run's key says everything its result depends on: the task, the seed, the full
description of the method, the settings of the run, the package version and a digest of the package's code. A run of
changed code therefore has another key and is played again; changed comments and docstrings do not count.

With SHOESTRING_EARLIER=1 a run of earlier code counts where there is none of this code, so that a page can compare what
takes days to play. The commits of such runs are stored with the results (``provenance.py``). And nothing is played: a
run that was never kept is :class:`Missing`.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any, TypeVar

import shoestring
from benchmarks.harness.provenance import commit, used_earlier
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


class Missing(Exception):
    """A run that was never kept."""


class Kept:
    """Results by key; only in memory if no file is given. With ``earlier`` those of earlier code count."""

    def __init__(self, path: Path | None = None, earlier: bool = False) -> None:
        self._path, self._earlier = path, earlier
        self._results: dict[str, Any] = {}
        self._commits: dict[str, str] = {}
        self._latest: dict[str, str] = {}
        if self._path and self._path.exists():
            for line in self._path.read_bytes().split(b"\n"):
                self._take_in(line)

    def get(self, name: str, run: Callable[[], Any]) -> Any:
        """The result of a run: read if it was finished before, else played and kept."""
        if name not in self._results and self._earlier:
            if (latest := self._latest.get(_without_code(name))) is None:
                raise Missing(name)
            used_earlier(self._commits[latest])
            return self._results[latest]
        if name not in self._results:
            self._keep(name, run())
        return self._results[name]

    def _take_in(self, line: str | bytes) -> None:
        """Add a line of the file; a blank one, or one that a kill tore, adds nothing."""
        try:
            name, result, *at = json.loads(line)
        except ValueError:
            return
        self._results[name], self._commits[name] = result, at[0] if at else "unknown"
        if self._earlier:
            self._latest[_without_code(name)] = name

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
        line = json.dumps([name, result, _commit()])
        self._take_in(line)  # as it will be read
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
    return Kept(Path(given) if given else None, earlier=bool(os.environ.get("SHOESTRING_EARLIER")))


@cache
def _commit() -> str:
    return commit()


def _without_code(name: str) -> str:
    """The key of a run of ours, whatever its code was; any other key as it is."""
    try:
        identity = json.loads(name)
    except ValueError:
        return name
    if not isinstance(identity, dict) or not re.fullmatch(r".+\+[0-9a-f]{12}", str(identity.get("code"))):
        return name
    return json.dumps({part: value for part, value in identity.items() if part != "code"}, sort_keys=True)


def _played(job: tuple[str, Item, Callable[[Item], Any]]) -> tuple[str, Any]:
    name, item, run = job
    return name, run(item)
