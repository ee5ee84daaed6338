"""What a method decides, and how a sampler and a scheduler make one.

A :class:`Method` answers one question: given all that has happened, what next? A *scheduler*
answers how long to run what there is, and asks for a new configuration by a :class:`Start`
without one; a *sampler* says which configuration that is. :func:`compose` joins the two.
All are pure functions of the history and of the generator they are handed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from shoestring.history import History
from shoestring.spaces import Codec, Config

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Notes = Mapping[str, Any]


@dataclass(frozen=True)
class Start:
    """Run a new arm until a step. A scheduler leaves ``config`` open; a sampler fills it in."""

    until: int
    reason: str
    config: Config | None = None
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True)
class Continue:
    """Run a paused trial on, until a later step."""

    trial: int
    until: int
    reason: str
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True)
class Replicate:
    """Run a known arm once more, from a fresh initialisation."""

    arm: int
    until: int
    reason: str
    notes: Notes = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Nothing to start until something that is running reports."""

    reason: str


@dataclass(frozen=True)
class Done:
    """Nothing left to do, whatever the budget."""

    reason: str


Decision = Start | Continue | Replicate | Wait | Done


@dataclass(frozen=True)
class Proposal:
    """A configuration to try, and why."""

    config: Config
    reason: str
    notes: Notes = field(default_factory=dict)


class Method(Protocol):
    def decide(self, history: History, rng: np.random.Generator) -> Decision: ...


class Sampler(Protocol):
    def propose(self, history: History, rng: np.random.Generator) -> Proposal | None:
        """A configuration to try, or None if there is nothing left to propose."""
        ...


class Scheduler(Protocol):
    def next(self, history: History, may_start: bool = True) -> Decision:
        """What to run now; with ``may_start`` false there are no new configurations to be had."""
        ...


@dataclass(frozen=True)
class Composed:
    """A sampler and a scheduler as one method."""

    sampler: Sampler
    scheduler: Scheduler

    def decide(self, history: History, rng: np.random.Generator) -> Decision:
        return with_sampler(self.sampler, history, rng, lambda may_start: self.scheduler.next(history, may_start))


def with_sampler(
    sampler: Sampler, history: History, rng: np.random.Generator, schedule: Callable[[bool], Decision]
) -> Decision:
    """What a schedule decides, a new arm filled in by a sampler; ``schedule`` is told if there is none."""
    decision = schedule(True)
    if not isinstance(decision, Start) or decision.config is not None:
        return decision
    proposal = propose_new(sampler, history, rng)
    if proposal is None:
        decision = schedule(False)
        return Done("every configuration has been tried") if isinstance(decision, Start) else decision
    reason = f"{decision.reason}; {proposal.reason}"
    return Start(decision.until, reason, proposal.config, {**decision.notes, **proposal.notes})


def compose(sampler: Sampler, scheduler: Scheduler) -> Composed:
    """A method that tries what the sampler says for as long as the scheduler says.

    >>> from shoestring import compose
    >>> from shoestring.samplers import TPE
    >>> from shoestring.schedulers import ASHA
    >>> compose(TPE(), ASHA(eta=3)).scheduler.eta
    3
    """
    return Composed(sampler, scheduler)


class _Taken:
    """The configurations that a study has tried, kept up to date as arms are added."""

    def __init__(self) -> None:
        self.keys: set[Hashable] = set()
        self._seen = 0

    def update(self, history: History) -> set[Hashable]:
        for arm in history.arms[self._seen :]:
            self.keys.add(Codec.key(arm.config))
        self._seen = len(history.arms)
        return self.keys


def taken(history: History) -> set[Hashable]:
    """The keys of all configurations that were tried or are running, failed ones included."""
    return history.cached("taken", _Taken).update(history)


def untried(history: History) -> list[Config]:
    """What is left of a finite space, in its own order."""
    keys = taken(history)
    return [config for config in history.codec.everything if Codec.key(config) not in keys]


_ATTEMPTS = 32


def propose_new(sampler: Sampler, history: History, rng: np.random.Generator) -> Proposal | None:
    """A proposal that was not tried before; None if there is none.

    A sampler that repeats itself is asked again; if it insists, a random untried configuration
    is taken. On a table the proposal is moved to the nearest row that is still free.
    """
    codec, keys = history.codec, taken(history)
    if codec.rows is not None:
        return _nearest_row(sampler.propose(history, rng), history)
    for _ in range(_ATTEMPTS):
        proposal = sampler.propose(history, rng)
        if proposal is None:
            return None
        if Codec.key(proposal.config) not in keys and codec.allowed(proposal.config):
            return proposal
    if codec.finite:
        left = untried(history)
        return (
            Proposal(left[int(rng.integers(len(left)))], "random, the sampler only repeated itself") if left else None
        )
    for _ in range(1000):
        config = codec.sample(rng)
        if Codec.key(config) not in keys:
            return Proposal(config, "random, the sampler only repeated itself")
    return None


class _Rows:
    """Which rows of a table are taken, as a mask."""

    def __init__(self, history: History) -> None:
        import numpy as np

        codec = history.codec
        self.free = np.ones(len(codec.rows or ()), dtype=bool)
        self._where: dict[Hashable, list[int]] = {}
        for i, row in enumerate(codec.rows or ()):
            self._where.setdefault(Codec.key(row), []).append(i)
        self._seen = 0

    def update(self, history: History) -> NDArray[np.bool_]:
        for arm in history.arms[self._seen :]:
            self.free[self._where.get(Codec.key(arm.config), [])] = False
        self._seen = len(history.arms)
        return self.free


def free_rows(history: History) -> NDArray[np.bool_]:
    """Which rows of the table a study is played on have not been taken."""
    return history.cached("rows", lambda: _Rows(history)).update(history)


def _nearest_row(proposal: Proposal | None, history: History) -> Proposal | None:
    import numpy as np

    codec, free = history.codec, free_rows(history)
    if proposal is None or not free.any():
        return None
    points, target = codec.row_points, codec.encode(proposal.config)
    gaps = np.abs(points - target)
    gaps = np.where(codec.choices > 0, gaps > 1e-9, gaps)
    gaps = np.where(np.isnan(gaps), np.isnan(points) != np.isnan(target), gaps)
    distances = np.where(free, (gaps**2).sum(axis=1), np.inf)
    assert codec.rows is not None
    return Proposal(dict(codec.rows[int(distances.argmin())]), proposal.reason, proposal.notes)
