"""Studies in notebooks and in the interactive interpreter."""

import pytest

import shoestring as ss
from shoestring.display.notebook import frame


def train(trial):
    for step in range(1, 10):
        if trial.config["x"] > 0.9:
            raise ValueError("<too large>")
        yield ss.Reading(trial.config["x"] + 1 / step, cost=0.5)


@pytest.fixture(scope="module")
def study():
    return ss.tune(train, {"x": (0.0, 1.0), "value": ["<b>", "c"]}, budget="60 steps", max_resource=9, method="asha")


def test_one_line(study):
    assert repr(study).startswith("<study 'study': asha, 60 of 60 steps spent, ")
    assert f"best {study.best.value:.4g} at step" in repr(study)
    assert "no reading yet" in repr(ss.Study({"x": (0.0, 1.0)}, budget="9 steps"))
    trial = study.trials[study.best.trial]
    assert repr(trial).startswith(f"<trial {trial.index}, {trial.state} after {trial.step} steps, ")
    failed = next(trial for trial in study.trials if trial.state == "failed")
    assert "<too large>" in repr(failed)
    assert repr(study.budget) == "Budget(steps=60)"


def test_tables_are_escaped(study):
    trial = next(trial for trial in study.trials if trial.config["value"] == "<b>")
    failed = next(trial for trial in study.trials if trial.state == "failed")
    for shown in (trial, failed, study.best, study.budget):
        html = shown._repr_html_()
        assert html.startswith("<table>")
        assert "<b>" not in html.replace("<br>", "")
        assert "<too" not in html
    assert "config.value" in trial._repr_html_()
    assert "<caption>Budget</caption><tr><th>steps</th><td>60</td></tr>" in study.budget._repr_html_()


def test_a_frame_of_the_progress(study):
    html = frame(study._journal, "auto picked <x>", 3.0)
    assert "60 of 60 steps spent" in html
    assert "auto picked &lt;x&gt;" in html
    assert "best: " in html


def test_one_row_for_each_trial(study):
    rows = study.trials_frame()
    assert len(rows) == len(study.trials)
    assert {"state", "value", "steps", "seconds", "cost", "reason", "message", "x", "config.value"} <= set(rows.columns)
    best = rows.loc[study.best.trial]
    assert (best["value"], best["step"]) == (study.best.value, study.best.step)
    assert best["cost"] == 0.5 * best["steps"]
    assert rows["steps"].sum() + (rows["state"] == "failed").sum() == 60
    assert rows[rows["state"] == "failed"]["message"].str.contains("too large").all()
