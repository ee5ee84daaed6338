"""The result pages are exactly what their templates and the committed data give."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shoestring
from benchmarks.harness import common, measurements, provenance, render

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Row = measurements.Row
PAGES = render.pages()


@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.name)
def test_page_and_data_agree(place):
    assert place.read_text(encoding="utf-8") == PAGES[place], "run: python benchmarks/render.py"


def test_every_page_has_a_template():
    places = {*(BENCHMARKS / "results").glob("*.md"), BENCHMARKS / "RESULTS.md", BENCHMARKS.parent / "README.md"}
    assert places == PAGES.keys()


def test_the_table_of_the_readme_is_that_of_the_comparison():
    page = "# Page\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nText\n"
    readme = "# Readme\n\n| c | d |\n|---|---|\n\n| a | b |\n|---|---|\n| 0 | 0 |\n| 3 | 4 |\n\nEnd\n"
    assert render.with_the_table_of(page, readme).endswith("|---|---|\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd\n")


@pytest.mark.parametrize("place", PAGES, ids=lambda place: place.name)
def test_links_lead_somewhere(place):
    for target in re.findall(r"\]\((?!http)([^)#]+)", PAGES[place]):
        assert (place.parent / target).exists(), f"{place.name} links to {target}, which is not there"


def test_every_table_says_how_it_was_produced():
    for path in (BENCHMARKS / "data").glob("*.json"):
        for table, entry in json.loads(path.read_text(encoding="utf-8")).items():
            assert entry["command"].startswith("python "), f"{path.name}: {table}"
            assert entry["version"], f"{path.name}: {table}"


def test_the_readme_names_every_suite_and_the_pages_that_show_it():
    readme = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    named = {name: re.findall(r"results/(\w+)\.md", line) for name, line in re.findall(r"\| `(\w+)\.py` (.*)", readme)}
    suites = {path.parent.name for path in BENCHMARKS.glob("suites/*/suite.py")}
    assert named.keys() == suites == {path.stem for path in BENCHMARKS.glob("[a-z]*.py")} - {"render"}
    for name, pages in named.items():
        shown = {path.stem for path in BENCHMARKS.glob("templates/[a-z]*.md") if _shows(path, name)}
        assert shown == set(pages), name


def test_make_bench_runs_every_suite():
    listed = re.search(r"^BENCHMARKS := ((?:.*\\\n)*.*)", (BENCHMARKS.parent / "Makefile").read_text(), re.MULTILINE)[1]
    assert set(listed.replace("\\", " ").split()) == {path.parent.name for path in BENCHMARKS.glob("suites/*/suite.py")}


def _shows(template, suite):
    text = template.read_text(encoding="utf-8")
    return text.startswith(f"<!-- data: {suite} -->") or f"{{{{{suite}:" in text


@pytest.mark.parametrize("suite", sorted(path.parent.name for path in BENCHMARKS.glob("suites/*/suite.py")))
def test_a_suite_uses_no_other_suite_and_what_is_shared_uses_none(suite):
    shared = [path for name in ("harness", "peers", "tasks") for path in (BENCHMARKS / name).glob("*.py")]
    for path in [*shared, *(BENCHMARKS / "suites" / suite).glob("*.py")]:
        used = set(re.findall(r"benchmarks\.suites\.(\w+)", path.read_text(encoding="utf-8")))
        assert used <= ({suite} if path.parent.name == suite else set()), path


@pytest.mark.parametrize(
    "how", [["benchmarks/simulation.py"], ["-m", "benchmarks.simulation"]], ids=["script", "module"]
)
def test_a_suite_runs_as_a_script_and_as_a_module(how):
    command = [sys.executable, *how, "--table", "continuation", "--quick", "--json"]
    done = subprocess.run(command, cwd=BENCHMARKS.parent, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[0]["measured"] == 0


@pytest.fixture
def folder(tmp_path):
    rows = [Row("a, 2: regret", 0.1234, 0.0456, 20, paper=0.2, at_most=0.1), Row("b, 2: regret", -1.5)]
    measurements.store("x", "t", rows, {"command": "python x.py --table t", "version": "1"}, tmp_path)
    return tmp_path


class TestRendering:
    @pytest.mark.parametrize(
        ("template", "shown"),
        [
            ("{{t/a, 2: regret as .2f}}", "0.12"),
            ("{{t/a, 2: regret as +.2f ±}}", "+0.12 ± 0.05"),
            ("{{t/b, 2: regret as .1f ±}}", "−1.5"),
            ("{{t/a, 2: regret as .0%}}", "12%"),
            ("{{t/a, 2: regret as paper .1f}}", "0.2"),
            ("{{t/b, 2: regret as paper .1f ?}}", ""),
            ("{{t/c as .1f ?}}", ""),
            ("{{t/a, 2: regret as n}}", "20"),
            ("{{t/a, 2: regret as required}}, {{t/a, 2: regret as met}}", "≤ 0.1, **no**"),
            ("{{x:t as command}}", "python x.py --table t"),
        ],
    )
    def test_a_placeholder(self, folder, template, shown):
        assert render.rendered(f"<!-- data: x -->\n{template}", folder) == f"{shown}\n"

    def test_a_table_is_expanded(self, folder):
        template = (
            "<!-- data: x -->\n| who | {two = 2} |\n|---|---|\n| {A = a; b} | {{t/$row, $column: regret as .1f}} |"
        )
        assert render.rendered(template, folder) == "| who | two |\n| --- | --- |\n| A | 0.1 |\n| b | −1.5 |\n"

    def test_paragraphs_and_lists_are_filled(self, folder):
        template = "<!-- data: x -->\nOne\n{{t/b, 2: regret as .1f}}\ntwo.\n\n- a\n  b\n- c\n\n    code\n    code"
        assert render.rendered(template, folder) == "One −1.5 two.\n\n- a b\n- c\n\n    code\n    code\n"

    @pytest.mark.parametrize("template", ["{{t/c as .1f}}", "{{u/a as .1f}}", "{{y:t/a as .1f}}", "{{t as nothing}}"])
    def test_what_is_not_in_the_data_is_an_error(self, folder, template):
        with pytest.raises(KeyError, match="no such"):
            render.rendered(f"<!-- data: x -->\n{template}", folder)

    def test_a_misspelt_placeholder_is_an_error(self, folder):
        with pytest.raises(ValueError, match="not a placeholder"):
            render.rendered("<!-- data: x -->\n{{t/a, 2: regret}}", folder)


class TestStoring:
    def test_a_table_is_replaced_and_the_others_stay(self, folder):
        measurements.store("x", "u", [Row("c", 3.0, n=2)], {"command": "python", "version": "1"}, folder)
        measurements.store("x", "t", [Row("d", 4.0)], {"command": "python", "version": "2"}, folder)
        tables = measurements.load("x", folder)
        assert {name: entry["version"] for name, entry in tables.items()} == {"t": "2", "u": "1"}
        assert tables["u"]["rows"] == {"c": Row("c", 3.0, n=2)}
        assert tables["t"]["rows"] == {"d": Row("d", 4.0)}

    def test_two_rows_of_one_name_are_refused(self, folder):
        with pytest.raises(ValueError, match="share the names"):
            measurements.store("x", "t", [Row("d", 4.0), Row("d", 5.0)], {}, folder)

    @pytest.mark.parametrize(("options", "stored"), [([], False), (["--write", "--seeds", "2"], True)])
    def test_data_are_written_only_when_asked_for(self, options, stored, monkeypatch, tmp_path):
        written = []
        monkeypatch.setattr(common, "store", lambda *given: written.append(given))
        monkeypatch.setattr(sys, "argv", ["benchmarks/x.py", "--table", "t", *options])
        common.main("About.", {"t": lambda options: [Row("a", float(options.seeds))], "u": None}, seeds=5)
        assert [given[:3] for given in written] == ([("x", "t", [Row("a", 2.0)])] if stored else [])
        assert [given[3]["command"] for given in written] == ["python benchmarks/x.py --table t --seeds 2"] * stored

    def test_a_quick_run_is_never_written(self, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["x.py", "--quick", "--write"])
        with pytest.raises(SystemExit):
            common.main("About.", {})

    def test_a_result_says_which_code_and_packages_gave_it(self, folder):
        given = provenance.provenance("python benchmarks/x.py")
        measurements.store("x", "u", [Row("c", 3.0)], given, folder)
        tables = measurements.load("x", folder)
        found = {key: value for key, value in tables["u"].items() if key != "rows"}
        assert found == given
        assert found["version"] == found["packages"]["shoestring"] == shoestring.__version__
        assert found["packages"]["numpy"] == np.__version__
        assert tables["t"]["commit"] == tables["t"]["date"] == tables["t"]["packages"] == "unknown"
        assert "unknown" not in (folder / "x.json").read_text()

    def test_another_version_of_a_peer_has_another_digest(self, monkeypatch):
        monkeypatch.setattr(provenance, "_elsewhere", {})
        before = provenance.provenance("python")["packages"]
        provenance.used_elsewhere("HEBO", "0.3.6")
        after = provenance.provenance("python")["packages"]
        assert (after["HEBO"], after["digest"] != before["digest"]) == ("0.3.6", True)

    def test_changed_code_is_marked_and_new_data_are_not(self, tmp_path):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

        assert provenance.commit(tmp_path) == "unknown"
        git("init", "--quiet")
        for name in ("src/a.py", "benchmarks/data/a.json"):
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).touch()
        git("add", ".")
        git("commit", "--quiet", "--message", "a")
        clean = provenance.commit(tmp_path)
        (tmp_path / "benchmarks/data/a.json").write_text("{}")
        assert provenance.commit(tmp_path) == clean
        (tmp_path / "src/a.py").write_text("1")
        assert provenance.commit(tmp_path) == f"{clean}+"


def test_limits():
    assert Row("a", 1.0).met is None
    assert Row("a", 1.0, at_least=1, at_most=2).met
    assert not Row("a", 3.0, at_least=1, at_most=2).met
    assert Row("a", 3.0, at_least=11, at_most=21).required == "11 to 21"


@pytest.mark.parametrize(("options", "code"), [([], 1), (["--quick"], 0)])
def test_a_table_without_its_data_is_skipped_with_a_line(options, code, monkeypatch, capsys):
    def without(options):
        raise common.Unavailable("there are no recorded curves")

    monkeypatch.setattr(sys, "argv", ["x.py", *options])
    try:
        common.main("About.", {"t": without, "u": lambda options: [Row("a", 1.0)]})
        left = 0
    except SystemExit as ended:
        left = ended.code
    shown = capsys.readouterr()
    assert left == code
    assert "t is skipped: there are no recorded curves" in shown.err
    assert "measured" in shown.out


@pytest.mark.parametrize(("options", "run"), [([], "tf"), (["--quick"], "t"), (["--quick", "--figure", "f"], "f")])
def test_a_quick_run_starts_no_part_late_unless_it_is_named(options, run, monkeypatch, capsys):
    done = []
    parts = {name: lambda _, name=name: done.append(name) or [Row(name, 1.0)] for name in "tf"}
    monkeypatch.setattr(sys, "argv", ["x.py", *options])
    monkeypatch.setattr(common, "QUICK_SECONDS", -1.0)
    common.main("About.", {"t": parts["t"]}, {"f": parts["f"]})
    assert "".join(done) == run
    assert ("figure f is left out of the quick form" in capsys.readouterr().err) == (options == ["--quick"])
