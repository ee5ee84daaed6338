"""``python -m shoestring`` behaves as the ``shoestring`` command does."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main

COMMAND = "import sys; from shoestring.cli import main; sys.argv[0] = 'shoestring'; sys.exit(main())"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["demo", "--help"], 0),
        (["status", "missing.db"], 2),
        (["stauts"], 2),
        (["trials", "--last", "0"], 2),
        ([], None),  # click itself chooses the code of a call without a command
    ],
)
def test_it_prints_and_exits_as_the_command_does(arguments, code, tmp_path):
    module, command = (
        subprocess.run([sys.executable, *program, *arguments], capture_output=True, text=True, cwd=tmp_path)
        for program in (["-m", "shoestring"], ["-c", COMMAND])
    )
    assert (module.returncode, module.stdout, module.stderr) == (command.returncode, command.stdout, command.stderr)
    assert code in (None, module.returncode)
    assert "__main__" not in module.stdout + module.stderr


def test_best_names_the_trial_whose_files_are_kept(tmp_path):
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage=tmp_path / "s.db")
    for value in (3.0, 1.0, 2.0):
        study.tell(study.ask(), value)
    storage = str(tmp_path / "s.db")
    shown = CliRunner().invoke(main, ["best", storage])
    assert shown.stdout.startswith("1 by trial 1 (configuration 1)\n")
    assert json.loads(CliRunner().invoke(main, ["best", storage, "--json"]).stdout)["trial"] == study.best.trial == 1
