"""The origin of a stored result: the code, the day and the packages that were in use."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import shoestring

ROOT = Path(__file__).parents[2]
# The packages that a result can depend on, by the module whose import says that one was in use.
PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "ConfigSpace": "ConfigSpace",
    "cmaes": "cmaes",
    "torch": "torch",
    "onnxruntime": "onnxruntime",
    "optuna": "optuna",
    "ray": "ray",
    "psycopg": "psycopg",
}
_elsewhere: dict[str, str] = {}
_earlier: set[str] = set()


def provenance(command: str) -> dict[str, Any]:
    """Collect what is stored next to the rows of a table that the command gave."""
    used = packages()
    digest = hashlib.sha256(repr(sorted(used.items())).encode()).hexdigest()[:12]
    return {
        "command": command,
        "version": shoestring.__version__,
        "commit": commit(),
        **({"earlier": sorted(_earlier)} if _earlier else {}),
        "date": datetime.now(UTC).date().isoformat(),
        "packages": {"digest": digest, **used},
    }


def packages() -> dict[str, str]:
    """The versions of this package, of Python and of what was imported; of peers in environments of their own too."""
    found = {"shoestring": shoestring.__version__, "python": platform.python_version()}
    for module, name in PACKAGES.items():
        if module in sys.modules:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "unknown"
    return found | _elsewhere


def used_elsewhere(name: str, its_version: str) -> None:
    """Note a peer that ran in an environment of its own."""
    _elsewhere[name] = its_version


def used_earlier(its_commit: str) -> None:
    """Note that kept runs of an earlier commit are among the results."""
    _earlier.add(its_commit)


def commit(root: Path = ROOT) -> str:
    """The commit of the code, with a plus sign if the code was changed since; "unknown" outside of a repository."""
    try:
        found = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found + ("+" if changed else "")


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()
