"""A search space on the command line: ``--param lr=log:1e-4:1 --param act=relu,tanh``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from shoestring.cli.arguments import DEFAULT_STORAGE, F, load_module, pick
from shoestring.core.recommendation import DEFAULT_RULE, RULES
from shoestring.errors import SpaceError
from shoestring.spaces.definition import as_space
from shoestring.spaces.written import from_text, number_in

param_option = click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=RANGE",
    help="A parameter: lr=log:1e-4:1, momentum=0.0:0.99, layers=1:4 (whole numbers) or act=relu,tanh. Repeat for more.",
)

value_option = click.option("--value", metavar="KEY", help="The key of the value in lines of JSON, such as loss.")


def _objectives(ctx: click.Context, option: click.Parameter, given: str | None) -> dict[str, str] | None:
    if given is None:
        return None
    pairs = [part.partition("=") for part in given.split(",")]
    return {name.strip(): mode.strip() or "min" for name, _, mode in pairs}


def _constraints(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str] | None:
    """Constraints as texts by name: the name ends where the comparison begins."""
    parts = [re.split(r"(?=[<>])", text, maxsplit=1) for text in given]
    return {part[0].strip(): "".join(part[1:]).strip() for part in parts} or None


def guess_for(space: Any, given: Any) -> Any:
    """The values of --guess for a space: texts where it has such choices, otherwise numbers where they are some.

    The guess of a sweep file has its values already.
    """
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
        return given
    own = as_space(space)
    choices = {name: getattr(own[name], "choices", ()) for name in given if name in own}
    numbers = {name: number_in(text) for name, text in given.items() if text not in choices.get(name, ())}
    return {name: text if numbers.get(name) is None else numbers[name] for name, text in given.items()}


def _guess_of(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, str] | None:
    """The texts of --guess by the names of parameters."""
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise SpaceError(f"--guess {pair!r} is not NAME=VALUE; write lr=3e-3 or act=relu")
        found[name.strip()] = value.strip()
    return found or None


past_option = click.option(
    "--past",
    multiple=True,
    metavar="STORAGE",
    callback=lambda _, __, given: list(given) or None,
    help="Try the best of past studies early: a storage, or auto for those in the same storage. Repeat for more.",
)

guess_option = click.option(
    "--guess",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_guess_of,
    help="A value that has worked before, such as lr=3e-3, which is tried early. Repeat for more.",
)


def study_options(command: F) -> F:
    """The options that describe a study, besides its space and its budget."""
    for decorate in (
        guess_option,
        past_option,
        click.option("--seed", default=0, show_default=True, help="The same seed gives the same study."),
        click.option(
            "--recommend",
            type=click.Choice(RULES),
            default=DEFAULT_RULE,
            show_default=True,
            help="A configuration counts by its best reading, its best running median of three, or its last reading; "
            "auto is the best reading, or what the method expects where it finds single readings noisy.",
        ),
        click.option("--storage", default=DEFAULT_STORAGE, show_default=True, help="The file that stores the study."),
        click.option("--max-resource", type=int, help="The most steps a trial can have; needed if there are steps."),
        click.option(
            "--mode",
            type=click.Choice(["min", "max"]),
            default="min",
            show_default=True,
            help="Whether smaller (min) or larger (max) values are better.",
        ),
        click.option(
            "--constraint",
            "constraints",
            multiple=True,
            metavar="'NAME <= BOUND'",
            callback=_constraints,
            help="A bound on a number of the reading, such as 'memory <= 8'. Repeat for more.",
        ),
        click.option(
            "--objectives",
            metavar="NAME=MODE,...",
            callback=_objectives,
            help="Several objectives by the names that readings give them: error=min,speed=max.",
        ),
        click.option(
            "--method", default="auto", show_default=True, help="How to spend the budget, such as asha or tpe."
        ),
    ):
        command = decorate(command)
    return command


def space_of(parameters: Sequence[str]) -> dict[str, Any]:
    """The parameters that were written as NAME=RANGE.

    >>> space_of(["lr=0.1:1", "layers=1:4", "act=relu,tanh"])
    {'lr': (0.1, 1.0), 'layers': (1, 4), 'act': ['relu', 'tanh']}
    """
    space: dict[str, Any] = {}
    for given in parameters:
        name, equals, values = given.partition("=")
        name = name.strip()
        if not equals or not name or not values.strip():
            raise SpaceError(f"--param {given!r} is not NAME=RANGE; write lr=log:1e-4:1, layers=1:4 or act=relu,tanh")
        if name in space:
            raise SpaceError(f"--param {name} is given twice")
        space[name] = from_text(name, values.strip(), "--param ")
    return space


def read_space(parameters: Sequence[str], place: str | None) -> Any:
    """The space of a study whose objective is in no file: the parameters, or FILE:SPACE."""
    if parameters and place:
        raise SpaceError("both --param and --space are given; give the parameters, or where the space is")
    if not parameters and not place:
        raise SpaceError(
            "there is no search space: give --param NAME=RANGE for each parameter, such as --param lr=log:1e-4:1, or "
            "--space FILE:SPACE"
        )
    return pick(*load_module(place), "space") if place else space_of(parameters)
