"""Trainings with scikit-learn's networks, linear models and trees. One function trains one configuration.

Each takes a configuration and a seed and yields a reading after every step without end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from ConfigSpace import ConfigurationSpace, EqualsCondition, InCondition, NotEqualsCondition
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import shoestring as ss
from benchmarks.tasks.trainings_data import Array, Data, blobs, digits, friedman

Config = Mapping[str, Any]

DIGITS = ss.space(
    rate=ss.log(1e-4, 0.3),
    width=ss.log(8, 96),
    layers=(1, 3),
    alpha=ss.log(1e-6, 1.0),
    batch=ss.log(16, 256),
    activation=["relu", "tanh", "logistic"],
    solver=["adam", "sgd"],
)


def network_on_digits(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A classifier by Adam or by gradient descent; a step is an epoch."""
    data = digits()
    network = MLPClassifier(
        (config["width"],) * config["layers"], config["activation"], solver=config["solver"], alpha=config["alpha"],
        batch_size=config["batch"], learning_rate_init=config["rate"], random_state=seed,
    )  # fmt: skip
    while True:
        network.partial_fit(data.X, data.y, classes=range(10))
        yield data.error_rate(network.predict(data.held_out))


FRIEDMAN = ss.space(
    rate=ss.log(1e-4, 1.0),
    momentum=(0.0, 0.99),
    nesterov=[True, False],
    width=ss.log(4, 64),
    layers=(1, 2),
    alpha=ss.log(1e-6, 10.0),
    batch=ss.log(16, 150),
    activation=["relu", "tanh"],
)


def network_on_friedman(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A regression by stochastic gradient descent. With a large learning rate scikit-learn raises an error."""
    data = friedman(1, 0.3, 300, 200)
    network = MLPRegressor(
        hidden_layer_sizes=(config["width"],) * config["layers"], activation=config["activation"], solver="sgd",
        alpha=config["alpha"], batch_size=config["batch"], learning_rate_init=config["rate"],
        momentum=config["momentum"], nesterovs_momentum=config["nesterov"], random_state=seed,
    )  # fmt: skip
    while True:
        network.partial_fit(data.X, data.y)
        yield data.rmse(network.predict(data.held_out))


def linear_space() -> ConfigurationSpace:
    space = ss.space(
        loss=["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"],
        penalty=["l2", "l1", "elasticnet"],
        alpha=ss.log(1e-6, 0.1),
        l1_ratio=(0.0, 1.0),
        schedule=["constant", "optimal", "invscaling"],
        eta0=ss.log(1e-4, 10.0),
        power_t=(0.1, 0.9),
        average=[True, False],
    )
    space.add(
        [
            EqualsCondition(space["l1_ratio"], space["penalty"], "elasticnet"),
            NotEqualsCondition(space["eta0"], space["schedule"], "optimal"),
            EqualsCondition(space["power_t"], space["schedule"], "invscaling"),
        ]
    )
    return space


def linear_classifier(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A linear classifier by stochastic gradient descent with different losses, penalties and schedules."""
    data = blobs(60, 12, 6, 300, 200, clusters=1)
    model = SGDClassifier(
        loss=config["loss"], penalty=config["penalty"], alpha=config["alpha"], l1_ratio=config.get("l1_ratio", 0.15),
        learning_rate=config["schedule"], eta0=config.get("eta0", 0.01), power_t=config.get("power_t", 0.5),
        average=config["average"], random_state=seed,
    )  # fmt: skip
    while True:
        model.partial_fit(data.X, data.y, classes=range(6))
        yield data.error_rate(model.predict(data.held_out))


BOOSTING = ss.space(
    rate=ss.log(0.01, 1.0),
    depth=(1, 8),
    min_leaf=ss.log(1, 50),
    columns=(0.1, 1.0),
    rows=(0.2, 1.0),
    loss=["squared", "absolute"],
)


def boosted_trees(config: Config, seed: int) -> Iterator[ss.Reading]:
    """Gradient boosting on noisy targets; a step is three trees, and too many of them fit the noise."""
    data, rng = friedman(1, 0.7, 250, 150), np.random.default_rng(seed)
    fitted, predicted = np.zeros(len(data.X)), np.zeros(len(data.held_out))
    while True:
        for _ in range(3):
            residual = data.y - fitted
            tree = _residual_tree(config, data.X, residual if config["loss"] == "squared" else np.sign(residual), rng)
            fitted += config["rate"] * tree.predict(data.X)
            predicted += config["rate"] * tree.predict(data.held_out)
        yield data.rmse(predicted)


def _residual_tree(config: Config, X: Array, target: Array, rng: np.random.Generator) -> DecisionTreeRegressor:
    rows = rng.permutation(len(X))[: round(config["rows"] * len(X))]
    tree = DecisionTreeRegressor(
        max_depth=config["depth"], min_samples_leaf=config["min_leaf"], max_features=config["columns"],
        random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    return tree.fit(X[rows], target[rows])


FOREST = ss.space(
    kind=["random", "extra"],
    depth=ss.log(2, 30),
    min_leaf=ss.log(1, 30),
    columns=ss.log(1, 40),
    rows=(0.1, 1.0),
    criterion=["gini", "entropy"],
)


def grown_forest(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A forest that grows by one tree a step: the first trees say little about the forest."""
    data, rng = blobs(40, 8, 4, 400, 200), np.random.default_rng(seed)
    kind = {"random": DecisionTreeClassifier, "extra": ExtraTreeClassifier}[config["kind"]]
    votes = np.zeros((len(data.held_out), 4))
    while True:
        rows = rng.integers(len(data.X), size=round(config["rows"] * len(data.X)))
        tree = kind(
            criterion=config["criterion"], max_depth=config["depth"], min_samples_leaf=config["min_leaf"],
            max_features=config["columns"], random_state=int(rng.integers(2**31)),
        ).fit(data.X[rows], data.y[rows])  # fmt: skip
        votes[:, tree.classes_] += tree.predict_proba(data.held_out)
        yield data.error_rate(votes.argmax(1))


def models_space() -> ConfigurationSpace:
    """Three kinds of model, each with parameters of its own and two that some share."""
    space = ss.space(
        model=["linear", "network", "boosting"],
        alpha=ss.log(1e-6, 1.0),
        eta0=ss.log(1e-3, 1.0),
        width=ss.log(8, 64),
        rate=ss.log(1e-3, 1.0),
        depth=(1, 6),
        rows=(0.3, 1.0),
    )
    model = space["model"]
    space.add(
        [
            InCondition(space["alpha"], model, ["linear", "network"]),
            EqualsCondition(space["eta0"], model, "linear"),
            EqualsCondition(space["width"], model, "network"),
            InCondition(space["rate"], model, ["network", "boosting"]),
            EqualsCondition(space["depth"], model, "boosting"),
            EqualsCondition(space["rows"], model, "boosting"),
        ]
    )
    return space


def chosen_model(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A linear model, a network or boosted trees for two classes; a step of one can take ten times that of another."""
    data = blobs(15, 6, 2, 400, 200, clusters=4)
    if config["model"] == "boosting":
        yield from _boosted_classifier(config, data, seed)
    if config["model"] == "linear":
        model: Any = SGDClassifier(
            loss="log_loss", alpha=config["alpha"], learning_rate="constant", eta0=config["eta0"], random_state=seed
        )
    else:
        model = MLPClassifier(
            config["width"], alpha=config["alpha"], learning_rate_init=config["rate"], batch_size=32, random_state=seed
        )
    while True:
        model.partial_fit(data.X, data.y, classes=range(2))
        yield data.error_rate(model.predict(data.held_out))


def _boosted_classifier(config: Config, data: Data, seed: int) -> Iterator[ss.Reading]:
    rng, tree_config = np.random.default_rng(seed), {**config, "min_leaf": 5, "columns": 0.5}
    fitted, predicted = np.zeros(len(data.X)), np.zeros(len(data.held_out))
    while True:
        for _ in range(4):
            residual = data.y - 1 / (1 + np.exp(-fitted))
            tree = _residual_tree(tree_config, data.X, residual, rng)
            fitted += 4 * config["rate"] * tree.predict(data.X)  # 4: the largest curvature of the log loss is 1/4
            predicted += 4 * config["rate"] * tree.predict(data.held_out)
        yield data.error_rate(predicted > 0)
