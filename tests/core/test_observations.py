"""The arrays that models fit, against what the history says; and that catching up changes nothing."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.decisions import Continue, Replicate, Start
from shoestring.core.events import Closed
from shoestring.core.observations import Observations, observe
from shoestring.logs.memory import MemoryLog

SPACE = {"x": (0.0, 1.0), "n": (1, 4), "act": ["relu", "tanh", "gelu"]}


@dataclass(frozen=True)
class Scripted:
    """Decides at random between a new arm, another replicate and carrying on what is paused."""

    def decide(self, history, rng):
        paused = [trial.index for trial in history.trials if trial.state == "paused"]
        kind = rng.integers(3)
        if kind == 1 and paused:
            trial = int(rng.choice(paused))
            return Continue(trial, history.trials[trial].step + 2, "on")
        if kind == 2 and history.arms:
            return Replicate(int(rng.integers(len(history.arms))), int(rng.integers(1, 4)), "again")
        return Start(int(rng.integers(1, 4)), "new", history.codec.sample(rng))


def scripted_study(max_resource=9):
    """A study and its log."""
    log = MemoryLog()
    budget = ss.Budget(steps=10_000)
    return ss.Study(SPACE, budget=budget, method=Scripted(), max_resource=max_resource, storage=log), log


def finish_early(study, log, trial):
    """Report a trial whose objective has ended, as an executor does."""
    log.append(0, [Closed(study.history.now, trial, "finished")], study.history.position)


def events_of(study, log, rng, rounds):
    """Play a study with failures, early ends and up to four running trials; yield after each report."""
    open_grants = []
    for _ in range(rounds):
        open_grants.append(study.ask())
        while len(open_grants) > rng.integers(1, 4):
            grant = open_grants.pop(int(rng.integers(len(open_grants))))
            what = rng.integers(10)
            if what == 0:
                study.fail(grant, "broken")
            elif what == 1 and grant.until > grant.start + 1:
                study.tell(grant, {grant.start + 1: float(rng.integers(5))})
                finish_early(study, log, grant.trial)
            elif what < 5:
                study.tell(grant, float(rng.integers(5)))
            else:
                study.tell(grant, [float(v) for v in rng.integers(5, size=grant.until - grant.start)])
            yield


def expected_loss(arm, step):
    losses = [trial.loss(step) for trial in arm.trials if trial.state != "failed"]
    losses = [loss for loss in losses if loss is not None]
    return sum(losses) / len(losses) if losses else math.nan


def assert_right(seen, history):
    np.testing.assert_array_equal(seen.points, [history.codec.encode(arm.config) for arm in history.arms])
    np.testing.assert_array_equal(seen.failed, [all(t.state == "failed" for t in arm.trials) for arm in history.arms])
    np.testing.assert_array_equal(seen.pending, [any(t.state == "running" for t in a.trials) for a in history.arms])
    for step in (1, 3, 9):
        np.testing.assert_array_equal(seen.losses(step), [expected_loss(arm, step) for arm in history.arms])
        np.testing.assert_array_equal(seen.losses(step)[seen.reached < step], np.nan)


def test_arrays_after_every_report():
    (study, log), rng = scripted_study(), np.random.default_rng(1)
    for count, _ in enumerate(events_of(study, log, rng, 150)):
        seen = observe(study.history)
        if count % 3 == 0:  # so that some updates take in several events
            assert_right(seen, study.history)
            assert_right(Observations().update(study.history), study.history)
    assert observe(study.history).failed.any()
    assert len(study.history.trials) > len(study.history.arms)


def test_steps_beyond_those_kept():
    (study, log), rng = scripted_study(), np.random.default_rng(2)
    for _ in events_of(study, log, rng, 60):
        seen = observe(study.history)
        for step in range(1, 10):
            np.testing.assert_array_equal(
                seen.losses(step), [expected_loss(arm, step) for arm in study.history.arms], err_msg=str(step)
            )


def test_furthest_step_is_the_last_with_enough_losses():
    (study, log), rng = scripted_study(), np.random.default_rng(3)
    for _ in events_of(study, log, rng, 80):
        seen = observe(study.history)
        for enough in (1, 3, 10):
            counts = {s: sum(not math.isnan(expected_loss(arm, s)) for arm in study.history.arms) for s in range(1, 10)}
            reached = [s for s in {int(s) for s in seen.reached} - {0} if counts[s] >= enough]
            assert seen.furthest_step(enough) == max(reached, default=0)


def test_finished_early_keeps_its_last_loss():
    log = MemoryLog()
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", max_resource=9, storage=log)
    grant = study.ask()
    study.tell(grant, {1: 4.0, 2: 3.0})
    assert np.isnan(observe(study.history).losses(9)).all()
    finish_early(study, log, grant.trial)
    seen = observe(study.history)
    assert seen.losses(9).tolist() == [3.0]
    assert seen.losses(1).tolist() == [4.0]
    assert seen.reached.tolist() == [9]


def test_a_failure_takes_back_what_was_seen():
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(evaluations=3), method="random", max_resource=9)
    grant = study.ask()
    study.tell(grant, {1: 4.0})
    seen = observe(study.history)
    assert seen.losses(1).tolist() == [4.0]
    assert seen.pending.tolist() == [True]
    study.fail(grant, "broken")
    seen = observe(study.history)
    assert np.isnan(seen.losses(1)).all()
    assert seen.failed.tolist() == [True]
    assert seen.pending.tolist() == [False]
    assert seen.furthest_step(1) == 0


@pytest.mark.parametrize("mode", ["min", "max"])
def test_losses_are_minimised(mode):
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(evaluations=3), method="random", mode=mode)
    study.tell(study.ask(), 2.0)
    assert observe(study.history).losses(1).tolist() == [2.0 if mode == "min" else -2.0]


def test_nothing_yet():
    study = ss.Study(SPACE, budget=ss.Budget(evaluations=3), method="random")
    seen = observe(study.history)
    assert len(seen) == 0
    assert seen.losses(1).shape == (0,)
    assert seen.furthest_step(1) == 0


def test_before_an_arm_the_later_ones_are_running():
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(steps=60), method="random", max_resource=3)
    for i in range(6):
        grant = study.ask()
        if i == 4:
            study.fail(grant, "on purpose")
        else:
            study.tell(grant, [float(i)] * 3)
    whole, early = observe(study.history), observe(study.history.before(3))
    np.testing.assert_array_equal(early.losses(3), [0.0, 1.0, 2.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(early.reached, [3, 3, 3, 0, 0, 0])
    assert early.pending.tolist() == [False] * 3 + [True] * 3
    assert not early.failed.any()
    assert (early.furthest_step(3), early.furthest_step(4)) == (3, 0)
    assert whole.failed[4]
    assert not whole.pending.any()
    np.testing.assert_array_equal(whole.losses(3), [0.0, 1.0, 2.0, 3.0, np.nan, 5.0])
