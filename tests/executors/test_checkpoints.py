"""The files of a trial follow the log."""

import os

import shoestring as ss
from shoestring.executors import Inline
from shoestring.executors.checkpoints import TrialFiles

SPACE = {"x": (0.0, 1.0)}


def test_files_follow_the_log(tmp_path):
    files = TrialFiles(str(tmp_path / "trial-0"))
    (files.work() / "w").write_text("one")
    files.snapshot(1)
    files.snapshot(2)  # nothing changed: the state is still that of step 1
    assert files.newest(2) == 1
    (files.work() / "w").write_text("three")
    files.snapshot(3)
    assert (files.newest(2), files.newest(3)) == (1, 3), "the step before is kept until the next is logged"
    files.restore(1)
    assert (files.work() / "w").read_text() == "one"
    files.restore(0)
    assert not list(files.work().iterdir())


def test_links_and_pipes_among_the_files_of_a_trial(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "large").write_text("not to be copied")

    def train(trial):
        for step in range(trial.start + 1, 10):
            for name, target in (("gone", tmp_path / "missing"), ("data", data)):
                if not (trial.directory / name).is_symlink():
                    (trial.directory / name).symlink_to(target)
            if not (trial.directory / "pipe").exists():
                os.mkfifo(trial.directory / "pipe")
            (trial.directory / "step").write_text(str(step))
            yield trial.config["x"] + 1 / step

    study = ss.Study(SPACE, budget="60 steps", method="asha", max_resource=9, storage=tmp_path / "a.db")
    study.run(train, executor=Inline(alive=1))
    assert study.spent["steps"] == len(study.history.readings) == 60
    assert not [p for p in (tmp_path / "a.db.files").rglob("large") if not p.parent.is_symlink()]


def test_files_left_by_another_study_of_the_same_name_are_not_taken_up(tmp_path):
    old = tmp_path / "a.db.files" / "study" / "trial-0"
    for folder in ("work", "step-3"):
        (old / folder).mkdir(parents=True)
        (old / folder / "state").write_text("of another study")

    def train(trial):
        assert not trial.start
        assert not list(trial.directory.iterdir())
        yield trial.config["x"]

    study = ss.Study(SPACE, budget="1 evaluations", method="random", max_resource=1, storage=tmp_path / "a.db")
    assert study.run(train).trials[0].state == "finished"
