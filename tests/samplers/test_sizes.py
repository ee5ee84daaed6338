"""Spaces that are larger than models are made for."""

import pytest

import shoestring as ss
from shoestring.errors import MethodError


@pytest.mark.parametrize("method", ["tpe", "gp", "boes", "cmaes"])
def test_more_choices_than_a_model_can_hold_are_refused_before_anything_is_spent(method):
    with pytest.raises(MethodError, match=r"'x' has 100,000 unordered choices.*random"):
        ss.Study({"x": list(range(100_000))}, budget="20 evaluations", method=method)


def test_evolution_strategies_take_many_parameters():
    space = {f"x{i}": (0.0, 1.0) for i in range(200)}
    study = ss.tune(lambda trial: sum(trial.config.values()), space, budget="12 evaluations", method="cmaes")
    assert len(study.trials) == 12
