"""The records of the plots of several objectives, against the study's own front and volume."""

import pytest

import shoestring as ss
from shoestring import plots
from shoestring.errors import MethodError
from shoestring.web.report import report

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def study_of(count, budget="60 steps", **options):
    names = ["error", "speed", "size"][:count]

    def train(trial):
        x, y = trial.config["x"], trial.config["y"]
        for step in range(trial.start + 1, 4):
            yield dict(zip(names, (x + 1 / step, y - x, x * y), strict=False))

    modes = dict(zip(names, ("min", "max", "min"), strict=False))
    return ss.tune(train, SPACE, budget=budget, max_resource=3, method="asha", objectives=modes, **options)


@pytest.mark.parametrize("count", [2, 3])
def test_the_front_is_that_of_the_study_and_every_pair_has_a_panel(count):
    study = study_of(count, constraints={"error": "<= 1.5"})
    record = plots.front.data(study)
    assert [(record.trials[i], record.steps[i]) for i in record.front] == [(m.trial, m.step) for m in study.front]
    assert [record.values[i] for i in record.front] == [tuple(m.values.values()) for m in study.front]
    assert len(record.values) == len(study.history.readings)
    assert 0 < sum(record.feasible) < len(record.feasible)
    panels = record.picture().panels
    assert len(panels) == count * (count - 1) / 2
    assert {(panel.x, panel.y) for panel in panels} >= {("error", "speed")}
    assert plots.front(study, backend="svg").startswith("<svg")


def test_the_volume_grows_to_that_of_the_study():
    study = study_of(2)
    record = plots.volume.data(study, reference={"error": 2.0, "speed": -1.0})
    assert list(record.volumes) == sorted(record.volumes)
    assert record.volumes[-1] == pytest.approx(study.hypervolume({"error": 2.0, "speed": -1.0}))
    assert record.spent[-1] == 60
    assert plots.volume.data(study).volumes[-1] == pytest.approx(study.hypervolume())
    with pytest.raises(MethodError, match="a value for each objective"):
        plots.volume.data(study, reference={"error": 1})


def test_a_study_with_one_objective_says_where_to_look():
    study = study_of(1)
    assert "has one objective" in plots.front.data(study).picture().note
    assert "has one objective" in plots.volume.data(study).picture().note


def test_without_a_feasible_reading_the_picture_says_so():
    study = ss.Study(SPACE, budget="9 evaluations", method="random", objectives={"a": "min", "b": "min"},
                     constraints={"a": "< 0"})  # fmt: skip
    assert plots.volume.data(study).picture().note
    study.add({"x": 0.1, "y": 0.1}, {"a": 1, "b": 1})
    assert "fulfils" in plots.volume.data(study).picture().note
    assert plots.front(study, backend="svg").startswith("<svg")


def test_the_report_shows_the_front():
    pytest.importorskip("jinja2")
    text = report(study_of(2))
    assert "hypervolume against the budget" in text
    assert "balances a front of" in text
