"""Conditions and orders of trials, as a person types them."""

import pytest

import shoestring as ss
from shoestring.errors import ReadingError
from shoestring.views.selection import Condition, parse, row_of, select


@pytest.fixture(scope="module")
def study():
    space = {"rate": (0.0, 1.0), "act": ["relu", "tanh"], "value": (1, 9)}
    opened = ss.Study(space, budget="20 evaluations", method="random")
    for number in range(8):
        grant = opened.ask()
        if number == 3:
            opened.fail(grant, "too hot")
        else:
            opened.tell(grant, grant.config["rate"])
    return opened


def chosen(study, **options):
    return [trial.index for trial in select(study.trials, study.history.sign, **options)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("rate<0.1", Condition("rate", "<", 0.1)),
        (" rate >= 1e-3 ", Condition("rate", ">=", 0.001)),
        ("act != 'tanh'", Condition("act", "!=", "tanh")),
        ("state=failed", Condition("state", "=", "failed")),
    ],
)
def test_a_condition_is_a_column_a_comparison_and_a_value(text, condition):
    assert parse(text) == [condition]


@pytest.mark.parametrize("text", ["", "rate", "rate < ", "< 3", "rate < 1 < 2", "__import__('os')", "rate<1 and"])
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(ReadingError, match="is not a condition; write a column, one of <= >="):
        parse(text)


def test_conditions_select(study):
    rates = {trial.index: trial.config["rate"] for trial in study.trials}
    assert chosen(study, where="rate<0.5") == [index for index, rate in rates.items() if rate < 0.5]
    assert chosen(study, where="state=failed") == [3]
    assert chosen(study, where="rate<0.5 and act=relu, state!=failed") == [
        trial.index
        for trial in study.trials
        if trial.config["rate"] < 0.5 and trial.config["act"] == "relu" and trial.state != "failed"
    ]
    assert 3 not in chosen(study, where="recommended<=1")


def test_a_parameter_that_is_called_like_a_column_has_a_longer_name(study):
    assert row_of(study.trials[0], 1.0)["config.value"] == study.trials[0].config["value"]
    assert chosen(study, where="config.value>0") == list(range(8))


def test_trials_are_sorted_by_a_column_and_those_without_a_value_come_last(study):
    ordered = chosen(study, sort="recommended")
    losses = [trial.config["rate"] for trial in study.trials]
    assert ordered == [*sorted((i for i in range(8) if i != 3), key=losses.__getitem__), 3]
    assert chosen(study, sort="-recommended") == [*ordered[-2::-1], 3]
    assert chosen(study, sort="act")[0] == next(t.index for t in study.trials if t.config["act"] == "relu")


def test_what_cannot_be_compared_is_refused(study):
    with pytest.raises(ReadingError, match="there is no column 'speed'; there are trial, arm, state"):
        chosen(study, where="speed<3")
    with pytest.raises(ReadingError, match="there is no column 'speed'"):
        chosen(study, sort="-speed")
    with pytest.raises(ReadingError, match="texts have only = and !="):
        chosen(study, where="act<3")


def test_truths_are_written_as_in_python_or_json():
    study = ss.tune(lambda trial: 1.0, {"nesterov": [True, False]}, budget="2 evaluations", method="grid")
    for word in ("True", "true"):
        (found,) = select(study.trials, study.history.sign, where=f"nesterov={word}")
        assert found.config["nesterov"] is True
