"""The decisions of methods that only compare losses are those that were recorded.

A change that is meant to leave decisions alone leaves these digests alone, and ``tests/programs/record_decisions.py``
compares the other methods. A change of decisions goes into the changelog, and ``python -m
tests.test_recorded_decisions`` records the new ones.
"""

import json
from pathlib import Path

import pytest

from tests.programs.record_decisions import BY_COMPARISON, cases, digest

RECORDED = Path(__file__).with_suffix(".json")
CASES = {case: one for case, one in cases(BY_COMPARISON).items() if one[0] in BY_COMPARISON}


def recorded(case):
    """Twelve digits: the last bits of a logarithm depend on the machine."""
    name, setting = CASES[case]
    return digest(setting.decisions(name), "{:.12g}".format)


@pytest.mark.parametrize("case", CASES)
def test_decisions_are_as_recorded(case):
    assert recorded(case) == json.loads(RECORDED.read_text())[case]


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({case: recorded(case) for case in CASES}, indent=1) + "\n")
