"""A command as an objective: any program, in any language, that prints numbers.

The command is a list of arguments with placeholders. Each placeholder is replaced inside one argument; no shell is
involved. Three kinds of commands are told apart by what they contain:

* with ``{until}``: one process for each grant; it continues from its checkpoint in ``{directory}``, or ``{start}``;
* with ``steps=``: one process for the whole trial, which is stopped between two grants as by Ctrl-Z;
* neither: a black box, whose last line is its value.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoestring.core.readings import Reading
from shoestring.errors import ObjectiveError

if TYPE_CHECKING:
    from shoestring.objectives.trial import Trial

# The names that a command may use in addition to the parameters of the space.
PLACEHOLDERS = ("start", "until", "directory", "seed", "trial", "arm", "replicate", "worker", "device")
_PYTHON, _SCRIPT = re.compile(r"python[\d.]*(\.exe)?"), re.compile(r"[^-{][^{]*\.py")

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\s\"']+)\}")
_MARK = '{"command": '  # how the place of a command begins; no file name does


@dataclass(frozen=True)
class Command:
    """A command as an objective.

    ``argv`` is the program and its arguments. In each of them ``{name}`` stands for a parameter of the space, or for
    ``{start}`` and ``{until}`` (the last step that is done, and the one to train to), ``{directory}`` (the trial's own
    folder), ``{seed}``, ``{trial}``, ``{arm}``, ``{replicate}``, ``{worker}`` or ``{device}``; ``{{`` and ``}}`` are
    braces. Texts are passed unchanged, other values as JSON. An argument that names a parameter which is not active
    is left out, with the option before it.

    The command prints its value as a number in the last line of its standard output, or as JSON lines, such as
    ``{"step": 3, "loss": 0.2}``. ``value`` is the key of the value in them; the other numbers are metrics, and ``cost``
    is the cost. With ``file`` the value is read from a file that the command writes, not from its output.

    A command with ``{until}`` is started for every grant, prints one line for every step, and exits. With ``every`` it
    is started again after this many steps at the latest: its files in ``{directory}`` then count as a checkpoint
    when it exits. ``steps`` is how many lines a command prints that trains in one go; it is stopped between two grants.

    >>> import shoestring as ss
    >>> command = ss.Command(["sh", "-c", "echo $(( ($1 - 3) * ($1 - 3) ))", "sh", "{x}"])
    >>> ss.tune(command, {"x": (0, 5)}, budget="6 evaluations", method="grid").best.config
    {'x': 3}
    """

    argv: Sequence[str]
    value: str | None = None
    file: str | None = None
    steps: int | None = None
    every: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.argv, str):
            raise ObjectiveError(
                f"the command is the text {self.argv!r}; give a list of arguments, such as {shlex.split(self.argv)!r}: "
                "no shell splits it"
            )
        if not isinstance(self.argv, Sequence) or not self.argv or not all(isinstance(a, str) for a in self.argv):
            raise ObjectiveError(f"the command is {self.argv!r}; it must be a list of texts, the program first")
        if any("\0" in argument for argument in self.argv):
            raise ObjectiveError("the command has an argument with a null character, which no program can be given")
        object.__setattr__(self, "argv", tuple(self.argv))
        for name in ("value", "file"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, str) or not given):
                raise ObjectiveError(f"{name} of the command is {given!r}; it must be a text, or left out")
        for name in ("steps", "every"):
            given = getattr(self, name)
            if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
                raise ObjectiveError(f"{name} of the command is {given!r}; it must be a whole number from 1")
        self._check_form()

    def _check_form(self) -> None:
        """Refuse what could not be paused and continued as it says."""
        named = self.placeholders()
        by_grant = "until" in named
        if by_grant and self.steps is not None:
            raise ObjectiveError("the command has {until} and steps=: it either ends after a grant or trains in one go")
        if by_grant and not named & {"start", "directory"}:
            raise ObjectiveError(
                "the command has {until}, but neither {directory} for its checkpoint nor {start}: it would train from "
                "the beginning in every grant. Add one of them, or leave {until} out and say how many lines it prints, "
                "steps=... (--max-resource): then it trains in one go"
            )
        if not by_grant and self.every is not None:
            raise ObjectiveError("every= needs a command with {until}, which is started again to save a checkpoint")
        if not by_grant and "start" in named:
            raise ObjectiveError("the command has {start} but not {until}: say until which step it trains")

    @property
    def iterative(self) -> bool:
        """Return whether the command gives a reading after each step; otherwise it is a black box."""
        return self.steps is not None or "until" in self.placeholders()

    def placeholders(self) -> set[str]:
        """List the names of the placeholders of the command."""
        texts = (*self.argv, self.file or "")
        return {found for text in texts for found in _PLACEHOLDER.findall(text) if found}

    def check(self, parameters: Collection[str], max_resource: int | None) -> None:
        """Refuse a command that does not fit the study, before anything is spent on it."""
        if sys.platform == "win32":
            raise ObjectiveError("commands need Linux or macOS; on Windows run shoestring inside WSL")
        clashes = sorted(set(parameters) & set(PLACEHOLDERS) & self.placeholders())
        if clashes:
            raise ObjectiveError(f"{{{clashes[0]}}} is a parameter and also what the study gives: rename the parameter")
        unknown = sorted(self.placeholders() - set(parameters) - set(PLACEHOLDERS))
        if unknown:
            raise ObjectiveError(
                f"the command has the placeholder {{{unknown[0]}}}; it can name the parameters "
                f"{', '.join(sorted(parameters))}, or {', '.join(PLACEHOLDERS)}. Write {{{{ and }}}} for braces"
            )
        if not self.placeholders() & set(parameters):
            raise ObjectiveError(
                f"the command {self} names no parameter, so every trial would be the same: write {{{min(parameters)}}} "
                "where its value belongs"
            )
        self._check_steps(max_resource)
        program, script = self.argv[0], next(iter(self.argv[1:]), "")
        if not _PLACEHOLDER.search(program) and shutil.which(program) is None:
            raise ObjectiveError(f"there is no program {program!r} that can be run; is it installed, and on the PATH?")
        if _PYTHON.fullmatch(Path(program).name) and _SCRIPT.fullmatch(script) and not Path(script).is_file():
            raise ObjectiveError(f"there is no file {script} in {Path.cwd()}, where the command would be run")

    def _check_steps(self, max_resource: int | None) -> None:
        if self.iterative and max_resource is None:
            raise ObjectiveError("the command trains in steps: say how many steps a trial can have, max_resource=...")
        if self.steps is not None and max_resource != self.steps:
            raise ObjectiveError(f"the command prints {self.steps} lines (steps=), but max_resource is {max_resource}")
        if not self.iterative and (max_resource or 1) > 1:
            raise ObjectiveError(
                f"max_resource is {max_resource}, but the command gives one value: give it {{until}} and "
                f"{{directory}}, so that it trains to a step and continues later, or steps={max_resource} if it prints "
                "a line after each step"
            )

    @property
    def place(self) -> str:
        """The command as the log records it."""
        return json.dumps({"command": list(self.argv)} | {k: v for k, v in self._options().items() if v is not None})

    def _options(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "argv"}

    def __str__(self) -> str:
        """Format the command as one would type it; control characters are escaped."""
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in shlex.join(self.argv))

    def arguments(self, trial: Trial, start: int, until: int) -> list[str]:
        """Fill in the command for a trial, from one step to another."""
        values = self._values(trial, start, until)
        filled: list[str] = []
        for before, argument in zip(("", *self.argv), self.argv, strict=False):
            missing = [name for name in _PLACEHOLDER.findall(argument) if name and name not in values]
            if not missing:
                filled.append(_fill(argument, values))
            elif argument == f"{{{missing[0]}}}" and _is_option(before):
                filled.pop()  # the option whose value is not active
        return filled

    def _values(self, trial: Trial, start: int, until: int) -> Mapping[str, Any]:
        values = {
            "start": start, "until": until, "seed": trial.seed, "trial": trial.index, "arm": trial.arm,
            "replicate": trial.replicate, "worker": trial.worker, "device": trial.device,
        }  # fmt: skip
        if "directory" in self.placeholders():  # asking for it creates it
            values["directory"] = str(trial.directory)
        return {**values, **trial.config}

    def __call__(self, trial: Trial) -> Reading | Iterator[Reading]:
        # Here because running a command needs modules that Windows does not have; defining and checking one does not.
        from shoestring.objectives.command.runs import Run, black_box, by_grants, in_one_go

        def run(start: int, until: int) -> Run:
            arguments = self.arguments(trial, start, until)
            return Run(arguments, self.value, self._output_file(trial, start, until))

        if self.steps is not None:
            return in_one_go(run, trial, self.steps)
        return by_grants(run, trial, self.every) if self.iterative else black_box(run(0, 1))

    def _output_file(self, trial: Trial, start: int, until: int) -> Path | None:
        """The file that the value is read from, if it is not the command's output."""
        if self.file is None:
            return None
        values = self._values(trial, start, until)
        return Path(_fill(self.file, {name: values.get(name, "") for name in self.placeholders()}))


def _is_option(argument: str) -> bool:
    """Return whether an argument names what comes after it: not "--", nor a value, which may be a negative number."""
    return argument.startswith("-") and argument != "--" and not _PLACEHOLDER.search(argument)


def _fill(argument: str, values: Mapping[str, Any]) -> str:
    def value(found: re.Match[str]) -> str:
        return found[0][0] if found[1] is None else as_argument(values[found[1]])

    return _PLACEHOLDER.sub(value, argument)


def as_argument(value: Any) -> str:
    """Convert a value to an argument of a program: a text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def is_command(place: str) -> bool:
    """Return whether what a log names as its objective is a command."""
    return place.startswith(_MARK)


def command_from_log(place: str) -> Command:
    """The command that a log names, checked like one that is given."""
    try:
        given = json.loads(place)
        return Command(given.pop("command"), **given)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ObjectiveError(f"the command in the storage cannot be used: {error}") from None
