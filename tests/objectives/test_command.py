"""Commands as objectives: real programs, good and bad ones."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.events import Adopted
from shoestring.errors import CommandError, EverythingFailed, ObjectiveError
from shoestring.executors.processes import Processes
from shoestring.objectives.command.definition import Command, command_from_log
from shoestring.objectives.command.process import CommandProcess

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups need a Unix system")

# A training in plain sh: it continues from its checkpoint, and prints one line for each epoch.
TRAIN = """
step=$(cat "$2/step" 2>/dev/null || echo 0)
while [ "$step" -lt "$3" ]; do
  step=$((step + 1))
  echo $step > "$2/step"
  echo "{\\"step\\": $step, \\"loss\\": $(($1 * 100 / step)), \\"epoch\\": $step, \\"note\\": \\"x\\"}"
done
"""
BY_GRANT = ("sh", "-c", TRAIN, "sh", "{x}", "{directory}", "{until}")
SPACE = {"x": (1, 40)}


def sh(script, *arguments, **options):
    return Command(["sh", "-c", script, "sh", *(arguments or ("{x}",))], **options)


def only_failure(command, max_resource=None):
    """The message of the only trial of a command that fails."""
    study = ss.Study(SPACE, budget="1 evaluations", max_resource=max_resource, method="random")
    with suppress(EverythingFailed):  # unless it gave a reading before
        study.run(command)
    assert study.trials[0].state == "failed"
    return study.trials[0].message


def test_what_a_command_prints_to_standard_error_does_not_fill_the_disk(monkeypatch):
    monkeypatch.setattr("shoestring.objectives.command.process._MOST_ERRORS", 10_000)
    noise = "i=0; while [ $i -lt 100 ]; do printf '%4000s\\n' noise >&2; i=$((i + 1)); done"
    with CommandProcess(["sh", "-c", f"{noise}; echo 1; {noise}; echo last >&2; exit 3"]) as command:
        assert list(command.lines()) == ["1"]
        with pytest.raises(CommandError, match=r"exit code 3: .*noise \| last"):
            command.check()
        assert os.fstat(command._errors.fileno()).st_size <= 10_000


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def is_running(pid):
    """Return whether a process exists that is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_last_line_is_the_value_of_a_black_box():
    study = ss.tune(sh("echo starting; echo $(($1 * $1)); echo"), SPACE, budget="5 evaluations", method="random")
    assert all(trial.readings[1].value == trial.config["x"] ** 2 for trial in study.trials)


def test_a_value_in_json_has_metrics_and_a_cost():
    script = 'echo "{\\"loss\\": $1, \\"acc\\": 0.5, \\"cost\\": 2, \\"ok\\": true, \\"name\\": \\"n\\"}"; echo done'
    study = ss.tune(sh(script, value="loss"), SPACE, budget="6 cost", method="random")
    assert len(study.trials) == 3
    for trial in study.trials:
        assert trial.readings[1] == ss.Reading(trial.config["x"], cost=2.0, acc=0.5)


@pytest.mark.parametrize(
    ("line", "value"), [('{"value": 3, "other": 4}', 3), ('{"step": 1, "loss": 2.5}', 2.5), ("1e-3", 1e-3), (" 7 ", 7)]
)
def test_forms_of_a_value(line, value):
    command = sh('echo "$2"', "{x}", line.replace("{", "{{").replace("}", "}}"))
    study = ss.tune(command, SPACE, budget="1 evaluations")
    assert study.best.value == value


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        ("echo 0.5; echo done", {}, "the last line is 'done'"),
        (":", {}, "it is empty"),
        ("echo nan", {}, "the reading is nan"),
        ("echo inf", {}, "the reading is inf"),
        ('echo \'{"loss": null}\'', {"value": "loss"}, "not a number"),
        ('echo \'{"a": 1, "b": 2}\'', {}, "say which one is tuned, value='a' (--value a)"),
        ('echo \'{"a": 1}\'', {"value": "loss"}, "a line of JSON with 'loss'"),
        ("echo 0.5; echo one >&2; echo two >&2; exit 3", {}, "ended with exit code 3: one | two"),
        ("echo 0.5; kill -SEGV $$", {}, "was ended by SIGSEGV"),
        ("echo 0.5; kill -9 $$", {}, "was ended by SIGKILL (the system may have run out of memory)"),
        ("head -c 3000 /dev/urandom", {}, "the command gave no value"),
        ("head -c 2000000 /dev/zero", {}, "a line of more than"),
        (":", {"file": "/nowhere/at/all"}, "/nowhere/at/all cannot be read: No such file"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_the_failure_of_the_trial(script, options, message):
    said = only_failure(sh(script, **options))
    assert message in said
    assert "\n" not in said
    assert all(character.isprintable() for character in said)


def test_the_error_messages_of_a_program_are_short_and_plain():
    said = only_failure(sh(r"for i in 1 2 3 4 5 6 7 8 9; do printf '\033[31mline %s\r' $i >&2; done; exit 1"))
    assert said.endswith(": [31mline 4 | [31mline 5 | [31mline 6 | [31mline 7 | [31mline 8 | [31mline 9")


def test_values_are_passed_as_they_are():
    nasty = ["$(touch owned); `x` && \" ' \\ {x} * \n", "-rf", ""]
    study = ss.tune(
        Command([sys.executable, "-c", "import sys; print(len(sys.argv[1]))", "{text}"]),
        {"text": nasty}, budget="3 evaluations", method="grid",
    )  # fmt: skip
    assert {trial.config["text"]: trial.readings[1].value for trial in study.trials} == {t: len(t) for t in nasty}


def test_other_values_are_passed_as_json():
    space = {"x": (1, 2), "flag": [True], "none": [None], "many": [[1, "a"]], "rate": (0.1, 0.2)}
    told = []

    class Listening(Command):
        def __call__(self, trial):
            told.append((self.arguments(trial, 3, 7), trial.config))
            return 0.0

    argv = ["true", "{flag}", "{none}", "{many}", "--rate={rate}", "{start}-{{{until}}}", "{x}", "{trial}"]
    ss.tune(Listening(argv), space, budget="7 steps", max_resource=7, method="random")
    arguments, config = told[0]
    assert arguments[:5] == ["true", "true", "null", '[1, "a"]', f"--rate={config['rate']!r}"]
    assert arguments[5:] == ["3-{7}", str(config["x"]), "0"]


def test_a_parameter_that_is_not_active_is_left_out_with_its_option():
    from ConfigSpace import ConfigurationSpace, EqualsCondition

    space = ConfigurationSpace({"kind": ["a", "b"], "c": (0.5, 1.0)})
    space.add(EqualsCondition(space["c"], space["kind"], "a"))
    command = sh('echo $#; : "$@"', "--kind", "{kind}", "--c", "{c}", "--again={c}")
    study = ss.tune(command, space, budget="8 evaluations", method="random")
    assert {(trial.config["kind"], trial.readings[1].value) for trial in study.trials} == {("a", 5.0), ("b", 2.0)}


def test_a_negative_number_is_no_option_of_the_argument_after_it():
    space = ss.space(ss.when("more", "x > 0"), x=(-9, 9), more=(0.0, 1.0))
    command = sh("echo $1", "{x}", "{more}")
    study = ss.tune(command, space, budget="8 evaluations", method="random")
    assert [trial.readings[1].value for trial in study.trials] == [trial.config["x"] for trial in study.trials]
    assert min(trial.config["x"] for trial in study.trials) < 0


@pytest.mark.parametrize("executor", [None, Processes(2)], ids=["inline", "processes"])
def test_a_command_continues_from_its_checkpoint(tmp_path, executor):
    command = Command(BY_GRANT, value="loss")
    study = ss.tune(
        command, SPACE, budget="60 steps", max_resource=9, method="asha", executor=executor,
        storage=f"sqlite:///{tmp_path}/s.db", name="s",
    )  # fmt: skip
    assert study.spent["steps"] == 60
    assert any(trial.step == 9 for trial in study.trials)
    for trial in study.trials:
        for step, reading in trial.readings.items():
            assert reading == ss.Reading(trial.config["x"] * 100 // step, epoch=step)
    assert (study.directory(best=True) / "step").read_text() == f"{study.best.step}\n"
    assert study.verify().ok


def test_it_is_started_once_for_a_grant_and_again_after_every_so_many_steps(tmp_path):
    counting = f"echo >> {tmp_path}/starts\n" + TRAIN
    for every, starts in ((None, 1), (4, 3)):
        (tmp_path / "starts").unlink(missing_ok=True)
        command = sh(counting, "{x}", "{directory}", "{until}", value="loss", every=every)
        ss.tune(command, SPACE, budget="9 steps", max_resource=9, method="random")
        assert (tmp_path / "starts").read_text().count("\n") == starts


def test_lines_of_steps_that_are_known_do_not_matter():
    script = (
        'i=0; : "$2"; while [ $i -lt $3 ]; do i=$((i + 1)); echo "{\\"step\\": $i, \\"v\\": $((100 * $1 + i))}"; done'
    )
    study = ss.tune(sh(script, "{x}", "{start}", "{until}"), SPACE, budget="30 steps", max_resource=9, method="asha")
    assert max(trial.step for trial in study.trials) == 9
    for trial in study.trials:
        assert all(reading.value == 100 * trial.config["x"] + step for step, reading in trial.readings.items())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("for i in 1 2 3 4 5; do echo $i; done", "a reading after step 3, where it had to end"),
        ('echo \'{"step": 1, "v": 1}\'; echo \'{"step": 3, "v": 1}\'', "printed step 3 after step 1"),
        ('echo \'{"step": 0.5, "v": 1}\'', "the step 0.5; a step is a whole number"),
        ("echo 1; echo 2; exit 4", "ended with exit code 4"),
        ("echo chatter", "the command gave no value"),
    ],
)
def test_steps_that_cannot_be(script, message):
    assert message in only_failure(sh(script, "{x}", "{start}", "{until}"), max_resource=3)


def test_a_command_may_end_early():
    command = sh("echo 3; echo 2", "{x}", "{start}", "{until}")
    study = ss.tune(command, SPACE, budget="2 evaluations", max_resource=9, method="random")
    assert {(trial.state, trial.step) for trial in study.trials} == {("finished", 2)}


LIVE = 'echo $$ >> "$2"; for i in 1 2 3 4 5 6 7 8 9; do echo $(($1 * 10 + i)); done'


def test_a_command_that_trains_in_one_go_is_stopped_between_two_grants(tmp_path):
    pids = tmp_path / "pids"
    endless = 'echo $$ >> "$2"; i=0; while true; do i=$((i + 1)); echo $(($1 * 10 + i)); sleep 0.001; done'
    command = sh(endless, "{x}", str(pids), steps=9)
    study = ss.tune(command, SPACE, budget="40 steps", max_resource=9, method="asha")
    assert study.spent["steps"] == 40
    assert max(trial.step for trial in study.trials) == 9
    for trial in study.trials:
        assert all(reading.value == 10 * trial.config["x"] + step for step, reading in trial.readings.items())
    started = pids.read_text().split()
    assert len(started) == len(study.trials), "a trial was started twice"
    assert not any(is_running(pid) for pid in started)


def test_the_last_line_of_a_command_in_one_go_is_followed_by_its_end():
    study = ss.Study(SPACE, budget="1 evaluations", max_resource=9, method="random")
    study.run(sh(LIVE + "; exit 5", "{x}", os.devnull, steps=9))
    assert (study.trials[0].state, study.trials[0].step) == ("failed", 8)
    assert "exit code 5" in study.trials[0].message


def test_the_value_can_be_in_a_file():
    script = 'echo chatter; printf \'{\\n "loss": %s,\\n "acc": 0.5\\n}\' $1 > "$2/result.json"'
    command = sh(script, "{x}", "{directory}", value="loss", file="{directory}/result.json")
    study = ss.tune(command, SPACE, budget="2 evaluations", method="random")
    assert [trial.readings[1].value for trial in study.trials] == [trial.config["x"] for trial in study.trials]


def test_steps_can_be_in_a_file():
    script = TRAIN.replace('\\"note\\": \\"x\\"}"', '\\"note\\": \\"x\\"}" >> "$2/log"')
    command = sh(script, "{x}", "{directory}", "{until}", value="loss", file="{directory}/log")
    study = ss.tune(command, SPACE, budget="30 steps", max_resource=9, method="asha")
    assert max(trial.step for trial in study.trials) == 9


@pytest.mark.parametrize("executor", [None, Processes(2)], ids=["inline", "processes"])
def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, executor):
    script = f"sleep 1000 & echo $! >> {tmp_path}/pids; echo $$ >> {tmp_path}/pids; : $1; wait"
    study = ss.Study(SPACE, budget="2 evaluations", method="random")
    with pytest.raises(EverythingFailed):
        study.run(sh(script), step_timeout=2, executor=executor)
    assert {trial.state for trial in study.trials} == {"failed"}
    assert "step_timeout=2" in study.trials[0].message
    wait_for(lambda: not any(map(is_running, (tmp_path / "pids").read_text().split())))


def test_a_command_that_ignores_the_request_to_end_is_killed(tmp_path, monkeypatch):
    from shoestring.objectives.command import process as command_process

    monkeypatch.setattr(command_process, "GRACE", 0.2)
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; echo $1; while true; do sleep 0.05; done"
    study = ss.Study(SPACE, budget="1 evaluations", method="random")
    with pytest.raises(EverythingFailed):
        study.run(sh(script), trial_timeout=2)
    assert not is_running((tmp_path / "pid").read_text().strip())


def test_a_command_is_asked_to_end_before_it_is_killed(tmp_path):
    script = f"trap 'echo bye > {tmp_path}/said; exit' TERM; echo $1; while true; do sleep 0.05; done"
    study = ss.Study(SPACE, budget="1 evaluations", method="random")
    with pytest.raises(EverythingFailed):
        study.run(sh(script), trial_timeout=2)
    assert (tmp_path / "said").exists()


def test_the_end_of_the_time_ends_the_command(tmp_path):
    script = f"echo $$ > {tmp_path}/pid; echo 1; : $1; sleep 1000"
    study = ss.tune(sh(script, steps=9), SPACE, budget="2 seconds", max_resource=9, method="random")
    assert study.trials[0].state == "stopped"
    assert not is_running((tmp_path / "pid").read_text().strip())


def test_what_a_command_leaves_behind_does_not_hold_its_output_open(tmp_path):
    script = f"sleep 1000 & echo $! >> {tmp_path}/pids; echo $1"
    study = ss.tune(sh(script), SPACE, budget="2 evaluations", method="random")
    assert [trial.readings[1].value for trial in study.trials] == [trial.config["x"] for trial in study.trials]
    wait_for(lambda: not any(map(is_running, (tmp_path / "pids").read_text().split())))


def test_what_a_command_leaves_behind_may_print_for_ever():
    script = """yes & sleep 0.3; printf '\\n{"loss": 0.5}\\n'"""
    study = ss.tune(sh(script, value="loss"), SPACE, budget="1 evaluations", method="random")
    assert study.trials[0].readings[1].value == 0.5


PROGRAM = """
import sys
import shoestring as ss
train = {train!r}
command = ss.Command(["sh", "-c", train, "sh", "{{x}}", "{{directory}}", "{{until}}"], value="loss")
ss.tune(command, {{"x": (1, 40)}}, budget="40 steps", max_resource=9, method="asha", storage={storage!r}, name="s",
        workers=int(sys.argv[1]), retries=1000, progress=False)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_study_ends_its_commands_and_continues(tmp_path, workers):
    storage = f"sqlite:///{tmp_path}/s.db"
    slow = TRAIN.replace("step=$((step + 1))", f"echo $$ >> {tmp_path}/pids; sleep 0.02; step=$((step + 1))")
    program = PROGRAM.format(train=slow, storage=storage)
    for kill in range(2):
        process = subprocess.Popen([sys.executable, "-c", program, str(workers)])
        wait_for(lambda: (tmp_path / "pids").exists())
        time.sleep(0.1 * (kill + 1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda: not any(map(is_running, (tmp_path / "pids").read_text().split())))
        (tmp_path / "pids").unlink()
    subprocess.run([sys.executable, "-c", program, str(workers)], check=True, timeout=120)
    study = ss.Study.load(storage, "s")
    assert any(isinstance(event, Adopted) for event in study.events())
    for trial in study.trials:  # a checkpoint that was ahead of the log would show in the values
        assert all(reading.value == trial.config["x"] * 100 // step for step, reading in trial.readings.items())
    assert study.verify().ok


def test_ctrl_c_ends_the_command(tmp_path):
    train = f"echo $$ > {tmp_path}/pid; sleep 1000; " + TRAIN
    program = PROGRAM.format(train=train, storage=f"sqlite:///{tmp_path}/s.db")
    process = subprocess.Popen([sys.executable, "-c", program, "1"], stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) != 0
    wait_for(lambda: not is_running((tmp_path / "pid").read_text().strip()))


@pytest.mark.parametrize(
    ("argv", "options", "message"),
    [
        ("python train.py --lr {x}", {}, "['python', 'train.py', '--lr', '{x}']"),
        ([], {}, "a list of texts"),
        (["sh", 3], {}, "a list of texts"),
        (["sh", "{x}\0"], {}, "null character"),
        (["sh", "{x}", "{until}"], {}, "neither {directory}"),
        (["sh", "{x}", "{start}"], {}, "{start} but not {until}"),
        (["sh", "{x}", "{until}", "{start}"], {"steps": 3}, "ends after a grant or trains in one go"),
        (["sh", "{x}"], {"every": 3}, "needs a command with {until}"),
        (["sh", "{x}"], {"steps": 0}, "a whole number from 1"),
        (["sh", "{x}"], {"value": ""}, "a text, or left out"),
    ],
)
def test_commands_that_cannot_be(argv, options, message):
    with pytest.raises(ObjectiveError) as raised:
        Command(argv, **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("command", "max_resource", "message"),
    [
        (Command(["sh", "{x}", "{lr}"]), None, "placeholder {lr}; it can name the parameters x, or start, until"),
        (Command(["sh", "-c", "true"]), None, "names no parameter"),
        (Command(["no-such-program", "{x}"]), None, "no program 'no-such-program'"),
        (Command(["sh", "{x}"]), 9, "give it {until} and {directory}"),
        (Command(["sh", "{x}"], steps=9), None, "max_resource=..."),
        (Command(["sh", "{x}"], steps=9), 3, "prints 9 lines (steps=), but max_resource is 3"),
    ],
)
def test_commands_that_do_not_fit_the_study_are_refused_before_it_is_stored(tmp_path, command, max_resource, message):
    with pytest.raises(ObjectiveError) as raised:
        ss.tune(command, SPACE, budget="9 steps", max_resource=max_resource, storage=f"sqlite:///{tmp_path}/s.db")
    assert message in str(raised.value)
    assert not (tmp_path / "s.db").exists()


def test_a_parameter_with_the_name_of_a_placeholder_is_refused():
    with pytest.raises(ObjectiveError, match="rename the parameter"):
        ss.tune(sh("echo 1", "{seed}"), {"seed": (1, 9)}, budget="1 evaluations")


def test_the_log_holds_the_command(caplog):
    command = sh("echo $1", value=None)
    study = ss.tune(command, SPACE, budget="1 evaluations")
    assert command_from_log(study.history.opened.objective) == command == pickle.loads(pickle.dumps(command))
    study.budget = "2 evaluations"
    study.run(command)
    assert not caplog.records
    study.budget = "3 evaluations"
    study.run(sh("echo  $1"))
    assert "continues with" in caplog.text


@pytest.mark.parametrize(
    "place",
    [
        '{"command": "rm -rf"}',
        '{"command": []}',
        '{"command": ["a"], "shell": true}',
        '{"command": ["a"}',
        '{"command": 1}',
    ],
)
def test_a_command_in_a_storage_is_checked(place):
    with pytest.raises(ObjectiveError, match="cannot be used"):
        command_from_log(place)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_command_in_another_language():
    script = "const x = +process.argv[1]; console.log(JSON.stringify({{loss: (x - 3) ** 2, acc: 1}}))"
    command = Command(["node", "-e", script, "{x}"], value="loss")
    study = ss.tune(command, {"x": (0, 5)}, budget="6 evaluations", method="grid")
    assert study.best.config == {"x": 3}


def test_python_prints_each_line_at_once(tmp_path):
    script = f"""
import time, pathlib
for step in range(3):
    print(step)
    while step == 0 and not pathlib.Path({str(tmp_path)!r}, "seen").exists():
        time.sleep(0.01)
"""
    study = ss.Study(SPACE, budget="3 steps", max_resource=3, method="random")

    class Seen:
        def __init__(self, command):
            self.command = command

        def __call__(self, trial):
            for reading in self.command(trial):
                (tmp_path / "seen").touch()
                yield reading

    study.run(Seen(Command([sys.executable, "-c", script, "{x}"], steps=3)))
    assert [reading.value for reading in study.trials[0].readings.values()] == [0, 1, 2]


def test_the_place_is_json():
    command = Command(["a b", "{x}"], value="loss", every=None, steps=3)
    assert json.loads(command.place) == {"command": ["a b", "{x}"], "value": "loss", "steps": 3}
    assert str(Command(["a b", "\x1b[31m{x}"])) == "'a b' '\\x1b[31m{x}'"
