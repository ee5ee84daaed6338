"""The records of the plots of several objectives, against the study's own front and volume."""

import pytest

import shoestring as ss
from shoestring import plots
from shoestring.errors import MethodError
from shoestring.views.progress import best_so_far
from shoestring.views.summaries import leaders, turning_points
from shoestring.views.tables import leader_table
from shoestring.views.trace import trace_of
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
    for name in ("error", "speed"):
        assert f"Learning curves: {name}" in text
        assert f"Importance: {name}" in text
        assert f"coloured by {name}" in text


def test_curves_and_history_are_of_the_chosen_objective():
    study = study_of(3, constraints={"error": "<= 1.5"})
    record = plots.curves.data(study, objective="speed")
    readings = {trial.index: [one.metrics["speed"] for one in trial.readings.values()] for trial in study.trials}
    assert {curve.trial: list(curve.values) for curve in record.curves} == readings
    assert record.picture().panels[0].y == "speed"
    feasible = [
        (trial.readings[step].metrics["speed"], trial.index)
        for trial in study.trials
        for step in trial.readings
        if trial.is_feasible(step)
    ]
    assert record.best == max(feasible)[1]
    course = plots.history.data(study, objective="speed")
    assert course.best[-1] == max(value for values in readings.values() for value in values)
    first = plots.curves.data(study)
    assert first.objective == "error"
    assert first.curves == plots.curves.data(study, objective="error").curves
    assert study.trials[0].value == study.trials[0].metrics["error"], "the study itself is as it was"


def test_importance_is_of_the_chosen_objective():
    def train(trial):
        return {"error": trial.config["x"], "speed": trial.config["y"]}

    study = ss.tune(train, SPACE, budget="30 evaluations", method="random", objectives={"error": "min", "speed": "max"})
    for name, parameter in (("error", "x"), ("speed", "y")):
        record = plots.importance.data(study, objective=name)
        assert record.parameters[0] == parameter
        assert record.shares[0] > 0.8
        assert f"for {name}" in record.picture().title
        assert plots.contour.data(study, objective=name).parameters[0] == parameter
        for one in plots.slices.data(study, objective=name).slices:
            assert list(one.values) == [study.trials[index].metrics[name] for index in one.trials]


@pytest.mark.parametrize("step", ["best", "final", 2])
def test_parallel_coordinates_have_an_axis_for_each_objective(step):
    study = study_of(3)
    record = plots.parallel.data(study, step=step, objective="speed")
    assert record.axes == ("x", "y", "error", "speed", "size")
    assert list(record.values) == sorted(record.values, reverse=True), "coloured by the chosen one, the best first"
    best = study.trials[record.trials[0]]
    found = max(best.readings.values(), key=lambda one: one.metrics["speed"]) if step == "best" else best.readings[
        min(step if isinstance(step, int) else 3, best.step)
    ]  # fmt: skip
    assert record.values[0] == found.metrics["speed"]
    sizes = [line[-1] for line in record.lines]
    assert (min(sizes), max(sizes)) == (0.0, 1.0)
    by_size = sorted(record.trials, key=lambda index: study.trials[index].metrics["size"])
    assert record.lines[record.trials.index(by_size[0])][-1] == 0.0


def test_an_objective_that_the_study_does_not_have_is_refused():
    with pytest.raises(MethodError, match="'size' is not an objective of this study; they are error, speed"):
        plots.curves.data(study_of(2), objective="size")
    assert plots.curves.data(study_of(1), objective="error").objective == "error"


def test_what_violates_a_constraint_is_never_the_best_so_far():
    values = [(5.0, 1.0), (1.0, 9.0), (3.0, 1.0), (2.0, 9.0), (4.0, 1.0)]
    study = ss.Study({"x": (0.0, 1.0)}, budget="10 evaluations", method="random", constraints={"memory": "<= 8"})
    for value, memory in [(0.0, 9.0), *values]:
        study.tell(study.ask(), ss.Reading(value, memory=memory))
    record = plots.history.data(study)
    assert record.best == (float("inf"), 5.0, 5.0, 3.0, 3.0, 3.0)
    assert record.violating == (0, 2, 4)
    labels = [mark.label for mark in record.picture().panels[0].marks]
    assert labels == ["violates a constraint", "reading", "best so far"]
    trace = trace_of(study)
    assert best_so_far(study.history) == [5.0, 5.0, 3.0, 3.0, 3.0]
    assert [trial.index for trial in leaders(trace)] == [3, 5, 1]
    assert [point.outcome for point in turning_points(trace)][1:3] == ["new best: 5", "new best: 3"]
    assert plots.regret.data([study]).optimum == 3.0


def test_with_several_objectives_the_best_are_the_front_and_turning_points_join_it():
    study = study_of(2)
    trace = trace_of(study)
    table = leader_table(trace, most=100)
    assert list(table.heads[:2]) == ["error", "speed"]
    assert [row[3] for row in table.rows] == [member.trial for member in study.front]
    assert all(point.outcome.startswith("joined the front: error=") for point in turning_points(trace)[1:-1])


def test_the_report_has_the_goals_the_note_the_tags_and_the_remarks():
    study = study_of(2, constraints={"error": "<= 1.5"})
    study.note, study.tags = "before <the> new data", ["baseline"]
    study.annotate(2, "looks odd", git="1a2b3c")
    page = report(study)
    assert "smallest error, largest speed where error &lt;= 1.5" in page
    for words in ("before &lt;the&gt; new data", "Tags: baseline", "looks odd", "git=1a2b3c"):
        assert words in page
