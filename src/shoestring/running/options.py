"""The options of a run: the one list that ``Study.run`` and ``tune`` share.

To add one, name it in :class:`RunOptions` with its type, give its default in :data:`DEFAULTS`, and say what it does in
the docstring of ``Study.run``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any, TypedDict

from shoestring.core.budget import Budget
from shoestring.executors.base import Executor, check_workers
from shoestring.running.callbacks import check_callbacks
from shoestring.running.limits import Limits
from shoestring.running.retention import DEFAULT_KEEP, check_keep


class RunOptions(TypedDict, total=False):
    workers: int
    executor: Executor | None
    progress: bool | None
    retries: int | None
    trial_timeout: float | None
    step_timeout: float | None
    target: float | None
    patience: Budget | str | None
    gpus: Sequence[int | str] | None
    devices: Sequence[Any] | None
    threads: int | None
    init: Callable[[], Any] | None
    keep: int | None
    accept_objective: bool
    callbacks: Sequence[Any]


DEFAULTS = RunOptions(
    workers=1,
    executor=None,
    progress=None,
    retries=None,
    trial_timeout=None,
    step_timeout=None,
    target=None,
    patience=None,
    gpus=None,
    devices=None,
    threads=None,
    init=None,
    keep=DEFAULT_KEEP,
    accept_objective=False,
    callbacks=(),
)

# As parameters of a function, for ``help`` and for completion in notebooks.
RUN_PARAMETERS = {
    name: Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=getattr(RunOptions.__annotations__[name], "__forward_arg__", RunOptions.__annotations__[name]),
    )
    for name, default in DEFAULTS.items()
}


def read_options(given: RunOptions) -> tuple[RunOptions, Limits]:
    """Fill in the defaults of a run's options; impossible values are refused before anything is spent."""
    options: RunOptions = {**DEFAULTS, **given}
    at_start = options["threads"] or options["init"]
    check_workers(options["workers"], options["executor"], options["gpus"] or options["devices"], at_start)
    check_keep(options["keep"])
    check_callbacks(options["callbacks"])
    limits = Limits(
        options["retries"],
        options["trial_timeout"],
        options["step_timeout"],
        options["target"],
        options["patience"],
    )
    return options, limits
