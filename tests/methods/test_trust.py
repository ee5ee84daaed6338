"""From which milestone on forecast trusts the order of configurations."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import Forecast
from shoestring.methods.forecast.trust import EarlyOrders, rank_correlation
from shoestring.methods.registry import describe, rebuild
from shoestring.testing.laws import check_cached_equals_fresh

LAST = 27
CUBE = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def bowl(config):
    return (config["a"] - 0.3) ** 2 + (config["b"] - 0.6) ** 2


def honest(config, step):
    return bowl(config) + 1 / step


def meaningless_first(config, step):
    """After one step the other end of the space looks good."""
    return 9 - bowl(config) if step == 1 else honest(config, step)


def study_of(reading, method="forecast", budget="270 steps", seed=0, workers=1, last=LAST):
    def train(trial):
        for step in range(trial.start + 1, last + 1):
            yield reading(trial.config, step)

    study = ss.Study(CUBE, budget=budget, method=method, max_resource=last, seed=seed)
    study.run(train, executor=Simulated(workers), progress=False)
    return study


def trusted(study, last=LAST):
    orders = EarlyOrders(last)
    orders.update(study.history)
    return orders.trusted


def first_stops(study):
    return [grant.until for grant in study.history.grants if grant.config is not None]


@pytest.mark.parametrize("values", [4, 1000])
def test_rank_correlations_are_those_of_scipy(values):
    rng = np.random.default_rng(values)
    for _ in range(20):
        pairs = rng.integers(values, size=(12, 2)).astype(float)
        assert rank_correlation([tuple(pair) for pair in pairs]) == pytest.approx(spearmanr(*pairs.T).statistic)


@pytest.mark.parametrize("pairs", [[], [(1.0, 2.0)], [(1.0, 2.0), (1.0, 3.0)]])
def test_without_two_different_losses_there_is_no_correlation(pairs):
    assert rank_correlation(pairs) == 0.0


def test_where_the_order_holds_the_first_step_is_trusted():
    study = study_of(honest)
    assert trusted(study) == (1, "")
    assert set(first_stops(study)[10:]) == {1}
    assert not any("rank correlation" in grant.reason for grant in study.history.grants)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_first_step_that_says_nothing_is_passed_over_and_the_reason_says_so(workers):
    study = study_of(meaningless_first, workers=workers)
    assert trusted(study).step == 2
    assert 1 not in first_stops(study)[10 + workers :]
    reasons = [grant.reason for grant in study.history.grants if grant.config is not None][10 + workers :]
    assert all("; after 2 steps: the order after step 1 has not predicted that after step 3" in r for r in reasons)
    check_cached_equals_fresh(Forecast(), study.events())


def test_promotions_by_rank_begin_at_the_first_milestone_that_is_trusted():
    study = study_of(meaningless_first)
    ranked = [grant.reason for grant in study.history.grants[-60:] if "ranked" in grant.reason]
    assert ranked
    assert not any(reason.endswith("reached step 1") for reason in ranked)


def test_few_configurations_weigh_less_than_what_recorded_curves_show():
    """A rank correlation of .2 among four, and then of .2 or less among many."""
    study = ss.Study(CUBE, budget="270 steps", method="forecast", max_resource=LAST)
    for place, after in enumerate([3.0, 2.0, 1.0, 4.0]):
        study.add({"a": place / 4, "b": 0.1}, [5.0 + place, after, after])
    assert trusted(study).step == 1
    for place in range(10):
        study.add({"a": place / 10, "b": 0.5}, [9.0 + place, -place, -place])
    assert trusted(study).step == 2


def test_a_short_training_has_nothing_to_pass_over():
    assert trusted(study_of(meaningless_first, last=3, budget="60 steps"), last=3).step == 1


def test_it_finds_better_than_one_that_believes_every_step():
    def mean(trust):
        method = Forecast(trust=trust)
        return np.mean([study_of(meaningless_first, method, "135 steps", seed).best.value for seed in range(6)])

    assert mean("learned") - 1 / LAST < 0.8 * (mean("blind") - 1 / LAST)


def test_a_log_without_the_option_believes_every_step():
    description = {name: value for name, value in describe(Forecast()).items() if name != "trust"}
    assert rebuild(description) == Forecast(trust="blind")
    with pytest.raises(MethodError, match="trust is 'no'"):
        Forecast(trust="no")
