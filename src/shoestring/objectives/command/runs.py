"""Running a command for a trial: as a black box, or step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from shoestring.core.readings import Reading
from shoestring.errors import CommandError
from shoestring.objectives.command.output import Line, parse, printable
from shoestring.objectives.command.process import CommandProcess
from shoestring.objectives.trial import Trial


class Run(NamedTuple):
    """One run of a command: its arguments, the key of its value, and the file that holds it if not the output does."""

    arguments: list[str]
    value: str | None
    file: Path | None


# The run of a command from one step to another.
RunBetween = Callable[[int, int], Run]


class _Output:
    """The lines of one run of a command that hold readings, and what to say if there are none."""

    def __init__(self, run: Run) -> None:
        self.value, self.file = run.value, run.file
        self.last_line = ""
        if self.file is not None:
            self.file.unlink(missing_ok=True)  # what another run has left is not what this one found

    def of(self, process: CommandProcess) -> Iterator[Line | None]:
        """For each line that is not empty, its reading, if it has one."""
        for line in process.lines() if self.file is None else self._of_file(process, self.file):
            if line.strip():
                self.last_line = line
                yield parse(line, self.value)

    def _of_file(self, process: CommandProcess, file: Path) -> Iterator[str]:
        for _ in process.lines():
            pass
        process.check()
        try:
            text = file.read_text(errors="replace")
        except OSError as error:
            raise CommandError(f"the command has ended, but {file} cannot be read: {error.strerror}") from None
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            yield from text.splitlines()
        else:  # JSON over several lines
            yield json.dumps(whole)

    def no_value_error(self, process: CommandProcess) -> CommandError:
        where = "its output" if self.file is None else str(self.file)
        wanted = f"a line of JSON with {self.value!r}" if self.value else "a line with a number, or a line of JSON"
        last = f"the last line is {printable(self.last_line)}" if self.last_line else "it is empty"
        return CommandError(f"the command gave no value: {where} must hold {wanted}; {last}{process.last_errors()}")


def black_box(run: Run) -> Reading:
    """Run a command to its end. Its value is in the last line, or in the last line with the key that was named."""
    output = _Output(run)
    with CommandProcess(run.arguments) as process:
        found = None
        for line in output.of(process):
            found = line if line is not None or run.value is None else found
        process.check()
        if found is None:
            raise output.no_value_error(process)
        return found.reading


def in_one_go(run_between: RunBetween, trial: Trial, steps: int) -> Iterator[Reading]:
    """One process for the whole trial: a reading for each line that holds one; later lines do not matter."""
    yield from _readings(run_between(trial.start, steps), trial, trial.start, steps, may_print_more=True)


def by_grants(run_between: RunBetween, trial: Trial, every: int | None) -> Iterator[Reading]:
    """One process for each grant, or for each ``every`` steps of it: a reading for each line that holds one."""
    step = until = trial.start
    while step == until:
        until = min(trial.until, step + (every or trial.until))
        for reading in _readings(run_between(step, until), trial, step, until):
            step += 1
            yield reading


def _readings(run: Run, trial: Trial, start: int, until: int, may_print_more: bool = False) -> Iterator[Reading]:
    output = _Output(run)
    step = start
    with CommandProcess(run.arguments) as process, trial.without_snapshots():
        lines = _number(output.of(process), start)
        for step, reading in lines:
            if step == until:
                break
            if step == trial.until:
                process.pause()
            yield reading
            process.go_on()
        else:
            process.check()
            if step == start:
                raise output.no_value_error(process)
            return
        if next(lines, None) is None:
            process.check()
        elif not may_print_more:
            raise _surplus_error(until)
    # Only now is what it wrote complete, so that a copy of its files is a checkpoint.
    yield reading


def _surplus_error(until: int) -> CommandError:
    return CommandError(
        f"the command printed more than it was asked for: a reading after step {until}, where it had to end. Print "
        "one line for each step after {start} and up to {until}; or JSON lines with the step, and earlier ones do "
        "not matter"
    )


def _number(lines: Iterator[Line | None], step: int) -> Iterator[tuple[int, Reading]]:
    """The readings with their steps, without those that are known already."""
    for line in lines:
        if line is None or (line.step is not None and line.step <= step):
            continue
        if line.step is not None and line.step > step + 1:
            raise CommandError(
                f"the command printed step {line.step} after step {step}: print one line for every step, counted from 1"
            )
        step += 1
        yield step, line.reading
