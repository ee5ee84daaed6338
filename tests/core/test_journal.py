"""The journal: decided on the history as it is, appended at that position, decided again if another was first."""

from dataclasses import dataclass

import pytest

from shoestring import Budget, Reading, Study
from shoestring.core.decisions import Done, Wait
from shoestring.core.events import Adopted, Budgeted, Closed, Granted, Reported
from shoestring.core.journal import Journal
from shoestring.errors import BudgetError, CorruptLog, MethodError, ReadingError
from shoestring.logs.memory import MemoryLog
from shoestring.methods import named


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self):
        return self.now


def opened(budget="30 steps", method="random", max_resource=9):
    """A log with a new study, and a way to open journals on it that share a clock."""
    log, clock = MemoryLog(), Clock(100.0)
    Study({"x": (0.0, 1.0)}, budget=budget, method=method, max_resource=max_resource, storage=log)

    def journal():
        found = Journal(log, 0, "study", named(method))
        found.clock = clock
        return found

    return log, clock, journal


def kinds(log):
    return [event.kind for event in log.read(0, 1)]


class TestConflict:
    def test_who_comes_second_decides_again_on_what_the_first_appended(self):
        log, _, journal = opened()
        one, two = journal(), journal()
        assert (one.grant().trial, two.grant().trial) == (0, 1)
        assert two.history.position == 3, "the second read what the first appended"
        assert one.history.position == 2
        one.report(0, 1, 0.5)
        two.report(1, 1, 0.25)
        assert kinds(log) == ["granted", "granted", "reported", "reported"]

    def test_a_report_that_another_made_impossible_is_refused(self):
        log, _, journal = opened()
        one, two = journal(), journal()
        one.grant()
        two.sync()
        two.close(0, "failed", "by the other")
        with pytest.raises(ReadingError, match="trial 0 is failed: it has no grant to report on"):
            one.report(0, 1, 0.5)
        assert kinds(log) == ["granted", "closed"]

    def test_waiting_ends_when_another_frees_the_budget(self):
        _, _, journal = opened("9 steps")
        one, two = journal(), journal()
        one.grant()
        assert isinstance(two.grant(), Wait)
        one.close(0, "failed", "at once")
        assert isinstance(two.grant(), Granted)

    def test_what_is_appended_is_checked_before(self):
        log, _, journal = opened()
        one = journal()
        one.grant()
        with pytest.raises(CorruptLog, match="outside of its grant"):
            one.report(0, 10, 0.5)
        assert kinds(log) == ["granted"]

    def test_a_log_that_makes_no_sense_is_an_error_that_names_the_event(self):
        log, _, journal = opened()
        log.append(0, [Granted(0.0, None, 0, 0, 0, 0, 9, "r", "w", config={})], 1)
        with pytest.raises(CorruptLog, match=r"event 1 \(granted\)"):
            journal()


class TestDeadline:
    def test_it_follows_from_what_was_spent_while_something_ran(self):
        _, clock, journal = opened(Budget(seconds=10.0))
        one = journal()
        assert one.deadline() is None, "nothing runs"
        one.grant()
        assert one.deadline() == 110.0
        clock.now = 104.0
        one.report(0, 1, 0.5)
        one.close(0, "finished")
        clock.now = 500.0
        one.grant()
        assert one.deadline() == 506.0, "the time between is nobody's"
        assert one.history.ledger.seconds == 4.0

    def test_no_event_is_stamped_after_it(self):
        log, clock, journal = opened(Budget(seconds=10.0))
        one = journal()
        one.grant()
        clock.now = 200.0
        assert isinstance(one.grant(), Wait)
        one.report(0, 1, 0.5)
        closed = log.read(0, 2)[0]
        assert isinstance(closed, Closed)
        assert (closed.at, closed.how, closed.steps) == (110.0, "stopped", 1)
        assert isinstance(one.grant(), Done)
        assert one.history.ledger.seconds == 10.0

    def test_a_clock_that_goes_back_stamps_as_late_as_the_event_before(self):
        log, clock, journal = opened()
        one = journal()
        one.grant()
        clock.now = 50.0
        one.report(0, 1, 0.5)
        assert [event.at for event in log.read(0, 1)] == [100.0, 100.0]


class TestReport:
    def test_a_bad_reading_ends_the_trial_and_is_charged(self):
        log, _, journal = opened(Budget(cost=9.0, steps=30))
        one = journal()
        one.grant()
        one.report(0, 1, 0.5)
        one.report(0, 2, Reading(float("nan"), cost=2.0))
        closed = log.read(0, 3)[0]
        assert (closed.how, closed.steps, closed.cost) == ("failed", 1, 2.0)
        assert "nan" in closed.message

    def test_a_reading_that_costs_too_much_is_charged_with_what_was_left(self):
        log, _, journal = opened(Budget(cost=3.0), max_resource=1)
        one = journal()
        one.grant()
        one.report(0, 1, Reading(0.5, cost=5.0))
        closed = log.read(0, 2)[0]
        assert (closed.how, closed.cost) == ("stopped", 3.0)
        assert one.history.ledger.free("cost") == 0.0


class TestAdoption:
    def gone(self, steps=2, budget="30 steps"):
        """A study whose only worker has run some steps and is gone."""
        log, clock, journal = opened(budget)
        one = journal()
        one.grant()
        for step in range(1, steps + 1):
            one.report(0, step, 0.5)
        one.retire()
        return log, clock, journal()

    def test_what_a_living_worker_holds_is_left_alone(self):
        _, _, journal = opened()
        one, two = journal(), journal()
        one.grant()
        two.sync()
        assert not list(two.orphans())
        assert not two.adopt(0, 0)
        assert not list(one.orphans()), "one's own trials are no orphans"

    def test_a_trial_whose_worker_is_gone_is_taken_over_where_its_files_are(self):
        log, _, two = self.gone()
        assert [trial.index for trial in two.orphans()] == [0]
        assert two.adopt(0, 1)
        assert log.read(0, 4) == [Adopted(100.0, 0, two.worker, 1)]
        assert two.history.ledger.steps == 3, "the step that is run again is charged again"

    def test_time_while_nobody_ran_it_is_idle(self):
        log, clock, two = self.gone(budget=Budget(seconds=10.0))
        clock.now = 1000.0
        assert two.adopt(0, 2)
        assert log.read(0, 4)[0].idle == 900.0
        assert two.history.ledger.seconds == 0.0
        assert two.deadline() == 1010.0

    def test_it_is_lost_if_the_budget_cannot_pay_for_running_it_again(self):
        log, _, two = self.gone(steps=5, budget="12 steps")
        assert not two.adopt(0, 0)
        assert kinds(log)[-2:] == ["adopted", "closed"]
        assert (two.history.trials[0].state, two.history.ledger.steps) == ("lost", 5)
        assert "run 5 steps again" in two.history.trials[0].message

    def test_only_one_takes_it_over(self):
        log, _, two = self.gone()
        three = Journal(log, 0, "study", named("random"))
        assert two.adopt(0, 2)
        assert not three.adopt(0, 2)

    def test_a_journal_that_is_dropped_lets_go(self):
        _, _, journal = opened()
        one = journal()
        one.grant()
        del one
        assert [trial.index for trial in journal().orphans()] == [0]


class TestBudgetChange:
    def test_it_counts_for_everybody(self):
        log, _, journal = opened("9 steps")
        one, two = journal(), journal()
        one.grant()
        two.sync()
        two.change_budget(Budget(steps=18, evaluations=2))
        assert log.read(0, 2) == [Budgeted(100.0, {"steps": 18, "evaluations": 2})]
        assert one.grant().until == 9

    def test_it_cannot_be_less_than_what_is_spent_or_promised(self):
        log, _, journal = opened("30 steps")
        one = journal()
        one.grant()
        one.report(0, 1, 0.5)
        with pytest.raises(BudgetError, match="already spent or committed 9 steps"):
            one.change_budget(Budget(steps=8))
        one.change_budget(Budget(steps=9))
        assert [type(event) for event in log.read(0, 1)] == [Granted, Reported, Budgeted]


def test_without_a_method_nothing_is_granted():
    log, _, _ = opened()
    with pytest.raises(MethodError, match="has no method"):
        Journal(log, 0, "study", None).grant()


def test_the_files_of_a_study_lie_in_a_folder_of_its_name():
    log, _, journal = opened()
    assert journal().files() == log.directory() / "study"
