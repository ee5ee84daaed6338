"""Grants decided together are those decided one after another, even if another process gets in between."""

from contextlib import nullcontext
from copy import deepcopy
from dataclasses import fields, replace

import pytest

import shoestring as ss
from shoestring.core.events import Granted
from shoestring.core.history import History
from shoestring.errors import MethodError
from shoestring.logs import MemoryLog
from shoestring.samplers import surrogate
from shoestring.testing import Playground
from shoestring.testing.laws import check_budget_law

METHODS = ("random", "tpe", "gp", "asha", "hyperband", "bohb", "pboss", "forecast", "bhpt")
PROBLEM = Playground(failing=0.2)


def study_of(method, storage=None, budget="70 steps"):
    return ss.Study(PROBLEM.space, budget=budget, method=method, max_resource=9, storage=storage, seed=3)


def tell(study, grant):
    try:
        study.tell(
            grant, [PROBLEM.reading(grant.config, s, grant.seed) for s in range(grant.start + 1, grant.until + 1)]
        )
    except RuntimeError as error:
        study.fail(grant, error)


def decided(study):
    """The grants of a log, without who asked and when."""
    return [replace(e, at=0.0, drift=0.0, worker="") for e in study.events() if isinstance(e, Granted)]


def facts(history):
    """All that a history says, as plain values."""
    trials = [[getattr(trial, part.name) for part in fields(trial)] for trial in history.trials]
    arms = [(arm.config, [trial.index for trial in arm.trials]) for arm in history.arms]
    rest = history.position, history.now, history.drift, history.ledger, history.grants, list(history.running)
    return deepcopy((trials, arms, rest, history.granted_after, history.queue, history.given, history.arm_of))


class Interrupted(MemoryLog):
    """A log to which another process appends first, at the second append of several grants."""

    def __init__(self):
        super().__init__()
        self.batches = 0
        self.first = None

    def append(self, study, events, expect):
        self.batches += len(events) > 1
        if self.batches == 2 and self.first is not None:
            first, self.first = self.first, None
            first()
        super().append(study, events, expect)


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_is_what_as_many_calls_would_give(method):
    together, alone = study_of(method), study_of(method)
    while True:
        grants = together.ask(4)
        singles = [grant for _ in range(4) if (grant := alone.ask()) is not None]
        assert grants == singles
        if not grants:
            break
        for grant in grants:
            tell(together, grant)
            tell(alone, grant)
    assert together.state == alone.state == "finished"
    assert decided(together) == decided(alone)
    assert together.verify().ok
    check_budget_law(together.events())


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_that_comes_second_is_taken_back_and_decided_again(method):
    log = Interrupted()
    study = study_of(method, log)
    other = ss.Study.load(log)
    for grant in (first := study.ask(3))[1:]:
        tell(study, grant)
    assert len(other.trials) == 3
    log.first = lambda: tell(other, first[0])
    grants = study.ask(3)
    assert log.first is None, "no other process came first"
    again = History()
    for event in study.events():
        again.apply(event)
    assert facts(study.history) == facts(again)
    assert len({grant.trial for grant in grants}) == len(grants)
    assert study.verify().ok


def test_tentative_grants_are_taken_back_if_a_decision_fails(monkeypatch):
    study = study_of("asha")
    first = study.ask(2)
    tell(study, first[0])
    study.enqueue({**first[0].config, "rate": 0.5})
    real, before = type(study._journal.method).decide, facts(study.history)

    def decide(method, history, rng):
        if len(history.running) > 2:
            raise MethodError("no more")
        return real(method, history, rng)

    monkeypatch.setattr(type(study._journal.method), "decide", decide)
    with pytest.raises(MethodError, match="no more"):
        study.ask(4)
    assert facts(study.history) == before
    monkeypatch.undo()
    assert len(study.ask(4)) == 4


def test_a_batch_is_appended_at_once_and_ends_with_the_budget():
    log = Interrupted()
    study = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=log)
    assert [grant.trial for grant in study.ask(3)] == [0, 1, 2]
    assert [grant.trial for grant in study.ask(3)] == [3, 4]
    assert (log.batches, study.ask(3), study.state) == (2, [], "waiting")


def test_a_batch_fits_a_model_once(monkeypatch):
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget="60 evaluations", method="gp")
    for grant in study.ask(16):
        study.tell(grant, grant.config["x"] ** 2 + grant.config["y"])
    fits, real = [], surrogate._base
    monkeypatch.setattr(surrogate, "_base", lambda *given: (fits.append(given[3:]), real(*given))[1])
    assert len({tuple(grant.config.values()) for grant in study.ask(8)}) == 8
    assert len(fits) == len(set(fits)) <= 2, "each of the two kinds of process that it uses is fitted once"


def test_after_a_conflict_processes_decide_under_the_advisory_lock():
    turns = []

    class Polite(MemoryLog):
        def advisory_lock(self, study):
            turns.append(study)
            return nullcontext()

    log = Polite()
    one = study_of("asha", log)
    two = ss.Study.load(log)
    one.ask()
    assert turns == []
    assert two._journal.history.position == 1, "the second knows nothing of the first's grant"
    two.ask()
    assert turns == [0], "its first attempt was a conflict, its second one waited for its turn"
    assert one.verify().ok


@pytest.mark.parametrize("n", [0, -1, True, 1.0, "2"])
def test_a_number_of_grants_that_cannot_be_is_refused(n):
    with pytest.raises(MethodError, match="a whole number from 1"):
        study_of("random").ask(n)
