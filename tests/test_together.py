"""Several processes on one study, in SQLite and in PostgreSQL."""

import collections
import subprocess
import sys
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.events import Opened, Reported
from shoestring.logs import open_log
from shoestring.testing.laws import check_budget_law

PROGRAM = Path(__file__).parent / "programs" / "together.py"


def four_times(*arguments):
    processes = [
        subprocess.Popen([sys.executable, PROGRAM, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, tmp_path):
    return request.getfixturevalue("database") if request.param == "postgres" else str(tmp_path / "shared.db")


def test_two_thousand_appends_by_four_processes(storage):
    log = open_log(storage)
    log.create("shared", Opened(0.0, {}, {}, {"steps": 1}, "min", None, 0))
    four_times("append", storage, 500)
    events = log.read(log.find("shared"), 0)  # read refuses a gap
    assert len(events) == 2001
    assert set(collections.Counter(e.budget["cost"] for e in events[1:]).values()) == {4}


def test_four_processes_spend_exactly_one_budget(storage, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOESTRING_FILES", str(tmp_path / "files"))
    four_times("tune", storage, tmp_path)
    study = ss.Study.load(storage)
    events = study.events()
    check_budget_law(events)
    assert study.spent["steps"] == 300
    assert len([e for e in events if isinstance(e, Reported)]) == 300
    assert len({e.worker for e in events if e.kind == "granted"}) == 4, "not all of them worked"
    assert study.verify().ok
