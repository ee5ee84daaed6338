"""The contract of a log: it appends at the expected position or not at all, and reads what it appended."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from shoestring.core.event_log import EventLog, HasAdvisoryLock, SharedLog
from shoestring.core.events import (
    Adopted,
    Budgeted,
    Closed,
    Event,
    Granted,
    Noted,
    Opened,
    Released,
    Reported,
    Stopped,
    to_json,
)
from shoestring.errors import Conflict, CorruptLog, StorageError

OPENED = Opened(0.0, {"hyperparameters": []}, {"class": "x"}, {"steps": 3}, "min", None, 0)
REPORTED = Reported(1.5, 0, 1, 0.25, cost=2.0, metrics={"accuracy": 0.5})
BUDGETED = Budgeted(1700000002.0, {"steps": 5, "cost": 0.3})

# One event of each kind, with values that are easily lost on the way to a file and back.
EVERY_KIND: tuple[Event, ...] = (
    Granted(
        1700000000.123456, 0, 0, 0, 2**31 - 1, 0, 9, 'a reason with "quotes", \n and ε', "host/1/2/3",
        config={"lr": 0.1 + 0.2, "tiny": 5e-324, "act": "tanh", "on": True, "layers": [8, 8], "none": None},
        goal=27, explanation={"why": "read me"}, state={"kind": "State", "rung": 3},
        sampler_state={"kind": "Other", "mean": [0.5, 1e300]}, reserved=0.1, planned=True,
    ),
    Reported(1700000000.25, 0, 1, -0.0, -1.5, 1e-300, 2.0, {"up": math.inf, "down": -math.inf, "none": math.nan}),
    Adopted(1700000001.0, 0, "host@place/4/5/6", 1, 0.75, 2, "ValueError: 'ü'\n", 1, -86400.5),
    Released(1700000001.25, 0, "by hand"),
    Closed(1700000001.5, 0, "failed", "ValueError: 'ü'\n", 1, 0.5, 0.25, 0.125),
    Stopped(1700000001.75, "enough"),
    Noted(1700000001.75, 0, ("it \n 'diverged'", "ü"), {"git": "1a2b", "sizes": [1, 2.5], "none": None}),
    Noted(1700000001.75, None, ("a note",), None, ("one", "two")),
    Reported(1700000001.8, 0, 2, 0.5, details={"text": "nan", "table": [[1], {"a": True}]}),
    BUDGETED,
)  # fmt: skip


def check_log(open_again: Callable[[], EventLog], damage: Callable[[int, int], None] | None = None) -> None:
    """``open_again`` opens the same storage, empty at first, each time it is called, from other threads too.

    For a log that outlives its process, ``damage(study, position)`` changes the stored reading at that position.
    """
    with no_conflict():
        for law in LOG_LAWS.values():
            law(open_again)
        if damage is not None:
            check_damage(open_again, damage)


@contextmanager
def no_conflict() -> Iterator[None]:
    """Take a conflict where there is none for a broken law."""
    try:
        yield
    except Conflict as error:
        raise AssertionError(f"the log refused a name or a position that is free: {error}") from error


def check_studies(open_again: Callable[[], EventLog]) -> None:
    """Studies are listed oldest first, found by name, and created once, from any handle."""
    log = open_again()
    assert log.studies() == [], "the storage is not empty at first"
    assert log.find("b") is None, "a study was found that was never created"
    numbers = {name: log.create(name, OPENED) for name in ("b", "a")}
    assert numbers["a"] != numbers["b"], "two studies have the same number"
    for handle in (log, open_again()):
        assert handle.studies() == ["b", "a"], "the studies are not listed oldest first"
        assert {name: handle.find(name) for name in numbers} == numbers, "a study is not found by its name"
        assert handle.find("A") is None, "a study was found by another name"
        _expect_refusal("a second study of the same name", handle.create, "a", OPENED)
    assert log.studies() == ["b", "a"], "a study that was refused is listed"
    assert log.directory() == open_again().directory(), "the files of trials have no fixed place"


def check_append(open_again: Callable[[], EventLog]) -> None:
    """Check that events are read as appended, in order, from any position, for this study alone."""
    log = open_again()
    study, other = log.create("append", OPENED), log.create("another", OPENED)
    log.append(study, [REPORTED], 1)
    _expect_refusal("a position that is taken", log.append, study, [REPORTED], 1)
    _expect_refusal("a second first event", log.append, study, [OPENED], 0)
    log.append(study, [Budgeted(2.0, {"steps": 5}), REPORTED, Budgeted(2.0, {"steps": 6})], 2)
    expected: list[Event] = [OPENED, REPORTED, Budgeted(2.0, {"steps": 5}), REPORTED, Budgeted(2.0, {"steps": 6})]
    for handle in (log, open_again()):
        for start in range(len(expected) + 2):
            _same(handle.read(study, start), expected[start:], f"what was read from position {start}")
        _same(handle.read(other, 0), [OPENED], "studies leak into each other: what was read from another study")


def check_no_gap(open_again: Callable[[], EventLog]) -> None:
    """An append demands the event before it: a position beyond the end is refused."""
    log = open_again()
    study = log.create("no gap", OPENED)
    try:
        log.append(study, [REPORTED], 2)
    except (Conflict, StorageError):
        _same(open_again().read(study, 0), [OPENED], "an append after a gap was kept: what was read")
    else:
        raise AssertionError("the log accepted a position after a gap")


def check_every_kind(open_again: Callable[[], EventLog]) -> None:
    """No kind of event, and no value, is changed or lost."""
    log = open_again()
    study = log.create("every kind", OPENED)
    for position, event in enumerate(EVERY_KIND, 1):
        log.append(study, [event], position)
    for handle in (log, open_again()):
        _same(handle.read(study, 0), [OPENED, *EVERY_KIND], "what was read")


def check_all_or_none(open_again: Callable[[], EventLog]) -> None:
    """Several events are appended together or not at all."""
    log = open_again()
    study = log.create("all or none", OPENED)
    log.append(study, [REPORTED], 1)
    _expect_refusal("several events at a taken position", log.append, study, [BUDGETED, REPORTED], 1)
    _same(open_again().read(study, 0), [OPENED, REPORTED], "a refused append left something behind: what was read")
    unwritable = Reported(2.0, 0, 2, 0.5, metrics={"model": object()})  # type: ignore[dict-item]
    try:
        log.append(study, [REPORTED, unwritable], 2)
    except Exception:  # whatever the log says of a value that it cannot write
        _same(open_again().read(study, 0), [OPENED, REPORTED], "half of an append was kept: what was read")


def check_ownership(open_again: Callable[[], EventLog]) -> None:
    """A list that was appended or read belongs to the caller, who may change it."""
    log = open_again()
    study, batch = log.create("ownership", OPENED), list[Event]([REPORTED, BUDGETED])
    log.append(study, batch, 1)
    expected: list[Event] = [OPENED, *batch]
    batch.clear()
    _same(log.read(study, 0), expected, "the caller's list was kept: what was read")
    log.read(study, 0).clear()
    _same(log.read(study, 0), expected, "the log's own list was handed out: what was read")


def check_two_handles(open_again: Callable[[], EventLog]) -> None:
    """Two users of one storage see each other's events, and only one of them gets a position."""
    one, two = open_again(), open_again()
    study = one.create("two handles", OPENED)
    assert two.find("two handles") == study, "a study created by one user is not seen by another"
    for position in range(1, 9, 2):
        _same(two.read(study, position), [], "what was read beyond the end")
        one.append(study, [REPORTED], position)
        _expect_refusal("a position that another user has taken", two.append, study, [REPORTED], position)
        _same(two.read(study, position), [REPORTED], "one user's event, read by another,")
        two.append(study, [BUDGETED], position + 1)
        _same(one.read(study, position + 1), [BUDGETED], "one user's event, read by another,")


def check_damage(open_again: Callable[[], EventLog], damage: Callable[[int, int], None]) -> None:
    """A stored event that was changed from outside is an error that names it, and no other study is affected."""
    log = open_again()
    study, other = log.create("damaged", OPENED), log.create("unharmed", OPENED)
    for number in (study, other):
        log.append(number, [BUDGETED, REPORTED, BUDGETED], 1)
    damage(study, 2)
    named: object = "none: it was not noticed"
    try:
        open_again().read(study, 0)
    except CorruptLog as error:
        named = error.event
    assert named == 2, f"event 2 was changed from outside, and the event that the log named is {named}"
    _same(open_again().read(other, 0), [OPENED, BUDGETED, REPORTED, BUDGETED], "after damage, another study")


def check_heartbeats(open_again: Callable[[], EventLog]) -> None:
    """A log that keeps heartbeats keeps the last one of each worker of each study, with its age."""
    one, two = open_again(), open_again()
    if not isinstance(one, SharedLog) or not isinstance(two, SharedLog):
        return
    study, other = one.create("alive", OPENED), one.create("silent", OPENED)
    one.beat(study, "a")
    one.beat(study, "b")
    first = two.beats(study)
    assert first.keys() == {"a", "b"}, f"heartbeats: a and b sent one, and the log has {sorted(first)}"
    assert not two.beats(other), "heartbeats: a study has the heartbeats of another one"
    time.sleep(0.02)
    one.beat(study, "a")
    again = two.beats(study)
    assert again["b"][0] == first["b"][0], "heartbeats: the heartbeat of another worker was changed"
    assert again["a"][0] > first["a"][0], "heartbeats: the time of the second one is not later"
    assert again["a"][1] < again["b"][1] < 60, "heartbeats: the ages do not belong to the last heartbeats"


def check_advisory_lock(open_again: Callable[[], EventLog]) -> None:
    """An advisory lock ends with its block or with an append, and keeps no other user from appending."""
    one, two = open_again(), open_again()
    if not isinstance(one, HasAdvisoryLock) or not isinstance(two, HasAdvisoryLock):
        return
    study = one.create("advisory lock", OPENED)
    with one.advisory_lock(study):
        pass
    with two.advisory_lock(study):
        two.append(study, [REPORTED], 1)
    with one.advisory_lock(study):
        _same(one.read(study, 1), [REPORTED], "advisory lock: what its holder read")
        two.append(study, [BUDGETED], 2)
        _expect_refusal(
            "under the advisory lock, a position that another user has taken", one.append, study, [REPORTED], 2
        )
        _same(one.read(study, 2), [BUDGETED], "advisory lock: what its holder read after a conflict")
        one.append(study, [REPORTED], 3)
    _same(open_again().read(study, 0), [OPENED, REPORTED, BUDGETED, REPORTED], "advisory lock: what was read last")


def check_race(open_again: Callable[[], EventLog], users: int = 4, rounds: int = 10) -> None:
    """Of several users who append at the same position at the same moment, exactly one succeeds."""
    study = open_again().create("race", OPENED)
    barrier, errors = threading.Barrier(users), list[BaseException]()
    won: list[list[int]] = [[] for _ in range(users)]

    def run(user: int) -> None:
        try:
            log = open_again()
            for position in range(1, rounds + 1):
                barrier.wait(60)
                try:
                    log.append(study, [Budgeted(0.0, {"steps": 1 + user})], position)
                except Conflict:
                    continue
                won[user].append(position)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(user,)) for user in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    winners = sorted((position, user) for user in range(users) for position in won[user])
    assert [position for position, _ in winners] == list(range(1, rounds + 1)), (
        "a race: a position was given to several users, or to none"
    )
    expected = [Budgeted(0.0, {"steps": 1 + user}) for _, user in winners]
    _same(open_again().read(study, 1), expected, "a race: what was read is not what the winners appended; it")


LOG_LAWS: dict[str, Callable[[Callable[[], EventLog]], None]] = {
    "studies": check_studies,
    "append": check_append,
    "every kind": check_every_kind,
    "all or none": check_all_or_none,
    "ownership": check_ownership,
    "two handles": check_two_handles,
    "race": check_race,
    "heartbeats": check_heartbeats,
    "advisory lock": check_advisory_lock,
    "no gap": check_no_gap,
}


def _same(found: Sequence[Event], expected: Sequence[Event], what: str) -> None:
    """Compares all that is written, NaN included, which differs from itself."""
    shown = [_as_text(event) for event in found]
    assert shown == [_as_text(event) for event in expected], f"{what} is not what was appended: {shown}"


def _as_text(event: Event) -> str:
    return f"{event.kind} {event.at!r} {json.dumps(json.loads(to_json(event)), sort_keys=True)}"


def _expect_refusal(what: str, action: Callable[..., object], *arguments: object) -> None:
    try:
        action(*arguments)
    except Conflict:
        return
    raise AssertionError(f"the log accepted {what}")
