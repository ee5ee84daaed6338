"""Threads of workers: seconds of four workers on one host against one, for the same trials of three libraries.

    python benchmarks/worker_threads.py --table seconds
    python benchmarks/worker_threads.py --table unlimited

A ratio is within one round. "As many threads as cores" is what the libraries do without a limit.
"""

from __future__ import annotations

import numpy as np

import shoestring as ss
from benchmarks.harness.common import Options, main
from benchmarks.harness.measurements import Row, row
from shoestring.executors import Processes
from shoestring.executors.threads import share_of_cores

_TRIALS, _WORKERS = 4, 4
_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(1000, 20)).astype("float32")
_Y = (_X[:, 0] + _X[:, 1] * _X[:, 2] > 0).astype("float32")


def with_torch(trial: ss.Trial) -> float:
    """One epoch of a small network, in batches of 20."""
    import torch

    torch.manual_seed(trial.seed)
    model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimiser = torch.optim.Adam(model.parameters(), lr=trial.config["lr"])
    for x, y in zip(torch.from_numpy(_X).split(20), torch.from_numpy(_Y)[:, None].split(20), strict=True):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return float(loss.item())


def with_xgboost(trial: ss.Trial) -> float:
    """Twenty rounds of boosting."""
    import xgboost

    settings = {"eta": trial.config["lr"], "objective": "binary:logistic", "max_depth": 6}
    model = xgboost.train(settings, data := xgboost.DMatrix(_X, _Y), 20)
    return float(np.mean((model.predict(data) > 0.5) != _Y))


def with_sklearn(trial: ss.Trial) -> float:
    """Twenty iterations of histogram-based boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(learning_rate=trial.config["lr"], max_iter=20).fit(_X, _Y)
    return float(1 - model.score(_X, _Y))


def _load() -> None:
    """Import the libraries before the first trial, so that this is not timed."""
    import sklearn.ensemble  # noqa: F401
    import torch  # noqa: F401
    import xgboost  # noqa: F401


OBJECTIVES = {"PyTorch": with_torch, "XGBoost": with_xgboost, "scikit-learn": with_sklearn}


def _seconds(objective: object, workers: int, threads: int | None) -> float:
    executor = Processes(workers, threads=threads, init=_load)
    study = ss.Study({"lr": ss.log(1e-3, 0.3)}, budget=ss.Budget(evaluations=_TRIALS), method="random")
    study.run(objective, executor=executor, progress=False)  # type: ignore[arg-type]
    return float(study.history.ledger.spent()["seconds"])


def seconds(options: Options) -> list[Row]:
    """Seconds of four workers against one; a ratio above one means that four are slower."""
    return _compare(options, {"one worker": (1, None), "four workers": (_WORKERS, None)})


def unlimited(options: Options) -> list[Row]:
    """The same with as many threads as cores in each of the four workers; with other programs it takes minutes."""
    many = (_WORKERS, share_of_cores(1))
    return _compare(options, {"one worker": (1, None), "four workers with as many threads as cores each": many})


def _compare(options: Options, arrangements: dict[str, tuple[int, int | None]]) -> list[Row]:
    """Each round runs one arrangement after another, for each library."""
    return [
        line
        for library, objective in OBJECTIVES.items()
        for line in _rows(
            library,
            [{name: _seconds(objective, *given) for name, given in arrangements.items()} for _ in range(options.seeds)],
        )
    ]


def _rows(library: str, rounds: list[dict[str, float]]) -> list[Row]:
    one, *others = rounds[0]
    measured = {f"{library}: seconds of {name}": [found[name] for found in rounds] for name in rounds[0]}
    for name in others:
        measured[f"{library}: {name} against one"] = [found[name] / found[one] for found in rounds]
    return [row(name, values) for name, values in measured.items()]


def run() -> None:
    main(__doc__, {"seconds": seconds, "unlimited": unlimited}, seeds=3, quick_seeds=1)
