"""Put the parts under ``benchmarks/results`` together as ``benchmarks/RESULTS.md``.

python benchmarks/assemble.py
"""

from pathlib import Path

HERE = Path(__file__).parent

HEAD = """# Measured results

Every number here comes from a run of the command that stands beside it. Where a paper has the number too it stands
beside ours, with a line on each difference. `--quick` runs the same code in about a minute with fewer seeds.
"""


def as_section(page: str) -> str:
    """A page of its own as a section: its title on the second level, its paths seen from one folder up."""
    lines = (
        page.strip().replace("](../../", "](<root>/").replace("](../", "](").replace("](<root>/", "](../").splitlines()
    )
    title = len(lines[0]) - len(lines[0].lstrip("#"))
    return "\n".join(f"{'#' * (2 - title)}{line}" if line.startswith("#") and title < 2 else line for line in lines)


def main() -> None:
    sections = [as_section(part.read_text()) for part in sorted((HERE / "results").glob("*.md"))]
    (HERE / "RESULTS.md").write_text("\n\n".join([HEAD.strip(), *sections]) + "\n")


if __name__ == "__main__":
    main()
