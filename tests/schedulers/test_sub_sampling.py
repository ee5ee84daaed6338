"""Sub-sampling: its formulas against brute force, the paper's schedule and table, records, replicates."""

import math
import statistics
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from benchmarks.suites.sub_sampling.bandit import Bandit, BanditProblem, play_rounds
from shoestring import compose
from shoestring.core.decisions import Replicate, Start
from shoestring.core.history import TrialRecord
from shoestring.errors import MethodError
from shoestring.executors import Simulated
from shoestring.methods import BOSS, ParallelBOSS
from shoestring.models import sub_sampling as maths
from shoestring.samplers import Grid, Random
from shoestring.schedulers import AsyncSubSampling, ModifiedSubSampling, SubSampling, SuccessiveHalving
from shoestring.schedulers.async_sub_sampling import _Table
from shoestring.schedulers.evaluations import Record, leader_of
from shoestring.schedulers.modified_sub_sampling import potentials
from shoestring.schedulers.rungs import ladder, waits_at
from shoestring.schedulers.sub_sampling import with_potential
from shoestring.testing import Playground, played

NUMBERS = st.floats(-10, 10).map(lambda x: round(x, 3))
WEIGHTED = st.lists(st.tuples(NUMBERS, st.floats(0.1, 9)), min_size=1, max_size=12)


def slow_window_means(pairs, length):
    windows = [pairs[j : j + length] for j in range(len(pairs) - length + 1)]
    return [sum(y * w for y, w in window) / sum(w for _, w in window) for window in windows]


def taken(evaluations, compare="evaluations", weights="equal"):
    """A record of (loss, budget, samples)."""
    record = Record(compare, weights)
    for loss, budget, samples in evaluations:
        record.take(loss, budget, samples)
    return record


def a_trial(losses, state="paused"):
    made = TrialRecord(0, 0, 0, 0, {}, "", 0, max(losses, default=1), 0.0, state=state, step=max(losses, default=0))
    made.losses.update(losses)
    made.readings.update({step: ss.Reading(loss) for step, loss in losses.items()})
    return made


class TestFormulas:
    @given(WEIGHTED, st.integers(1, 12))
    def test_window_means(self, pairs, length):
        length = min(length, len(pairs))
        values, weights = zip(*pairs, strict=True)
        series = maths.Series()
        series.extend(values, weights)
        expected = slow_window_means(pairs, length)
        assert series.window_means(length) == pytest.approx(expected, abs=1e-9)
        assert series.largest_window_mean(length) == pytest.approx(max(expected), abs=1e-9)
        assert series.mean() == pytest.approx(slow_window_means(pairs, len(pairs))[0], abs=1e-9)

    @given(st.lists(st.lists(NUMBERS, max_size=9), min_size=1, max_size=6))
    def test_a_series_does_not_depend_on_how_it_came_in(self, parts):
        at_once, in_parts = maths.Series(), maths.Series()
        at_once.extend([y for part in parts for y in part])
        for part in parts:
            in_parts.extend(part)
        assert len(at_once) == len(in_parts)
        for length in range(1, len(at_once) + 1):
            assert (at_once.window_means(length) == in_parts.window_means(length)).all()

    def test_a_leader_with_fewer_observations_is_taken_whole(self):
        assert taken([(1.0, 1, ()), (3.0, 3, ())]).worst_stretch(5, 0) == 2.0

    def test_equal_means_are_equal_whatever_the_rounding(self):
        """4.876 − 1.0 is not 2 · 1.938 in floating point."""
        records = [taken([(y, 1, ()) for y in ys]) for ys in ([1.938, 1.938], [1.0, 1.938, 1.938])]
        assert with_potential(records) == [0]

    @given(st.integers(1, 6), st.integers(1, 6), NUMBERS, NUMBERS, st.floats(0, 4))
    def test_more_potential(self, own, leaders, mean, worst, q):
        expected = own < leaders and (own < q or (q <= own and mean <= worst))
        assert maths.has_potential(own, mean, leaders, worst, q) == expected

    @given(st.lists(st.lists(NUMBERS, min_size=1, max_size=5), min_size=1, max_size=6), st.sampled_from([0, 0.1, 2]))
    def test_who_has_potential_and_how_much(self, arms, beta):
        """Section 4 and V_k of section 7, written out."""
        records = [taken([(y, 1, ()) for y in ys]) for ys in arms]
        means = [sum(ys) / len(ys) for ys in arms]
        leader = min(range(len(arms)), key=lambda k: (-len(arms[k]), means[k]))
        n = sum(map(len, arms))
        q = math.sqrt(math.log(n)) if n > 1 else 0.0
        worst = [max(slow_window_means([(y, 1.0) for y in arms[leader]], len(ys))) for ys in arms]
        low, high = np.percentile([y for ys in arms for y in ys], [25, 75])
        scale = high - low or 1.0
        assert leader_of(records).values == arms[leader]
        expected = [(m - w) / scale - beta * max(0, q - len(ys)) for m, w, ys in zip(means, worst, arms, strict=True)]
        assert potentials(records, beta) == pytest.approx(expected, abs=1e-6)
        near = any(0 < abs(m - w) < 1e-9 for m, w in zip(means, worst, strict=True))
        chosen = [
            k for k, ys in enumerate(arms) if len(ys) < len(arms[leader]) and (len(ys) < q or means[k] <= worst[k])
        ]
        assert near or with_potential(records) == (chosen or [leader])

    def test_weights(self):
        evaluations = [(4.0, 1, ()), (1.0, 3, ())]
        assert taken(evaluations).mean == 2.5
        assert taken(evaluations, weights="budget").mean == (4 + 3) / 4
        assert taken(evaluations, weights="inverse-variance").mean == (4 + 3) / 4  # it grows with the budget
        record = Record(weights="inverse-variance")
        record.take(4.0, 1, reading=ss.Reading(4.0, low=2.0, high=6.0))
        record.take(1.0, 3, reading=ss.Reading(1.0, low=0.0, high=2.0))
        assert record.mean == pytest.approx((4 / 4 + 1 / 1) / (1 / 4 + 1 / 1))

    def test_samples_are_counted_one_by_one(self):
        record = taken([(2.0, 2, [1.0, 3.0]), (5.0, 4, [4.0, 5.0, 5.0, 6.0])], compare="samples")
        assert (record.count, record.mean) == (6, 4.0)
        assert record.worst_stretch(2, 0) == 5.5

    def test_on_a_rung_as_many_replicates_are_compared_as_the_other_has_there(self):
        leader, one, two = (Record("rung") for _ in range(3))
        for index, losses in enumerate([{1: 5.0}, {1: 1.0, 3: 2.0}, {1: 3.0, 3: 4.0, 9: 0.0}]):
            trial = a_trial(losses)
            trial.index = index
            leader.add(trial, max(losses))
        one.add(a_trial({1: 7.0}), 1)
        for index, loss in enumerate([6.0, 6.5]):
            trial = a_trial({1: loss})
            trial.index = index
            two.add(trial, 1)
        alone, both = leader.worst_stretch(*one.extent()), leader.worst_stretch(*two.extent())
        assert (alone, both) == (5.0, 3.0)
        values = potentials([leader, one, two], 0.0)
        assert values[1] / values[2] == pytest.approx((7.0 - alone) / (6.25 - both))


class TestSchedule:
    @pytest.mark.parametrize("arms", [27, 28, 54, 81])
    def test_without_noise_the_literal_rounds_are_those_of_the_readings(self, arms):
        play = play_rounds(Bandit(arms, 1e-9, seed=5), SubSampling(), 1, 3**10)
        assert [len(round_) for round_ in play.rounds] == [arms, 1, arms - 1, 1, arms - 1, 1, 1, 1, 1, 1]
        assert play.lowest_mean() == play.bandit.best

    def test_budgets_are_those_of_algorithm_4(self):
        play = play_rounds(Bandit(5, 0.1, seed=0), SubSampling(), 2, 2 * 3**4)
        budgets = [play.budgets[sum(map(len, play.rounds[:r]))] for r in range(len(play.rounds))]
        assert budgets == [2, 18, 54, 162]

    @pytest.mark.parametrize(
        ("scheduler", "rule"),
        [
            (SuccessiveHalving(arms=12, replicate="fresh"), SuccessiveHalving(replicate="fresh")),
            (SubSampling(arms=12), SubSampling()),
            (SubSampling(arms=12, weights="budget"), SubSampling(weights="budget")),
            (SubSampling(arms=12, compare="samples"), SubSampling(compare="samples")),
            (ModifiedSubSampling(arms=12), ModifiedSubSampling()),
            (ModifiedSubSampling(arms=12, compare="samples"), ModifiedSubSampling(compare="samples")),
        ],
        ids=lambda value: type(value).__name__,
    )
    @pytest.mark.parametrize("seed", range(3))
    def test_the_benchmarks_loop_and_a_study_choose_the_same(self, scheduler, rule, seed):
        bandit = Bandit(12, 0.5, seed)
        problem = BanditProblem(bandit, single_samples=rule.record().compare == "samples")
        study = ss.Study(
            problem.space, budget="100000 steps", method=compose(Grid(12), scheduler), max_resource=81, seed=seed
        )
        study.run(problem, executor=Simulated(1))
        play = play_rounds(bandit, rule, 1, 81)
        assert [trial.config["arm"] for trial in study.trials] == play.arms
        assert [trial.until for trial in study.trials] == play.budgets
        assert study.spent["steps"] == play.total


class TestTable1:
    """Scaled down, with wide bars; ``benchmarks/sub_sampling.py --table 1`` has the narrow ones."""

    def share(self, runs, play, winner, arms=27, sigma=1.0):
        hits = 0
        for seed in range(runs):
            bandit = Bandit(arms, sigma, seed)
            hits += winner(play(bandit)) == bandit.best
        return hits / runs

    def test_the_arms_are_permuted(self):
        assert len({Bandit(27, 1.0, seed).best for seed in range(20)}) > 8

    @pytest.mark.parametrize(("sigma", "low", "high"), [(0.01, 0.95, 1.0), (0.1, 0.5, 0.95), (1.0, 0.0, 0.4)])
    def test_halving_is_misled_by_noise(self, sigma, low, high):
        def play(bandit):
            return play_rounds(bandit, SuccessiveHalving(), 1, 27)

        assert low <= self.share(80, play, lambda play: play.last_winner(), sigma=sigma) <= high

    def test_sub_sampling_by_samples_is_not(self):
        def play(bandit):
            return play_rounds(bandit, SubSampling(compare="samples"), 1, 3**9)

        assert self.share(12, play, lambda play: play.lowest_mean()) >= 0.8

    def test_sub_sampling_by_evaluations_lies_between(self):
        def play(bandit):
            return play_rounds(bandit, SubSampling(weights="budget"), 1, 3**14)

        assert self.share(40, play, lambda play: play.lowest_mean()) >= 0.6


class TestRecords:
    @pytest.mark.parametrize("compare", ["evaluations", "samples", "rung"])
    def test_what_happens_later_changes_no_record(self, compare):
        trial = a_trial({1: 3.0, 2: 2.0, 3: 1.0})
        record = Record(compare)
        record.add(trial, 3)
        before = record.mean, record.count, record.at(3), record.worst_stretch(*record.extent())
        trial.losses.update({4: 9.0, 5: 9.0})
        trial.step = 5
        assert (record.mean, record.count, record.at(3), record.worst_stretch(*record.extent())) == before
        assert record.at(4) == []

    def test_a_resumed_trial_adds_only_its_new_samples(self):
        trial = a_trial({step: float(step) for step in range(1, 10)})
        record = Record("samples")
        record.add(trial, 3)
        record.add(trial, 9, start=3)
        assert (record.count, record.mean) == (9, 5.0)

    def test_a_failed_arm_neither_leads_nor_has_potential(self):
        records = [taken([(0.0, 1, ())]), taken([(1.0, 1, ())]), taken([(2.0, 1, ()), (2.0, 9, ())])]
        records[0].fail()
        assert leader_of(records) is records[2]
        assert potentials(records, 0.1)[0] == math.inf
        assert with_potential(records) == [1]
        for record in records:
            record.fail()
        assert with_potential(records) == []
        assert potentials(records, 0.1) == [math.inf] * 3


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    compare=st.sampled_from(["evaluations", "samples", "rung"]),
    replicate=st.sampled_from(["fresh", "resume"]),
    beta=st.sampled_from([0.0, 0.1, 3.0]),
    order=st.lists(st.tuples(st.integers(0, 5), st.sampled_from("tttttf")), min_size=20, max_size=60),
)
def test_asynchronous_sub_sampling_is_its_slow_form(seed, compare, replicate, beta, order):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = AsyncSubSampling(beta=beta, compare=compare, replicate=replicate)
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget="100000 steps", method=compose(Random(), scheduler), max_resource=27, seed=seed
    )
    held = []
    rungs = ladder(1, 27, 3)
    for which, what in order:
        while len(held) < 4:
            history = study.history
            table = _Table(rungs, scheduler).update(history)
            values = table.potentials(beta)
            assert values[: len(history.arms)].tolist() == potentials(table.records, beta)
            for level in range(len(rungs) - 1):
                assert table.promotable(level, values, anyone=False) == slow_promotable(
                    table, history, level, potentials(table.records, beta)
                )
            held.append(study.ask())
        grant = held.pop(which % len(held))
        if what == "f":
            study.fail(grant, "broke")
        else:
            study.tell(
                grant, [round(grant.config["x"] + 1 / step, 1) for step in range(grant.start + 1, grant.until + 1)]
            )


def slow_promotable(table, history, level, values):
    reached = sorted(np.flatnonzero(table._reached[level]).tolist(), key=lambda arm: (values[arm], arm))
    for rank, arm in enumerate(reached[: int(len(reached) / 3)]):
        if waits_at(history.arms[arm], table.rungs[level], table.options.replicate):
            return arm, rank, len(reached)
    return None


class TestReplicates:
    def spent(self, scheduler, budget="10000 steps"):
        space = {"arm": (0, 8)}
        study = ss.Study(space, budget=budget, method=compose(Grid(12), scheduler), max_resource=9)
        while (grant := study.ask()) is not None:
            study.tell(grant, [grant.config["arm"] + 1 / step for step in range(grant.start + 1, grant.until + 1)])
        return study

    def test_resuming_is_charged_only_the_increment(self):
        resumed = self.spent(ModifiedSubSampling(arms=9, replicate="resume", compare="rung"))
        assert resumed.spent["steps"] == 9 * 1 + 3 * 2 + 1 * 6
        assert len(resumed.trials) == 9

    def test_a_fresh_start_is_charged_in_full(self):
        fresh = self.spent(ModifiedSubSampling(arms=9))
        assert fresh.spent["steps"] == 9 * 1 + 3 * 3 + 1 * 9
        assert len(fresh.trials) == 13
        assert sorted(trial.replicate for trial in fresh.trials if trial.arm == fresh.best.arm) == [0, 1, 2]
        assert len({trial.seed for trial in fresh.trials}) == 13

    @pytest.mark.parametrize(
        "made",
        [
            lambda **options: SubSampling(**options),
            lambda **options: ModifiedSubSampling(**options),
            lambda **options: AsyncSubSampling(**options),
            lambda **options: BOSS(rule="ss", **options),
            lambda **options: BOSS(rule="mss", **options),
            lambda **options: ParallelBOSS(**options),
        ],
    )
    def test_averaging_over_one_initialisation_warns(self, made):
        with pytest.warns(UserWarning, match="one initialisation"):
            made(replicate="resume")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made(replicate="resume", compare="rung")
            made()
            BOSS(rule="sh")
            SuccessiveHalving()

    def test_unknown_options_are_named(self):
        for options in ({"weights": "heavy"}, {"replicate": "again"}, {"compare": "all"}):
            with pytest.raises(MethodError, match="it must be one of"):
                SubSampling(**options)
        with pytest.raises(MethodError, match="beta"):
            ModifiedSubSampling(beta=-1)


@dataclass(frozen=True)
class FourTimesEach:
    """Three arms, each evaluated four times."""

    def decide(self, history, rng):
        arm = next((arm for arm in history.arms if len(arm.trials) < 4), None)
        if arm is not None:
            return Replicate(arm.index, 1, "once more")
        return Start(1, "a new arm", {"x": [0.1, 0.5, 0.9][len(history.arms)]})


def test_the_best_of_noisy_arms_is_chosen_by_its_mean_and_the_error_is_shown():
    readings = {0.1: [0.0, 9.0, 9.0, 9.0], 0.5: [2.0, 3.0, 4.0, 3.0], 0.9: [5.0, 5.0, 5.0, 5.0]}
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(evaluations=12), method=FourTimesEach(), max_resource=1)
    while (grant := study.ask()) is not None:
        study.tell(grant, readings[grant.config["x"]].pop(0))
    assert study.best.config == {"x": 0.5}
    assert study.best.value == 3.0
    assert study.best.error == pytest.approx(statistics.stdev([2, 3, 4, 3]) / 2)
    assert [trial.replicate for trial in study.trials] == [0, 1, 2, 3] * 3


def test_a_lucky_first_reading_does_not_win_where_arms_are_replicated():
    study, _ = played(compose(Random(), ModifiedSubSampling()), Playground(), max_resource=27)
    assert study.best.step == 27
