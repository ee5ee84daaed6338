"""The black boxes of the user suite: functions that fail in places or are noisy, and what counts as a lost task."""

import numpy as np
import pytest

from benchmarks.suites.defaults import black_boxes, failing_functions as failing, noisy
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


class TestNoisyFunctions:
    def test_a_trial_of_any_method_has_the_same_noise_as_a_share_of_the_spread(self):
        function = noisy.noisy_functions()[0]
        config = dict.fromkeys((f"x{i}" for i in range(1, 8)), 0.3)
        assert function.value(config) == function.regret(config) == function.best == 0
        drawn = [function.reading(config, 0.5, seed, trial) for seed in range(20) for trial in range(20)]
        assert drawn[21] == function.reading(config, 0.5, 1, 1) != drawn[20]
        assert 0.4 < np.std(drawn) / function.spread < 0.6

    def test_losses_are_of_the_function_and_bounds_are_counted_after_the_design(self):
        function = noisy.noisy_functions()[1]
        corner, best = {"x1": -5.0, "x2": 15.0}, {"x1": np.pi, "x2": 2.275}
        configs = [best] * noisy.STARTUP + [corner, best]
        found = noisy._found(function, configs, corner, best, cpu=1.0)
        assert found.best == pytest.approx(function.regret(corner))
        assert (found.luckiest, found.tried) == pytest.approx((0, 0), abs=1e-5)
        assert found.on_bounds == 1
