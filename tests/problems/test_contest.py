"""The contest's protocols and score."""

import math
from statistics import fmean

import pytest

import shoestring as ss
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError
from shoestring.problems import Contest, GridTable, Synthetic, contest_score, random_reference
from shoestring.samplers import Random
from shoestring.schedulers import ConfidenceStop, Full

BRANIN = Synthetic("branin")


def studied(contest, method, seed=0):
    study = ss.Study(
        contest.space, budget=contest.budget, method=method, mode=contest.mode, max_resource=contest.max_resource,
        seed=seed,
    )  # fmt: skip
    contest.play(study)
    return study


class TestProtocols:
    def test_preliminary_is_twenty_rounds_of_five(self):
        asked = []

        class Watching:
            def propose(self, history, rng):
                asked.append((len(history.readings), len(history.running)))
                return Random().propose(history, rng)

        contest = Contest.preliminary(BRANIN)
        study = ss.Study(contest.space, budget=contest.budget, method=ss.compose(Watching(), Full()))
        contest.play(study)
        assert asked == [(5 * r, i) for r in range(20) for i in range(5)]
        assert contest.result(study.history) == study.best.value

    def test_final_is_140_iterations_of_5_slots(self):
        contest = Contest.final(BRANIN)
        study = studied(contest, "random")
        assert study.spent.steps == 700
        assert sum(14 in trial.losses for trial in study.trials) == 50
        assert contest.result(study.history) == min(t.losses[14] for t in study.trials)

    def test_only_complete_configurations_count(self):
        contest = Contest(BRANIN, rounds=3, slots=2, steps=14, noise=0.1)
        study = studied(contest, ss.compose(Random(), ConfidenceStop()))
        assert study.spent.steps == 6
        assert contest.result(study.history) == math.inf

    def test_noisy_readings_choose_but_do_not_count(self):
        noisy = Synthetic("branin", noise=5.0)
        contest = Contest.preliminary(noisy)
        history = studied(contest, "random").history
        chosen = min(history.trials, key=lambda t: t.losses[1])
        assert contest.result(history) == noisy.value(chosen.config) > chosen.losses[1]

    @pytest.mark.parametrize("options", [{"rounds": 0}, {"slots": -1}, {"steps": 0}, {"noise": -1.0}])
    def test_options_are_checked(self, options):
        with pytest.raises(SpaceError, match=next(iter(options))):
            Contest(BRANIN, **options)


class TestSimulatedRewards:
    """The facts that the contest's winners published, over many trials."""

    contest = Contest.final(BRANIN)
    at = BRANIN.best_config

    def readings(self, step):
        return [self.contest.reading(self.at, step, seed) for seed in range(2000)]

    @pytest.mark.parametrize("step", [1, 5, 13])
    def test_coverage_and_balance(self, step):
        found = self.readings(step)
        assert fmean(r.low <= BRANIN.best <= r.high for r in found) == pytest.approx(0.95, abs=0.02)
        assert fmean(r.value > BRANIN.best for r in found) == pytest.approx(0.5, abs=0.05)

    def test_intervals_shrink_to_the_value(self):
        widths = [self.contest.reading(self.at, step, 3) for step in range(1, 15)]
        widths = [reading.high - reading.low for reading in widths]
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] == pytest.approx(0.0, abs=1e-9)
        assert self.contest.reading(self.at, 14, 3).value == pytest.approx(BRANIN.best)

    def test_early_order_is_right_in_95_of_100_pairs(self):
        # A problem with normal values, for which the noise was set.
        codec_free = GridTable([generator(0, i, "v").standard_normal() for i in range(400)], {"i": range(400)})
        contest = Contest.final(codec_free)
        early = [contest.reading({"i": i}, 1, seed=i).value for i in range(400)]
        late = [contest.reading({"i": i}, 14, seed=i).value for i in range(400)]
        pairs = [(i, j) for i in range(400) for j in range(i)]
        agree = fmean((early[i] < early[j]) == (late[i] < late[j]) for i, j in pairs)
        assert agree == pytest.approx(0.95, abs=0.015)


class TestScore:
    def test_the_extremes_are_dropped(self):
        assert contest_score([0.0, 6.0, 8.0, 100.0], best=10.0, reference=5.0) == pytest.approx(0.4)
        assert contest_score([6.0, 8.0], best=10.0, reference=5.0) == pytest.approx(0.4)

    def test_both_modes_and_clipping(self):
        assert contest_score([2.0], best=0.0, reference=4.0) == 0.5
        assert contest_score([9.0], best=0.0, reference=4.0) == 0.0
        assert contest_score([-1.0], best=0.0, reference=4.0) == 1.0

    def test_nothing_to_score(self):
        with pytest.raises(ValueError, match="no results"):
            contest_score([], 1.0, 0.0)
        with pytest.raises(ValueError, match="random search solves this"):
            contest_score([1.0], 1.0, 1.0)

    def test_reference_is_the_median_of_random_searches(self):
        # Of 1000 equally likely values, the best of 10 is in the median near the quantile 1 - .5^(1/10).
        table = GridTable(list(range(1000)), {"i": list(range(1000))})
        assert random_reference(table, evaluations=10, repeats=400) == pytest.approx(1000 * (1 - 0.5**0.1), abs=20)
