"""Several objectives as methods see them: one loss for each reading, made for one decision, in all parts the same."""

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.grants import next_grant
from shoestring.core.pareto import contribution_ranks, contributions, domination_ranks
from shoestring.core.weighing import unable_part, view_for, weights
from shoestring.errors import MethodError
from shoestring.methods.forecast import readings as forecast_readings
from shoestring.methods.registry import named, names
from shoestring.models.continued_process import ContinuedProcess
from shoestring.samplers import TPE, GaussianProcess, Random
from shoestring.schedulers import ASHA

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
TWO = {"error": "min", "speed": "max"}


def train(trial):
    x, y = trial.config["x"], trial.config["y"]
    for step in range(trial.start + 1, 10):
        yield ss.Reading(x + 1 / step, error=x + 1 / step, speed=y - x, heat=x)


def study_of(**options):
    given = {"budget": "90 steps", "max_resource": 9, "method": "asha", "objectives": TWO, **options}
    return ss.tune(train, SPACE, **given)


def test_with_one_objective_a_method_sees_the_history_itself():
    history = study_of(objectives={"error": "min"}).history
    assert all(view_for(history, part) is history for part in (TPE(), GaussianProcess(), ASHA(), Random()))
    history = study_of(objectives={"error": "min"}, constraints={"heat": "<= 0.5"}).history
    assert view_for(history, GaussianProcess()) is history, "it models constraints"
    assert view_for(history, TPE()) is not history


@pytest.mark.parametrize("part", [TPE(), GaussianProcess()], ids=["ranked", "weighted"])
def test_all_parts_of_what_is_seen_agree(part):
    history = study_of(constraints={"heat": "<= 0.5"}).history
    view = view_for(history, part)
    assert view.sign == 1.0
    assert view.goals.names == ("value",)
    assert [(t.index, s) for t, s, _ in view.readings] == [(t.index, s) for t, s, _ in history.readings]
    for trial, step, loss in view.readings:
        assert trial is view.trials[trial.index]
        assert trial.losses[step] == loss
        assert trial in view.arms[trial.arm].trials
        assert history.trials[trial.index].losses[step] == history.trials[trial.index].readings[step].value
    assert all(trial is view.trials[trial.index] for trial in [*view.closings, *view.running.values()])
    assert view.lowest[2] == min(loss for _, _, loss in view.readings)


def test_ranks_are_those_of_brute_force():
    history = study_of(constraints={"heat": "<= 0.5"}).history
    view = view_for(history, TPE())
    for step in {step for _, step, _ in history.readings}:
        there = [(t.index, history.goals.losses(t.readings[step])) for t, s, _ in history.readings if s == step]
        feasible = [(index, losses) for index, losses in there if history.trials[index].is_feasible(step)]
        ranks = domination_ranks(np.array([losses for _, losses in feasible])) if feasible else []
        by_rank = [
            view.trials[index].losses[step] for index, _ in (feasible[i] for i in np.argsort(ranks, kind="stable"))
        ]
        firsts = [
            max(r for r, k in zip(by_rank, np.sort(ranks), strict=True) if k == rank) for rank in np.unique(ranks)
        ]
        nexts = [min(r for r, k in zip(by_rank, np.sort(ranks), strict=True) if k == rank) for rank in np.unique(ranks)]
        assert all(worst < best for worst, best in zip(firsts, nexts[1:], strict=False))
        violating = [(history.trials[i].violations[step][0], view.trials[i].losses[step]) for i, _ in there]
        violating = sorted(pair for pair in violating if pair[0])
        assert [loss for _, loss in violating] == sorted(loss for _, loss in violating)
        assert not violating or not by_rank or max(by_rank) < violating[0][1]


def test_of_one_rank_the_one_that_adds_most_comes_first():
    z = np.array([[0.0, 1.0], [0.1, 0.5], [0.2, 0.45], [1.0, 0.0]])
    places = contribution_ranks(z, np.zeros(4))
    added = contributions(z, np.full(2, 1.1))
    assert places.tolist() == np.argsort(np.argsort(-added)).tolist()
    cube = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.2, 0.2, 0.2], [0.25, 0.19, 0.2]])
    assert contribution_ranks(cube, np.zeros(5))[3] < contribution_ranks(cube, np.zeros(5))[4]


def test_weights_belong_to_the_place_in_the_log_and_differ_within_a_batch():
    study = ss.Study(SPACE, budget="90 evaluations", method="gp", objectives=TWO)
    for _ in range(12):
        grant = study.ask()
        study.tell(grant, {"error": grant.config["x"], "speed": grant.config["y"]})
    grants = study.ask(4)
    found = {grant.reason.split("for error")[1] for grant in grants}
    assert len(found) == 4
    assert len({tuple(grant.config.items()) for grant in grants}) == 4
    again = weights(study.history)
    assert again.sum() == pytest.approx(1)
    assert (again == weights(study.history)).all()


def test_a_reason_says_the_weights_or_the_ranks():
    reasons = [trial.reason for trial in study_of(method="forecast", budget="150 steps").trials]
    assert any("per step for error 0." in reason for reason in reasons)
    reasons = [grant.reason for grant in study_of().history.grants]
    assert any("by domination" in reason for reason in reasons)


@pytest.mark.parametrize("method", ["random", "tpe", "gp", "asha"])
@pytest.mark.parametrize("count", [3, 4])
def test_three_and_four_objectives(method, count):
    def loss(trial):
        x, y = trial.config["x"], trial.config["y"]
        return dict(zip("abcd"[:count], (x, y, (x - y) ** 2, x * y), strict=False))

    study = ss.tune(loss, {**SPACE, "kind": ["s", "t"]}, budget="25 evaluations", method=method,
                    objectives=dict.fromkeys("abcd"[:count], "min"), max_resource=1)  # fmt: skip
    assert len(study.trials) == 25
    assert study.hypervolume(dict.fromkeys("abcd"[:count], 2.0)) > 0
    assert study.verify()


@pytest.mark.parametrize("limit", [{"target": 0.1}, {"patience": "50 steps"}])
def test_limits_that_are_about_one_value_are_refused(limit, tmp_path):
    with pytest.raises(MethodError, match=r"about one value, and the study has 2 objectives"):
        study_of(storage=tmp_path / "s.db", **limit)
    assert not (tmp_path / "s.db").exists()
    assert study_of(objectives=None, constraints={"heat": "<= 0.9"}, target=0.5, mode="min").history.stopped


def test_methods_that_cannot_are_refused_with_those_that_can():
    able = {name for name in names() if name != "auto" and unable_part(named(name)) is None}
    assert able == {
        "random", "grid", "latin-hypercube", "tpe", "gp", "sh", "hyperband", "asha", "asha-tpe", "bohb", "forecast",
    }  # fmt: skip
    with pytest.raises(MethodError, match="ASHA cannot handle 2 objectives"):
        study_of(method=ss.compose(Random(), ASHA(replicate="fresh")))

    class Mine:
        def propose(self, history, rng): ...

    with pytest.raises(MethodError, match="Mine cannot handle constraints"):
        study_of(objectives=None, constraints={"heat": "< 1"}, method=ss.compose(Mine(), ASHA()))


@pytest.mark.parametrize("share", [0.3, 0.05])
def test_gp_finds_the_best_within_a_constraint(share):
    """The optimum without the constraint is infeasible; random search is a quarter of a unit away from it."""

    def loss(trial):
        x, y = trial.config["x"], trial.config["y"]
        return ss.Reading((x - 0.9) ** 2 + (y - 0.9) ** 2, area=x * y)

    bound = {0.3: 0.12, 0.05: 0.012}[share]
    study = ss.tune(loss, SPACE, budget="40 evaluations", method="gp", constraints={"area": f"<= {bound}"})
    best = min((x / 999 - 0.9) ** 2 + (min(bound / max(x / 999, bound), 1) - 0.9) ** 2 for x in range(1000))
    assert study.best.value < best + 0.02
    assert "probability of area" in study.trials[-1].reason
    feasible = sum(trial.is_feasible(1) for trial in study.trials)
    assert feasible > 10


def test_what_is_seen_does_not_depend_on_caches():
    study = study_of(method="forecast", budget="120 steps", constraints={"heat": "<= 0.7"})
    first = next_grant(study._journal.current_method(), study.history, "", study.history.now)
    study.history.drop_caches()
    assert next_grant(study._journal.current_method(), study.history, "", study.history.now) == first


@pytest.mark.parametrize("most_readings", [2000, 100], ids=["all", "some are left out"])
def test_a_process_that_is_continued_decides_as_one_that_is_built_from_nothing(monkeypatch, most_readings):
    """Every decision sees other losses, but the matrices of the process are kept: over blocks, and with workers."""
    built = []
    make = ContinuedProcess._take_block
    monkeypatch.setattr(ContinuedProcess, "_take_block", lambda self, block: built.append(block) or make(self, block))
    monkeypatch.setattr(forecast_readings, "_MOST_READINGS", most_readings)
    study = ss.Study(SPACE, budget="400 steps", max_resource=9, method="forecast", objectives=TWO)
    while grants := study.ask(3):
        for grant in grants:
            x, y = grant.config["x"], grant.config["y"]
            study.tell(grant, {grant.until: {"error": (x - 0.3) ** 2 + 1 / grant.until, "speed": y - x}})
        if len(study.history.readings) > 130:
            break
    assert 0 < len(built) < 10, "blocks are not computed at every decision"
    method, history = study._journal.current_method(), study.history
    kept = next_grant(method, history, "", history.now)
    history.drop_caches()
    assert next_grant(method, history, "", history.now) == kept


def test_a_process_with_another_past_is_not_continued():
    X = np.random.default_rng(0).random((20, 2))

    def process(*readings):
        made = ContinuedProcess(X, 9)
        for column, step in readings:
            made.add(column, step)
        return made

    first, longer, other = process((0, 1), (1, 1)), process((0, 1), (1, 1), (0, 2)), process((1, 1), (0, 1), (0, 2))
    first.whiten(np.array([0.5, -0.5]))
    assert other.after(first) is other
    assert longer.after(first) is first
    u = np.array([0.5, -0.5, 0.1])
    assert first.whiten(u)[0] == pytest.approx(longer.whiten(u)[0])
    assert process((0, 1)).after(first) is not first, "it has fewer readings"
