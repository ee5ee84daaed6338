"""Events are written as stable JSON and read back; what cannot be read is refused by the number of its row."""

import json

import pytest

from shoestring.core.events import FORMAT, Granted, Reported, from_json, to_json
from shoestring.errors import CorruptLog, NewerLog, OlderLog
from shoestring.testing.logs import EVERY_KIND, OPENED


@pytest.mark.parametrize("event", [OPENED, *EVERY_KIND], ids=lambda event: event.kind)
def test_every_kind_survives(event):
    written = to_json(event)
    again = from_json(event.kind, event.at, written, 0)
    assert type(again) is type(event)
    assert to_json(again) == written


def test_what_has_its_default_is_left_out():
    assert json.loads(to_json(Reported(1.0, 0, 2, 0.5))) == {"v": FORMAT, "trial": 0, "step": 2, "value": 0.5}


def test_values_that_json_does_not_have_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        to_json(Granted(0.0, 0, 0, 0, 0, 0, 1, "r", "w", config={"x": float("nan")}))


@pytest.mark.parametrize(
    ("kind", "body", "error", "words"),
    [
        ("reported", "not json", CorruptLog, "event 7 of the log is unreadable"),
        ("reported", "[1]", CorruptLog, "event 7 of the log is unreadable"),
        ("reported", "{}", CorruptLog, "event 7 of the log is unreadable"),
        ("reported", {"v": FORMAT + 1}, NewerLog, "upgrade shoestring"),
        ("reported", {"v": "two"}, NewerLog, "format 'two'"),
        ("reported", {"v": FORMAT - 1}, OlderLog, "start a new one"),
        ("reported", {"v": FORMAT}, CorruptLog, "not a valid 'reported' event"),
        ("reported", {"v": FORMAT, "colour": "red"}, CorruptLog, "not a valid 'reported' event"),
        ("invented", {"v": FORMAT}, CorruptLog, "not a valid 'invented' event"),
    ],
)
def test_what_cannot_be_read(kind, body, error, words):
    with pytest.raises(error, match=words):
        from_json(kind, 0.0, body if isinstance(body, str) else json.dumps(body), 7)
