"""The contract suites as classes: one test for each law, and only that of a broken law is red."""

import re
import subprocess
import sys

import pytest

from shoestring.executors import Inline
from shoestring.samplers import Random
from shoestring.schedulers import ASHA
from shoestring.testing.contracts import ExecutorContract, SamplerContract, SchedulerContract

BROKEN = {
    "sampler": (
        """
from shoestring.samplers import Random
from shoestring.testing.contracts import SamplerContract

class GivesUp(Random):
    def propose(self, history, rng):
        return None if len(history.arms) in (3, 28) and not history.max_resource else super().propose(history, rng)

class TestGivesUp(SamplerContract):
    def make(self):
        return GivesUp()
""",
        {"finite spaces", "little to learn from"},
    ),
    "log": (
        """
import pytest
from shoestring.logs.memory import MemoryLog
from shoestring.testing.contracts import LogContract

class LeavesGaps(MemoryLog):
    def append(self, study, events, expect):
        super().append(study, events, expect if expect <= len(self.read(study, 0)) else len(self.read(study, 0)))

class TestLeavesGaps(LogContract):
    @pytest.fixture
    def open_again(self):
        log = LeavesGaps()
        return lambda: log
""",
        {"no gap"},
    ),
    "nothing": (
        """
from shoestring.testing.contracts import ExecutorContract

class TestNothing(ExecutorContract):
    pass
""",
        None,
    ),
}


class TestSampler(SamplerContract):
    def make(self):
        return Random()


class TestScheduler(SchedulerContract):
    def make(self):
        return ASHA()


class TestExecutor(ExecutorContract):
    def make(self):
        return Inline()


@pytest.mark.parametrize("what", BROKEN)
def test_each_broken_law_is_a_red_line_of_its_own(tmp_path, what):
    program, broken = BROKEN[what]
    (tmp_path / "test_own.py").write_text(program)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    red = set(re.findall(r"^FAILED .*\[([^\]]+)\]", done.stdout, re.MULTILINE))
    if broken is None:
        assert "define make(self)" in done.stdout
    else:
        assert red == broken, done.stdout
