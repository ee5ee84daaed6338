"""Accepted values can be written and loaded again; all others are refused with an error that says why."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.errors import BudgetError, MethodError, ShoestringError, SpaceError, StorageError

SPACE = {"x": (0.0, 1.0)}
WHOLE = st.one_of(st.integers(), st.sampled_from([2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400, 10**5000]))
NUMBERS = st.one_of(WHOLE, st.floats())
TEXT = st.text(st.characters(), max_size=9)
BUDGETS = st.dictionaries(st.sampled_from(["steps", "evaluations", "seconds", "cost"]), NUMBERS, min_size=1)
PLAIN = st.one_of(NUMBERS, TEXT, st.booleans(), st.none(), st.tuples(NUMBERS, TEXT))
CHOICES = st.lists(st.one_of(PLAIN, st.builds(np.array, st.lists(st.integers(0, 3), max_size=2))), max_size=4)
SPACES = st.dictionaries(TEXT, st.one_of(CHOICES, PLAIN, st.builds(ss.ints, WHOLE, WHOLE)), min_size=1, max_size=3)
READINGS = st.builds(
    lambda value, cost, metrics: ss.Reading(value, cost=cost, **{f"m{name}": m for name, m in metrics.items()}),
    NUMBERS,
    st.none() | NUMBERS,
    st.dictionaries(TEXT, NUMBERS, max_size=2),
)


def facts(study):
    return (
        study.history.opened,
        study.budget,
        [(repr(t.config), t.state, t.message, repr(t.readings)) for t in study.trials],
        study.history.queue,
        study.history.stopped,
    )


@settings(max_examples=150, deadline=None)
@given(
    space=st.one_of(st.just(SPACE), SPACES),
    budget=st.one_of(st.just({"steps": 30}), BUDGETS),
    max_resource=st.none() | WHOLE,
    seed=st.one_of(st.just(0), WHOLE),
    reading=st.one_of(st.just(0.5), READINGS),
    text=TEXT,
    again=st.one_of(st.just({"steps": 40}), BUDGETS),
)
def test_all_that_is_accepted_is_loaded_as_it_was(
    tmp_path_factory, space, budget, max_resource, seed, reading, text, again
):
    storage = tmp_path_factory.mktemp("accepted") / "a.db"
    try:
        study = ss.Study(
            space, budget=ss.Budget(**budget), max_resource=max_resource, seed=seed, method="random", storage=storage
        )
        if (grant := study.ask()) is not None:
            study.tell(grant, {min(grant.until, 3): reading})
        if (grant := study.ask()) is not None:
            study.fail(grant, text)
        study.stop(text or "enough")
        study.budget = ss.Budget(**again)
    except ShoestringError:
        if not storage.exists():
            return
        study = ss.Study.load(storage)
    assert facts(ss.Study.load(storage)) == facts(study)


@pytest.mark.parametrize("unit", ["steps", "evaluations"])
@pytest.mark.parametrize(
    "amount", [2**63, 2**64, 1e300, 10**400, 10**5000], ids=["2**63", "2**64", "float", "400 digits", "5000 digits"]
)
def test_a_budget_that_no_log_can_hold_is_refused(unit, amount):
    with pytest.raises(BudgetError, match=rf"{unit}=.* is not a budget"):
        ss.Budget(**{unit: amount})


@pytest.mark.parametrize("option", ["max_resource", "seed"])
def test_an_option_that_no_log_can_hold_is_refused(option, tmp_path):
    with pytest.raises(MethodError, match=rf"{option} is an int; it must be"):
        ss.Study(SPACE, budget="9 steps", storage=tmp_path / "a.db", **{option: 10**5000})
    assert not list(tmp_path.iterdir())


def test_a_max_resource_from_two_to_the_63_on_is_refused(tmp_path):
    with pytest.raises(MethodError, match=r"max_resource is 9223372036854775808; .* below 2\*\*63"):
        ss.Study(SPACE, budget="9 steps", max_resource=2**63, method="asha")
    study = ss.Study(SPACE, budget="9 steps", max_resource=2**63 - 1, method="asha", storage=tmp_path / "a.db")
    assert ss.Study.load(tmp_path / "a.db").history.opened == study.history.opened


@pytest.mark.parametrize(
    ("storage", "why"),
    [
        ("a" * 300 + ".db", "File name too long"),
        ("sqlite:///" + "a/" * 3000 + "a.db", "File name too long"),
        ("a\ud800.db", "cannot be written as UTF-8"),
        ("postgresql://ada:secret@localhost/a\ud800", "cannot be written as UTF-8"),
    ],
    ids=["long", "deep", "surrogate", "address"],
)
@pytest.mark.parametrize("use", [ss.Study.load, lambda storage: ss.Study(SPACE, budget="3 steps", storage=storage)])
def test_a_storage_with_an_impossible_name_is_refused(storage, why, use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=why) as found:
        use(storage)
    assert str(found.value).encode()
    assert "secret" not in str(found.value)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    "choices",
    [
        [np.array([1, 2]), np.array([3, 4])],
        [np.array([1, 2, 3])],
        [(1, np.array([1, 2])), (2, 3)],
        [1, 10**400],
        [1, 10**5000],
        ss.ints(1, 10**400, step=10**399),
    ],
    ids=["arrays", "one array", "in a tuple", "too large", "too long", "steps"],
)
def test_choices_that_no_log_can_hold_are_refused(choices):
    with pytest.raises(SpaceError, match=r"parameter 'x'.*(array|finite number)") as found:
        ss.space(x=choices)
    assert len(str(found.value)) < 400


@pytest.mark.parametrize("value", [10**400, np.array([1, 2]), [1], "a"], ids=["large", "array", "list", "text"])
def test_a_known_configuration_with_an_impossible_value_is_refused(value):
    study = ss.Study(SPACE, budget="3 evaluations", method="random")
    for give in (study.enqueue, lambda config: study.add(config, 0.5)):
        with pytest.raises(SpaceError, match="parameter 'x' is"):
            give({"x": value})


def test_asking_for_more_grants_than_a_machine_can_count():
    assert len(ss.Study(SPACE, budget="3 evaluations", method="random").ask(sys.maxsize + 1)) == 3


def test_a_target_beyond_all_numbers_is_refused():
    with pytest.raises(MethodError, match="target is 1000"):
        ss.tune(lambda trial: 0.5, SPACE, budget="3 evaluations", target=10**400, progress=False)
