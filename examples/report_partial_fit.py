"""Tune a scikit-learn classifier with ``partial_fit``: an epoch is a step."""

import sys

from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

import shoestring as ss

X, x_valid, y, y_valid = train_test_split(*load_digits(return_X_y=True), random_state=0)


def train(trial):
    model = trial.checkpoint.load(trust=True) or SGDClassifier(**trial.config, random_state=0)
    for epoch in range(trial.start + 1, 28):
        model.partial_fit(X, y, classes=range(10))
        trial.checkpoint.save(model)
        trial.report(1 - model.score(x_valid, y_valid), step=epoch)


if __name__ == "__main__":
    budget = ss.Budget(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    space = {"alpha": ss.log(1e-6, 1.0), "l1_ratio": (0.0, 1.0), "penalty": ["elasticnet"]}
    study = ss.tune(train, space, budget=budget, max_resource=27)
    print(f"error {study.best.value:.3f} with {study.best.config} after {study.spent.steps:g} epochs in all")
