"""A study that things happen to: python tests/programs/faults.py STORAGE OBJECTIVE

PLACE is where its processes pretend to run: those of another place cannot be checked from here. Leases are short.
"""

import json
import os
import sys
import time

import shoestring as ss
from shoestring.core import heartbeats, workers

heartbeats.BEAT, heartbeats.LEASE, heartbeats.WATCH = 0.1, 1.0, 0.3
if "PLACE" in os.environ:
    workers.place = lambda: os.environ["PLACE"]


def poison(trial):
    if trial.arm == 2:
        os._exit(9)
    time.sleep(0.02)
    return trial.config["x"]


def slow(trial):
    """Its state depends on how many steps were really trained; the file PAUSE makes its third step long."""
    path = trial.directory / "state.json"
    state = json.loads(path.read_text()) if trial.start else {"weight": trial.config["x"], "trained": 0}
    while True:
        state["trained"] += 1
        state["weight"] = 0.9 * state["weight"] + (trial.seed % 97) / (100 + state["trained"])
        if state["trained"] == 3 and os.environ.get("PAUSE"):
            print("in the third step", flush=True)
            time.sleep(float(os.environ["PAUSE"]))
        path.write_text(json.dumps(state))
        yield state["weight"]


if __name__ == "__main__":
    storage, name = sys.argv[1:]
    options = {"budget": "6 evaluations"} if name == "poison" else {"budget": "20 steps", "max_resource": 5}
    ss.tune(
        globals()[name], {"x": (0.0, 1.0)}, method="random", storage=storage, name=name, progress=False, keep=None,
        **options,
    )  # fmt: skip
