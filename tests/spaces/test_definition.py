"""The short ways to write a space: what they become, and that they survive being written."""

import json

import ConfigSpace as CS  # noqa: N817
import numpy as np
import pytest
from scipy import stats

import shoestring as ss
from shoestring.errors import SpaceError
from shoestring.spaces.codec import Codec
from shoestring.spaces.serialisation import deserialise, serialise

FORMS = {
    "constant": ss.space(x=(0.0, 1.0), c="adam", n=3, flag=True, none=None),
    "range": ss.space(width=range(16, 257, 16)),
    "steps": ss.space(width=ss.ints(16, 256, step=16, log=True)),
    "arrays": ss.space(rates=np.logspace(-4, 0, 5), sizes=np.array([1, 5, 25]), names=np.array(["a", "b"])),
    "scipy": ss.space(u=stats.uniform(2, 3), l=stats.loguniform(1e-4, 1e2), i=stats.randint(1, 9), n=stats.norm(10, 2)),
    "tuples": ss.space(layers=[(64,), (64, 32), ((1, 2), [3, 4])], x=(0.0, 1.0)),
    "rules": ss.space(
        ss.when("c", kind=(1, 2)),
        ss.when("d", "size >= 3", kind=["a", "b"]),
        ss.when("d", "size == 2"),
        ss.forbid("low > high"),
        ss.forbid("size >= high", kind="a"),
        ss.forbid(kind=[(1, 2)], size=4),
        kind=[(1, 2), "a", "b"],
        size=(1, 4),
        c=(0.0, 1.0),
        d=(0.0, 1.0),
        low=(1, 9),
        high=(1, 9),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_space_survives_being_written(form):
    body = serialise(FORMS[form])
    assert json.loads(json.dumps(body)) == body
    here, there = Codec(FORMS[form]), Codec(deserialise(body))
    assert serialise(there.space) == body
    for seed in range(50):
        config = here.sample(np.random.default_rng(seed))
        assert there.sample(np.random.default_rng(seed)) == config
        here.check(config), there.check(config)
        assert there.fits(config)
        assert there.decode(there.encode(config)) == config


def test_what_the_forms_become():
    space = ss.space(w=range(16, 257, 16), k=range(3, 9), one=range(5, 6), down=range(9, 0, -2), r=np.array([3, 1, 2]))
    assert list(space["w"].sequence) == list(range(16, 257, 16))
    assert (space["k"].lower, space["k"].upper) == (3, 8)
    assert space["one"].value == 5
    assert list(space["down"].sequence) == [1, 3, 5, 7, 9]
    assert isinstance(space["r"], CS.CategoricalHyperparameter)
    drawn = FORMS["scipy"]
    assert (drawn["u"].lower, drawn["u"].upper) == (2.0, 5.0)
    assert (drawn["l"].log, drawn["i"].lower, drawn["i"].upper) == (True, 1, 8)
    assert (drawn["n"].lower, drawn["n"].upper, drawn["n"].mu) == (4.0, 16.0, 10.0)
    constants = Codec(FORMS["constant"])
    assert constants.dimensions == 1
    assert constants.decode([0.5]) == {"x": 0.5, "c": "adam", "n": 3, "flag": True, "none": None}


def test_steps_on_a_logarithmic_scale_have_the_room_of_their_logarithms():
    codec = Codec(FORMS["steps"])
    places = [codec.encode({"width": width})[0] for width in (16, 32, 64, 128, 256)]
    assert np.allclose(np.diff(places), np.diff(places)[0])
    drawn = [codec.sample(np.random.default_rng(seed))["width"] for seed in range(400)]
    assert np.mean(np.array(drawn) <= 64) > 0.45  # it would be a quarter on a linear scale
    assert [config["width"] for config in codec.everything] == list(range(16, 257, 16))


def test_a_logarithmic_range_of_integers_is_listed_whole():
    assert [config["n"] for config in Codec(ss.space(n=ss.ints(1, 64, log=True))).everything] == list(range(1, 65))


def test_tuples_stay_tuples_in_a_stored_study(tmp_path):
    space, seen = ss.space(layers=[(64,), (64, 32), (8, (4, 2))], kernel=[(3, 3), [5, 5]]), []

    def objective(trial):
        seen.append(trial.config)
        return float(len(trial.config["layers"]))

    options = {"storage": tmp_path / "study.db", "method": "random"}
    ss.tune(objective, space, budget="3 evaluations", **options)
    study = ss.tune(objective, space, budget="6 evaluations", **options)
    assert {type(config["layers"]) for config in seen} == {tuple}
    assert {config["layers"] for config in seen} == {(64,), (64, 32), (8, (4, 2))}
    assert {type(config["kernel"]) for config in seen} == {tuple, list}
    assert [trial.config for trial in ss.Study.load(tmp_path / "study.db").trials] == seen
    assert study.verify()


def test_rules_are_kept():
    codec, kinds = Codec(FORMS["rules"]), set()
    for seed in range(300):
        config = codec.sample(np.random.default_rng(seed))
        kinds.add(config["kind"])
        assert ("c" in config) == (config["kind"] == (1, 2))
        assert ("d" in config) == ((config["size"] >= 3 and config["kind"] in ("a", "b")) or config["size"] == 2)
        assert config["low"] <= config["high"]
        assert not (config["kind"] == "a" and config["size"] >= config["high"])
        assert not (config["kind"] == (1, 2) and config["size"] == 4)
    assert kinds == {(1, 2), "a", "b"}


def test_rules_leave_the_parameters_of_the_user_alone():
    own = CS.Integer("low", (1, 9), default=9)
    space = ss.space(ss.forbid("low > high"), low=own, high=(1, 9))
    assert own.default_value == 9
    assert len(ss.space(space, ss.forbid(extra=1), extra=(0, 3)).forbidden_clauses) == 2


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([ss.when("nothing", a=1)], "'nothing', which is not a parameter"),
        ([ss.when("b", a=99)], "value 99"),
        ([ss.when("b", "a is 3")], "not a comparison"),
        ([ss.when("b", "a > 300")], "'300'"),
        ([ss.forbid("a > 3")], "compares a parameter to a number"),
        ([ss.when("a", b=1), ss.when("b", a=1)], "they form a circle"),
        ([ss.forbid("a != b")], "equal values"),
        ([ss.forbid(a=[1, 2, 3, 4])], "leave almost nothing"),
        (["a > b"], "not a part of a space"),
    ],
)
def test_rules_that_cannot_be_say_why(rules, words):
    with pytest.raises(SpaceError, match=words):
        ss.space(*rules, a=(1, 4), b=(1, 4))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ss.ints(1, 9, step=0), "step is 0"),
        (ss.log(0, 1.0), "must be above 0"),
        (ss.ints(0, 9, log=True), "low >= 1"),
        (ss.ints(9, 1), "low end"),
        (range(0), "x"),
        (range(0, 10**9, 2), "plain range"),
        (np.zeros((2, 2)), "one dimension"),
        (stats.expon(), "not this expon"),
        (stats.loguniform(1, 2, loc=5), "not this"),
        (object(), "constant"),
    ],
)
def test_forms_that_cannot_be_say_why(spec, words):
    with pytest.raises(SpaceError, match=words):
        ss.space(x=spec, y=(0.0, 1.0))


def test_a_space_of_constants_has_nothing_to_tune():
    with pytest.raises(SpaceError, match="nothing to tune"):
        ss.space(lr=0.1)


def test_of_two_mappings_the_last_counts():
    space = ss.space({"x": (0, 1), "y": (0, 1)}, {"x": (0, 2)}, y=(0, 3))
    assert (space["x"].upper, space["y"].upper) == (2, 3)


def test_a_parameter_that_a_space_has_already_is_refused():
    for part in ({"x": (0, 2)}, ss.space(x=(0, 2))):
        with pytest.raises(SpaceError, match="'x' is given twice"):
            ss.space(ss.space(x=(0, 1)), part)
