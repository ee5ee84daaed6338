"""The pages a newcomer reads first: their snippets run, their commands exist."""

import importlib
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest

from shoestring.cli import main
from shoestring.methods.registry import names

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def snippets(page: str) -> list[str]:
    return [textwrap.dedent(body) for body in re.findall(r"^ *```python\n(.*?)^ *```", page, re.DOTALL | re.MULTILINE)]


def commands() -> list[list[str]]:
    lines = re.findall(r"^shoestring .*", README, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_the_snippets_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    blocks = snippets(README)
    assert len(blocks) > 1
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


def test_the_readme_is_short_and_names_both_commands():
    assert README.count("\n") < 150
    assert README.count("\n![") == 1, "one picture"
    assert re.search(r"^make demo .*\nmake test ", README, re.MULTILINE)


def test_the_examples_of_the_contributing_page_keep_their_contracts(tmp_path):
    """As a fresh reader would: copy the files, run their tests; the page states how long each example is."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    files = {block.partition("\n")[0].removeprefix("# "): block for block in snippets(page)}
    assert len(files) == 8
    for name, block in files.items():
        (tmp_path / name).write_text(block)
    stated = dict(re.findall(r"`(\w+\.py)` \| (\d+) \|", page))
    assert stated == {name: str(block.count("\n")) for name, block in files.items() if not name.startswith("test_")}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_of_the_readme_exist(words):
    command = main.get_command(click.Context(main), words[0])
    assert command is not None
    command.make_context(words[0], words[1:])


def methods_of(page: str) -> list[str]:
    """The names in the first column of its tables."""
    cells = re.findall(r"^\| (`[a-z`, -]+)(?: \([a-z ]+\))? \|", page, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)]


def test_the_readme_shows_four_methods_and_the_page_about_them_all():
    assert methods_of(README) == ["auto", "asha", "tpe", "random"]
    described = methods_of((ROOT / "docs/choosing.md").read_text())
    assert len(described) == len(set(described))
    assert set(described) == set(names())


def test_how_it_works_has_every_method_with_a_picture():
    page = (ROOT / "docs/how_it_works.md").read_text()
    headings = {word for line in re.findall(r"^### (.*)", page, re.MULTILINE) for word in re.findall(r"[a-z-]+", line)}
    missing = (
        set(names()) - headings - {"auto", "bhpt-eps", "bhpt-kgm", "bhpt-paper"}
    )  # the rules of bhpt share a section
    assert not missing
    assert all(f"`{name}`" in page for name in ("bhpt-eps", "bhpt-kgm", "bhpt-paper"))
    for section in page.split("\n### ")[1:]:
        assert "](pictures/how_" in section, section.partition("\n")[0]
        assert "**Do not use" in section, section.partition("\n")[0]


def test_every_picture_of_how_it_works_is_drawn_by_the_script(monkeypatch):
    pytest.importorskip("matplotlib", reason="the pictures need pip install 'shoestring[plots]'")
    monkeypatch.syspath_prepend(ROOT / "docs")
    method_pictures = importlib.import_module("method_pictures")
    page = (ROOT / "docs/how_it_works.md").read_text()
    assert set(re.findall(r"pictures/(how_[\w-]+)\.png", page)) == set(method_pictures.pictures())


def test_the_links_of_the_pages_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}"
