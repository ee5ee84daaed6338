"""The helper for training loops."""

import json
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from shoestring.errors import ReadingError
from shoestring.integrations.training import OnlineTraining
from shoestring.online import TVGPUCB, Always, Exactly, OnlineTuner


def training(look, horizon=30):
    world = SimpleNamespace(skill=0.0)
    tuner = OnlineTuner(["rest", "practise"], TVGPUCB(), look, horizon=horizon)
    return world, OnlineTraining(tuner, measure=lambda: world.skill, scale=100.0)


def play(world, tuning, rounds):
    played = []
    for _ in range(rounds):
        what = tuning.begin()
        world.skill += 0.01 * (what == "practise")
        tuning.end()
        played.append(what)
    return played


def test_full_feedback_measures_once_a_round_and_once_to_begin():
    world, tuning = training(Always())
    play(world, tuning, 30)
    assert tuning.measurements == 31
    gains = {"rest": 0.0, "practise": 1.0}
    assert all(p.value == pytest.approx(gains[tuning.tuner.config_of(p)]) for p in tuning.tuner.history)


def test_a_blind_round_measures_nothing():
    world, tuning = training(Exactly(1))
    play(world, tuning, 30)
    assert tuning.measurements == 2


def test_the_tuner_learns_to_practise():
    world, tuning = training(Exactly(12), horizon=60)
    assert play(world, tuning, 60)[30:].count("practise") > 20


def test_a_checkpoint_goes_on_exactly():
    world, tuning = training(Exactly(12))
    whole = play(world, tuning, 30)
    world, tuning = training(Exactly(12))
    before = play(world, tuning, 11)
    text = json.dumps(tuning.state_dict())
    other, resumed = training(Exactly(12))
    other.skill = world.skill
    resumed.load_state_dict(json.loads(text))
    assert before + play(other, resumed, 19) == whole


def test_rounds_begin_and_end_in_turn():
    _, tuning = training(Always())
    with pytest.raises(ReadingError, match="begin"):
        tuning.end()
    tuning.begin()
    with pytest.raises(ReadingError, match="end"):
        tuning.begin()
    with pytest.raises(ReadingError, match="after end"):
        tuning.state_dict()


def test_the_lightning_callback_tunes_and_checkpoints(monkeypatch):
    if find_spec("lightning") is None:  # the base class is all that the callback takes from it
        monkeypatch.setitem(sys.modules, "lightning", SimpleNamespace())
        monkeypatch.setitem(sys.modules, "lightning.pytorch", SimpleNamespace(Callback=object))
    from shoestring.integrations.lightning import tuning_callback

    _, tuning = training(Always())
    seen = []
    callback = tuning_callback(tuning, lambda module, config: seen.append(config))
    for index in range(3):
        callback.on_train_batch_start(None, None, None, index)
        callback.on_train_batch_end(None, None, None, None, index)
    assert len(seen) == tuning.tuner.looks == 3
    _, other = training(Always())
    tuning_callback(other, lambda module, config: None).load_state_dict(callback.state_dict())
    assert other.tuner.looks == 3
