"""The tree-structured Parzen estimator on spaces of all kinds."""

import json

import numpy as np
import pytest
from ConfigSpace import (
    EqualsCondition,
    ForbiddenAndConjunction,
    ForbiddenEqualsClause,
    InCondition,
    OrdinalHyperparameter,
)

import shoestring as ss
from shoestring.core.observations import observe
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.samplers import TPE, Random
from shoestring.schedulers import ASHA, Full

MIXED = {
    "lr": ss.log(1e-5, 1.0),
    "momentum": (0.0, 1.0),
    "layers": (1, 8),
    "width": ss.log(4, 64),
    "units": ss.log(1, 10_000),
    "act": ["relu", "tanh", "gelu"],
    "bias": [True, False],
    "size": OrdinalHyperparameter("size", ["small", "medium", "large"]),
}


def mixed_loss(config):
    return (
        (np.log10(config["lr"]) + 3) ** 2
        + (config["momentum"] - 0.9) ** 2
        + 0.1 * (config["layers"] - 3) ** 2
        + 0.1 * abs(np.log2(config["width"]) - 4)
        + (config["act"] != "gelu")
        + 0.5 * config["bias"]
        + (config["size"] != "medium")
    )


def with_conditions(space):
    space.add(
        EqualsCondition(space["c"], space["model"], "svm"),
        EqualsCondition(space["kernel"], space["model"], "svm"),
        EqualsCondition(space["degree"], space["kernel"], "poly"),
        InCondition(space["depth"], space["model"], ["tree"]),
    )
    return space


CONDITIONAL = with_conditions(
    ss.space(model=["svm", "tree", "none"], c=ss.log(1e-3, 1e3), kernel=["rbf", "poly"], degree=(1, 5), depth=(1, 20))
)


def conditional_loss(config):
    if config["model"] == "svm":
        return abs(np.log10(config["c"]) - 1) + config.get("degree", 4) * 0.1
    return 2.0 + abs(config.get("depth", 30) - 10) * 0.1


def played(space, loss, evaluations=60, method=None, seed=0, **options):
    method = method or ss.compose(TPE(), Full())
    study = ss.Study(space, budget=ss.Budget(evaluations=evaluations), method=method, seed=seed, **options)
    while (grant := study.ask()) is not None:
        study.tell(grant, loss(grant.config))
    return study


@pytest.mark.parametrize("multivariate", [True, False])
@pytest.mark.parametrize(("space", "loss"), [(MIXED, mixed_loss), (CONDITIONAL, conditional_loss)])
def test_mixed_and_conditional_spaces(space, loss, multivariate):
    study = played(space, loss, method=ss.compose(TPE(multivariate=multivariate), Full()))
    for arm in study.history.arms:
        study.history.codec.check(arm.config)
    start = min(loss(arm.config) for arm in study.history.arms[:10])
    assert study.best.value < start
    learned = [trial for trial in study.trials if "score" in trial.explanation]
    assert len(learned) >= 45
    assert json.loads(json.dumps(learned[-1].explanation)) == learned[-1].explanation


def test_learns_which_branch_is_good():
    study = played(CONDITIONAL, conditional_loss)
    late = [arm.config["model"] for arm in study.history.arms[30:]]
    assert late.count("svm") > 0.6 * len(late)


def test_forbidden_combinations_are_not_proposed():
    space = ss.space(a=[1, 0, 2], b=[0, 1, 2], x=(0.0, 1.0))
    space.add(
        ForbiddenAndConjunction(ForbiddenEqualsClause(space["a"], 0), ForbiddenEqualsClause(space["b"], 0)),
        ForbiddenEqualsClause(space["b"], 2),
    )
    # The forbidden corner would be the best, so the model is drawn to it.
    study = played(space, lambda c: c["a"] + abs(c["b"] - 1) * 0.1 + c["x"])
    assert all(study.history.codec.allowed(arm.config) for arm in study.history.arms)
    assert study.best.config["a"] == 0


def test_small_finite_space_is_tried_once_and_whole():
    study = played({"a": [0, 1, 2], "n": (1, 5)}, lambda c: c["a"] + c["n"], evaluations=100)
    assert len(study.history.arms) == 15
    assert study.state == "finished"


def test_a_space_of_one_value():
    study = played({"a": ["only"]}, lambda c: 1.0, evaluations=5)
    assert len(study.history.arms) == 1


def test_running_arms_count_as_bad():
    """While trials are running the bad density grows, so that parallel proposals spread."""
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget=ss.Budget(evaluations=100), method="tpe")
    for _ in range(20):
        grant = study.ask()
        study.tell(grant, grant.config["x"])
    seen, sampler = observe(study.history), TPE()
    good, bad = sampler._split(seen, 1)
    for _ in range(5):
        study.ask()
    seen = observe(study.history)
    good_now, bad_now = sampler._split(seen, 1)
    assert good_now.tolist() == good.tolist()
    assert bad_now.tolist() == [*bad, *range(20, 25)]
    _, before = sampler._fit(seen.points[good], seen.points[bad], study.history)
    _, after = sampler._fit(seen.points[good], seen.points[bad_now], study.history)
    assert (after.log_density(seen.points[20:]) > before.log_density(seen.points[20:])).all()


def test_failed_arms_are_bad():
    """Half of the space fails; the model learns to stay out, though no reading ever came from there."""
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget=ss.Budget(evaluations=80), method="tpe")
    while (grant := study.ask()) is not None:
        if grant.config["x"] < 0.5:
            study.fail(grant, "out of memory")
        else:
            study.tell(grant, abs(grant.config["y"] - 0.5))
    seen = observe(study.history)
    good, bad = TPE()._split(seen, 1)
    assert seen.failed.sum() > 5
    assert set(np.flatnonzero(seen.failed)) <= set(bad)
    assert len(good) + len(bad) == 80
    failures = [trial.state == "failed" for trial in study.trials]
    assert np.mean(failures[40:]) < 0.3


def test_all_failing_goes_on_at_random():
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(evaluations=30), method="tpe")
    while (grant := study.ask()) is not None:
        study.fail(grant, "broken")
    assert len({trial.config["x"] for trial in study.trials}) == 30


def test_order_is_all_that_counts():
    # Quarters keep sums exact, so that ties stay ties.
    def loss(config):
        return round(4 * mixed_loss(config)) / 4

    plain = played(MIXED, loss, evaluations=40)
    for change in (lambda v: v + 1024, lambda v: v * 8, lambda v: v / 4 - 2):
        changed = played(MIXED, lambda c, change=change: change(loss(c)), evaluations=40)
        assert [arm.config for arm in changed.history.arms] == [arm.config for arm in plain.history.arms]
        assert [t.explanation for t in changed.trials] == [t.explanation for t in plain.trials]
    mirrored = played(MIXED, lambda c: -loss(c), evaluations=40, mode="max")
    assert [arm.config for arm in mirrored.history.arms] == [arm.config for arm in plain.history.arms]


def test_ties_go_to_the_earlier():
    study = played({"x": (0.0, 1.0)}, lambda c: 1.0, evaluations=30)
    good, bad = TPE()._split(observe(study.history), 1)
    assert good.tolist() == list(range(6))
    assert bad.tolist() == list(range(6, 30))


@pytest.mark.parametrize("space", [MIXED, CONDITIONAL])
def test_cached_equals_fresh(space):
    study = ss.Study(space, budget=ss.Budget(steps=300), method=ss.compose(TPE(), ASHA()), max_resource=9)
    rng, checked = np.random.default_rng(0), 0
    while (grant := study.ask()) is not None:
        study.tell(grant, [float(v) for v in rng.integers(20, size=grant.until - grant.start)])
        cached = TPE().propose(study.history, generator(0, grant.trial, "test"))
        study.history.drop_caches()
        assert cached == TPE().propose(study.history, generator(0, grant.trial, "test"))
        checked += "score" in cached.explanation
    assert checked > 30


def test_learns_at_the_furthest_step_with_enough():
    study = ss.Study({"x": (0.0, 1.0)}, budget=ss.Budget(steps=400), method=ss.compose(TPE(), ASHA()), max_resource=9)
    while (grant := study.ask()) is not None:
        study.tell(grant, [grant.config["x"]] * (grant.until - grant.start))
    steps = [trial.explanation["step"] for trial in study.trials if trial.step == 1 and "step" in trial.explanation]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1] == 9


@pytest.mark.parametrize("multivariate", [True, False])
def test_beats_random_by_far(multivariate):
    def sphere(config):
        return sum((value - 0.3) ** 2 for value in config.values())

    space = dict.fromkeys("abcd", (0.0, 1.0))
    ours, random = (
        [played(space, sphere, 80, ss.compose(sampler, Full()), seed).best.value for seed in range(5)]
        for sampler in (TPE(multivariate=multivariate), Random())
    )
    assert np.mean(ours) < np.mean(random) / 3


def proposals(sampler, n=200):
    """Propose after 30 arms, the best of them near 0.3, with other random numbers each time."""
    study = played({"x": (0.0, 1.0)}, lambda config: abs(config["x"] - 0.3), 30, ss.compose(Random(), Full()))
    return [sampler.propose(study.history, generator(0, i, "test")) for i in range(n)]


def test_a_share_is_random():
    shares = [
        np.mean([proposal.reason.startswith("random") for proposal in proposals(TPE(random_fraction=share))])
        for share in (0.0, 1 / 3, 1.0)
    ]
    assert shares[0] == 0
    assert shares[1] == pytest.approx(1 / 3, abs=0.1)
    assert shares[2] == 1


def test_a_wider_source_proposes_further_away():
    near, far = (
        np.std([proposal.config["x"] for proposal in proposals(TPE(candidates=1, bandwidth_factor=factor))])
        for factor in (1.0, 3.0)
    )
    assert far > 1.3 * near


def test_priors_of_the_space_are_kept_at_the_start():
    from ConfigSpace import CategoricalHyperparameter

    space = ss.space(a=CategoricalHyperparameter("a", ["x", "y"], weights=[0.99, 0.01]), b=(0.0, 1.0))
    study = played(space, lambda c: c["b"], evaluations=10)
    assert [arm.config["a"] for arm in study.history.arms].count("x") >= 8


@pytest.mark.parametrize(
    "options",
    [
        {"startup": -1},
        {"candidates": 0},
        {"good": 0.0},
        {"good": 1},
        {"bandwidth": 0.0},
        {"bandwidth_factor": 0.0},
        {"random_fraction": 1.5},
    ],
)
def test_options_are_checked(options):
    with pytest.raises(MethodError, match=next(iter(options))):
        TPE(**options)
