"""The user suite: every method is paid for alike, and a result says what it must."""

import importlib
import json
import math

import pytest

import shoestring as ss
from benchmarks.harness import kept, play
from benchmarks.suites.defaults import variants

Task, Job = play.Task, play.Job
SPACE = {"x": (0.0, 1.0), "kind": ["a", "b"]}


def training(trial):
    """Falls to x until step 3, then turns up; the test value is one more. Kind b raises in the second step."""
    for step in range(1, 6):
        if trial.config["kind"] == "b" and step == 2:
            raise RuntimeError("diverged")
        value = trial.config["x"] + abs(step - 3)
        yield ss.Reading(value, test=value + 1)


def task(**options):
    return Task("bowl", ss.space(**SPACE), 5, training, **options)


@pytest.fixture(params=["ours", "Optuna"])
def outcome(request):
    def played(task, method="random", trainings=8, seed=0):
        if request.param == "ours":
            return play.played(task, method, trainings, seed)
        pytest.importorskip("optuna")
        peers = importlib.import_module("benchmarks.peers.optuna_pruning")
        return peers.played(task, "Optuna TPE", trainings, seed)

    return played


def test_a_result_says_what_was_found_and_paid(outcome):
    found = outcome(task(safe=lambda config: config["kind"] == "a"))
    curves = found["curves"]
    assert found["steps"] == 40, "a step that fails is paid for"
    assert found["arms"] == len(curves)
    assert found["failed"] == sum(len(curve) == 1 for curve in curves[:-1]) > 0, "the last one ended with the budget"
    assert found["lost"] == 2 * found["failed"]
    assert found["seen"] == min(min(curve) for curve in curves)
    assert found["seen_test"] == pytest.approx(found["seen"] + 1, abs=1e-4)
    assert found["best_test"] == pytest.approx(found["best"] + 1, abs=1e-4)
    assert found["safe"] == min(min(curve) for curve in curves if len(curve) > 1)
    assert [len(tests) for tests in found["tests"]] == [len(curve) for curve in curves]
    assert found["cpu"] >= 0
    assert json.loads(json.dumps(found)) == found


def test_modes_are_mirrored(outcome):
    def negative(trial):
        yield from (-reading.value for reading in training(trial))

    least, most = outcome(task()), outcome(Task("hill", ss.space(**SPACE), 5, negative, mode="max"))
    assert (most["seen"], most["best"]) == (-least["seen"], -least["best"])
    assert "tests" not in most


def test_nothing_but_failures_is_a_result_too(outcome):
    def hopeless(trial):
        yield math.nan

    found = outcome(Task("hopeless", ss.space(**SPACE), 5, hopeless), trainings=2)
    assert (found["seen"], found["best"], found["seen_test"], found["safe"]) == (None, None, None, None)
    assert found["lost"] == found["steps"] == found["failed"] == 10


def test_a_trial_may_end_early_and_the_budget_is_exact(outcome):
    def short(trial):
        yield from [trial.config["x"]] * 3

    found = outcome(Task("short", ss.space(**SPACE), 5, short), trainings=2)
    assert sum(map(len, found["curves"])) == found["steps"] == 10
    assert found["failed"] == 0


@pytest.mark.parametrize("peer", ["Optuna TPE + Hyperband", "Optuna TPE + SHA", "Optuna GP", "Optuna TPE"])
def test_every_peer_plays(peer):
    pytest.importorskip("optuna")
    if peer == "Optuna GP":
        pytest.importorskip("torch")
    found = Job(task(), peer, 6, 0).result()
    assert found["steps"] == 30
    pruned = [curve for curve in found["curves"][:-1] if 1 < len(curve) < 5]
    assert bool(pruned) <= ("+" in peer), "only a pruner ends a trial early"


class TestKeys:
    def test_a_change_of_ours_repeats_our_runs_and_not_those_of_a_peer(self, monkeypatch):
        pytest.importorskip("optuna")
        ours, theirs = Job(task(), "asha", 10, 0), Job(task(), "Optuna TPE", 10, 0)
        before = ours.key, theirs.key
        monkeypatch.setattr(kept, "code_version", lambda: "0.0.0+0")
        assert ours.key != before[0]
        assert theirs.key == before[1]

    def test_every_part_of_the_task_counts(self):
        jobs = [
            Job(task(), "asha", 10, 0),
            Job(task(), "auto", 10, 0),
            Job(task(), "asha", 30, 0),
            Job(task(), "asha", 10, 1),
            Job(task(version=2), "asha", 10, 0),
            Job(task(mode="max"), "asha", 10, 0),
            Job(Task("bowl", ss.space(x=(0.0, 2.0)), 5, training), "asha", 10, 0),
        ]
        assert len({job.key for job in jobs}) == len(jobs)


def test_a_variant_of_the_default_decides_otherwise_and_leaves_nothing_behind():
    problem = task()
    before = play.played(problem, "forecast", 20, 0)["curves"]
    with variants.VARIANTS["ranks alone, fitted length"].in_use():
        assert play.played(problem, "forecast", 20, 0)["curves"] != before
    assert play.played(problem, "forecast", 20, 0)["curves"] == before
