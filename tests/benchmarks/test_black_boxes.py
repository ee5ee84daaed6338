"""The black boxes of the user suite: functions that fail in places, and what counts as a lost task."""

import pytest

from benchmarks.suites.defaults import black_boxes, failing_functions as failing
from shoestring.samplers import Random


@pytest.mark.parametrize("task", failing.failing_functions(), ids=lambda task: task.name)
def test_a_part_fails_but_not_the_optimum(task):
    assert 0.08 <= task.share <= 0.34
    assert not task.fails(task.problem.best_config)


def test_the_parts_are_the_same_in_every_process():
    shares = [round(task.share, 3) for task in failing.failing_functions()]
    failing.failing_functions.cache_clear()
    assert [round(task.share, 3) for task in failing.failing_functions()] == shares


def test_a_run_counts_what_failed():
    task = failing.failing_functions()[0]
    found = black_boxes._ours(task, "random", 0)
    assert 5 < found.failed < 40
    assert found.best > task.problem.best
    assert found.cpu > 0


def test_a_task_is_lost_if_another_of_our_methods_solves_it():
    by_method = {name: [0.0, 0.2, 0.04, 1.0] for name in black_boxes.OURS} | {"auto": [0.0, 0.0, 0.04, 0.9]}
    assert black_boxes._lost({**by_method, "tpe": [0.6, 0.4, 0.5, 1.0]}) == 2
    assert black_boxes._lost(by_method) == 0


def test_cost_is_measured_without_the_first_batch():
    assert len(black_boxes.batches(Random(), 10, 5, 3)) == 3
