"""``shoestring run -- COMMAND``, its ``resume``, and ``ask``, ``tell`` and ``fail`` for shell scripts."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main
from shoestring.cli.run import _name_for as named_for
from shoestring.cli.space_options import space_of
from shoestring.core.workers import DETACHED
from shoestring.errors import SpaceError
from shoestring.spaces.parameters import LogRange
from tests.stored import edit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups need a Unix system")

TRAIN = """
step=$(cat "$4/step" 2>/dev/null || echo 0)
while [ "$step" -lt "$6" ]; do
  step=$((step + 1))
  echo $step > "$4/step"
  echo "{\\"step\\": $step, \\"loss\\": $(($2 * 100 / step))}"
done
"""
COMMAND = ["--", "sh", "train.sh", "--x", "{x}", "--checkpoint", "{directory}", "--epochs", "{until}"]
OPTIONS = ["--param", "x=1:40", "--max-resource", "9", "--method", "asha", "--value", "loss"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(TRAIN)


def shoestring(*arguments, **options):
    return CliRunner().invoke(main, arguments, **options)


def good(*arguments, **options):
    result = shoestring(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments):
    result = shoestring(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr.strip()


def test_run_tunes_a_command():
    text = good("run", *OPTIONS, "--budget", "40 steps", *COMMAND)
    assert "40 of 40 spent" in text
    study = ss.Study.load("shoestring.db")
    assert (study.name, study.spent["steps"]) == ("train", 40)
    assert study.best.value == study.best.config["x"] * 100 // study.best.step


def test_resume_shows_the_command_and_runs_it_if_somebody_agrees():
    good("run", *OPTIONS, "--budget", "20 steps", *COMMAND)
    assert "give --yes" in shoestring("resume", "--budget", "30 steps").stderr
    assert ss.Study.load("shoestring.db").budget == ss.Budget("20 steps")
    result = shoestring("resume", "--budget", "30 steps", "--yes")
    assert "running sh train.sh --x '{x}'" in result.stderr
    assert ss.Study.load("shoestring.db").spent["steps"] == 30


def test_a_worker_joins_the_study_of_a_command():
    good("run", *OPTIONS, "--budget", "10 steps", *COMMAND)
    ss.Study.load("shoestring.db", "train").budget = "20 steps"
    assert "give --yes" in shoestring("worker", "shoestring.db", "train").stderr
    assert "train is finished: 20 steps spent" in good("worker", "shoestring.db", "train", "--yes", "--quiet")
    good("ask", "digits", "--budget", "9 steps", "--param", "x=1:9", "--max-resource", "9")
    assert "give FILE:OBJECTIVE" in refused("worker", "shoestring.db", "digits")


def test_running_the_same_command_again_continues():
    for budget in ("20 steps", "30 steps"):
        good("run", *OPTIONS, "--budget", budget, *COMMAND)
    assert ss.Study.load("shoestring.db").spent["steps"] == 30


def test_a_command_with_many_lines_and_no_until_trains_in_one_go():
    script = "i=0; while true; do i=$((i + 1)); echo $(($1 + i)); done"
    good("run", *OPTIONS[:-2], "--budget", "30 steps", "--name", "live", "--", "sh", "-c", script, "sh", "{x}")
    study = ss.Study.load("shoestring.db", "live")
    assert all(r.value == t.config["x"] + step for t in study.trials for step, r in t.readings.items())


def test_an_edited_command_in_the_storage_is_checked():
    good("run", *OPTIONS, "--budget", "20 steps", *COMMAND)
    with sqlite3.connect("shoestring.db") as connection:
        body = json.loads(connection.execute("SELECT body FROM events WHERE seq = 0").fetchone()[0])
    connection.close()
    body["objective"] = '{"command": ["sh", "-c", "touch owned"], "shell": 1}'
    edit("shoestring.db", 0, body=json.dumps(body))
    assert "the command in the storage cannot be used" in refused("resume", "--budget", "30 steps", "--yes")
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--param", "x=1:9", "--", "sh", "{y}"], "placeholder {y}"),
        (["--", "sh", "{y}"], "give --param NAME=RANGE"),
        (["--param", "x=1:9"], "nothing to tune: give FILE:OBJECTIVE, a sweep file, or a command"),
        (["train.py:train", "--param", "x=1:9"], "--param is for a command"),
        (["train.py:train", "--", "sh"], "give one of them"),
        (["--param", "x", "--", "sh", "{x}"], "not NAME=RANGE"),
        (["--param", "x=log:1:2:3", "--", "sh", "{x}"], "log:LOW:HIGH"),
        (["--param", "x=0..1", "--", "sh", "{x}"], "such as x=0.0:1.0"),
        (["--param", "x=1:2:3", "--", "sh", "{x}"], "x=1:2:3 is not a range"),
        (["--param", "x=[1,", "--", "sh", "{x}"], "list of JSON"),
        (["--param", "x=2:1", "--", "sh", "{x}"], "the low end must be below"),
        (["--param", "x=1:9", "--param", "x=1:9", "--", "sh", "{x}"], "given twice"),
        (["--param", "x=1:9", "--", "sh", "{x}", "{until}"], "neither {directory}"),
        (["--param", "x=1:9", "--"], "a list of texts"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, message):
    assert message in refused("run", "--budget", "9 steps", *arguments)
    assert not Path("shoestring.db").exists()


def test_parameters_of_the_command_line():
    given = ["a=log:1e-4:1", "b=0.0:1", "c=1:4", "d=log:8:256", "e=relu, tanh", "f=adam", 'g=["a,b", null]', "h=-1:1"]
    assert space_of(given) == {
        "a": LogRange(1e-4, 1), "b": (0.0, 1.0), "c": (1, 4), "d": LogRange(8, 256), "e": ["relu", "tanh"],
        "f": ["adam"], "g": ["a,b", None], "h": (-1, 1),
    }  # fmt: skip
    with pytest.raises(SpaceError):
        space_of(["=1:2"])


def test_a_space_of_a_file():
    Path("spaces.py").write_text("import shoestring as ss\nwide = ss.space(x=(1, 40))\n")
    good(
        "run",
        "--space",
        "spaces.py:wide",
        "--budget",
        "3 evaluations",
        "--name",
        "s",
        "--",
        "sh",
        "-c",
        "echo $0",
        "{x}",
    )
    assert len(ss.Study.load("shoestring.db").trials) == 3


ASK = ["ask", "digits", "--budget", "20 steps", *OPTIONS[:-2]]


def asked():
    return json.loads(good(*ASK, "--json"))


def test_a_shell_script_asks_and_tells():
    """As its users run it: every command in a process of its own."""
    script = f"""
    shoestring() {{ {shlex.quote(sys.executable)} -m shoestring "$@"; }}
    while grant=$(shoestring {shlex.join(ASK)}); do
      eval "$grant"
      sh train.sh --x "$ss_x" --checkpoint "$ss_directory" --epochs "$ss_until" |
        shoestring tell digits $ss_trial - --value loss
    done
    echo "ended with $?"
    """
    script = script.replace("20 steps", "6 steps")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120)
    assert "digits: finished" in done.stderr
    study = ss.Study.load("shoestring.db", "digits")
    assert study.spent["steps"] == 6
    assert max(trial.step for trial in study.trials) == 3, "no trial was continued"
    for trial in study.trials:
        assert all(reading.value == trial.config["x"] * 100 // step for step, reading in trial.readings.items())
    assert study.verify().ok


def test_what_is_asked_for_is_nobodys_to_take_over():
    first = asked()
    assert ss.Study.load("shoestring.db", "digits").trials[0].worker == DETACHED
    study = ss.Study.load("shoestring.db", "digits")
    assert study.ask().trial == 1
    assert asked()["trial"] == 2
    assert "asked by hand, runs trial 0, 2" in good("status", "shoestring.db", "digits")
    assert "digits: running" in good("status", "shoestring.db", "digits")
    good("release", "digits", "0")
    again = asked()
    assert (again["trial"], again["config"], again["start"]) == (0, first["config"], 0)
    assert again["directory"] != first["directory"], "the one that had it may still write there"


def test_a_trial_that_is_released_continues_from_what_was_told():
    for _ in range(4):
        grant = asked()
        folder = Path(grant["directory"])
        if grant["start"]:
            break
        (folder / "step").write_text("told")
        good("tell", "digits", str(grant["trial"]), str(grant["config"]["x"]))
    assert (grant["start"], grant["until"], (folder / "step").read_text()) == (1, 3, "told")
    (folder / "step").write_text("half done")
    good("release", "digits", str(grant["trial"]))
    again = asked()
    assert (again["trial"], again["start"]) == (grant["trial"], 1)
    assert (Path(again["directory"]) / "step").read_text() == "told"


def test_tell_takes_numbers_and_json():
    study = ss.Study(
        {"x": (1, 40)}, budget="99 steps", max_resource=9, method="random", storage="shoestring.db", name="r"
    )
    del study
    for values, told in (
        (["-0.5"], {9: -0.5}),
        (["1", "2", "3"], {1: 1, 2: 2, 3: 3}),
        (['{"step": 2, "loss": 0.5, "acc": 1}', "--value", "loss"], {2: 0.5}),
    ):
        trial = json.loads(good("ask", "r", "--json"))["trial"]
        good("tell", "r", str(trial), *values)
        record = ss.Study.load("shoestring.db", "r").trials[trial]
        assert {step: reading.value for step, reading in record.readings.items()} == told
    assert "'x' is not a number or JSON" in refused("tell", "r", str(trial), "x")
    assert "is not JSON with 'loss'" in refused("tell", "r", str(trial), "1", "--value", "loss")
    assert "outside of the grant" in refused("tell", "r", str(trial), '{"step": 12, "loss": 1}')
    assert "trial 0 is finished" in refused("tell", "r", "0", "1")
    assert "trial 7 is unknown" in refused("tell", "r", "7", "1")
    assert "nothing is told" in shoestring("tell", "r", str(trial), "-", input="chatter\n").stderr


def test_ask_ignores_no_option():
    asked()
    assert "--param describes a study, as --budget does" in refused("ask", "digits", "--param", "lr=0.0:1")
    assert "--mode describes a study" in refused("ask", "digits", "--mode", "max")


def test_fail_keeps_the_message_and_a_bad_value_fails():
    trial = str(asked()["trial"])
    assert json.loads(good("fail", "digits", trial, "out of memory", "--json")) == {
        "trial": 0, "state": "failed", "step": 0, "value": None, "message": "out of memory",
    }  # fmt: skip
    asked()
    assert "trial 1: failed (the reading is nan" in good("tell", "digits", "1", "nan")


def test_ask_says_whether_the_study_is_over_or_waits():
    assert "give --budget and --param to create it" in refused("ask", "digits", "--storage", "none.db")
    ask = ["ask", "one", "--budget", "1 evaluations", "--param", "x=1:9"]
    grant = json.loads(good(*ask, "--json"))
    assert shoestring(*ask).exit_code in (3, 4)
    good("tell", "one", str(grant["trial"]), "1")
    result = shoestring(*ask)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "one: finished" in result.stderr


def test_ask_can_wait_for_a_trial_that_is_running():
    ask = ["ask", "r", "--budget", "3 steps", "--max-resource", "3", "--param", "x=1:9", "--method", "random", "--json"]
    good(*ask)
    assert shoestring(*ask).exit_code == 4
    timer = threading.Timer(0.3, lambda: good("fail", "r", "0", "no"))  # one step is charged, and two are free again
    timer.start()
    grant = json.loads(good(*ask, "--wait"))
    timer.join()
    assert (grant["trial"], grant["until"]) == (1, 2)


def test_variables_of_a_shell_are_quoted_and_unset():
    Path("spaces.py").write_text(
        "from ConfigSpace import ConfigurationSpace, EqualsCondition\n"
        'space = ConfigurationSpace({"kind": ["a b; $(touch owned)"], "c": (0.5, 1.0), "on": [True, False]})\n'
        'space.add(EqualsCondition(space["c"], space["on"], True))\n'
    )
    seen = set()
    for _ in range(6):
        text = good("ask", "s", "--space", "spaces.py:space", "--budget", "6 evaluations", "--method", "random")
        script = f'ss_c=old\n{text}\nprintf "%s|%s|%s" "$ss_kind" "$ss_on" "${{ss_c-unset}}"'
        kind, on, c = subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout.split("|")
        assert kind == "a b; $(touch owned)"
        assert (c == "unset") == (on == "false")
        seen.add(on)
    assert seen == {"true", "false"}
    assert not Path("owned").exists()


@pytest.mark.parametrize("name", ["seed", "a.b", "é"])
def test_names_that_are_no_variables_need_json(name):
    ask = ["ask", "s", "--param", f"{name}=1:9", "--budget", "9 evaluations"]
    assert "use --json" in refused(*ask)
    assert set(json.loads(good(*ask, "--json"))["config"]) == {name}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "train.py"], "train"), ([sys.executable, "train.py"], "train"),
        (["./train.py", "data.csv"], "train"),
        ([sys.executable, "-u", "train.py", "--data", "data.csv"], "train"), (["python", "-m", "pack.train"], "train"),
        (["bash", "train.py"], "train"), (["trainer", "--lr", "1"], "trainer"),
    ],
)  # fmt: skip
def test_a_study_of_a_command_is_named_after_its_script(command, name):
    Path("train.py").write_text("")
    Path("data.csv").write_text("")
    assert named_for(command) == name
