"""Trials on a Ray cluster, or on a local Ray: each worker is an actor with resources of its own.

The process of the study decides and writes the log; the actors only train. A worker whose node dies or is pre-empted is
replaced as soon as the cluster has a place for it, and its trial is lost: it is tried again as ``retries`` says.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoestring.core.options import check_number, check_whole
from shoestring.core.workers import ticks
from shoestring.errors import MethodError
from shoestring.executors.base import check_init
from shoestring.executors.pool import Gone, Order, PoolSession
from shoestring.executors.ray_worker import RaySession, ShoestringWorker, delete_folder
from shoestring.executors.threads import thread_variables
from shoestring.executors.worker_process import Setup, setup_for
from shoestring.objectives.checks import is_stateless
from shoestring.objectives.disk import own_files
from shoestring.objectives.folders import is_folder, pack, unpack
from shoestring.objectives.job import Job, Report
from shoestring.objectives.trial_files import files_of

_logger = logging.getLogger("shoestring")

# Ray has options of its own for these resources.
_NAMED = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
# Seconds that the first workers have to load the objective before the study starts with those that have, and that an
# actor has to end, or to come to life before it is ended.
_LOADING, _ENDING, _CREATION = 60.0, 10.0, 3.0


@dataclass(frozen=True)
class Ray:
    """Run trials in ``workers`` actors of Ray; by default as many as the cluster has room for now.

    ``resources`` is what each of them takes: "CPU", "GPU", "memory" in bytes, names of your own. ``address`` is that of
    a cluster; without it, the Ray that this process uses already, the cluster that RAY_ADDRESS names, or a local one.
    ``alive`` is how many trials, the running one included, each worker holds in memory. With ``shared=False`` the files
    of trials travel through Ray's object store; by default only from nodes that do not see the study's folder.
    ``runtime_env`` is Ray's. Each worker computes with ``threads`` threads, by default as many as its CPUs; ``init`` is
    called once in each, before its first trial. If there has been no worker for ``wait`` seconds, the run ends.
    """

    workers: int | None = None
    resources: Mapping[str, float] = field(default_factory=lambda: {"CPU": 1})
    address: str | None = None
    alive: int = 16
    shared: bool | None = None
    runtime_env: Mapping[str, Any] | None = None
    wait: float = 300.0
    threads: int | None = None
    init: Callable[[], Any] | None = None

    def __post_init__(self) -> None:
        check_whole(self, workers=1, alive=1, threads=1)
        check_init(self.init)
        check_number(self, "wait", "a positive number of seconds", 0, ends="()")
        if self.shared not in (None, False):
            raise MethodError(f"shared is {self.shared!r}; it is False, or None to find out which nodes see the files")
        given = self.resources
        if not isinstance(given, Mapping) or not given or not all(map(_is_resource, given.items())):
            raise MethodError(
                f"resources is {given!r}; it is what each trial takes, numbers above 0 such as {{'CPU': 2, 'GPU': 0.5}}"
            )

    def open(self, objective: Any, directory: Path) -> PoolSession:
        pool = _RayPool(self, setup_for(objective, directory, self._thread_variables(), self.init))
        try:
            workers = self.workers or pool.room()
            session = PoolSession(pool, workers, self.alive, directory, is_stateless(objective))
            try:
                session.load(1)
                session.load(min(workers, pool.room()), _LOADING)
            except BaseException:
                session.close()
                raise
        except BaseException:
            pool.leave()
            raise
        return session

    def _thread_variables(self) -> dict[str, str]:
        """As many threads as a worker has CPUs, unless the options say otherwise; this host's settings do not count."""
        variables = thread_variables(self.threads or max(1, int(self.resources.get("CPU", 1))), 1)
        given = (self.runtime_env or {}).get("env_vars", {}) if self.threads is None else {}
        return {name: given.get(name, count) for name, count in variables.items()}


def _is_resource(item: tuple[object, object]) -> bool:
    name, amount = item
    number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
    return isinstance(name, str) and number and 0 < amount < math.inf  # type: ignore[operator]


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        raise MethodError("executors.Ray needs ray: pip install 'shoestring[ray]'") from None
    return ray


class _RayPool:
    def __init__(self, options: Ray, setup: Setup) -> None:
        self._ray = _ray()
        self._options = options
        self._started = not self._ray.is_initialized()
        if self._started:
            self._ray.init(address=options.address, logging_level=logging.WARNING)
        self._session = RaySession(f"shoestring-{uuid.uuid4().hex}", setup.directory, options.shared is None)
        self._session.mark()
        self._setup = self._ray.put(setup)
        self._actor = self._ray.remote(ShoestringWorker).options(**_actor_options(options))
        self._there_was_one = ticks()  # when there was a worker, the last time

    def room(self) -> int:
        """Return how many workers the nodes of the cluster have room for, without other users."""
        alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        needed = self._options.resources.items()
        fitting = sum(min(int(node.get(name, 0) / amount + 1e-9) for name, amount in needed) for node in alive)
        if not fitting and self._options.workers is None:
            raise MethodError(
                f"no node of the cluster has {dict(needed)}; it has {_totals(alive)}. Ask for less in resources=, or "
                "say workers= if nodes are going to be added"
            )
        return max(1, fitting)

    def spawn(self, number: int) -> _Actor:
        return _Actor(self._ray, self._actor.remote(self._setup, number, self._session), self._session.directory)

    def wait(self, links: Sequence[_Actor], seconds: float | None) -> list[_Actor]:
        if any(link.is_ready for link in links):
            self._there_was_one = ticks()
        else:
            seconds = min(math.inf if seconds is None else seconds, self._seconds_to_wait())
        asked = {link.asked[0]: link for link in links if link.asked}
        if not asked:
            return []
        answered, _ = self._ray.wait(list(asked), timeout=seconds)
        if answered:  # also those that came at the same time
            answered, _ = self._ray.wait(list(asked), num_returns=len(asked), timeout=0)
        return [asked[ref] for ref in answered]

    def _seconds_to_wait(self) -> float:
        """Return how long a first worker is still waited for."""
        left = self._there_was_one + self._options.wait - ticks()
        if left <= 0:
            alive = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
            raise MethodError(
                f"the cluster has had no place for a worker with {dict(self._options.resources)} for "
                f"{self._options.wait:g} s (wait=); its nodes have {_totals(alive)}. Run it again when there is one: "
                "the study continues"
            )
        return left

    def end_all(self, links: Sequence[_Actor]) -> None:
        # Ray may never free the resources of an actor that is killed while it is being created.
        if created := [link.asked[0] for link in links if link.asked and not link.is_ready]:
            with suppress(Exception):  # Ray itself may be gone
                self._ray.wait(created, num_returns=len(created), timeout=_CREATION)
        for link in links:
            link.kill()
        for link in links:
            link.end()
        self.leave()

    def leave(self) -> None:
        """Delete what the session left on the nodes, and end a Ray that was started for it."""
        if self._ray.is_initialized():
            self._clean_nodes()
        self._session.unmark()
        if self._started:
            self._ray.shutdown()

    def _clean_nodes(self) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        clean = self._ray.remote(num_cpus=0, max_retries=0)(delete_folder)
        nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
        places = [NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
        orders = [clean.options(scheduling_strategy=place).remote(self._session.name) for place in places]
        if orders:
            self._ray.wait(orders, num_returns=len(orders), timeout=_ENDING)


def _actor_options(options: Ray) -> dict[str, Any]:
    named = {_NAMED[name]: amount for name, amount in options.resources.items() if name in _NAMED}
    own = {name: amount for name, amount in options.resources.items() if name not in _NAMED}
    environment = {"runtime_env": dict(options.runtime_env)} if options.runtime_env else {}
    return {"num_cpus": 0, **named, "resources": own, **environment}


def _totals(nodes: Sequence[Mapping[str, float]]) -> str:
    """List the resources of the nodes of a cluster, each in its own braces."""
    internal = ("node:", "object_store_memory", "accelerator_type:")
    return "; ".join(str({k: v for k, v in node.items() if not k.startswith(internal)}) for node in nodes) or "none"


class _Actor:
    """The way to one actor. ``asked`` are the answers that are due."""

    def __init__(self, ray: Any, actor: Any, directory: Path) -> None:
        self._ray = ray
        self._actor = actor
        self._directory = directory
        self.is_ready = False
        self._travels = False
        self._job: Job | None = None
        self._at: dict[int, int] = {}  # the trials that it has in memory, and the step that each has reached
        self.asked = deque([actor.load.remote()])

    def send(self, order: Order, argument: Any) -> None:
        if order == "drop":
            self._at.pop(argument, None)
            self._actor.drop.remote(argument)
        else:
            self._job = argument
            self.asked.append(self._actor.step.remote(argument, self._files_for(argument)))

    def _files_for(self, job: Job) -> bytes | None:
        """The snapshot that a trial is resumed from, if the actor cannot read it."""
        if not self._travels or self._at.get(job.trial) == job.start:
            return None
        files = files_of(self._directory, job.trial, job.holders)
        files.rewind(job.start)
        snapshot = files.snapshot_of(job.start)
        return pack(snapshot) if job.start and is_folder(snapshot) else None

    def receive(self) -> Any:
        try:
            answer = self._ray.get(self.asked.popleft())
        except self._ray.exceptions.RayError as error:
            raise Gone(f"its worker has died: {_last_line(error)}") from None
        if not self.is_ready:
            problem, self._travels = answer
            self.is_ready = not problem
            return problem
        report, archive = answer
        if archive is not None:
            self._store(report, archive)
        if report.held:
            self._at[report.trial] = report.step
        else:
            self._at.pop(report.trial, None)
        return report

    def _store(self, report: Report, archive: bytes) -> None:
        assert self._job is not None
        files = files_of(self._directory, report.trial, self._job.holders)
        if report.how == "reading":
            files.add(report.step, archive)
        else:  # the files that it wrote after its last reading
            with own_files("the files of a trial cannot be stored"):
                unpack(archive, files.work())

    def kill(self) -> None:
        with suppress(Exception):  # it may be gone, or Ray itself
            self._ray.kill(self._actor)

    def end(self) -> None:
        self.kill()
        with suppress(Exception):
            self._ray.wait(list(self.asked), num_returns=len(self.asked), timeout=_ENDING)


def _last_line(error: Exception) -> str:
    """Return the last line of what Ray says of an actor that died; it has the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:500] if lines else type(error).__name__
