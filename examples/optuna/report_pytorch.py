"""The same with Optuna: a pruned trial is lost, and the number of trials is the budget."""

import sys

import optuna
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy

X, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
X = X.float() / 16


def train(trial):
    torch.manual_seed(0)
    width = trial.suggest_int("width", 8, 128, log=True)
    model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.LazyLinear(10))
    model(X[:1])
    optimiser = torch.optim.Adam(model.parameters(), lr=trial.suggest_float("lr", 1e-4, 0.1, log=True))
    for epoch in range(27):
        for batch in torch.randperm(1200).split(100):
            optimiser.zero_grad()
            cross_entropy(model(X[batch]), y[batch]).backward()
            optimiser.step()
        error = (model(X[1200:]).argmax(1) != y[1200:]).float().mean().item()
        trial.report(error, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return error


if __name__ == "__main__":
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(train, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print(f"error {study.best_value:.3f} with {study.best_params}")
