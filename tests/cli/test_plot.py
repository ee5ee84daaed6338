"""``shoestring plot``."""

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main


@pytest.fixture
def storage(tmp_path):
    place = tmp_path / "s.db"
    for name in ("first", "second"):
        study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=place, name=name)
        for value in (3.0, 1.0):
            study.tell(study.ask(), value)
    return place


def invoke(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<html")])
def test_it_writes_a_file_of_the_kind_that_its_name_says(storage, ending, start):
    path = storage.parent / f"curves.{ending}"
    result = invoke("plot", storage, "first", "curves", "-o", path)
    assert result.exit_code == 0, result.output
    assert start in path.read_bytes()[:40]


def test_it_compares_studies(storage):
    path = storage.parent / "regret.svg"
    assert invoke("plot", storage, "first", "regret", "--with", "second", "-o", path).exit_code == 0
    assert "second (1 study)" in path.read_text()


def test_the_moment_of_the_forecast_can_be_chosen(storage):
    path = storage.parent / "forecast.svg"
    assert invoke("plot", storage, "first", "forecast", "--at", "0.25", "-o", path).exit_code == 0
    assert "after 25 % of the budget" in path.read_text()


def test_it_refuses_what_it_cannot_do(storage):
    path = storage.parent / "curves.svg"
    assert "--at is for the plot forecast" in invoke("plot", storage, "first", "curves", "--at", "0.5").output
    refused = invoke("plot", storage, "first", "curves", "--with", "second", "-o", path)
    assert "--with is for the plot regret" in refused.output
    assert "cannot be written" in invoke("plot", storage, "first", "curves", "-o", path / "c.svg").output
    assert "there is no study 'third'" in invoke("plot", storage, "third", "curves", "-o", path).output


def test_a_study_can_be_named_by_options_and_left_out_if_it_is_the_only_one(storage, monkeypatch):
    path = storage.parent / "history.svg"
    assert invoke("plot", "--storage", storage, "--name", "second", "history", "-o", path).exit_code == 0
    assert "'first', 'second'" in invoke("plot", storage, "history", "-o", path).output
    monkeypatch.chdir(storage.parent)
    ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="2 evaluations", method="random", storage="shoestring.db")
    assert invoke("plot", "history", "-o", path).exit_code == 0
    assert "was given" in invoke("plot", storage, "first", "more", "history").output
