"""Render the result pages from their templates and the data files.

    python benchmarks/render.py            # write RESULTS.md, results/*.md and the table in the project's README.md
    python benchmarks/render.py --check    # only say which pages are out of date

A template is Markdown with placeholders ``{{DATA:TABLE/ROW as FORMAT}}``: the data file (the one that the template's
first line names if left out), the table, the name of the row, and what to show of it. FORMAT is a Python format
specification; with ``±`` the standard error follows; in front of it ``paper``, ``error`` or ``n`` select another field
than the mean. ``required`` and ``met`` show the limits of a row, ``settled`` how many runs a difference would need to
be three standard errors if it stayed as it is. ``{{TABLE as command}}`` shows how a table was produced, ``{{TABLE as
run}}`` at which commit.
With ``?`` what is not in the data is left empty; otherwise it is an error.

A cell ``{a; b; c}`` in the header of a table stands for several columns, and in the first cell of a row for several
rows. Other cells use them as ``$column`` and ``$row``. ``label = name`` shows the label and looks up the name.
"""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness.measurements import DATA, Row, load

HERE = Path(__file__).parents[1]
PLACEHOLDER = re.compile(r"\{\{(?:(?P<data>\w+):)?(?P<table>[^/:{}]+?)(?:/(?P<row>[^{}]+))? as (?P<how>[^{}]+)\}\}")
_WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
NOTICE = "<!-- Rendered from {}; change that file and run: python benchmarks/render.py -->"


def pages(root: Path = HERE) -> dict[Path, str]:
    """The text of every page by its place."""
    found = {}
    for template in sorted((root / "templates").glob("*.md")):
        place = root / template.name if template.stem.isupper() else root / "results" / template.name
        notice = NOTICE.format(template.relative_to(root.parent).as_posix())
        found[place] = f"{notice}\n\n{rendered(template.read_text(encoding='utf-8'), root / 'data')}"
    readme, comparison = root.parent / "README.md", found[root / "results" / "compare.md"]
    return {**found, readme: with_the_table_of(comparison, readme.read_text(encoding="utf-8"))}


def with_the_table_of(page: str, readme: str) -> str:
    """Put the first table of a page in place of the table of the README that has the same header."""
    table = re.search(r"^\|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    if table is None:
        raise ValueError("the page has no table")
    header = re.escape(table[0].partition("\n")[0])
    return re.sub(rf"^{header}\n(?:\|.*\n)+", lambda _: table[0], readme, flags=re.MULTILINE)


def rendered(template: str, folder: Path = DATA) -> str:
    """A template with its tables expanded and its placeholders filled."""
    first, _, rest = template.partition("\n")
    own = re.fullmatch(r"<!-- data: (\w+) -->", first)
    text = "\n".join(_expanded(rest if own else template))
    text = PLACEHOLDER.sub(lambda match: _filled(match, own[1] if own else "", folder), text)
    if left := re.search(r"\{\{.*|\$row|\$column", text):
        raise ValueError(f"not a placeholder: {left[0][:80]}; write {{{{TABLE/ROW as FORMAT}}}}")
    return "\n\n".join(map(_wrapped, text.strip("\n").split("\n\n"))) + "\n"


def _wrapped(block: str) -> str:
    """A paragraph or a list with its lines filled again; tables, headings, code and images as they are."""
    if block.startswith(("|", "#", "    ", "!", "<")):
        return block
    items = re.split(r"\n(?=- )", block)
    indent = "  " if block.startswith("- ") else ""
    return "\n".join(
        textwrap.fill(" ".join(item.split()), 120, subsequent_indent=indent, **_WHOLE_WORDS) for item in items
    )


def _filled(match: re.Match[str], own: str, folder: Path) -> str:
    name, table, how = match["data"] or own, match["table"], match["how"]
    entry = load(name, folder).get(table)
    if match["row"] is None:
        value = None if entry is None else run_at(entry) if how == "run" else entry.get(how)
    else:
        line = None if entry is None else entry["rows"].get(match["row"])
        value = None if line is None else _shown(line, how.replace("?", "").split())
    if value is None and "?" not in how:
        raise KeyError(f"{match[0]}: {folder.name}/{name}.json has no such table, row or field")
    return str(value or "")


def run_at(entry: Mapping[str, Any]) -> str:
    """The commit at which a table was run, as far as it was noted, and those of its earlier runs."""
    if "source" in entry:
        return f"version {entry['version']}, not run since"
    if entry["commit"] != "unknown":
        earlier = "".join(f", `{commit}`" for commit in entry.get("earlier", []))
        return f"`{entry['commit']}`{earlier}"
    return f"stored with `{entry['stored']}`"


def _shown(line: Row, how: list[str]) -> str | None:
    """One row as a format asks for it; None if it has no such field."""
    if how == ["required"]:
        return line.required or None
    if how == ["met"]:
        return {None: None, True: "yes", False: "**no**"}[line.met]
    if how == ["settled"]:
        return None if line.error is None else f"{_runs_to_settle(line):,}"
    field = how.pop(0) if how[0] in ("paper", "error", "n") else "measured"
    value, spec = getattr(line, field), how[0] if how else ""
    if value is None:
        return None
    error = f" ± {line.error:{spec.lstrip('+')}}" if "±" in how and line.error is not None else ""
    return f"{value:{spec}}{error}".replace("-", "−")


def _runs_to_settle(line: Row) -> int:
    """Return how many runs make a difference three standard errors, rounded up to two digits."""
    needed = line.n * (3 * (line.error or 0.0) / abs(line.measured)) ** 2
    digits = max(0, math.floor(math.log10(max(needed, 1.0))) - 1)
    return max(line.n, math.ceil(needed / 10**digits - 1e-9) * 10**digits)


def _expanded(text: str) -> Iterator[str]:
    """Lines, with the rows and columns of tables multiplied."""
    columns: list[tuple[str, str]] = []
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if not line.startswith("|"):
            columns = []
            yield line
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if after.startswith("|---"):
            columns = next((_choices(cell) for cell in cells if _choices(cell)), [])
            cells = [label for cell in cells for label in ([label for label, _ in _choices(cell)] or [cell])]
            yield _line(cells)
        elif line.startswith("|---"):
            yield _line(["---"] * (len(cells) + max(0, len(columns) - 1)))
        else:
            for label, name in _choices(cells[0]) or [(cells[0], cells[0])]:
                yield _line([label, *_across([cell.replace("$row", name) for cell in cells[1:]], columns)])


def _choices(cell: str) -> list[tuple[str, str]]:
    """Labels and names of a cell ``{a; label = b}``; none for any other cell."""
    if not re.fullmatch(r"\{[^{].*\}", cell):
        return []
    pairs = (part.strip().rpartition(" = ") for part in cell[1:-1].split(";"))
    return [(label or name, name) for label, _, name in pairs]


def _across(cells: list[str], columns: list[tuple[str, str]]) -> Iterator[str]:
    for cell in cells:
        yield from (cell.replace("$column", name) for _, name in columns) if "$column" in cell else (cell,)


def _line(cells: list[str]) -> str:
    return "".join(f"| {cell} " for cell in cells) + "|"


def main() -> None:
    stale = {place: text for place, text in pages().items() if not place.exists() or place.read_text("utf-8") != text}
    for place, text in stale.items():
        print(f"{place.relative_to(HERE.parent)} {'is out of date' if '--check' in sys.argv else 'rendered'}")
        if "--check" not in sys.argv:
            place.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and stale:
        raise SystemExit("run: python benchmarks/render.py")
