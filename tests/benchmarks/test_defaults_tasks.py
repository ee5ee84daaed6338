"""The tasks of the user suite are what their modules say, and methods are compared as they should be."""

import math
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

import shoestring as ss
from benchmarks.harness import comparison, play
from benchmarks.suites.defaults import failures, smooth
from shoestring.core.randomness import generator
from shoestring.spaces.codec import Codec

FORMS = {task.name: task for task in smooth.smooth()}


def samples(task, n):
    codec, rng = Codec(task.space), generator(0, 0, "samples")
    return [codec.sample(rng) for _ in range(n)]


def curve(task, config, steps=None):
    trial = SimpleNamespace(config=config, seed=0, start=0)
    return list(islice(task.objective(trial), task.max_resource if steps is None else steps))


def early_and_late(task, step, n=150):
    """The readings of many configurations at a step and at the end."""
    curves = np.array([curve(task, config) for config in samples(task, n)])
    return curves[:, step - 1], curves[:, -1]


@pytest.mark.parametrize("name", FORMS)
def test_no_reading_is_better_than_the_end(name):
    task = FORMS[name]
    for config in samples(task, 100):
        values = curve(task, config)
        assert len(values) == 27
        assert min(values) >= values[-1] - 1e-12
        assert task.regret(values[-1]) >= 0


def test_early_readings_tell_the_end_or_mislead():
    for name, task in FORMS.items():
        early, late = early_and_late(task, 3)
        gain = late[np.argsort(early)[:15]].mean() - late.mean()  # of the tenth that looks best
        misleads = any(form in name for form in smooth.MISLEADING)
        assert (gain > -0.2) if misleads else (gain < -0.6), f"{name}: {gain}"


@pytest.mark.parametrize("form", smooth.HONEST | smooth.MISLEADING)
def test_curves_are_smooth_in_the_configuration(form):
    task = FORMS[f"hartmann 6, {form}"]
    for config in samples(task, 20):
        moved = {name: min(x + 1e-6, 1.0) for name, x in config.items()}
        assert curve(task, moved) == pytest.approx(curve(task, config), abs=1e-4)


SHARES = {
    "raises at once": 0.06, "a choice raises at once": 0.25, "nan at once": 0.08, "diverges": 0.3,
    "diverges to nan": 0.3, "a corner diverges": 0.09,
}  # fmt: skip


@pytest.mark.parametrize("task", failures.failures(), ids=lambda task: task.name)
def test_so_much_of_the_space_fails(task):
    name = task.name.rpartition(", ")[0]
    configs = samples(task, 1000)
    unsafe = [config for config in configs if not task.safe(config)]
    assert len(unsafe) / len(configs) == pytest.approx(SHARES[name], abs=0.03)
    failure = failures.FAILURES[name]
    assert all(math.isfinite(value) for config in unsafe for value in curve(task, config, failure.step - 1))
    if failure.value is None:
        with pytest.raises(FloatingPointError):
            curve(task, unsafe[0])
    else:
        assert math.isnan(curve(task, unsafe[0])[failure.step - 1])
    safe = [config for config in configs if task.safe(config)]
    assert all(curve(task, config)[-1] >= 0 for config in safe[:100])


@pytest.mark.parametrize("task", failures.failures(), ids=lambda task: task.name)
def test_what_cannot_fail_can_be_nearly_the_best(task):
    codec = Codec(task.space)
    landscape = failures.NARROW if "narrow" in task.name else failures.WIDE
    near = {**landscape.best, "rate": min(landscape.best["rate"], 0.7), "activation": 0.1}
    for place in (near, {**near, "activation": 0.6}):  # relu and gelu
        config = codec.decode([place[name] for name in codec.names])
        if landscape.activations[config["activation"]] == 0:
            assert task.safe(config)
            assert curve(task, config)[-1] < 0.002


def test_what_diverges_looks_good_before():
    task = next(task for task in failures.failures() if task.name == "diverges, narrow")
    configs = samples(task, 1000)
    early = sorted(configs, key=lambda config: curve(task, config, 3)[-1])
    share = sum(not task.safe(config) for config in early[:100]) / 100
    assert 0.3 < share < 0.9


class TestComparing:
    @pytest.fixture
    def found(self):
        tasks = [play.Task(str(i), ss.space(x=(0.0, 1.0)), 1, None, regret=lambda value: value) for i in range(4)]
        results = [[[{"seen": s + t}, {"seen": s + 2 * t + 1}] for s in (0.0, 0.5)] for t in range(4)]
        return comparison.Comparison(tasks, ["auto", "other"], results)

    def test_arrays_have_tasks_seeds_and_methods(self, found):
        values = found.array(comparison.regret_seen)
        assert values.shape == (4, 2, 2)
        assert values[3, 1].tolist() == [3.5, 7.5]
        assert found.of_tasks(slice(1, None, 2)).array(comparison.regret_seen).tolist() == values[1::2].tolist()
        assert found.of_seeds(slice(1, None, 2)).array(comparison.regret_seen).tolist() == values[:, 1::2].tolist()
        assert found.where(lambda task: task.name == "2").array(comparison.regret_seen).tolist() == values[2:3].tolist()

    def test_a_run_without_a_reading_counts_as_the_worst(self, found):
        found.results[2][0][0] = {"seen": None}
        assert found.array(comparison.regret_seen)[2, 0, 0] == 5.5

    def test_means_differences_and_ranks(self, found):
        losses = {"regret": found.array(comparison.regret_seen)}
        rows = {
            line.name: line
            for rows in (comparison.mean_rows, comparison.rank_rows, comparison.differences)
            for line in rows(found, losses, "now")
        }
        assert rows["auto, now: regret"].measured == 1.75
        assert rows["auto, now: regret"].n == 8
        assert rows["auto, now: regret"].error == pytest.approx(np.std([0.25, 1.25, 2.25, 3.25], ddof=1) / 2)
        assert rows["auto - other, now: regret"].measured == -2.5
        assert rows["auto, now: rank by regret"].measured == 1
        assert rows["other, now: rank by regret"].measured == 2
        assert rows["now: critical difference of ranks"].n == 4

    def test_the_critical_difference_is_the_published_one(self):
        """q at 5 % for 4 and 10 methods: Demšar, Statistical comparisons of classifiers (JMLR 2006), Table 5."""
        for methods, q in ((4, 2.569), (10, 3.164)):
            expected = q * math.sqrt(methods * (methods + 1) / (6 * 30))
            assert comparison.critical_difference(methods, 30) == pytest.approx(expected, abs=1e-3)
