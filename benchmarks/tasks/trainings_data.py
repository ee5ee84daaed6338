"""Small data sets for the trainings: bundled with scikit-learn, or generated. Nothing is downloaded.

The training rows are few, as are the validation rows. The test rows show what a recommended model is really worth, so
where the data are generated there are thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

import shoestring as ss

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Data:
    """Training rows ``X``, ``y``, and held-out rows: the first ``validation`` of them validate, the others test."""

    X: Array
    y: Array
    held_out: Array
    truth: Array
    validation: int

    def error_rate(self, predicted: Array) -> ss.Reading:
        return self.mean(predicted != self.truth)

    def rmse(self, predicted: Array) -> ss.Reading:
        squares = self.mean(np.square(predicted - self.truth))
        return ss.Reading(squares.value**0.5, test=squares.metrics["test"] ** 0.5)

    def mean(self, losses: Array) -> ss.Reading:
        """The mean over the validation rows, with that over the test rows as a metric."""
        kept, rest = losses[: self.validation], losses[self.validation :]
        return ss.Reading(float(kept.mean(dtype=float)), test=float(rest.mean(dtype=float)))


def _split(X: Array, y: Array, train: int, validation: int) -> Data:
    """Rows in a fixed random order, with the columns scaled by the training rows; real targets are scaled too."""
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].astype(np.float32), y[order]
    X = (X - X[:train].mean(0)) / (X[:train].std(0) + 1e-6)
    if y.dtype.kind == "f":
        y = ((y - y[:train].mean()) / y[:train].std()).astype(np.float32)
    return Data(X[:train], y[:train], X[train:], y[train:], validation)


@cache
def digits() -> Data:
    """Handwritten digits, of which 450 are for training."""
    X, y = datasets.load_digits(return_X_y=True)
    return _split(X / 16, y, 450, 300)


@cache
def mislabelled_digits(share: float = 0.25) -> Data:
    """Digits, of which a share of the training labels is wrong: a network that learns them all by heart is worse."""
    X, y = datasets.load_digits(return_X_y=True)
    data = _split(X / 16, y, 500, 200)
    rng = np.random.default_rng(1)
    wrong = rng.random(len(data.y)) < share
    return Data(data.X, np.where(wrong, rng.integers(10, size=len(wrong)), data.y), data.held_out, data.truth, 200)


@cache
def blobs(features: int, informative: int, classes: int, train: int, validation: int, clusters: int = 2) -> Data:
    """Classes of several Gaussian clusters each, with 3 % of random labels."""
    X, y = datasets.make_classification(
        train + validation + 3000, features, n_informative=informative, n_redundant=informative // 2,
        n_classes=classes, n_clusters_per_class=clusters, flip_y=0.03, random_state=0,
    )  # fmt: skip
    return _split(X, y, train, validation)


@cache
def friedman(problem: int, noise: float, train: int, validation: int) -> Data:
    """Friedman's regression problems 1 to 3; ``noise`` is relative to the standard deviation of the function."""
    make = (datasets.make_friedman1, datasets.make_friedman2, datasets.make_friedman3)[problem - 1]
    X, y = make(train + validation + 3000, random_state=0)
    return _split(X, y + noise * y.std() * np.random.default_rng(2).normal(size=len(y)), train, validation)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of items by users, as pairs of indices, and the data whose targets they are."""

    pairs: Array
    held_out: Array
    data: Data
    users: int = 150
    items: int = 100


@cache
def ratings(train: int = 3000, validation: int = 300, test: int = 3000, rank: int = 4) -> Ratings:
    """Users with tastes in four dimensions and moods (noise); a fifth of all ratings is known."""
    rng = np.random.default_rng(3)
    users, items = Ratings.users, Ratings.items
    taste = rng.normal(size=(users, rank)) @ rng.normal(size=(items, rank)).T / rank**0.5
    score = taste + 0.5 * rng.normal(size=(users, 1)) + 0.5 * rng.normal(size=items)
    score += 0.5 * rng.normal(size=score.shape)
    known = rng.permutation(users * items)[: train + validation + test]
    pairs, y = np.stack(np.divmod(known, items)), score.ravel()[known].astype(np.float32)
    return Ratings(
        pairs[:, :train], pairs[:, train:], Data(known[:train], y[:train], known[train:], y[train:], validation)
    )


@cache
def chaos(length: int = 16, ahead: int = 4, train: int = 200, validation: int = 150, test: int = 600) -> Data:
    """Windows of the chaotic Mackey-Glass series with noise; the target is its value some steps ahead."""
    rng, delay = np.random.default_rng(4), 17
    series = list(0.5 + rng.random(delay + 1))
    for _ in range(5 * (train + validation + test)):
        series.append(0.9 * series[-1] + 0.2 * series[-1 - delay] / (1 + series[-1 - delay] ** 10))
    clean = (np.array(series) - np.mean(series)) / np.std(series)
    noisy = clean + 0.2 * rng.normal(size=len(clean))
    # Validation and test windows come after the training windows in time, as they would for a user.
    starts = delay + 3 * np.arange(train + validation + test)
    X = noisy[starts[:, None] + np.arange(length)].astype(np.float32)
    y = clean[starts + length - 1 + ahead].astype(np.float32)
    return Data(X[:train], y[:train], X[train:], y[train:], validation)
