"""A conversation with a peer in an environment of its own, from this side. ``pipe.py`` is the other one."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, NoReturn

from benchmarks.peers.environments import command, digest, version


class Peer(NamedTuple):
    """A peer: where it is installed, and the script that speaks for it."""

    variable: str
    package: str
    script: str

    def code(self) -> str:
        """The version of the library, and a digest of the script."""
        return f"{self.package} {version(self.variable, self.package)} {digest(self.script)}"


def described(space: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The space in plain JSON."""
    return [
        {"name": name, "kind": "int" if type(own).__name__.endswith("IntegerHyperparameter") else "float",
         "low": own.lower, "high": own.upper, "log": own.log}
        for name, own in dict(space).items()
    ]  # fmt: skip


def speak(peer: Peer, given: Mapping[str, Any], train: Callable[[dict[str, Any], int], list[float]]) -> NoReturn:
    """Give a peer its task, and train what it asks for; ``train`` raises when the budget is spent."""
    process, complaints = _process(peer)
    said: Any = given
    while True:
        with suppress(BrokenPipeError):  # it has ended, and the next line says why
            print(json.dumps(said), file=process.stdin, flush=True)
        asked = json.loads(process.stdout.readline() or "null")
        if asked is None:
            _process.cache_clear()
            with process, complaints:
                process.wait()
                complaints.seek(0)
                raise RuntimeError(f"{peer.script} ended before its budget: {complaints.read()[-800:]}")
        try:
            said = train(asked["config"], asked["until"])
        except Exception:
            print("null", file=process.stdin, flush=True)
            raise


@cache
def _process(peer: Peer) -> tuple[Any, Any]:
    """A peer's process and its error output; it serves one run after another, and ends when this one does."""
    complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": complaints}
    started = command(peer.variable, peer.package, peer.script)
    return subprocess.Popen(started, **pipes, text=True), complaints
