"""``shoestring worker``: several processes that join a study, on SQLite and on PostgreSQL."""

import json
import signal
import subprocess
import sys
import time

import pytest

import shoestring as ss
from shoestring.core.events import Adopted, Granted, Reported
from shoestring.logs import open_log
from shoestring.testing.laws import check_budget_law

TRAIN = """
import time
from pathlib import Path

def train(trial):
    for step in range(trial.start + 1, 10):
        while Path("hold").exists() and not Path("go").exists():
            Path(f"held-{trial.arm}").touch()
            time.sleep(0.01)
        (trial.directory / "step").write_text(str(step))
        yield trial.config["x"] + 1 / step
"""


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    return request.getfixturevalue("database") if request.param == "postgres" else "study.db"


def study_of(storage, **options):
    return ss.Study(
        {"x": (0.0, 1.0)}, budget="90 steps", method="asha", max_resource=9, storage=storage, name="s", **options
    )


def start(storage, *options):
    command = [sys.executable, "-m", "shoestring", "worker", storage, "s", "train.py:train", "--quiet", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(condition):
    while not condition():
        time.sleep(0.02)


def test_workers_share_one_budget(storage, tmp_path):
    workers = [start(storage, "--wait", "60"), start(storage, "--wait", "60", "--slots", "2")]
    study = study_of(storage)
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        assert "s is finished: 90 steps spent" in out
    events = study.events()
    check_budget_law(events)
    readings = [(event.trial, event.step) for event in events if isinstance(event, Reported)]
    assert len(readings) == len(set(readings)) == 90
    assert study.verify().ok


def test_the_trials_of_a_killed_worker_continue_from_their_checkpoints(storage, tmp_path):
    (tmp_path / "hold").touch()
    study = study_of(storage)
    first = start(storage)
    until(lambda: list(tmp_path.glob("held-*")))
    first.kill()
    first.communicate()
    (tmp_path / "go").touch()
    out, err = start(storage).communicate(timeout=120)
    assert "90 steps spent" in out, err
    adopted = [event for event in study.events() if isinstance(event, Adopted)]
    assert len(adopted) == 1
    assert "has died" in adopted[0].message
    assert study.verify().ok


def test_a_worker_that_is_terminated_lets_go_of_its_trials(storage, tmp_path):
    (tmp_path / "hold").touch()
    study = study_of(storage)
    worker = start(storage)
    until(lambda: list(tmp_path.glob("held-*")))
    worker.send_signal(signal.SIGTERM)
    _, err = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert "Continue with: shoestring worker" in err
    assert [event.kind for event in study.events()[-2:]] == ["granted", "released"]


def test_status_shows_who_works(storage, tmp_path):
    (tmp_path / "hold").touch()
    study = study_of(storage)
    workers = [start(storage), start(storage)]
    until(lambda: len(list(tmp_path.glob("held-*"))) == 2)
    status = [sys.executable, "-m", "shoestring", "status", storage]
    shown = subprocess.run(status, capture_output=True, text=True, check=True).stdout
    found = json.loads(subprocess.run([*status, "--json"], capture_output=True, text=True, check=True).stdout)
    (tmp_path / "go").touch()
    for worker in workers:
        worker.communicate(timeout=120)
    assert shown.count("  worker ") == shown.count("(alive, last heartbeat") == 2
    assert shown.count("  running ") == 2
    assert sorted(trial for worker in found["workers"] for trial in worker["trials"]) == [0, 1]
    assert {event.worker for event in study.events() if isinstance(event, Granted)} == {
        w["name"] for w in found["workers"]
    }


def test_a_missing_study_is_an_error(storage):
    open_log(storage)
    out, err = start(storage).communicate(timeout=60)
    assert "there is no stud" in err or "there is no storage" in err
    assert not out


def test_a_stopped_study_is_left_alone(storage):
    study = study_of(storage)
    study.stop("enough")
    _, err = start(storage).communicate(timeout=60)
    assert "s was stopped: enough. Let it go on with: shoestring resume" in err
    assert study.history.stopped == "enough"


def test_the_files_can_be_elsewhere(storage, tmp_path):
    study_of(storage)
    out, err = start(storage, "--files", "shared").communicate(timeout=120)
    if storage == "study.db":
        assert "another folder is for PostgreSQL" in err
    else:
        assert "90 steps spent" in out, err
        assert list((tmp_path / "shared" / "s").glob("trial-*"))


def test_a_worker_has_the_limits_of_a_run_and_says_that_the_study_was_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(TRAIN)
    study_of("study.db")
    limits = ["--trial-timeout", "600", "--step-timeout", "600", "--patience", "90 steps", "--target", "99"]
    out, err = start("study.db", *limits).communicate(timeout=120)
    assert "s was stopped (the target 99 was reached" in out, err
