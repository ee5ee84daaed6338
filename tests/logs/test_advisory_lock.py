"""The advisory lock has one holder at a time, and no process waits for ever for a holder that does not go on."""

import signal
import subprocess
import sys
import threading

import pytest

from shoestring.core import heartbeats
from shoestring.logs import open_log
from shoestring.testing.logs import OPENED, REPORTED

HOLDER = """
import sys, time
from shoestring.logs import open_log
log = open_log(sys.argv[1])
with log.advisory_lock(log.find("a")):
    print("mine", flush=True)
    time.sleep(600)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, tmp_path):
    return request.getfixturevalue("database") if request.param == "postgres" else str(tmp_path / "a.db")


def test_one_at_a_time(storage):
    study = open_log(storage).create("a", OPENED)
    inside, most, barrier = [], [], threading.Barrier(4)

    def work():
        log = open_log(storage)
        barrier.wait(60)
        for _ in range(5):
            with log.advisory_lock(study):
                inside.append(1)
                most.append(len(inside))
                position = 1 + len(log.read(study, 1))
                inside.pop()
                log.append(study, [REPORTED], position)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(open_log(storage).read(study, 1)) == 20


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_holder_that_is_killed_or_stopped_does_not_hold_up_the_others(storage, end, monkeypatch):
    study = open_log(storage).create("a", OPENED)
    program = (
        HOLDER if end == signal.SIGKILL else f"from shoestring.core import heartbeats; heartbeats.LEASE = 0.5\n{HOLDER}"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, storage], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "mine\n"
    holder.send_signal(end)
    monkeypatch.setattr(heartbeats, "LEASE", 0.5)
    log = open_log(storage)
    with log.advisory_lock(study):
        log.append(study, [REPORTED], 1)
    holder.kill()
    holder.communicate()
    assert log.read(study, 1) == [REPORTED]


def test_who_lost_its_turn_can_still_append(database, monkeypatch):
    monkeypatch.setattr(heartbeats, "LEASE", 0.2)
    log, other = open_log(database), open_log(database)
    study = log.create("a", OPENED)
    with log.advisory_lock(study):
        with other.advisory_lock(study):  # comes when the server has ended the session that does nothing with its turn
            pass
        log.append(study, [REPORTED], 1)
    assert other.read(study, 1) == [REPORTED]
