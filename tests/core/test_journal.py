"""The journal: decided on the history as it is, appended at that position, decided again if another was first."""

from dataclasses import dataclass

import pytest

from shoestring import Budget, Reading, Study
from shoestring.core.decisions import Done, Wait
from shoestring.core.events import Adopted, Budgeted, Closed, Granted, Reported
from shoestring.core.journal import Journal
from shoestring.core.known import make_added, make_enqueued
from shoestring.core.study_clock import StudyClock
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
        found.clock = StudyClock(clock, clock)
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

    def test_a_report_that_comes_too_late_is_ignored(self):
        log, _, journal = opened()
        one, two = journal(), journal()
        one.grant()
        two.sync()
        two.close(0, "failed", "by the other")
        one.report(0, 1, 0.5)
        one.close_own(0, "failed", "too late")
        assert kinds(log) == ["granted", "closed"]
        with pytest.raises(ReadingError, match="trial 0 is failed: it has no grant to report on"):
            one.close(0, "failed", "by hand")

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
        assert one.history.deadline() is None, "nothing runs"
        one.grant()
        assert one.history.deadline() == 110.0
        clock.now = 104.0
        one.report(0, 1, 0.5)
        one.close(0, "finished")
        clock.now = 500.0
        one.grant()
        assert one.history.deadline() == 506.0, "the time between is not counted"
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


class TestClockThatIsSet:
    def journal(self, log, day, steady):
        found = Journal(log, 0, "study", named("random"))
        found.clock = StudyClock(day, steady)
        return found

    @pytest.mark.parametrize("jump", [-86400.0, 86400.0])
    def test_time_goes_on_as_if_nobody_had_set_it(self, jump):
        log, _, _ = opened(Budget(seconds=10.0))
        day, steady = Clock(1000.0), Clock(5.0)
        one = self.journal(log, day, steady)
        one.grant()
        for step in range(1, 4):
            day.now, steady.now = day.now + 1 + jump * (step == 2), steady.now + 1
            one.report(0, step, 0.5)
        assert one.history.ledger.seconds == pytest.approx(3.0)
        assert one.seconds_left() == pytest.approx(7.0)
        assert one.history.drift == pytest.approx(jump)

    def test_a_new_budget_does_not_move_the_clock(self):
        log, _, _ = opened(Budget(seconds=10.0))
        day, steady = Clock(1000.0), Clock(500.0)
        self.journal(log, day, steady).grant()
        two = self.journal(log, day, steady)
        two.change_budget(Budget(seconds=20.0))
        day.now, steady.now = 1002.0, 502.0
        assert two.seconds_left() == pytest.approx(18.0)
        two.report(0, 1, 0.5)
        assert (two.history.ledger.seconds, two.history.drift) == (pytest.approx(2.0), 0.0)

    @pytest.mark.parametrize(
        "change",
        [
            lambda other: other.change_budget(Budget(seconds=2000.0)),
            lambda other: other.put(lambda history: make_enqueued(history, {"x": 0.5})),
            lambda other: other.put(lambda history: make_added(history, {"x": 0.5}, 1.0)),
        ],
    )
    def test_what_another_process_says_does_not_move_it(self, change):
        log, _, _ = opened(Budget(seconds=1000.0))
        day, steady = Clock(1000.0), Clock(500.0)
        one, two = (self.journal(log, day, steady) for _ in range(2))
        one.grant()
        for _ in range(100):  # a long step, during which it looks every second
            day.now, steady.now = day.now + 1, steady.now + 1
            one.sync()
        change(two)
        day.now, steady.now = day.now + 1, steady.now + 1
        assert one.sync()
        one.report(0, 1, 0.5)
        assert one.history.ledger.seconds == pytest.approx(101.0)
        assert one.history.drift == 0.0

    def test_grants_that_are_decided_together_are_charged_once_for_the_time_before_them(self):
        log, clock, journal = opened(Budget(seconds=1000.0))
        one = journal()
        one.grant()
        clock.now += 30.0
        assert len(one.grants(4)) == 4
        assert [event.at for event in log.read(0, 1)] == [100.0] + [130.0] * 4
        assert one.history.ledger.seconds == 30.0
        clock.now += 5.0
        one.report(0, 1, 0.5)
        assert one.history.ledger.seconds == 35.0

    def test_grants_that_are_taken_back_do_not_move_the_clock(self):
        log, clock, journal = opened(Budget(seconds=1000.0))
        one, two = journal(), journal()
        one.grant(), two.grant()
        one.sync()
        clock.now += 30.0
        real = log.append

        def append(study, events, expect):  # the other one is first, once
            log.append = real
            two.report(1, 1, 0.5)
            real(study, events, expect)

        log.append = append
        assert len(one.grants(3)) == 3
        assert one.history.ledger.seconds == 30.0

    @pytest.mark.parametrize("jump", [-86400.0, 86400.0])
    def test_two_processes_agree_again_after_one_event(self, jump):
        log, _, _ = opened(Budget(seconds=1000.0))
        day, steady, other = Clock(1000.0), Clock(5.0), Clock(77.0)
        one, two = self.journal(log, day, steady), self.journal(log, day, other)
        one.grant(), two.grant()
        for step in range(1, 9):  # steps of 10 s, five seconds apart
            for journal in (one, two):
                for clock in (day, steady, other):
                    clock.now += 5
                day.now += jump * (step == 4 and journal is one)
                journal.report(0 if journal is one else 1, step, 0.5)
        assert one.history.ledger.seconds == pytest.approx(75.0, abs=10.0), "at most one step is counted differently"


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
        assert not list(two.trials_of_gone_workers())
        assert not two.adopt(0, 0)
        assert not list(one.trials_of_gone_workers()), "one's own trials are not those of a worker that is gone"

    def test_a_trial_whose_worker_is_gone_is_taken_over_where_its_files_are(self):
        log, _, two = self.gone()
        assert [trial.index for trial in two.trials_of_gone_workers()] == [0]
        assert two.adopt(0, 1)
        (adopted,) = log.read(0, 4)
        assert (adopted.worker, adopted.start, adopted.attempt, adopted.steps) == (two.worker, 1, 1, 0)
        assert "has died" in adopted.message
        assert two.history.ledger.steps == 3, "the step that is run again is charged again"

    def test_time_while_nobody_ran_it_is_idle(self):
        log, clock, two = self.gone(budget=Budget(seconds=10.0))
        clock.now = 1000.0
        assert two.adopt(0, 2)
        assert log.read(0, 4)[0].idle == 900.0
        assert two.history.ledger.seconds == 0.0
        assert two.history.deadline() == 1010.0

    def test_it_is_lost_if_the_budget_cannot_pay_for_running_it_again(self):
        log, _, two = self.gone(steps=5, budget="12 steps")
        assert not two.adopt(0, 0)
        assert kinds(log)[-1] == "closed"
        assert (two.history.trials[0].state, two.history.ledger.steps) == ("lost", 5)
        assert "run 5 steps again" in two.history.trials[0].message

    def test_a_trial_whose_processes_are_lost_at_the_same_step_is_lost_and_charged(self):
        log, _, two = self.gone()
        assert two.adopt(0, 2)
        two.retire()
        three = Journal(log, 0, "study", named("random"))
        assert not three.adopt(0, 2)
        trial = three.history.trials[0]
        assert (trial.state, trial.message) == ("lost", "the process that ran it was lost 2 times at step 3")
        assert three.history.ledger.steps == 3, "the step that was lost is charged"
        assert not list(three.trials_of_gone_workers())

    def test_a_reading_starts_the_count_again(self):
        log, _, _ = self.gone()
        for step in range(3, 7):
            journal = Journal(log, 0, "study", named("random"))
            assert journal.adopt(0, journal.history.trials[0].step)
            journal.report(0, step, 0.5)
            journal.retire()
        assert [event.attempt for event in log.read(0, 1) if isinstance(event, Adopted)] == [1, 1, 1, 1]

    def test_what_was_released_is_taken_over_at_once_and_counts_as_no_loss(self):
        log, clock, journal = opened(Budget(seconds=10.0))
        one, two = journal(), journal()
        one.grant()
        clock.now = 104.0
        two.sync()
        two.release(0, "by hand")
        clock.now = 200.0
        assert [trial.index for trial in two.trials_of_gone_workers()] == [0]
        assert two.adopt(0, 0)
        assert [event.attempt for event in log.read(0, 1) if isinstance(event, Adopted)] == [0]
        assert two.history.ledger.seconds == 4.0, "it was not run after it was released"
        one.report(0, 1, 0.5)
        two.report(0, 1, 0.25)
        assert two.history.trials[0].readings[1].value == 0.5, "the late report is new, so it counts"
        one.close_own(0, "failed", "not its trial any more")
        assert not one.runs(0)
        assert two.runs(0)

    def test_a_failed_attempt_is_charged_and_tried_again(self):
        log, _, journal = opened("12 steps")
        one = journal()
        one.grant()
        one.report(0, 1, 0.5)
        assert one.retry(0, 0, "ValueError: once", 1)
        assert one.history.ledger.steps == 3
        assert one.history.trials[0].attempts == 1
        assert not one.retry(0, 0, "ValueError: again", 1), "the budget cannot pay it"
        assert log.read(0, 3)[0].message == "ValueError: once"

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
        assert [trial.index for trial in journal().trials_of_gone_workers()] == [0]


class TestBudgetChange:
    def test_it_counts_for_everybody(self):
        log, _, journal = opened("9 steps")
        one, two = journal(), journal()
        one.grant()
        two.sync()
        two.change_budget(Budget(steps=18, evaluations=2))
        assert log.read(0, 2) == [Budgeted(100.0, {"steps": 18, "evaluations": 2}, two.worker)]
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
