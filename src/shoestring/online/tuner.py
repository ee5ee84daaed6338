"""OnlineTuner: hyper-parameters inside one training run, paying for a reading only where it may change the decision.

A round is one ``ask``, and one ``tell`` if it says to look. The policy proposes, the look rule decides
whether to pay, and the larger the reading the better. Nothing here reads a clock or a
global generator: a round's draws are keyed by (seed, round, purpose).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoestring.core.randomness import generator
from shoestring.errors import MethodError, ReadingError, StudyMismatch
from shoestring.online.domains import Arms, as_domain
from shoestring.online.looks import Confident, LookRule, Progress, Verdict
from shoestring.online.packing import pack, unpack
from shoestring.online.policies import TVGPUCB
from shoestring.online.view import Policy, View

_FORMAT = 1


@dataclass(frozen=True)
class Round:
    """What to use now, whether it is worth looking, and why. ``arm`` is the position in a list of arms."""

    number: int
    config: Any
    look: bool
    reason: str
    arm: int | None = None


@dataclass(frozen=True)
class Played:
    """One round of the past. ``value`` is None without a reading, NaN where the reading was no finite number."""

    number: int
    candidate: Any
    look: bool
    worth: float | None = None
    value: float | None = None
    cost: float = 0.0


@dataclass(frozen=True)
class Picture:
    """What to draw of a finite domain: the belief about the current round, and where the rounds went."""

    points: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    half_width: NDArray[np.float64]
    arms: list[int]
    looked: list[bool]


class OnlineTuner:
    """Tune online: ``ask`` what to use in this round, ``tell`` its reading if the round says to look.

    >>> from shoestring.online import OnlineTuner, TVGPUCB, Confident
    >>> tuner = OnlineTuner(["slow", "fast"], TVGPUCB(noise=0.01, forgetting=0.01), Confident(0.9), horizon=50)
    >>> for step in range(50):
    ...     round = tuner.ask()
    ...     if round.look:
    ...         tuner.tell({"slow": 0.1, "fast": 0.9}[round.config])
    >>> round.config, tuner.looks < 50
    ('fast', True)
    """

    def __init__(
        self,
        space_or_arms: Any,
        policy: Policy | None = None,
        look: LookRule | None = None,
        *,
        horizon: int | None = None,
        seed: int = 0,
        clip: tuple[float, float] | None = None,
    ) -> None:
        policy, look = policy or TVGPUCB(), look or Confident()
        _check(policy, look, horizon, clip)
        self._policy, self._rule = policy, look
        self._horizon, self._seed, self._clip = horizon, seed, clip
        self._domain = as_domain(space_or_arms, policy.spatial_kernel)
        self._player = policy.start(self._domain, horizon, seed)
        self._past: list[Played] = []
        self._open: Played | None = None
        self._memory: float | None = None
        self._looks = 0
        self._spent = 0.0

    @property
    def looks(self) -> int:
        """How many rounds the tuner has asked to look at."""
        return self._looks

    @property
    def spent(self) -> float:
        """What the looks have cost: one each, or what ``tell`` was given as their cost."""
        return self._spent

    @property
    def history(self) -> list[Played]:
        """All rounds so far, the current one included."""
        return [*self._past, self._open] if self._open else list(self._past)

    def config_of(self, played: Played) -> Any:
        """The configuration of a round of the history."""
        return self._config(played.candidate)

    def ask(self) -> Round:
        """The next round. A round that was to be looked at has to be told first."""
        if self._open and self._open.look and self._open.value is None:
            raise ReadingError(
                f"round {self._open.number} was to be looked at and has not been told; "
                "call tell(value) before the next ask()"
            )
        self._close()
        number = len(self._past) + 1
        view = self._player.view(number)
        verdict = self._decide(view, number)
        candidate: Any = view.candidates[view.chosen]
        if not verdict.look and self._rule.greedy_when_blind and self._player.readings:
            candidate = view.exploit()
        if isinstance(self._domain, Arms):
            candidate = int(candidate)
        self._memory = verdict.memory
        self._looks += verdict.look
        self._open = Played(number, candidate, verdict.look, verdict.worth)
        arm = candidate if isinstance(self._domain, Arms) else None
        return Round(number, self._config(candidate), verdict.look, verdict.reason, arm)

    def tell(self, value: float, cost: float = 1.0) -> None:
        """The reading of the current round: of a look, or offered on a round without one, which costs nothing.

        NaN and infinities are charged and kept in the history, and not learned from.
        """
        current = self._open
        if current is None:
            raise ReadingError("there is no round to tell about: call ask() first")
        if current.value is not None:
            raise ReadingError(f"round {current.number} has been told already ({current.value:g}); call ask() first")
        reading = _number(value)
        paid = _cost(cost) if current.look else 0.0
        self._spent += paid
        self._open = Played(current.number, current.candidate, current.look, current.worth, reading, paid)
        if math.isfinite(reading):
            clipped = reading if self._clip is None else min(max(reading, self._clip[0]), self._clip[1])
            self._player.observe(current.number, current.candidate, clipped)

    def picture(self) -> Picture:
        """What to draw of the model, for a finite domain and a policy with a posterior."""
        if not isinstance(self._domain, Arms) or not self._policy.has_posterior:
            raise MethodError("a picture needs a finite domain and a policy with a posterior, such as TVGPUCB")
        view = self._player.view(max(len(self.history), 1))
        assert view.variance is not None
        deviation = np.sqrt(view.variance)
        return Picture(
            self._domain.points,
            view.mean.copy(),
            deviation,
            view.root_beta * deviation,
            [played.candidate for played in self.history],
            [played.look for played in self.history],
        )

    def state_dict(self) -> dict[str, Any]:
        """Plain values for a checkpoint, such that ``load_state_dict`` goes on exactly from here."""
        return {
            "format": _FORMAT,
            "policy": repr(self._policy),
            "look": repr(self._rule),
            "seed": self._seed,
            "horizon": self._horizon,
            "memory": self._memory,
            "history": [pack(asdict(played)) for played in self.history],
            "player": pack(self._player.state()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state_dict`` was taken; the tuner must have been made with the same arguments."""
        own = {"format": _FORMAT, "policy": repr(self._policy), "look": repr(self._rule), "seed": self._seed}
        for name, value in {**own, "horizon": self._horizon}.items():
            if state.get(name) != value:
                raise StudyMismatch(f"the state was saved with {name} = {state.get(name)}, this tuner has {value}")
        played = [Played(**unpack(record)) for record in state["history"]]
        self._past, self._open = played[:-1], played[-1] if played else None
        self._memory = state["memory"]
        self._looks = sum(record.look for record in played)
        self._spent = sum(record.cost for record in played)
        self._player.restore(unpack(state["player"]))

    def _close(self) -> None:
        if self._open:
            self._past.append(self._open)
            self._open = None

    def _decide(self, view: View, number: int) -> Verdict:
        progress = Progress(number, self._horizon, self._looks, self._memory, self._chance)
        verdict = self._rule.decide(view, progress)
        if not self._player.readings and not self._looks:
            return Verdict(True, "nothing has been read yet", verdict.worth, verdict.memory)
        return verdict

    def _chance(self, purpose: str) -> float:
        return float(generator(self._seed, len(self._past) + 1, purpose).random())

    def _config(self, candidate: Any) -> Any:
        if isinstance(self._domain, Arms):
            return self._domain.configs[candidate]
        return self._domain.codec.decode(np.nan_to_num(candidate, nan=0.5))


def _check(policy: Policy, look: LookRule, horizon: int | None, clip: tuple[float, float] | None) -> None:
    if horizon is not None and horizon < 1:
        raise MethodError(f"the horizon is {horizon!r}; it is a number of rounds, at least 1")
    if look.needs_horizon and horizon is None:
        raise MethodError(f"{look!r} spreads its looks over the horizon: give the tuner horizon=, a number of rounds")
    quota = getattr(look, "n", None) or getattr(look, "b2", None)
    if quota and horizon and quota > horizon:
        raise MethodError(f"{look!r} asks for {quota:g} looks in {horizon} rounds; ask for at most {horizon}")
    if look.needs_posterior and not policy.has_posterior:
        raise MethodError(
            f"{type(look).__name__} compares beliefs and {type(policy).__name__} has none; "
            "use TVGPUCB, or a rule such as Bernoulli, Exactly or Always"
        )
    if clip is not None and not clip[0] < clip[1]:
        raise MethodError(f"clip is {clip!r}; give a low and a high end, such as (-2, 2)")


def _number(given: Any) -> float:
    if isinstance(given, (str, bytes, bool)) or given is None:
        raise ReadingError(f"the reading is {given!r}; tell a number")
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ReadingError(f"the reading is {given!r}; tell a number") from None


def _cost(given: float) -> float:
    if not (math.isfinite(given) and given >= 0):
        raise ReadingError(f"the cost of a look is {given!r}; it is a finite number and not negative")
    return float(given)
