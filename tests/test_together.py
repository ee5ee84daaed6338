"""Several processes on one SQLite study."""

import collections
import subprocess
import sys
from pathlib import Path

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


def test_two_thousand_appends_by_four_processes(tmp_path):
    log = open_log(tmp_path / "shared.db")
    log.create("shared", Opened(0.0, {}, {}, {"steps": 1}, "min", None, 0))
    four_times("append", log.path, 500)
    events = log.read(log.find("shared"), 0)  # read refuses a gap
    assert len(events) == 2001
    assert set(collections.Counter(e.budget["cost"] for e in events[1:]).values()) == {4}


def test_four_processes_spend_exactly_one_budget(tmp_path):
    storage = tmp_path / "shared.db"
    four_times("tune", storage)
    study = ss.Study.load(storage)
    events = study.events()
    check_budget_law(events)
    assert study.spent["steps"] == 300
    assert len([e for e in events if isinstance(e, Reported)]) == 300
    assert len({e.worker for e in events if e.kind == "granted"}) == 4, "not all of them worked"
    assert study.verify().ok
