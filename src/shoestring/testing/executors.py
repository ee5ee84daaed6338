"""The contract of an executor: the same study, whatever runs it.

The objectives keep a record of their own in the files of their trial and compare it with the study's log before every
step, in whatever process they run. A broken law ends the trial as failed, with the law as its message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoestring.core.budget import Budget
from shoestring.core.composition import compose
from shoestring.core.decisions import Sampler, Scheduler
from shoestring.core.events import Granted, Reported
from shoestring.core.history import TrialRecord
from shoestring.core.readings import Reading
from shoestring.errors import ShoestringError
from shoestring.executors import Executor, Report, Session, Trial
from shoestring.logs import open_log
from shoestring.objectives.checks import place_of
from shoestring.objectives.trial import Objective
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.samplers import Grid, Random
from shoestring.schedulers import ASHA, Full
from shoestring.study import Study

KINDS = ("steady", "raises", "exits", "nan", "ends")
SPACE = {"x": (0.0, 1.0), "kind": list(KINDS)}


@dataclass(frozen=True)
class Watching:
    """An objective that knows the log of its own study, and does what the configuration's ``kind`` says.

    It never ends, fails at its second step, gives NaN at its second step, or ends after its second step.
    """

    storage: Path

    def __call__(self, trial: Trial) -> Iterator[Reading]:
        log, step = _LogReader(self.storage, trial.seed), trial.start
        log.update()
        if step:
            assert _steps_trained(trial) == step, (
                f"files: the trial is at step {step}, its files at {_steps_trained(trial)}"
            )
        elif not log.known:
            assert not list(trial.directory.iterdir()), "files: a new trial finds files that are not its own"
        while True:
            step += 1
            log.check(step)
            assert step == trial.start + 1 or _steps_trained(trial) == step - 1, (
                "files: they were changed between two steps"
            )
            if step == 2 and trial.config["kind"] == "raises":
                raise ValueError("at the second step")
            if step == 2 and trial.config["kind"] == "exits":
                raise SystemExit("at the second step")
            if step == 3 and trial.config["kind"] == "ends":
                return
            (trial.directory / "step").write_text(str(step))
            value = float("nan") if step == 2 and trial.config["kind"] == "nan" else value_at(trial.config["x"], step)
            yield Reading(value, cost=step / 2, seed=trial.seed, arm=trial.arm, replicate=trial.replicate)


class WatchingFunction(Watching):
    """The same as a function, which reports its steps."""

    def __call__(self, trial: Trial) -> None:  # type: ignore[override]
        for step, reading in enumerate(super().__call__(trial), trial.start + 1):
            trial.report(reading, step=step)


@dataclass(frozen=True)
class Ticking:
    """An objective that notes every step in a file of its own, and never ends."""

    notes: Path

    def __call__(self, trial: Trial) -> Iterator[float]:
        while True:
            with (self.notes / str(trial.seed)).open("a") as file:
                file.write("step\n")
            time.sleep(0.02)
            yield trial.config["x"]

    def seconds(self, config: object, step: int, seed: int) -> float:
        """Return how long a step takes on a virtual clock."""
        return 0.02


class TickingFunction(Ticking):
    """The same as a function, which reports its steps."""

    def __call__(self, trial: Trial) -> None:  # type: ignore[override]
        for reading in super().__call__(trial):
            trial.report(reading)


def returning(trial: Trial) -> float:
    return float(trial.config["x"])


def value_at(x: float, step: int) -> float:
    """Give the best reading in the second step, and go on."""
    return x + abs(step - 2)


def _steps_trained(trial: Trial) -> int:
    try:
        return int((trial.directory / "step").read_text())
    except (OSError, ValueError):
        return 0


class _LogReader:
    """The log's view of one trial, which is known by its seed."""

    def __init__(self, storage: Path, seed: int) -> None:
        self._log, self._seed = open_log(storage), seed
        self._position, self._trial = 0, -1
        self.granted = 0
        self.known: set[int] = set()

    def update(self) -> None:
        events = self._log.read(self._log.find("study") or 0, self._position)
        self._position += len(events)
        for event in events:
            if isinstance(event, Granted) and event.seed == self._seed:
                self._trial, self.granted = event.trial, event.until
            elif isinstance(event, Reported) and event.trial == self._trial:
                self.known.add(event.step)

    def check(self, step: int) -> None:
        self.update()
        assert step <= self.granted, f"order: step {step} was started, and only {self.granted} are granted"
        missing = set(range(1, step)) - self.known
        assert not missing, f"order: step {step} was started before step {min(missing)} was in the log"


# A session may come back with nothing now and then; one that does so this often in a row has lost a job.
_EMPTY = 2000


@dataclass(frozen=True)
class Patient:
    """An executor that is not waited for if it has nothing more to say."""

    executor: Executor

    def open(self, objective: Objective, directory: Path) -> Any:
        return _PatientSession(self.executor.open(objective, directory))


class _PatientSession:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._empty = 0
        self._reported: set[tuple[int, int]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def collect(self, until: float | None) -> list[Report]:
        reports = self._session.collect(until)
        self._empty = 0 if reports else self._empty + 1
        assert self._empty < _EMPTY, "reports: a job was submitted, and nothing is reported of it"
        for report in reports:
            place = report.trial, report.step
            assert place not in self._reported, f"reports: step {report.step} of trial {report.trial} came twice"
            self._reported.add(place)
        return reports


def check_executor(executor: Executor) -> None:
    """Steps run in order and as granted, paused trials go on where they were, failures are kept, all of it ends."""
    for law in EXECUTOR_LAWS:
        check_executor_law(law, executor)


def check_executor_law(law: str, executor: Executor) -> None:
    """One of the laws of executors, in a folder of its own."""
    with TemporaryDirectory() as folder:
        try:
            EXECUTOR_LAWS[law](Patient(executor), Path(folder))
        except ShoestringError as error:
            raise AssertionError(f"reports: the study refused what the executor gave: {error}") from error


def check_steps(executor: Executor, folder: Path, objective: type[Watching] = Watching, total: int = 120) -> None:
    """A study that pauses and promotes, run in two parts: the second finds the files of the first."""
    storage = folder / f"{objective.__name__}.db"
    for steps in (total // 2, total):
        study = _study(Budget(steps=steps), ASHA(), 9, storage).run(objective(storage), executor=executor, keep=None)
        assert study.spent["steps"] == steps, f"budget: {study.spent['steps']} of {steps} steps were spent"
    charged = sum(trial.step + (trial.state == "failed") for trial in study.trials)
    assert charged == total, "files: steps were run again although their files were there"
    for trial in study.trials:
        _check_trial(trial)
    for trial in study.trials:
        _check_kept_files(trial, folder / f"{storage.name}.files" / study.name)


def _check_kept_files(trial: TrialRecord, directory: Path) -> None:
    """The files of the recommended step are there, although the trial was trained on, by the second session too."""
    if trial.recommended is not None:
        step = trial.recommended.step
        found = checkpoint_of(directory, trial, step)
        kept = "nothing" if found is None else f"step {(found / 'step').read_text()}"
        assert kept == f"step {step}", f"files: trial {trial.index} kept {kept}, and step {step} is recommended"


def check_each_kind(executor: Executor, folder: Path, objective: type[Watching] = Watching) -> None:
    """One trial of each kind, run to its end."""
    storage = folder / f"{objective.__name__}-kinds.db"
    study = _study(Budget(evaluations=len(KINDS)), Full(), 9, storage, Grid(1)).run(
        objective(storage), executor=executor, keep=None
    )
    assert len(study.trials) == len(KINDS), f"budget: {len(study.trials)} of {len(KINDS)} trials were run"
    for trial in study.trials:
        _check_trial(trial)
        assert trial.state != "paused", f"failures: trial {trial.index} ({trial.config['kind']}) did not end"


def _check_trial(trial: TrialRecord) -> None:
    """Check that the log says of a trial what the objective did."""
    kind, shown = trial.config["kind"], f"trial {trial.index} ({trial.config['kind']})"
    for law in ("order:", "files:"):
        assert law not in trial.message, f"{trial.message[trial.message.index(law) :]}; seen by {shown}"
    assert list(trial.readings) == list(range(1, trial.step + 1)), f"readings: {shown} has some missing"
    for step, reading in trial.readings.items():
        assert reading.value == value_at(trial.config["x"], step), f"readings: {shown} has another value at {step}"
        assert reading.cost == step / 2, f"readings: {shown} has another cost at {step}"
        expected = {"seed": trial.seed, "arm": trial.arm, "replicate": trial.replicate}
        assert reading.metrics == expected, f"readings: {shown} was run as {dict(reading.metrics)}, not as {expected}"
    ends = {"raises": ("failed", 1), "exits": ("failed", 1), "nan": ("failed", 1), "ends": ("finished", 2)}
    state, last = ends.get(kind, ("finished", 9))
    assert trial.step <= last, f"failures: {shown} went on to step {trial.step}"
    assert trial.state in ("paused", state), f"failures: {shown} is {trial.state} at step {trial.step}"
    if trial.state != "paused":
        assert trial.step == last, f"failures: {shown} is {trial.state} at step {trial.step}"
    if trial.state == "failed":
        words = "nan" if kind == "nan" else "at the second step"
        assert words in trial.message, f"failures: the message of {shown} is {trial.message!r}"


def check_returning(executor: Executor) -> None:
    """An objective that returns once gives one reading a trial."""
    study = _study(Budget(evaluations=10), Full(), None, None).run(returning, executor=executor)
    for trial in study.trials:
        values = [reading.value for reading in trial.readings.values()]
        assert (trial.state, values) == ("finished", [trial.config["x"]]), f"readings: {values} of {trial.config}"
    assert len(study.trials) == 10, f"budget: {len(study.trials)} of 10 evaluations were made"


def check_deadline(executor: Executor, folder: Path, objective: type[Ticking] = Ticking) -> None:
    """Check that running trials end with the time of the budget: in the log and in fact."""
    notes = folder / objective.__name__
    notes.mkdir(exist_ok=True)
    study = _study(Budget(seconds=0.8), Full(), 1000, None).run(objective(notes), executor=executor)
    assert study.spent["seconds"] <= 0.8, f"budget: {study.spent['seconds']} of 0.8 seconds were spent"
    states = {trial.state for trial in study.trials}
    assert states == {"stopped"}, f"deadline: the trials are {states} at the end of the budget's time"
    after = _sizes(notes)
    time.sleep(0.1)
    assert _sizes(notes) == after, "deadline: the objective still runs after the study has ended"


def forgetful(trial: Trial) -> Iterator[float]:
    """An objective without files: it can only start from the beginning."""
    assert not trial.start, f"files: a trial without files was resumed at step {trial.start}"
    step = 0
    while True:
        step += 1
        yield trial.config["x"] + 1 / step


def forgetful_function(trial: Trial) -> None:
    """The same as a function, which reports its steps."""
    for reading in forgetful(trial):
        trial.report(reading)


def check_without_files(executor: Executor, folder: Path, objective: Objective) -> None:
    """A trial without files starts over: in a second session, and if it is a function with every grant."""
    for steps in (30, 60):
        storage = folder / f"{place_of(objective).rpartition(':')[2]}.db"
        study = _study(Budget(steps=steps), ASHA(), 9, storage).run(objective, executor=executor)
    for trial in study.trials:
        assert "files:" not in trial.message, trial.message


def check_leftovers(executor: Executor, folder: Path) -> None:
    """Check that a new study does not find the files of a deleted one of the same name."""
    storage = folder / "again.db"
    for _ in range(2):
        study = _study(Budget(steps=20), Full(), 5, storage).run(Watching(storage), executor=executor, keep=None)
        for trial in study.trials:
            assert "files:" not in trial.message, trial.message
        del study
        for file in folder.glob("again.db*"):
            if file.is_file():
                file.unlink()


EXECUTOR_LAWS: dict[str, Callable[[Executor, Path], None]] = {
    "steps of a generator": lambda executor, folder: check_steps(executor, folder, Watching, 120),
    "kinds of a generator": lambda executor, folder: check_each_kind(executor, folder, Watching),
    "steps of a function": lambda executor, folder: check_steps(executor, folder, WatchingFunction, 60),
    "kinds of a function": lambda executor, folder: check_each_kind(executor, folder, WatchingFunction),
    "one value": lambda executor, folder: check_returning(executor),
    "generator without files": lambda executor, folder: check_without_files(executor, folder, forgetful),
    "function without files": lambda executor, folder: check_without_files(executor, folder, forgetful_function),
    "leftovers": check_leftovers,
    "deadline of a generator": lambda executor, folder: check_deadline(executor, folder, Ticking),
    "deadline of a function": lambda executor, folder: check_deadline(executor, folder, TickingFunction),
}


def _sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def _study(
    budget: Budget, scheduler: Scheduler, max_resource: int | None, storage: Path | None, sampler: Sampler | None = None
) -> Study:
    method = compose(sampler or Random(), scheduler)
    return Study(SPACE, budget=budget, method=method, max_resource=max_resource, storage=storage)
