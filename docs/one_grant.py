"""List the files that one grant passes, from the decision to the recorded reading, as docs/architecture.md shows them.

    python docs/one_grant.py            # for asha and for forecast
    python docs/one_grant.py --write    # into architecture.md

A study on SQLite runs with one worker in this process. Once it is under way, the functions of shoestring that run are
recorded until the next grants are decided, run and in the log.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import shoestring as ss

PAGE = Path(__file__).parent / "architecture.md"
START, END = "<!-- one grant: python docs/one_grant.py --write -->\n", "<!-- one grant ends -->\n"
_SOURCE = Path(ss.__file__).parent
# The step from which on the study is taken to be under way: its first configurations are behind it.
_SETTLED = 40


def files_of(method: str) -> list[str]:
    """The files of shoestring whose functions run during one grant, by folder."""
    seen: set[str] = set()
    steps: list[int] = []  # the trial of each step so far

    def enter(frame: Any, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(_SOURCE):
            seen.add(path.relative_to(_SOURCE).as_posix())

    def train(trial: ss.Trial) -> Iterator[float]:
        for step in range(trial.start + 1, 10):
            steps.append(trial.index)
            if len(steps) == _SETTLED:
                sys.setprofile(enter)
            elif len(steps) > _SETTLED and len(set(steps[_SETTLED - 1 :])) > 2:
                sys.setprofile(None)
            yield trial.config["x"] + 1 / step

    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/study.db"
        ss.tune(train, {"x": (0.0, 1.0)}, budget="80 steps", max_resource=9, method=method, storage=storage, name="one")
    return sorted(seen)


def block(method: str) -> str:
    folders: dict[str, list[str]] = {}
    for file in files_of(method):
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append(name)
    count = sum(map(len, folders.values()))
    rows = "".join(f"| `{folder or '.'}/` | {', '.join(names)} |\n" for folder, names in folders.items())
    return f"`{method}` passes {count} files:\n\n| folder | files |\n|---|---|\n{rows}"


if __name__ == "__main__":
    text = "\n".join(block(method) for method in ("asha", "forecast"))
    if "--write" in sys.argv:
        before, rest = PAGE.read_text().split(START)
        PAGE.write_text(before + START + text + END + rest.split(END)[1])
    print(text)
