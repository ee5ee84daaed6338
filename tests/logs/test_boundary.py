"""A storage can hold anything: reading it gives a study, or an error of ours that says what is wrong."""

import json
from contextlib import suppress

from hypothesis import HealthCheck, given, settings, strategies as st

from shoestring import Study
from shoestring.cli.status import summary
from shoestring.core.checksums import events_of, first_link, link_event, rows_of
from shoestring.errors import ShoestringError
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.testing import Playground
from shoestring.views.formatting import settings as shown
from shoestring.views.records import trial_record


class Stored(MemoryLog):
    """A log whose rows are given as they might be stored, with checksums that match."""

    def __init__(self, rows):
        super().__init__()
        self._rows, link = [], first_link("study")
        for seq, (kind, at, body) in enumerate(rows):
            link = link_event(link, seq, kind, at, body)
            self._rows.append((seq, kind, at, body, link))

    def studies(self):
        return ["study"]

    def find(self, name):
        return 0

    def read(self, study, start):
        return list(events_of(self._rows[start:], start, self._link(start)))

    def append(self, study, events, expect):
        self._rows += rows_of(events, expect, self._link(expect))

    def _link(self, position):
        return self._rows[position - 1][4] if position else first_link("study")


def recorded(method):
    study = Study(Playground().space, budget="40 steps", method=method, max_resource=9)
    study.run(Playground(), executor=Simulated(3))
    return [(row.kind, row.at, row.body) for row in rows_of(study.events(), 0, "")]


RECORDED = {method: recorded(method) for method in ("asha", "tpe", "pboss")}
BODIES = {row[2] for rows in RECORDED.values() for row in rows}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([10**400, 2**63]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    """The paths of all values inside a JSON value."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    parts = dict(value) if isinstance(value, dict) else list(value)
    parts[path[0]] = replaced(parts[path[0]], path[1:], new)
    return parts


def removed(value, path):
    if not path:
        return {}
    if len(path) == 1:
        return {k: v for k, v in value.items() if k != path[0]} if isinstance(value, dict) else value[: path[0]]
    return replaced(value, path[:1], removed(value[path[0]], path[1:]))


@st.composite
def tampered(draw):
    """A recorded log with one to three changes, each somewhere in a row."""
    rows = list(RECORDED[draw(st.sampled_from(sorted(RECORDED)))])
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.sampled_from([0, *range(len(rows))]))
        kind, at, body = rows[index]
        what = draw(st.sampled_from(["value", "value", "value", "remove", "kind", "at", "text", "row", "twice"]))
        if what in ("value", "remove"):
            whole = json.loads(body) if body in BODIES else {}
            path = draw(st.sampled_from(list(places(whole))))
            changed = removed(whole, path) if what == "remove" else replaced(whole, path, draw(JSON))
            body = json.dumps(changed)
        elif what == "kind":
            kind = draw(st.sampled_from(["opened", "budgeted", "granted", "reported", "closed", "adopted", "", 5]))
        elif what == "at":
            at = draw(st.floats() | st.integers() | st.text(max_size=3))
        elif what == "text":
            body = draw(st.text(max_size=20) | st.binary(max_size=20) | st.integers())
        rows[index] = (kind, at, body)
        if what == "row" and len(rows) > 1:
            del rows[index]
        elif what == "twice":
            rows.insert(index, rows[index])
    return rows


def use(study):
    """All that a command does with a study that it only looks at, and the next decision."""
    summary(study)
    for trial in study.trials:
        trial_record(trial)
        shown(trial.config)
    study.rows()
    study.verify()
    return study.ask()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tampered())
def test_no_error_but_ours(rows):
    with suppress(ShoestringError):
        use(Study.load(Stored(rows)))


def test_untampered_rows_are_a_study():
    for rows in RECORDED.values():
        assert len(Study.load(Stored(rows)).trials) > 3
