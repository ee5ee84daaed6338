"""Tune XGBoost: ten boosting rounds are a step."""

import sys

import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import shoestring as ss
from shoestring.integrations.xgboost import checkpoint, report_callback

X, x_valid, y, y_valid = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def train(trial):
    xgboost.train(
        {"objective": "binary:logistic", "seed": trial.seed, **trial.config},
        xgboost.DMatrix(X, y),
        num_boost_round=10 * (9 - trial.start),
        evals=[(xgboost.DMatrix(x_valid, y_valid), "valid")],
        xgb_model=checkpoint(trial),
        callbacks=[report_callback(trial, "valid-logloss", every=10)],
        verbose_eval=False,
    )


if __name__ == "__main__":
    budget = ss.Budget(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    study = ss.tune(train, {"eta": ss.log(0.01, 0.5), "max_depth": (2, 8)}, budget=budget, max_resource=9)
    print(f"loss {study.best.value:.3f} with {study.best.config} after {study.spent.steps:g} steps in all")
