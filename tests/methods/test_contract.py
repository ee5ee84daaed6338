"""Every method holds to the contract; those that are a sampler or a scheduler alone are checked with these."""

import json
import random
from dataclasses import replace

import pytest

from shoestring import Budget, Study, compose
from shoestring.core.composition import Composed
from shoestring.core.events import Granted
from shoestring.logs.memory import MemoryLog
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named, names
from shoestring.methods.registry import describe, rebuild
from shoestring.samplers import Random
from shoestring.schedulers import ASHA, Full, Hyperband
from shoestring.testing import check_another_process, check_method, check_rank_based, played
from shoestring.testing.laws import check_budget_law, check_cached_equals_fresh

METHODS = [name for name in names() if name != "auto"]


@pytest.fixture(autouse=True)
def _short_lookahead(monkeypatch):
    """Rollout looks two readings ahead for three arms, slice sampling is short: the laws do not depend on it."""
    monkeypatch.setattr("shoestring.models.freeze_thaw_learning._BURN_IN", 1)
    monkeypatch.setattr("shoestring.methods.beliefs._SAMPLES", 2)
    monkeypatch.setattr("shoestring.methods.baselines.rollout._AHEAD", 2)
    monkeypatch.setattr("shoestring.methods.baselines.rollout._CANDIDATES", 3)


def with_small_pool(method):
    """The laws are checked with nothing cached, and a pool is rebuilt each time."""
    if not hasattr(method, "pool"):
        return method
    return replace(method, pool=12)


def is_one_component(method):
    return isinstance(method, Composed) and (method.scheduler == Full() or method.sampler == Random())


@pytest.mark.parametrize("name", [name for name in METHODS if not is_one_component(named(name))])
def test_methods(name):
    method = with_small_pool(named(name))
    check_method(method)
    check_rank_based(method)


@pytest.mark.parametrize(
    "method",
    [
        BOSS(rule="mss", compare="rung", replicate="resume"),
        BOSS(rule="sh", overlap=False),
        ParallelBOSS(compare="rung", replicate="resume"),
    ],
    ids=repr,
)
def test_options(method):
    check_method(method)
    check_rank_based(method)


def test_the_same_log_in_another_process_with_another_hash_seed():
    slow = ("boes", "freeze-thaw", "rollout", "bhpt-paper")  # left out for time
    check_another_process(*(with_small_pool(named(name)) for name in METHODS if name not in slow))


@pytest.mark.parametrize("method", METHODS)
def test_a_method_survives_its_description(method):
    made = named(method)
    assert rebuild(json.loads(json.dumps(describe(made)))) == made


def grants(method):
    return [e for e in played(method)[1] if isinstance(e, Granted)]


def test_bohb_with_a_random_sampler_is_hyperband():
    assert grants(BOHB(sampler=Random())) == grants(named("hyperband"))


def test_boss_with_the_halving_rule_is_bohb():
    assert grants(BOSS(rule="sh")) == grants(BOHB())


def test_boss_is_the_papers_rule_and_not_bohb():
    assert named("boss") == BOSS(rule="ss")
    assert named("boss-mss") == BOSS(rule="mss")
    assert grants(named("boss")) != grants(BOHB())


SPACES = {"real": {"x": (0.0, 1.0)}, "finite": {"a": [1, 2, 3, 4, 5, 6, 7]}}
FUZZED = [
    *(with_small_pool(named(name)) for name in METHODS),
    compose(Random(), ASHA(replicate="fresh")),
    compose(Random(), Hyperband(replicate="fresh")),
]


@pytest.mark.parametrize("method", FUZZED, ids=repr)
@pytest.mark.parametrize("space", SPACES)
def test_any_order_of_events_and_raised_budgets_is_decided_as_if_from_scratch(method, space):
    """Ask, tell, fail in any order, the budget cut short and raised again and again: caches never matter."""
    for seed in range(2):
        moves, log, held = random.Random(seed), MemoryLog(), []
        for budget in (14, 19, 30, 31, 47):
            study = Study(
                SPACES[space], budget=Budget(steps=budget), method=method, max_resource=9, storage=log, seed=seed
            )
            held = [grant for grant in held if study.trials[grant.trial].state == "running"]
            for _ in range(40):
                grant = study.ask() if len(held) < 3 and moves.random() < 0.6 else None
                if grant is not None:
                    held.append(grant)
                elif held:
                    grant = held.pop(moves.randrange(len(held)))
                    if moves.random() < 0.1:
                        study.fail(grant, "on purpose")
                    else:
                        study.tell(grant, [round(moves.random(), 1) for _ in range(grant.until - grant.start)])
        events = study.events()
        check_budget_law(events)
        assert study.verify(method).ok, study.verify(method).difference
        check_cached_equals_fresh(method, events)
