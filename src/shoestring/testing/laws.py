"""The laws of the design, as checks that run on any method.

Every check takes a method, or the events of a study that the method played, and raises an ``AssertionError`` that
begins with the name of the broken law.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np

from shoestring.core.budget import Budget
from shoestring.core.decisions import Continue, Decision, Done, Method, Replicate, Start, Wait, write_state
from shoestring.core.events import Closed, Event, Granted, from_json, to_json
from shoestring.core.grants import next_grant
from shoestring.core.history import History
from shoestring.core.randomness import generator
from shoestring.core.weighing import unable_part
from shoestring.errors import MethodError, ShoestringError
from shoestring.spaces.codec import Codec
from shoestring.study import Study
from shoestring.testing.playground import Playground, played

PROBLEM = Playground(failing=0.2)

# Besides the play in steps with four workers: the other units of a budget, with few and with many workers.
PLAYS = (
    (Budget(evaluations=25), 1),
    (Budget(seconds=60.0, steps=140), 16),
    (Budget(cost=170.0), 4),
)


def check_method(method: Method) -> None:
    """Every law that holds for all methods."""
    play = Play(method)
    with possible_decisions():
        for law in METHOD_LAWS.values():
            law(play)


class Play:
    """A method, and a study that it played to its end."""

    def __init__(self, method: Method) -> None:
        self.method = method

    @cached_property
    def study(self) -> Study:
        return played(self.method, PROBLEM)[0]

    @cached_property
    def events(self) -> list[Event]:
        return self.study.events()


@contextmanager
def possible_decisions() -> Iterator[None]:
    """Treat a decision that a study refuses to carry out as a broken law."""
    try:
        yield
    except ShoestringError as error:
        raise AssertionError(f"possible decisions: {error}") from error


def check_events(events: Sequence[Event]) -> None:
    """The laws that can be read from a log alone."""
    check_budget_law(events)
    check_no_duplicates(events)
    check_failures_are_kept(events)
    check_reasons(events)


def check_other_budgets(method: Method) -> None:
    for budget, workers in PLAYS:
        check_events(played(method, PROBLEM, budget=budget, workers=workers)[1])


def check_verification(study: Study) -> None:
    verification = study.verify()
    assert verification.ok, f"verify: {verification.difference}"


def prefixes(events: Sequence[Event]) -> Iterator[tuple[History, Event]]:
    """The history before each event, and the event."""
    history = History()
    for event in events:
        yield history, event
        history.apply(event)


def fold_all(events: Sequence[Event]) -> History:
    """The history after all events."""
    history = History()
    for event in events:
        history.apply(event)
    return history


def check_known(method: Method, results: int = 12) -> None:
    """Check that enqueued configurations come first, and results from elsewhere are free and are not tried again."""
    problem, budget = Playground(), Budget(steps=60)
    study, events = played(method, problem, budget=budget, known=lambda study: give(study, results))
    first = next(position for position, event in enumerate(events) if isinstance(event, Granted))
    before = fold_all(events[:first])
    assert len(before.trials) == results, "known results: one of them is not a trial"
    assert not any(before.ledger.spent().values()), "known results: something was charged for them"
    queue = [Codec.key(config) for config in before.queue]
    chosen = [Codec.key(arm.config) for arm in study.history.arms[len(before.arms) :]]
    first_chosen = chosen[: len(queue)]
    assert first_chosen == queue[: len(chosen)], "enqueued: another configuration was started before the user's"
    check_budget_law(events)
    check_no_duplicates(events)
    check_failures_stay(events)
    check_reasons(events)
    check_survives_json(events)
    check_cached_equals_fresh(method, events, most=20)
    for cut in (first, (first + len(events)) // 2):
        again = played(method, problem, events=events[:cut], budget=budget)[1]
        assert list(again) == list(events), f"crash anywhere: cut after event {cut}, another log followed"
    check_verification(study)


def give(study: Study, results: int) -> None:
    """Results of all kinds: whole curves, beginnings, single values, failures; then configurations to try."""
    for number in range(results):
        config = study.history.codec.sample(generator(number, 0, "known results"))
        curve = [Playground().reading(config, step, 0).value for step in range(1, 10)]
        match number % 4:
            case 0:
                study.add(config, curve)
            case 1:
                study.add(config, curve[: 1 + number % 5])
            case 2:
                study.add(config, curve[-1])
            case _:
                study.add(config, curve[:1], failed="it ran out of memory elsewhere")
    for number in range(2):
        study.enqueue(study.history.codec.sample(generator(number, 0, "enqueued")))


def check_plan(method: Method, workers: int = 4) -> None:
    """Check that planned configurations take turns with random ones, and all laws hold."""
    first = played(method, PROBLEM, budget=Budget(steps=9))[1][0]
    codec = fold_all([first]).codec
    drawn = [codec.sample(generator(number, 0, "planned")) for number in range(6)]
    plan = tuple({"config": config, "origin": "guess", "sd": 0.0} for config in drawn)
    opened = replace(first, budget={"steps": 120}, plan=plan)  # type: ignore[arg-type]
    budget = Budget(steps=120)
    study, events = played(method, PROBLEM, events=[opened], budget=budget, workers=workers)
    keys, planned = [Codec.key(arm.config) for arm in study.history.arms], list(map(Codec.key, drawn))
    assert [key in planned for key in keys[:4]] == [True, False, True, False], "plan: it does not take turns"
    assert [key for key in keys if key in planned] == planned[: len({*planned} & {*keys})], "plan: not in its order"
    check_events(events)
    check_survives_json(events)
    check_cached_equals_fresh(method, events, most=20)
    for cut in (1, len(events) // 3):
        again = played(method, PROBLEM, events=events[:cut], budget=budget, workers=workers)[1]
        assert list(again) == list(events), f"crash anywhere: cut after event {cut}, another log followed"
    check_verification(study)


def check_crash_anywhere(method: Method, events: Sequence[Event], cuts: int = 4) -> None:
    """Law 1: cut the log after any event, resume: the same log follows."""
    for cut in (len(events) * (2 * i + 1) // (2 * cuts) for i in range(cuts)):
        _, again = played(method, PROBLEM, events=events[:cut])
        assert list(again) == list(events), f"crash anywhere: cut after event {cut}, another log followed"


def check_another_process(*methods: Method) -> None:
    """Law 2: the same log in another process with another hash seed. The methods must be importable there."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    paths = os.pathsep.join(path or "." for path in sys.path)
    done = subprocess.run(
        [sys.executable, "-c", "from shoestring.testing.laws import play_in_child; play_in_child()"],
        input=pickle.dumps(methods),
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths},
        check=False,
    )
    assert done.returncode == 0, f"another process: it failed: {done.stderr.decode()}"
    for method, there in zip(methods, pickle.loads(done.stdout), strict=True):
        here = played(method)[1]
        assert here == there, f"another process: {method!r} decides differently with another hash seed"


def play_in_child() -> None:
    """Read methods and write their events, for :func:`check_another_process`."""
    methods = pickle.load(sys.stdin.buffer)
    pickle.dump([played(method)[1] for method in methods], sys.stdout.buffer)


def check_several(method: Method) -> None:
    """With several objectives and a constraint the laws hold too, or the method is refused.

    What the objectives are called, and in which units they are, changes no decision.
    """
    problem = replace(PROBLEM, names=("error", "speed"))
    if unable_part(method) is not None:
        _check_refused(method, problem)
        return
    study, events = played(method, problem)
    check_events(events)
    check_survives_json(events)
    check_cached_equals_fresh(method, events, most=12)
    check_verification(study)
    cut = len(events) // 2
    again = played(method, problem, events=events[:cut])[1]
    assert list(again) == list(events), f"several objectives: cut after event {cut}, another log followed"
    other = replace(problem, names=("z", "a"), scales=(1000.0, 0.001))
    grants, others = (
        [replace(e, reason="", explanation=None) for e in played_events if isinstance(e, Granted)]
        for played_events in (events, played(method, other)[1])
    )
    assert grants == others, "several objectives: other names and units changed a decision"


def _check_refused(method: Method, problem: Playground) -> None:
    try:
        played(method, problem)
    except MethodError:
        return
    raise AssertionError("several objectives: a method without `judges` was given them")


def check_budget_law(events: Sequence[Event]) -> None:
    """Law 3: at every prefix, spent and committed are within the budget, in every unit."""
    history = History()
    for event in events:
        history.apply(event)
        broken = history.ledger.exceeded_unit()
        assert not broken, f"budget law: {broken} overdrawn by event {history.position - 1} ({event.kind})"


def check_cached_equals_fresh(method: Method, events: Sequence[Event], most: int = 60) -> None:
    """Law 5: without its caches a method decides the same, from the history and its generator alone.

    Of a log with more than ``most`` grants, every second, third … is decided again.
    """
    watched, every = WatchedMethod(method), 1 + sum(isinstance(event, Granted) for event in events) // most
    for history, event in prefixes(events):
        if isinstance(event, Granted) and len(history.grants) % every == 0:
            history.drop_caches()
            fresh = next_grant(watched, history, event.worker, event.at, event.drift)
            assert fresh == event, f"cached equals fresh: event {history.position} was decided differently"


def check_rank_based(method: Method) -> None:
    """Law 6: adding a constant to the readings, or scaling them, changes no decision."""
    grants = [
        # A reason may mention losses, in the user's units.
        [replace(e, reason="") for e in played(method, problem)[1] if isinstance(e, Granted)]
        for problem in (Playground(), Playground(scale=1000.0, shift=-1000.0), Playground(scale=1e-3, shift=0.1))
    ]
    assert grants[0] == grants[1] == grants[2], "order-free: scaled readings changed a decision"


def check_no_duplicates(events: Sequence[Event]) -> None:
    keys = [Codec.key(arm.config) for arm in fold_all(events).arms]
    assert len(keys) == len(set(keys)), "no duplicates: a configuration was started twice"


def check_failures_are_kept(events: Sequence[Event], problem: Playground = PROBLEM) -> None:
    """Law 8: a failure keeps its message, is charged, enters no model and is not tried again."""
    check_failures_stay(events)
    for event in events:
        if isinstance(event, Closed) and event.how == "failed":
            assert event.message, "bad readings: the message of a failure was lost"
            assert event.steps == 1, "bad readings: the step that failed was not charged"
    for trial in fold_all(events).trials:
        failing = problem.failing_step(trial.config)
        if failing is None:
            assert trial.state != "failed", f"bad readings: trial {trial.index} failed without a bad reading"
        else:
            assert not [step for step in trial.losses if step >= failing], "bad readings: a failure has a loss"
            assert trial.state != "finished", "bad readings: a trial that must fail is said to have finished"


def check_failures_stay(events: Sequence[Event]) -> None:
    for history, event in prefixes(events):
        if isinstance(event, Granted) and event.arm < len(history.arms):
            states = {trial.state for trial in history.arms[event.arm].trials}
            assert states != {"failed"}, f"bad readings: arm {event.arm} has failed and is granted more"


def check_reasons(events: Sequence[Event]) -> None:
    assert all(event.reason for event in events if isinstance(event, Granted)), "reasons: a decision has no reason"


def check_survives_json(events: Sequence[Event]) -> None:
    """Check that everything written is read back equal."""
    for seq, event in enumerate(events):
        try:
            again = from_json(event.kind, event.at, to_json(event), seq)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"stable JSON: event {seq} cannot be written: {error}: {event!r}") from error
        assert again == event, f"stable JSON: event {seq} changed when written and read: {again!r}"


METHOD_LAWS: dict[str, Callable[[Play], None]] = {
    "budget": lambda play: check_budget_law(play.events),
    "no duplicates": lambda play: check_no_duplicates(play.events),
    "failures are kept": lambda play: check_failures_are_kept(play.events),
    "reasons": lambda play: check_reasons(play.events),
    "stable JSON": lambda play: check_survives_json(play.events),
    "cached equals fresh": lambda play: check_cached_equals_fresh(play.method, play.events),
    "crash anywhere": lambda play: check_crash_anywhere(play.method, play.events),
    "verify": lambda play: check_verification(play.study),
    "known results": lambda play: check_known(play.method),
    "plan": lambda play: check_plan(play.method),
    "several objectives": lambda play: check_several(play.method),
    "other budgets": lambda play: check_other_budgets(play.method),
}


class WatchedMethod:
    """A method whose every decision is checked."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.judges = getattr(method, "judges", "nothing")
        self.models_constraints = getattr(method, "models_constraints", False)

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        with pure(history):
            decision = self.method.decide(history, rng)
        check_decision(decision, history)
        return decision


@contextmanager
def pure(history: History) -> Iterator[None]:
    """In here the history must not change, global randomness unused, and the clock is years ahead."""
    before, generators = _contents(history), _global_generators()
    with _another_time():
        yield
    assert _contents(history) == before, "pure decisions: the history was changed"
    assert _global_generators() == generators, "pure decisions: a global random generator was used; use the one given"


def check_decision(decision: Decision, history: History) -> None:
    """A decision is one of the five kinds, has a reason, and can be carried out as it stands."""
    assert isinstance(decision, (Start, Continue, Replicate, Wait, Done)), f"possible decisions: {decision!r} is none"
    assert decision.reason.strip(), f"reasons: {decision!r} has no reason"
    if isinstance(decision, Wait):
        assert history.running, f"possible decisions: {decision!r}, although nothing is running"
    if isinstance(decision, (Wait, Done)):
        return
    _check_plain(decision)
    start = 0
    if isinstance(decision, Continue):
        trial = history.trials[decision.trial]
        assert trial.state == "paused", f"possible decisions: {decision!r}, but that trial is {trial.state}"
        start = trial.step
    last = history.max_resource or decision.until
    assert start < decision.until <= last, (
        f"possible decisions: {decision!r} is not between steps {start + 1} and {last}"
    )


def _check_plain(decision: Start | Continue | Replicate) -> None:
    """Check that a decision writes only plain values into the log."""
    for what in (decision.explanation, write_state(decision.state)):
        try:
            json.dumps(what, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"stable JSON: {what!r} of {decision!r} cannot be written: {error}") from error


def _contents(history: History) -> bytes:
    """All that a history holds, but for its caches."""
    return pickle.dumps(
        (
            history.position, history.now, history.opened, history.ledger, history.arms, history.trials,
            history.readings, history.closings, history.running, history.grants, history.queue,
        )
    )  # fmt: skip


def _global_generators() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state()
    return random.getstate(), name, tuple(keys), rest


@contextmanager
def _another_time() -> Iterator[None]:
    def ahead(clock: Callable[[], float]) -> Callable[[], float]:
        return lambda: clock() + 1e8

    clocks: dict[str, Any] = {name: ahead(getattr(time, name)) for name in ("time", "monotonic", "perf_counter")}
    with patch.multiple(time, **clocks):
        yield
