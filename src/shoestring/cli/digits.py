"""The objective of ``shoestring demo``: a small neural network on scikit-learn's handwritten digits.

It is written as a user would write one: train an epoch, save, yield the validation error.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any

import shoestring as ss

# Wide on purpose: with a good region known beforehand, there would be little to tune.
SPACE = {
    "rate": ss.log(1e-5, 1.0),
    "width": ss.log(4, 128),
    "layers": (1, 3),
    "alpha": ss.log(1e-6, 1.0),
    "batch": ss.log(16, 256),
    "activation": ["relu", "tanh", "logistic"],
    "solver": ["adam", "sgd"],
}


def train(trial: ss.Trial) -> Iterator[float]:
    """Train epoch by epoch; the reading is the share of held-out digits that are misread."""
    saved = trial.directory / "network.pickle"
    network = pickle.loads(saved.read_bytes()) if trial.start else new_network(trial.config, trial.seed)
    images, labels, held_out_images, held_out_labels = digits()
    while True:
        network.partial_fit(images, labels, classes=range(10))
        saved.write_bytes(pickle.dumps(network))
        yield 1 - network.score(held_out_images, held_out_labels)


def new_network(config: dict[str, Any], seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        hidden_layer_sizes=(config["width"],) * config["layers"],
        activation=config["activation"],
        solver=config["solver"],
        alpha=config["alpha"],
        batch_size=config["batch"],
        learning_rate_init=config["rate"],
        random_state=seed,
    )


@cache
def digits() -> list[Any]:
    """Training images and labels, then held-out ones; the split is the same for every trial."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # several threads only get in each other's way with matrices this small
    images, labels = load_digits(return_X_y=True)
    train_images, held_out_images, train_labels, held_out_labels = train_test_split(
        images / 16, labels, test_size=0.6, random_state=0, stratify=labels
    )
    return [train_images, train_labels, held_out_images, held_out_labels]
