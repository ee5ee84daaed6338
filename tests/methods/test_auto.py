"""The choices of ``auto``, and the line that names them."""

import pytest

from shoestring.core.budget import Budget
from shoestring.methods.registry import auto, named


@pytest.mark.parametrize(
    ("budget", "max_resource", "picked"),
    [
        (Budget(evaluations=50), None, "gp"),
        (Budget(evaluations=50), 1, "gp"),
        (Budget(seconds=3600.0), None, "gp"),
        (Budget(evaluations=5000), None, "tpe"),
        (Budget(steps=5000), 1, "tpe"),
        (Budget(steps=5000), 27, "forecast"),
    ],
)
def test_auto(budget, max_resource, picked):
    method, line = auto(budget, max_resource)
    assert method == named(picked)
    assert f"auto picked {picked}:" in line
