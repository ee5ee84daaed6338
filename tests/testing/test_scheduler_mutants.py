"""Broken schedulers, each of which the contract suite must refuse, by the law that it breaks."""

import random
import time
from dataclasses import dataclass
from zlib import crc32

import pytest

from shoestring import compose
from shoestring.core.decisions import Continue, Done, Replicate, Start, Wait
from shoestring.samplers import Random
from shoestring.testing import check_rank_based, check_scheduler

RUNGS = (1, 3, 9)


def paused(history, step=None):
    return [t for t in history.trials if t.state == "paused" and step in (None, t.step)]


@dataclass(frozen=True)
class Good:
    """Promotes the best paused trial once three wait at its rung; what the mutants below are made of."""

    def next(self, history, may_start=True):
        for trial in paused(history):
            if trial.step < trial.goal:  # its grant was cut short by the budget
                return Continue(trial.index, trial.goal, "carried on to its rung")
        for step, until in ((3, 9), (1, 3)):
            waiting = paused(history, step)
            if len(waiting) >= 3 or (waiting and not may_start and not history.running):
                return Continue(self.best(waiting, step), until, "the best of its rung")
        return Start(1, "a new one") if may_start else Done("nothing left")

    def best(self, waiting, step):
        return min(waiting, key=lambda trial: (trial.losses[step], trial.index)).index


class Absolute(Good):
    def next(self, history, may_start=True):
        for trial in paused(history, 1):
            if trial.losses[1] < 0.8:
                return Continue(trial.index, 9, "below a fixed number")
        return super().next(history, may_start)


class Differences(Good):
    def best(self, waiting, step):
        return min(waiting, key=lambda trial: (trial.losses[step] > 1.0, trial.index)).index


class Products(Good):
    """A geometric mean is not free of a shift."""

    def best(self, waiting, step):
        return min(waiting, key=lambda trial: (abs(trial.losses[step] * trial.losses[1]), trial.index)).index


class ReadsTheClock(Good):
    def best(self, waiting, step):
        drawn = crc32(f"{int(time.time() / 86400)}/{waiting[-1].index}".encode())
        return waiting[drawn % len(waiting)].index


class TossesACoin(Good):
    def best(self, waiting, step):
        return random.choice(waiting).index


class StaleCache(Good):
    """The losses of a rung as they were when it was first looked at."""

    def next(self, history, may_start=True):
        waiting = history.cached("waiting", lambda: paused(history, 1))
        if len(waiting) > 2 and waiting[0].state == "paused":
            return Continue(waiting[0].index, 3, "it was there first")
        return super().next(history, may_start)


@dataclass(frozen=True, eq=False)
class Remembers(Good):
    promoted = []  # noqa: RUF012  (shared on purpose)

    def best(self, waiting, step):
        self.promoted.append(step)
        return waiting[len(self.promoted) % len(waiting)].index


class PromotesTheFailed(Good):
    def next(self, history, may_start=True):
        failed = [trial for trial in history.trials if trial.state == "failed"]
        return Continue(failed[0].index, 9, "another chance") if failed else super().next(history, may_start)


class ReplicatesTheFailed(Good):
    def next(self, history, may_start=True):
        failed = [arm for arm in history.arms if arm.trials[-1].state == "failed" and len(arm.trials) == 1]
        return Replicate(failed[0].index, 1, "another chance") if failed else super().next(history, may_start)


class IgnoresMaxResource(Good):
    def next(self, history, may_start=True):
        waiting = paused(history, 3)
        return Continue(waiting[0].index, 27, "on and on") if waiting else super().next(history, may_start)


class GoesNowhere(Good):
    """A study would end here, as if there were nothing more to do."""

    def next(self, history, may_start=True):
        waiting = paused(history, 3)
        return Continue(waiting[0].index, 3, "as far as it is") if waiting else super().next(history, may_start)


class WaitsForNothing(Good):
    def next(self, history, may_start=True):
        if len(history.trials) == 6 and len(history.readings) > 4:
            return Wait("for something to happen")
        return super().next(history, may_start)


class WaitsOnceNothingIsLeft(Good):
    def next(self, history, may_start=True):
        return super().next(history, may_start) if may_start else Wait("for a new one")


class StartsAnyway(Good):
    def next(self, history, may_start=True):
        return super().next(history, True)


class GivesUpAfterFailures(Good):
    def next(self, history, may_start=True):
        if len(history.closings) >= 8 and not history.readings:
            return Done("hopeless")
        return super().next(history, may_start)


class ForgetsThePaused(Good):
    def next(self, history, may_start=True):
        return Start(1, "a new one") if may_start else Done("nothing left")


class NoReason(Good):
    def next(self, history, may_start=True):
        return Start(1, "") if may_start else super().next(history, may_start)


class Samples(Good):
    def next(self, history, may_start=True):
        decision = super().next(history, may_start)
        if isinstance(decision, Start) and "x" in history.codec.names:
            return Start(1, "mine", config={"x": 1 / (2 + len(history.arms))})
        return decision


class ChangesTheHistory(Good):
    """It keeps in the history what it would have to keep nowhere."""

    def next(self, history, may_start=True):
        for trial in paused(history, 1):
            trial.goal = 3
        return super().next(history, may_start)


MUTANTS = {
    Absolute: "order-free",
    Differences: "order-free",
    Products: "order-free",
    ReadsTheClock: "cached equals fresh",
    TossesACoin: "crash anywhere|pure decisions|cached equals fresh",
    StaleCache: "crash anywhere|cached equals fresh",
    Remembers: "crash anywhere|cached equals fresh",
    PromotesTheFailed: "possible decisions",
    ReplicatesTheFailed: "bad readings: .* granted more",
    IgnoresMaxResource: "possible decisions: .*between steps",
    GoesNowhere: "possible decisions: .*after step",
    WaitsForNothing: "possible decisions: .*nothing is running",
    WaitsOnceNothingIsLeft: "possible decisions: .*nothing is running",
    StartsAnyway: "may_start",
    GivesUpAfterFailures: "only failures",
    ForgetsThePaused: "only failures: nothing was run to the end",
    NoReason: "reasons",
    Samples: "may_start",
    ChangesTheHistory: "pure decisions: the history",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_scheduler_is_refused(mutant):
    with pytest.raises(AssertionError, match=MUTANTS[mutant]):
        check_scheduler(mutant())


@pytest.mark.parametrize("mutant", [Absolute, Differences, Products], ids=lambda mutant: mutant.__name__)
def test_a_method_that_looks_at_values_is_not_rank_based(mutant):
    with pytest.raises(AssertionError, match="order-free"):
        check_rank_based(compose(Random(), mutant()))


def test_the_scheduler_that_the_mutants_are_made_of_is_accepted():
    check_scheduler(Good())
