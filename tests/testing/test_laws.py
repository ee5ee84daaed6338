"""The laws of the design over every sampler, scheduler, method and log; and that the suites can fail."""

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from shoestring import Study, compose, samplers, schedulers
from shoestring.core.budget import Budget
from shoestring.core.decisions import Continue, Proposal, Start
from shoestring.core.events import Granted
from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.methods import BOHB, BOSS, ParallelBOSS
from shoestring.methods.registry import described, named, names, rebuilt
from shoestring.samplers import Random
from shoestring.schedulers import (
    ASHA,
    AsyncSubSampling,
    Full,
    Hyperband,
    ModifiedSubSampling,
    SubSampling,
    SuccessiveHalving,
)
from shoestring.testing import (
    Playground,
    check_log,
    check_method,
    check_rank_based,
    check_sampler,
    check_scheduler,
    played,
)
from shoestring.testing.laws import check_budget_law, check_cached_equals_fresh

METHODS = [name for name in names() if name != "auto"]


def with_small_pool(method):
    """The laws are checked at every event with nothing cached, and all is then made anew each time."""
    if not hasattr(method, "pool"):
        return method
    return replace(method, pool=12, **({"ahead": 2, "candidates": 3} if hasattr(method, "ahead") else {}))


@pytest.mark.parametrize("name", samplers.__all__)
def test_samplers(name):
    check_sampler(getattr(samplers, name)())


@pytest.mark.parametrize("name", schedulers.__all__)
def test_schedulers(name):
    check_scheduler(getattr(schedulers, name)())


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    made = with_small_pool(named(method))
    check_method(made)
    check_rank_based(made)


@pytest.mark.parametrize(
    "scheduler",
    [
        Hyperband(overlap=False),
        Hyperband(replicate="fresh"),
        SuccessiveHalving(arms=5),
        ASHA(eta=2, min_resource=2),
        ASHA(replicate="fresh"),
        SubSampling(compare="samples"),
        SubSampling(compare="rung", replicate="resume"),
        ModifiedSubSampling(compare="samples", weights="budget"),
        ModifiedSubSampling(compare="rung", replicate="resume", overlap=False),
        AsyncSubSampling(compare="rung", replicate="resume"),
        AsyncSubSampling(compare="samples"),
    ],
    ids=repr,
)
def test_scheduler_options(scheduler):
    check_scheduler(scheduler)


@pytest.mark.parametrize(
    "method",
    [
        BOSS(rule="ss"),
        BOSS(rule="mss", compare="rung", replicate="resume"),
        BOSS(rule="sh", overlap=False),
        ParallelBOSS(compare="rung", replicate="resume"),
    ],
    ids=repr,
)
def test_method_options(method):
    check_method(method)
    check_rank_based(method)


def test_memory_log():
    log = MemoryLog()
    check_log(lambda: log)


def test_sqlite_log(tmp_path):
    check_log(lambda: open_log(tmp_path / "log.db"))


@pytest.mark.parametrize("method", METHODS)
def test_a_method_survives_its_description(method):
    made = named(method)
    assert rebuilt(json.loads(json.dumps(described(made)))) == made


PROGRAM = """
import sys
from shoestring.methods import named
from shoestring.testing import played
for event in played(named(sys.argv[1]))[1]:
    print(repr(event))
"""


@pytest.mark.parametrize("method", ["tpe", "asha-tpe", "hyperband"])
def test_the_same_log_in_another_process_with_another_hash_seed(method):
    def run(hash_seed):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, method], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout

    assert run("1") == run("2") != ""


def grants(method, **options):
    return [e for e in played(method, Playground(), **options)[1] if isinstance(e, Granted)]


def plan_of(grant):
    return (grant.trial, grant.config, grant.start, grant.until)


def test_hyperband_with_one_bracket_is_successive_halving():
    one = grants(compose(Random(), Hyperband(brackets=1)))
    assert [plan_of(g) for g in one] == [plan_of(g) for g in grants(compose(Random(), SuccessiveHalving()))]


def test_bohb_with_a_random_sampler_is_hyperband():
    assert grants(BOHB(sampler=Random())) == grants(named("hyperband"))


def test_boss_with_the_halving_rule_is_bohb():
    assert grants(BOSS(rule="sh")) == grants(BOHB())


class TestTheSuitesCanFail:
    def refuses(self, law, check, subject):
        with pytest.raises(AssertionError, match=law):
            check(subject)

    def test_hidden_state(self):
        @dataclass(frozen=True)
        class Counting:
            calls: ClassVar[list] = []

            def propose(self, history, rng):
                self.calls.append(1)
                return Proposal({"kind": "flat", "rate": 0.5 / len(self.calls), "width": 3}, "by count")

        self.refuses("crash anywhere|cached equals fresh", check_sampler, Counting())

    def test_a_cache_that_lies(self):
        class Lying:
            def propose(self, history, rng):
                seen = history.cached("lie", list)
                seen.append(1)
                return Proposal(
                    {"kind": "flat", "rate": 1 / (1 + len(seen) + len(history.arms)), "width": 2}, "by cache"
                )

        self.refuses("crash anywhere|cached equals fresh", check_sampler, Lying())

    def test_values_instead_of_ranks(self):
        class Absolute:
            def next(self, history, may_start=True):
                for trial in history.trials:
                    if trial.state == "paused" and trial.step < 9 and trial.losses[trial.step] < 0.8:
                        return Continue(trial.index, 9, "below a fixed number")
                return Start(1, "new")

        self.refuses("order-free", check_scheduler, Absolute())

    def test_no_reason(self):
        class Silent:
            def decide(self, history, rng):
                return Start(1, "", history.codec.sample(rng))

        self.refuses("no reason", check_method, Silent())

    def test_duplicates(self):
        class Repeating:
            def decide(self, history, rng):
                return Start(1, "again", {"kind": "flat", "rate": 0.3, "width": 3})

        self.refuses("duplicates", check_method, Repeating())

    def test_a_log_that_takes_everything(self):
        class Careless(MemoryLog):
            def append(self, study, events, expect):
                self._events[study].extend(events)

        log = Careless()
        self.refuses("taken", check_log, lambda: log)


def test_full_is_the_scheduler_of_methods_that_only_sample():
    assert isinstance(named("tpe").scheduler, Full)


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
            events = log.read(0, 0)
            check_budget_law(events)
            assert study.verify(method).ok, study.verify(method).difference
            check_cached_equals_fresh(method, events)
