"""Notes, attributes and tags: in the log, of bounded size, in every executor, and no decision depends on them."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.remarks import LONGEST, shorten_json
from shoestring.errors import CorruptLog, ReadingError

SPACE = {"x": (0.0, 1.0)}


def train(trial):
    trial.attributes["start"] = trial.start
    while True:
        trial.note(f"x is {trial.config['x']:.3f}")
        if trial.config["x"] > 0.9:
            trial.attributes["failed"] = True
            raise ValueError("x is too large")
        yield ss.Reading(trial.config["x"], comment="fine", shape=[3, 4], nothing=None, ratio=np.float32(0.5))


OPTIONS = {"budget": "30 steps", "max_resource": 3, "method": "asha"}


@pytest.mark.parametrize(
    "executor",
    [ss.executors.Inline(), ss.executors.Processes(2), ss.executors.Simulated(3), "futures"],
    ids=str,
)
def test_what_an_objective_says_is_in_the_log(executor, tmp_path):
    storage = tmp_path / "s.db"
    if executor == "futures":
        with ThreadPoolExecutor(2) as pool:
            ss.tune(train, SPACE, storage=storage, executor=ss.executors.Futures(pool, 2), **OPTIONS)
    else:
        ss.tune(train, SPACE, storage=storage, executor=executor, **OPTIONS)
    study = ss.Study.load(storage)
    assert {trial.state for trial in study.trials} >= {"failed", "paused"}
    for trial in study.trials:
        assert trial.notes == [f"x is {trial.config['x']:.3f}"], "a note that is repeated is one"
        assert trial.attributes["start"] in range(3)
        assert trial.attributes.get("failed", False) == (trial.state == "failed")
        for reading in trial.readings.values():
            assert reading.metrics == {"comment": "fine", "shape": [3, 4], "nothing": None, "ratio": 0.5}
    assert study.verify()


def test_what_is_said_changes_no_decision():
    def silent(trial):
        while True:
            if trial.config["x"] > 0.9:
                raise ValueError("x is too large")
            yield trial.config["x"]

    said, quiet = (ss.tune(objective, SPACE, seed=3, **OPTIONS) for objective in (train, silent))
    assert [t.config for t in said.trials] == [t.config for t in quiet.trials]
    assert [t.readings.keys() for t in said.trials] == [t.readings.keys() for t in quiet.trials]


def test_a_study_has_a_note_and_tags_and_trials_are_annotated_later(tmp_path):
    study = ss.Study(SPACE, budget="5 evaluations", method="random", storage=tmp_path / "s.db")
    assert (study.note, study.tags) == ("", ())
    study.note, study.tags = "the first try", ["baseline", "baseline", "cpu"]
    grant = study.ask()
    study.annotate(grant, "diverged?", git="1a2b", options={"amp": True})
    study.annotate(0, "diverged?", git="3c4d")
    study.tell(grant, 0.5)
    study.note = "the second text"
    again = ss.Study.load(tmp_path / "s.db")
    assert (again.note, again.tags) == ("the second text", ("baseline", "cpu"))
    assert (again.trials[0].notes, again.trials[0].attributes) == (
        ["diverged?"],
        {"git": "3c4d", "options": {"amp": True}},
    )
    position = again.history.position
    again.note, again.tags = "the second text", ["baseline", "cpu"]
    again.annotate(0, "diverged?", git="3c4d")
    assert again.history.position == position, "what is known is not said again"


def test_tables_and_records_have_what_was_said():
    pytest.importorskip("pandas")
    study = ss.tune(train, SPACE, **OPTIONS)
    study.annotate(0, state="mine")
    frame = study.trials_frame()
    assert frame.notes[0].startswith("x is")
    assert frame["attribute.state"][0] == "mine"
    assert set(study.frame().columns) >= {"comment", "shape", "ratio"}
    from shoestring.views.records import trial_record
    from shoestring.views.selection import select

    assert json.loads(json.dumps(trial_record(study.trials[0])))["attributes"]["state"] == "mine"
    assert select(study.trials, 1.0, "attribute.state=mine") == [study.trials[0]]
    assert {t.state for t in select(study.trials, 1.0, "failed=true")} == {"failed"}
    assert len(select(study.trials, 1.0, "comment=fine", "-ratio")) > 3


@pytest.mark.parametrize(
    ("value", "kept"),
    [(np.arange(2), [0, 1]), ((1, "a"), [1, "a"]), ({"a": math.nan}, {"a": "nan"}), (None, None), (True, True)],
)
def test_values_are_kept_as_json_has_them(value, kept):
    assert shorten_json("it", value) == kept


def test_what_is_too_long_is_cut_or_refused_and_never_fails_a_reading():
    study = ss.Study(SPACE, budget="5 evaluations", method="random")
    grant = study.ask()
    study.annotate(grant, "x" * 3 * LONGEST)
    assert len(study.trials[0].notes[0]) < LONGEST + 100
    with pytest.raises(ReadingError, match="at most 10,000 are kept: use a file"):
        study.annotate(grant, table=list(range(9999)))
    study.tell(grant, ss.Reading(0.5, text="x" * 3 * LONGEST, table=list(range(9999))))
    assert study.trials[0].state == "finished"
    assert all(len(text) < LONGEST + 100 for text in study.trials[0].readings[1].metrics.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda study: study.annotate(7, "x"), "has no trial 7"),
        (lambda study: study.annotate(0, model=object()), "the attribute 'model' is"),
        (lambda study: study.annotate(0, 7), "the note is 7"),
        (lambda study: setattr(study, "note", None), "the note is None"),
        (lambda study: setattr(study, "tags", "baseline"), "must be a list of texts"),
        (lambda study: setattr(study, "tags", map(str, range(51))), "at most 50"),
        (lambda study: study._journal.log.append(study._journal.study, [ss.core.events.Noted(0.0, 9)], 1), None),
    ],
)
def test_what_cannot_be_said_is_refused(change, words):
    study = ss.Study(SPACE, budget="5 evaluations", method="random")
    study.add({"x": 0.5}, 1.0)
    if words is None:
        with pytest.raises(CorruptLog, match="there is no trial 9"):
            study.history.check(ss.core.events.Noted(0.0, 9))
        return
    with pytest.raises(ReadingError, match=words):
        change(study)


def test_what_a_trial_shows_outlives_its_checkpoints(tmp_path):
    def paint(trial):
        (trial.show / "plot.svg").write_text("<svg/>")
        (trial.directory / "weights").write_text("heavy")
        return trial.config["x"]

    study = ss.tune(paint, SPACE, budget="5 evaluations", method="random", storage=tmp_path / "s.db", keep=1)
    from shoestring.objectives.trial_files import list_files_to_show

    for trial in study.trials:
        assert [file.read_text() for file in list_files_to_show(study.files, trial)] == ["<svg/>"]
    weights = {path.relative_to(study.files).parts[0] for path in study.files.rglob("weights")}
    assert weights == {f"trial-{study.best.trial}"}
