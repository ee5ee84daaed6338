"""Broken executors, each of which the contract suite must refuse, by the law that it breaks.

They are made of the executor that runs trials in this process: some change the objective that it is given, some
what it reports.
"""

import math
import shutil
import threading
from collections import deque
from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace

import pytest

from shoestring.core.readings import Reading
from shoestring.executors import Inline
from shoestring.testing import check_executor
from shoestring.testing.executors import check_deadline, check_leftovers


@dataclass(frozen=True)
class Good:
    """Runs trials in this process. Mutants change what they say here and nothing else."""

    alive: int = 64

    def open(self, objective, directory):
        def steps(trial):
            given = objective(self.trial(trial))
            return self.steps(given) if hasattr(given, "__next__") else self.returned(given)

        session = Inline(self.alive).open(steps, directory)
        return Session(session, self, directory)

    def trial(self, trial):
        return trial

    def steps(self, generator):
        return generator

    def returned(self, value):
        return value

    def reports(self, reports):
        return reports

    def resume_from(self, session, trial, step):
        return session.resume_from(trial, step)


class Session:
    def __init__(self, session, executor, directory):
        self._session, self._executor, self._directory = session, executor, directory

    def __getattr__(self, name):
        return getattr(self._session, name)

    def resume_from(self, trial, step):
        return self._executor.resume_from(self._session, trial, step)

    def collect(self, until):
        return self._executor.reports(self._session.collect(until))


class StartsTheNextStepEarly(Good):
    """While a reading is on its way to the log the next step is already running."""

    def steps(self, generator):
        held = next(generator)
        for reading in generator:
            yield held
            held = reading
        yield held


class DropsAReading(Good):
    def reports(self, reports):
        return [r for r in reports if r.step != 2 or r.how != "reading"]


class ReportsTwice(Good):
    def reports(self, reports):
        return [r for report in reports for r in (report, report)]


class CountsFromZero(Good):
    def reports(self, reports):
        return [r._replace(step=r.step - 1) for r in reports]


class OffByOneInTheReading(Good):
    """Each step is given the reading of the one before."""

    def steps(self, generator):
        last = None
        for reading in generator:
            yield last or reading
            last = reading


class SwallowsExceptions(Good):
    def reports(self, reports):
        return [r._replace(how="reading", reading=1.0) if r.how == "failed" else r for r in reports]


class EndsInsteadOfFailing(Good):
    def reports(self, reports):
        return [r._replace(how="finished") if r.how == "failed" and r.step > 1 else r for r in reports]


class LosesTheMessage(Good):
    def reports(self, reports):
        return [r._replace(message="it failed") if r.how == "failed" else r for r in reports]


class NanBecomesZero(Good):
    def steps(self, generator):
        for reading in generator:
            yield Reading(0.0, **reading.metrics) if math.isnan(getattr(reading, "value", 0.0)) else reading


class EarlyEndIsAFailure(Good):
    def reports(self, reports):
        return [r._replace(how="failed", message="it ended") if r.how == "finished" else r for r in reports]


class ForgetsMetricsAndCost(Good):
    def reports(self, reports):
        return [r._replace(reading=getattr(r.reading, "value", r.reading)) for r in reports]


class OtherSeed(Good):
    def trial(self, trial):
        trial.arm += 1
        return trial


class RoundsTheConfiguration(Good):
    def trial(self, trial):
        trial.config["x"] = round(trial.config["x"], 3)
        return trial


class RunsItAgain(Good):
    """It could go on from the files, and starts over."""

    alive: int = 1

    def resume_from(self, session, trial, step):
        return 0


class LosesTheFilesOfPausedTrials(Good):
    def open(self, objective, directory):
        shutil.rmtree(directory, ignore_errors=True)
        return super().open(objective, directory)

    def resume_from(self, session, trial, step):
        return step


class OneFolderForAll(Good):
    def trial(self, trial):
        shared = trial.directory.parents[1] / "shared"
        shared.mkdir(exist_ok=True)
        return SimpleNamespace(
            config=trial.config, seed=trial.seed, start=trial.start, arm=trial.arm, replicate=trial.replicate,
            directory=shared,
        )  # fmt: skip


class DeletesSnapshots(Good):
    """It deletes the snapshots of a trial that has ended, also that of its recommended step."""

    def open(self, objective, directory):
        session = super().open(objective, directory)
        cancel = session.cancel

        def cancel_and_delete(trial):
            cancel(trial)
            for snapshot in (directory / f"trial-{trial}").glob("step-*"):
                shutil.rmtree(snapshot)

        session.cancel = cancel_and_delete
        return session


class OtherReturn(Good):
    def returned(self, value):
        return None if value is None else round(value, 2)


MUTANTS = {
    StartsTheNextStepEarly: "order: step 2 was started",
    DropsAReading: "readings: .* some missing|reports",
    ReportsTwice: "reports",
    CountsFromZero: "reports|readings|failures",
    OffByOneInTheReading: "readings: .* another value",
    SwallowsExceptions: "reports|failures|readings",
    EndsInsteadOfFailing: "failures",
    LosesTheMessage: "failures: the message",
    NanBecomesZero: "readings|failures",
    EarlyEndIsAFailure: "failures",
    ForgetsMetricsAndCost: "readings: .* another cost",
    OtherSeed: "readings: .* was run as",
    RoundsTheConfiguration: "readings: .* another value",
    RunsItAgain: "files: steps were run again",
    LosesTheFilesOfPausedTrials: "files|reports|failures",
    OneFolderForAll: "files: a new trial finds files",
    DeletesSnapshots: "files: trial .* kept nothing",
    OtherReturn: "readings",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_executor_is_refused(mutant):
    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        check_executor(mutant())


def test_the_executor_that_the_mutants_are_made_of_is_accepted():
    check_executor(Good())


class FilesOfAnotherStudy(Good):
    def trial(self, trial):
        work = trial.directory
        kept = work.parents[1] / f"kept-{work.parent.name}"
        kept.mkdir(exist_ok=True)
        return SimpleNamespace(
            config=trial.config, seed=trial.seed, start=trial.start, arm=trial.arm, replicate=trial.replicate,
            directory=kept,
        )  # fmt: skip


def test_an_executor_that_takes_up_the_files_of_another_study_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="files: a new trial finds files"):
        check_leftovers(FilesOfAnotherStudy(), tmp_path)


class KeepsRunning(Good):
    """A broken executor: ended trials go on in the background."""

    def open(self, objective, directory):
        def steps(trial):
            background = threading.Thread(target=lambda: deque(islice(objective(trial), 100)), daemon=True)
            background.start()
            return objective(trial)

        return super().open(steps, directory)


def test_an_executor_that_ends_nothing_is_refused(tmp_path):
    check_deadline(Good(), tmp_path)
    with pytest.raises(AssertionError, match="deadline: the objective still runs"):
        check_deadline(KeepsRunning(), tmp_path)
