"""The cost of decisions: CPU time of ``method.decide`` on a warm history, after each further event."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row, row
from shoestring.core.composition import compose
from shoestring.core.decisions import Method
from shoestring.core.events import Event, Granted, Reported
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named
from shoestring.problems import Synthetic, WithCurves
from shoestring.samplers import Random
from shoestring.schedulers import ModifiedSubSampling, SubSampling

ARMS = 1_000
READINGS = 10_000
MEASURED = 2_000
LIMIT_MS = 2.0
PROBLEM = WithCurves(Synthetic("hartmann6", noise=0.1, spread=0.3), max_resource=81)
METHODS: dict[str, Method] = {
    "ASHA": named("asha"),
    "SS": named("ss"),
    "SS, one bracket of 1,000": compose(Random(), SubSampling(arms=ARMS)),
    "MSS": named("mss"),
    "MSS, one bracket of 1,000": compose(Random(), ModifiedSubSampling(arms=ARMS)),
    "AMSS": named("amss"),
    "BOHB": BOHB(),
    "BOSS, ss": BOSS(rule="ss"),
    "BOSS, mss": BOSS(rule="mss"),
    "parallel BOSS": ParallelBOSS(),
    "parallel BOSS, resumed": ParallelBOSS(replicate="resume", compare="rung"),
}


def a_log(method: Method, seed: int, more: int) -> tuple[list[Event], int]:
    """A log of 32 workers with ``more`` events after the thousandth arm and the ten-thousandth reading."""
    steps = 2 * READINGS
    while True:
        log = MemoryLog()
        study = ss.Study(
            PROBLEM.space, budget=ss.Budget(steps=steps), method=method, max_resource=PROBLEM.max_resource, storage=log,
            seed=seed,
        )  # fmt: skip
        study.run(PROBLEM, executor=Simulated(32))
        events = log.read(0, 0)
        grown = _grown(events)
        if grown is not None and len(events) - grown > more:
            return events, grown
        steps *= 2


def _grown(events: Sequence[Event]) -> int | None:
    """Return where the history has become large enough."""
    arms = accumulate(isinstance(event, Granted) and event.config is not None for event in events)
    readings = accumulate(isinstance(event, Reported) for event in events)
    pairs = enumerate(zip(arms, readings, strict=True))
    return next((at for at, (a, r) in pairs if a >= ARMS and r >= READINGS), None)


def milliseconds(method: Method, events: Sequence[Event], start: int, more: int) -> float:
    """CPU milliseconds a decision, over the events from ``start`` on; what came before was seen."""
    history = History()
    for event in events[:start]:
        history.absorb(event)
    method.decide(history, generator(0, 0, "decide"))
    spent = 0.0
    for event in events[start : start + more]:
        history.absorb(event)
        rng = generator(0, len(history.grants), "decide")
        before = time.process_time()
        method.decide(history, rng)
        spent += time.process_time() - before
    return 1000 * spent / more


def table(options: Options) -> list[Row]:
    """CPU milliseconds a decision with 1,000 arms and 10,000 readings, decided again after every event."""
    seeds = options.seeds or (1 if options.quick else 3)
    more = MEASURED // 10 if options.quick else MEASURED
    rows = []
    for name in ("ASHA", "AMSS", "parallel BOSS") if options.quick else METHODS:
        method = METHODS[name]
        logs = [a_log(method, seed, more) for seed in range(seeds)]
        rows.append(row(name, [milliseconds(method, *log, more) for log in logs], at_most=LIMIT_MS))
    return rows
