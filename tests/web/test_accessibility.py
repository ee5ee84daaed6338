"""Accessibility: axe-core, from the registry of npm, finds nothing serious on any page, in both themes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import shoestring as ss
from tests.plots.studies import played
from tests.web.browsing import browser, needs_chromium, prefer, resize, scroll_to, wait
from tests.web.serving import served

__all__ = ["browser"]
pytestmark = needs_chromium
_PACKAGE = "axe-core@4"


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe-core: that of SHOESTRING_AXE, or installed for this run."""
    given = os.environ.get("SHOESTRING_AXE")
    if given:
        return Path(given).read_text()
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the accessibility tests need npm, or axe.min.js of axe-core in SHOESTRING_AXE")
    folder = tmp_path_factory.mktemp("axe")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), _PACKAGE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"axe-core could not be installed: {done.stderr.strip()[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    place = tmp_path_factory.mktemp("accessible") / "s.db"
    study = played(storage=place, name="played")
    (study.directory(0) / "notes.txt").write_text("a file")
    ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=place, name="empty")
    with served(place, token="let-me-in", allow_actions=True) as found:
        yield found


PAGES = {
    "studies": "/",
    "study": "/study/played",
    "empty study": "/study/empty",
    "trial": "/study/played/trial/0",
    "trials": "/study/played/compare?trial=0&trial=1",
    "compared studies": "/compare?study=played&study=empty",
    "error": "/study/none",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(browser, axe, address, page, scheme):
    prefer(browser, scheme)
    resize(browser, 1300)
    path = PAGES[page]
    browser.get(f"{address}{path}{'&' if '?' in path else '?'}token=let-me-in")
    if page == "study":
        for section in ("found", "all-trials", "went", "why", "failures"):
            scroll_to(browser, section)
            wait(browser, lambda b: b.execute_script("return document.readyState") == "complete")
    browser.execute_script(axe)
    script = """
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => done(violations.map(
            (one) => [one.impact, one.id, one.help, ...one.nodes.slice(0, 4).map((node) => node.html.slice(0, 200))])));
    """
    browser.set_script_timeout(120)
    found = browser.execute_async_script(script)
    assert [one for one in found if one[0] in ("serious", "critical")] == []
    browser.get("about:blank")
