"""Trials on a Ray cluster, or on this machine if there is none: pip install 'shoestring[ray]'.

    python examples/ray_cluster.py                     # starts a local Ray, and ends it
    python examples/ray_cluster.py --address auto      # the cluster that this node belongs to

Kill a node, or press Ctrl-C and start the script again: the study goes on from the checkpoints.
"""

import argparse
import time

import shoestring as ss

parser = argparse.ArgumentParser(description="Tune on a Ray cluster.")
parser.add_argument("--address", help="of the cluster; without it a local Ray is started")
parser.add_argument("--workers", type=int, help="how many trials run at once; by default as many as there is room for")
arguments = parser.parse_args()

space = ss.space(rate=ss.log(1e-3, 1.0), momentum=(0.0, 0.99))


def train(trial):
    """A synthetic learning curve, slow enough to watch, with a checkpoint that any node can continue from."""
    floor = abs(trial.config["rate"] - 0.1) + abs(trial.config["momentum"] - 0.9)
    for epoch in range(trial.start + 1, 28):
        time.sleep(0.01)
        (trial.directory / "epoch").write_text(str(epoch))
        yield floor + 1 / epoch


executor = ss.executors.Ray(arguments.workers, resources={"CPU": 1}, address=arguments.address)
study = ss.tune(
    train, space, budget="300 steps", max_resource=27, method="asha", executor=executor, storage="sqlite:///ray.db"
)
print(f"{study.spent['steps']} steps spent in {len(study.trials)} trials, best value {study.best.value:.3f}")
