"""The laws of the design, as checks that run on any method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shoestring.core.budget import Budget
from shoestring.core.composition import compose
from shoestring.core.decisions import Method, Sampler, Scheduler
from shoestring.core.events import Closed, Event, Granted, from_json, to_json
from shoestring.core.grants import next_grant
from shoestring.core.history import History
from shoestring.samplers import Random
from shoestring.schedulers import Full
from shoestring.spaces.codec import Codec
from shoestring.testing.playground import Playground, played

BUDGETS = (
    Budget(steps=150),
    Budget(evaluations=25),
    Budget(seconds=60.0),
    Budget(cost=170.0),
    Budget(steps=140, evaluations=60, seconds=90.0, cost=180.0),
)


def check_sampler(sampler: Sampler) -> None:
    """Every law, with the sampler's arms run to the end."""
    check_method(compose(sampler, Full()))


def check_scheduler(scheduler: Scheduler) -> None:
    """Every law, with random arms; and scaling the readings changes no decision."""
    check_method(compose(Random(), scheduler))
    check_rank_based(compose(Random(), scheduler))


def check_method(method: Method) -> None:
    """Every law that holds for all methods."""
    for budget in BUDGETS:
        study, events = played(method, Playground(failing=0.2), budget=budget)
        check_budget_law(events)
        check_no_duplicates(study.history)
        check_failures_are_kept(study.history, events)
    study, events = played(method, Playground(failing=0.2))
    check_survives_json(events)
    check_crash_anywhere(method, events)
    check_cached_equals_fresh(method, events)
    assert study.verify().ok, f"verify: {study.verify().difference}"
    check_reasons(events)
    for workers in (1, 16):
        _, events = played(method, workers=workers)
        check_budget_law(events)


def prefixes(events: Sequence[Event]) -> Iterator[tuple[History, Event]]:
    """The history before each event, and the event."""
    history = History()
    for event in events:
        yield history, event
        history.apply(event)


def check_crash_anywhere(method: Method, events: Sequence[Event], cuts: int = 12) -> None:
    """Law 1: cut the log after any event, resume: the same log follows."""
    for cut in range(1, len(events), max(1, len(events) // cuts)):
        _, again = played(method, Playground(failing=0.2), events=events[:cut])
        assert list(again) == list(events), f"crash anywhere: cut after event {cut}, another log followed"


def check_budget_law(events: Sequence[Event]) -> None:
    """Law 3: at every prefix, spent and committed are within the budget, in every unit."""
    for history, event in prefixes(events):
        if history.position:
            broken = history.ledger.broken()
            assert not broken, f"budget law: {broken} overdrawn before event {history.position} ({event.kind})"


def check_cached_equals_fresh(method: Method, events: Sequence[Event]) -> None:
    """Law 5: a method that lost its caches answers the same."""
    for history, event in prefixes(events):
        if isinstance(event, Granted):
            history.drop_caches()
            fresh = next_grant(method, history, event.worker, event.at)
            assert fresh == event, f"cached equals fresh: event {history.position} was decided otherwise"


def check_rank_based(method: Method) -> None:
    """Law 6: adding a constant to the readings, or scaling them, changes no decision."""
    grants = [
        # A reason may tell of losses, in the user's units.
        [replace(e, reason="") for e in played(method, problem)[1] if isinstance(e, Granted)]
        for problem in (Playground(), Playground(scale=1000.0, shift=-7.0), Playground(scale=1e-3, shift=0.1))
    ]
    assert grants[0] == grants[1] == grants[2], "order-free: scaled readings changed a decision"


def check_no_duplicates(history: History) -> None:
    keys = [Codec.key(arm.config) for arm in history.arms]
    assert len(keys) == len(set(keys)), "no duplicates: a configuration was started twice"


def check_failures_are_kept(history: History, events: Sequence[Event]) -> None:
    """Law 8: a failure keeps its message, is charged, and enters no model."""
    for event in events:
        if isinstance(event, Closed) and event.how == "failed":
            trial = history.trials[event.trial]
            assert event.message, "bad readings: the message of a failure was lost"
            assert event.steps == 1, "bad readings: the step that failed was not charged"
            assert trial.state == "failed", "bad readings: a failed trial went on"
            assert trial.step not in trial.losses or trial.step < trial.until, "bad readings: a failure has a loss"


def check_reasons(events: Sequence[Event]) -> None:
    assert all(event.reason for event in events if isinstance(event, Granted)), "a decision has no reason"


def check_survives_json(events: Sequence[Event]) -> None:
    """What is written is what is read."""
    for seq, event in enumerate(events):
        again = from_json(event.kind, event.at, to_json(event), seq)
        assert again == event, f"stable JSON: event {seq} changed when written and read: {again!r}"
