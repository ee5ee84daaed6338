"""Many processes, and several hosts, on one study in a PostgreSQL database.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --table chaos --seeds 2
    python benchmarks/cluster.py --quick --json

It starts a PostgreSQL server of its own, from Debian's package ``postgresql``. The hosts are network namespaces, which
need root; where they cannot be made, the table of two hosts is left out, and the chaos has no link that breaks.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import shoestring as ss
from benchmarks.harness.common import Options, Unavailable, main
from benchmarks.harness.measurements import Row
from benchmarks.harness.postgres_server import Server, private_server
from benchmarks.suites.cluster.arena import CHECKS, KINDS, Arena
from benchmarks.suites.cluster.hosts import Host, hosts
from shoestring.core.events import Adopted, Event, Granted, Reported
from shoestring.errors import StorageError
from shoestring.testing.laws import check_budget_law

PARTS = Path(__file__).parent
MANY = 16


@contextmanager
def postgres(*listen: str) -> Iterator[Server]:
    """A server; the table is left out where there is none."""
    try:
        with private_server(",".join(("127.0.0.1", *listen))) as server:
            yield server
    except StorageError as error:
        raise Unavailable(str(error)) from None


def spend(who: str, storage: str, evaluations: int, workers: int, folder: Path, method: str = "random") -> float:
    """Let this many processes spend a budget of evaluations; how many seconds they took together."""
    command = [sys.executable, str(PARTS / "evaluating.py"), who, storage, str(evaluations), str(folder)]
    environment = {**os.environ, "CLUSTER_METHOD": method, "SHOESTRING_FILES": str(folder / "files")}
    processes = [subprocess.Popen(command, env=environment) for _ in range(workers)]
    while len(list(folder.glob("ready-*"))) < workers:
        if any(process.poll() for process in processes):
            raise RuntimeError("a process ended before it could begin")
        time.sleep(0.02)
    started = time.monotonic()
    (folder / "go").touch()
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError("a process ended with an error")
    return time.monotonic() - started


def decisions(options: Options) -> list[Row]:
    """Return how many decisions per second 1, 4 and 16 processes make, and how many of them in vain."""
    rows = []
    count = 100 if options.quick else 600
    with postgres() as server:
        for kind in ("PostgreSQL", "SQLite"):
            for method in ("random",) if options.quick else ("random", "tpe"):
                for workers in (1, 4, MANY):
                    with tempfile.TemporaryDirectory() as name:
                        folder = Path(name)
                        database = server.database(f"{method}{workers}") if kind == "PostgreSQL" else f"{name}/study.db"
                        took = spend("ours", database, count, workers, folder, method)
                        decided = sum(json.loads(path.read_text()) for path in folder.glob("decided-*"))
                    case = f"{kind}, {method}, {workers} processes"
                    rows.append(Row(f"{case}: decisions per second", count / took))
                    rows.append(Row(f"{case}: decisions in vain, %", 100 * (decided - count) / decided, at_most=10))
    return rows


def throughput(options: Options) -> list[Row]:
    """16 processes on one study, with trivial evaluations, next to Optuna with the same server."""
    count, theirs = (400, 60) if options.quick else (5000, 200)
    with postgres() as server, tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        took = spend("ours", server.database("ours"), count, MANY, Path(one))
        ran = [line for path in Path(one).glob("ran-*") for line in path.read_text().split()]
        study = ss.Study.load(server.address("ours"), "trivial")
        events = study.events()  # which refuses a gap
        check_budget_law(events)
        readings = [event.trial for event in events if isinstance(event, Reported)]
        spent, verified = study.spent["evaluations"], study.verify().ok
        database = server.database("optuna")
        spend("optuna", database, 1, 1, Path(other))  # creates its tables
        (Path(other) / "go").unlink()
        rival = spend("optuna", database, theirs, MANY, Path(other))
        theirs = server.count("optuna", "trials") - 1  # its processes run a few more than they are told
    ours, optuna = count / took, theirs / rival
    return [
        Row("evaluations", len(ran), at_least=count, at_most=count),
        Row("evaluations run twice", len(ran) - len(set(ran)), at_most=0),
        Row("evaluations lost", count - len(set(readings)), at_most=0),
        Row("budget spent", spent, at_least=count, at_most=count),
        Row("grants that are not what the method decides", 0 if verified else 1, at_most=0),
        Row("evaluations per second", ours),
        Row("evaluations of Optuna", theirs),
        Row("evaluations per second of Optuna", optuna),
        Row("times as many as Optuna", ours / optuna, at_least=3),
    ]


def chaos(options: Options) -> list[Row]:
    """Five minutes of faults on one database, and what must not come of them."""
    seconds = 25.0 if options.quick else 300.0
    happened, wrong, errors, studies = Counter[str](), Counter[str](), list[str](), 0
    for seed in range(options.seeds):
        with one_host() as host, postgres(*([host.here] if host else [])) as server:
            arena = Arena(server, host, random.Random(seed))
            arena.torment(seconds / options.seeds if options.quick else seconds)
            happened += arena.faults
            wrong += arena.wrong
            errors += arena.errors
            studies += arena.studies
    for error in errors:
        print(error, file=sys.stderr)
    return [
        Row("seconds", seconds, n=options.seeds),
        Row("studies", studies, n=options.seeds),
        *(Row(kind, happened[kind], n=options.seeds) for kind in KINDS if happened[kind]),
        *(Row(check, wrong[check], n=options.seeds, at_most=0) for check in CHECKS),
        Row("processes that ended with an error of another kind", len(errors), n=options.seeds, at_most=0),
    ]


@contextmanager
def one_host() -> Iterator[Host | None]:
    try:
        made = hosts("host-a")
        (host,) = made.__enter__()
    except Unavailable as why:
        print(f"no link is broken: {why}", file=sys.stderr)
        yield None
        return
    try:
        yield host
    finally:
        made.__exit__(None, None, None)


def two_hosts(options: Options) -> list[Row]:
    """Two hosts on one database; the first is lost in mid-run, and the second takes over."""
    rows = []
    with hosts("host-a", "host-b") as (a, b), postgres(a.here, b.here) as server:
        for shared in (True, False):
            with tempfile.TemporaryDirectory() as name:
                events, said = lose_one((a, b), server, Path(name), shared)
            check_budget_law(events)
            case = "one folder for checkpoints" if shared else "a folder on each host"
            seen = {event.worker.partition("@")[0] for event in events if isinstance(event, Granted)}
            repeated = sum(_repeated(events))
            readings = [(event.trial, event.step) for event in events if isinstance(event, Reported)]
            rows += [
                Row(f"{case}: hosts that ran trials", len(seen), at_least=2, at_most=2),
                Row(f"{case}: trials taken over", len(list(_repeated(events))), at_least=1),
                Row(f"{case}: steps run again", repeated, at_least=0 if shared else 1, at_most=0 if shared else None),
                Row(f"{case}: steps charged and not explained", BUDGET - len(readings) - repeated, at_most=0),
                Row(f"{case}: readings doubled", len(readings) - len(set(readings)), at_most=0),
                Row(f"{case}: warnings that steps are run again", said.count("are run again and charged"),
                    at_least=0 if shared else 1, at_most=0 if shared else None),
            ]  # fmt: skip
    return rows


BUDGET = 120


def lose_one(pair: tuple[Host, Host], server: Server, folder: Path, shared: bool) -> tuple[list[Event], str]:
    """Two hosts work on a study until one is lost; the events, and what the other one said."""
    name = f"hosts{int(shared)}"
    database = server.database(name)
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(steps=BUDGET), max_resource=27, method="random",
                     storage=database, name="cluster")  # fmt: skip
    processes = []
    for host in pair:
        files = folder / ("files" if shared else host.name)
        command = [sys.executable, str(PARTS / "training.py"), server.address(name, host.here), str(files)]
        environment = {**os.environ, "CHAOS_PAUSE": "0.05"}
        processes.append(subprocess.Popen(host.command(command), env=environment, stderr=subprocess.PIPE, text=True))
    while not _is_held_by(study, pair[0].name):
        time.sleep(0.05)
    processes[0].kill()
    processes[0].communicate()
    _, said = processes[1].communicate(timeout=300)
    if processes[1].returncode:
        raise RuntimeError(said)
    return study.events(), said


def _is_held_by(study: ss.Study, host: str) -> bool:
    """Return whether a host is in the middle of a trial, and the other one works too."""
    running = study.history.running.values()
    return len(running) == 2 and any(t.worker.startswith(f"{host}@") and 2 < t.step < t.until for t in running)


def _repeated(events: list[Event]) -> Iterator[int]:
    """For each trial that was taken over, how many steps were run again."""
    known = Counter[int]()
    for event in events:
        if isinstance(event, Reported):
            known[event.trial] = event.step
        elif isinstance(event, Adopted):
            yield known[event.trial] - event.start


TABLES = {"decisions": decisions, "throughput": throughput, "chaos": chaos, "hosts": two_hosts}


def run() -> None:
    main(__doc__, TABLES, seeds=1, quick_seeds=1)
