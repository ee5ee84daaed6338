"""Tune a small neural network on scikit-learn's digits with 300 epochs in total.

Interrupt it at any time and run it again: it continues.

    python examples/digits_mlp.py
"""

import pickle
import sys

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import shoestring as ss

space = ss.space(
    rate=ss.log(1e-5, 1.0),
    width=ss.log(4, 128),
    alpha=ss.log(1e-6, 1.0),
    batch=ss.log(16, 256),
    activation=["relu", "tanh", "logistic"],
)

images, labels = load_digits(return_X_y=True)
train_images, test_images, train_labels, test_labels = train_test_split(
    images / 16, labels, test_size=0.5, random_state=0
)


def train(trial):
    config, checkpoint = trial.config, trial.directory / "network.pickle"
    if trial.start:  # resumed from its checkpoint, perhaps after a crash
        network = pickle.loads(checkpoint.read_bytes())
    else:
        network = MLPClassifier(
            (config["width"],),
            activation=config["activation"],
            alpha=config["alpha"],
            batch_size=config["batch"],
            learning_rate_init=config["rate"],
            random_state=trial.seed,
        )
    while True:
        network.partial_fit(train_images, train_labels, classes=range(10))
        checkpoint.write_bytes(pickle.dumps(network))
        yield 1 - network.score(test_images, test_labels)


budget = sys.argv[1] if len(sys.argv) > 1 else "300 steps"
study = ss.tune(train, space, budget=budget, max_resource=27, storage="sqlite:///digits.db", name="digits")
print(f"error {study.best.value:.2%} after {study.spent['steps']} epochs in all, with {study.best.config}")
print(f"the network is in {study.directory(best=True)}")
