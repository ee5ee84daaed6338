"""Errors, with messages that say what to do.

::

    ShoestringError
    ├── SpaceError         the search space is empty or malformed
    ├── BudgetError        the budget is malformed, or too small to buy anything
    ├── MethodError        an unknown method, or one that lacks something it needs
    ├── ObjectiveError     the objective cannot be run in this form
    ├── CommandError       a command ended badly, or without a value
    ├── ReadingError       a reading that cannot be taken
    ├── StudyMismatch      a stored study differs from the one described
    ├── StudyNotFound      the storage has no such study
    ├── EverythingFailed   no trial ever gave a usable reading
    └── StorageError       the storage cannot be used
        ├── Conflict       another process appended first (handled inside)
        ├── CorruptLog     the log says something that cannot have happened
        ├── NewerLog       the log was written by a newer shoestring
        └── OlderLog       the log was written by a shoestring too old to continue it
"""


class ShoestringError(Exception):
    """The base of every error that shoestring raises on purpose."""


class SpaceError(ShoestringError, ValueError):
    """The search space is empty or malformed."""


class BudgetError(ShoestringError, ValueError):
    """The budget is malformed, or too small to buy anything."""


class MethodError(ShoestringError, ValueError):
    """The method is unknown, or lacks something it needs."""


class ObjectiveError(ShoestringError, TypeError):
    """The objective cannot be run in this form."""


class CommandError(ShoestringError, RuntimeError):
    """A command ended badly, or without a value."""


class ReadingError(ShoestringError, ValueError):
    """A reading cannot be used in this form."""


class StudyMismatch(ShoestringError, ValueError):
    """A stored study differs from the one described."""


def brief(given: object, most: int = 80) -> str:
    """A value for a message: short, on one line, and never an error of its own, as a number of 5,000 digits would be.

    >>> brief("x" * 100, 10), brief(10**5000)
    ("'xxxxxx...", 'an int')
    """
    try:
        text = " ".join(repr(given).split())
    except Exception:
        kind = type(given).__name__
        return f"a{'n' if kind[0] in 'aeiou' else ''} {kind}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


class StudyNotFound(ShoestringError, LookupError):
    """The storage has no such study."""


class EverythingFailed(ShoestringError, RuntimeError):
    """No trial gave a usable reading, ever or for many trials in a row; the message shows the first failure."""


class StorageError(ShoestringError):
    """The storage cannot be used."""


class Conflict(StorageError):
    """Another process appended at the expected position first."""


class CorruptLog(StorageError):
    """The log says something that cannot have happened; ``event`` is the first such event, where it is known."""

    def __init__(self, message: str, event: int | None = None) -> None:
        super().__init__(message)
        self.event = event


class NewerLog(StorageError):
    """The log was written by a newer version of shoestring."""


class OlderLog(StorageError):
    """The log was written by a version of shoestring whose studies this one cannot continue."""
