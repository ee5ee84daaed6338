"""The budget law, checked on a log by a count of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoestring.core.events import Closed, Event, Granted, Reported, from_json, to_json
from shoestring.core.history import History


def through_json(events: Sequence[Event]) -> Iterator[Event]:
    for seq, event in enumerate(events):
        yield from_json(event.kind, event.at, to_json(event), seq)


def violations(events: Sequence[Event], budget: int) -> int:
    """Fold a log that went through JSON; how many prefixes break the budget law."""
    history, broken, spent = History(), 0, 0
    running: dict[int, tuple[int, int]] = {}
    committed = 0
    for event in through_json(events):
        history.apply(event)  # refuses what cannot follow
        match event:
            case Granted():
                running[event.trial] = event.start, event.until
                committed += event.until - event.start
            case Reported():
                at, until = running.pop(event.trial)
                spent += event.step - at
                committed -= event.step - at
                if event.step < until:
                    running[event.trial] = event.step, until
            case Closed():
                at, until = running.pop(event.trial)
                spent += event.steps
                committed -= until - at
        ledger = history.ledger
        agreed = (ledger.steps, ledger.committed_steps) == (spent, committed)
        broken += spent + committed > budget or ledger.exceeded_unit() is not None or not agreed
    return broken
