"""One of many processes that spend a budget on trivial evaluations, to see what the storage makes of it.

    python benchmarks/suites/cluster/evaluating.py ours|optuna STORAGE EVALUATIONS FOLDER

It waits for the file ``go`` in FOLDER, so that starting Python is not measured. Each evaluation is noted in a file
there, and at the end how many decisions were made.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def wait_for_all(folder: Path) -> None:
    (folder / f"ready-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)


def ours(storage: str, evaluations: int, folder: Path) -> None:
    import shoestring as ss
    from shoestring.core import grants

    decided, real = [0], grants._check

    def counted(*given):
        decided[0] += 1
        return real(*given)

    grants._check = counted
    study = ss.Study(
        {"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget=ss.Budget(evaluations=evaluations),
        method=os.environ.get("CLUSTER_METHOD", "random"), storage=storage, name="trivial",
    )  # fmt: skip
    with (folder / f"ran-{os.getpid()}").open("w") as notes:

        def evaluate(trial):
            notes.write(f"{trial.arm}\n")
            return trial.config["x"] ** 2 + trial.config["y"]

        wait_for_all(folder)
        study.run(evaluate, progress=False)
    (folder / f"decided-{os.getpid()}").write_text(json.dumps(decided[0]))


def optuna(storage: str, evaluations: int, folder: Path) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=storage.replace("postgresql://", "postgresql+psycopg://"), study_name="trivial", load_if_exists=True,
        sampler=optuna.samplers.RandomSampler(),
    )  # fmt: skip
    wait_for_all(folder)
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1) ** 2 + trial.suggest_float("y", 0, 1),
        callbacks=[optuna.study.MaxTrialsCallback(evaluations, states=None)],
    )


if __name__ == "__main__":
    who, storage, evaluations, folder = sys.argv[1:]
    {"ours": ours, "optuna": optuna}[who](storage, int(evaluations), Path(folder))
