"""Tune LightGBM: ten boosting rounds are a step."""

import sys

import lightgbm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import shoestring as ss
from shoestring.integrations.lightgbm import checkpoint, report_callback

X, x_valid, y, y_valid = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def train(trial):
    data = lightgbm.Dataset(X, y, free_raw_data=False)
    lightgbm.train(
        {"objective": "binary", "seed": trial.seed, "verbose": -1, **trial.config},
        data,
        num_boost_round=10 * (9 - trial.start),
        valid_sets=[lightgbm.Dataset(x_valid, y_valid, reference=data, free_raw_data=False)],
        valid_names=["valid"],
        init_model=checkpoint(trial),
        callbacks=[report_callback(trial, "valid binary_logloss", every=10)],
    )


if __name__ == "__main__":
    budget = ss.Budget(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    study = ss.tune(train, {"learning_rate": ss.log(0.01, 0.5), "num_leaves": (4, 64)}, budget=budget, max_resource=9)
    print(f"loss {study.best.value:.3f} with {study.best.config} after {study.spent.steps:g} steps in all")
