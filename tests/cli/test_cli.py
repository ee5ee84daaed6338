"""The command line, in this process and as a person would run it."""

import csv
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import shoestring as ss
from shoestring.cli import main, status
from shoestring.logs import SqliteLog, open_log
from tests.stored import edit, seal


@pytest.fixture(autouse=True)
def _own_main(monkeypatch):
    """Loading a file as a script takes the place of the main module; the tests want theirs back."""
    for name in ("__main__", "__mp_main__"):
        if name in sys.modules:
            monkeypatch.setitem(sys.modules, name, sys.modules[name])


TRAIN = """
import time
import shoestring as ss

pause = {pause}
space = ss.space(rate=ss.log(1e-3, 0.5), act=["relu", "tanh"])
wide = {{"x": (0.0, 1.0)}}

def train(trial):
    saved = trial.directory / "error"
    error = float(saved.read_text()) if trial.start else 1.0
    while True:
        time.sleep(pause)
        error *= 1 - trial.config["rate"]
        saved.write_text(repr(error))
        yield error

def broken(trial):
    raise ValueError("it never works")

def once(trial):
    return trial.config["x"]

if __name__ == "__main__":
    ss.tune(train, space, budget="1 steps", max_resource=9, storage="sqlite:///never.db")
"""

RUN = ["run", "train.py:train", "--max-resource", "9", "--method", "asha"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Loading a file puts its folder on the path and the file among the modules.
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", sys.modules)
    write_objectives(tmp_path)
    return tmp_path


def write_objectives(folder: Path, pause: float = 0.0) -> None:
    (folder / "train.py").write_text(TRAIN.format(pause=pause))


def shoestring(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def good(*arguments: str) -> str:
    result = shoestring(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    """The one line on standard error with which a command refuses."""
    result = shoestring(*arguments)
    assert result.exit_code == 2, result.output
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


@pytest.fixture
def studied(folder):
    good(*RUN, "--budget", "40 steps")
    return folder


def test_run_tunes_the_objective_of_a_file(folder):
    text = good(*RUN, "--budget", "40 steps", "--seed", "3")
    assert "train-train: finished" in text
    assert "40 of 40 spent" in text
    assert not (folder / "never.db").exists()
    study = ss.Study.load("shoestring.db")
    assert (study.name, study.spent["steps"], study.history.seed) == ("train-train", 40, 3)


def test_run_does_what_tune_does(studied):
    def train(trial):
        error = 1.0
        while True:
            error *= 1 - trial.config["rate"]
            yield error

    space = {"rate": ss.log(1e-3, 0.5), "act": ["relu", "tanh"]}
    study = ss.tune(train, space, budget="40 steps", max_resource=9, method="asha")
    assert study.best == ss.Study.load("shoestring.db").best


def test_run_again_continues(studied):
    assert json.loads(good(*RUN, "--budget", "40 steps", "--json"))["spent"]["steps"] == 40
    assert json.loads(good(*RUN, "--budget", "60 steps", "--json"))["spent"]["steps"] == 60


def test_run_takes_another_space_and_mode(folder):
    text = good(
        "run", "train.py:once", "--space", "wide", "--mode", "max", "--budget", "9 trials", "--method", "random"
    )
    assert "train-once: finished" in text
    assert ss.Study.load("shoestring.db").best.value > 0.5


def test_run_in_several_processes(folder):
    assert "60 of 60 spent" in good(*RUN, "--budget", "60 steps", "--workers", "2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "train.py:trian", "--budget", "9 steps"], ["'trian'", "space, wide, train, broken, once"]),
        (["run", "train.py:train", "--budget", "9 steps", "--space", "spaec"], ["no space 'spaec'"]),
        (["run", "train.py", "--budget", "9 steps"], ["FILE:OBJECTIVE"]),
        (["run", "nothing.py:train", "--budget", "9 steps"], ["no file nothing.py"]),
        (["run", "wrong.py:train", "--budget", "9 steps"], ["wrong.py cannot be loaded", "NameError", "wrong.py:1"]),
        ([*RUN[:-1], "ahsa", "--budget", "9 steps"], ["'ahsa'", "'asha'"]),
        ([*RUN, "--budget", "much"], ["'much'", "500 steps"]),
        (["run", "train.py:train", "--budget", "9 steps"], ["--max-resource"]),
        (["run", "train.py:broken", "--space", "wide", "--budget", "30 trials"], ["it never works"]),
        (["status", "nothing.db"], ["no storage nothing.db"]),
        (["best", "postgres://host/base"], ["postgres"]),
        (["resume", "nothing.db"], ["no storage nothing.db"]),
    ],
)
def test_errors_are_one_line(folder, arguments, words):
    (folder / "wrong.py").write_text("nonsense\n")
    line = refused(*arguments)
    assert line.startswith("shoestring: ")
    for word in words:
        assert word in line
    assert not (folder / "nothing.db").exists()


def test_a_study_that_differs_is_refused(studied):
    assert "seed was 0 and is now 1" in refused(*RUN, "--budget", "40 steps", "--seed", "1")


def test_resume_goes_on_to_a_new_total(studied):
    assert "70 of 70 spent" in good("resume", "--budget", "70 steps")
    assert ss.Study.load("shoestring.db").verify().ok


def test_resume_finds_an_objective_that_has_moved(studied):
    (studied / "train.py").rename(studied / "moved.py")
    assert "there is no file" in refused("resume", "shoestring.db", "--budget", "50 steps")
    assert "50 of 50" in good("resume", "shoestring.db", "--budget", "50 steps", "--objective", "moved.py:train")


def test_resume_says_what_it_runs_and_runs_nothing_from_elsewhere_unless_told(studied, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "evil.py"
    elsewhere.write_text("import pathlib\npathlib.Path('was-here').touch()\n" + Path("train.py").read_text())
    assert f"running train of {studied / 'train.py'}" in shoestring("resume", "--budget", "50 steps").stderr
    with closing(sqlite3.connect("shoestring.db")) as base, base:
        body = json.loads(base.execute("SELECT body FROM events WHERE seq = 0").fetchone()[0])
    edit("shoestring.db", 0, body=json.dumps(body | {"objective": f"{elsewhere}:train"}))
    assert "outside of the current directory" in refused("resume", "--budget", "60 steps")
    assert not (studied / "was-here").exists()
    assert "60 of 60" in good("resume", "--budget", "60 steps", "--objective", f"{elsewhere}:train")


def test_repair_reports_and_cuts_on_request(studied):
    assert "nothing is damaged" in good("repair")
    edit("shoestring.db", 7, sealed=False, at=0.0)
    found = shoestring("repair")
    assert found.exit_code == 1
    assert "good up to event 6" in found.stdout
    assert "shoestring repair" in refused("status")
    assert "shoestring.db.damaged" in good("repair", "--cut")
    assert "3 of 40 spent" in good("status")
    assert "40 of 40" in good("resume")


def test_resume_needs_to_know_the_objective(folder):
    ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage="told.db", name="told")
    assert "--objective FILE:OBJECTIVE" in refused("resume", "told.db")
    assert "5 of 5" in good("resume", "told.db", "--objective", "train.py:once")


def test_status(studied):
    study = ss.Study.load("shoestring.db")
    text = good("status")
    assert "train-train: finished" in text
    assert f"{study.best.value:.4g} at step {study.best.step}" in text
    told = json.loads(good("status", "sqlite:///shoestring.db", "train-train", "--json"))
    assert told["method"] == "asha"
    assert told["budget"] == {"steps": 40}
    assert told["remaining"] == {"steps": 0}
    assert told["best"]["value"] == study.best.value
    assert sum(told["trials"].values()) == len(study.trials)


def test_status_of_several_studies(studied):
    good(*RUN, "--budget", "9 steps", "--name", "second")
    text = good("status")
    assert "train-train: finished" in text
    assert "second: finished" in text
    assert [each["name"] for each in json.loads(good("status", "--json"))] == ["train-train", "second"]
    assert "'train-train', 'second'" in refused("best")
    assert "step" in good("best", "shoestring.db", "second")


def test_status_tells_what_is_running(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage="told.db")
    grant = study.ask()
    told = json.loads(good("status", "told.db", "--json"))
    assert (told["state"], told["running"][0]["trial"], told["best"]) == ("running", grant.trial, None)
    study.tell(grant, 1.0)
    assert "paused, can be resumed" in good("status", "told.db")


def test_a_study_with_nothing_left_to_try_is_finished(folder):
    study = ss.Study({"x": [1, 2]}, budget="5 evaluations", method="grid", storage="told.db")
    while (grant := study.ask()) is not None:
        study.tell(grant, 1.0)
    assert "study: finished, every configuration has been tried" in good("status", "told.db")
    assert json.loads(good("status", "told.db", "--json"))["state"] == "finished"


def test_best(studied):
    best = ss.Study.load("shoestring.db").best
    assert f"rate = {best.config['rate']!r}" in good("best")
    assert json.loads(good("best", "--json"))["config"] == best.config


def test_the_best_step_and_its_checkpoint_are_told_everywhere(folder):
    (folder / "turning.py").write_text(
        "space = {'x': (0.0, 1.0)}\n"
        "def train(trial):\n"
        "    for step in range(trial.start + 1, 10):\n"
        "        (trial.directory / 'model').write_text(str(step))\n"
        "        yield abs(step - 4) + 1\n"
    )
    run = ["run", "turning.py:train", "--max-resource", "9", "--method", "random", "--budget", "9 steps"]
    place = Path("shoestring.db.files") / "turning-train" / "trial-0" / "step-4"
    for text in (good(*run, "--recommend", "best"), good("status"), good("best")):
        assert "1 at step 4 of 9 by trial 0" in text
        assert str(place) in text
    told = [json.loads(good("best", "--json")), json.loads(good("status", "--json"))["best"]]
    assert [Path(each["directory"]) for each in told] == [place.absolute()] * 2
    assert "1 at step 4" in good("trials")
    assert place.joinpath("model").read_text() == "4"
    assert "recommend was 'best' and is now 'last'" in refused(*run, "--recommend", "last")
    assert "6 at step 9 of 9" in good(*run, "--recommend", "last", "--name", "another")
    assert json.loads(good("status", "shoestring.db", "another", "--json"))["recommend"] == "last"


def test_best_without_any_reading(folder):
    ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage="told.db")
    assert "no reading yet" in refused("best", "told.db")


def test_trials(studied):
    study = ss.Study.load("shoestring.db")
    assert len(good("trials").splitlines()) == len(study.trials) + 1
    assert len(good("trials", "--last", "2").splitlines()) == 3
    finished = json.loads(good("trials", "--state", "finished", "--json"))
    assert [trial["trial"] for trial in finished] == [t.index for t in study.trials if t.state == "finished"]
    assert finished[0]["readings"][-1]["step"] == 9
    assert len(good("trials", "--state", "failed").splitlines()) == 1
    assert "trials fulfils state=fnished" in shoestring("trials", "--where", "state=fnished").stderr


def test_failed_trials_show_their_message(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage="told.db")
    study.fail(study.ask(), ValueError("too hot"))
    assert "ValueError: too hot" in good("trials", "told.db", "--state", "failed")


def test_export(studied):
    study = ss.Study.load("shoestring.db")
    rows = list(csv.DictReader(io.StringIO(good("export"))))
    assert len(rows) == 40
    assert [float(row["value"]) for row in rows] == [row["value"] for row in study.rows()]
    assert shoestring("export", "--format", "json", "--output", "all.json").stdout == ""
    told = json.loads(Path("all.json").read_text())
    assert [trial["config"] for trial in told["trials"]] == [trial.config for trial in study.trials]
    assert sum(len(trial["readings"]) for trial in told["trials"]) == 40


def test_export_keeps_costs_and_metrics(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="2 evaluations", method="random", storage="told.db")
    study.tell(study.ask(), ss.Reading(1.0, cost=2.0, accuracy=0.5))
    study.fail(study.ask(), "no power")
    first, second = csv.DictReader(io.StringIO(good("export", "told.db")))
    assert (first["cost"], first["accuracy"], second["state"], second["value"]) == ("2.0", "0.5", "failed", "")
    trial = json.loads(good("export", "told.db", "--format", "json"))["trials"][0]
    assert trial["readings"] == [{"step": 1, "value": 1.0, "cost": 2.0, "metrics": {"accuracy": 0.5}}]


def test_verify(studied):
    assert "grants are what the method decides" in good("verify")
    assert json.loads(good("verify", "--json"))["ok"] is True


def test_verify_names_the_first_event_that_differs(studied):
    with sqlite3.connect("shoestring.db") as base:
        seq, body = base.execute("SELECT seq, body FROM events WHERE kind = 'granted' AND seq > 5").fetchone()
        changed = json.loads(body) | {"reason": "because I say so"}
        base.execute("UPDATE events SET body = ? WHERE seq = ?", (json.dumps(changed), seq))
    base.close()
    seal("shoestring.db")
    result = shoestring("verify")
    assert result.exit_code == 1
    assert f"event {seq} (granted) differs" in result.stdout
    assert "because I say so" in result.stdout


def test_a_full_disk_behind_the_output_is_one_line(studied):
    with open("/dev/full", "w") as full:
        program = [sys.executable, "-m", "shoestring", "status"]
        ended = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == ["shoestring: the output cannot be written: No space left on device"]


def test_a_trial_is_one_line_of_the_table_whatever_it_says(folder):
    study = ss.Study({"x": ["a\nb", "c"]}, budget="2 evaluations", method="grid", storage="lines.db")
    study.fail(study.ask(), "two\nlines\x1b[2J")
    study.tell(study.ask(), 1.0)
    assert len(good("trials", "lines.db").splitlines()) == 3
    assert "\x1b" not in good("trials", "lines.db")


def test_another_objective_under_the_same_name_is_said(studied, caplog):
    Path("other.py").write_text(Path("train.py").read_text().replace("train", "another"))
    again = ["run", "other.py:another", *RUN[2:], "--name", "train-train", "--budget"]
    good(*again, "50 steps")
    assert "other.py:another" in caplog.text
    caplog.clear()
    good(*again, "60 steps", "--accept-objective")
    assert "other.py:another" not in caplog.text
    assert "this budget was given by" in good("status")


def test_every_command_has_help_with_an_example():
    for name in main.list_commands(None):
        assert f"Example:\n    shoestring {name}" in good(name, "--help")
    assert good("--version").strip() == f"shoestring {ss.__version__}"


def test_an_unknown_command_is_refused():
    result = shoestring("stauts")
    assert result.exit_code == 2
    assert "stauts" in result.stderr


def test_looking_loads_nothing_heavy(studied):
    program = (
        "import sys; from shoestring.cli import main; main(['status'], standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"sklearn", "scipy", "rich"} & set(done.stdout.split())


# A process started in the background of a shell ignores Ctrl-C; a person's does not.
PROGRAM = """
import signal
import sqlite3
signal.signal(signal.SIGINT, signal.default_int_handler)
from shoestring.cli import main
main()
"""


def command(*arguments: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_steps(steps: int, storage: str, name: str) -> None:
    for _ in range(600):
        if Path(storage).exists():
            try:
                if ss.Study.load(storage, name).spent["steps"] >= steps:
                    return
            except ss.errors.StudyNotFound:
                pass
        time.sleep(0.05)
    raise AssertionError(f"{name} did not come to {steps} steps")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_run_says_how_to_continue_and_does(folder, workers):
    write_objectives(folder, pause=0.05)
    running = command(*RUN, "--budget", "40 steps", "--workers", workers)
    wait_for_steps(5, "shoestring.db", "train-train")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert not out
    assert err.strip() == (
        "Interrupted; no step will be run again. Continue with: shoestring resume shoestring.db train-train"
    )
    assert json.loads(good("status", "--json"))["state"] in ("interrupted", "paused")
    write_objectives(folder)
    assert "40 of 40 spent" in good("resume", "shoestring.db", "train-train")
    assert ss.Study.load("shoestring.db").verify().ok


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_run_without_checkpoints_says_what_is_run_again(folder):
    (folder / "forgetful.py").write_text(
        "import time\nspace = {'x': (0.0, 1.0)}\n"
        "def train(trial):\n    while True:\n        time.sleep(0.05)\n        yield trial.config['x']\n"
    )
    running = command("run", "forgetful.py:train", "--max-resource", "99", "--method", "random", "--budget", "99 steps")
    wait_for_steps(3, "shoestring.db", "forgetful-train")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    study = ss.Study.load("shoestring.db")
    assert f"Interrupted; {study.spent['steps']} steps have no checkpoint" in err
    assert [event.kind for event in study.events()][-1] == "released"
    assert "no process holds trial 0" in good("status")


def test_a_trial_is_released_by_hand_and_its_worker_is_shown(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage="s.db", name="s")
    study.ask()
    assert f"process {os.getpid()} on " in good("status", "s.db")
    assert "(alive, last heartbeat 0 s ago, runs trial 0)" in good("status", "s.db")
    (worker,) = json.loads(good("status", "s.db", "--json"))["workers"]
    assert (worker["state"], worker["trials"]) == ("alive", [0])
    assert "trial 0 of s is free" in good("release", "s", "0", "--storage", "s.db")
    assert "trial 7 is unknown: only a trial that is running" in refused("release", "s", "7", "--storage", "s.db")
    assert "given with --storage FILE" in refused("release", "s.db", "0")
    assert "given with --storage FILE" in refused("tell", "s.db", "0", "0.5")
    other = ss.Study.load("s.db")
    assert other.ask().trial == 0
    study.tell(study.ask(), 0.5)


def test_the_limits_of_a_run_are_options(folder):
    limits = ["--target", "0.9", "--retries", "2", "--trial-timeout", "60", "--step-timeout", "30"]
    text = good("run", "train.py:once", "--space", "wide", "--budget", "99 trials", "--method", "random", *limits)
    assert "train-once: stopped" in text
    assert "the target 0.9 was reached" in text
    assert len(ss.Study.load("shoestring.db").trials) < 20
    assert "99 of 99 spent" in good("resume", "--patience", "99 trials")


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--workers", "0"),
        ("--trial-timeout", "-1"),
        ("--step-timeout", "0"),
        ("--retries", "-1"),
        ("--patience", "3"),
        ("--target", "nan"),
        ("--gpus", "0,,1"),
    ],
)
def test_a_limit_that_cannot_be_is_named_as_an_option(folder, option, given):
    message = refused("run", "train.py:once", "--space", "wide", "--budget", "9 trials", option, given)
    assert message.startswith(f"shoestring: {option} is ")


def test_the_status_is_of_one_moment_while_others_go_on(folder, monkeypatch):
    """Another process starts another trial at each look at the study."""
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage="s.db", name="s")
    study.ask()
    trend = status.trend_rows
    monkeypatch.setattr(status, "trend_rows", lambda shown: [study.ask(), trend(shown)][1])
    text = good("status", "s.db")
    assert "trials      1: 1 running" in text
    assert text.count("  running ") == 1
    assert "runs trial 0)" in text


@pytest.mark.parametrize("command", ["status", "trials"])
def test_every_event_is_read_once(folder, monkeypatch, command):
    study = ss.Study({"x": (0.0, 1.0)}, budget="30 evaluations", method="random", storage="s.db", name="s")
    for _ in range(30):
        study.tell(study.ask(), 0.5)
    read, answers = SqliteLog.read, []
    monkeypatch.setattr(SqliteLog, "read", lambda *given: answers.append(read(*given)) or answers[-1])
    good(command, "s.db")
    assert sum(map(len, answers)) == len(study.events())
    assert len(answers) < 10


def test_who_gave_the_budget_is_said_in_words(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage="s.db", name="s")
    study.budget = "4 evaluations"
    assert f"this budget was given by process {os.getpid()} on " in good("status", "s.db")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_the_demo_continues_after_an_interruption(folder, monkeypatch):
    running = command("demo", "--seed", "1", "--seeds", "2")
    wait_for_steps(10, "shoestring-demo.db", "digits-1")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Continue with: shoestring demo --seed 1 --seeds 2" in err
    import shoestring.cli.demo as demo

    spent = ss.Study.load("shoestring-demo.db", "digits-1").spent["steps"]
    monkeypatch.setattr(demo, "EPOCHS", spent + 20)
    text = good("demo", "--seed", "1", "--seeds", "2")
    assert f"Where the {spent + 20} epochs of auto went with seed 1" in text
    studies = ["digits-1", "digits-2", "digits-random-1", "digits-random-2"]
    assert [ss.Study.load("shoestring-demo.db", name).spent["steps"] for name in studies] == [spent + 20] * 4
    again = shoestring("demo", "--seed", "1", "--seeds", "2")
    assert again.stdout == text
    assert again.stderr.count("finished before") == 4
    resume = ["resume", "shoestring-demo.db", "digits-1", "--budget", f"{spent + 22} steps"]
    assert f"{spent + 22} of {spent + 22}" in good(*resume)
    assert f"Not comparable: digits-1 has had {spent + 22} epochs" in good("demo", "--seed", "1", "--seeds", "2")
    assert "seed 2" not in good("demo", "--fresh", "--quiet", "--seeds", "1")
    assert sorted(open_log("sqlite:///shoestring-demo.db").studies()) == ["digits-0", "digits-random-0"]


def test_a_fresh_demo_spares_other_studies(folder):
    ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage="mine.db", name="mine")
    assert "other studies too (mine)" in refused("demo", "--fresh", "--storage", "mine.db")
    assert ss.Study.load("mine.db").name == "mine"


def test_a_study_can_be_named_by_options_as_in_run(folder):
    write_objectives(folder)
    good(*RUN, "--budget", "20 steps")
    by_place = good("status", "shoestring.db", "train-train")
    assert good("status", "--storage", "sqlite:///shoestring.db", "--name", "train-train") == by_place


PICKLING = """
import pickle
import shoestring as ss

class Net:
    def __init__(self):
        self.error = 1.0

def train(trial):
    saved = trial.directory / "net"
    net = pickle.loads(saved.read_bytes()) if trial.start else Net()
    while True:
        net.error *= 0.9 + trial.config["x"] / 10
        saved.write_bytes(pickle.dumps(net))
        yield net.error

if __name__ == "__main__":
    study = ss.Study({"x": (0.0, 1.0)}, budget="40 steps", max_resource=9, method="asha", storage="s.db", name="s")
    study.run(train, workers=2)
    print(study.spent["steps"])
"""


def test_a_script_whose_checkpoints_hold_its_own_classes(folder):
    """Run by the workers of the script, then by those of the command line, then by the script itself."""
    (folder / "script.py").write_text(PICKLING)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "40", done.stderr
    running = command("resume", "s.db", "--objective", "script.py:train", "--budget", "80 steps", "--workers", "2")
    out, err = running.communicate(timeout=120)
    assert "80 of 80 spent" in out, err
    (folder / "script.py").write_text(PICKLING.replace("40 steps", "120 steps").replace("workers=2", "workers=1"))
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "120", done.stderr
    study = ss.Study.load("s.db")
    assert not [trial.message for trial in study.trials if trial.state == "failed"]
    assert len(study.history.readings) == 120, "no step was run twice"


def test_a_file_that_runs_a_study_when_it_is_imported_is_refused(folder):
    (folder / "unguarded.py").write_text(PICKLING.replace('if __name__ == "__main__":', "if True:"))
    line = refused("run", "unguarded.py:train", "--budget", "9 steps")
    assert "unguarded.py runs a study when it is imported" in line
    assert 'if __name__ == "__main__":' in line


def test_metrics_that_are_no_numbers_are_still_valid_json(folder):
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage="s.db")
    study.tell(study.ask(), ss.Reading(0.5, grad=float("nan")))
    for arguments in (("trials", "s.db", "--json"), ("export", "s.db", "--format", "json")):
        assert "nan" in good(*arguments)
        json.loads(good(*arguments), parse_constant=lambda constant: pytest.fail(f"{constant} is not JSON"))


def test_an_export_that_cannot_be_written_is_one_line(folder):
    ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage="s.db")
    result = CliRunner().invoke(main, ["export", "s.db", "--output", "no/such/folder/x.csv"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
