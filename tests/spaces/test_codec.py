"""The codec: configurations to the unit cube and back, conditions, clauses, priors."""

import math

import ConfigSpace as CS  # noqa: N817  (short, and it is used in every second line)
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError
from shoestring.spaces.codec import Codec
from shoestring.spaces.serialisation import deserialise, differing_parameter, serialise


def full_space():
    space = CS.ConfigurationSpace()
    kind = CS.Categorical("kind", ["a", "b", True, None, 1.5])
    size = CS.Integer("size", (1, 100), log=True)
    extra = CS.Float("extra", (-1.0, 1.0))
    deep = CS.Float("deep", (1e-5, 1e5), log=True)
    space.add(
        [kind, size, extra, deep, CS.OrdinalHyperparameter("grade", ["low", "mid", "high"]), CS.Constant("fixed", 7)]
    )
    space.add([CS.EqualsCondition(extra, kind, "a"), CS.GreaterThanCondition(deep, extra, 0.0)])
    space.add(CS.ForbiddenAndConjunction(CS.ForbiddenEqualsClause(kind, "b"), CS.ForbiddenEqualsClause(size, 3)))
    return space


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=5, max_size=5))
def test_decoding_what_was_encoded_gives_the_same_configuration(point):
    codec = Codec(full_space())
    config = codec.decode(point)
    again = codec.decode(np.nan_to_num(codec.encode(config), nan=0.5))
    assert again.keys() == config.keys()
    for name, value in config.items():
        assert type(again[name]) is type(value)
        assert again[name] == (pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_samples_are_what_configspace_allows(seed):
    space = full_space()
    codec = Codec(space)
    config = codec.sample(generator(seed, 0, "test"))
    CS.Configuration(space, values=config)  # raises if inactive, forbidden or out of range
    codec.check(config)
    assert all(type(value) in (int, float, str, bool, type(None)) for value in config.values())


def test_every_integer_and_choice_has_equal_room():
    codec = Codec(ss.space(k=(1, 4), c=["a", "b", "c"]))
    rng = generator(0, 0, "room")
    drawn = [codec.sample(rng) for _ in range(6000)]
    for name, values in (("k", [1, 2, 3, 4]), ("c", ["a", "b", "c"])):
        counts = [sum(config[name] == value for config in drawn) for value in values]
        assert min(counts) > 0.85 * 6000 / len(values)


def test_the_spaces_own_priors_are_drawn_from():
    space = CS.ConfigurationSpace()
    space.add(CS.NormalFloatHyperparameter("n", mu=2.0, sigma=0.1, lower=-10, upper=10))
    space.add(CS.CategoricalHyperparameter("c", ["rare", "common"], weights=[1, 9]))
    rng = generator(0, 0, "prior")
    drawn = [Codec(space).sample(rng) for _ in range(400)]
    assert abs(np.mean([config["n"] for config in drawn]) - 2.0) < 0.05
    assert sum(config["c"] == "rare" for config in drawn) < 100


def test_a_space_survives_being_written():
    space = full_space()
    body = serialise(space)
    assert serialise(deserialise(body)) == body
    assert differing_parameter(body, serialise(full_space())) is None
    space.add(CS.ForbiddenEqualsClause(space["size"], 5))
    assert "forbiddens" in differing_parameter(body, serialise(space))


def test_check_names_the_parameter():
    codec = Codec(full_space())
    good = {"kind": "b", "size": 5, "grade": "low", "fixed": 7}
    codec.check(good)
    for change, words in (
        ({"speed": 3}, "'speed' is not a parameter"),
        ({"size": 0}, "'size' is 0"),
        ({"kind": "a"}, "'extra' is missing"),
        ({"extra": 0.5}, "'extra' is inactive"),
        ({"size": 3}, "forbidden"),
    ):
        with pytest.raises(SpaceError, match=words):
            codec.check({**good, **change})


def test_choices_may_be_lists_and_arrive_as_lists():
    study = ss.Study({"layers": [[64], [64, 32]]}, budget="9 evaluations", method="random")
    given = []
    while (grant := study.ask()) is not None:
        given.append(grant.config["layers"])
        study.tell(grant, 1.0)
    assert sorted(given) == [[64], [64, 32]]


def test_the_grid_has_every_combination_once():
    configs = list(Codec(ss.space(a=[1, 2], b=(1, 3), c=(0.0, 1.0))).grid(5))
    assert len(configs) == 2 * 3 * 5 == len({tuple(c.items()) for c in configs})
    assert {c["c"] for c in configs} == {0.0, 0.25, 0.5, 0.75, 1.0}
    with pytest.raises(SpaceError, match="lower resolution"):
        list(Codec(ss.space(**{f"x{i}": (0.0, 1.0) for i in range(9)})).grid(5))


def test_inactive_parameters_do_not_multiply_a_grid():
    space = CS.ConfigurationSpace()
    kind, extra = CS.Categorical("kind", ["plain", "fancy"]), CS.Integer("extra", (1, 4))
    space.add([kind, extra, CS.EqualsCondition(extra, kind, "fancy")])
    assert len(list(Codec(space).grid(9))) == 1 + 4


def test_short_forms():
    space = ss.space(
        lr=ss.log(1e-4, 1.0), width=ss.log(8, 256), k=(1, 4), x=(0.0, 1.0), act=["relu"], own=CS.Float("own", (0, 2))
    )
    assert (space["lr"].log, space["width"].log, space["width"].upper) == (True, True, 256)
    assert (space["k"].lower, space["x"].upper, space["own"].upper) == (1, 1.0, 2)
    for bad in (
        {"a": (1, 2, 3)},
        {"a": ("x", "y")},
        {"a": {1, 2}},
        {"a": ss.log(-1.0, 1.0)},
        {"a": (True, False)},
        {"a": []},
    ):
        with pytest.raises(SpaceError, match="'a'"):
            ss.space(**bad)


def test_nan_marks_what_is_inactive():
    codec = Codec(full_space())
    point = codec.encode({"kind": "b", "size": 5, "grade": "low", "fixed": 7})
    assert math.isnan(point[codec.names.index("extra")])
    assert not math.isnan(point[codec.names.index("size")])


@pytest.mark.parametrize(
    "parameter",
    [[{"a": 1}, {"a": 2}], [1.0, math.inf], [1.0, math.nan], [[1, math.inf], [2]], (0.0, math.inf), (-math.inf, 1.0),
     (-1.7e308, 1.7e308), ss.log(1.0, math.inf), CS.Categorical("x", [0.5, math.inf])],
)  # fmt: skip
def test_what_no_log_can_hold_is_no_parameter(parameter):
    with pytest.raises(SpaceError, match="'x'"):
        ss.space(x=parameter)
