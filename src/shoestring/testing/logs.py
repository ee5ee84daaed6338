"""What every log must hold to."""

from __future__ import annotations

from collections.abc import Callable

from shoestring.core.event_log import EventLog
from shoestring.core.events import Budgeted, Opened, Reported
from shoestring.errors import Conflict


def check_log(open_again: Callable[[], EventLog]) -> None:
    """``open_again`` opens the same, at first empty, storage each time it is called."""
    log = open_again()
    opened = Opened(0.0, {"hyperparameters": []}, {"class": "x"}, {"steps": 3}, "min", None, 0)
    assert log.studies() == []
    assert log.find("a") is None
    a, b = log.create("a", opened), log.create("b", opened)
    assert log.studies() == ["a", "b"]
    assert (log.find("a"), log.find("b")) == (a, b)
    _refused(lambda: log.create("a", opened), "a second study of the same name")

    reported = Reported(1.5, 0, 1, 0.25, cost=2.0, metrics={"accuracy": 0.5, "loss": float("inf")})
    log.append(a, [reported], 1)
    _refused(lambda: log.append(a, [reported], 1), "a position that is taken")
    _refused(lambda: log.append(a, [Budgeted(3.0, {"steps": 9}), reported], 1), "several events at a taken position")
    log.append(a, [Budgeted(2.0, {"steps": 5}), reported], 2)
    expected = [opened, reported, Budgeted(2.0, {"steps": 5}), reported]
    for reader in (log, open_again()):
        assert reader.read(a, 0) == expected, "what was read is not what was appended"
        assert reader.read(a, 3) == expected[3:]
        assert reader.read(a, 4) == []
        assert reader.read(b, 0) == [opened], "studies leak into each other"


def _refused(action: Callable[[], object], what: str) -> None:
    try:
        action()
    except Conflict:
        return
    raise AssertionError(f"the log accepted {what}")
