"""The same with Optuna, without its integration package."""

import sys

import optuna
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, x_valid, y, y_valid = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


class Report(xgboost.callback.TrainingCallback):
    def __init__(self, trial):
        self.trial = trial

    def after_iteration(self, model, epoch, evals_log):
        if (epoch + 1) % 10 == 0:
            self.trial.report(evals_log["valid"]["logloss"][-1], epoch // 10)
            if self.trial.should_prune():
                raise optuna.TrialPruned()
        return False


def train(trial):
    config = {"eta": trial.suggest_float("eta", 0.01, 0.5, log=True), "max_depth": trial.suggest_int("max_depth", 2, 8)}
    results = {}
    xgboost.train(
        {"objective": "binary:logistic", "seed": 0, **config},
        xgboost.DMatrix(X, y),
        num_boost_round=90,
        evals=[(xgboost.DMatrix(x_valid, y_valid), "valid")],
        evals_result=results,
        callbacks=[Report(trial)],
        verbose_eval=False,
    )
    return results["valid"]["logloss"][-1]


if __name__ == "__main__":
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(train, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    print(f"loss {study.best_value:.3f} with {study.best_params}")
