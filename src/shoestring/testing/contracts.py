"""The contract suites as classes of pytest, with one test for each law. Inherit one, and say what is checked::

    from shoestring.testing.contracts import SamplerContract

    class TestMySampler(SamplerContract):
        def make(self):
            return MySampler()

A law that is broken is one failed test, named after the law. Needs pytest.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shoestring.core.composition import compose
from shoestring.core.decisions import Method, Sampler, Scheduler
from shoestring.core.event_log import EventLog
from shoestring.executors.base import Executor
from shoestring.samplers import Random
from shoestring.schedulers import Full
from shoestring.testing.components import SAMPLER_LAWS, SCHEDULER_LAWS
from shoestring.testing.executors import EXECUTOR_LAWS, check_executor_law
from shoestring.testing.laws import METHOD_LAWS, Play, possible_decisions
from shoestring.testing.logs import LOG_LAWS, check_damage, no_conflict


class MethodContract:
    """The laws of methods. ``make`` returns the method; it is played once for all of them."""

    _played: Play

    def make(self) -> Method:
        raise NotImplementedError("define make(self), which returns what is checked")

    def method(self) -> Method:
        return self.make()

    @classmethod
    def _play(cls) -> Play:
        if "_played" not in vars(cls):
            cls._played = Play(cls().method())
        return cls._played

    @pytest.mark.parametrize("law", METHOD_LAWS)
    def test_law(self, law: str) -> None:
        with possible_decisions():
            METHOD_LAWS[law](self._play())


class SamplerContract(MethodContract):
    """The laws of samplers, and the laws of methods with every configuration trained to the end."""

    def make(self) -> Sampler:  # type: ignore[override]
        raise NotImplementedError("define make(self), which returns what is checked")

    def method(self) -> Method:
        return compose(self.make(), Full())

    @pytest.mark.parametrize("law", SAMPLER_LAWS)
    def test_sampler_law(self, law: str) -> None:
        with possible_decisions():
            SAMPLER_LAWS[law](self.make())


class SchedulerContract(MethodContract):
    """The laws of schedulers, and the laws of methods with random configurations."""

    def make(self) -> Scheduler:  # type: ignore[override]
        raise NotImplementedError("define make(self), which returns what is checked")

    def method(self) -> Method:
        return compose(Random(), self.make())

    @pytest.mark.parametrize("law", SCHEDULER_LAWS)
    def test_scheduler_law(self, law: str) -> None:
        with possible_decisions():
            SCHEDULER_LAWS[law](self.make())


class LogContract:
    """The laws of logs. The fixture ``open_again`` returns a function that opens the same storage, empty at first.

    A log that outlives its process has a fixture ``damage`` too: a function of a study and a position, which changes
    the stored reading there.
    """

    @pytest.fixture
    def open_again(self) -> Callable[[], EventLog]:
        raise NotImplementedError("define a fixture open_again(self, ...), which returns a function that opens the log")

    @pytest.fixture
    def damage(self) -> Callable[[int, int], None] | None:
        return None

    @pytest.mark.parametrize("law", LOG_LAWS)
    def test_law(self, law: str, open_again: Callable[[], EventLog]) -> None:
        with no_conflict():
            LOG_LAWS[law](open_again)

    def test_damage(self, open_again: Callable[[], EventLog], damage: Callable[[int, int], None] | None) -> None:
        if damage is None:
            pytest.skip("this log ends with its process")
        check_damage(open_again, damage)


class ExecutorContract:
    """The laws of executors. ``make`` returns the executor."""

    def make(self) -> Executor:
        raise NotImplementedError("define make(self), which returns what is checked")

    @pytest.mark.parametrize("law", EXECUTOR_LAWS)
    def test_law(self, law: str) -> None:
        check_executor_law(law, self.make())
