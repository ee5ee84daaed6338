"""A sweep of Weights & Biases, as its file says it, as a study of ours: the command, the space and the options.

=============================== =====================================================
there                           here
=============================== =====================================================
program, command                a :class:`~shoestring.Command`
parameters                      the space; constants are written into the command
metric: name, goal, target      the key of the value, the mode, the target
random, grid, bayes             the methods ``random``, ``grid`` and ``gp``
early_terminate: hyperband      ASHA on the same steps, with ``tpe`` for bayes
run_cap                         a budget of evaluations
=============================== =====================================================

Options without a counterpart here are refused by name. Only the texts under which W&B shows a sweep are left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from shoestring import samplers, schedulers
from shoestring.core.composition import compose
from shoestring.core.decisions import Sampler
from shoestring.errors import MethodError, ObjectiveError, SpaceError
from shoestring.exchange.wandb_command import command_of
from shoestring.exchange.wandb_space import leaves, space_of
from shoestring.methods.registry import named
from shoestring.objectives.command.definition import Command

_KNOWN = (
    "program", "command", "parameters", "metric", "method", "early_terminate", "run_cap", "name", "budget",
    "max_resource", "storage", "seed", "workers",
)  # fmt: skip
_SHOWN = ("description", "project", "entity")  # where and how W&B shows the sweep
_METHODS = {"random": "random", "grid": "grid", "bayes": "gp"}


class Sweep(NamedTuple):
    """A sweep file as read: the objective (a command, or FILE:OBJECTIVE), the space, and the options of a study."""

    objective: Command | str
    space: Any
    options: dict[str, Any]


def is_wandb_sweep(given: Mapping[str, Any]) -> bool:
    return "parameters" in given or "program" in given


def from_wandb(given: Mapping[str, Any]) -> Sweep:
    """A sweep of W&B; it may have ``budget``, ``max_resource``, ``storage``, ``seed`` and ``workers`` of ours.

    >>> sweep = from_wandb({
    ...     "program": "train.py", "method": "random", "metric": {"name": "loss", "goal": "minimize"}, "run_cap": 9,
    ...     "parameters": {"lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 0.1}},
    ... })
    >>> str(sweep.objective), sweep.options["budget"]
    ("python train.py '--lr={lr}'", '9 evaluations')
    """
    refuse_unknown(given, (*_KNOWN, *_SHOWN), "a sweep")
    parameters = given.get("parameters")
    if not isinstance(parameters, dict) or not parameters:
        raise SpaceError(f"parameters is {parameters!r:.80}; it must name the parameters of the sweep")
    varied = list(leaves(parameters))
    argv, plain_json = command_of(given, parameters, os.environ)
    space = space_of(varied, as_text=not plain_json)
    options = {name: given[name] for name in ("name", "storage", "seed", "workers") if name in given}
    options |= _metric(given.get("metric"))
    value = options.pop("value")
    method, last = _method(given)
    steps = given.get("max_resource", last)
    options["method"] = method
    if given.get("early_terminate") and steps is None:
        raise MethodError("early_terminate has no max_iter: add it, or max_resource: how many lines the program prints")
    if steps is not None:
        options["max_resource"] = steps
    budget = given.get("budget", _budget(given, varied))
    if budget is not None:
        options["budget"] = budget
    return Sweep(Command(argv, value, steps=steps), space, options)


def refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    """Refuse what a file says and nothing here can do, by its name."""
    for name in given:
        if name not in known:
            meant = get_close_matches(name, known, n=1)
            hint = f"did you mean {meant[0]!r}? Known" if meant else "known"
            raise MethodError(f"{name!r} of {what} has no counterpart here; {hint} are {', '.join(known)}")


def _metric(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        found = "the sweep has no metric" if given is None else f"metric is {given!r:.80}"
        raise ObjectiveError(f"{found}; give the name that the program prints, metric: {{name: loss}}")
    refuse_unknown(given, ("name", "goal", "target"), "metric")
    goals = {"minimize": "min", "maximize": "max"}
    goal = str(given.get("goal", "minimize"))
    if goal not in goals:
        raise MethodError(f"goal is {goal!r}; it must be minimize or maximize")
    target = given.get("target")
    if target is not None and type(target) not in (int, float):
        raise MethodError(f"target of the metric is {target!r:.80}; it must be a number")
    return {"value": given["name"], "mode": goals[goal], **({} if target is None else {"target": float(target)})}


def _method(given: Mapping[str, Any]) -> tuple[Any, int | None]:
    """The method of a sweep, and how many steps a trial has if it says so."""
    name, early = str(given.get("method", "auto")), given.get("early_terminate")
    if name != "auto" and name not in _METHODS:
        named(name)  # one of ours, or an error that lists these
    if early is None:
        return _METHODS.get(name, name), None
    if name not in _METHODS:
        raise MethodError(f"early_terminate is for the methods {', '.join(_METHODS)}; {name} stops trials by itself")
    eta, least, last = _rungs(early)
    known: dict[str, Sampler] = {"random": samplers.Random(), "grid": samplers.Grid(), "bayes": samplers.TPE.wide()}
    return compose(known[name], schedulers.ASHA(eta=eta, min_resource=least)), last


def _rungs(early: Any) -> tuple[float, int, int | None]:
    """eta, the first step at which trials are compared, and the last step if it is known.

    W&B compares at min_iter, min_iter·eta, …; or, with max_iter and s, at max_iter/eta, …, max_iter/eta^s.
    """
    if not isinstance(early, dict) or early.get("type") != "hyperband":
        raise MethodError(f"early_terminate is {early!r:.80}; its type must be hyperband, the only one of W&B")
    refuse_unknown(early, ("type", "min_iter", "max_iter", "s", "eta", "strict"), "early_terminate")
    if early.get("strict"):
        raise MethodError("'strict' of early_terminate has no counterpart here: leave it out")
    for name in ("min_iter", "max_iter", "s", "eta"):
        if name in early and (type(early[name]) is not int or not 1 <= early[name] < 10**6):
            raise MethodError(f"{name} of early_terminate is {early[name]!r:.80}; it must be a whole number from 1")
    eta, last = early.get("eta", 3), early.get("max_iter")
    if "min_iter" in early:
        return eta, early["min_iter"], last
    if last is None:
        raise MethodError("early_terminate has neither min_iter nor max_iter: say where trials are compared first")
    return eta, max(last // eta ** min(early.get("s", 1), 20), 1), last


def _budget(given: Mapping[str, Any], varied: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    if "run_cap" in given:
        return f"{given['run_cap']} evaluations"
    if given.get("method") != "grid":
        return None
    return f"{math.prod(len(spec.get('values', [None])) for _, spec in varied)} evaluations"
