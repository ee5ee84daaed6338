"""A browser for the tests, and what they do with it."""

import pytest

pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn: pip install 'shoestring[dashboard]'")
pytest.importorskip("selenium.webdriver", reason="the tests in a browser need selenium")

from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.harness.browser import CHROMIUM, DRIVER, start_chromium

needs_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="the tests in a browser need chromium and chromium-driver (apt-get install)"
)


@pytest.fixture(scope="module")
def browser():
    driver = start_chromium(logs=True)
    yield driver
    driver.quit()


def wait(browser, what):
    # What is live may be drawn again, or move, between finding an element and clicking on it.
    passing = [StaleElementReferenceException, ElementClickInterceptedException]
    return WebDriverWait(browser, 60, 0.05, passing).until(what)


def click(browser, what, by=By.XPATH):
    wait(browser, lambda b: b.find_element(by, what).click() or True)


def cells(browser, column):
    """The visible values of a column."""
    script = """
        const heads = [...document.querySelectorAll("#trials th")].map((head) => head.textContent);
        return [...document.querySelectorAll("#trials tbody tr:not(.gap)")].map(
            (row) => row.cells[heads.indexOf(arguments[0])].textContent);
    """
    return browser.execute_script(script, column)


def text(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector).text


def errors(browser):
    """Collect the errors of scripts, pages and the content security policy; a stream may be cut when a server ends."""
    found = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    # plotly.js asks for inline styles that the policy refuses; the style sheet has what is needed.
    refused = ("plotly.min.js", "Applying inline style violates")
    return [m for m in found if "net::ERR_" not in m and not all(words in m for words in refused)]


def drawn(browser, chart):
    """The heights of all points of an interactive chart; nothing before there is one."""
    script = "return document.querySelector(arguments[0])?.data?.flatMap((trace) => [...(trace.y ?? [])]) ?? []"
    return browser.execute_script(script, f"#{chart} .plot")


def scroll_to(browser, identity):
    browser.execute_script("document.getElementById(arguments[0]).scrollIntoView()", identity)


def interactive(browser, chart):
    """Scroll to a chart, and wait until plotly.js has drawn it."""
    scroll_to(browser, chart)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, f"#{chart}[data-interactive]"))


def prefer(browser, scheme):
    """Let the system prefer a light or a dark theme."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )


def resize(browser, width, height=1000):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
