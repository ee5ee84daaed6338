"""The states of a study and of its trials in words, wherever they are shown."""

import io

import pytest
from click.testing import CliRunner
from rich.console import Console

import shoestring as ss
from shoestring.cli import main
from shoestring.display import notebook, terminal, watch_screen
from shoestring.views.states import brief_state, condition, states
from shoestring.views.trace import trace_of
from tests.plots.studies import played


def printed(what):
    console = Console(file=io.StringIO(), width=120)
    console.print(what)
    return console.file.getvalue()


def command(*words):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def pages(place, name):
    pytest.importorskip("jinja2", reason="the pages need jinja2: pip install 'shoestring[report]'")
    from shoestring.web.report import report
    from shoestring.web.study_page import Seen, study_head

    study = ss.Study.load(place, name)
    return [study_head(Seen(trace_of(study), study.workers())), report(study, verify=False)]


def everywhere(study, place):
    """A stored study, as it is shown in each place."""
    return [
        command("status", place), command("watch", place, "--once"), printed(terminal.Screen(study._journal)),
        notebook.frame(study._journal, "", 1.0), printed(watch_screen.frame(trace_of(study))), study._repr_html_(),
        *pages(place, study.name),
    ]  # fmt: skip


def test_paused_trials_were_stopped_early_once_the_budget_is_spent(tmp_path):
    study = played(storage=tmp_path / "s.db")
    assert any(trial.state == "paused" for trial in study.trials)
    for text in everywhere(study, tmp_path / "s.db"):
        assert "23 stopped early, 7 finished, 3 failed" in text
        assert "paused" not in text.partition("What the method said")[0]  # a grant did end with a pause
    study.budget = "300 steps"
    assert "23 paused" in command("status", tmp_path / "s.db")


def test_a_study_that_was_stopped_with_budget_left_is_stopped(tmp_path):
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget="30 steps", max_resource=9, method="asha", storage=tmp_path / "s.db", name="s"
    )
    grant = study.ask()
    study.tell(grant, 0.5)
    study.stop("it is good enough")
    assert condition(study) == "stopped"
    assert '"state": "stopped"' in command("status", tmp_path / "s.db", "--json")
    assert "s: stopped" in command("status", tmp_path / "s.db")
    for text in everywhere(study, tmp_path / "s.db"):
        assert "1 stopped early" in text
        assert "finished" not in text.partition("<svg")[0].partition("<h2>")[0]
    head, report = pages(tmp_path / "s.db", "s")
    assert "stopped: it is good enough" in head
    assert "<p>stopped: 1 trials, 1 stopped early</p>" in report


def test_a_study_that_was_stopped_when_its_budget_was_spent_is_finished():
    study = ss.Study({"x": (0.0, 1.0)}, budget="1 evaluations", method="random")
    study.tell(study.ask(), 0.5)
    study.stop("the target is reached")
    assert condition(study) == brief_state(study.history, []) == "finished"


def test_a_study_whose_method_is_done_has_no_paused_trials():
    study = ss.Study({"x": [1, 2, 3, 4, 5, 6]}, budget="900 steps", max_resource=9, method="sh")
    while (grant := study.ask()) is not None:
        study.tell(grant, grant.config["x"])
    assert condition(study).startswith("finished, ")
    assert "paused" in states(study.history)
    assert "paused" not in states(study.history, over=True)
