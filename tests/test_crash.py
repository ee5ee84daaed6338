"""Real kill -9 at random moments: what follows is what would have followed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.events import Adopted, Granted, Reported
from shoestring.objectives.trial_files import checkpoint_of
from shoestring.testing.laws import check_budget_law

PROGRAM = Path(__file__).parent / "programs" / "crash.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="killing a forked child needs a Unix system")


def run(storage, *arguments, pause="0.001"):
    """Run the program to its end; how often it was killed on the way."""
    done = subprocess.run(
        [sys.executable, PROGRAM, storage, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "CRASH_PAUSE": pause},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["kills"]


def events_of(storage):
    study = ss.Study.load(storage, "crash")
    return study, study.events()


def decisions(events):
    return [(e.trial, e.arm, e.seed, e.start, e.until, e.config, e.reason) for e in events if isinstance(e, Granted)]


def check_checkpoints(study):
    """Every trial has the files of its recommended step, whole, whatever was killed since."""
    early = 0
    for trial in study.trials:
        step = trial.recommended.step
        early += step < trial.step
        found = checkpoint_of(study.directory(best=True).parents[1], trial, step)
        state = json.loads((found / "state.json").read_text())
        assert (state["trained"], state["weight"]) == (step, trial.readings[step].value)
    assert early > 5, "hardly any trial was trained past its best reading"
    assert study.directory(best=True).is_dir()


def readings(events):
    return [(e.trial, e.step, e.value) for e in events if isinstance(e, Reported)]


def test_a_study_killed_fifty_times_is_the_study_that_was_not_killed(tmp_path):
    whole, broken = str(tmp_path / "whole.db"), str(tmp_path / "broken.db")
    assert run(whole) == 0
    # Steps are slow enough that no machine ends the study between two kills.
    assert run(broken, "--kills", 55, pause="0.015") == 55
    (_, expected), (study, events) = events_of(whole), events_of(broken)
    assert decisions(events) == decisions(expected)
    assert readings(events) == readings(expected)
    check_budget_law(events)
    assert study.spent["steps"] == 400
    assert any(isinstance(event, Adopted) for event in events), "no kill hit a running trial"
    check_checkpoints(study)


def test_four_processes_killed_again_and_again_keep_budget_and_integrity(tmp_path):
    storage = str(tmp_path / "processes.db")
    kills = run(storage, "--kills", 8, "--workers", 4, "--shortest", 0.6, "--longest", 1.2, pause="0.02")
    study, events = events_of(storage)
    assert kills >= 3
    check_budget_law(events)
    assert study.spent["steps"] == 400
    assert len(readings(events)) == len({(trial, step) for trial, step, _ in readings(events)})
    assert study.verify().ok
    for trial in study.trials:  # each reading is what an unbroken training would have given
        weight = trial.config["x"]
        for step in range(1, trial.step + 1):
            weight = 0.9 * weight + (trial.seed % 97) / (100 + step)
            assert trial.readings[step].value == weight
    check_checkpoints(study)


def front_of(study):
    return [(member.trial, member.step, member.values) for member in study.front]


def test_a_study_of_two_objectives_killed_again_and_again_has_the_same_front(tmp_path):
    whole, broken = str(tmp_path / "whole.db"), str(tmp_path / "broken.db")
    assert run(whole, "--several") == 0
    assert run(broken, "--several", "--kills", 20, pause="0.015") == 20
    (expected, before), (study, events) = events_of(whole), events_of(broken)
    assert decisions(events) == decisions(before)
    assert front_of(study) == front_of(expected)
    for member in study.front:
        state = json.loads((study.directory(member) / "state.json").read_text())
        assert (state["trained"], state["weight"]) == (member.step, member.values["weight"])


def test_sixteen_workers_on_two_objectives_lose_nothing_when_they_are_killed(tmp_path):
    storage = str(tmp_path / "sixteen.db")
    kills = run(storage, "--several", "--kills", 4, "--workers", 16, "--shortest", 2.5, "--longest", 4.0, pause="0.4")
    study, events = events_of(storage)
    assert kills >= 2
    check_budget_law(events)
    assert study.verify().ok
    assert study.spent["steps"] == 400
    points = {
        (tuple(study.history.goals.losses(reading)), trial.index, step)
        for trial in study.trials
        for step, reading in trial.readings.items()
        if trial.is_feasible(step)
    }
    beaten = {
        p for p in points for q in points if p[0] != q[0] and all(a <= b for a, b in zip(q[0], p[0], strict=True))
    }
    assert {losses for losses, _, _ in points - beaten} == {point.losses for point in study.history.front}


def test_without_checkpoints_a_trial_starts_over_and_pays(tmp_path):
    storage = str(tmp_path / "forgetful.db")
    # Steps are slow enough that no machine ends the study first: 25 lives of at most 8 steps.
    assert run(storage, "--kills", 25, "--forgetful", pause="0.01") == 25
    study, events = events_of(storage)
    check_budget_law(events)
    again, steps = 0, {}
    for event in events:
        if isinstance(event, Reported):
            steps[event.trial] = event.step
        elif isinstance(event, Adopted) and event.start == 0:
            again += steps.get(event.trial, 0)
        elif isinstance(event, Adopted):  # near the end the budget may be too small to run it again
            assert event.start == steps[event.trial]
            assert study.trials[event.trial].state == "lost"
    assert again > 0
    assert study.spent["steps"] == len(readings(events)) + again == 400
