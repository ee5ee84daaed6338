"""Reports of the end of a trial, and exceptions in one line."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

from shoestring.errors import CommandError
from shoestring.objectives.job import Job, Report

# What calls an objective is never the place of an error in it.
_CALLERS = str(Path(__file__).parent)
_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = (*map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")), _PACKAGE)


def end_report(job: Job, step: int) -> Report:
    """The report of a trial that has no more steps: a normal end, unless it never gave a reading."""
    if step > 1:
        return Report(job.trial, step, "finished")
    return Report(job.trial, step, "failed", message="it ended without a reading")


def failure_report(job: Job, step: int, error: BaseException, prefix: str = "") -> Report:
    return Report(job.trial, step, "failed", message=prefix + error_line(error) + _hint(job, error))


def _hint(job: Job, error: BaseException) -> str:
    """Name the parameters, if the objective looked up another name or took the trial for one of them."""
    if isinstance(error, AttributeError) and isinstance(error.obj, dict) and error.name in job.config:
        return f"; write trial.config[{error.name!r}]"
    looked_up = isinstance(error, KeyError) and error.args and error.args[0] not in job.config
    if looked_up or (isinstance(error, TypeError) and "'Trial'" in str(error)):
        return f"; trial.config has {', '.join(map(repr, job.config))}"
    return ""


def error_line(error: BaseException) -> str:
    """An exception in one line, with the place in the user's code that raised it."""
    try:
        message = str(error)[:1000]
    except Exception:
        message = "its message cannot be shown"
    if isinstance(error, CommandError):
        return message  # it was not raised by code of the user
    file, line = _place(error)
    if isinstance(error, SyntaxError):
        file, line, message = error.filename or "", error.lineno, error.msg
    return f"{type(error).__name__}: {message}" + (f" ({Path(file).name}:{line})" if file else "")


def _place(error: BaseException) -> tuple[str, int | None]:
    """The file and line of the user that led to an error: not where a library raised it, if that can be told apart."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_CALLERS)]
    own = [frame for frame in frames if not frame.filename.startswith((*_LIBRARIES, "<frozen "))]
    found = own or frames
    return (found[-1].filename, found[-1].lineno) if found else ("", None)
