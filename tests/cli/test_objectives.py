"""Several objectives on the command line: values printed as JSON, the front as a table and as JSON."""

import json
import sys

from click.testing import CliRunner

from shoestring.cli import main
from shoestring.study import Study

PRINTS = "import sys, json; x = float(sys.argv[1]); print(json.dumps({'error': x, 'latency': 1 - x, 'note': 'n'}))"


def shoestring(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def run(tmp_path, *options):
    return shoestring(
        "run", "--budget", "6 evaluations", "--param", "x=0.0:1.0", "--method", "random", "--quiet", "--name", "s",
        "--storage", tmp_path / "s.db", *options, "--", sys.executable, "-c", PRINTS, "{x}",
    )  # fmt: skip


def test_a_command_prints_several_values_as_json(tmp_path):
    done = run(tmp_path, "--objectives", "error=min,latency", "--constraint", "latency <= 0.9")
    assert done.exit_code == 0, done.output
    assert "balances a front of" in done.output
    study = Study.load(tmp_path / "s.db", "s")
    assert study.history.opened.objectives == {"error": "min", "latency": "min"}
    assert study.history.opened.constraints == {"latency": "<= 0.9"}
    shown = shoestring("best", tmp_path / "s.db").output
    assert "error" in shown
    assert len(shown.splitlines()) == len(study.front) + 2
    found = json.loads(shoestring("best", tmp_path / "s.db", "--json").output)["front"]
    assert [one["values"] for one in found] == [member.values for member in study.front]
    assert "balances a front" in shoestring("status", tmp_path / "s.db").output
    assert json.loads(shoestring("status", tmp_path / "s.db", "--json").output)["best"]["front"]
    listed = shoestring("trials", tmp_path / "s.db", "--where", "latency<2").output
    assert listed.count("finished") == 6
    assert listed.splitlines()[0].split() == [
        "trial",
        "arm",
        "state",
        "step",
        "error",
        "latency",
        "front",
        "configuration",
    ]
    assert listed.count("at step 1") == len(study.front)


def test_without_objectives_several_values_fail_the_trial(tmp_path):
    done = CliRunner().invoke(
        main,
        ["run", "--budget", "2 evaluations", "--param", "x=0.0:1.0", "--method", "random", "--quiet", "--storage",
         str(tmp_path / "s.db"), "--", sys.executable, "-c", PRINTS, "{x}"],
    )  # fmt: skip
    assert done.exit_code != 0
    assert "say which one is tuned, value='error' (--value error)" in done.output
    assert "name them as objectives" in done.output


def test_a_plot_shows_the_chosen_objective(tmp_path):
    run(tmp_path, "--objectives", "error=min,latency")
    picture = tmp_path / "picture.svg"
    done = shoestring("plot", tmp_path / "s.db", "s", "history", "--objective", "latency", "-o", picture)
    assert done.exit_code == 0, done.output
    assert "best latency against the budget" in picture.read_text()
    done = shoestring("plot", tmp_path / "s.db", "s", "front", "--objective", "latency", "-o", picture)
    assert done.exit_code == 2
    assert "front shows no objective alone" in done.output
