"""Recorded curves as a continuous problem: a configuration is trained as the nearest row and stays itself."""

import pickle

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError
from shoestring.executors import Inline, Simulated
from shoestring.problems import CurveTable
from shoestring.spaces.codec import Codec

X = [[0.001, 2, "relu"], [0.1, 2, "relu"], [0.1, 9, "tanh"], [1.0, 5, "tanh"]]
Y = [[4.0, 3.0], [5.0, 1.0], [6.0, 2.0], [7.0, 6.5]]


def snapped(**options):
    return CurveTable(X, Y, names=["rate", "units", "act"], log_scale=["rate"], snap=True, **options)


def test_the_space_is_the_ranges_of_the_columns_without_rows():
    table = snapped()
    whole = CurveTable(X, Y, names=["rate", "units", "act"], log_scale=["rate"])
    assert Codec(table.space).rows is None
    assert dict(table.space) == dict(whole.space)
    assert CurveTable(X, Y, whole.space, names=["rate", "units", "act"], snap=True).space.meta == {}
    assert (table.best, len(table), table.max_resource) == (1.0, 4, 2)
    assert repr(table) == "CurveTable(4 rows, 2 steps, mode='min', snap=True)"


@pytest.mark.parametrize(
    ("config", "row"),
    [
        ({"rate": 0.1, "units": 2, "act": "relu"}, 1),
        ({"rate": 0.009, "units": 2, "act": "relu"}, 0),
        ({"rate": 0.02, "units": 2, "act": "relu"}, 1),  # on a linear scale 0.001 would be nearer
        ({"rate": 0.1, "units": 9, "act": "relu"}, 1),  # another choice is as far as the whole range of the units
        ({"rate": 0.5, "units": 6, "act": "tanh"}, 3),
    ],
)
def test_a_configuration_is_trained_as_the_nearest_row(config, row):
    table = snapped(seconds=[[1.0], [2.0], [3.0], [4.0]])
    for _ in range(2):  # found, then looked up
        assert table.row(config) == row
        assert table.reading(config, 2) == Y[row][1]
        assert table.seconds(config, 2) == row + 1
    assert table.row(dict(reversed(config.items()))) == row, "the order of the parameters does not matter"


def test_the_nearest_row_is_the_nearest_of_all():
    rng = generator(0, 0, "snapped")
    points = rng.random((200, 3))
    table = CurveTable(points, np.arange(200.0)[:, None], space={"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)},
                       snap=True)  # fmt: skip
    for point in rng.random((50, 3)):
        nearest = int(np.linalg.norm(points - point, axis=1).argmin())
        assert table.row(dict(zip("abc", point.tolist(), strict=True))) == nearest


def test_every_choice_that_differs_is_as_far():
    table = CurveTable([["a"], ["d"]], [[1.0], [2.0]], {"x": ["a", "b", "c", "d"]}, snap=True)
    assert [table.row({"x": x}) for x in "abcd"] == [0, 0, 0, 1], "choices have no order: a tie goes to the first row"


def test_of_equal_rows_the_first_is_used():
    table = CurveTable([[1.0], [2.5], [1.0]], [[3.0], [2.0], [1.0]], names=["x"], snap=True)
    assert "recording" not in table.space
    assert table.reading({"x": 1.2}, 1) == 3.0
    assert table.best == 2.0, "the second recording cannot be reached"
    assert table.normalised_regret(2.5) == pytest.approx(1.0), "the median of the two rows that can"


def test_proposals_stay_distinct_and_are_paid_for():
    table = snapped()
    study = ss.tune(table, table.space, budget="40 steps", max_resource=2, method="random", executor=Simulated(1))
    assert len({Codec.key(trial.config) for trial in study.trials}) == 20 > len(table)
    assert study.spent.steps == 40
    for trial in study.trials:
        assert trial.readings[2].value == Y[table.row(trial.config)][1]
    inline = ss.tune(table, table.space, budget="40 steps", max_resource=2, method="random", executor=Inline())
    assert inline.rows() == study.rows()


def test_a_table_that_snaps_can_be_sent_to_another_process():
    table = snapped()
    again = pickle.loads(pickle.dumps(table))
    assert again.row({"rate": 0.5, "units": 6, "act": "tanh"}) == 3


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"rate": 2.0, "units": 2, "act": "relu"}, "'rate' is 2.0, outside of"),
        ({"rate": 0.1, "units": 2}, "'act' is missing"),
        ({"rate": 0.2, "units": 2, "act": "relu", "recording": 0}, "'recording' is not a parameter"),
        ({"rate": "fast", "units": 2, "act": "relu"}, "'rate' is 'fast', outside of"),
    ],
)
def test_what_is_not_in_the_ranges_is_refused(config, said):
    with pytest.raises(SpaceError, match=said):
        snapped().row(config)


def test_a_file_is_loaded_as_a_continuous_problem(tmp_path):
    np.savez(tmp_path / "curves.npz", X=[[0.1], [0.2], [0.4]], Y=[[9, 1, 2], [9, 3, 4], [9, 5, 6]])
    table = CurveTable.load(tmp_path / "curves.npz", skip=1, snap=True)
    assert (table.row({"x1": 0.22}), table.reading({"x1": 0.22}, 2), table.max_resource) == (1, 4.0, 2)
