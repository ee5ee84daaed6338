"""A Ray cluster of three nodes on this machine: one is removed, and what an evaluation costs next to Ray Tune."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options, Unavailable
from benchmarks.harness.measurements import Row, row
from shoestring.core.events import Adopted

SPACE = {"x": (0.0, 1.0)}
WORKERS = 4


def ray(options: Options) -> list[Row]:
    """A node of three removed in mid-run; wall milliseconds of a trivial evaluation, ours and Ray Tune's in turn."""
    with _cluster() as cluster:
        rows = _removal(cluster, 400 if options.quick else 2000)
        return rows + _overhead(8 if options.quick else 40, options.seeds)


@contextmanager
def _cluster() -> Iterator[Any]:
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    try:
        import ray
        from ray import tune  # noqa: F401
        from ray.cluster_utils import Cluster
    except ImportError as error:
        raise Unavailable(f"this table needs Ray with Tune: pip install 'ray[tune]' ({error})") from None
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def _saving(trial: ss.Trial) -> Iterator[float]:
    for step in range(trial.start + 1, 21):
        (trial.directory / "step").write_text(str(step))
        yield trial.config["x"] + 1 / step


class _Removing:
    """An executor under which a node of the cluster is removed once some steps are spent."""

    def __init__(self, executor: Any, when: Callable[[], bool], remove: Callable[[], None]) -> None:
        self._executor, self._when, self._remove = executor, when, remove

    def open(self, objective: Any, directory: Path) -> Any:
        session, outer = self._executor.open(objective, directory), self

        class Session:
            removed = False

            def __getattr__(self, name: str) -> Any:
                return getattr(session, name)

            def collect(self, until: float | None) -> Any:
                if not self.removed and outer._when():
                    outer._remove()
                    self.removed = True
                return session.collect(until)

        return Session()


def _removal(cluster: Any, steps: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        study = ss.Study(
            SPACE, budget=ss.Budget(steps=steps), method="asha", max_resource=20, storage=Path(folder) / "study.db"
        )
        node = cluster.list_all_nodes()[-1]
        executor = _Removing(
            ss.executors.Ray(6), lambda: study.spent["steps"] > steps / 3, lambda: cluster.remove_node(node)
        )
        study.run(_saving, executor=executor, progress=False)
        events = study.events()
        adopted = [event for event in events if isinstance(event, Adopted)]
        return [
            row("a node is removed: trials that were tried again", [len(adopted)], at_least=1.0),
            row("a node is removed: steps that were not spent", [steps - study.spent["steps"]], at_most=0.0),
            row("a node is removed: logs that verify refuses", [0.0 if study.verify().ok else 1.0], at_most=0.0),
        ]


def _overhead(n: int, seeds: int) -> list[Row]:
    """Both run the same trivial function, as many at once, with what each needs to start and to end."""
    _ours(2, 0)
    _tune(2, 0)
    pairs = [(1000 * _ours(n, seed) / n, 1000 * _tune(n, seed) / n) for seed in range(max(seeds, 3))]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return [
        row(f"{n} evaluations: shoestring, ms each", [ours for ours, _ in pairs]),
        row(f"{n} evaluations: Ray Tune, ms each", [theirs for _, theirs in pairs]),
        row(f"{n} evaluations: median ratio", [ratio], at_most=0.5),
    ]


def _ours(n: int, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        before = time.perf_counter()
        ss.tune(
            lambda trial: trial.config["x"], SPACE, budget=ss.Budget(evaluations=n), method="random", seed=seed,
            storage=Path(folder) / "study.db", executor=ss.executors.Ray(WORKERS), progress=False,
        )  # fmt: skip
        return time.perf_counter() - before


def _tune(n: int, seed: int) -> float:
    from ray import tune

    with tempfile.TemporaryDirectory() as folder:
        before = time.perf_counter()
        tuner = tune.Tuner(
            tune.with_resources(lambda config: {"value": config["x"]}, {"CPU": 1}),
            param_space={"x": tune.uniform(0.0, 1.0)},
            tune_config=tune.TuneConfig(
                num_samples=n, metric="value", mode="min", max_concurrent_trials=WORKERS, reuse_actors=True
            ),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        tuner.fit()
        return time.perf_counter() - before
