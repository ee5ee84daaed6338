"""Faults that people meet: poison trials, new host names, processes that hang and wake up again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.events import Adopted, Reported
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.testing.laws import check_budget_law

PROGRAM = Path(__file__).parent / "programs" / "faults.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs the signals of a Unix system")


def start(storage, objective, **environment):
    return subprocess.Popen(
        [sys.executable, PROGRAM, storage, objective],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def code_of(process):
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 9, -signal.SIGKILL), errors
    return process.returncode


def check_poisoned(storage):
    study = ss.Study.load(storage)
    assert [trial.state for trial in study.trials] == [
        "finished",
        "finished",
        "lost",
        "finished",
        "finished",
        "finished",
    ]
    assert study.trials[2].message == "the process that ran it was lost 2 times at step 1"
    assert study.spent["steps"] == 6, "the lost step is charged once"
    assert study.verify().ok
    check_budget_law(study.events())


def test_a_poison_trial_is_given_up_after_one_retry(tmp_path):
    storage = tmp_path / "a.db"
    assert [code_of(start(storage, "poison")) for _ in range(3)] == [9, 9, 0]
    check_poisoned(storage)


def test_a_poison_trial_does_not_kill_all_processes_of_a_study(tmp_path):
    storage = tmp_path / "a.db"
    processes = [start(storage, "poison") for _ in range(4)]
    assert sorted(map(code_of, processes)) == [0, 0, 9, 9]
    check_poisoned(storage)


def check_unbroken(storage):
    """Each reading is what an unbroken training would have given, once, and the files are those of the last step."""
    study = ss.Study.load(storage)
    for trial in study.trials:
        weight = trial.config["x"]
        for step in range(1, trial.step + 1):
            weight = 0.9 * weight + (trial.seed % 97) / (100 + step)
            assert trial.readings[step].value == weight
        found = checkpoint_of(f"{storage}.files/slow", trial, trial.recommended.step)
        assert f'"trained": {trial.recommended.step}' in (found / "state.json").read_text()
    readings = [(e.trial, e.step) for e in study.events() if isinstance(e, Reported)]
    assert len(readings) == len(set(readings)) == 20
    assert study.spent["steps"] == 20
    assert study.verify().ok
    return study


def test_a_run_goes_on_where_the_host_has_another_name(tmp_path):
    storage = tmp_path / "a.db"
    first = start(storage, "slow", PLACE="aaaaaaaa", PAUSE="1000")
    assert "third step" in first.stdout.readline()
    first.kill()
    code_of(first)
    assert code_of(start(storage, "slow", PLACE="bbbbbbbb")) == 0
    study = check_unbroken(storage)
    (adopted,) = [event for event in study.events() if isinstance(event, Adopted)]
    assert (adopted.start, adopted.attempt) == (2, 1)


@pytest.mark.parametrize("place", ["aaaaaaaa", "bbbbbbbb"])
def test_a_process_that_hangs_blocks_nobody_and_wakes_up_without_an_error(tmp_path, place):
    storage = tmp_path / "a.db"
    first = start(storage, "slow", PLACE="aaaaaaaa", PAUSE="0.5")
    assert "third step" in first.stdout.readline()
    first.send_signal(signal.SIGSTOP)
    assert code_of(start(storage, "slow", PLACE=place)) == 0
    check_unbroken(storage)
    first.send_signal(signal.SIGCONT)
    assert code_of(first) == 0
    check_unbroken(storage)
