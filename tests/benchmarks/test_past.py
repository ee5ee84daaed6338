"""The parts of the benchmark of past studies."""

import numpy as np
import pytest

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.kept import runs
from benchmarks.suites.past import peers, settings
from benchmarks.suites.past.families import Task, negated, past_log, stored, worst_log
from benchmarks.suites.past.settings import FOREIGN, NEGATED, NONE, PAST, drawn, given, others
from benchmarks.suites.past.tables import budget_without, measured
from shoestring.core.history import History


def curve(centre):
    def train(trial):
        for step in range(trial.start + 1, 10):
            yield abs(trial.config["x"] - centre) + 1 / step

    return train


TASKS = tuple(
    Task(
        f"task {centre}", ss.space(x=(0.0, 1.0)), 9, curve(centre), "min", lambda config, value: value,
        lambda config, centre=centre: abs(config["x"] - centre),
    )
    for centre in (0.2, 0.25, 0.3)
)  # fmt: skip


def history(events):
    found = History()
    for event in events:
        found.restore(event)
    return found


def test_a_negated_past_finds_the_worst_best():
    events = past_log(TASKS[0], 1)
    best, worst = (history(log).best("best").config["x"] for log in (events, negated(events)))
    assert abs(best - 0.2) < abs(worst - 0.2)


def test_a_log_of_the_past_is_played_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOESTRING_RUNS", str(tmp_path / "runs.jsonl"))
    logs = []
    for _ in range(2):
        past_log.cache_clear()
        runs.cache_clear()
        logs.append(past_log(TASKS[0], 7))
        monkeypatch.setattr(Task, "study", lambda *_: pytest.fail("it was played again"))
    assert logs[0] == logs[1]
    assert history(logs[1]).best("best").value == history(logs[0]).best("best").value
    runs.cache_clear()


def test_another_family_has_a_past_of_its_own(monkeypatch):
    """Its tasks are not those that are left out."""
    monkeypatch.setattr(settings, "yahpo_lcbench", lambda: TASKS[1:])
    storage = given(TASKS[:1], TASKS[0], FOREIGN, 0)["past"]
    assert len(storage.studies()) == 2


def test_a_past_of_the_worst_tenth_has_only_bad_results():
    ends = [abs(trial.config["x"] - 0.2) for trial in history(worst_log(TASKS[0], 1)).trials]
    assert len(ends) == 20
    assert min(ends) > 0.6


def test_the_task_itself_is_never_in_its_past():
    for seed in range(5):
        for task in TASKS:
            assert task not in others(TASKS, task, seed, None)
            assert len(others(TASKS, task, seed, 1)) == 1
    assert len(drawn(TASKS, 0, 2)) == 2


def test_a_past_is_given_as_a_storage():
    assert given(TASKS, TASKS[0], NONE, 0) == {}
    for setting in (PAST[3], NEGATED):
        storage = given(TASKS, TASKS[0], setting, 0)["past"]
        assert len(storage.studies()) == 2
    assert stored([]).studies() == []


def test_regrets_are_means_over_the_tasks_of_a_seed(monkeypatch):
    monkeypatch.delenv("SHOESTRING_RUNS", raising=False)
    found = measured("test", TASKS, (NONE, PAST[0]), (2, 4), Options(2, quick=True))
    assert found.keys() == {(setting, n) for setting in (NONE, PAST[0]) for n in (2, 4)}
    assert all(len(values) == 2 and min(values) > 0 for values in found.values())


@pytest.mark.parametrize(("target", "budget"), [(0.4, 2), (0.3, 4**0.5 * 2**0.5), (0.2, 4), (0.01, 4)])
def test_the_budget_without_a_past(target, budget):
    found = {(NONE, 2): [0.4, 0.4], (NONE, 4): [0.1, 0.3]}
    assert np.isclose(budget_without(found, target), budget)


def test_a_past_as_a_table_has_the_best_errors_so_far():
    study = TASKS[0].study(4, 0)
    table = peers._as_table(study.history, 9)
    assert len(table["configs"]) == len(table["errors"]) == len(study.trials)
    for trial, errors in zip(study.trials, table["errors"], strict=True):
        assert len(errors) == 9
        assert errors == sorted(errors, reverse=True)
        assert errors[trial.step - 1] == errors[-1] == min(trial.losses.values())


def test_a_peer_pays_for_every_epoch_once():
    readings = peers._Readings(_Falling(), 2)
    assert readings.train({"x": 1.0}, 3) == [8.0, 7.0, 6.0]
    assert readings.train({"x": 1.0}, 4) == [8.0, 7.0, 6.0, 5.0]
    with pytest.raises(peers._Spent):
        readings.train({"x": 2.0}, 4)
    assert readings.found == [5.0, 5.0]


class _Falling:
    max_resource = 4
    objective = type("objective", (), {"reading": staticmethod(lambda config, step: 9.0 * config["x"] - step)})
