"""One script for one process, several processes, several hosts and a Slurm array; see docs/scaling.md.

    python examples/scaling.py                      # one process, SQLite
    WORKERS=4 python examples/scaling.py            # four worker processes
    STORAGE=postgresql://ada@db/tuning python examples/scaling.py     # on as many hosts as you like

With --create it only creates the study, and `shoestring worker` does the work:

    python examples/scaling.py --create
    shoestring worker sqlite:///scaling.db scaling examples/scaling.py:train --slots 4
"""

import os
import sys
import time

import shoestring as ss

space = ss.space(rate=ss.log(1e-3, 1.0), momentum=(0.0, 0.99))
study = {
    "budget": "200 steps",
    "max_resource": 27,
    "method": "asha",
    "storage": os.environ.get("STORAGE", "sqlite:///scaling.db"),
    "name": "scaling",
}


def train(trial):
    """A synthetic learning curve, slow enough to watch, with a checkpoint that any host can continue from."""
    floor = abs(trial.config["rate"] - 0.1) + abs(trial.config["momentum"] - 0.9)
    for epoch in range(trial.start + 1, 28):
        time.sleep(0.01)
        (trial.directory / "epoch").write_text(str(epoch))
        yield floor + 1 / epoch


if __name__ == "__main__":
    if "--create" in sys.argv:
        ss.Study(space, **study)
    else:
        found = ss.tune(train, space, workers=int(os.environ.get("WORKERS", "1")), **study)
        print(f"{found.spent['steps']} steps spent, best value {found.best.value:.3f}")
