"""``shoestring watch``, and the trends that ``status`` shows too."""

import io
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

import shoestring as ss
from shoestring.cli import main, watch
from shoestring.display.watch_screen import frame
from shoestring.logs import open_log
from shoestring.views.following import Followed
from shoestring.views.trace import trace_of
from shoestring.views.trends import trend_rows
from tests.plots.studies import played, told


def invoke(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def shown(study):
    console = Console(file=io.StringIO(), width=110)
    console.print(frame(trace_of(study)))
    return console.file.getvalue()


def test_it_shows_the_budget_the_best_the_account_and_the_failures():
    study = played()
    text = shown(study)
    assert "120 of 120" in text
    assert f"by trial {study.best.trial}" in text
    assert "the rate is too large" in text
    assert "on failed" in text


@pytest.mark.parametrize("values", [(), (1.0,), (ValueError("[bold]boom"),)])
def test_it_shows_a_study_with_little_in_it(values):
    assert "of 50" in shown(told(*values))
    assert not values or isinstance(values[0], float) or "[bold]boom" in shown(told(*values))


def test_trends_have_the_ends_of_their_lines():
    best, burned = (line for _, line in trend_rows(told(5.0, 3.0, 4.0, 1.0).history))
    assert best.split() == ["5", "█▅▅▁", "1"]
    assert burned.startswith("50 ")
    assert " 46 evaluations" in burned
    assert list(trend_rows(told(5.0).history)) == []


def test_a_burn_down_of_time_has_its_unit_once():
    study = ss.Study({"x": (0.0, 1.0)}, budget="1h", method="random")
    for value in (2.0, 1.0):
        study.tell(study.ask(), value)
    assert "seconds" not in dict(trend_rows(study.history))["burn-down"]
    assert "s of 1 h 0 min spent" in repr(study)


@pytest.fixture
def stored(tmp_path):
    return ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage=tmp_path / "s.db", name="first")


def test_a_followed_study_reads_what_is_new(stored, tmp_path):
    followed = Followed(open_log(tmp_path / "s.db"), "first")
    assert not followed.update()
    stored.tell(stored.ask(), 1.0)
    assert followed.update()
    assert len(followed.trace.history.trials) == 1
    with pytest.raises(ss.errors.StudyNotFound, match="the storage holds 'first'"):
        Followed(open_log(tmp_path / "s.db"), "second")


def test_it_ends_when_the_budget_is_spent(stored, tmp_path, monkeypatch):
    def play(_):
        stored.tell(stored.ask(), 1.0)

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=play))
    result = invoke("watch", tmp_path / "s.db")
    assert result.exit_code == 0, result.output
    assert "3 of 3" in result.output
    assert len(stored.trials) == 3


def test_ctrl_c_leaves_the_study_alone(stored, tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(watch, "time", SimpleNamespace(sleep=interrupt))
    assert "the study is not affected" in invoke("watch", tmp_path / "s.db").output


def test_status_and_trials(stored, tmp_path):
    for value in (3.0, 1.0):
        stored.tell(stored.ask(), value)
    assert "best so far 3 █▁ 1" in " ".join(invoke("status", tmp_path / "s.db").output.split())
    lines = invoke("trials", tmp_path / "s.db", "--sort", "value", "--where", "value<9").output.splitlines()
    assert [line.split()[0] for line in lines] == ["trial", "1", "0"]
    assert "there is no column 'speed'" in invoke("trials", tmp_path / "s.db", "--where", "speed<1").output
    assert "3 of 3" not in invoke("watch", tmp_path / "s.db", "--once").output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_complete_commands(shell, monkeypatch):
    found = CliRunner().invoke(main, env={"_SHOESTRING_COMPLETE": f"{shell}_source"}, prog_name="shoestring")
    assert "_SHOESTRING_COMPLETE" in found.output
