"""One of several processes that use one study: append to it, or tune it.

python tests/programs/together.py append STORAGE COUNT
python tests/programs/together.py tune STORAGE FOLDER
"""

import os
import sys
import time
from pathlib import Path

import shoestring as ss
from shoestring.core.events import Budgeted
from shoestring.errors import Conflict
from shoestring.logs import open_log


def append(storage, count):
    log = open_log(storage)
    study, position = log.find("shared"), 1
    for i in range(count):
        while True:
            try:
                log.append(study, [Budgeted(0.0, {"steps": 1, "cost": i + 1})], position)
                break
            except Conflict:
                position += len(log.read(study, position))
        position += 1


def wait_for_four(folder):
    """Each process has work before any goes on: however slowly one starts, the others cannot use up the budget."""
    (folder / f"ready-{os.getpid()}").touch()
    while len(list(folder.glob("ready-*"))) < 4:
        time.sleep(0.01)


def tune(storage, folder):
    def train(trial):
        wait_for_four(Path(folder))
        for step in range(trial.start + 1, 100):
            time.sleep(0.002)
            (trial.directory / "step").write_text(str(step))
            yield trial.config["x"] + 1 / step

    ss.tune(
        train, {"x": (0.0, 1.0)}, budget=ss.Budget(steps=300), max_resource=9, method="asha",
        storage=storage, name="shared", progress=False,
    )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "append":
        append(sys.argv[2], int(sys.argv[3]))
    else:
        tune(sys.argv[2], sys.argv[3])
