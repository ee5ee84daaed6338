"""The dashboard's copy of the studies of a storage, and how it notices that they changed."""

import threading
from types import SimpleNamespace

import pytest

import shoestring as ss
from shoestring.core.events import Opened
from shoestring.errors import ShoestringError
from shoestring.logs import SqliteLog

pytest.importorskip("starlette", reason="the dashboard needs starlette: pip install 'shoestring[dashboard]'")
pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn: pip install 'shoestring[dashboard]'")

from shoestring.plots.picture import Picture
from shoestring.web import charts, reader
from shoestring.web.reader import Reader
from tests.web.serving import asked, served


def told(place, name, count=3):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=place, name=name)
    for _ in range(count):
        study.tell(study.ask(), 0.5)
    return study


def test_traces_that_were_not_used_are_dropped_but_not_those_of_running_studies(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "_MOST_EVENTS", 10)
    place = tmp_path / "s.db"
    for name in ("a", "b", "c"):
        told(place, name)
    running = told(place, "running")
    running.ask()
    found = Reader(place)
    assert [one.trials for one in found.overviews()] == [3, 3, 3, 4]
    assert list(found._followed) == ["running"]
    study = told(place, "a", 0)
    study.tell(study.ask(), 0.25)
    changed = found.overviews()[0]
    assert (changed.trials, changed.value) == (4, 0.25)
    assert found.trace("b").history.position == 7


def test_a_long_list_comes_in_parts(tmp_path, monkeypatch):
    place = tmp_path / "s.db"
    for name in ("a", "b"):
        told(place, name)
    found = Reader(place)
    monkeypatch.setattr(reader, "_PATIENCE", -1.0)
    assert [one.state for one in found.overviews()] == ["is being read"] * 2
    monkeypatch.setattr(reader, "_PATIENCE", 60.0)
    assert [one.trials for one in found.overviews()] == [3, 3]


def test_a_storage_that_is_replaced_is_read_again(tmp_path):
    place = tmp_path / "s.db"
    told(place, "a")
    found = Reader(place)
    assert len(found.trace("a").history.trials) == 3
    for file in tmp_path.glob("s.db*"):
        file.unlink()
    with pytest.raises(ShoestringError):
        found.trace("a")
    told(place, "a", 1)
    assert len(found.trace("a").history.trials) == 1


def test_a_stored_name_that_is_no_folder_is_refused(tmp_path):
    place = tmp_path / "s.db"
    told(place, "fine")
    (opened,) = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random").events()
    assert isinstance(opened, Opened)
    SqliteLog(place).create("..", opened)
    fine, hostile = Reader(place).overviews()
    assert (fine.problem, fine.trials) == ("", 3)
    assert "without slashes" in hostile.problem


def test_no_page_waits_for_a_plot_that_takes_long(tmp_path, monkeypatch):
    place, started, end = tmp_path / "s.db", threading.Event(), threading.Event()
    told(place, "a")

    def slow(*_, **__):
        started.set()
        assert end.wait(60)
        return Picture("at last", note="it is there")

    monkeypatch.setattr(
        charts.plots, "importance", SimpleNamespace(data=lambda *_, **__: SimpleNamespace(picture=slow))
    )
    with served(place) as address:
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(asked(f"{address}/study/a/plot/importance")[2]))
        waiting.start()
        assert started.wait(60)
        assert asked(f"{address}/study/a")[0] == 200
        assert asked(f"{address}/study/a/plot/curves")[0] == 200
        assert not answers
        end.set()
        waiting.join()
        assert "at last" in answers[0]
