"""The trace: what was spent on what, from the events alone."""

import pytest

import shoestring as ss
from shoestring.views.trace import Trace, trace_of
from tests.plots.studies import played, told


@pytest.mark.parametrize("method", ["hyperband", "asha", "forecast"])
def test_charges_add_up_to_the_ledger(method):
    study = played(method, "120 steps, 10000 cost")
    trace = trace_of(study)
    for unit, spent in study.spent.items():
        assert sum(trace.charge_of(span, unit) for span in trace.spans) == pytest.approx(spent)
        assert trace.amounts_spent(unit)[-1] == pytest.approx(spent)


def test_continuing_a_trace_equals_starting_over():
    events = played().events()
    whole, parts = Trace("s", events), Trace("s")
    for event in events:
        parts.extend([event])
    assert parts.spans == whole.spans
    assert parts.balances == whole.balances


def test_a_trial_that_runs_has_an_open_span_with_its_seconds():
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=3, method="random")
    study.ask()
    (span,) = trace_of(study).spans
    assert (span.how, span.goal, span.step) == ("running", 3, 0)


def test_a_trial_that_was_taken_over_has_a_span_on_each_worker(monkeypatch):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=3, method="random")
    grant = study.ask()
    study.tell(grant, {1: 0.5})
    study._journal.retire()
    again = study.ask()
    study.tell(again, {2: 0.4, 3: 0.3})
    first, second = trace_of(study).spans
    assert (first.trial, first.step, second.start, second.step) == (0, 1, 1, 3)
    assert first.worker != second.worker
    assert first.how == "running"
    assert first.charged[0] + second.charged[0] == study.spent.steps == 3


def test_lack_says_why_there_is_nothing_to_draw():
    assert "no trial has started" in trace_of(told()).why_empty()
    assert "all 2 trials failed" in trace_of(told(ValueError("boom"), ValueError("bang"))).why_empty()
    assert "boom" in trace_of(told(ValueError("boom"))).why_empty()
    assert trace_of(told(1.0)).why_empty() == ""


@pytest.mark.parametrize("source", ["study.db", 5])
def test_what_is_no_study_cannot_be_drawn(source):
    with pytest.raises(ss.errors.MethodError, match="is not a study; give"):
        trace_of(source)
