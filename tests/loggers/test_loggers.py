"""The loggers write what is in the log, each with its real library."""

import csv
import json
import sys

import pytest

import shoestring as ss
from shoestring.core.events import Reported
from shoestring.schedulers import ASHA

SPACE = {"x": (0.0, 1.0), "step": ["a", "b"]}


def train(trial):
    for step in range(trial.start + 1, 10):
        if trial.config["x"] > 0.7:
            raise ValueError("too large")
        (trial.directory / "step").write_text(str(step))
        trial.attributes["git"] = "1a2b3c"
        yield ss.Reading(trial.config["x"] + 1 / step, cost=0.5, accuracy=step / 10)


def tuned(logger, storage=None, steps=60):
    method = ss.compose(ss.samplers.Random(), ASHA())
    return ss.tune(
        train, SPACE, budget=ss.Budget(steps=steps), max_resource=9, method=method, storage=storage, callbacks=[logger]
    )


def reported(study):
    return [(event.trial, event.step, event.value) for event in study.events() if isinstance(event, Reported)]


def test_csv(tmp_path):
    path = tmp_path / "logs" / "readings.csv"
    for steps in (40, 60):
        study = tuned(ss.loggers.CSV(path), tmp_path / "study.db", steps)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    values = [(int(row["trial"]), int(row["step"]), float(row["value"])) for row in rows if row["value"]]
    assert values == reported(study)
    assert {row["config.step"] for row in rows} == {"a", "b"}
    assert json.loads(rows[0]["metrics"]) == {"accuracy": 0.1}
    failed = [row for row in rows if row["state"] == "failed"]
    assert len(failed) == sum(trial.state == "failed" for trial in study.trials) > 0
    assert all("too large" in row["message"] for row in failed)


def test_csv_of_another_study_is_not_mixed_up(tmp_path, caplog):
    path = tmp_path / "readings.csv"
    path.write_text("something,else\n1,2\n")
    tuned(ss.loggers.CSV(path))
    assert "has other columns" in caplog.text
    assert path.read_text() == "something,else\n1,2\n"


@pytest.mark.parametrize("name", ["MLflow", "TensorBoard", "WandB"])
def test_a_missing_library_is_named_before_anything_runs(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name.lower(), None)
    with pytest.raises(ImportError, match=f"ss.loggers.{name} needs {name.lower()}.*pip install {name.lower()}"):
        getattr(ss.loggers, name)()
