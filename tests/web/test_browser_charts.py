"""Charts and tables of a study in a real browser: hover, zoom, click, brush, columns, files, themes and phones."""

import csv
import json

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

import shoestring as ss
from tests.plots.studies import played
from tests.web.browsing import (
    By,
    browser,
    cells,
    click,
    drawn,
    errors,
    interactive,
    needs_chromium,
    prefer,
    resize,
    scroll_to,
    text,
    wait,
)
from tests.web.serving import served

__all__ = ["browser"]
pytestmark = needs_chromium
pytest.importorskip("plotly", reason="interactive charts need plotly: pip install 'shoestring[plots]'")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return played(storage=tmp_path_factory.mktemp("charts") / "s.db", name="played")


@pytest.fixture
def address(study, browser):
    with served(study.directory(0).parents[3] / "s.db") as found:
        yield f"{found}/study/played"
        browser.get("about:blank")
        prefer(browser, "light")
        resize(browser, 1300)


def hover(browser, chart, trace, point):
    """Move the pointer to a point of a trace."""
    script = """
        const plot = document.querySelector(arguments[0]), [trace, point] = [arguments[1], arguments[2]];
        const shown = plot._fullData[trace], box = plot.getBoundingClientRect(), { l, t } = plot._fullLayout._size;
        return [box.left + l + shown._input.x[point] * 0 + plot._fullLayout.xaxis.d2p(shown.x[point]),
                box.top + t + plot._fullLayout.yaxis.d2p(shown.y[point])];
    """
    x, y = browser.execute_script(script, f"#{chart} .plot", trace, point)
    move = ActionChains(browser)
    move.w3c_actions.pointer_action.move_to_location(round(x) - 3, round(y))
    move.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    move.perform()


def test_a_point_says_its_trial_and_configuration_and_a_click_opens_it(browser, address, study):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    interactive(browser, "history")
    hover(browser, "history", 0, 0)
    wait(browser, lambda b: "trial" in text(b, "#tip"))
    (trial, *_) = study.history.readings[0]
    assert f"trial {trial.index}" in text(browser, "#tip")
    for name, value in trial.config.items():
        assert f"{name}: {value:.4g}" in text(browser, "#tip") if isinstance(value, float) else name
    ActionChains(browser).click().perform()
    wait(browser, lambda b: text(b, "h1") == f"Trial {trial.index}")
    assert errors(browser) == []


def test_what_was_zoomed_can_be_reset(browser, address):
    browser.get(address)
    interactive(browser, "curves")
    script = "Plotly.relayout(document.querySelector('#curves .plot'), {'xaxis.range': [1, 2]})"
    browser.execute_script(script)
    wait(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#curves .reset").is_displayed())
    click(browser, "#curves .reset", By.CSS_SELECTOR)
    wait(browser, lambda b: not any(e.is_displayed() for e in b.find_elements(By.CSS_SELECTOR, "#curves .reset")))
    end = browser.execute_script("return document.querySelector('#curves .plot')._fullLayout.xaxis.range[1]")
    assert end > 8


def brush(browser, axis, low, high):
    """Draw a range across an axis of the parallel coordinates, from one place in [0, 1] to another."""
    script = """
        const plot = document.querySelector("#parallel .plot"), box = plot.getBoundingClientRect();
        const { xaxis, yaxis, _size: { l, t } } = plot._fullLayout;
        return [arguments[1], arguments[2]].map((y, i) => [
            box.left + l + xaxis.d2p(arguments[0] + (i ? 0.1 : -0.1)), box.top + t + yaxis.d2p(y)]);
    """
    (x0, y0), (x1, y1) = browser.execute_script(script, axis, low, high)
    move = ActionChains(browser, duration=50)
    pointer = move.w3c_actions.pointer_action
    pointer.move_to_location(round(x0), round(y0))
    pointer.pointer_down()
    pointer.move_to_location(round((x0 + x1) / 2), round((y0 + y1) / 2))
    pointer.move_to_location(round(x1), round(y1))
    pointer.pointer_up()
    move.perform()


def test_a_range_on_an_axis_filters_the_table(browser, address, study):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    interactive(browser, "parallel")
    names = browser.execute_script("return document.querySelector('#parallel .plot').layout.xaxis.ticktext")
    brush(browser, names.index("x"), 0.0, 0.4)
    search = browser.find_element(By.ID, "search")
    wait(browser, lambda b: search.get_property("value").startswith("x>="))
    scroll_to(browser, "all-trials")
    shown = [float(x) for x in cells(browser, "x")]
    wanted = [t for t in study.trials if t.config["x"] <= 0.4 and t.value is not None and t.state != "failed"]
    assert shown
    assert max(shown) <= 0.4
    assert {t.index for t in wanted} <= set(map(int, cells(browser, "trial")))
    interactive(browser, "parallel")
    brush(browser, names.index("kind"), 0.6, 0.9)
    wait(browser, lambda b: search.get_property("value") == 'kind="b"')
    assert set(cells(browser, "kind")) == {"b"}
    assert errors(browser) == []


def test_choices_are_drawn_and_a_running_study_keeps_them(browser, address, study):
    browser.get(address)
    interactive(browser, "curves")
    click(browser, "#curves select[name=color] option[value=kind]", By.CSS_SELECTOR)
    legend = "return document.querySelector('#curves .plot').data.map((trace) => trace.name)"
    wait(browser, lambda b: "kind a" in b.execute_script(legend))
    scroll_to(browser, "metrics")
    interactive(browser, "metrics")
    click(browser, "#metrics select[name=x] option[value=cost]", By.CSS_SELECTOR)
    title = "return document.querySelector('#metrics .plot').layout.xaxis.title.text"
    wait(browser, lambda b: b.execute_script(title) == "cost")
    assert drawn(browser, "metrics")


def test_columns_are_chosen_and_remembered(browser, address):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    assert "size" in text(browser, "#trials thead")
    assert "seconds" not in text(browser, "#trials thead")
    click(browser, "#columns summary", By.CSS_SELECTOR)
    click(browser, "//div/label[contains(., 'seconds')]/input")
    click(browser, "//div/label[contains(., 'size')]/input")
    browser.get(address)
    wait(browser, lambda b: "seconds" in text(b, "#trials thead"))
    assert "size" not in text(browser, "#trials thead")
    browser.execute_script("localStorage.clear()")


def test_trials_stopped_early_are_called_that_and_found_by_an_example(browser, address, study):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    click(browser, "//p[@id='examples']/button[contains(., 'stopped early')]")
    paused = sum(trial.state == "paused" for trial in study.trials)
    wait(browser, lambda b: text(b, "#count") == f"{paused} of {len(study.trials)} trials")
    assert set(cells(browser, "state")) == {"stopped early"}


def test_what_is_filtered_is_exported(browser, address, study):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    browser.execute_script("""
        window.saved = [];
        URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return "#"; };
    """)
    browser.find_element(By.ID, "search").send_keys("state=failed")
    failed = [trial for trial in study.trials if trial.state == "failed"]
    wait(browser, lambda b: text(b, "#count").startswith(f"{len(failed)} of"))
    for format_ in ("csv", "json"):
        click(browser, f"button.export[data-format={format_}]", By.CSS_SELECTOR)
    wait(browser, lambda b: len(b.execute_script("return saved")) == 2)
    table, records = browser.execute_script("return saved")
    rows = list(csv.DictReader(table.splitlines()))
    assert {int(row["trial"]) for row in rows} == {trial.index for trial in failed}
    assert {row["message"] for row in rows} == {trial.message for trial in failed}
    assert [record["trial"] for record in json.loads(records)] == [int(row["trial"]) for row in rows]


def test_a_text_that_a_spreadsheet_would_run_is_defused(browser, tmp_path):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=tmp_path / "s.db", name="s")
    study.fail(study.ask(), '=HYPERLINK("http://evil.example")')
    with served(tmp_path / "s.db") as address:
        browser.get(f"{address}/study/s")
        wait(browser, lambda b: text(b, "#count") == "1 of 1 trials")
        browser.execute_script("""
            window.saved = "";
            URL.createObjectURL = (blob) => { blob.text().then((text) => { saved = text; }); return "#"; };
        """)
        click(browser, "button.export[data-format=csv]", By.CSS_SELECTOR)
        wait(browser, lambda b: b.execute_script("return saved"))
        assert '"\'=HYPERLINK(""http' in browser.execute_script("return saved")
        browser.get("about:blank")


def test_the_best_configuration_is_copied(browser, address, study):
    browser.get(address)
    browser.execute_script("""
        window.copied = [];
        Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => copied.push(text) } });
    """)
    for label in ("Python", "YAML", "command line"):
        click(browser, f"//div[@id='live']//button[text()='{label}']")
    wait(browser, lambda b: len(b.execute_script("return copied")) == 3)
    python, yaml, words = browser.execute_script("return copied")
    assert python == repr(dict(study.best.config))
    assert f'kind: "{study.best.config["kind"]}"' in yaml
    assert f"--kind {study.best.config['kind']}" in words


def test_the_theme_follows_the_system_and_can_be_switched(browser, address):
    background = "return getComputedStyle(document.documentElement).backgroundColor"
    prefer(browser, "dark")
    browser.get(address)
    assert browser.execute_script(background) == "rgb(20, 24, 29)"
    interactive(browser, "curves")
    ink = "return document.querySelector('#curves .plot').layout.font.color"
    assert browser.execute_script(ink) == "#e4e7eb"
    for theme, color in (("dark", "rgb(20, 24, 29)"), ("light", "rgb(255, 255, 255)")):
        click(browser, "theme", By.ID)
        assert text(browser, "#theme") == f"theme: {theme}"
        assert browser.execute_script(background) == color
    wait(browser, lambda b: b.execute_script(ink) == "#222222")
    browser.get(address)  # it is remembered, and pictures have it too
    assert browser.execute_script(background) == "rgb(255, 255, 255)"
    image = "return fetch(document.querySelector('#history img')?.currentSrc ?? '/').then((answer) => answer.text())"
    assert "#e4e7eb" not in browser.execute_script(image)
    click(browser, "theme", By.ID)
    assert text(browser, "#theme") == "theme: system"
    assert browser.execute_script(background) == "rgb(20, 24, 29)"


@pytest.mark.parametrize("path", ["", "/trial/3", "/compare?trial=0&trial=1&trial=2"])
def test_a_phone_scrolls_in_one_direction(browser, address, path):
    resize(browser, 390, 844)
    browser.get(address + path)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    for y in range(0, height, 800):
        browser.execute_script(f"scrollTo(0, {y})")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 390


def test_the_page_works_from_the_keyboard(browser, address):
    browser.get(address)
    wait(browser, lambda b: "of" in text(b, "#count"))
    browser.find_element(By.CSS_SELECTOR, "body").send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "skip to the content"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.id") == "main"
    head = browser.find_element(By.CSS_SELECTOR, '#trials th[data-column="step"] button')
    browser.execute_script("arguments[0].focus()", head)
    head.send_keys(Keys.ENTER)
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, '#trials th[data-column="step"][aria-sort="ascending"]'))


def test_without_plotly_the_charts_are_pictures(browser, monkeypatch, study):
    monkeypatch.setattr("shoestring.web.pages._plotly", lambda: "")
    with served(study.directory(0).parents[3] / "s.db") as address:
        browser.get(f"{address}/study/played")
        for chart in ("curves", "parallel", "importance"):
            scroll_to(browser, chart)
            image = f"return document.querySelector('#{chart} img')?.naturalWidth > 0"
            wait(browser, lambda b, image=image: b.execute_script(image))
        click(browser, "#curves select[name=log] option[value=log]", By.CSS_SELECTOR)
        wait(browser, lambda b: "log=log" in b.find_element(By.CSS_SELECTOR, "#curves img").get_attribute("src"))
        assert not browser.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")
        browser.get("about:blank")
    assert errors(browser) == []


def test_studies_are_filtered_sorted_and_compared_by_group(browser, tmp_path):
    place = tmp_path / "s.db"
    for name, seed in (("first-0", 0), ("first-1", 1), ("second-0", 2)):
        played("random", seed=seed, storage=place, name=name)
    with served(place) as address:
        browser.get(address)
        names = (
            "return [...document.querySelectorAll('#studies tbody tr:not([hidden]) a')].map((one) => one.textContent)"
        )
        click(browser, "//th/button[text()='study']")
        click(browser, "//th/button[text()='study']")
        assert browser.execute_script(names) == ["second-0", "first-1", "first-0"]
        browser.find_element(By.ID, "filter").send_keys("first")
        assert browser.execute_script(names) == ["first-1", "first-0"]
        assert text(browser, "#shown") == "2 of 3 studies"
        assert len(browser.find_elements(By.CSS_SELECTOR, "svg.spark polyline")) == 3
        browser.get(f"{address}/compare?study=first-0&study=first-1&study=second-0")
        interactive(browser, "regret")
        labels = "return document.querySelector('#regret .plot').data.map((trace) => trace.name).filter(Boolean)"
        assert browser.execute_script(labels) == ["first (2 studies)", "second (1 study)"]
        axis = "return document.querySelector('#regret .plot').layout.yaxis.type"
        assert browser.execute_script(axis) == "log"
        browser.get("about:blank")
