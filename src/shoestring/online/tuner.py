"""OnlineTuner: hyper-parameters inside one training run, paying for a reading only where it may change the decision.

A round is one ``ask``, and one ``tell`` if it says to look. The policy suggests a configuration, the look rule decides
whether to pay for a reading, and larger readings are better. Nothing here reads a clock or a global generator:
random draws are keyed by (seed, round, purpose).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from shoestring._arrays import Array
from shoestring.core.randomness import generator
from shoestring.errors import MethodError, ReadingError, StudyMismatch
from shoestring.online.domains import Arms, as_domain
from shoestring.online.json_arrays import from_json, to_json
from shoestring.online.look_rules import Confident, LookDecision, LookRule, Progress
from shoestring.online.policies import TVGPUCB
from shoestring.online.suggestion import Policy, Posterior

_FORMAT = 2


@dataclass(frozen=True)
class Round:
    """The configuration to use now, whether to pay for a reading, and why. ``arm`` is its position in the list."""

    number: int
    config: Any
    look: bool
    reason: str
    arm: int | None = None


@dataclass(frozen=True)
class RoundRecord:
    """One round of the history. ``value`` is None without a reading, NaN where the reading was not a finite number."""

    number: int
    candidate: Any
    look: bool
    expected_loss: float | None = None
    value: float | None = None
    cost: float = 0.0


@dataclass(frozen=True)
class PlotData:
    """Data of a picture of a finite domain: the posterior in the current round, and which arms were played."""

    points: Array
    mean: Array
    deviation: Array
    half_width: Array
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
        self._domain = as_domain(space_or_arms, policy.kernel)
        self._agent = policy.start(self._domain, horizon, seed)
        self._history: list[RoundRecord] = []
        self._memory: float | None = None
        self._looks = 0
        self._spent = 0.0

    @property
    def looks(self) -> int:
        """Return how many rounds the tuner has asked to look at."""
        return self._looks

    @property
    def spent(self) -> float:
        """Sum the costs of the looks: one each, or the cost that ``tell`` was given."""
        return self._spent

    @property
    def history(self) -> list[RoundRecord]:
        """All rounds so far, the current one included."""
        return list(self._history)

    def config_of(self, record: RoundRecord) -> Any:
        """The configuration of a round of the history."""
        return self._config(record.candidate)

    def ask(self) -> Round:
        """The next round. If the last one said to look, its reading has to be given by ``tell`` first."""
        if self._history and self._history[-1].look and self._history[-1].value is None:
            raise ReadingError(
                f"round {len(self._history)} said to look and has no reading yet; "
                "call tell(value) before the next ask()"
            )
        number = len(self._history) + 1
        suggestion = self._agent.suggest(number)
        decision = self._decide(suggestion.posterior, number)
        candidate = suggestion.candidate
        if not decision.look and self._rule.greedy_when_blind and self._agent.readings:
            candidate = suggestion.best_estimate()
        self._memory = decision.memory
        self._looks += decision.look
        self._history.append(RoundRecord(number, candidate, decision.look, decision.expected_loss))
        arm = candidate if isinstance(self._domain, Arms) else None
        return Round(number, self._config(candidate), decision.look, decision.reason, arm)

    def tell(self, value: float, cost: float = 1.0) -> None:
        """The reading of the current round. On a round without a look it is welcome and costs nothing.

        NaN and infinities are charged and kept in the history, and not learned from.
        """
        if not self._history:
            raise ReadingError("there is no round to give a reading for: call ask() first")
        current = self._history[-1]
        if current.value is not None:
            raise ReadingError(f"round {current.number} already has a reading ({current.value:g}); call ask() first")
        reading = _number(value)
        paid = _cost(cost) if current.look else 0.0
        self._spent += paid
        self._history[-1] = replace(current, value=reading, cost=paid)
        if math.isfinite(reading):
            clipped = reading if self._clip is None else min(max(reading, self._clip[0]), self._clip[1])
            self._agent.observe(current.number, current.candidate, clipped)

    def plot_data(self) -> PlotData:
        """Return the data of a picture of the model, for a finite domain and a policy with a posterior."""
        if not isinstance(self._domain, Arms) or not self._policy.has_posterior:
            raise MethodError("plot_data needs a finite domain and a policy with a posterior, such as TVGPUCB")
        posterior = self._agent.suggest(max(len(self._history), 1)).posterior
        assert posterior is not None
        deviation = np.sqrt(posterior.variance)
        return PlotData(
            self._domain.points,
            posterior.mean.copy(),
            deviation,
            posterior.root_beta * deviation,
            [record.candidate for record in self._history],
            [record.look for record in self._history],
        )

    def _identity(self) -> dict[str, Any]:
        """Describe the settings that a saved state must agree with."""
        described = {"policy": repr(self._policy), "look": repr(self._rule)}
        return {"format": _FORMAT, **described, "seed": self._seed, "horizon": self._horizon}

    def state_dict(self) -> dict[str, Any]:
        """Plain values for a checkpoint, such that ``load_state_dict`` continues exactly from here."""
        return {
            **self._identity(),
            "memory": self._memory,
            "history": [to_json(asdict(record)) for record in self._history],
            "agent": to_json(self._agent.state()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where ``state_dict`` was taken; the tuner must have been made with the same arguments."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise StudyMismatch(f"the state was saved with {name} = {state.get(name)}, this tuner has {value}")
        self._history = [RoundRecord(**from_json(record)) for record in state["history"]]
        self._memory = state["memory"]
        self._looks = sum(record.look for record in self._history)
        self._spent = sum(record.cost for record in self._history)
        self._agent.restore(from_json(state["agent"]))

    def _decide(self, posterior: Posterior | None, number: int) -> LookDecision:
        def chance(purpose: str) -> float:
            return float(generator(self._seed, number, purpose).random())

        progress = Progress(number, self._horizon, self._looks, self._memory, chance)
        decision = self._rule.decide(posterior, progress)
        if not self._agent.readings and not self._looks:
            return replace(decision, look=True, reason="there is no reading yet")
        return decision

    def _config(self, candidate: Any) -> Any:
        if isinstance(self._domain, Arms):
            return self._domain.configs[candidate]
        return self._domain.codec.decode(candidate)


def CEGPUCB(  # noqa: N802 - an algorithm's name, used like a class
    space_or_arms: Any,
    *,
    horizon: int | None = None,
    kappa: float = 0.9,
    seed: int = 0,
    greedy_when_blind: bool = False,
    clip: tuple[float, float] | None = None,
    **policy: Any,
) -> OnlineTuner:
    """CE-GP-UCB: TV-GP-UCB that looks only when it is not confident (Algorithm 1 of Wang et al., ACML 2021).

    Further arguments go to :class:`TVGPUCB`; parameters that are left out are learned.

    >>> tuner = CEGPUCB({"lr": (0.0, 1.0)}, horizon=2000, kappa=0.9, seed=0)
    >>> tuner.ask().look
    True
    """
    look = Confident(kappa, greedy_when_blind=greedy_when_blind)
    return OnlineTuner(space_or_arms, TVGPUCB(**policy), look, horizon=horizon, seed=seed, clip=clip)


def _check(policy: Policy, look: LookRule, horizon: int | None, clip: tuple[float, float] | None) -> None:
    if horizon is not None and horizon < 1:
        raise MethodError(f"the horizon is {horizon!r}; it must be a number of rounds, at least 1")
    if look.needs_horizon and horizon is None:
        raise MethodError(f"{look!r} spreads its looks over the horizon: give the tuner horizon=, a number of rounds")
    quota = getattr(look, "n", None) or getattr(look, "b2", None)
    if quota and horizon and quota > horizon:
        raise MethodError(f"{look!r} asks for {quota:g} looks in {horizon} rounds; ask for at most {horizon}")
    if look.needs_posterior and not policy.has_posterior:
        raise MethodError(
            f"{type(look).__name__} needs a posterior and {type(policy).__name__} has none; "
            "use TVGPUCB, or a rule such as Bernoulli, Exactly or Always"
        )
    if clip is not None and not clip[0] < clip[1]:
        raise MethodError(f"clip is {clip!r}; give a low and a high end, such as (-2, 2)")


def _number(given: Any) -> float:
    if not isinstance(given, (str, bytes, bool)):
        try:
            return float(given)
        except (TypeError, ValueError):
            pass
    raise ReadingError(f"the reading is {given!r}; tell a number")


def _cost(given: float) -> float:
    if not (math.isfinite(given) and given >= 0):
        raise ReadingError(f"the cost of a look is {given!r}; it must be a finite number and not negative")
    return float(given)
