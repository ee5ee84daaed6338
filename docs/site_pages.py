"""Build the documentation as a site, with mkdocs-material:

    make docs                        # into build/site
    python docs/site_pages.py --output DIR

The pages are the Markdown files of the repository, at the places where their links expect them. The navigation is
taken from docs/README.md: a heading is a section, and each page that its table links to is an entry. A new page needs
one line there. The reference is written from the docstrings (docs/reference.py). A warning of mkdocs, such as a dead
link or anchor, is an error. Nothing is loaded from other hosts, neither now nor by a reader.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from reference import PACKAGES, page_of

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def pages() -> list[Path]:
    """The Markdown files that are part of the site."""
    patterns = ("*.md", "docs/*.md", "benchmarks/*.md", "benchmarks/results/*.md")
    return sorted(path.relative_to(ROOT) for pattern in patterns for path in ROOT.glob(pattern))


def targets(page: Path) -> Iterator[Path]:
    """List the pictures, examples and tests that a page links to."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / page).read_text()):
        path = Path(os.path.normpath(ROOT / page.parent / target))
        if path.is_file() and path.suffix != ".md":
            yield path.relative_to(ROOT)


def sections() -> dict[str, list[tuple[str, str]]]:
    """The navigation: for each heading of docs/README.md, the titles and the pages that its table links to."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        if line.startswith("## "):
            entries = found.setdefault(line[3:].strip(), [])
        elif line.startswith("| [") and found and (link := _LINK.match(line[2:])):
            entries.append((link[1], os.path.normpath(Path("docs") / link[2])))
    return found


def navigation() -> list[dict[str, Any]]:
    """All sections; pages of docs/ that no section names come last, by their own titles."""
    listed = sections()
    named = {page for entries in listed.values() for _, page in entries}
    more = [{_title(page): str(page)} for page in pages() if page.parts[0] == "docs" and str(page) not in named]
    tabs = [{head: [{title: page} for title, page in entries]} for head, entries in listed.items() if entries]
    reference = [{package: f"docs/reference/{package}.md"} for package in PACKAGES]
    return [{"Home": "README.md"}, *tabs, {"Reference": reference}, {"All pages": more}]


def _title(page: Path) -> str:
    return (ROOT / page).read_text().partition("\n")[0].removeprefix("# ")


def assemble(folder: Path) -> None:
    """Copy the pages, and what they show or link to, as they lie in the repository."""
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages():
        _write(folder / page, _without_folders(page))
        for target in targets(page):
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / target, folder / target)
    for package in PACKAGES:
        _write(folder / "docs" / "reference" / f"{package}.md", page_of(package))
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")


def _without_folders(page: Path) -> str:
    """The text of a page; a link to a folder, which a site cannot show, becomes plain text."""

    def plain(link: re.Match[str]) -> str:
        return link[1] if (ROOT / page.parent / link[2]).is_dir() else link[0]

    return _LINK.sub(plain, (ROOT / page).read_text())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(output: Path, staged: Path) -> None:
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    assemble(staged)
    config = load_config(
        str(ROOT / "docs/mkdocs.yml"), docs_dir=str(staged), site_dir=str(output), strict=True, nav=navigation()
    )
    config.plugins.on_startup(command="build", dirty=False)
    build_site(config)
    config.plugins.on_shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    output = parser.parse_args().output.resolve()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    build(output, output.parent / "site-pages")
    print(f"the site is in {output}; to read it with its search: python -m http.server --directory {output}")


if __name__ == "__main__":
    main()
