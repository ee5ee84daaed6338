"""The dashboard marks planned trials with their origin."""

import json

import pytest

import shoestring as ss
from shoestring.executors import Simulated
from shoestring.views.trace import trace_of

pytest.importorskip("jinja2", reason="the dashboard needs Jinja2: pip install 'shoestring[dashboard]'")

from shoestring.web.trial_page import Kept, trial_body
from shoestring.web.trial_table import trials_json


def train(trial):
    for step in range(trial.start + 1, 10):
        yield trial.config["x"] + 1 / step


def study(**options):
    made = ss.Study({"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, **options)
    return made.run(train, executor=Simulated(1), progress=False)


def test_planned_trials_are_marked():
    past = study()
    own = trace_of(study(past=past, guess={"x": 0.25}))
    table = json.loads(trials_json(own, 0))
    assert table["columns"][-1] == "planned from"
    assert [row[-1] for row in table["rows"][:2]] == ["guess", ""]
    assert len({len(table["columns"]), *map(len, table["rows"])}) == 1
    digest = next(row[-1] for row in table["rows"] if row[-1] not in ("", "guess"))
    bodies = [trial_body(own, trial, [], Kept([], []), "") for trial in own.history.trials]
    assert "planned from the guess" in bodies[0]
    assert "planned from" not in bodies[1]
    assert any(f"planned from the past study {digest}" in body for body in bodies)


def test_without_a_plan_there_is_no_such_column():
    assert "planned from" not in json.loads(trials_json(trace_of(study()), 0))["columns"]
