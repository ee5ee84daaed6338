"""The same with Optuna, without its integration package."""

import sys

import lightgbm
import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, x_valid, y, y_valid = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def report_to(trial):
    def report(env):
        if (env.iteration + 1) % 10 == 0:
            trial.report(env.evaluation_result_list[0][2], env.iteration // 10)
            if trial.should_prune():
                raise optuna.TrialPruned()

    return report


def train(trial):
    rate = trial.suggest_float("learning_rate", 0.01, 0.5, log=True)
    config = {"learning_rate": rate, "num_leaves": trial.suggest_int("num_leaves", 4, 64)}
    data, results = lightgbm.Dataset(X, y), {}
    lightgbm.train(
        {"objective": "binary", "seed": 0, "verbose": -1, **config},
        data,
        num_boost_round=90,
        valid_sets=[lightgbm.Dataset(x_valid, y_valid, reference=data)],
        valid_names=["valid"],
        callbacks=[report_to(trial), lightgbm.record_evaluation(results)],
    )
    return results["valid"]["binary_logloss"][-1]


if __name__ == "__main__":
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(train, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    print(f"loss {study.best_value:.3f} with {study.best_params}")
