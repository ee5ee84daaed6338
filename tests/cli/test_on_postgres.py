"""The commands on a PostgreSQL storage, none of which shows the password."""

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main

COMMANDS = {
    "status": "finished",
    "best": "x =",
    "trials": "configuration",
    "export": "trial,arm",
    "verify": "grants are what the method decides",
    "watch --once": "study",
    "plot history": "history of study",
    "report": "<html",
    "resume --objective train.py:train": "shoestring trials",
}


@pytest.fixture
def storage(database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("def train(trial):\n    return trial.config['x']\n")
    address = database.replace("shoestring@", "shoestring:secret@")
    ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, budget="6 evaluations", method="random",
            storage=address, name="study", progress=False)  # fmt: skip
    return address


def test_the_commands(storage, tmp_path):
    for command, expected in COMMANDS.items():
        name, *options = command.split()
        done = CliRunner().invoke(main, [name, storage, "study", *options])
        assert done.exit_code == 0, done.output
        pages = "".join(path.read_text() for path in tmp_path.glob("*.html"))
        assert expected in done.output + pages, command
        assert "secret" not in done.output + pages, command
    done = CliRunner().invoke(main, ["repair", storage])
    assert done.exit_code == 2
    assert "is for SQLite files" in done.output
    assert "secret" not in done.output
