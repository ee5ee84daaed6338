"""Every executor holds to the contract."""

import pytest

from shoestring.executors import Inline, Processes, Simulated
from shoestring.testing import check_executor


@pytest.mark.parametrize(
    "executor",
    [Inline(), Inline(alive=1), Simulated(1), Simulated(5), Processes(2), Processes(3, alive=1)],
    ids=repr,
)
def test_contract(executor):
    check_executor(executor)
