"""Broken logs, each of which the contract suite must refuse, by what it says of them."""

import time
from copy import deepcopy
from dataclasses import replace

import pytest

from shoestring.core.events import Reported, from_json, to_json
from shoestring.errors import Conflict
from shoestring.logs.memory import MemoryLog
from shoestring.testing import check_log


class Good(MemoryLog):
    """A log in memory with the events of its studies at hand; what the mutants below are made of."""

    def size(self, study):
        return len(self.read(study, 0))

    def put(self, study, events):
        MemoryLog.append(self, study, events, self.size(study))


class TakesEverything(Good):
    def append(self, study, events, expect):
        self.put(study, events)


class IgnoresConflicts(Good):
    def append(self, study, events, expect):
        if self.size(study) == expect:
            self.put(study, events)


class LeavesGaps(Good):
    def append(self, study, events, expect):
        if self.size(study) > expect:
            raise Conflict("taken")
        self.put(study, events)


class HalfABatch(Good):
    """Skips the event whose position is taken and keeps the others."""

    def append(self, study, events, expect):
        taken = self.size(study) - expect
        self.put(study, events[taken:] if taken else events)
        if taken:
            raise Conflict("taken")


class OneByOne(Good):
    """Writes as it goes, so that an event that cannot be written leaves those before it behind."""

    def append(self, study, events, expect):
        for position, event in enumerate(events, expect):
            to_json(event)
            super().append(study, [event], position)


class IgnoresTheStart(Good):
    def read(self, study, start):
        return super().read(study, 0)


class StartsTooLate(Good):
    def read(self, study, start):
        return super().read(study, start and start + 1)


class OneStudyForAll(Good):
    def append(self, study, events, expect):
        super().append(0, events, expect)


class LeaksIntoTheNext(Good):
    def append(self, study, events, expect):
        super().append(study, events, expect)
        if study + 1 < len(self.studies()):
            self.put(study + 1, events)


class CreatesTwice(Good):
    def create(self, name, opened):
        return super().create(name if self.find(name) is None else f"{name} ", opened)


class ListsByName(Good):
    def studies(self):
        return sorted(super().studies())


class FindsAnything(Good):
    def find(self, name):
        return next((i for i, known in enumerate(self.studies()) if known.lower() == name.lower()), None)


class HandsOutItsList(Good):
    def read(self, study, start):
        held = self._events[study]
        return held if start == 0 else held[start:]


class KeepsTheCallersList(Good):
    def append(self, study, events, expect):
        super().append(study, [], expect)
        self._events[study] = _Chained(self._events[study], events)


class _Chained(list):
    """A list that shares its tail with another one."""

    def __init__(self, head, tail):
        self.head, self.tail = head, tail

    def __len__(self):
        return len(self.head) + len(self.tail)

    def __getitem__(self, place):
        return [*self.head, *self.tail][place]

    def __iter__(self):
        return iter([*self.head, *self.tail])


class Reorders(Good):
    def append(self, study, events, expect):
        super().append(study, sorted(events, key=lambda event: event.kind, reverse=True), expect)


class RoundsTime(Good):
    def append(self, study, events, expect):
        super().append(study, [replace(event, at=round(event.at, 3)) for event in events], expect)


class FiniteMetrics(Good):
    """JSON has no NaN, so it is left out."""

    def append(self, study, events, expect):
        super().append(study, [self.finite(event) for event in events], expect)

    def finite(self, event):
        if not isinstance(event, Reported) or not event.metrics:
            return event
        finite = {name: m for name, m in event.metrics.items() if isinstance(m, float) and abs(m) < float("inf")}
        return replace(event, metrics=finite)


class ForgetsBounds(Good):
    def append(self, study, events, expect):
        super().append(study, [replace(e, low=None) if isinstance(e, Reported) else e for e in events], expect)


class OnlyText(Good):
    """Keeps ASCII only."""

    def append(self, study, events, expect):
        bodies = [(e.kind, e.at, to_json(e).replace("\\u03b5", "?")) for e in events]
        super().append(study, [from_json(*body, 0) for body in bodies], expect)


class MovesItsFiles(Good):
    def directory(self):
        return super().directory() / str(time.monotonic_ns())


# Checks the position and writes in two steps, with time for another in between.
class ChecksThenWrites(Good):
    def append(self, study, events, expect):
        if self.size(study) != expect:
            raise Conflict("taken")
        time.sleep(0.002)
        self.put(study, events)


class SwallowsRaces(Good):
    """The second of two writers is told that it went well."""

    def append(self, study, events, expect):
        try:
            super().append(study, events, expect)
        except Conflict:
            if study < 6:
                raise


SHARED = {
    TakesEverything: "accepted a position that is taken",
    IgnoresConflicts: "accepted a position that is taken",
    LeavesGaps: "accepted a position after a gap",
    HalfABatch: "left something behind",
    OneByOne: "half of an append",
    IgnoresTheStart: "read from position 1 ",
    StartsTooLate: "read from position 1 ",
    OneStudyForAll: "not what was appended",
    LeaksIntoTheNext: "studies leak|not what was appended",
    CreatesTwice: "a second study of the same name",
    ListsByName: "oldest first",
    FindsAnything: "by another name",
    HandsOutItsList: "own list was handed out",
    KeepsTheCallersList: "caller's list was kept",
    Reorders: "not what was appended",
    RoundsTime: "not what was appended",
    FiniteMetrics: "not what was appended",
    ForgetsBounds: "not what was appended",
    OnlyText: "not what was appended",
    MovesItsFiles: "fixed place",
    ChecksThenWrites: "a race",
    SwallowsRaces: "a race|another user has taken",
}


@pytest.mark.parametrize("mutant", SHARED, ids=lambda mutant: mutant.__name__)
def test_a_broken_log_is_refused(mutant):
    log = mutant()
    with pytest.raises(AssertionError, match=SHARED[mutant]):
        check_log(lambda: log)


class Handle:
    """A user's own view of a storage that all share."""

    def __init__(self, shared):
        self.shared = shared

    def __getattr__(self, name):
        return getattr(self.shared, name)


class NotDurable(Handle):
    """A broken log: appended events stay with the handle."""

    def __init__(self, shared):
        super().__init__(deepcopy(shared))


class KeepsItsOwnCount(Handle):
    """It asks the storage for the length once, and then counts what it appended itself."""

    def __init__(self, shared):
        super().__init__(shared)
        self.sizes = {}

    def append(self, study, events, expect):
        if self.sizes.setdefault(study, self.shared.size(study)) != expect:
            raise Conflict("taken")
        self.shared.put(study, events)
        self.sizes[study] += len(events)


class ReadsFromACache(Handle):
    """A broken log: events are read once, and later ones never."""

    def __init__(self, shared):
        super().__init__(shared)
        self.known = {}

    def read(self, study, start):
        return self.known.setdefault(study, self.shared.read(study, 0))[start:]


class KeepsNewStudiesToItself(Handle):
    def __init__(self, shared):
        super().__init__(shared)
        self.names = shared.studies()

    def studies(self):
        return self.names

    def create(self, name, opened):
        number = self.shared.create(name, opened)
        self.names.append(name)
        return number

    def find(self, name):
        return self.shared.find(name) if name in self.names else None


HANDLES = {
    NotDurable: "oldest first|fixed place",
    KeepsItsOwnCount: "a position that is free|another user has taken",
    ReadsFromACache: "not what was appended",
    KeepsNewStudiesToItself: "not seen by another|oldest first",
}


@pytest.mark.parametrize("mutant", HANDLES, ids=lambda mutant: mutant.__name__)
def test_a_log_whose_users_do_not_see_each_other_is_refused(mutant):
    shared = Good()
    with pytest.raises(AssertionError, match=HANDLES[mutant]):
        check_log(lambda: mutant(shared))


def test_the_log_that_the_mutants_are_made_of_is_accepted():
    log = Good()
    check_log(lambda: Handle(log))


def test_a_log_that_does_not_notice_damage_is_refused():
    log = Good()

    def damage(study, position):
        log._events[study][position] = replace(log._events[study][position], value=9.0)

    with pytest.raises(AssertionError, match="not noticed"):
        check_log(lambda: log, damage)
