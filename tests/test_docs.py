"""The snippets of every page run, in order, each page by itself."""

import re
import textwrap
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))


def snippets(page):
    found = re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(body) for body in found]


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if any("import torch" in body for body in snippets(page)):
        pytest.importorskip("torch", reason=f"{page.name} needs torch: pip install 'shoestring[augment]'")
    names = {"__name__": "page"}
    for body in snippets(page):
        exec(compile(body, page.name, "exec"), names)


def test_links_lead_somewhere():
    for page in [*PAGES, Path(__file__).parents[1] / "README.md"]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
