"""The plan of a study: configurations from its user's past or guess, and the check whether they are any good.

The plan is in the opening event, so nothing of what it was made from is needed again. Its configurations take turns
with random ones: planned, random, planned, random. Then comes the *check*, which reads these four alone. If a planned
one is the best of them, the rest follows: the first five at once, further ones while little of the budget is used. If a
random one is, the rest of the plan is dropped and the next configuration is random; if both planned ones lost to both
random ones, the next two are, which makes up for the loss.

While the check cannot speak, because workers are still at the four, the method chooses by itself. So with many workers
the first planned configurations start at once and the others once the first values are there.

All of this is a function of the history, for every method: whatever it wants to start when it is the plan's turn is
replaced by the plan's choice, as by an enqueued one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shoestring.core.history import Arm, History, TrialRecord
from shoestring.core.randomness import generator
from shoestring.core.untried import first_enqueued, random_config, tried
from shoestring.spaces.codec import Codec, Config, deep_copy

# A guess is called this; all other origins are digests of past logs.
GUESS = "guess"
# This many planned configurations are compared with as many random ones, and as many make up for a lost check.
_COMPARED = 2
# The first five of the plan are tried in any case, and the others while less than this share of the budget is used.
FIRST, _SHARE = 5, 1 / 8
# How often a random configuration is drawn, until one is neither tried nor planned.
_DRAWS = 1000

Verdict = Literal["pending", "passed", "beaten", "lost"]
# Where the rest of the plan is dropped: how many random configurations follow, and why.
_DROPPED: dict[Verdict, tuple[int, str]] = {
    "beaten": (1, "a random configuration was better than the planned ones; the rest of the plan is dropped"),
    "lost": (_COMPARED, "planned configurations lost to random ones; the rest of the plan is dropped"),
}
_IN_WORDS: dict[Verdict, str] = {
    "pending": "not yet compared with random ones",
    "passed": "the best of the first ones is better than random ones",
    "beaten": "a random one was better than the first ones, so the rest is dropped",
    "lost": "they lost to random ones, so the rest is dropped",
}


@dataclass(frozen=True)
class Given:
    """A configuration to start before the method chooses one, by the plan if ``planned``.

    ``first`` says that the check may depend on it.
    """

    config: Config
    reason: str
    explanation: Mapping[str, Any] = field(default_factory=dict)
    first: bool = False
    planned: bool = False


def next_given(history: History) -> Given | None:
    """Take enqueued configurations first, then perhaps one of the plan; None if the method chooses."""
    history = history.unweighed or history
    if history.queue:
        enqueued = first_enqueued(history)
        return Given(enqueued.config, enqueued.reason)
    return _turn(history) if history.opened.plan else None


def is_planned(history: History, config: Config | None) -> bool:
    """Return whether a configuration that starts now does so because it is planned.

    The grant says it, as a method may choose a planned configuration by itself where it is not the plan's turn.
    """
    given = next_given(history) if history.opened.plan else None
    return given is not None and given.planned and given.config == config


def _turn(history: History) -> Given | None:
    started, others = _planned_arms(history), _other_arms(history)
    place = _next_place(history)
    if len(started) < _COMPARED and place is not None:
        if len(started) <= others:
            return _take_planned(history, place, "")
        return _random(history, "to compare planned configurations with it")
    if len(started) < _COMPARED:
        return None
    if others < _COMPARED:
        return _random(history, "to compare planned configurations with it")
    found = verdict(history)
    if found in _DROPPED:
        count, why = _DROPPED[found]
        return _random(history, why, first=False) if _since_the_check(history) < count else None
    if found == "pending" or place is None or (len(started) >= FIRST and _used_share(history) >= _SHARE):
        return None
    return _take_planned(history, place, ": the best of the first ones is better than random ones")


def own_position(history: History) -> int:
    """The number of decisions so far that were not the plan's.

    Random numbers are drawn by it. So the configurations of `random`, and the first random ones of `forecast`, are the
    same with a plan as without.
    """
    return len(history.grants) - planned_so_far(history)


def planned_so_far(history: History) -> int:
    """Return how many configurations were started because they are planned."""
    history = history.unweighed or history
    return len(_planned_arms(history)) if history.opened.plan else 0


def verdict(history: History) -> Verdict:
    """Compare the first two planned configurations with the first two random ones: which is the best, which the worst.

    They are compared by the best loss so far at the first step to which all four were trained, and with several
    objectives by the sum of their ranks there. What failed before it, or violates a constraint, lost to what did not.
    A method that sees weighted losses has the same answer: these are other ones at every decision.
    """
    history = history.unweighed or history
    compared = _compared_trials(history)
    step = _common_step(history, compared)
    known = [losses for trial in compared if (losses := _first_losses(history, trial, step)) is not None]
    if len(known) < 2 * _COMPARED:
        return "pending"
    ordered = [sorted(values) for values in zip(*known, strict=True)]
    ranks = [sum(map(bisect_left, ordered, losses)) for losses in known]
    best, others = min(ranks[:_COMPARED]), ranks[_COMPARED:]
    return "passed" if best <= min(others) else "lost" if best > max(others) else "beaten"


def origin_of(history: History, trial: TrialRecord) -> str:
    """Return where the configuration of a trial was planned from; empty if it was not started for the plan."""
    entry = _entries(history).get(Codec.key(trial.config))
    return str(entry["origin"]) if entry is not None and history.arms[trial.arm].planned else ""


def plan_in_words(history: History) -> str:
    """Say where the plan is from, how much of it was tried, and what the check said; empty without a plan."""
    entries = _entries(history).values()
    if not entries:
        return ""
    past = len({entry["origin"] for entry in entries} - {GUESS})
    origins = ["the guess"] if any(entry["origin"] == GUESS for entry in entries) else []
    origins += [f"{past} past stud{'y' if past == 1 else 'ies'}"] if past else []
    all_of_it = f"{len(entries)} configuration{'' if len(entries) == 1 else 's'}"
    tried = f"{len(_planned_arms(history))} of {all_of_it} from {' and '.join(origins)} tried"
    return f"{tried}; {_IN_WORDS[verdict(history)]}" if len(entries) >= _COMPARED else tried


def _entries(history: History) -> dict[Any, Mapping[str, Any]]:
    return history.cached("plan", lambda: {Codec.key(entry["config"]): entry for entry in history.opened.plan})


def _planned_arms(history: History) -> list[Arm]:
    """Those that were started because they are planned, in the order of the log."""
    arms = (history.arms[history.arm_of[key]] for key in _entries(history) if key in history.arm_of)
    return sorted((arm for arm in arms if arm.planned), key=lambda arm: arm.index)


def _other_arms(history: History) -> int:
    return len(history.arms) - history.given - len(_planned_arms(history))


def _next_place(history: History) -> int | None:
    """The place in the plan of the first configuration that was not tried."""
    return next((i for i, key in enumerate(_entries(history)) if key not in history.arm_of), None)


def _take_planned(history: History, place: int, why: str) -> Given:
    plan = list(_entries(history).values())
    entry = plan[place]
    origin, near = entry["origin"], entry["sd"] > 0
    source = ("near the guess" if near else "the guess") if origin == GUESS else f"from the past study {origin}"
    reason = f"planned ({place + 1} of {len(plan)}), {source}{why}"
    explanation = {"planned": place + 1, "origin": origin}
    return Given(deep_copy(entry["config"]), reason, explanation, first=place < FIRST, planned=True)


def _random(history: History, why: str, first: bool = True) -> Given | None:
    """A random configuration that is neither tried nor planned; None if none is found."""
    rng = generator(history.seed, own_position(history), "decide")
    for _ in range(_DRAWS):
        config = random_config(history, rng)
        key = Codec.key(config)
        if key not in tried(history) and key not in _entries(history):
            return Given(config, f"drawn at random: {why}", first=first)
    return None


def _compared_trials(history: History) -> list[TrialRecord]:
    """The first trials of the arms that the check reads: the planned ones, then the random ones."""
    planned = _planned_arms(history)[:_COMPARED]
    others = (arm for arm in history.arms if not arm.given and arm not in planned)
    random = [arm for arm, _ in zip(others, range(_COMPARED), strict=False)]
    return [arm.trials[0] for arm in (*planned, *random)]


def _common_step(history: History, trials: list[TrialRecord]) -> int:
    """The first step to which all of these were trained: the least end of their first grants."""
    ends: dict[int, int] = {}
    wanted = {trial.index for trial in trials}
    for grant in history.grants:
        if grant.trial in wanted:
            ends.setdefault(grant.trial, grant.until)
        if len(ends) == len(wanted):
            break
    return min(ends.values(), default=1)


def _first_losses(history: History, trial: TrialRecord, step: int) -> tuple[float, ...] | None:
    """The losses of a trial at a step, or at the first reading after it; None while there is none.

    Of one objective it is the best so far of those that fulfil the constraints.
    """
    failed = (math.inf,) * len(history.goals.names)
    reached = min((known for known in trial.losses if known >= step), default=trial.step)
    if reached < step and trial.state != "finished":
        return None if trial.state in ("running", "paused") else failed
    feasible = [known for known in trial.losses if known <= reached and trial.is_feasible(known)]
    if history.goals.several:
        return history.goals.losses(trial.readings[reached]) if reached in feasible else failed
    return (min(trial.losses[known] for known in feasible),) if feasible else failed


def _since_the_check(history: History) -> int:
    """Return how many configurations were started since the check has spoken."""
    compared = _compared_trials(history)
    step, waiting, place = _common_step(history, compared), {trial.index for trial in compared}, 0
    for number, (trial, reached, _) in enumerate(history.readings, 1):
        if trial.index in waiting and reached >= step:
            waiting.remove(trial.index)
            place = number
        if not waiting:
            break
    place = max([place, *(history.trials[index].closed_after for index in waiting)])
    after = zip(history.grants, history.granted_after, strict=True)
    return sum(grant.config is not None and known >= place for grant, known in after)


def _used_share(history: History) -> float:
    """The share of the budget that is spent or committed, in the unit of which most is."""
    limits = history.ledger.budget.limits()
    return max((1 - free / limits[unit] for unit, free in history.remaining().items()), default=0.0)
