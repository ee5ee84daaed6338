"""Who is alive: workers of this process, of others, of processes that are gone and of other hosts."""

import os
import subprocess
import sys

from shoestring.core.workers import is_alive, new_worker, retire


def test_a_worker_of_this_process_lives_until_it_retires():
    one, two = new_worker(), new_worker()
    assert one != two
    assert is_alive(one)
    retire(one)
    assert (is_alive(one), is_alive(two)) == (False, True)


def test_a_process_that_ended_is_gone_and_another_with_its_number_is_another():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    host, pid, birth, _ = new_worker().split("/")
    assert not is_alive(f"{host}/{process.pid}/{birth}/0")
    assert not is_alive(f"{host}/{pid}/{int(birth or 0) + 1}/0")
    assert int(pid) == os.getpid()


def test_other_hosts_count_as_alive_and_nonsense_does_not():
    assert is_alive("elsewhere/1/2/3")
    assert not is_alive("simulated")
    assert not is_alive("")
