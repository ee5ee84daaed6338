"""Studies in a database, the workers that run them, and what is done to both."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import shoestring as ss
from benchmarks.harness.postgres_server import Server
from benchmarks.harness.unbroken import explained, wrong_readings
from benchmarks.suites.cluster.hosts import Host
from benchmarks.suites.cluster.training import LEASE
from shoestring.core.events import Event, Reported
from shoestring.errors import StorageError
from shoestring.testing.laws import check_budget_law

STEPS = 400
WORKERS = 4
KILL, STOP, CUT, LINK, RESTART = KINDS = (
    "workers killed",
    "workers stopped for longer than their lease",
    "times all connections were cut",
    "times the link of a host was broken",
    "server restarts",
)
CHECKS = LOST, DOUBLED, WRONG, UNEXPLAINED = (
    "events and trials lost",
    "readings doubled",
    "readings and decisions wrong",
    "steps charged and not explained",
)


class Arena:
    def __init__(self, server: Server, host: Host | None, rng: random.Random) -> None:
        self.server = server
        self.host = host
        self.rng = rng
        self.faults = Counter[str]()
        self.wrong = Counter[str]()
        self.errors: list[str] = []
        self.studies = 0
        self.mended_at = 0.0
        self.folder = Path()
        self.name = ""
        self.seen: list[Event] = []

    def torment(self, seconds: float) -> None:
        """Let faults happen for this long; a study that ends before is followed by another one."""
        end = time.monotonic() + seconds
        restarts = [end - seconds * 2 / 3, end - seconds / 3]
        while time.monotonic() < end:
            with tempfile.TemporaryDirectory(prefix="cluster-") as name:
                self.open(Path(name))
                while time.monotonic() < end and not self.revive():
                    if restarts and time.monotonic() > restarts[0]:
                        restarts.pop(0)
                        self.restart()
                    self.strike()
                self.finish()

    def open(self, folder: Path) -> None:
        self.studies += 1
        self.folder, self.name, self.seen = folder, f"chaos{self.studies}", []
        ss.Study(
            {"x": (0.0, 1.0)}, budget=ss.Budget(steps=STEPS), max_resource=9, method="asha",
            storage=self.server.database(self.name), name="cluster",
        )  # fmt: skip
        self.processes = [self.start(place) for place in range(WORKERS + (self.host is not None))]

    def start(self, place: int) -> subprocess.Popen[str]:
        """The last worker is that of the host, if there is one; the first one has two slots."""
        host = self.host if place == WORKERS else None
        address = self.server.address(self.name, host.here if host else "127.0.0.1")
        program = Path(__file__).parent / "training.py"
        command = [sys.executable, str(program), address, str(self.folder / "files")]
        command += ["--slots", "2"] if place == 0 else []
        environment = {**os.environ, "CHAOS_PAUSE": "0.03"}
        command = host.command(command) if host else command
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def revive(self) -> bool:
        """Start again what has ended; whether the study is finished, as one process says by ending well."""
        for place, process in enumerate(self.processes):
            if process.poll() is None:
                continue
            if process.returncode == 0:
                return True
            self.note_end(process)
            self.processes[place] = self.start(place)
        return False

    def note_end(self, process: subprocess.Popen[str]) -> None:
        _, said = process.communicate()
        killed = process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        # A worker that is started while the server is away says that it cannot connect.
        if process.returncode and not killed and "cannot be used: connection" not in said:
            self.errors.append(said[-800:])

    def strike(self) -> None:
        time.sleep(self.rng.uniform(0.1, 1.0))
        if self.mended_at and time.monotonic() > self.mended_at:
            self.mend()
        fault = self.rng.choice([KILL, STOP, CUT, *([LINK] if self.host and not self.mended_at else [])])
        process = self.rng.choice(self.processes)
        self.faults[fault] += 1
        if fault == KILL:
            process.kill()
            process.wait()
        elif fault == STOP:
            local = self.rng.choice(self.processes[:WORKERS])
            local.send_signal(signal.SIGSTOP)
            threading.Timer(self.rng.uniform(1.5, 3.0) * LEASE, local.send_signal, [signal.SIGCONT]).start()
        elif fault == CUT:
            self.server.cut_connections(self.name)
        elif self.host:
            self.host.cut()
            self.mended_at = time.monotonic() + self.rng.uniform(0.5, 8.0) * LEASE
        self.look()

    def mend(self) -> None:
        if self.host and self.mended_at:
            self.host.mend()
            self.mended_at = 0.0

    def restart(self) -> None:
        self.faults[RESTART] += 1
        self.server.stop("immediate" if self.faults[RESTART] % 2 else "fast")
        time.sleep(self.rng.uniform(0.5, 3.0))
        self.server.start()

    def look(self) -> None:
        """Check that the log still has everything that it had."""
        with suppress(StorageError):  # the server may have cut this connection too, while it was opened
            events = self.study().events()
            self.wrong[LOST] += sum(a != b for a, b in zip(self.seen, events, strict=False))
            self.wrong[LOST] += max(0, len(self.seen) - len(events))
            self.seen = events

    def study(self) -> ss.Study:
        return ss.Study.load(self.server.address(self.name), "cluster")

    def finish(self) -> None:
        """No more faults: let all processes come to the end, and count what must not have happened."""
        self.mend()
        while not self.revive():
            time.sleep(0.05)
        for process in self.processes:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.wait(timeout=180)
            self.note_end(process)
        self.look()
        self.check(self.study())

    def check(self, study: ss.Study) -> None:
        events, wrong = study.events(), self.wrong
        readings = [(event.trial, event.step) for event in events if isinstance(event, Reported)]
        wrong[DOUBLED] += len(readings) - len(set(readings))
        # The training itself never fails, and no trial is stopped by the budget of steps.
        wrong[LOST] += sum(trial.state not in ("paused", "finished") for trial in study.trials)
        wrong[WRONG] += sum(wrong_readings(trial) for trial in study.trials) + (not study.verify().ok)
        try:
            check_budget_law(events)
        except AssertionError:
            wrong[WRONG] += 1
        wrong[UNEXPLAINED] += abs(study.spent["steps"] - STEPS)
        wrong[UNEXPLAINED] += abs(study.spent["steps"] - len(readings) - explained(events))
