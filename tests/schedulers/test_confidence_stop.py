"""The early stop by confidence: what its two rules stop and what they let go on."""

import pytest

import shoestring as ss
from shoestring.core.readings import Reading
from shoestring.errors import MethodError
from shoestring.problems import Contest, Synthetic
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


def asked(scheduler, curves, mode="min", slots=1):
    """Play given readings through a scheduler; how many steps each arm got."""
    top = max(map(len, curves))
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget=ss.Budget(steps=1000), method=ss.compose(Random(), scheduler), mode=mode,
        max_resource=top,
    )  # fmt: skip
    held = []
    while True:
        while len(held) < slots and len(study.trials) <= len(curves) and (grant := study.ask()) is not None:
            held.append(grant)
        held = [grant for grant in held if grant.trial < len(curves)]
        if not held:
            return [trial.step for trial in study.trials[: len(curves)]]
        grant = held.pop(0)
        study.tell(grant, curves[grant.trial][grant.until - 1])


def flat(value, width=0.0, steps=6):
    return [Reading(value, low=value - width, high=value + width) for _ in range(steps)]


class TestConfidenceStop:
    def test_rule_a_stops_what_cannot_win(self):
        curves = [flat(1.0), flat(2.0, 0.5), flat(2.0, 1.5), flat(0.5)]
        assert asked(ConfidenceStop(quantile=None), curves) == [6, 1, 6, 6]

    def test_rule_a_waits_for_a_complete_one(self):
        curves = [flat(1.0), flat(2.0, 0.5)]
        assert asked(ConfidenceStop(quantile=None), curves, slots=2)[1] >= 5

    def test_rule_a_in_the_other_mode(self):
        curves = [flat(1.0), flat(0.0, 0.5), flat(0.0, 1.5), flat(2.0)]
        assert asked(ConfidenceStop(quantile=None), curves, mode="max") == [6, 1, 6, 6]

    def test_rule_b_asks_for_the_best_quarter_after_three_steps(self):
        curves = [flat(float(v), 100.0) for v in (4, 3, 2, 1, 5, 6, 1.5)]
        # Alone or best so far: on to the end. Worse than the best quarter of all: stopped at step 4.
        assert asked(ConfidenceStop(), curves) == [6, 6, 6, 6, 4, 4, 6]
        assert asked(ConfidenceStop(patience=1), curves) == [6, 6, 6, 6, 2, 2, 6]

    def test_both_off_runs_everything(self):
        curves = [flat(float(v)) for v in (1, 2, 3)]
        assert asked(ConfidenceStop(bounds=False, quantile=None), curves) == [6, 6, 6]

    def test_stopped_is_for_good(self):
        """Many bad arms later the stopped one would be among the best quarter; it is not taken up again."""
        curves = [flat(1.0, 9.0), flat(1.5, 9.0), flat(2.0, 9.0)] + [flat(9.0, 90.0)] * 6
        steps = asked(ConfidenceStop(bounds=False), curves)
        assert steps[2] == 4

    def test_readings_without_bounds_are_their_own(self):
        curves = [[1.0] * 3, [2.0] * 3, [0.5] * 3]
        assert asked(ConfidenceStop(quantile=None), curves) == [3, 1, 3]

    def test_failed_and_exhausted(self):
        study = ss.Study(
            {"a": [1, 2]}, budget=ss.Budget(steps=50), method=ss.compose(Random(), ConfidenceStop()), max_resource=3
        )
        study.fail(study.ask(), "broken")
        while (grant := study.ask()) is not None:
            study.tell(grant, 1.0)
        assert study.state == "finished"
        assert sorted(trial.step for trial in study.trials) == [0, 3]

    def test_saves_steps_in_the_final_round(self):
        contest = Contest.final(BRANIN)
        for seed in range(3):
            full, stopped = (studied(contest, ss.compose(Random(), s), seed) for s in (Full(), ConfidenceStop()))
            assert len(stopped.history.arms) > 2 * len(full.history.arms)

    @pytest.mark.parametrize("options", [{"quantile": 0.0}, {"quantile": 1.5}, {"patience": -1}])
    def test_options_are_checked(self, options):
        with pytest.raises(MethodError, match=next(iter(options))):
            ConfidenceStop(**options)

    def test_needs_max_resource(self):
        with pytest.raises(MethodError, match="max_resource"):
            ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method=ss.compose(Random(), ConfidenceStop()))
