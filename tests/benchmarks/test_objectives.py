"""The benchmark of several objectives: its functions have the known front, and its rows count what was played."""

import numpy as np
import pytest

pytest.importorskip("optuna")

from benchmarks.suites.objectives import peers, suite
from benchmarks.suites.objectives.problems import Functions, bounds_of


@pytest.mark.parametrize(("name", "front"), [("zdt1", lambda x: 1 - np.sqrt(x)), ("zdt2", lambda x: 1 - x**2)])
def test_the_known_front_is_where_all_other_parameters_are_zero(name, front):
    problem = Functions(name)
    for x in (0.0, 0.25, 1.0):
        config = {"x0": x, **{f"x{i}": 0.0 for i in range(1, 5)}}
        assert problem.values(config, 1) == pytest.approx((x, front(x)))
        assert problem.values({**config, "x1": 0.5}, 1)[1] > front(x)


@pytest.mark.parametrize("method", ["tpe", "gp", *peers.SAMPLERS])
def test_a_run_has_a_row_for_each_reference_and_amount(method):
    problems = [Functions("zdt1"), Functions("mixed")]
    rows = suite._volumes("functions", method, problems, 2, 12, (6, 12))
    assert [row.name for row in rows] == [
        *(f"functions {method}: {name} at {count}" for count in (6, 12) for name in ("wide", "near")),
        f"functions {method}: ms a decision at 12",
    ]
    assert all(row.n == 2 for row in rows)
    assert 0 < rows[0].measured <= rows[2].measured < 1


@pytest.mark.parametrize("name", ["dtlz2", "mixed of three"])
def test_the_front_of_three_objectives_is_a_part_of_a_sphere(name):
    problem = Functions(name)
    for a, b in ((0.0, 0.0), (0.3, 0.9), (1.0, 0.5)):
        others = {"x2": 0.0, "steps": 0, "kind": "a"} if name != "dtlz2" else {f"x{i}": 0.0 for i in range(2, 6)}
        config = {"x0": a, "x1": b, **others}
        assert set(config) == set(problem.space)
        assert np.linalg.norm(problem.values(config, 1)) == pytest.approx(1)
        assert np.linalg.norm(problem.values({**config, "x2": 0.5}, 1)) > 1


def test_a_share_is_one_if_the_whole_box_is_dominated():
    problem = Functions("zdt1")
    ideal, _ = bounds_of(problem, "wide")
    assert suite._volume({"values": [ideal.tolist()]}, problem, "wide", 1) == 1.0
    assert suite._volume({"values": [[1.1, 4.0]]}, problem, "wide", 1) == 0.0
