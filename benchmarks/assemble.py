"""Put the parts under ``benchmarks/results`` together as ``benchmarks/RESULTS.md``.

    python benchmarks/assemble.py
"""

from pathlib import Path

HERE = Path(__file__).parent

HEAD = """# Measured results

Every number here comes from a run of the command that stands beside it. Where a paper has the number too it stands
beside ours, with a line on each difference. `--quick` runs the same code in about a minute with fewer seeds.
"""


def main() -> None:
    parts = [part.read_text().strip() for part in sorted((HERE / "results").glob("*.md"))]
    # A part is a page of its own with paths relative to its folder; here it is a section one level up.
    sections = [part.replace("](../", "](").replace("](../../", "](../") for part in parts]
    indented = ["\n".join(f"#{line}" if line.startswith("#") else line for line in part.splitlines()) for part in sections]
    (HERE / "RESULTS.md").write_text("\n\n".join([HEAD.strip(), *indented]) + "\n")


if __name__ == "__main__":
    main()
