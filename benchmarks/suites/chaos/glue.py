"""Faults around the log: threads, studies that were loaded before others worked, links in folders, forged files.

Each part counts what it tried and what must not come of it: readings lost or doubled, files outside of the storage that
were read, changed or deleted, damage that went unnoticed, and errors that are not errors of shoestring.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from shoestring.core.events import Reported
from shoestring.errors import ShoestringError

SPACE = {"x": (0.0, 1.0)}
THREADS = 8
OUTSIDE = "not of this study"


def _train(trial: ss.Trial) -> Iterator[float]:
    for step in range(trial.start + 1, 10):
        (trial.directory / "step").write_text(str(step))
        yield trial.config["x"] + 1 / step


def _worked(study: ss.Study) -> int:
    """Ask and tell until the study is over; how many grants this was."""
    count = 0
    while study.state != "finished":
        for grant in study.ask(1):
            study.tell(grant, [grant.config["x"] + 1 / step for step in range(grant.start + 1, grant.until + 1)])
            count += 1
    return count


def _faults(study: ss.Study, budget: int, told: int) -> Counter[str]:
    """List faults that must not have happened to a study that several threads or processes worked on."""
    readings = [(event.trial, event.step) for event in study.events() if isinstance(event, Reported)]
    return Counter(
        lost=abs(budget - len(readings)) + abs(told - len(study.history.grants)),
        doubled=len(readings) - len(set(readings)),
        wrong=(not study.verify().ok) + (study.spent["steps"] != budget),
    )


def threads(folder: Path, seed: int) -> Counter[str]:
    """Eight threads ask and tell on one study in SQLite."""
    study = ss.Study(
        SPACE, budget="120 steps", max_resource=9, method="asha", storage=folder / "t.db", name="t", seed=seed
    )
    with ThreadPoolExecutor(THREADS) as pool:
        told = sum(pool.map(_worked, [study] * THREADS))
    return _faults(ss.Study.load(folder / "t.db"), 120, told)


def load_then_ask(folder: Path, seed: int) -> Counter[str]:
    """Two objects of one study, each of which works while the other one has not looked."""
    storage = folder / "l.db"
    first = ss.Study(SPACE, budget="60 steps", max_resource=9, method="asha", storage=storage, name="l", seed=seed)
    second, rng, told = ss.Study.load(storage), random.Random(seed), 0
    while first.state != "finished":
        for grant in rng.choice((first, second)).ask(rng.randint(1, 3)):
            told += 1
            values = [grant.config["x"] + 1 / step for step in range(grant.start + 1, grant.until + 1)]
            rng.choice((first, second)).tell(grant, values)
    return _faults(ss.Study.load(storage), 60, told)


def links(folder: Path, seed: int) -> Counter[str]:
    """Links in place of the folder of a trial, of a snapshot and of a checkpoint lead to files outside."""
    storage, outside = folder / "k.db", folder / "outside"
    options = {"max_resource": 9, "method": "asha", "storage": storage, "name": "k", "seed": seed, "keep": None}
    ss.tune(_train, SPACE, budget="40 steps", progress=False, **options)
    outside.mkdir()
    for name in ("step", "work-0", "step-1"):
        (outside / name).write_text(OUTSIDE)
    places = sorted(path for path in (folder / "k.db.files").rglob("*") if path.name != "k")
    place = random.Random(seed).choice(places)
    target = outside if place.is_dir() else outside / "step"
    place.rename(folder / "moved")
    place.symlink_to(target)
    refused = 0
    try:
        ss.tune(_train, SPACE, budget="80 steps", progress=False, **options)
    except ShoestringError:
        refused = 1
    kept = {path.name: path.read_text() for path in outside.iterdir()}
    return Counter(followed=kept != dict.fromkeys(("step", "work-0", "step-1"), OUTSIDE), refused=refused)


def forged(folder: Path, seed: int) -> Counter[str]:
    """One event of a stored study is edited, deleted, doubled or moved; a trigger is added to the file."""
    storage, rng = folder / "f.db", random.Random(seed)
    options = {"max_resource": 9, "method": "asha", "storage": storage, "name": "f"}
    ss.tune(_train, SPACE, budget="40 steps", progress=False, **options)
    with sqlite3.connect(storage) as database:
        last = database.execute("SELECT max(seq) FROM events").fetchone()[0]
        place = rng.randrange(last)
        statement = rng.choice(
            (
                f"UPDATE events SET body = replace(body, '1', '2') WHERE seq = {place}",
                f"DELETE FROM events WHERE seq = {place}",
                f"UPDATE events SET at = at + 1 WHERE seq = {place}",
                "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = 1; END",
            )
        )
        database.execute(statement)
        changed = database.total_changes or "TRIGGER" in statement
    database.close()
    try:
        ss.tune(_train, SPACE, budget="60 steps", progress=False, **options)
    except ShoestringError:
        return Counter(noticed=1)
    return Counter(unnoticed=bool(changed))


PARTS = {
    "eight threads on one study": threads,
    "loaded before others worked": load_then_ask,
    "links in the folders of trials": links,
    "forged events and schemas": forged,
}
# What must not happen; everything else that is counted is said, and is fine.
NEVER = ("lost", "doubled", "wrong", "followed", "unnoticed", "other errors")


def glue(options: Options) -> list[Row]:
    """Runs of each part, and what must not come of them."""
    runs, rows = 3 if options.quick else 40, []
    for name, part in PARTS.items():
        found: Counter[str] = Counter()
        for seed in range(runs):
            with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
                try:
                    found += part(Path(folder), seed)
                except ShoestringError as error:
                    found["other errors"] += 1
                    print(f"{name}: {error}")
                except Exception as error:  # a user would see a traceback
                    found["other errors"] += 1
                    print(f"{name}: {type(error).__name__}: {error}")
        rows.append(Row(f"{name}: runs", runs))
        rows += [Row(f"{name}: {what}", found[what], n=runs, at_most=0) for what in NEVER]
    return rows
