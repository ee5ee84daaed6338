"""Files around the code: the package's description, the bounds of its dependencies, the workflow, the systems."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

import shoestring as ss
from shoestring.core.workers import new_worker, process_is_gone
from shoestring.errors import MethodError, ObjectiveError
from shoestring.executors import Processes

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = (ROOT / "README.md").read_text()
RELATIVE = re.compile(r"\]\((?!https?:|#|mailto:)")


def pinned(name):
    lines = (line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return {line.partition("==")[0].lower(): line.partition("==")[2] for line in lines if line}


def needed():
    """The dependencies of the core and of the extras that the tests need, with their lower bounds."""
    extras = PROJECT["optional-dependencies"]
    for line in [*PROJECT["dependencies"], *(one for e in ("test", "plots", "dashboard", "report", "postgres", "optuna")
                                              for one in extras[e])]:  # fmt: skip
        if not line.startswith("shoestring["):
            name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups()
            yield name.lower(), bound


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lowest_constraints_are_the_lower_bounds():
    lowest = pinned("constraints-lowest.txt")
    for name, bound in needed():
        held = lowest[name]
        assert held == bound or re.fullmatch(rf"{re.escape(bound)}(\.0)+", held), f"{name}: >={bound} and =={held}"


@pytest.mark.parametrize("source", [None, "https://example.org/shoestring"])
def test_no_link_of_the_long_description_is_relative(source):
    assert RELATIVE.search(README), "otherwise this shows nothing"
    text = load("hatch_build").long_description(README, source)
    assert not RELATIVE.search(text)
    assert text.startswith("# shoestring")
    assert ("https://example.org/shoestring/raw/main/docs/pictures/" in text) == (source is not None)


def test_the_version_is_the_same_everywhere():
    changes = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    cited = re.search(r"version = \{(.*)\}", (ROOT / "docs/citing.md").read_text())[1]
    recorded = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert {changes, cited, recorded} == {ss.__version__}


def test_every_job_of_the_workflow_is_one_of_the_script():
    script = (ROOT / ".ci/run").read_text()
    jobs = set(re.findall(r"^    (\w+)\) ", script, re.MULTILINE)) - {"all"}
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    called = set(re.findall(r"\.ci/run (\w+)", workflow)) | set(re.findall(r"job: (\w+)", workflow))
    called |= set(re.search(r"job: \[(.*)\]", workflow)[1].split(", "))
    assert called == jobs
    targets = set(re.findall(r"make ([\w -]+?)(?: ;;| \|\|| &&|;)", script))
    makefile = (ROOT / "Makefile").read_text()
    for target in {word for words in targets for word in words.split()} - {"and"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def test_the_versions_of_python_are_the_same_everywhere():
    classified = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={classified[0]}"
    matrix = re.search(r"python: (\[.*\])", (ROOT / ".github/workflows/ci.yml").read_text())[1]
    assert re.findall(r"3\.\d+", matrix) == classified


def test_windows_has_no_worker_processes_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(MethodError, match=r"need Linux or macOS.*executors\.Futures"):
        Processes(2).open(lambda trial: trial.config["x"], tmp_path)
    with pytest.raises(ObjectiveError, match="commands need Linux or macOS"):
        ss.Command(["echo", "{x}"]).check(["x"], None)


def test_no_signal_is_sent_on_windows_where_it_would_be_ctrl_c(monkeypatch):
    worker = new_worker()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("os.kill", lambda *_: pytest.fail("os.kill(pid, 0) is Ctrl-C there"))
    assert process_is_gone(worker) is None
