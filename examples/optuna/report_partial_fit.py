"""The same with Optuna."""

import sys

import optuna
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

X, x_valid, y, y_valid = train_test_split(*load_digits(return_X_y=True), random_state=0)


def train(trial):
    alpha = trial.suggest_float("alpha", 1e-6, 1.0, log=True)
    ratio = trial.suggest_float("l1_ratio", 0.0, 1.0)
    model = SGDClassifier(alpha=alpha, l1_ratio=ratio, penalty="elasticnet", random_state=0)
    for epoch in range(27):
        model.partial_fit(X, y, classes=range(10))
        error = 1 - model.score(x_valid, y_valid)
        trial.report(error, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return error


if __name__ == "__main__":
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(train, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    print(f"error {study.best_value:.3f} with {study.best_params}")
