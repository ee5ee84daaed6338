"""The recommendation of a study, against the definitions computed from all readings."""

from statistics import fmean, median

import pytest
from hypothesis import given, strategies as st

import shoestring as ss
from shoestring.core.events import Granted, Opened, Reported
from shoestring.core.history import History
from shoestring.core.recommendation import RULES, Advice, advised_best
from shoestring.errors import MethodError, StudyMismatch
from shoestring.logs.memory import MemoryLog
from shoestring.spaces.definition import as_space
from shoestring.spaces.serialisation import serialise

SPACE = {"x": (0.0, 1.0)}
# Few distinct values, so that ties are common; steps with gaps, as ask and tell gives them.
CURVES = st.dictionaries(st.integers(1, 12), st.integers(-3, 3).map(float), max_size=8)
ARMS = st.lists(st.lists(CURVES, min_size=1, max_size=3), min_size=1, max_size=5)


def history_of(arms, mode, rule, most=100):
    """A history in which the trials of each arm have the given readings, reported in turns."""
    history, trials = History(), []
    history.apply(Opened(0.0, serialise(as_space(SPACE)), {}, {"steps": 10**6}, mode, most, 0, recommend=rule))
    for arm, curves in enumerate(arms):
        for replicate, curve in enumerate(curves):
            config = None if replicate else {"x": arm / 10}
            history.apply(Granted(0.0, len(trials), arm, replicate, 0, 0, most, "r", "w", config=config))
            trials.append(sorted(curve.items()))
    for turn in range(12):
        for trial, readings in enumerate(trials):
            if turn < len(readings):
                step, value = readings[turn]
                history.apply(Reported(0.0, trial, step, value))
    return history


def judged(rule, readings):
    """The loss and the step that a rule gives to one trial, from (step, loss) pairs in order."""
    if rule == "last":
        step, loss = readings[-1]
    elif rule in ("best", "auto"):
        loss, step = min(((loss, step) for step, loss in readings), key=lambda pair: (pair[0], -pair[1]))
    elif len(readings) < 3:
        step, loss = readings[-1][0], max(loss for _, loss in readings)
    else:
        windows = [readings[i : i + 3] for i in range(len(readings) - 2)]
        medians = [(median(loss for _, loss in window), window[-1][0]) for window in windows]
        loss, step = min(medians, key=lambda pair: (pair[0], -pair[1]))
    return loss, step


def expected(arms, mode, rule):
    """(value, arm, step) by going through everything."""
    sign = -1 if mode == "max" else 1
    losses = [[sorted((s, sign * v) for s, v in curve.items()) for curve in curves] for curves in arms]
    if any(len(curves) > 1 for curves in arms):
        furthest = max((step for curves in arms for curve in curves for step in curve), default=0)
        at = [[curve[furthest] for curve in curves if furthest in curve] for curves in arms]
        found = [(sign * fmean(values), arm, furthest) for arm, values in enumerate(at) if values]
    else:
        each = [(arm, judged(rule, curves[0])) for arm, curves in enumerate(losses) if curves[0]]
        found = [(loss, arm, step) for arm, (loss, step) in each]
    return min(found, default=None, key=lambda one: (one[0], -one[2], one[1]))


@given(ARMS, st.sampled_from(["min", "max"]), st.sampled_from(RULES), st.sampled_from(RULES))
def test_the_running_recommendation_is_that_of_all_readings(arms, mode, rule, asked):
    found, want = history_of(arms, mode, rule).best(asked), expected(arms, mode, asked)
    if want is None:
        assert found is None
    else:
        value, arm, step = want
        assert (found.value, found.arm, found.step) == (pytest.approx(-value if mode == "max" else value), arm, step)
        assert found == history_of(arms, mode, asked).best(), "what the log was opened with changes nothing else"


@given(CURVES)
def test_the_median_ignores_a_single_lucky_reading(curve):
    curve = {step: value for step, value in curve.items() if step < 11}
    steady = dict.fromkeys((*curve, 11, 12, 13), 0.0)
    for lucky in steady:
        found = history_of([[{**steady, lucky: -9.0}]], "min", "median").best()
        assert found.value == 0.0


def test_of_replicates_the_trial_with_the_best_reading_has_the_checkpoint():
    best = history_of([[{1: -3.0, 2: 1.0}, {1: 0.0, 2: 0.5}, {1: -9.0}], [{2: 0.8}]], "min", "best").best()
    assert (best.arm, best.trial, best.step, best.value, best.error) == (0, 1, 2, 0.75, 0.25)


class Adviser:
    """A method that recommends one arm, and expects a loss of 5."""

    def __init__(self, arm):
        self.arm = arm

    def recommend(self, history):
        return None if self.arm is None else Advice(self.arm, 5.0)


class TestAdvice:
    arms = ([{1: 2.0}], [{1: 1.0}], [{}])

    @pytest.mark.parametrize("mode", ["min", "max"])
    def test_it_is_followed_and_the_value_stays_the_reading(self, mode):
        best = advised_best(history_of(self.arms, mode, "auto", 1), lambda: Adviser(0))
        assert (best.arm, best.trial, best.step, best.value) == (0, 0, 1, 2.0)
        assert best.expected == (5.0 if mode == "min" else -5.0)

    @pytest.mark.parametrize("method", [None, object(), Adviser(None), Adviser(2)])
    def test_without_any_the_best_reading_counts(self, method):
        best = advised_best(history_of(self.arms, "min", "auto", 1), lambda: method)
        assert (best.arm, best.value, best.expected) == (1, 1.0, None)

    @pytest.mark.parametrize("rule", ["best", "median", "last"])
    def test_other_rules_do_not_ask(self, rule):
        assert advised_best(history_of(self.arms, "min", rule, 1), lambda: Adviser(0)).arm == 1

    def test_of_several_trials_the_mean_is_known(self):
        history = history_of([[{1: 3.0}, {1: 3.0}], [{1: 1.0}]], "min", "auto", 1)
        assert advised_best(history, lambda: Adviser(0)).arm == 1

    def test_of_curves_the_best_reading_counts(self):
        assert advised_best(history_of(self.arms, "min", "auto"), lambda: Adviser(0)).arm == 1


class TestOption:
    def study(self, log, **options):
        return ss.Study(SPACE, budget="30 steps", method="random", max_resource=9, storage=log, **options)

    @pytest.mark.parametrize(("rule", "value", "step"), [("best", 0.1, 2), ("median", 0.3, 4), ("last", 0.6, 5)])
    def test_a_curve_that_turns_up(self, rule, value, step):
        study = self.study(MemoryLog(), recommend=rule)
        study.tell(study.ask(), [0.5, 0.1, 0.3, 0.4, 0.6])
        assert (study.best.value, study.best.step) == (value, step)
        assert study.history.best("last").value == 0.6

    def test_it_is_stored_and_a_stored_study_refuses_another(self, tmp_path):
        log = tmp_path / "a.db"
        study = self.study(log, recommend="last")
        study.tell(study.ask(), [0.1, 0.5])
        assert ss.Study.load(log).best.value == 0.5
        with pytest.raises(StudyMismatch, match="recommend was 'last' and is now 'median'"):
            self.study(log, recommend="median")

    @pytest.mark.parametrize("stored", RULES)
    def test_a_stored_study_keeps_its_rule_if_none_is_given(self, tmp_path, stored):
        log = tmp_path / "a.db"
        self.study(log, recommend=stored)
        assert self.study(log).history.opened.recommend == stored

    def test_unknown_rules_are_refused(self):
        with pytest.raises(MethodError, match="recommend is 'mean'"):
            self.study(MemoryLog(), recommend="mean")
        with pytest.raises(MethodError, match="recommend is 'mean'"):
            ss.tune(lambda trial: 1.0, SPACE, budget="3 evaluations", recommend="mean")
