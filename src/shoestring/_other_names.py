"""Names that users know from other libraries, and what to write here instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {
    "n_trials": 'budget="100 evaluations", or budget="500 steps" if trials can be paused and stopped early',
    "num_samples": 'budget="100 evaluations"',
    "n_iter": 'budget="100 evaluations"',
    "timeout": 'budget="2h" for the whole study; trial_timeout= and step_timeout= are for one trial and one step',
    "direction": 'mode="min" or mode="max"',
    "directions": 'objectives={"error": "min", "speed": "max"}',
    "study_name": "name=",
    "load_if_exists": "nothing: a study with the same storage and name is continued",
    "n_jobs": "workers=",
    "sampler": "method=, by its name, or method=ss.compose(sampler, scheduler)",
    "pruner": "method=, such as method='asha', or method=ss.compose(sampler, scheduler)",
    "scheduler": "method=, such as method='asha', or method=ss.compose(sampler, scheduler)",
    "search_alg": "method=, by its name, or method=ss.compose(sampler, scheduler)",
    "show_progress_bar": "progress=True or progress=False",
    "random_state": "seed=",
    "random_seed": "seed=",
    "max_epochs": "max_resource=",
    "max_t": "max_resource=",
    "warm_start": "initial=[ss.warm_start(study)]",
    "metric": "nothing: the objective returns or yields the value to tune; more go into ss.Reading(value, name=...)",
    "catch": "nothing: a trial that raises has failed, and the study goes on",
    "param_distributions": "the space as the second argument",
    "search_space": "the space as the second argument",
}

_NEEDED = {
    "budget": "what may be spent, such as budget='300 steps', budget='50 evaluations' or budget='2h'",
    "space": "the search space, such as ss.space(lr=ss.log(1e-4, 1.0), act=['relu', 'tanh'])",
}

_STOPPING = "nothing: yield a reading after each step, or call trial.report(value); the method decides where it stops"

_ATTRIBUTES = {
    "study": {
        "best_params": "study.best.config",
        "best_value": "study.best.value",
        "best_trial": "study.trials[study.best.trial]",
        "best_trials": "study.front, or study.best with one objective",
        "set_user_attr": "study.tags and study.note",
        "optimize": "study.run(objective), or ss.tune(objective, space, budget=...)",
        "enqueue_trial": "study.enqueue(config)",
        "add_trial": "study.add(config, value)",
        "add_trials": "study.add(config, value) for each",
        "get_trials": "study.trials",
        "trials_dataframe": "study.trials_frame()",
        "study_name": "study.name",
        "direction": "study.history.opened.mode",
        "sampler": "study.references(), or study.history.opened.method",
        "tell_trial": "study.tell(grant, value)",
    },
    "trial": {
        **dict.fromkeys(
            ("suggest_uniform", "suggest_loguniform", "suggest_discrete_uniform"),
            'trial.config["name"], and declare the parameter in the space: '
            'ss.space(lr=ss.log(1e-4, 1.0), layers=(1, 4), act=["relu", "tanh"])',
        ),
        "params": "trial.config",
        "number": "trial.index",
        "should_prune": _STOPPING,
        "set_user_attr": "trial.attributes[name] = value, or as a metric ss.Reading(value, name=...)",
    },
    "record": {
        "params": ".config",
        "number": ".index",
        "intermediate_values": ".readings",
        "user_attrs": ".attributes, or .readings[step].metrics",
    },
    "shoestring": {
        "create_study": 'ss.tune(objective, space, budget="100 evaluations"), or ss.Study(space, budget=...)',
        "load_study": "ss.Study.load(storage, name)",
        "TrialPruned": _STOPPING,
        "pruners": "ss.schedulers",
        "visualization": "ss.plots, such as ss.plots.importance(study)",
        "run": "ss.tune(objective, space, budget=...)",
        "fmin": "ss.tune(objective, space, budget=...)",
        "uniform": "a pair: (low, high)",
        "loguniform": "ss.log(low, high)",
        "choice": "a list: ['relu', 'tanh']",
        "randint": "a pair of integers: (low, high)",
    },
}


# The names of methods in other libraries, in lower case and letters only.
_METHODS = {
    **dict.fromkeys(
        ("bayes", "bayesian", "bayesianoptimization", "bayesopt", "bo", "gaussianprocess", "gpsampler"), "gp"
    ),
    **dict.fromkeys(("successivehalving", "halving", "sha"), "sh"),
    **dict.fromkeys(("cma", "cmaessampler", "evolution", "evolutionary"), "cmaes"),
    **dict.fromkeys(("gridsearch", "gridsampler"), "grid"),
    **dict.fromkeys(("randomsearch", "randomsampler", "randomizedsearch"), "random"),
    **dict.fromkeys(("lhs", "latin", "latinhypercubesampling"), "latin-hypercube"),
    **dict.fromkeys(("tpesampler", "hyperopt", "optuna", "parzen"), "tpe"),
    **dict.fromkeys(("asyncsuccessivehalving", "ashascheduler", "median", "medianstopping", "pbt"), "asha"),
    **dict.fromkeys(("hb", "hyperbandpruner"), "hyperband"),
    **dict.fromkeys(("default", "best", "automatic"), "auto"),
}


def method_elsewhere(name: str) -> list[str]:
    """The method of ours that has this name in other libraries, if there is one."""
    found = _METHODS.get("".join(filter(str.isalpha, name.lower())))
    return [] if found is None else [found]


def missing_attribute(kind: str, owner: str, name: str, known: Collection[str] = ()) -> AttributeError:
    """The error for an attribute that there is not; one that another library has says what to write here."""
    instead = _ATTRIBUTES.get(kind, {}).get(name)
    if instead is not None:
        return AttributeError(f"{owner} has no {name!r}; write {instead}")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return AttributeError(f"{owner} has no attribute {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def suggestion(method: str) -> Callable[..., NoReturn] | None:
    """Make the answer of ``trial.suggest_float`` and such: the parameter of the space that the call stands for."""
    form = _FORMS.get(method)
    if form is None:
        return None

    def suggest(name: str, *args: Any, **options: Any) -> NoReturn:
        raise AttributeError(
            f"a Trial has no {method!r}; write trial.config[{name!r}], and {name}={form(*args, **options)} in the "
            "space. ss.space_from(objective) records the whole space of an Optuna objective"
        )

    return suggest


def _range_form(low: Any, high: Any, *, step: Any = None, log: bool = False) -> str:
    if log:
        return f"ss.log({low!r}, {high!r})"
    return f"({low!r}, {high!r})" if step is None else f"np.arange({low!r}, {high!r} + {step!r} / 2, {step!r})"


def _integers_form(low: int, high: int, step: int = 1, log: bool = False) -> str:
    return _range_form(low, high, log=log) if step == 1 else f"ss.ints({low!r}, {high!r}, step={step!r})"


_FORMS: dict[str, Callable[..., str]] = {
    "suggest_float": lambda low, high, **options: _range_form(float(low), float(high), **options),
    "suggest_int": _integers_form,
    "suggest_categorical": lambda choices: repr(list(choices)),
}


class ExplainsNames:
    """A record whose missing attributes are explained, if another library has them."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take any name to exist

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute("record", f"a {type(self).__name__}", name)


def explain_options(options: Mapping[str, Parameter] | None = None) -> Callable[[F], F]:
    """A function whose wrong keyword arguments are explained: typing errors, and names of other libraries.

    ``options`` are what its ``**options`` takes. ``help`` and notebooks show them one by one.
    """

    def decorate(function: F) -> F:
        own = signature(function)
        named = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        shown = own.replace(parameters=[*named, *(options or {}).values()])
        allowed = shown.parameters.keys()
        places = [p.name for p in named if p.kind is not Parameter.KEYWORD_ONLY]
        needed = [p.name for p in named if p.default is Parameter.empty and p.name in _NEEDED]
        title = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if not allowed >= given.keys():
                _refuse(title, given, allowed)
            for name in needed:
                if name not in given and name not in places[: len(args)]:
                    raise TypeError(f"{title}() needs {name}=, {_NEEDED[name]}")
            return function(*args, **given)

        call.__signature__ = shown  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def _refuse(function: str, given: Iterable[str], allowed: Collection[str]) -> None:
    name = next(name for name in given if name not in allowed)
    near = difflib.get_close_matches(name, [known for known in allowed if not known.startswith("_")], n=1)
    if name in _OPTIONS:
        raise TypeError(f"{function}() has no option {name!r}; write {_OPTIONS[name]}")
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{function}() has no option {name!r}{hint}")
