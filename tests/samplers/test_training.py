"""The step that models are fitted at: early readings count once they have shown that they predict."""

import pytest

import shoestring as ss
from shoestring.errors import MethodError
from shoestring.samplers import BOES, CMAES, TPE, GaussianProcess
from shoestring.samplers.training import fitting_step, training_set
from shoestring.schedulers import ASHA, ModifiedSubSampling, SubSampling, SuccessiveHalving

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
LAST = 27


def study_with(curves):
    """Arms whose readings are these; a later arm has a larger x."""
    study = ss.Study(SPACE, budget=ss.Budget(steps=10_000), method="random", max_resource=LAST)
    for i, losses in enumerate(curves):
        study.add({"x": (i + 1) / (len(curves) + 1), "y": 0.5}, dict(enumerate(losses, 1)))
    return study.history


def at_first_step(n):
    return [[float(i)] for i in range(n)]


def test_the_first_step_is_not_believed_until_it_has_predicted():
    alone = at_first_step(12)
    assert fitting_step(study_with(alone), 10, "furthest") == 1
    assert fitting_step(study_with(alone), 10, "predictive") == 0
    agreeing = [[float(i), i / 2, i / 3] for i in range(6)]
    assert fitting_step(study_with(agreeing + alone), 10, "predictive") == 1
    reversed_later = [[float(i), -i / 2, -i / 3] for i in range(6)]
    assert fitting_step(study_with(reversed_later + alone), 10, "predictive") == 0


def test_a_late_step_is_believed_until_it_is_seen_to_mislead():
    late = [[float(i)] * 9 for i in range(12)]
    assert fitting_step(study_with(late), 10, "predictive") == 9
    misled = [[float(i)] * 9 + [-float(i)] * 9 for i in range(6)]
    assert fitting_step(study_with(misled + late), 10, "predictive") == 0


def test_the_last_step_needs_no_proof():
    ends = [[float(i)] * LAST for i in range(10)]
    assert fitting_step(study_with(ends), 10, "predictive") == LAST


def test_every_pair_is_compared_at_the_furthest_step_that_both_reached():
    """Arm 0 is worse than all others at step 3, where it stopped; they keep their order until step 9."""
    curves = [[0.0, 0.0, 99.0], *([float(i)] * 9 for i in range(1, 5))]
    assert fitting_step(study_with(curves + at_first_step(12)), 10, "predictive") == 0  # .2 and a prior of .21
    longer = [*curves, *([float(i)] * 9 for i in range(5, 9))]
    assert fitting_step(study_with(longer + at_first_step(12)), 10, "predictive") == 1


def test_training_set_follows():
    history = study_with(at_first_step(12))
    assert training_set(history, 10) is None
    assert training_set(history, 10, "furthest").step == 1


SAMPLERS = [TPE(), TPE(startup=0), GaussianProcess(), BOES(), CMAES()]
SCHEDULERS = [ASHA(), SuccessiveHalving(), SubSampling(arms=12), ModifiedSubSampling(arms=12)]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=lambda scheduler: type(scheduler).__name__)
def test_no_model_is_fitted_at_a_first_step_that_means_nothing(sampler, scheduler):
    """The order after one step is the reverse of all later ones."""
    method = ss.compose(sampler, scheduler)
    study = ss.Study(SPACE, budget=ss.Budget(steps=150), method=method, max_resource=LAST)
    while (grant := study.ask()) is not None:
        value = abs(grant.config["x"] - 0.3)
        study.tell(grant, [1 - value if step == 1 else value for step in range(grant.start + 1, grant.until + 1)])
    steps = {grant.explanation.get("step") for grant in study.history.grants if grant.explanation}
    assert 1 not in steps


def test_a_step_that_predicts_is_used():
    study = ss.Study(SPACE, budget=ss.Budget(steps=150), method=ss.compose(TPE(), ASHA()), max_resource=LAST)
    while (grant := study.ask()) is not None:
        study.tell(grant, [abs(grant.config["x"] - 0.3)] * (grant.until - grant.start))
    assert 1 in {grant.explanation.get("step") for grant in study.history.grants if grant.explanation}


@pytest.mark.parametrize("kind", [TPE, GaussianProcess, BOES, CMAES])
def test_fit_at_is_checked(kind):
    with pytest.raises(MethodError, match="fit_at"):
        kind(fit_at="sometimes")
