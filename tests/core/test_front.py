"""The front of a study, against brute force; its volume against counting cells; what is chosen from it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.core import pareto
from shoestring.errors import EverythingFailed, MethodError

SPACE = {"x": (0.0, 1.0)}
# Few distinct values, so that equal and dominated points are common.
POINTS = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=1, max_size=12)
)


def study_of(points, modes, **options):
    names = "abcd"[: len(modes)]
    study = ss.Study(
        SPACE, budget="99 evaluations", method="random", objectives=dict(zip(names, modes, strict=True)), **options
    )
    for number, point in enumerate(points):
        study.add({"x": number / 100}, dict(zip(names, point, strict=True)))
    return study


@given(POINTS)
def test_the_front_has_what_nothing_else_beats(points):
    found = [
        tuple(p) for p in points
        if not any(all(a <= b for a, b in zip(q, p, strict=True)) and q != p for q in points)
    ]  # fmt: skip
    study = study_of(points, ["min"] * len(points[0])) if len(points[0]) > 1 else None
    if study is not None:
        assert [tuple(m.values.values()) for m in study.front] == sorted(set(found))
        first = [points.index(list(m.values.values())) for m in study.front]
        assert [m.trial for m in study.front] == first, "of equal readings the earlier trial counts"
    array = np.array(points, dtype=float)
    assert {tuple(p) for p in array[pareto.non_dominated(array)].astype(int).tolist()} == set(found)


@given(POINTS)
def test_ranks_peel_one_front_after_another(points):
    array, left, rank = np.array(points, dtype=float), list(range(len(points))), 0
    ranks = pareto.domination_ranks(array)
    while left:
        now = [i for i in left if not any(pareto.dominates(array[j], array[i]) for j in left)]
        assert all(ranks[i] == rank for i in now)
        left, rank = [i for i in left if i not in now], rank + 1


@settings(max_examples=60)
@given(POINTS)
def test_the_volume_is_the_number_of_cells_that_are_dominated(points):
    k = len(points[0])
    cells = itertools.product(range(5), repeat=k)
    count = sum(any(all(p <= c for p, c in zip(point, cell, strict=True)) for point in points) for cell in cells)
    array, reference = np.array(points, dtype=float), np.full(k, 5.0)
    assert pareto.hypervolume(array, reference) == pytest.approx(count)
    without = [pareto.hypervolume(np.delete(array, i, axis=0), reference) for i in range(len(array))]
    assert pareto.contributions(array, reference) == pytest.approx(count - np.array(without), abs=1e-9)


def test_points_beyond_the_reference_add_nothing():
    assert pareto.hypervolume(np.array([[0.0, 9.0], [2.0, 2.0]]), np.array([3.0, 3.0])) == 1.0
    assert pareto.hypervolume(np.array([[9.0, 9.0]]), np.array([3.0, 3.0])) == 0.0


def test_modes_and_constraints_decide_who_is_on_the_front():
    points = [(1, 5), (2, 9), (3, 9), (0, 1)]
    assert [m.trial for m in study_of(points, ["min", "max"]).front] == [3, 0, 1]
    assert [m.trial for m in study_of(points, ["min", "max"], constraints={"b": ">= 2"}).front] == [0, 1]


def test_of_equal_readings_of_a_trial_the_later_one_counts():
    study = ss.Study(SPACE, budget="9 steps", max_resource=3, method="random", objectives={"a": "min", "b": "min"})
    study.add({"x": 0.5}, [{"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}])
    assert [(m.trial, m.step) for m in study.front] == [(0, 2)]


def test_a_member_is_chosen_by_weights():
    study = study_of([(0, 100), (4, 40), (10, 0)], ["min", "min"])
    assert study.knee().trial == 1
    assert study.pick(a=1).trial == 0
    assert study.pick(b=1).trial == 2
    assert study.pick(a=1, b=0.01).trial == 0
    for weights, words in (({"c": 1}, "'c' is not an objective"), ({"a": -1}, "a number from 0"), ({}, "at least one")):
        with pytest.raises(MethodError, match=words):
            study.pick(**weights)


def test_the_volume_of_a_study_has_the_units_of_its_objectives():
    study = study_of([(1, 5), (2, 9)], ["min", "max"])
    assert study.hypervolume({"a": 3, "b": 0}) == 5 + 9
    assert study.hypervolume() == 0.0, "the worst value of each is the reference"
    with pytest.raises(MethodError, match="a value for each objective: a, b"):
        study.hypervolume({"a": 3})


def test_the_best_of_several_objectives_is_refused_and_names_the_front():
    study = study_of([(1, 5)], ["min", "max"])
    with pytest.raises(MethodError, match=r"study.front .* study.knee\(\) .* study.pick\(a=1, b=1\)"):
        _ = study.best
    empty = ss.Study(SPACE, budget="9 evaluations", method="random", objectives={"a": "min", "b": "min"})
    for look in (lambda: empty.front, empty.knee, lambda: empty.pick(a=1)):
        with pytest.raises(EverythingFailed, match="no reading yet"):
            look()
    assert empty.hypervolume() == 0.0


def test_results_of_a_study_with_other_objectives_are_not_added():
    with pytest.raises(ss.errors.ReadingError, match="has the objectives"):
        study_of([], ["min", "max"]).add_from(study_of([(1, 1)], ["min", "min"]))
    target = study_of([], ["min", "max"])
    assert target.add_from(study_of([(1, 5), (2, 9)], ["min", "max"])) == 2
    assert len(target.front) == 2


def train(trial):
    for step in range(trial.start + 1, 4):
        x = trial.config["x"]
        (trial.directory / "model").write_text(f"{x} at {step}")
        yield ss.Reading(error=x + 1 / step, size=(1 - x) * step)


def test_every_member_keeps_its_checkpoint(tmp_path):
    study = ss.tune(train, SPACE, budget="60 steps", max_resource=3, method="random", storage=tmp_path / "s.db",
                    objectives={"error": "min", "size": "min"}, keep=0)  # fmt: skip
    assert len(study.front) > 5
    for member in study.front:
        assert (study.directory(member) / "model").read_text() == f"{member.config['x']} at {member.step}"
    kept = {int(folder.name.removeprefix("trial-")) for folder in study.files.iterdir()}
    assert kept == {member.trial for member in study.front}


def test_ranks_by_domination_are_those_of_one_front_after_another():
    points = np.random.default_rng(0).integers(0, 9, (60, 2)).astype(float)
    left, expected, rank = np.arange(60), np.zeros(60, dtype=int), 0
    while len(left):
        front = pareto.non_dominated(points[left])
        expected[left[front]] = rank
        left, rank = left[~front], rank + 1
    assert pareto.domination_ranks(points).tolist() == expected.tolist()


def test_a_study_with_one_objective_has_no_front():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random")
    study.tell(study.ask(), 1.0)
    for look in (lambda: study.front, study.knee, study.hypervolume):
        with pytest.raises(MethodError, match="one objective"):
            look()


@pytest.mark.parametrize("reference", [{"a": "x", "b": 1.0}, {"a": float("nan"), "b": 1.0}])
def test_a_reference_point_has_finite_numbers(reference):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", objectives={"a": "min", "b": "min"})
    study.tell(study.ask(), {"a": 0.5, "b": 0.5})
    with pytest.raises(MethodError, match="reference of 'a'"):
        study.hypervolume(reference)
