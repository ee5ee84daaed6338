"""Hosts that exist only for a benchmark: network namespaces with names, addresses and process numbers of their own.

They reach this machine by a virtual cable each, and nothing else. It needs Linux, root and the commands ip and unshare.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.harness.common import Unavailable


class Host:
    """A host; ``here`` is the address under which it sees this machine."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self._space = f"shoestring-{os.getpid()}-{name}"
        self._cable = f"ss{os.getpid() % 100000}{name[-1]}"
        network = f"10.213.{(os.getpid() + number) % 250}"
        self.here = f"{network}.1"
        there = f"{self._cable}t"
        _run("ip", "netns", "add", self._space)
        _run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", there)
        _run("ip", "link", "set", there, "netns", self._space)
        _run("ip", "address", "add", f"{self.here}/24", "dev", self._cable)
        _run("ip", "link", "set", self._cable, "up")
        inside = ("ip", "-n", self._space)
        _run(*inside, "address", "add", f"{network}.2/24", "dev", there)
        _run(*inside, "link", "set", there, "up")

    def command(self, command: Sequence[str]) -> list[str]:
        """A command that runs on this host."""
        start = [
            "ip",
            "netns",
            "exec",
            self._space,
            "unshare",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        return [*start, "sh", "-c", f'hostname {self.name} && exec "$@"', "sh", *command]

    def cut(self) -> None:
        """Take the cable out."""
        _run("ip", "link", "set", self._cable, "down")

    def mend(self) -> None:
        _run("ip", "link", "set", self._cable, "up")

    def remove(self) -> None:
        _run("ip", "netns", "delete", self._space)  # and the cable with it


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise Unavailable(f"hosts cannot be made here: {' '.join(command)}: {said.strip()}") from None


@contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    made: list[Host] = []
    try:
        for number, name in enumerate(names):
            made.append(Host(name, number))
        yield made
    finally:
        for host in made:
            host.remove()
