"""Trainings written in NumPy, as users write them who need no framework. One function trains one configuration.

Each takes a configuration and a seed and yields a reading after every step without end. Nothing here guards against
learning rates that are too large: the readings are then infinite or NaN, as they would be for a user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from ConfigSpace import ConfigurationSpace, EqualsCondition

import shoestring as ss
from benchmarks.tasks.trainings_data import Array, blobs, chaos, friedman, mislabelled_digits, ratings

Config = Mapping[str, Any]


class Descent:
    """Gradient descent with momentum, or Adam, on a list of arrays that are changed in place."""

    def __init__(self, weights: Sequence[Array], momentum: float, adaptive: bool = False) -> None:
        self.weights, self.momentum, self.adaptive = weights, momentum, adaptive
        self.means = [np.zeros_like(w) for w in weights]
        self.squares = [np.zeros_like(w) for w in weights]
        self.steps = 0

    def step(self, gradients: Sequence[Array], rate: float) -> None:
        self.steps += 1
        for weight, gradient, mean, square in zip(self.weights, gradients, self.means, self.squares, strict=True):
            mean *= self.momentum
            if not self.adaptive:
                mean += gradient
                weight -= rate * mean
                continue
            mean += (1 - self.momentum) * gradient
            square *= 0.99
            square += 0.01 * gradient**2
            scale = (1 - 0.99**self.steps) ** 0.5 / (1 - self.momentum**self.steps)
            weight -= rate * scale * mean / (np.sqrt(square) + 1e-7)


def batches(rows: int, size: int, rng: np.random.Generator) -> Iterator[Array]:
    order = rng.permutation(rows)
    return (order[start : start + size] for start in range(0, rows, size))


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, dtype=np.float32)


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


DROPOUT = ss.space(
    rate=ss.log(1e-3, 3.0),
    decay=(0.7, 1.0),
    momentum=(0.0, 0.98),
    width=ss.log(8, 128),
    dropout=(0.0, 0.8),
    weight_decay=ss.log(1e-6, 0.1),
    batch=ss.log(16, 128),
    init=ss.log(0.1, 3.0),
)


def network_with_dropout(config: Config, seed: int) -> Iterator[ss.Reading]:
    """One hidden layer on digits with wrong labels; the learning rate decays from epoch to epoch."""
    data, rng = mislabelled_digits(), np.random.default_rng(seed)
    features, width, rate = data.X.shape[1], config["width"], config["rate"]
    inner = config["init"] * normal(rng, features, width) / features**0.5
    outer = config["init"] * normal(rng, width, 10) / width**0.5
    weights = [inner, np.zeros(width, np.float32), outer, np.zeros(10, np.float32)]
    descent, keep = Descent(weights, config["momentum"]), 1 - config["dropout"]
    while True:
        for rows in batches(len(data.X), config["batch"], rng):
            descent.step(
                _dropout_gradients(weights, data.X[rows], data.y[rows], keep, config["weight_decay"], rng), rate
            )
        rate *= config["decay"]
        hidden = np.maximum(data.held_out @ weights[0] + weights[1], 0)
        scores = hidden @ weights[2] + weights[3]
        yield data.mean(np.where(np.isnan(scores[:, 0]), np.nan, scores.argmax(1) != data.truth))


def _dropout_gradients(
    weights: Sequence[Array], X: Array, y: Array, keep: float, shrink: float, rng: np.random.Generator
) -> list[Array]:
    inner, bias, outer, offset = weights
    kept = (rng.random((len(X), len(bias)), dtype=np.float32) < keep) / np.float32(keep)
    hidden = np.maximum(X @ inner + bias, 0) * kept
    error = softmax(hidden @ outer + offset)
    error[np.arange(len(y)), y] -= 1
    error /= len(y)
    back = (error @ outer.T) * kept * (hidden > 0)
    return [X.T @ back + shrink * inner, back.sum(0), hidden.T @ error + shrink * outer, error.sum(0)]


RATINGS = ss.space(
    rank=ss.log(1, 24),
    rate=ss.log(1e-3, 0.3),
    ridge=ss.log(1e-4, 1.0),
    momentum=(0.0, 0.95),
    init=ss.log(0.01, 1.0),
    batch=ss.log(16, 256),
    biases=[True, False],
)


def factorised_ratings(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A ratings matrix as a product of two thin ones, by stochastic gradient descent."""
    known, rng = ratings(), np.random.default_rng(seed)
    thin = [config["init"] * normal(rng, count, config["rank"]) for count in (known.users, known.items)]
    weights = [*thin, np.zeros(known.users, np.float32), np.zeros(known.items, np.float32)]
    descent = Descent(weights, config["momentum"])
    while True:
        for rows in batches(len(known.data.y), config["batch"], rng):
            gradients = _rating_gradients(weights, known.pairs[:, rows], known.data.y[rows], config["ridge"])
            descent.step(gradients if config["biases"] else [*gradients[:2], 0, 0], config["rate"])
        yield known.data.rmse(_rated(weights, known.held_out))


def _rated(weights: Sequence[Array], pairs: Array) -> Array:
    users, items = pairs
    return (weights[0][users] * weights[1][items]).sum(1) + weights[2][users] + weights[3][items]


def _rating_gradients(weights: Sequence[Array], pairs: Array, truth: Array, ridge: float) -> list[Array]:
    """The gradients of the summed squared errors of a batch: of the two thin matrices, then of the biases."""
    (users, items), error = pairs, _rated(weights, pairs) - truth
    tastes, traits = weights[0][users], weights[1][items]
    found = [np.zeros_like(weight) for weight in weights]
    np.add.at(found[0], users, error[:, None] * traits + ridge * tastes)
    np.add.at(found[1], items, error[:, None] * tastes + ridge * traits)
    np.add.at(found[2], users, error + ridge * weights[2][users])
    np.add.at(found[3], items, error + ridge * weights[3][items])
    return found


FOURIER = ss.space(
    rate=ss.log(0.01, 10.0),
    gamma=ss.log(0.01, 10.0),
    features=ss.log(16, 768),
    ridge=ss.log(1e-8, 0.1),
    batch=ss.log(8, 128),
    kernel=["gaussian", "laplace"],
    averaged=[True, False],
)


def random_features(config: Config, seed: int) -> Iterator[ss.Reading]:
    """Kernel regression by gradient descent on random Fourier features, whose number is the cost of a step.

    Rahimi and Recht, Random features for large-scale kernel machines, 2007.
    """
    data, rng = friedman(2, 0.15, 400, 200), np.random.default_rng(seed)
    seen, held_out = _fourier(config, (data.X, data.held_out), rng)
    weights = np.zeros(config["features"], np.float32)
    average, updates = weights.copy(), 0
    while True:
        for rows in batches(len(seen), config["batch"], rng):
            error = (seen[rows] @ weights - data.y[rows]) / len(rows)
            weights -= config["rate"] * (error @ seen[rows] + config["ridge"] * weights)
            updates += 1
            average += (weights - average) / updates
        reading = data.rmse(held_out @ (average if config["averaged"] else weights))
        yield ss.Reading(reading.value, cost=config["features"] / 100, **reading.metrics)


def _fourier(config: Config, inputs: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """Random cosines of the inputs: their inner products approximate a Gaussian or a Laplace kernel."""
    shape = inputs[0].shape[1], config["features"]
    gaussian = config["kernel"] == "gaussian"
    draws = normal(rng, *shape) if gaussian else np.asarray(rng.standard_cauchy(shape), np.float32)
    phases = np.asarray(rng.uniform(0, 2 * np.pi, config["features"]), np.float32)
    scale = (2 / config["features"]) ** 0.5
    return [scale * np.cos(X @ (config["gamma"] * draws) + phases) for X in inputs]


def recurrent_space() -> ConfigurationSpace:
    space = ss.space(
        units=ss.log(4, 40),
        optimiser=["adam", "momentum"],
        rate=ss.log(1e-4, 0.3),
        momentum=(0.0, 0.98),
        clip=ss.log(0.01, 10.0),
        radius=(0.2, 1.6),
        batch=ss.log(16, 100),
        noise=ss.log(0.01, 1.0),
    )
    space.add(EqualsCondition(space["momentum"], space["optimiser"], "momentum"))
    return space


def recurrent_network(config: Config, seed: int) -> Iterator[ss.Reading]:
    """A recurrent network that forecasts a chaotic series from a window of it; a step is an epoch."""
    data, rng, units = chaos(), np.random.default_rng(seed), config["units"]
    loop = config["radius"] * normal(rng, units, units) / units**0.5
    weights = [normal(rng, units), loop, np.zeros(units, np.float32), normal(rng, units) / units]
    descent = Descent(weights, config.get("momentum", 0.9), config["optimiser"] == "adam")
    while True:
        for rows in batches(len(data.X), config["batch"], rng):
            X = data.X[rows] + config["noise"] * normal(rng, len(rows), data.X.shape[1])
            gradients = _through_time(weights, X, data.y[rows])
            length = sum(float(np.square(g).sum()) for g in gradients) ** 0.5
            shorter = min(1.0, config["clip"] / (length + 1e-12))
            descent.step([shorter * g for g in gradients], config["rate"])
        yield data.rmse(_states(weights, data.held_out)[-1] @ weights[3])


def _states(weights: Sequence[Array], X: Array) -> list[Array]:
    entry, loop, bias, _ = weights
    states = [np.zeros((len(X), len(bias)), np.float32)]
    for column in X.T:
        states.append(np.tanh(column[:, None] * entry + states[-1] @ loop + bias))
    return states


def _through_time(weights: Sequence[Array], X: Array, y: Array) -> list[Array]:
    """Gradients of the mean squared error at the last state."""
    _, loop, _, output = weights
    states = _states(weights, X)
    error = (states[-1] @ output - y) / len(y)
    found = [np.zeros_like(w) for w in weights]
    found[3] += error @ states[-1]
    back = error[:, None] * output
    for t in range(X.shape[1], 0, -1):
        back = back * (1 - np.square(states[t]))
        found[0] += X[:, t - 1] @ back
        found[1] += states[t - 1].T @ back
        found[2] += back.sum(0)
        back = back @ loop.T
    return found


WIDE = ss.space(
    optimiser=["adam", "momentum"],
    rate=ss.log(1e-4, 1.0),
    momentum=(0.0, 0.95),
    l1=ss.log(1e-5, 0.3),
    l2=ss.log(1e-5, 1.0),
    feature_dropout=(0.0, 0.8),
    batch=ss.log(8, 150),
)


def wide_logistic(config: Config, seed: int) -> Iterator[ss.Reading]:
    """Logistic regression with more columns than rows. The reading is the log loss, which rises when it overfits."""
    data, rng = blobs(250, 10, 2, 150, 150, clusters=1), np.random.default_rng(seed)
    weights, keep = [np.zeros(250, np.float32), np.zeros(1, np.float32)], 1 - config["feature_dropout"]
    descent = Descent(weights, config["momentum"], config["optimiser"] == "adam")
    while True:
        for rows in batches(len(data.X), config["batch"], rng):
            X = data.X[rows] * (rng.random((len(rows), 250), dtype=np.float32) < keep) / np.float32(keep)
            error = (1 / (1 + np.exp(-X @ weights[0] - weights[1])) - data.y[rows]) / len(rows)
            shrink = config["l2"] * weights[0] + config["l1"] * np.sign(weights[0])
            descent.step([error @ X + shrink, error.sum(keepdims=True)], config["rate"])
        margins = (1 - 2 * data.truth) * (data.held_out @ weights[0] + weights[1])
        yield data.mean(np.logaddexp(0, margins))
