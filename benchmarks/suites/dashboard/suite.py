"""The dashboard next to optuna-dashboard: a study of 10,000 trials in SQLite, opened in Chromium.

    python benchmarks/dashboard.py --table page

It needs chromium, chromium-driver, selenium and optuna-dashboard, and reads the CPU time and the memory of the servers
from /proc.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import shoestring as ss
from benchmarks.harness.browser import CHROMIUM, DRIVER, start_chromium
from benchmarks.harness.common import Options, Unavailable, main
from benchmarks.harness.measurements import Row, row
from shoestring._arrays import Array
from shoestring.core.events import Granted, Opened, Reported
from shoestring.logs import SqliteLog


@dataclass(frozen=True)
class Visit:
    """One first visit of a study's page by a new browser, of a server that was just started."""

    server_seconds: float
    first_byte: float
    drawn: float
    kilobytes: float
    megabytes: float


@dataclass(frozen=True)
class Server:
    """A dashboard: how to start it, where its page is, and when that is drawn."""

    command: list[str]
    path: str
    is_drawn: str


def compare(options: Options) -> list[Row]:
    """First visit of the page of a study with 10,000 trials."""
    missing = [name for name in ("selenium", "optuna_dashboard") if find_spec(name) is None]
    if missing:
        raise Unavailable(f"it needs {' and '.join(missing)}: pip install selenium optuna-dashboard")
    trials = 1000 if options.quick else 10_000
    with tempfile.TemporaryDirectory() as folder:
        servers = {"shoestring": _ours(Path(folder), trials), "optuna-dashboard": _optunas(Path(folder), trials)}
        rounds = [{name: _visit(server) for name, server in servers.items()} for _ in range(options.seeds)]
    visits = {name: [visited[name] for visited in rounds] for name in servers}
    limits = {"server_seconds": 1.0, "drawn": 1.5, "megabytes": 300.0}
    names = {
        "server_seconds": "CPU seconds of the server", "first_byte": "seconds to the first byte",
        "drawn": "seconds until drawn", "kilobytes": "kB sent", "megabytes": "MB of memory of the server",
    }  # fmt: skip
    rows = []
    for name, found in visits.items():
        for field, label in names.items():
            limit = {"at_most": limits[field]} if name == "shoestring" and field in limits else {}
            rows.append(row(f"{name}: {label}", [getattr(visit, field) for visit in found], **limit))
    return rows


def _ours(folder: Path, trials: int) -> Server:
    """A study of random search, written to the log in one go."""
    space = {f"x{i}": (0.0, 1.0) for i in range(5)}
    (opened,) = ss.Study(space, budget=f"{trials} evaluations", method="random").events()
    assert isinstance(opened, Opened)
    log = SqliteLog(folder / "ours.db")
    number = log.create("many", opened)
    events: list[Any] = []
    for i, point in enumerate(np.random.default_rng(0).random((trials, 5))):
        events.append(Granted(float(i), i, i, 0, i, 0, 1, "drawn at random", "host/1/1/1", config=_params(point)))
        events.append(Reported(float(i), i, 1, _value(point)))
    log.append(number, events, 1)
    drawn = f"""
        return document.getElementById("count")?.textContent === "{trials} of {trials} trials"
            && [...document.images].every((image) => image.complete)"""
    return Server(["shoestring", "dashboard", str(folder / "ours.db"), "--port"], "/study/many", drawn)


def _optunas(folder: Path, trials: int) -> Server:
    """The same trials in a study of Optuna, in SQLite too."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    file = folder / "optuna.db"
    study = optuna.create_study(storage=f"sqlite:///{file}", study_name="many")
    axes = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(5)}
    points = np.random.default_rng(0).random((trials, 5))
    study.add_trial(optuna.trial.create_trial(params=_params(points[0]), distributions=axes, value=_value(points[0])))
    _fill(file, points)
    assert len(optuna.load_study(storage=f"sqlite:///{file}", study_name="many").trials) == trials
    drawn = "return document.querySelector('.js-plotly-plot .points path, .js-plotly-plot canvas') !== null"
    return Server(["optuna_dashboard", f"sqlite:///{file}", "--port"], "/dashboard/studies/1", drawn)


def _fill(file: Path, points: Array) -> None:
    """Add the other trials as copies of the rows of the first: one by one, Optuna takes minutes for ten thousand."""
    with closing(sqlite3.connect(file)) as connection, connection:
        (_, _, *rest) = connection.execute("SELECT * FROM trials").fetchone()
        (*_, kind) = connection.execute("SELECT * FROM trial_values").fetchone()
        (*_, axis) = connection.execute("SELECT * FROM trial_params").fetchone()
        numbered = list(enumerate(points))[1:]
        trials = [(i + 1, i, *rest) for i, _ in numbered]
        values = [(i + 1, i + 1, 0, _value(point), kind) for i, point in numbered]
        params = [(i + 1, name, x, axis) for i, point in numbered for name, x in _params(point).items()]
        connection.executemany(f"INSERT INTO trials VALUES ({', '.join('?' * len(trials[0]))})", trials)
        connection.executemany("INSERT INTO trial_values VALUES (?, ?, ?, ?, ?)", values)
        connection.executemany(
            "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)",
            params,
        )


def _params(point: Array) -> dict[str, float]:
    return {f"x{i}": float(x) for i, x in enumerate(point)}


def _value(point: Array) -> float:
    return float((point**2).sum())


@contextmanager
def _running(server: Server) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    module, *words = server.command
    command = [sys.executable, "-c", f"from {module}.{_ENTRY[module]} import main; main()", *words, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    break
            except OSError:
                time.sleep(0.1)
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


_ENTRY = {"shoestring": "cli", "optuna_dashboard": "_cli"}


def _visit(server: Server) -> Visit:
    with _running(server) as (address, pid), _browser() as browser:
        before = _cpu(pid)
        browser.get(address + server.path)
        while not browser.execute_script(server.is_drawn):
            time.sleep(0.02)
        drawn, first, sent = browser.execute_script("""
            const page = performance.getEntriesByType("navigation")[0];
            const parts = [page, ...performance.getEntriesByType("resource")];
            return [performance.now(), page.responseStart, parts.reduce((sum, one) => sum + one.transferSize, 0)];
        """)
        return Visit(_cpu(pid) - before, first / 1000, drawn / 1000, sent / 1000, _memory(pid))


@contextmanager
def _browser() -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        raise Unavailable("it needs chromium and chromium-driver")
    browser = start_chromium()
    browser.set_script_timeout(600)  # a page that draws does not answer
    browser.set_page_load_timeout(600)
    try:
        yield browser
    finally:
        browser.quit()


def _cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> float:
    """The most memory that a process has had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM"))


def run() -> None:
    main(__doc__, {"page": compare}, seeds=3, quick_seeds=1)
