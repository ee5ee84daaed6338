"""New configurations of forecast that a second process proposes, fitted to forecast ends."""

import numpy as np
import pytest

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import Forecast
from shoestring.methods.forecast.search import _spread_out
from shoestring.methods.registry import describe, rebuild
from shoestring.testing.laws import check_cached_equals_fresh

LAST = 9
CUBE = dict.fromkeys("abcd", (0.0, 1.0))


def smooth(config, step):
    return sum(weight * (value - 0.35) ** 2 for weight, value in zip((8, 4, 1, 0.1), config.values(), strict=True))


def rounded(config, step):
    """The space has sixteen different configurations."""
    return smooth({name: round(value) for name, value in config.items()}, step) + 1 / (step + round(config["a"]))


def study_of(reading, method, seed=0, space=None, workers=1, fails=lambda config: False):
    def train(trial):
        for step in range(trial.start + 1, LAST + 1):
            if fails(trial.config):
                raise ValueError("no")
            yield reading(trial.config, step) + 1 / step

    study = ss.Study(space or CUBE, budget="180 steps", method=method, max_resource=LAST, seed=seed)
    study.run(train, executor=Simulated(workers), progress=False)
    return study


def proposed(study):
    """Of the configurations that were chosen by a model, how many are from each source."""
    rules = [(grant.state or {}).get("rule") for grant in study.history.grants if grant.config is not None]
    return rules.count("gp"), rules.count("model")


@pytest.mark.parametrize("workers", [1, 3])
def test_half_of_the_new_configurations_are_proposed_where_none_is_a_copy(workers):
    study = study_of(smooth, Forecast(), workers=workers)
    by_gp, by_pool = proposed(study)
    assert by_gp > 5
    assert abs(by_gp - by_pool) <= 2
    assert any("is the best by a Gaussian process of forecast ends" in grant.reason for grant in study.history.grants)
    check_cached_equals_fresh(Forecast(), study.events())


def test_the_share_falls_where_what_it_finds_are_copies():
    by_gp, by_pool = proposed(study_of(rounded, Forecast()))
    assert by_gp < 0.7 * by_pool


def test_smooth_ends_are_found_closer():
    def mean(by_gp):
        return (
            np.mean([study_of(smooth, Forecast(by_gp=by_gp, whole=0.0), seed).best.value for seed in range(6)])
            - 1 / LAST
        )

    assert mean(0.5) < 0.7 * mean(0.0)


def test_it_proposes_nothing_once_something_has_failed():
    study = study_of(smooth, Forecast(), fails=lambda config: config["a"] < 0.3)
    states = [trial.state for trial in study.trials]
    rules = [(grant.state or {}).get("rule") for grant in study.history.grants if grant.config is not None]
    assert "gp" not in rules[states.index("failed") + 1 :]


def test_rows_of_a_table_and_small_spaces_have_nothing_in_between():
    assert proposed(study_of(lambda config, step: config["a"], Forecast(), space={"a": list(range(40))}))[0] == 0


def test_it_is_fitted_to_the_best_half_and_to_what_is_far_apart():
    rng = np.random.default_rng(0)
    points, means = rng.random((200, 3)), rng.random(200)
    chosen = _spread_out(points, means)
    assert len(set(chosen.tolist())) == 60
    assert set(np.argsort(means)[:30].tolist()) <= set(chosen.tolist())
    assert _spread_out(points[:50], means[:50]).tolist() == list(range(50))


def test_a_log_without_the_option_has_no_second_process():
    description = {name: value for name, value in describe(Forecast()).items() if name != "by_gp"}
    assert rebuild(description) == Forecast(by_gp=0.0)
    with pytest.raises(MethodError, match="by_gp is 2"):
        Forecast(by_gp=2)
