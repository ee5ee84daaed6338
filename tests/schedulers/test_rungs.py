"""The ladder of steps at which trials pause."""

import pytest

from shoestring.schedulers.rungs import ladder


@pytest.mark.parametrize(("low", "high", "eta"), [(1, 81, 3), (2, 50, 3), (1, 7, 1.5), (5, 5, 3), (1, 100, 2)])
def test_ladders_rise_and_end_at_the_top(low, high, eta):
    rungs = ladder(low, high, eta)
    assert rungs[-1] == high
    assert list(rungs) == sorted(set(rungs))
    assert rungs[0] >= low
