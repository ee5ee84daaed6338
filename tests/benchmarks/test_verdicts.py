"""Every claim of the papers has a verdict that the overview defines, its command, its n and the commit of the run."""

import re
from pathlib import Path

import pytest

from benchmarks.harness import measurements, render

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGE = render.pages()[BENCHMARKS / "RESULTS.md"]
VERDICTS = {"reproduced", "reproduced in kind", "consistent", "not settled", "refuted"}
HEADER = ["", "verdict", "command", "n", "run at", "why"]
RUN_AT = r"`[0-9a-f]{12}\+?`|stored with `[0-9a-f]{12}`|version 0\.1\.0, not run since|every commit"


def section(name, page=PAGE):
    return page.partition(f"## {name}\n")[2].partition("\n## ")[0]


def rows(name):
    """The rows of all tables of a section, as lists of cells."""
    lines = [line for line in section(name).splitlines() if line.startswith("|") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


PAPERS = "The five papers, table by table"
CLAIMS = [row for row in rows(PAPERS) if row != HEADER]


def test_there_is_a_table_for_each_paper():
    assert rows(PAPERS).count(HEADER) == 4, "two of the five papers are versions of one"
    assert len(CLAIMS) > 40


def test_every_verdict_is_defined():
    assert set(re.findall(r"^- \*\*([a-z ]+)\*\*:", section(PAPERS), re.MULTILINE)) == VERDICTS


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda row: row[0])
def test_a_claim_has_a_verdict_a_command_n_and_a_commit(claim):
    name, verdict, command, n, run, why = claim
    assert name
    assert why
    assert verdict in VERDICTS
    assert re.match(r"`python (benchmarks|examples|-m pytest)\S* ?[^`]*`", command)
    assert re.match(r"[\d,]+\b", n)
    assert re.fullmatch(RUN_AT, run)
    assert ("would settle it" in n) == (verdict == "not settled")


def test_a_refutation_is_a_proof_or_the_papers_own_setting():
    """A row is listed here once it was checked to be one of the two."""
    assert [row[0] for row in CLAIMS if row[1] == "refuted"] == ["Lemma 1 (2020)"]


def test_what_version_0_1_measured_says_so_in_the_summary():
    template = (BENCHMARKS / "templates" / "RESULTS.md").read_text(encoding="utf-8")
    for line in section("In short", template).splitlines():
        if found := re.search(r"`\{\{(\w+):([^{}]+?) as command\}\}`", line):
            old = "source" in measurements.load(found[1])[found[2]]
            assert old == ("version 0.1, not run since" in line), line


def test_what_was_not_run_says_what_it_would_need():
    header, *found = rows("Not done")
    assert header == ["paper", "not run", "what it would need"]
    assert all(all(row) for row in found)
    assert {row[0] for row in found} == {"Huang et al.", "Lu, Chiang and Sha", "Wang et al.", "Shan Lu"}


def test_how_many_runs_would_settle_a_difference(tmp_path):
    """Three standard errors: at an error of .1 with 10 runs, a difference of .05 needs 36 times as many."""
    lines = [measurements.Row("a", 0.05, 0.1, 10), measurements.Row("b", 1.0, 0.1, 10)]
    measurements.store("x", "t", lines, {"command": "python x.py", "version": "1", "commit": "0123456789ab"}, tmp_path)
    template = "<!-- data: x -->\n{{t/a as settled}} {{t/b as settled}} {{t as run}}"
    assert render.rendered(template, tmp_path) == "360 10 `0123456789ab`\n"
