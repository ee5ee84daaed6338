"""Peers that run in an environment of their own: the Python that has them, and the script that speaks for them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from benchmarks.harness.common import Unavailable
from benchmarks.harness.provenance import used_elsewhere


def command(variable: str, package: str, script: str) -> list[str]:
    """Return how to start a script of this folder with the Python that the environment variable names."""
    version(variable, package)
    return [python(variable, package), str(Path(__file__).with_name(script))]


@cache
def version(variable: str, package: str) -> str:
    """The version of a package in the environment that the variable names; stored results say it too."""
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    answer = subprocess.run([python(variable, package), "-c", asked], capture_output=True, text=True, check=True)
    found = answer.stdout.strip()
    used_elsewhere(package, found)
    return found


def digest(script: str) -> str:
    """A digest of a script of this folder, for the keys of its runs."""
    return hashlib.sha256(Path(__file__).with_name(script).read_bytes()).hexdigest()[:12]


def python(variable: str, package: str) -> str:
    """The Python that the environment variable names."""
    found = os.environ.get(variable)
    if found is None:
        raise Unavailable(f"{variable} does not name a Python that has {package}")
    return found
