"""Detecting workers that have died: workers of this process, of others, of processes that ended, of other hosts and
other containers.
"""

import os
import subprocess
import sys
import threading

import pytest

from shoestring.core import heartbeats, workers
from shoestring.core.heartbeats import Leases
from shoestring.core.workers import new_worker, process_is_gone, retire
from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.testing.logs import OPENED


def test_a_worker_of_this_process_lives_until_it_retires():
    one, two = new_worker(), new_worker()
    assert one != two
    assert process_is_gone(one) is False
    retire(one)
    assert (process_is_gone(one), process_is_gone(two)) == (True, False)


def test_a_process_that_ended_is_gone_and_another_with_its_number_is_another():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    host, pid, birth, _ = new_worker().split("/")
    assert process_is_gone(f"{host}/{process.pid}/{birth}/0")
    assert process_is_gone(f"{host}/{pid}/{int(birth or 0) + 1}/0")
    assert int(pid) == os.getpid()


def test_other_places_cannot_be_checked_and_nonsense_is_gone():
    assert process_is_gone("elsewhere@12345678/1/2/3") is None
    assert process_is_gone("simulated") is True
    assert process_is_gone("") is True


def test_a_new_host_name_is_still_the_same_place(monkeypatch):
    worker = new_worker()
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")
    assert process_is_gone(worker) is False
    assert new_worker().startswith("renamed@")


def test_two_pid_namespaces_with_one_host_name_are_two_places(monkeypatch):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    host, _, birth, _ = new_worker().split("/")
    ended = f"{host}/{process.pid}/{birth}/0"
    assert process_is_gone(ended) is True
    workers.place.cache_clear()
    monkeypatch.setattr(os, "readlink", lambda path: "pid:[4026532999]")
    try:
        assert process_is_gone(ended) is None, "its number means nothing here"
    finally:
        workers.place.cache_clear()


class Steady:
    """A clock for the leases."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(heartbeats, "ticks", lambda: self.now)


@pytest.fixture
def log(tmp_path):
    log = open_log(tmp_path / "a.db")
    log.create("study", OPENED)
    return log


ELSEWHERE = "elsewhere@12345678/1/2/3"


def test_a_lease_expires_after_it_was_not_renewed(log, monkeypatch):
    clock, beats = Steady(monkeypatch), {ELSEWHERE: (1.0, 0.0)}
    monkeypatch.setattr(log, "beats", lambda study: beats)
    watched = Leases(log, 1)
    assert not watched.is_gone(ELSEWHERE)
    clock.now += heartbeats.LEASE - 1
    assert not watched.is_gone(ELSEWHERE)
    beats[ELSEWHERE] = (2.0, 0.0)
    clock.now += 2
    assert not watched.is_gone(ELSEWHERE), "it was renewed"
    clock.now += heartbeats.LEASE + 1
    assert watched.is_gone(ELSEWHERE)


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_set_takes_no_lease_from_a_worker_that_renews_it(log, monkeypatch, days):
    clock = Steady(monkeypatch)
    watched = Leases(log, 1)
    for beat in range(20):
        age = 0.0 if beat < 10 else 86400.0 * days
        monkeypatch.setattr(log, "beats", lambda study, beat=beat, age=age: {ELSEWHERE: (float(beat), age)})
        clock.now += heartbeats.BEAT
        assert not watched.is_gone(ELSEWHERE)


def test_an_old_lease_is_watched_for_a_moment_and_then_expired(log, monkeypatch):
    clock = Steady(monkeypatch)
    log.beat(1, ELSEWHERE)
    found = log.beats(1)[ELSEWHERE][0]
    monkeypatch.setattr(log, "beats", lambda study: {ELSEWHERE: (found, 5000.0)})
    watched = Leases(log, 1)
    assert not watched.is_gone(ELSEWHERE)
    clock.now += heartbeats.WATCH + 0.1
    assert watched.is_gone(ELSEWHERE)


def test_a_process_that_is_there_and_does_not_answer_expires_too(log, monkeypatch):
    clock = Steady(monkeypatch)
    worker = new_worker()
    log.beat(1, worker)
    watched = Leases(log, 1)
    assert not watched.is_gone(worker)
    clock.now += heartbeats.LEASE + 1
    assert watched.is_gone(worker)


def test_signs_of_life_are_given_until_the_worker_retires(log, monkeypatch):
    monkeypatch.setattr(heartbeats, "BEAT", 0.01)
    heartbeats.start_heartbeat(log, 1, ELSEWHERE)
    first = log.beats(1)[ELSEWHERE][0]
    for _ in range(1000):
        if log.beats(1)[ELSEWHERE][0] > first:
            break
        heartbeats.time.sleep(0.01)
    else:
        raise AssertionError("no second heartbeat came")
    heartbeats.stop_heartbeat(ELSEWHERE)
    assert not any(ELSEWHERE in held for held in heartbeats._held.values())


class Slow(MemoryLog):
    """A log that counts its heartbeats, and answers only while it may."""

    def __init__(self, answers):
        super().__init__()
        self.answers, self.count = answers, 0

    def beat(self, study, worker):
        self.answers.wait()
        self.count += 1

    def beats(self, study):
        return {}


def until(condition):
    while not condition():
        heartbeats.time.sleep(0.01)


def test_a_storage_that_does_not_answer_silences_nobody_on_another_one(monkeypatch):
    monkeypatch.setattr(heartbeats, "BEAT", 0.01)
    answers, always = threading.Event(), threading.Event()
    for event in (answers, always):
        event.set()
    stuck, other = Slow(answers), Slow(always)
    heartbeats.start_heartbeat(stuck, 1, "stuck")
    answers.clear()
    heartbeats.start_heartbeat(other, 1, "other")
    try:
        until(lambda: other.count > 5)
    finally:
        answers.set()
        heartbeats.stop_heartbeat("stuck")
        heartbeats.stop_heartbeat("other")
    until(lambda: not {repr(stuck), repr(other)} & heartbeats._held.keys())  # their threads end
