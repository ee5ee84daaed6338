"""Remarks of people and objectives about a study and its trials: notes, attributes and tags, all of bounded size.

They are kept in the log and shown with the trials. No method reads them, so they change no decision.
"""

from __future__ import annotations

import json
import math
from collections import UserDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shoestring.core.events import Noted
from shoestring.errors import ReadingError, brief

if TYPE_CHECKING:
    from shoestring.core.history import History

# The longest text that is kept whole, and the longest JSON of a value, in characters.
LONGEST = 10_000
_LONGEST_NAME = 100
_MOST_TAGS = 50
# The tag of a study that lists do not show.
ARCHIVED = "archived"


class Remarks(NamedTuple):
    """The remarks of a trial about itself in one step."""

    notes: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = {}


class Attributes(UserDict[str, Any]):
    """Values by name that are checked when they are set; ``changed`` has those that are not in the log yet."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.changed: dict[str, Any] = {}
        super().__init__(given)

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(_name(name), shorten_json(f"the attribute {name!r}", value, refuse=True))
        self.changed[name] = self.data[name]

    def __delitem__(self, name: str) -> None:
        raise ReadingError("an attribute cannot be deleted: the log keeps it; set it to None")

    def take_changed(self) -> dict[str, Any]:
        changed, self.changed = self.changed, {}
        return changed


def shorten_text(text: str) -> str:
    """A text, or its beginning if it is too long to be kept.

    >>> shorten_text("diverged"), len(shorten_text("x" * 50_000)) < 10_100
    ('diverged', True)
    """
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… (cut from {len(text):,} characters)"


def shorten_json(what: str, given: Any, refuse: bool = False) -> Any:
    """A value as JSON holds it. One that is too long becomes the beginning of its text, unless it is refused."""
    try:
        plain = _plain(given)
        text = json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ReadingError(
            f"{what} is {brief(given)}; it must be a number, a text, or a list or mapping of these"
        ) from None
    if len(text) <= LONGEST:
        return plain
    if refuse:
        raise ReadingError(f"{what} has {len(text):,} characters as JSON; at most {LONGEST:,} are kept: use a file")
    return shorten_text(text)


def _plain(value: Any) -> Any:
    """Convert arrays to lists and NumPy numbers to numbers; numbers that are not finite become texts."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _name(given: object) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= _LONGEST_NAME:
        raise ReadingError(
            f"{brief(given)} cannot be the name of an attribute; it is a text of 1 to {_LONGEST_NAME} characters"
        )
    return given


def check_note(given: object) -> str:
    if not isinstance(given, str):
        raise ReadingError(f"the note is {brief(given)}; it must be a text")
    return shorten_text(given)


def check_tags(given: object) -> tuple[str, ...]:
    """Tags in the order given, each once."""
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else None
    if listed is None or not all(isinstance(tag, str) and 0 < len(tag) <= _LONGEST_NAME for tag in listed):
        raise ReadingError(f"tags is {brief(given)}; it must be a list of texts of 1 to {_LONGEST_NAME} characters")
    if len(listed) > _MOST_TAGS:
        raise ReadingError(f"there are {len(listed)} tags; a study has at most {_MOST_TAGS}")
    return tuple(dict.fromkeys(listed))


def note_on_trial(history: History, trial: int, remarks: Remarks) -> Noted | None:
    """The event for what is said of a trial; None if all of it is known, as after a step that was run again."""
    record = history.trials[trial]
    new = [note for note in map(check_note, remarks.notes) if note not in record.notes]
    attributes = {
        name: value
        for name, value in remarks.attributes.items()
        if name not in record.attributes or record.attributes[name] != value
    }
    if not new and not attributes:
        return None
    return Noted(history.now, trial, tuple(new), attributes or None, None, history.drift)


def note_on_study(history: History, note: str | None = None, tags: tuple[str, ...] | None = None) -> Noted | None:
    """The event for the note or the tags of a study; None if nothing changes."""
    if note is not None and note != history.note:
        return Noted(history.now, None, (note,), None, None, history.drift)
    if tags is not None and tags != history.tags:
        return Noted(history.now, None, (), None, tags, history.drift)
    return None
