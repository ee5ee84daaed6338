"""The report: one HTML file with everything in it."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main, report as command

pytest.importorskip("jinja2", reason="the report needs jinja2: pip install 'shoestring[report]'")

from shoestring.web.report import report
from tests.plots.studies import played, told


class Page(HTMLParser):
    """The elements and the text of a page; also which attributes could load something."""

    def __init__(self, content):
        super().__init__()
        self.elements, self.words, self.links = [], [], []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def test_it_has_the_headline_the_account_the_plots_and_the_audit():
    study = played()
    page = Page(report(study, storage="sqlite:///some.db"))
    assert "120 of 120 steps spent" in page.text
    assert f"by trial {study.best.trial}" in page.text
    assert f"all {len(study.history.grants)} grants are what the method decides" in page.text
    assert "shoestring resume some.db played" in page.text
    assert "the rate is too large" in page.text
    assert page.elements.count("section") == 12
    assert all(link.startswith("#") for link in page.links)
    assert "script" not in page.elements
    assert {"Learning curves", "Importance", "Timeline", "Why these decisions"} <= set(page.words)


@pytest.mark.parametrize("values", [(), (1.0,), (ValueError("boom"), ValueError("boom"))])
def test_a_study_with_little_to_show_has_a_report(values):
    page = Page(report(told(*values)))
    assert page.elements.count("section") == 9
    assert ("boom" in page.text) == bool(values and values != (1.0,))


def test_names_and_messages_stay_text():
    study = told(ValueError("</td><script>alert(1)</script>"), 1.0, name="<script>alert(2)<script>")
    content = report(study)
    assert "script" not in Page(content).elements
    assert "<script>alert(2)<script>" in Page(content).text


def test_an_interactive_report_has_its_scripts_and_values_and_nothing_else_can_run():
    pytest.importorskip("plotly", reason="an interactive report needs plotly: pip install 'shoestring[plots]'")
    hostile = "</script><script>alert(1)</script>"
    study = ss.Study({"kind": [hostile, "b"]}, budget="9 evaluations", method="grid", name="<script>alert(1)<script>")
    for _ in range(2):
        study.tell(study.ask(), 1.0)
    content = report(study, verify=False, interactive=True)
    scripts = re.findall(r"<script>(.*?)</script>", content, re.DOTALL)
    assert len(scripts) == 2
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', content)[1]
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert "<script>alert" not in content
    assert "</script><script>alert" not in content
    assert len(report(study, verify=False).encode()) < 1.5e6
    assert len(content.encode()) < 8e6


def test_a_decision_that_differs_is_named(monkeypatch):
    study = told(1.0, 2.0)
    opened, granted, *rest = study.events()
    monkeypatch.setattr(study, "events", lambda: [opened, replace(granted, reason="another one"), *rest])
    assert "Event 1 differs" in Page(report(study)).text


def test_a_method_that_the_log_cannot_rebuild(tmp_path):
    class Unknown(ss.samplers.Random):
        pass

    method = ss.compose(Unknown(), ss.schedulers.Full())
    ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method=method, storage=tmp_path / "s.db", name="s")
    assert "could not be verified" in Page(report(ss.Study.load(tmp_path / "s.db"))).text


def test_the_command_writes_it(tmp_path):
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=tmp_path / "s.db", name="first"
    )
    study.tell(study.ask(), 1.0)
    words = ["report", str(tmp_path / "s.db"), "first", "--no-verify", "-o", str(tmp_path / "report.html")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "were not verified" in (tmp_path / "report.html").read_text()
    words[-1] = str(tmp_path / "nowhere" / "report.html")
    assert "cannot be written" in CliRunner().invoke(main, words).output


def test_without_its_extra_the_command_names_it(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["report", "none.db"])
    assert result.exit_code == 2
    assert result.output == "shoestring: the report needs jinja2: pip install 'shoestring[report]'\n"
