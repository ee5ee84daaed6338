"""Values that count as readings, and the forms in which ``tell`` takes several."""

import math

import numpy as np
import pytest

from shoestring import Reading
from shoestring.core.goals import goals
from shoestring.core.readings import check_reading, readings_by_step
from shoestring.errors import ReadingError


@pytest.mark.parametrize("given", [0.5, np.float32(0.5), np.array(0.5), Reading(np.float64(0.5))], ids=repr)
def test_numbers_of_any_kind_become_floats(given):
    reading = check_reading(given)
    assert type(reading.value) is float
    assert reading == Reading(0.5)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (math.nan, "only finite numbers"),
        (-math.inf, "only finite numbers"),
        (10**400, "not a number"),
        ("0.5", "'0.5', not a number"),
        (None, "None, not a number"),
        (True, "True, not a number"),
        (Reading(1.0, low=2.0, high=0.0), "low bound 2 is above its high bound 0"),
        (Reading(1.0, high=math.nan), "high bound is nan"),
        (Reading(1.0, cost=-1), "a cost is not negative"),
        (Reading(1.0, model=object()), "metric 'model' is <object object"),
        (Reading(accuracy=0.9), "no value, only accuracy: say which one is tuned"),
        ([1.0] * 1000, r"\.\.\., not a number"),
    ],
)
def test_what_is_no_reading_is_refused(given, words):
    with pytest.raises(ReadingError, match=words):
        check_reading(given, goals())


def test_metrics_may_be_infinite_and_bounds_alone():
    assert check_reading(Reading(1, low=0, loss=math.inf)) == Reading(1.0, low=0.0, loss=math.inf)


@pytest.mark.parametrize(
    ("given", "by_step"),
    [
        (0.5, {5: 0.5}),
        (Reading(0.5), {5: Reading(0.5)}),
        ([3.0, 2.0], {3: 3.0, 4: 2.0}),
        (np.array([3.0, 2.0]), {3: 3.0, 4: 2.0}),
        ({np.int64(4): 1.0, 3: 2.0}, {3: 2.0, 4: 1.0}),
        ("text", {5: "text"}),
        ([], {}),
    ],
    ids=repr,
)
def test_forms(given, by_step):
    assert readings_by_step(2, 5, given) == by_step


@pytest.mark.parametrize("given", [{2: 1.0}, {6: 1.0}, [1.0] * 4])
def test_a_step_outside_of_the_grant_is_refused(given):
    with pytest.raises(ReadingError, match="runs from 3 to 5"):
        readings_by_step(2, 5, given)


def test_a_step_is_a_whole_number():
    with pytest.raises(ReadingError, match="'3' is not a step"):
        readings_by_step(2, 5, {"3": 1.0})


def test_a_tensor_is_detached_first_because_pytorch_warns_of_gradients():
    class Loss:
        def detach(self):
            return 0.5

        def __float__(self):
            raise AssertionError("a tensor with a gradient")

    assert check_reading(Loss()).value == 0.5
    assert check_reading(Reading(1.0, loss=Loss())).metrics == {"loss": 0.5}
