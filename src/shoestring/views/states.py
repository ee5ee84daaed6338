"""The states of a study and of its trials, in words: the same in the terminal, on the pages and in the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol

from shoestring._text import one_line
from shoestring.core.budget import format_amount
from shoestring.core.heartbeats import WorkerRecord
from shoestring.core.history import FAILED, History, TrialRecord, TrialState
from shoestring.core.journal import Journal
from shoestring.core.recommendation import Best, advised_best
from shoestring.core.workers import DETACHED
from shoestring.errors import MethodError
from shoestring.methods.registry import rebuild
from shoestring.views.formatting import amount, best_line, cut, method_name, with_unit

STATES: tuple[TrialState, ...] = ("running", "paused", "finished", "failed", "stopped", "lost")


class HasState(Protocol):
    """A study, as far as its state is concerned."""

    @property
    def history(self) -> History: ...

    @property
    def state(self) -> str: ...

    @property
    def reason(self) -> str: ...

    def workers(self) -> list[WorkerRecord]: ...


def count_states(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """Count the trials in each state; states without any are left out."""
    counts = Counter(trial.state for trial in trials)
    return {state: counts[state] for state in STATES if counts[state]}


def is_over(history: History) -> bool:
    """Tell whether nothing runs, and the budget is spent or the study was stopped."""
    return not history.running and bool(history.ledger.exhausted_unit() or history.stopped)


def state_words(state: str, over: bool) -> str:
    """The state of a trial in words: once the study is over, a paused trial will not go on."""
    return "stopped early" if over and state == "paused" else state


def states(history: History, over: bool | None = None) -> str:
    """Return how many trials are in which state; ``over`` if it is known better than from the log that the study is
    over.
    """
    over = is_over(history) if over is None else over
    counts = count_states(history.trials)
    return ", ".join(f"{count} {state_words(state, over)}" for state, count in counts.items()) or "none yet"


def logged_state(history: History, workers: Iterable[WorkerRecord]) -> str:
    """The state that the log alone tells; empty if only the method knows whether there is anything left to do."""
    if history.running:
        alive = any(worker.trials and worker.state in ("alive", DETACHED) for worker in workers)
        return "running" if alive else "interrupted, can be resumed"
    if history.ledger.exhausted_unit():
        return "finished"
    return "stopped" if history.stopped else ""


def brief_state(history: History, workers: Iterable[WorkerRecord]) -> str:
    """The state of a study as far as the log tells it: asking the method may take long."""
    state = logged_state(history, workers)
    if history.stopped and state != "finished":
        return f"stopped: {cut(one_line(history.stopped))}"
    return state or ("paused or finished" if history.trials else "not started")


def condition(study: HasState) -> str:
    """The state of a study. The method, which takes longer, is asked only if the log alone does not say it."""
    return logged_state(study.history, study.workers()) or _state_by_method(study)


def _state_by_method(study: HasState) -> str:
    """The state of a study that runs nothing, and has budget left."""
    try:
        over = study.state == "finished"
    except MethodError:  # a method of the user's own, which the log cannot rebuild
        over = False
    return f"finished, {study.reason}" if over else "paused, can be resumed"


def recommendation(history: History) -> Best | None:
    """Find the recommendation of a study; without the advice of its method if this process does not know it."""
    return advised_best(history, lambda: rebuild(history.opened.method))


def study_line(journal: Journal) -> str:
    """A study in one line: its method, what was spent, and its best value."""
    history = journal.history
    spent, limits = history.ledger.spent(), history.ledger.budget.limits()
    parts = [f"{amount(unit, spent[unit])} of {with_unit(unit, limit)} spent" for unit, limit in limits.items()]
    best = advised_best(history, journal.current_method)
    found = "no reading yet" if best is None else f"best {best_line(best, history)}"
    bad = [f"{count} {state}" for state, count in count_states(history.trials).items() if state in FAILED]
    trials = format_amount("trials", len(history.trials)) + (f" ({', '.join(bad)})" if bad else "")
    return f"<study {journal.name!r}: {method_name(history.opened.method)}, {', '.join(parts)}, {trials}, {found}>"
