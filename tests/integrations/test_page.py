"""The snippets of the page about integrations, and the examples that it compares with Optuna."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.integrations.training import NEED
from tests.test_docs import snippets

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "integrations.md"
NEEDS = {"pytorch": "torch", "partial_fit": "sklearn"}
TABLE = re.findall(r"\| \[report_(\w+)\.py\]\([^)]*\) \| (\d+) \| \[(\d+)\]", PAGE.read_text())


def skip_without(name):
    if find_spec(name) is None:
        pytest.skip(f"{name} {NEED}")


@pytest.mark.filterwarnings("ignore")  # what the frameworks warn about is theirs
@pytest.mark.parametrize("number", range(len(snippets(PAGE))))
def test_snippets_run(number, tmp_path, monkeypatch):
    body = snippets(PAGE)[number]
    for name in re.findall(r"^(?:import|from) (\w+)", body, re.MULTILINE):
        skip_without(name)
    if "import keras" in body:
        skip_without("torch")
        monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.chdir(tmp_path)
    exec(compile(body, f"{PAGE.name} {number}", "exec"), {"__name__": "page"})


@pytest.mark.parametrize(("name", "lines", "others"), TABLE, ids=[row[0] for row in TABLE])
def test_the_table_counts_the_lines(name, lines, others):
    for folder, count in (("", lines), ("optuna/", others)):
        assert len((ROOT / f"examples/{folder}report_{name}.py").read_text().splitlines()) == int(count)


@pytest.mark.parametrize("folder", ["", "optuna/"])
@pytest.mark.parametrize("name", [row[0] for row in TABLE])
def test_examples(name, folder, tmp_path):
    skip_without(NEEDS.get(name, name))
    if folder:
        skip_without("optuna")
    command = [sys.executable, str(ROOT / f"examples/{folder}report_{name}.py"), "2" if folder else "12"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"(error|loss) 0\.\d+ with {", done.stdout)
