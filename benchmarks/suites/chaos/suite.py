"""Faults of all kinds at random moments, and what a study makes of them.

Processes are killed, worker processes too; processes are stopped for longer than their lease and woken up again; the
clock is set by up to a day; the file system with the storage is filled; processes die while they copy a checkpoint.
Each process that ended is started again. Nothing that was in the log may be lost, no reading may be there twice, each
one must be that of an unbroken training, and each step that was charged must be explained by an event.

    python benchmarks/chaos.py
    python benchmarks/chaos.py --table faults --seeds 2
    python benchmarks/chaos.py --table server           # clients of shoestring serve, which are killed, and it too
    python benchmarks/chaos.py --quick --json

It needs a Unix system. To fill a file system it mounts one of 8 MB in memory; where that is not allowed, this fault is
left out.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import shoestring as ss
from benchmarks.harness.common import Options, Unavailable, main
from benchmarks.harness.measurements import Row
from benchmarks.harness.unbroken import explained, wrong_readings
from benchmarks.harness.victim import LEASE
from benchmarks.suites.chaos.glue import glue
from benchmarks.suites.chaos.server import server
from shoestring.core.events import Event, Reported
from shoestring.core.history import TrialRecord
from shoestring.logs import open_log
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.testing.laws import check_budget_law

VICTIM = Path(__file__).parents[2] / "harness" / "victim.py"
STEPS = 300
KILL, WORKER, STOP, CLOCK, FULL, COPY = FAULTS = (
    "processes killed",
    "worker processes killed",
    "processes stopped and woken up",
    "clock set",
    "file system full",
    "deaths while a checkpoint is copied",
)


@dataclass(frozen=True)
class Scenario:
    """The number of processes that run the study, of the workers of each, and how long a step takes."""

    name: str
    processes: int
    workers: int
    pause: float

    def faults(self, can_fill: bool) -> list[str]:
        left_out = {WORKER if self.workers == 1 else "", "" if can_fill else FULL}
        return [fault for fault in FAULTS if fault not in left_out]


SCENARIOS = (
    Scenario("one process", 1, 1, 0.02),
    Scenario("three processes", 3, 1, 0.04),
    Scenario("one process with two workers", 1, 2, 0.04),
)


@dataclass
class Found:
    """The effects of the faults: counts of the faults, and of everything that must not happen."""

    faults: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    unexplained: int = 0
    errors: list[str] = field(default_factory=list)


class Arena:
    """One study, its processes, and what is done to them."""

    def __init__(self, folder: Path, scenario: Scenario, rng: random.Random, found: Found, can_fill: bool) -> None:
        self.folder = folder
        self.storage = folder / "chaos.db"
        self.scenario = scenario
        self.rng = rng
        self.found = found
        self.faults = scenario.faults(can_fill)
        self.seen: list[Event] = []
        self.started = time.monotonic()
        self.processes = [self.start() for _ in range(scenario.processes)]

    def start(self) -> subprocess.Popen[str]:
        arguments = [sys.executable, str(VICTIM), str(self.storage), str(self.scenario.workers), str(STEPS)]
        environment = {**os.environ, "CHAOS_FOLDER": str(self.folder), "CHAOS_PAUSE": str(self.scenario.pause)}
        return subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True)

    def revive(self) -> bool:
        """Start again what has ended; whether the study is finished, as one process says by ending well."""
        for place, process in enumerate(self.processes):
            if process.poll() is None:
                continue
            if process.returncode == 0:
                return True
            _, said = process.communicate()
            if process.returncode != -signal.SIGKILL and not _is_full(said):
                self.found.errors.append(said[-500:])
            self.processes[place] = self.start()
        return False

    def strike(self) -> None:
        """One fault of a random kind at a random moment."""
        time.sleep(self.rng.uniform(0.05, 0.5))
        fault, process = self.rng.choice(self.faults), self.rng.choice(self.processes)
        if {
            KILL: self.kill, WORKER: self.kill_worker, STOP: self.stop,
            CLOCK: self.set_clock, FULL: self.fill, COPY: self.die_in_copy,
        }[fault](process):  # fmt: skip
            self.found.faults[fault] += 1
        self.look()

    def kill(self, process: subprocess.Popen[str]) -> bool:
        process.kill()
        process.wait()
        return True

    def kill_worker(self, process: subprocess.Popen[str]) -> bool:
        try:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(self.rng.choice(children)), signal.SIGKILL)
        except (OSError, IndexError):
            return False
        return True

    def stop(self, process: subprocess.Popen[str]) -> bool:
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.5, 3.0) * LEASE)
        process.send_signal(signal.SIGCONT)
        return process.poll() is None

    def set_clock(self, process: subprocess.Popen[str]) -> bool:
        partial = self.folder / "clock.partial"
        partial.write_text(str(self.rng.uniform(-86400, 86400)))
        partial.rename(self.folder / "clock")
        return True

    def fill(self, process: subprocess.Popen[str]) -> bool:
        ballast = self.folder / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        time.sleep(self.rng.uniform(0.1, 0.5))
        ballast.unlink()
        return True

    def die_in_copy(self, process: subprocess.Popen[str]) -> bool:
        token = self.folder / "die-in-copy"
        token.touch()
        for _ in range(100):
            if not token.exists():
                return True
            time.sleep(0.02)
        token.unlink(missing_ok=True)
        return False

    def look(self) -> None:
        """Check that the log still has everything that it had."""
        if not self.storage.exists():
            return
        log = open_log(self.storage)
        study = log.find("chaos")
        events = log.read(study, 0) if study is not None else []
        self.found.lost += sum(a != b for a, b in zip(self.seen, events, strict=False))
        self.found.lost += max(0, len(self.seen) - len(events))
        self.seen = events

    def finish(self) -> ss.Study:
        """No more faults: let all processes come to the end."""
        while not self.revive():
            time.sleep(0.05)
        for process in self.processes:
            _, said = process.communicate(timeout=120)
            if process.returncode:
                self.found.errors.append(said[-500:])
        self.look()
        return ss.Study.load(self.storage)


def _is_full(said: str) -> bool:
    last = said.strip().rpartition("\n")[2]
    return last.startswith("shoestring.errors.") and any(word in last for word in ("full", "No space", "room"))


def check(arena: Arena, study: ss.Study) -> None:
    """Count what must not have happened in a study that has come to its end."""
    found, events = arena.found, study.events()
    readings = [(event.trial, event.step) for event in events if isinstance(event, Reported)]
    found.doubled += len(readings) - len(set(readings))
    # The training itself never fails, and no trial is stopped by the budget of steps.
    found.lost += sum(trial.state not in ("paused", "finished") for trial in study.trials)
    for trial in study.trials:
        found.wrong += wrong_readings(trial) + _wrong_files(arena.storage, trial)
    found.wrong += not study.verify().ok
    try:
        check_budget_law(events)
    except AssertionError:
        found.wrong += 1
    found.unexplained += abs(study.spent["steps"] - len(readings) - explained(events))
    found.unexplained += study.spent["seconds"] > time.monotonic() - arena.started


def _wrong_files(storage: Path, trial: TrialRecord) -> bool:
    """Return whether the checkpoint of the recommended step is missing, or is not that of this step."""
    if trial.recommended is None:
        return False
    step = trial.recommended.step
    folder = checkpoint_of(storage.with_name(storage.name + ".files") / "chaos", trial, step)
    if folder is None:
        return True
    state = json.loads((folder / "state.json").read_text())
    return (state["trained"], state["weight"]) != (step, trial.readings[step].value)


@contextmanager
def arena_folder() -> Iterator[tuple[Path, bool]]:
    """A folder for a study, on a small file system of its own if one can be mounted; whether it is."""
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", name]
        try:
            mounted = subprocess.run(mount, capture_output=True).returncode == 0
        except OSError:
            mounted = False
        try:
            yield Path(name), mounted
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", name], check=False)


def torment(scenario: Scenario, faults: int, seed: int) -> Found:
    """Let this many faults happen to studies of one scenario; a study that ends before is followed by another one."""
    found, rng = Found(), random.Random(seed)
    while found.faults.total() < faults:
        with arena_folder() as (folder, can_fill):
            if not can_fill:
                print("a file system cannot be mounted here, so none is filled", file=sys.stderr)
            arena = Arena(folder, scenario, rng, found, can_fill)
            while found.faults.total() < faults and not arena.revive():
                arena.strike()
            check(arena, arena.finish())
    return found


def faults(options: Options) -> list[Row]:
    """Faults of each kind, and what must not come of them."""
    if not hasattr(os, "fork"):
        raise Unavailable("the faults need the signals of a Unix system")
    each = 6 if options.quick else 40
    rows, total = [], 0
    for scenario in SCENARIOS:
        runs = [torment(scenario, each, seed) for seed in range(options.seeds)]
        for error in (error for run in runs for error in run.errors):
            print(f"{scenario.name}: {error}", file=sys.stderr)
        happened = sum((run.faults for run in runs), Counter[str]())
        total += happened.total()
        rows += [Row(f"{scenario.name}: {fault}", happened[fault], n=len(runs)) for fault in FAULTS if happened[fault]]
        sums = {
            "events and trials lost": sum(run.lost for run in runs),
            "readings doubled": sum(run.doubled for run in runs),
            "readings, files and decisions wrong": sum(run.wrong for run in runs),
            "charges unexplained": sum(run.unexplained for run in runs),
            "processes that ended with an error of another kind": sum(len(run.errors) for run in runs),
        }
        rows += [Row(f"{scenario.name}: {name}", count, n=len(runs), at_most=0) for name, count in sums.items()]
    return [Row("faults in all", total, at_least=None if options.quick else 100), *rows]


TABLES = {"faults": faults, "glue": glue, "server": server}


def run() -> None:
    main(__doc__, TABLES, seeds=1, quick_seeds=1)
