"""Ask and tell from several objects, threads and processes: the budget is exact, and nothing is lost or doubled."""

import subprocess
import sys
import threading
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.core.composition import compose
from shoestring.core.decisions import Proposal
from shoestring.core.events import Granted, Reported
from shoestring.errors import ReadingError
from shoestring.logs import MemoryLog
from shoestring.logs.sqlite import SqliteLog
from shoestring.samplers import Random
from shoestring.schedulers import Full
from shoestring.testing.laws import check_budget_law

PROGRAM = Path(__file__).parents[1] / "programs" / "threads.py"
SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def storage(request, tmp_path):
    if request.param == "memory":
        return MemoryLog()
    return request.getfixturevalue("database") if request.param == "postgres" else str(tmp_path / "a.db")


def in_threads(number, work):
    """Run ``work`` in several threads at once, and raise what any of them raised."""
    failures, ready = [], threading.Barrier(number)

    def run():
        try:
            ready.wait()
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def ask_and_tell(study):
    while study.state != "finished":
        if (grant := study.ask()) is not None:
            study.tell(grant, [grant.config["x"] + 1 / step for step in range(grant.start + 1, grant.until + 1)])


def check_whole(study):
    """The log is complete, within its budget, and gives every step of every trial once."""
    events = study.events()
    check_budget_law(events)
    assert study.spent["steps"] == study.budget.steps
    readings = Counter((event.trial, event.step) for event in events if isinstance(event, Reported))
    assert set(readings.values()) == {1}
    assert sum(readings.values()) == sum(e.until - e.start for e in events if isinstance(e, Granted))
    assert study.verify().ok


def test_a_loaded_study_asks_after_another_one_has_worked(storage):
    """The study is loaded first, and its method is rebuilt only when it decides."""
    one = ss.Study(SPACE, budget="30 steps", max_resource=9, method="asha", storage=storage)
    two = ss.Study.load(storage)
    one.tell(one.ask(), 0.5)
    grant = two.ask()
    two.tell(grant, 0.25)
    assert len(one.trials) == len(two.trials) == grant.trial + 1
    assert ss.Study.load(storage).verify().ok


def test_a_method_that_looks_at_its_study_cannot_break_the_tentative_grants(tmp_path):
    class Curious(Random):
        def propose(self, history, rng):
            assert studies[0].history.position >= history.position
            return Proposal(super().propose(history, rng).config, "I looked")

    studies, method = [], compose(Curious(), Full())
    studies.append(ss.Study(SPACE, budget="9 evaluations", method="random", storage=tmp_path / "a.db"))
    studies.insert(0, ss.Study(SPACE, budget="9 evaluations", method=method, storage=tmp_path / "b.db"))
    other = ss.Study(SPACE, budget="9 evaluations", method=method, storage=tmp_path / "b.db")
    other.tell(other.ask(), 0.5)
    assert [grant.trial for grant in studies[0].ask(3)] == [1, 2, 3]
    assert len(other.trials) == 4


@pytest.mark.parametrize("method", ["asha", "forecast"])
def test_one_study_in_eight_threads(storage, method):
    study = ss.Study(SPACE, budget="60 steps", max_resource=9, method=method, storage=storage)
    in_threads(8, lambda: ask_and_tell(study))
    check_whole(study)


def test_what_a_study_says_can_be_read_while_other_threads_report(tmp_path):
    study = ss.Study(SPACE, budget="90 steps", max_resource=9, method="asha", storage=tmp_path / "a.db")
    study.tell(study.ask(), 0.5)
    reading = [study.rows, study.trials_frame, study.workers, lambda: (study.best, study.spent, study.reason)]
    looks = iter(reading * 30)

    def look():
        for one in looks:
            one()

    in_threads(3, lambda: (ask_and_tell(study), look()))
    check_whole(study)


def test_one_study_runs_in_two_threads(tmp_path):
    def train(trial):
        for step in range(trial.start + 1, 10):
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="120 steps", max_resource=9, method="asha", storage=tmp_path / "a.db")
    in_threads(2, lambda: study.run(train, progress=False))
    check_whole(study)


def test_ask_does_not_wait_for_an_objective(tmp_path):
    study = ss.Study(SPACE, budget="4 evaluations", method="random", storage=tmp_path / "a.db")
    asked = []

    def train(trial):
        thread = threading.Thread(target=lambda: asked.append(study.ask()), daemon=True)
        thread.start()
        thread.join(30)
        assert asked, "ask waits for the objective"
        study.tell(asked.pop(), 1.0)
        return trial.config["x"]

    study.run(train, progress=False)
    assert {trial.state for trial in study.trials} == {"finished"}
    assert study.spent["evaluations"] == 4


@settings(max_examples=3, deadline=None)
@given(threads=st.integers(1, 3), processes=st.integers(1, 3), steps=st.integers(20, 60), seed=st.integers(0, 99))
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_threads_of_several_processes(request, tmp_path_factory, kind, threads, processes, steps, seed):
    storage = (
        str(tmp_path_factory.mktemp("threads") / "a.db") if kind == "sqlite" else request.getfixturevalue("database")
    )
    name = f"study-{threads}-{processes}-{steps}-{seed}"
    study = ss.Study(
        SPACE, budget=f"{steps} steps", max_resource=9, method="asha", storage=storage, name=name, seed=seed
    )
    command = [sys.executable, str(PROGRAM), storage, name, str(threads)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(processes)]
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    check_whole(study)


def test_a_number_stands_for_the_last_grant_of_a_trial(storage):
    """A web service needs no grants: it keeps the number of a trial."""
    study = ss.Study(SPACE, budget="30 steps", max_resource=9, method="asha", storage=storage)
    number = study.ask().trial
    other = ss.Study.load(storage)
    other.tell(number, 0.5)
    other.tell(number, 0.5)
    with pytest.raises(ReadingError, match=r"has the reading 0\.5 and is now reported as 0\.75"):
        study.tell(number, 0.75)
    second = study.ask().trial
    other.fail(second, "out of memory")
    assert [trial.state for trial in study.trials] == ["paused", "failed"]
    with pytest.raises(ReadingError, match=r"trial 1 has ended \(failed: out of memory\)"):
        study.tell(second, 0.5)
    with pytest.raises(ReadingError, match="trial 0 is paused"):
        study.fail(number, "too late")


@pytest.mark.parametrize("number", [-1, 1, True, 2**70])
def test_a_number_that_no_trial_has_is_refused(number):
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    study.ask()
    with pytest.raises(ReadingError, match="has no trial"):
        study.tell(number, 0.5)


def test_a_study_in_memory_can_be_copied():
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    copy = deepcopy(study)
    copy.tell(copy.ask(), 0.5)
    assert (len(copy.trials), len(study.trials)) == (1, 0)


def opened_twice(storage):
    study = ss.Study(SPACE, budget="30 steps", max_resource=9, method="asha", storage=storage)
    return study, ss.Study.load(storage)


def test_a_heartbeat_by_number_renews_the_lease_of_the_process_that_asked(tmp_path):
    study, other = opened_twice(tmp_path / "a.db")
    grant = study.ask()
    worker, log = study.trials[0].worker, SqliteLog(tmp_path / "a.db")
    before = log.beats(1)[worker][0]
    other.heartbeat(grant.trial)
    assert log.beats(1)[worker][0] > before


def test_a_heartbeat_of_a_trial_that_does_not_run_is_refused(storage):
    study, other = opened_twice(storage)
    grant = study.ask()
    study.heartbeat(grant)
    study.tell(grant, 0.5)
    for given_as in (grant, grant.trial):
        with pytest.raises(ReadingError, match="trial 0 is paused: nothing of it runs"):
            other.heartbeat(given_as)
    with pytest.raises(ReadingError, match="has no trial 7"):
        other.heartbeat(7)


def test_a_heartbeat_says_that_the_trial_was_taken_over(storage):
    study, other = opened_twice(storage)
    grant = study.ask()
    study.release(grant.trial)
    assert len(other.trials) == 1  # reads the log
    assert other.ask().trial == grant.trial
    with pytest.raises(ReadingError, match="was taken over by"):
        study.heartbeat(grant)
    other.heartbeat(grant.trial)
