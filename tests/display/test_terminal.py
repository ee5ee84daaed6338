"""The live display: what it shows, and that it never gets in the way."""

import io
import logging
import os
import subprocess
import sys

import pytest
from rich.console import Console

import shoestring as ss
from shoestring.core.journal import Journal
from shoestring.display import terminal as display_module
from shoestring.display.live import watch
from shoestring.display.terminal import Display, Screen
from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


def told_study(steps: int = 6) -> ss.Study:
    study = ss.Study({"x": (0.0, 1.0)}, budget=f"{steps} steps, 1h", max_resource=9, method="asha", name="digits")
    for _ in range(3):
        grant = study.ask()
        study.tell(grant, [0.5] * (grant.until - grant.start))
    return study


def journal_of(study: ss.Study) -> Journal:
    """A journal on a copy of the study's log."""
    log, (opened, *events) = MemoryLog(), study.events()
    log.create(study.name, opened)
    log.append(0, events, 1)
    return Journal(log, 0, study.name, None)


def drawn(study: ss.Study, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(Screen(journal_of(study)))
    return console.file.getvalue()


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, _environ={"TERM": "xterm"})


def test_it_shows_what_was_burned_and_what_it_bought():
    study = told_study()
    grant = study.ask()
    text = drawn(study)
    assert "digits  asha" in text
    assert "3 of 6" in text
    assert "0.5 at step 1 of 1 by trial 0 (configuration 0)" in text
    assert f"x={study.best.config['x']:.4g}" in text
    assert "1 running, 2 paused" in text
    assert f"trial {grant.trial}" in text


def test_it_shows_where_the_checkpoint_of_the_best_is(tmp_path, monkeypatch):
    def train(trial):
        for step in (1, 2, 3):
            (trial.directory / "model").write_text(str(step))
            yield abs(step - 2)

    monkeypatch.chdir(tmp_path)
    options = {"max_resource": 3, "method": "random", "storage": "a.db", "recommend": "best"}
    study = ss.tune(train, {"x": (0.0, 1.0)}, budget="3 steps", **options)
    console = Console(file=io.StringIO(), width=100)
    console.print(Screen(Journal(open_log("a.db"), 1, study.name, None)))
    assert "0 at step 2 of 3 by trial 0" in console.file.getvalue()
    assert "a.db.files/study/trial-0/step-2" in console.file.getvalue()


def test_it_draws_before_the_first_reading():
    assert "no reading yet" in drawn(ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random"))


def test_configurations_are_not_taken_for_markup():
    study = ss.Study({"x": ["[red]", "[/]"]}, budget="1 evaluations", method="random")
    study.tell(study.ask(), 1.0)
    assert "x=[" in drawn(study)


def test_many_running_trials_do_not_fill_the_screen():
    study = ss.Study({"x": (0.0, 1.0)}, budget="50 evaluations", method="random")
    for _ in range(30):
        study.ask()
    assert "and 22 more" in drawn(study)
    assert len(drawn(study).splitlines()) < 15


def test_the_time_left_follows_from_the_rate_of_spending():
    study = told_study(30)
    screen = Screen(journal_of(study))
    study.tell(study.ask(), [0.4, 0.3])
    spent = study.spent["steps"] - screen._spent["steps"]
    expected = 10 * study.remaining["steps"] / spent
    assert screen._time_left(study.history, 10.0) == pytest.approx(expected)
    assert screen._time_left(study.history, 0.5) is None  # too early to tell


def test_a_costly_frame_is_drawn_less_often(monkeypatch):
    study, frames = told_study(), []
    screen = Screen(journal_of(study))
    monkeypatch.setattr(Screen, "_draw", lambda self, history: frames.append(1) or "frame")
    for _ in range(50):
        screen.__rich__()
        screen._due += 1000
    assert len(frames) == 1


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="3 evaluations", method="random")
    assert capsys.readouterr() == ("", "")


def test_the_note_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="shoestring"):
        ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="2 evaluations")
    assert "auto picked gp" in caplog.text


def test_without_a_terminal_a_forced_display_leaves_one_frame(capsys):
    ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="3 evaluations", method="random", progress=True)
    out, err = capsys.readouterr()
    assert not out
    assert err.count("3 of 3") == 1
    assert err.endswith("\n")


def test_the_cursor_comes_back_after_an_interruption():
    console = terminal()
    display = Display(journal_of(told_study()), "a note", console)

    def interrupted() -> None:
        display.start()
        try:
            raise KeyboardInterrupt
        finally:
            display.stop()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = console.file.getvalue()
    assert text.count("a note") == 1
    assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)


def test_an_error_while_drawing_does_not_end_the_study(monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("no such colour")

    monkeypatch.setattr(display_module, "best_text", broken)
    study = ss.tune(lambda trial: 1.0, {"x": (0.0, 1.0)}, budget="3 evaluations", method="random", progress=True)
    assert study.spent["evaluations"] == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_terminal_that_goes_away_does_not_end_the_study():
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("the terminal is gone")

    console = Console(file=Gone(), force_terminal=True, width=100, _environ={"TERM": "xterm"})
    display = Display(journal_of(told_study()), "", console)
    display.start()
    display.stop()


def test_watch_shows_nothing_where_there_is_no_terminal(capsys):
    journal = journal_of(told_study())
    for progress in (None, False):
        with watch(journal, progress, "a note"):
            pass
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_on_a_real_terminal(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import time, shoestring as ss\n"
        "def train(trial):\n"
        "    print('from the objective')\n"
        "    time.sleep(0.2)\n"
        "    return 1.0\n"
        "ss.tune(train, {'x': (0.0, 1.0)}, budget='3 evaluations', method='random', name='on-a-terminal')\n"
    )
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen([sys.executable, str(script)], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    text = read_all(ours)
    assert process.wait() == 0
    assert "on-a-terminal" in text
    assert "3 of 3" in text
    assert "from the objective" in text
    assert text.rindex(SHOW_CURSOR) > text.rindex(HIDE_CURSOR)


def read_all(descriptor: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # the other end was closed
            piece = b""
        if not piece:
            os.close(descriptor)
            return b"".join(pieces).decode()
        pieces.append(piece)
