"""The process that faults happen to: python benchmarks/harness/victim.py STORAGE WORKERS STEPS

Its training notes how many steps were really done, and writes its checkpoint in two halves: files that are a step
ahead of the log, behind it or half written show in the readings. Files next to the storage tell it what is to happen:
``clock`` is by how many seconds the time of day is wrong, and who can delete ``die-in-copy`` dies while it copies a
checkpoint. Leases are short, so that they expire within the benchmark.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import shoestring as ss
from shoestring.core import heartbeats
from shoestring.core.study_clock import StudyClock
from shoestring.core.workers import ticks
from shoestring.logs import sqlite
from shoestring.objectives import trial_files

FOLDER = Path(os.environ.get("CHAOS_FOLDER", "."))
PAUSE = float(os.environ.get("CHAOS_PAUSE", "0"))
LEASE = 1.0


def after(weight: float, seed: int, step: int) -> float:
    """One step of the training."""
    return 0.9 * weight + (seed % 97) / (100 + step)


def train(trial: ss.Trial) -> Iterator[float]:
    die_in_copies()  # in a worker process too, which is sent this function and not the script
    path = trial.directory / "state.json"
    state = json.loads(path.read_text()) if trial.start else {"weight": trial.config["x"], "trained": 0}
    while True:
        state["trained"] += 1
        state["weight"] = after(state["weight"], trial.seed, state["trained"])
        text = json.dumps(state)
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(PAUSE)
            file.write(text[len(text) // 2 :])
        yield state["weight"]


def die_in_copies() -> None:
    """Let the process that can delete the file die in the middle of its next copy of a checkpoint."""
    copy = trial_files.copy_folder
    if getattr(copy, "may_die", False):
        return

    def copied(source: Path, target: Path) -> None:
        try:
            (FOLDER / "die-in-copy").unlink()
        except OSError:
            copy(source, target)
            return
        target.mkdir(parents=True)
        (target / "state.json").write_text('{"half')
        os.kill(os.getpid(), signal.SIGKILL)

    copied.may_die = True  # type: ignore[attr-defined]
    trial_files.copy_folder = copied


def time_of_day() -> float:
    return time.time() + offset()


def offset() -> float:
    try:
        return float((FOLDER / "clock").read_text())
    except (OSError, ValueError):
        return 0.0


def prepare() -> None:
    """Make leases short, and the time of day what the file says, for the study and for its database."""
    heartbeats.BEAT, heartbeats.LEASE, heartbeats.WATCH = LEASE / 5, LEASE, LEASE / 2
    StudyClock.__init__.__defaults__ = (time_of_day, ticks)  # type: ignore[attr-defined]
    real_beat, real_beats, statement = sqlite.SqliteLog.beat, sqlite.SqliteLog.beats, sqlite._BEAT

    def beat(log: sqlite.SqliteLog, study: int, worker: str) -> None:
        sqlite._BEAT = statement.replace(sqlite._NOW, f"{sqlite._NOW} + {offset()}")
        real_beat(log, study, worker)

    def beats(log: sqlite.SqliteLog, study: int) -> dict[str, tuple[float, float]]:
        return {worker: (at, age + offset()) for worker, (at, age) in real_beats(log, study).items()}

    sqlite.SqliteLog.beat, sqlite.SqliteLog.beats = beat, beats  # type: ignore[method-assign]


if __name__ == "__main__":
    storage, workers, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    prepare()
    ss.tune(
        train, {"x": (0.0, 1.0)}, budget=ss.Budget(steps=steps), max_resource=9, method="asha", storage=storage,
        name="chaos", workers=workers, progress=False, retries=1000, keep=None,
    )  # fmt: skip
