"""What a user tells of a grant, in its several forms, as readings by step."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index

from shoestring.errors import ReadingError
from shoestring.events import Reading
from shoestring.granting import Grant
from shoestring.history import TrialRecord


def readings_by_step(grant: Grant, readings: object) -> Mapping[int, object]:
    """A number is the reading at ``until``, a list has one a step, a mapping says which step each is of."""
    if isinstance(readings, Mapping):
        by_step = dict(sorted((_whole(step), reading) for step, reading in readings.items()))
    else:
        several = _listed(readings)
        by_step = {grant.until: readings} if several is None else dict(enumerate(several, grant.start + 1))
    for step in by_step:
        if not grant.start < step <= grant.until:
            raise ReadingError(
                f"step {step!r} is outside of the grant, which runs from {grant.start + 1} to {grant.until}"
            )
    return by_step


def _whole(step: object) -> int:
    try:
        return index(step)  # type: ignore[arg-type]
    except TypeError:
        raise ReadingError(f"{step!r} is no step; a step is a whole number") from None


def _listed(readings: object) -> list[object] | None:
    """The parts of a list, a tuple or an array; None if this is a single reading."""
    if isinstance(readings, (str, bytes, Reading)):
        return None
    try:
        return list(readings)  # type: ignore[call-overload,no-any-return]
    except TypeError:
        return None


def refuse_other_value(trial: TrialRecord, step: int, given: object) -> None:
    known, value = trial.readings[step].value, given.value if isinstance(given, Reading) else given
    if value != known:
        raise ReadingError(f"step {step} of trial {trial.index} was told as {known!r} and is now told as {value!r}")
