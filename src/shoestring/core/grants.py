"""From a method's decision to a grant that the budget can pay; running and verifying a study share it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoestring.core.budget import format_amount
from shoestring.core.decisions import Continue, Decision, Done, Method, Replicate, Start, Wait, plain, write_state
from shoestring.core.events import Granted
from shoestring.core.history import History
from shoestring.core.planned import is_planned, next_given, own_position
from shoestring.core.randomness import generator, integer
from shoestring.core.weighing import view_for
from shoestring.errors import BudgetError, MethodError, SpaceError
from shoestring.spaces.axes import native
from shoestring.spaces.codec import Config


@dataclass(frozen=True)
class Grant:
    """Permission to run one trial from one step until another.

    ``trial`` is its number, ``config`` the configuration and ``seed`` the seed to train it with. ``start`` is the
    last step that is done, 0 for a new trial, and ``until`` the one to train to. ``reason`` says why, in words.

    >>> import shoestring as ss
    >>> study = ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=9, method="asha")
    >>> grant = study.ask()
    >>> grant.trial, grant.start, grant.until
    (0, 0, 1)
    """

    trial: int
    config: Config
    seed: int
    start: int
    until: int
    reason: str


def next_grant(method: Method, history: History, worker: str, at: float, drift: float = 0.0) -> Granted | Wait | Done:
    """Ask the method for a grant, cut to what the budget can pay."""
    if history.stopped:
        return _nothing(history, history.stopped)
    unit = history.ledger.exhausted_unit()
    if unit:
        return _nothing(history, f"the budget of {format_amount(unit, history.ledger.budget.limits()[unit])} is spent")
    decision = _decide(method, history)
    if isinstance(decision, (Wait, Done)):
        if isinstance(decision, Wait) and not history.running:
            raise MethodError(f"{method!r} waits although nothing is running: {decision.reason}")
        return _nothing(history, decision.reason)
    granted = _grant(decision, history, worker, at, drift)
    return granted or _nothing(history, "the rest of the budget does not buy another step")


class _LastDecision:
    """The decision at the latest position of the log, and the method that made it."""

    position = -1
    method: Method | None = None
    decision: Decision = Done("nothing was decided yet")


def _decide(method: Method, history: History) -> Decision:
    """Ask the method for its decision at this position of the log; asking again does not decide again."""
    last = history.cached("last decision", _LastDecision)
    if last.position != history.position or last.method is not method:
        rng = generator(history.seed, own_position(history), "decide")
        last.decision = _check(_with_given(method.decide(view_for(history, method), rng), history), history, method)
        last.position, last.method = history.position, method
    return last.decision


def _with_given(decision: Decision, history: History) -> Decision:
    """Put enqueued and planned configurations before those that a method chose itself."""
    first = next_given(history) if isinstance(decision, Start) else None
    if first is None or not isinstance(decision, Start):
        return decision
    if decision.config == first.config and (first.reason in decision.reason or not history.opened.plan):
        return decision
    return replace(
        decision, config=first.config, reason=first.reason, explanation=first.explanation, sampler_state=None
    )


def _check(decision: Decision, history: History, method: Method) -> Decision:
    """A decision that can be carried out: methods may be of the user's own, so their decisions are checked."""
    if not isinstance(decision, (Start, Continue, Replicate, Wait, Done)):
        raise MethodError(f"{method!r} decided {decision!r}; it must be a Start, Continue, Replicate, Wait or Done")
    if not isinstance(decision.reason, str) or not decision.reason:
        raise MethodError(f"{method!r} gave the reason {decision.reason!r}; it must be a text that says why")
    match decision:
        case Start(config=config) if config is not None:
            if any(hasattr(value, "item") for value in config.values()):
                config = {name: native(value) for name, value in config.items()}
                decision = replace(decision, config=config)
            if not history.codec.fits(config):
                try:
                    history.codec.check(config)
                except SpaceError as error:
                    raise MethodError(f"{method!r} proposed a configuration outside of the space: {error}") from None
            return decision
        case Continue(trial=index) if 0 <= index < len(history.trials):
            return decision
        case Replicate(arm=index) if 0 <= index < len(history.arms):
            return decision
        case Wait() | Done():
            return decision
    known = f"{len(history.trials)} trials of {len(history.arms)} configurations"
    what = (
        "has no configuration" if isinstance(decision, Start) else f"names one that does not exist; there are {known}"
    )
    raise MethodError(f"{method!r} decided {decision!r}, which {what}")


def _nothing(history: History, reason: str) -> Wait | Done:
    return Wait(reason) if history.running else Done(reason)


def _grant(
    decision: Start | Continue | Replicate, history: History, worker: str, at: float, drift: float
) -> Granted | None:
    trial = history.trials[decision.trial] if isinstance(decision, Continue) else None
    index = trial.index if trial else len(history.trials)
    start = trial.step if trial else 0
    if not isinstance(decision.until, (int, np.integer)) or decision.until <= start:
        raise MethodError(f"until is {decision.until!r} in {decision!r}; it must be a whole step, after step {start}")
    wanted = int(min(decision.until, history.max_resource or decision.until))
    until = start + int(min(wanted - start, history.affordable_steps(trial)))
    if until <= start:
        return None
    if not history.trials and until < wanted:
        raise BudgetError(
            f"the budget of {history.ledger.budget} cannot pay for one trial: the first needs {wanted} steps; "
            "raise the budget, lower max_resource, or choose a method that starts with fewer steps, such as 'asha'"
        )
    if isinstance(decision, Start):
        arm, replicate = len(history.arms), 0
    else:
        arm = trial.arm if trial else decision.arm  # type: ignore[union-attr]
        replicate = trial.replicate if trial else len(history.arms[arm].trials)
    return Granted(
        at=at,
        trial=index,
        arm=arm,
        replicate=replicate,
        seed=trial.seed if trial else integer(history.seed, index, "trial"),
        start=start,
        until=until,
        reason=decision.reason + (f" (cut to step {until}, where the budget ends)" if until < wanted else ""),
        worker=worker,
        config=decision.config if isinstance(decision, Start) else None,
        goal=wanted if until < wanted else None,
        explanation=plain(decision.explanation) or None,
        state=write_state(decision.state),
        sampler_state=write_state(decision.sampler_state) if isinstance(decision, Start) else None,
        reserved=0.0 if history.ledger.budget.cost is None else (until - start) * history.expected_cost(trial),
        drift=drift,
        planned=isinstance(decision, Start) and is_planned(history, decision.config),
    )
