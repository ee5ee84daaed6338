"""Checkpoints: plain values come back as they were, and no pickle is loaded unless the objective trusts it."""

import math
import os
import pickle
import zipfile

import joblib
import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.linear_model import SGDClassifier

import shoestring as ss
from shoestring.errors import ReadingError
from shoestring.objectives.checkpoint import Checkpoint

KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
LEAVES = KEYS | st.floats(allow_nan=False)
STATES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
    ),
    max_leaves=8,
)


def same(one, two):
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    return all(map(same, one, two)) if isinstance(one, (list, tuple)) else one == two


@given(state=STATES)
def test_plain_values_come_back_as_they_were(tmp_path_factory, state):
    checkpoint = Checkpoint(tmp_path_factory.mktemp("trial"))
    checkpoint.save(state)
    assert same(checkpoint.load(), state)


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 3)), np.arange(4, dtype="int8"), np.array(["a", "bc"]), np.array([], "complex64"), np.float32(0.1),
     np.bool_(True), np.array(3.0), np.datetime64("2024-01-01"), np.asfortranarray(np.eye(3))],
    ids=repr,
)  # fmt: skip
def test_arrays_come_back_as_they_were(tmp_path, array):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({"state": [array, math.inf]})
    found, infinite = checkpoint.load()["state"]
    assert (type(found), found.dtype, infinite) == (type(array), array.dtype, math.inf)
    np.testing.assert_array_equal(found, array)


class Harmful:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("name", ["checkpoint.joblib", "checkpoint.pt", "checkpoint.zip"])
def test_a_forged_checkpoint_runs_nothing(tmp_path, name):
    if name == "checkpoint.pt":
        pytest.importorskip("torch")
    (tmp_path / name).write_bytes(pickle.dumps(Harmful(tmp_path / "ran"), protocol=2))
    with pytest.raises(ReadingError, match="cannot be loaded" if name.endswith("zip") else "trust=True"):
        Checkpoint(tmp_path).load()
    assert not (tmp_path / "ran").exists()


def test_an_array_of_objects_in_a_forged_file_runs_nothing(tmp_path):
    np.save(tmp_path / "0.npy", np.array([Harmful(tmp_path / "ran")]), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "checkpoint.zip", "w") as archive:
        archive.writestr("state.json", '["array", 0]')
        archive.write(tmp_path / "0.npy", "0.npy")
    with pytest.raises(ReadingError, match="cannot be loaded"):
        Checkpoint(tmp_path).load()
    assert not (tmp_path / "ran").exists()


def test_an_estimator_is_loaded_only_if_it_is_trusted(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save(SGDClassifier(alpha=0.5))
    with pytest.raises(ReadingError, match=r"sklearn.*trust=True"):
        checkpoint.load()
    assert checkpoint.load(trust=True).alpha == 0.5
    checkpoint.save({"alpha": 0.5})
    assert checkpoint.load() == {"alpha": 0.5}
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.zip"]


def test_the_trial_says_what_to_do():
    def train(trial):
        model = trial.checkpoint.load() or SGDClassifier()
        for _ in range(trial.start, 9):
            trial.checkpoint.save(model)
            trial.report(trial.config["x"])

    study = ss.tune(train, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, method="asha")
    assert any("trial.checkpoint.load(trust=True)" in trial.message for trial in study.trials)


def test_what_an_older_version_saved_is_read_if_it_is_plain(tmp_path):
    joblib.dump({"error": 0.5, "steps": [1, 2]}, tmp_path / "checkpoint.joblib")
    assert Checkpoint(tmp_path).load() == {"error": 0.5, "steps": [1, 2]}


def test_a_state_that_contains_itself_is_pickled(tmp_path):
    state = {"name": "loop"}
    state["self"] = state
    Checkpoint(tmp_path).save(state)
    found = Checkpoint(tmp_path).load()
    assert found["self"] is found


def test_a_link_in_place_of_a_checkpoint_is_not_followed(tmp_path):
    (tmp_path / "inside").mkdir()
    Checkpoint(tmp_path).save({"of": "another"})
    (tmp_path / "inside" / "checkpoint.zip").symlink_to(tmp_path / "checkpoint.zip")
    with pytest.raises(OSError, match="symbolic links"):
        Checkpoint(tmp_path / "inside").load()


def test_states_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimiser.step()
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({
        "model": model.state_dict(), "optimiser": optimiser.state_dict(), "seen": np.arange(3), "best": np.float64(0.5),
        "random": np.random.default_rng(0).bit_generator.state,
    })  # fmt: skip
    found = checkpoint.load()
    model.load_state_dict(found["model"])
    optimiser.load_state_dict(found["optimiser"])
    assert found["best"] == 0.5
    np.testing.assert_array_equal(found["seen"], np.arange(3))
    assert found["random"] == np.random.default_rng(0).bit_generator.state
    checkpoint.save(model)
    with pytest.raises(ReadingError, match=r"trust=True"):
        checkpoint.load()
    assert isinstance(checkpoint.load(trust=True), torch.nn.Sequential)
