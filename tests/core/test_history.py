"""The fold: every event that cannot have happened is refused with its reason, and the others are taken in."""

from dataclasses import replace

import pytest

from shoestring import Budget
from shoestring.core.events import Adopted, Budgeted, Closed, Granted, Opened, Reported
from shoestring.core.history import History
from shoestring.core.readings import Reading
from shoestring.errors import CorruptLog, MethodError
from shoestring.spaces.definition import as_space
from shoestring.spaces.serialisation import serialise

SPACE = serialise(as_space({"x": (0.0, 1.0)}))
OPENED = Opened(10.0, SPACE, {"class": "x"}, {"steps": 10}, "min", 9, 0)
GRANTED = Granted(11.0, 0, 0, 0, 7, 0, 3, "new", "w", config={"x": 0.5})
REPORTED = Reported(12.0, 0, 1, 0.25)


def folded(*events, **opened):
    history = History()
    for event in (replace(OPENED, **opened), *events):
        history.apply(event)
    return history


def refused(history, event, words):
    before = history.position
    with pytest.raises(CorruptLog, match=words):
        history.apply(event)
    assert history.position == before, "what was refused was counted"


class TestViolations:
    def test_a_study_is_opened_once_and_first(self):
        refused(History(), GRANTED, r"event 0 \(granted\) cannot follow: a study is opened once")
        refused(folded(), OPENED, "opened once")

    def test_an_empty_history_says_so(self):
        with pytest.raises(CorruptLog, match="the log is empty"):
            _ = History().ledger
        with pytest.raises(AttributeError, match="no 'colour'"):
            _ = History().colour

    def test_time_does_not_go_back(self):
        refused(folded(), replace(GRANTED, at=9.0), r"stamped 9\.0, before .* at 10\.0")

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"trial": 1}, "neither new nor paused"),
            ({"trial": -1}, "neither new nor paused"),
            ({"start": 1}, "cannot be granted steps 1 to 3"),
            ({"until": 0}, "cannot be granted steps 0 to 0"),
            ({"config": None}, "arm 0 must come with a configuration"),
            ({"arm": 1, "config": None}, "arm 1 must come"),
            ({"arm": 1}, "arm 1 must come"),
            ({"arm": -1, "config": None}, "arm -1 must come"),
            ({"until": 11}, "11 steps are granted and 10 are left"),
        ],
    )
    def test_grants(self, change, words):
        refused(folded(), replace(GRANTED, **change), words)

    def test_grants_of_known_trials(self):
        running = folded(GRANTED)
        again = replace(GRANTED, at=13.0, config=None, start=3, until=6)
        refused(running, again, "neither new nor paused")
        paused = folded(GRANTED, replace(REPORTED, step=3))
        refused(paused, replace(again, start=2), "cannot be granted steps 2 to 6")
        refused(paused, replace(again, config={"x": 0.5}), "exactly when it is new")
        paused.apply(again)
        assert (paused.trials[0].state, paused.trials[0].start, paused.trials[0].until) == ("running", 3, 6)

    def test_grants_that_the_other_units_cannot_pay(self):
        second = replace(GRANTED, at=11.5, trial=1, arm=1, config={"x": 0.6})
        refused(folded(GRANTED, budget={"evaluations": 1}), second, "no evaluation is left")
        refused(folded(budget={"cost": 2.0}), replace(GRANTED, reserved=2.5), r"a cost of 2\.5 is set aside and 2 is")
        late = replace(second, at=17.0)
        refused(folded(GRANTED, budget={"seconds": 5.0}), late, "6 s later and 5 s are left")

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"trial": 1}, "trial 1 is not running"),
            ({"step": 0}, "step 0 of trial 0 is outside of its grant 1 to 3"),
            ({"step": 4}, "step 4 of trial 0 is outside"),
            ({"value": float("nan")}, "not finite"),
            ({"value": float("-inf")}, "not finite"),
        ],
    )
    def test_reports(self, change, words):
        refused(folded(GRANTED), replace(REPORTED, **change), words)

    def test_reports_that_were_there_before_or_come_too_late_or_cost_too_much(self):
        refused(folded(GRANTED, REPORTED), replace(REPORTED, at=13.0), "outside of its grant 2 to 3")
        refused(folded(GRANTED, budget={"seconds": 5.0}), replace(REPORTED, at=17.0), "6 s later and 5 s are left")
        refused(folded(GRANTED, budget={"cost": 2.0}), replace(REPORTED, cost=2.5), "more than is left")

    @pytest.mark.parametrize(
        ("event", "words"),
        [
            (Closed(12.0, 1, "failed"), "trial 1 is not running"),
            (Closed(12.0, 0, "exploded"), "cannot end as 'exploded'"),
            (Closed(12.0, 0, "failed", steps=4), "4 steps cannot have been used since step 0"),
            (Closed(12.0, 0, "failed", steps=-1), "-1 steps cannot"),
            (Adopted(12.0, 1, "v", 0), "trial 1 is not running"),
            (Adopted(12.0, 0, "v", 1), "is at step 0 and cannot be taken up at 1"),
            (Adopted(12.0, 0, "v", -1), "cannot be taken up at -1"),
        ],
    )
    def test_ends_and_adoptions(self, event, words):
        refused(folded(GRANTED), event, words)

    def test_ends_and_adoptions_that_cannot_be_paid(self):
        costly = folded(replace(GRANTED, reserved=1.0), budget={"cost": 2.0})
        refused(costly, Closed(12.0, 0, "failed", cost=2.5), "more than is left")
        timed = folded(GRANTED, budget={"seconds": 5.0})
        refused(timed, Closed(17.0, 0, "failed"), "6 s later")
        refused(timed, Adopted(17.0, 0, "v", 0, idle=0.5), r"5\.5 s later")
        timed.apply(Adopted(17.0, 0, "v", 0, idle=2.0))
        assert timed.ledger.seconds == 4.0
        full = folded(GRANTED, replace(REPORTED, step=2), budget={"steps": 4})
        refused(full, Adopted(13.0, 0, "v", 0), "2 steps would be run again and 1 are left")


class TestTheFold:
    def test_a_trial_from_its_grant_to_its_end(self):
        history = folded(GRANTED)
        assert (history.ledger.committed_steps, history.ledger.evaluations, list(history.running)) == (3, 1, [0])
        history.apply(replace(REPORTED, low=0.2, metrics={"accuracy": 0.9}))
        trial = history.trials[0]
        assert trial.readings == {1: Reading(0.25, low=0.2, accuracy=0.9)}
        assert (history.ledger.steps, history.ledger.committed_steps) == (1, 2)
        history.apply(Closed(13.0, 0, "failed", "broke", 1))
        assert (trial.state, trial.message, trial.losses) == ("failed", "broke", {1: 0.25})
        assert (history.ledger.steps, history.ledger.committed_steps, history.running) == (2, 0, {})
        assert history.closings == [trial]

    def test_a_trial_pauses_at_the_end_of_its_grant_and_finishes_at_the_last_step(self):
        history = folded(GRANTED, replace(REPORTED, step=3))
        assert history.trials[0].state == "paused"
        history.apply(replace(GRANTED, at=13.0, start=3, until=9, config=None))
        history.apply(replace(REPORTED, at=14.0, step=9))
        assert history.trials[0].state == "finished"

    def test_time_counts_while_something_runs(self):
        history = folded(GRANTED, replace(REPORTED, step=3), budget={"steps": 100, "seconds": 50.0})
        assert history.ledger.seconds == 1.0
        history.apply(replace(GRANTED, at=60.0, start=3, until=6, config=None))
        assert history.ledger.seconds == 1.0, "nothing ran until then"

    def test_the_seconds_of_a_trial_are_those_of_its_steps(self):
        history = folded(GRANTED, REPORTED, replace(REPORTED, at=14.5, step=3), budget={"steps": 100})
        trial = history.trials[0]
        assert trial.seconds == 3.5
        history.apply(replace(GRANTED, at=60.0, start=3, until=9, config=None))
        history.apply(replace(REPORTED, at=61.0, step=4))
        assert trial.seconds == 4.5, "it was paused until then"
        history.apply(Adopted(70.0, 0, "v", 4))
        history.apply(replace(REPORTED, at=72.0, step=5))
        assert trial.seconds == 6.5, "the step that was lost is not counted"

    def test_cost_is_taken_from_what_was_set_aside_and_the_rest_is_released(self):
        history = folded(replace(GRANTED, reserved=3.0), budget={"cost": 10.0})
        assert history.ledger.free("cost") == 7.0
        history.apply(replace(REPORTED, cost=0.5))
        assert (history.ledger.cost, history.ledger.reserved) == (0.5, 2.0)
        history.apply(Closed(13.0, 0, "stopped", cost=1.0))
        assert (history.ledger.cost, history.ledger.reserved, history.ledger.free("cost")) == (1.5, 0.0, 8.5)

    def test_steps_that_are_run_again_are_paid_again(self):
        history = folded(GRANTED, replace(REPORTED, step=2, cost=1.5), budget={"steps": 10, "cost": 9.0})
        history.apply(Adopted(13.0, 0, "v", 0))
        assert (history.ledger.steps, history.ledger.cost, history.trials[0].worker) == (4, 3.0, "v")
        assert history.trials[0].step == 2, "what was read is not forgotten"

    def test_a_new_budget_counts_what_is_spent(self):
        history = folded(GRANTED, REPORTED, Budgeted(12.0, {"steps": 4}))
        assert history.ledger.budget == Budget(steps=4)
        assert history.remaining() == {"steps": 1}

    def test_losses_are_minimised_and_readings_are_as_given(self):
        history = folded(GRANTED, REPORTED, mode="max")
        assert history.trials[0].losses == {1: -0.25}
        assert history.trials[0].readings[1].value == history.best().value == 0.25

    def test_caches_are_made_once_and_can_be_dropped(self):
        history, made = folded(), []
        for _ in range(2):
            history.cached("key", lambda: made.append(1))
        history.drop_caches()
        history.cached("key", lambda: made.append(1))
        assert len(made) == 2


class TestBest:
    def arms(self, *losses):
        """Trials of a step each, one per given loss."""
        history = folded(budget={"steps": 1000}, max_resource=1)
        for i, loss in enumerate(losses):
            history.apply(replace(GRANTED, trial=i, arm=i, until=1, config={"x": i / 10}))
            history.apply(replace(REPORTED, at=11.0, trial=i, value=loss))
        return history

    def test_ties_go_to_the_earlier_arm(self):
        best = self.arms(0.5, 0.25, 0.25).best()
        assert (best.arm, best.trial, best.value, best.error, best.step) == (1, 1, 0.25, None, 1)
        assert self.arms().best() is None

    def test_the_trial_is_the_best_replicate_and_the_value_the_mean(self):
        history = self.arms(0.5, 0.75)
        history.apply(replace(GRANTED, trial=2, arm=0, replicate=1, until=1, config=None))
        history.apply(replace(REPORTED, at=11.0, trial=2, value=0.25))
        best = history.best()
        assert (best.arm, best.trial, best.value, best.error) == (0, 2, 0.375, 0.125)

    def test_a_trial_is_judged_by_its_best_reading_and_not_forgotten_when_it_is_trained_on(self):
        history = folded(GRANTED, replace(REPORTED, value=0.1), replace(REPORTED, at=13.0, step=3, value=0.5))
        assert (history.best().value, history.best().step) == (0.1, 1)
        assert (history.best("last").value, history.best("last").step) == (0.5, 3)
        trial = history.trials[0]
        assert [trial.loss(step) for step in (1, 2, 3, 4)] == [0.1, 0.1, 0.5, None]

    def test_unknown_rules_are_refused(self):
        with pytest.raises(MethodError, match="recommend is 'worst'; it must be one of 'best', 'median', 'last'"):
            self.arms(0.5).best("worst")
        refused(History(), replace(OPENED, recommend="worst"), "it recommends by 'worst'")
