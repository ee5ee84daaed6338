"""Broken methods, and logs that no method may leave behind: each is refused, by the law that it breaks."""

import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from shoestring import Budget, compose
from shoestring.core.decisions import Continue, Replicate, Start, Wait
from shoestring.core.events import Budgeted, Closed, Granted, Reported
from shoestring.core.randomness import generator
from shoestring.samplers import Random
from shoestring.schedulers import ASHA
from shoestring.testing import check_method
from shoestring.testing.laws import (
    PROBLEM,
    check_budget_law,
    check_failures_are_kept,
    check_no_duplicates,
    check_reasons,
    check_survives_json,
    played,
)

GOOD = compose(Random(), ASHA())


class Good:
    def decide(self, history, rng):
        return GOOD.decide(history, rng)


class StateInItself(Good):
    def __init__(self):
        self.turn = 0

    def decide(self, history, rng):
        self.turn += 1
        return super().decide(history, generator(0, self.turn, "mutant"))


class KeepsItsGenerator(Good):
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def decide(self, history, rng):
        return super().decide(history, self.rng)


class SpawnsAStream(Good):
    """A generator kept with the history is a stream too: without the cache it starts from the beginning."""

    def decide(self, history, rng):
        return super().decide(history, history.cached("stream", lambda: np.random.default_rng(0)))


class ReadsTheClock(Good):
    def decide(self, history, rng):
        return super().decide(history, generator(len(history.grants), int(time.time() / 86400), "mutant"))


class KnowsItsWorkers(Good):
    """A broken method: it counts how often it was asked, which the history does not say."""

    def decide(self, history, rng):
        asked = history.cached("asked", list)
        asked.append(len(history.running))
        return super().decide(history, generator(0, sum(asked), "mutant"))


class Repeats(Good):
    def decide(self, history, rng):
        return Start(1, "again", {"kind": "flat", "rate": 0.3, "width": 3})


class NoReason(Good):
    def decide(self, history, rng):
        return replace(super().decide(history, rng), reason="")


class NotInTheSpace(Good):
    def decide(self, history, rng):
        decision = super().decide(history, rng)
        return replace(decision, config={"kind": "flat"}) if isinstance(decision, Start) else decision


class ContinuesWhatRuns(Good):
    def decide(self, history, rng):
        return Continue(min(history.running), 9, "faster") if history.running else super().decide(history, rng)


class TriesTheFailedAgain(Good):
    def decide(self, history, rng):
        failed = [arm.index for arm in history.arms if {trial.state for trial in arm.trials} == {"failed"}]
        return Replicate(failed[0], 1, "once more") if failed else super().decide(history, rng)


class WaitsForNothing(Good):
    def decide(self, history, rng):
        return Wait("for a sign") if len(history.trials) >= 3 else super().decide(history, rng)


class BeyondTheEnd(Good):
    def decide(self, history, rng):
        return replace(super().decide(history, rng), until=1000)


class NotWritable(Good):
    def decide(self, history, rng):
        return replace(super().decide(history, rng), explanation={"model": object()})


@dataclass(frozen=True)
class Model:
    mean: object


class UnwritableState(Good):
    def decide(self, history, rng):
        return replace(super().decide(history, rng), state=Model(np.zeros(2)))


class ChangesTheLedger(Good):
    """It lends itself a budget."""

    def decide(self, history, rng):
        history.ledger.budget = Budget(steps=200)
        return super().decide(history, rng)


class DecidesNothing(Good):
    def decide(self, history, rng):
        return None if len(history.trials) == 4 else super().decide(history, rng)


MUTANTS = {
    StateInItself: "crash anywhere|cached equals fresh",
    KeepsItsGenerator: "crash anywhere|cached equals fresh",
    SpawnsAStream: "crash anywhere|cached equals fresh",
    ReadsTheClock: "cached equals fresh",
    KnowsItsWorkers: "crash anywhere|cached equals fresh",
    Repeats: "no duplicates",
    NoReason: "possible decisions: .*reason",
    NotInTheSpace: "possible decisions: .*outside of the space",
    ContinuesWhatRuns: "possible decisions",
    TriesTheFailedAgain: "bad readings: .*granted more",
    WaitsForNothing: "possible decisions: .*nothing is running",
    BeyondTheEnd: "possible decisions: .*between steps",
    NotWritable: "stable JSON",
    UnwritableState: "possible decisions: state is",
    ChangesTheLedger: "possible decisions|pure decisions|budget law",
    DecidesNothing: "possible decisions",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_method_is_refused(mutant):
    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        check_method(mutant())


def test_the_method_that_the_mutants_are_made_of_is_accepted():
    check_method(Good())


@pytest.fixture(scope="module")
def events():
    return played(GOOD, PROBLEM)[1]


class TestLogsThatBreakALaw:
    """The checks of a log alone, on the log of a good study with one thing changed."""

    def failure(self, events, step):
        """Return where the log says that a trial failed at this step."""
        trials = {e.trial: e.config for e in events if isinstance(e, Granted) and e.config}
        return next(
            i for i, e in enumerate(events)
            if isinstance(e, Closed) and PROBLEM.failing_step(trials[e.trial]) == step
        )  # fmt: skip

    def changed(self, events, position, **changes):
        return [*events[:position], replace(events[position], **changes), *events[position + 1 :]]

    def test_a_failure_with_a_loss(self, events):
        for step in (1, 2):
            at = self.failure(events, step)
            read = Reported(events[at].at, events[at].trial, step, 0.5)
            with pytest.raises(AssertionError, match="bad readings: a failure has a loss"):
                check_failures_are_kept([*events[:at], read])

    def test_a_failure_that_is_said_to_have_finished(self, events):
        with pytest.raises(AssertionError, match=r"bad readings: .* said to have finished"):
            check_failures_are_kept(self.changed(events, self.failure(events, 1), how="finished"))

    def test_a_failure_without_a_message_or_without_a_charge(self, events):
        for change, words in (({"message": ""}, "message"), ({"steps": 0}, "charged")):
            with pytest.raises(AssertionError, match=f"bad readings: .*{words}"):
                check_failures_are_kept(self.changed(events, self.failure(events, 1), **change))

    def test_a_failure_without_a_bad_reading(self, events):
        at = next(i for i, e in enumerate(events) if isinstance(e, Reported))
        failed = Closed(events[at].at, events[at].trial, "failed", "made up", 1)
        with pytest.raises(AssertionError, match="without a bad reading"):
            check_failures_are_kept([*events[:at], failed])

    def test_a_configuration_twice(self, events):
        first, second = [i for i, e in enumerate(events) if isinstance(e, Granted) and e.config][:2]
        with pytest.raises(AssertionError, match="no duplicates"):
            check_no_duplicates(self.changed(events[: second + 1], second, config=events[first].config))

    def test_a_grant_without_a_reason(self, events):
        with pytest.raises(AssertionError, match="reasons"):
            check_reasons(self.changed(events, 1, reason=""))

    def test_an_overdrawn_budget(self, events):
        check_budget_law(events)
        with pytest.raises(AssertionError, match="budget law: steps overdrawn"):
            check_budget_law([*events, Budgeted(events[-1].at, {"steps": 149})])

    def test_an_event_that_does_not_survive_json(self, events):
        for config in ({"rate": np.float32(0.1)}, {"rate": {1, 2}}, {1: 0.5}):
            with pytest.raises(AssertionError, match="stable JSON"):
                check_survives_json(self.changed(events, 1, config=config))
