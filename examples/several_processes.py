"""Several processes work on one study; each may start, stop or crash at any time.

Start this script as often as you like on one machine:

    python examples/several_processes.py & python examples/several_processes.py & wait

They share the budget through the storage. If one dies, another one resumes its trials.
"""

import os
import time

import shoestring as ss

space = ss.space(rate=ss.log(1e-3, 1.0), momentum=(0.0, 0.99))


def train(trial):
    """A synthetic learning curve, slow enough to watch, with a checkpoint that any process can continue from."""
    floor = abs(trial.config["rate"] - 0.1) + abs(trial.config["momentum"] - 0.9)
    for epoch in range(trial.start + 1, 28):
        time.sleep(0.01)
        (trial.directory / "epoch").write_text(str(epoch))
        yield floor + 1 / epoch


study = ss.tune(
    train, space, budget="300 steps", max_resource=27, method="asha", storage="sqlite:///together.db", name="together"
)
print(f"process {os.getpid()}: {study.spent['steps']} steps spent, best value {study.best.value:.3f}")
