"""Methods of shoestring inside an Optuna study: a sampler and a pruner by forecast.

::

    study = optuna.create_study(sampler=Sampler(), pruner=Pruner())

Both rebuild what they know from Optuna's storage at every call and keep it only as a cache, so a process that is
restarted, or one of several on the same storage, decides as if it had seen everything.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from shoestring.core.budget import Budget, as_budget
from shoestring.core.decisions import Method, Start
from shoestring.core.history import History, TrialRecord
from shoestring.core.randomness import generator, integer
from shoestring.core.untried import propose_new
from shoestring.errors import BudgetError, MethodError, SpaceError
from shoestring.exchange.optuna_space import config_for_optuna, distributions_of, optuna_package, space_of
from shoestring.exchange.optuna_trials import mode_of
from shoestring.integrations.optuna_forecast import CurveForecasts, chance_to_be_among
from shoestring.integrations.optuna_history import OptunaHistory, ReportedSteps
from shoestring.methods.opening import choose_method
from shoestring.spaces.codec import Config
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import as_space

optuna = optuna_package()

# An Optuna study has no budget of its own. One that never runs out, and what ``auto`` chooses by.
_ENDLESS, _USUAL = Budget(evaluations=10**9), Budget(evaluations=1000)
# The attribute of a trial in Optuna's storage that says which configuration it was given.
_GIVEN = "shoestring:given"


class _Follower:
    """The history of the Optuna study that was asked about last: a cache, which can be dropped at any time."""

    def __init__(self, budget: Budget | None, seed: int) -> None:
        self._budget, self._seed = budget or _ENDLESS, seed
        self._lock = Lock()
        self._study = ""
        self._steps = ReportedSteps()
        self._key: object = None
        self._followed: OptunaHistory | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_budget": self._budget, "_seed": self._seed}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["_budget"], state["_seed"])  # type: ignore[misc]

    @contextmanager
    def follow(
        self,
        study: Any,
        trials: Sequence[Any],
        distributions: Mapping[str, Any],
        space: ConfigSpace.ConfigurationSpace | None = None,
    ) -> Iterator[OptunaHistory]:
        """The history of these trials, for one thread at a time.

        It is rebuilt if the space or the reported steps are no longer the same.
        """
        with self._lock:
            if study.study_name != self._study:
                self._study, self._steps = study.study_name, ReportedSteps()
            steps = self._steps.update(trials)
            key = (study.study_name, tuple(sorted(distributions.items(), key=lambda item: item[0])), steps)
            if key != self._key or self._followed is None:
                own = space or space_of(distributions)
                self._followed = OptunaHistory(own, distributions, steps, mode_of(study), self._budget, self._seed)
                self._key = key
            self._followed.update(trials)
            yield self._followed


def known_parameters(distributions: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that vary and that a space of ours can have."""
    return {name: distribution for name, distribution in distributions.items() if _is_known(distribution)}


def _is_known(distribution: Any) -> bool:
    try:
        return not distribution.single() and _has_space(distribution)
    except TypeError:  # a choice that cannot be hashed
        return False


@lru_cache(maxsize=1000)
def _has_space(distribution: Any) -> bool:
    try:
        return len(space_of({"x": distribution})) == 1
    except SpaceError:
        return False


_SAMPLER: Any = optuna.samplers.BaseSampler
_PRUNER: Any = optuna.pruners.BasePruner


class Sampler(_SAMPLER):  # type: ignore[misc]
    """A method of shoestring as a sampler of Optuna.

    ``method`` is a name such as "gp" or "tpe", or an object; of one that also schedules, such as "bohb", the sampler
    is used, because Optuna's pruner stops trials. "auto" is ``forecast`` if trials report intermediate values, and
    ``gp`` if not. ``budget``, in steps or evaluations, ends ``study.optimize`` once it is spent. ``space`` is the
    search space with its conditions, where you want to give it; otherwise it is what all finished trials have in
    common, and other parameters are drawn at random.

    >>> import optuna
    >>> from shoestring.integrations.optuna import Sampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=Sampler(seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=15)
    >>> study.best_value < 0.01
    True
    """

    def __init__(
        self,
        method: str | Method = "auto",
        *,
        budget: Budget | str | None = None,
        seed: int = 0,
        space: ConfigSpace.ConfigurationSpace | Mapping[str, Any] | None = None,
    ) -> None:
        self._method, self._budget, self._seed = method, None if budget is None else as_budget(budget), seed
        if self._budget is not None and {"seconds", "cost"} & self._budget.limits().keys():
            raise BudgetError(
                f"budget is {self._budget}; inside an Optuna study it is in steps or evaluations, and "
                "study.optimize(timeout=...) is for seconds"
            )
        choose_method(method, _USUAL, None)  # an unknown name is refused here
        self._space = None if space is None else as_space(space)
        self._distributions = None if self._space is None else distributions_of(self._space)[0]
        self._follower = _Follower(self._budget, seed)
        self._warned = False

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        if self._distributions is not None:
            return dict(self._distributions)
        trials = study.get_trials(deepcopy=False)
        return known_parameters(optuna.search_space.intersection_search_space(trials, include_pruned=True))

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict[str, Any]:
        mode_of(study)
        varied = search_space if search_space == self._distributions else known_parameters(search_space)
        if not varied:
            return {}
        space = self._space if varied == self._distributions else None
        trials = [one for one in study.get_trials(deepcopy=False) if one.number != trial.number]
        with self._follower.follow(study, trials, varied, space) as followed:
            config = self._propose(followed.history, generator(self._seed, trial.number, "optuna"))
            found = _values(config, varied)
            if _is_taken(study, trial, varied, found):
                config = followed.history.codec.sample(generator(self._seed, trial.number, "unlike others"))
                found = _values(config, varied)
        return found

    def _propose(self, history: History, rng: np.random.Generator) -> Config:
        method, _ = choose_method(self._method, self._budget or _USUAL, history.max_resource)
        sampler = getattr(method, "sampler", None)
        if sampler is not None:
            proposal = propose_new(sampler, history, rng)
            return history.codec.sample(rng) if proposal is None else proposal.config
        decision = None if history.max_resource is None else method.decide(history, rng)
        found = decision.config if isinstance(decision, Start) else None
        return history.codec.sample(rng) if found is None else found

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        mode_of(study)
        if not self._warned and not param_distribution.single() and study.get_trials(deepcopy=False, states=_ENDED):
            self._warned = True
            warnings.warn(
                f"trial {trial.number}: {param_name!r} is drawn at random, because not all finished trials have it "
                "with this range. Other such parameters are not mentioned. Sampler(space=...) takes a whole space",
                stacklevel=2,
            )
        seed = integer(self._seed, trial.number, f"independent {param_name}")
        return optuna.samplers.RandomSampler(seed).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        if self._budget is not None and _is_spent(self._budget, study.get_trials(deepcopy=False)):
            try:
                study.stop()
            except RuntimeError:  # ask and tell: the caller decides when to stop
                return


_ENDED = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)


def _is_taken(study: Any, trial: Any, distributions: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """True if another trial was given the same values.

    Optuna stores a parameter only when its trial asks for it, so the history lacks what another thread or process gave
    a moment ago. So what is given is noted in the storage first, and the notes of the others are read afterwards: of
    two trials that are given the same values, at least one sees the note of the other.
    """
    own = {name: distributions[name].to_internal_repr(value) for name, value in values.items()}
    study._storage.set_trial_system_attr(trial._trial_id, _GIVEN, own)  # noqa: SLF001  # as samplers of Optuna do it
    trials = study.get_trials(deepcopy=False)
    return any(other.number != trial.number and other.system_attrs.get(_GIVEN) == own for other in trials)


def _values(config: Config, distributions: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as values of Optuna's."""
    return {name: _within(distributions[name], value) for name, value in config_for_optuna(config).items()}


def _within(distribution: Any, value: Any) -> Any:
    """A value inside the range exactly: ConfigSpace rounds the ends of a wide one."""
    return value if hasattr(distribution, "choices") else min(max(value, distribution.low), distribution.high)


def _is_spent(budget: Budget, trials: Sequence[Any]) -> bool:
    """Return whether the trials have used a budget up; each report is a step, and so is a trial without reports."""
    started = [trial for trial in trials if trial.state != optuna.trial.TrialState.WAITING]
    steps = sum(max(len(trial.intermediate_values), 1) for trial in started)
    spent = {"steps": steps, "evaluations": len(started)}
    return any(spent[unit] >= limit for unit, limit in budget.limits().items())


class Pruner(_PRUNER):  # type: ignore[misc]
    """Prune by forecast: stop a trial that will hardly end among the best.

    A Gaussian process over learning curves and configurations forecasts the ends of all trials, pruned ones included.
    After step s a trial is pruned if it has less than ``chance`` to end among the best 1/(``eta`` s) of them, so about
    as many steps go to long trainings as to short ones; the best one always goes on. The first ``startup`` trials run
    to their end.

    A training has as many steps as there are different steps that trials have reported. Reports at other steps than
    1, 2, 3, 5, 8, 13, … of these prune nothing.
    """

    def __init__(self, *, startup: int = 1, eta: float = 4.0, chance: float = 0.5) -> None:
        if type(startup) is not int or startup < 1:
            raise MethodError(f"startup is {startup!r}; it is how many trials run to their end first, at least 1")
        if not eta > 0:
            raise MethodError(f"eta is {eta!r}; it is a number above 0: the best 1/(eta s) continue after step s")
        if not 0 <= chance <= 0.5:
            raise MethodError(f"chance is {chance!r}; it is a probability, from 0 (prune nothing) to 0.5")
        self._startup, self._eta, self._chance = startup, eta, chance
        self._follower = _Follower(None, 0)
        self._warned = False

    def prune(self, study: Any, trial: Any) -> bool:
        mode_of(study)
        known = study.get_trials(deepcopy=False)
        trials = [trial if one.number == trial.number else one for one in known]
        complete = sum(one.state == optuna.trial.TrialState.COMPLETE for one in trials)
        if not trial.intermediate_values or complete < self._startup:
            return False
        varied = known_parameters(self._common(trials, trial))
        if not varied:
            self._warn(trial)
            return False
        with self._follower.follow(study, trials, varied) as followed:
            record = followed.records.get(trial.number)
            if record is None or record.step != followed.step(trial.last_step) or record.state != "running":
                return False
            return self._is_hopeless(followed.history, record)

    def _common(self, trials: Sequence[Any], trial: Any) -> dict[str, Any]:
        """The parameters that this trial and all finished ones have."""
        common = optuna.search_space.intersection_search_space(trials, include_pruned=True)
        return {name: each for name, each in common.items() if trial.distributions.get(name) == each}

    def _is_hopeless(self, history: History, record: TrialRecord) -> bool:
        curves = history.cached("ends of curves", lambda: CurveForecasts(history))
        mean, deviation, place = curves.ends(history, record)
        best = math.ceil(len(mean) / (self._eta * record.step))
        return chance_to_be_among(best, mean, deviation, place) < self._chance

    def _warn(self, trial: Any) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"trial {trial.number} cannot be pruned: it has no parameter in common with all finished trials, so "
                "that nothing can be learned from these",
                stacklevel=3,
            )
