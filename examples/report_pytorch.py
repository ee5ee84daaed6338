"""Tune a PyTorch network on digits; a trial that is paused continues from its checkpoint."""

import sys

import torch
from sklearn.datasets import load_digits
from torch.nn.functional import cross_entropy

import shoestring as ss

X, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
X = X.float() / 16


def train(trial):
    torch.manual_seed(trial.seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, trial.config["width"]), torch.nn.ReLU(), torch.nn.LazyLinear(10))
    model(X[:1])
    optimiser = torch.optim.Adam(model.parameters(), lr=trial.config["lr"])
    if (state := trial.checkpoint.load()) is not None:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
    for epoch in range(trial.start + 1, 28):
        for batch in torch.randperm(1200).split(100):
            optimiser.zero_grad()
            cross_entropy(model(X[batch]), y[batch]).backward()
            optimiser.step()
        error = (model(X[1200:]).argmax(1) != y[1200:]).float().mean()
        trial.checkpoint.save({"model": model.state_dict(), "optimiser": optimiser.state_dict()})
        trial.report(error, step=epoch)


if __name__ == "__main__":
    budget = ss.Budget(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    study = ss.tune(train, {"lr": ss.log(1e-4, 0.1), "width": ss.log(8, 128)}, budget=budget, max_resource=27)
    print(f"error {study.best.value:.3f} with {study.best.config} after {study.spent.steps:g} epochs in all")
