"""The pages a newcomer reads first: their snippets run, their commands exist."""

import re
import shlex
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


def test_the_snippets_of_the_readme_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    blocks = snippets(README)
    assert len(blocks) > 5
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert "x is negative" in capsys.readouterr().out


def test_the_snippets_of_the_contributing_page_run():
    for block in snippets((ROOT / "CONTRIBUTING.md").read_text()):
        names: dict[str, object] = {}
        exec(compile(block, "CONTRIBUTING.md", "exec"), names)
        names["test_contract"]()  # type: ignore[operator]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_commands_of_the_readme_exist(words):
    command = main.get_command(click.Context(main), words[0])
    assert command is not None
    command.make_context(words[0], words[1:])


def test_the_methods_of_the_readme_exist():
    table = re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)
    assert len(table) > 5
    assert set(table) <= set(names())


def test_the_links_of_the_pages_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / target).exists(), f"{page} links to {target}"
