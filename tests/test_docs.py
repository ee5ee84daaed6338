"""The snippets of every page run, in order, each page by itself; its links lead somewhere; the site can be built."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import click
import pytest

from shoestring.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
APART = {"recipes.md"}  # pages whose snippets have nothing to do with each other
TUTORIAL = [ROOT / "docs" / f"tutorial{part}.md" for part in ("", "_budget", "_workers", "_results")]
ELSEWHERE = {"integrations.md"}  # each of its snippets needs another framework: tests/integrations runs them
EXTRAS = {"torch": "shoestring[augment]"}

sys.path.insert(0, str(ROOT / "docs"))
import one_grant
import site_pages


def snippets(page, language="python"):
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(body) for body in found]


def missing_from(bodies):
    """The first package that snippets import and that is not installed here."""
    imported = re.findall(r"^(?:import|from) (\w+)", "\n".join(bodies), re.MULTILINE)
    return next((name for name in imported if importlib.util.find_spec(name) is None), None)


def groups():
    """Group the snippets that run together: the snippets of a page, or each by itself; the pages of the tutorial are
    one script.
    """
    for page in (page for page in PAGES if page.name not in ELSEWHERE and page not in TUTORIAL[1:]):
        bodies = [body for one in (TUTORIAL if page == TUTORIAL[0] else [page]) for body in snippets(one)]
        for number, part in enumerate([[body] for body in bodies] if page.name in APART else [bodies]):
            if part:
                yield pytest.param(page, part, id=f"{page.name}-{number}" if page.name in APART else page.name)


@pytest.mark.parametrize(("page", "bodies"), list(groups()))
def test_snippets_run(page, bodies, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if missing := missing_from(bodies):
        pytest.skip(f"{page.name} needs {missing}: pip install '{EXTRAS.get(missing, missing)}'")
    names = {"__name__": "page"}
    with warnings.catch_warnings():
        if page.name in APART:
            warnings.simplefilter("ignore")  # those of the frameworks
        for body in bodies:
            exec(compile(body, page.name, "exec"), names)


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "README.md"]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def commands():
    """The command lines of the pages that a shell would pass on as they are."""
    for page in PAGES:
        lines = page.read_text().replace("\\\n", " ").splitlines()
        for line in lines:
            if line.startswith("shoestring ") and not set(line.partition("#")[0]) & set("|<>$…["):
                yield pytest.param(shlex.split(line, comments=True)[1:], id=f"{page.name}: {line}")


@pytest.mark.parametrize("words", list(commands()))
def test_the_commands_of_the_pages_exist(words):
    command = main.get_command(click.Context(main), words[0])
    assert command is not None
    command.make_context(words[0], words[1:])


def test_the_navigation_has_every_page_once():
    listed = [page for entries in site_pages.sections().values() for _, page in entries]
    assert len(listed) == len(set(listed)) > 20
    assert all((ROOT / page).is_file() for page in listed)
    everywhere = str(site_pages.navigation())
    assert all(f"'docs/{page.name}'" in everywhere for page in PAGES)


@pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="the site needs pip install 'shoestring[docs]'"
)
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, str(ROOT / "docs" / "site_pages.py"), "--output", str(tmp_path / "site")]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONWARNINGS": ""}
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(https?://[^"]*)"', page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"


def test_every_feature_of_ours_leads_to_a_test_or_an_example():
    table = (ROOT / "docs/features.md").read_text()
    rows = [line.split("|")[1:-1] for line in table.splitlines() if re.match(r"\| [a-zA-Z]", line)]
    assert len(rows) > 25
    for feature, ours, *others in rows:
        linked = re.fullmatch(r" \[✓\]\(\.\./((?:tests|examples)/[\w/]+\.py)\) ", ours)
        assert linked or ours.strip() == "–", f"{feature.strip()}: {ours}"
        assert not linked or (ROOT / linked[1]).is_file(), f"{feature.strip()} leads to {linked[1]}"
        assert {other.strip() for other in others} <= {"✓", "(✓)", "–", "?"}
        assert len(others) == 6


def ports():
    """The tasks of the page for newcomers: which library, how long its code is said to be, the code, and ours."""
    page = (ROOT / "docs/coming_from.md").read_text()
    block = r"%s, (\d+) lines?:\n\n```%s\n(.*?)```"
    pattern = block % ("(Optuna|Ray Tune|scikit-learn)", "py") + ".*?" + block % ("shoestring", "python")
    return re.findall(pattern, page, re.DOTALL)


def length(code):
    """The lines of code, without imports and empty lines."""
    return sum(bool(line.strip()) and not re.match(r"import |from ", line) for line in code.splitlines())


def test_the_ports_are_as_long_as_the_page_says():
    found = ports()
    assert [library for library, *_ in found] == ["Optuna"] * 5 + ["Ray Tune", "scikit-learn"]
    for library, theirs, their_code, ours, our_code in found:
        assert (int(theirs), int(ours)) == (length(their_code), length(our_code)), f"the {library} port of {our_code}"


@pytest.mark.parametrize("number", range(7))
def test_the_code_of_other_libraries_runs(number, tmp_path, monkeypatch):
    library, _, code, *_ = ports()[number]
    if missing := missing_from([code]):
        pytest.skip(f"it needs {missing}")
    program = tmp_path / "program.py"
    program.write_text(code.replace("import optuna\n", "import optuna\noptuna.logging.disable_default_handler()\n"))
    if library == "Ray Tune":
        pytest.skip("it starts a cluster, which takes longer than this test may")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_files_that_the_page_of_the_code_names_exist():
    named = set(re.findall(r"`([a-z_/]+\.py)`", (ROOT / "docs" / "architecture.md").read_text()))
    folders = [ROOT, ROOT / "src" / "shoestring"]
    known = {path.relative_to(folder).as_posix() for folder in folders for path in folder.glob("[!.]*/**/*.py")}
    names = {name.rpartition("/")[2] for name in known}
    assert len(named) > 40
    assert {name for name in named if name not in (known if "/" in name else names)} == set()


@pytest.mark.parametrize("method", ["asha", "forecast"])
def test_the_files_of_one_grant_are_those_that_a_trace_records(method):
    """Run ``python docs/one_grant.py --write`` after files were moved."""
    assert one_grant.block(method) in (ROOT / "docs" / "architecture.md").read_text()
