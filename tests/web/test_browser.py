"""The dashboard in a real browser: it updates by itself, and ten thousand trials can be sorted and searched."""

import pytest

import shoestring as ss
from shoestring.core.events import Granted, Opened, Reported
from shoestring.logs import SqliteLog
from tests.web.browsing import By, browser, cells, click, drawn, errors, needs_chromium, text, wait
from tests.web.serving import served

__all__ = ["browser"]
pytestmark = needs_chromium
HOSTILE = "<img src=x onerror=document.title='owned'>"
MANY = 10_000


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    place = tmp_path_factory.mktemp("browser") / "s.db"
    _many(place)
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=place, name=HOSTILE)
    study.fail(study.ask(), HOSTILE)
    return place


def _many(place):
    """A study of many trials, written to the log in one go."""
    small = ss.Study({"x": (0.0, 1.0)}, budget=f"{MANY} evaluations", method="random")
    (opened,) = small.events()
    assert isinstance(opened, Opened)
    log = SqliteLog(place)
    number, events = log.create("many", opened), []
    for i in range(MANY):
        x = (i * 7919 % MANY) / MANY
        events.append(Granted(float(i), i, i, 0, i, 0, 1, "drawn at random", "host/1/1/1", config={"x": x}))
        events.append(Reported(float(i), i, 1, x))
    log.append(number, events, 1)


@pytest.fixture(scope="module")
def address(storage):
    with served(storage) as found:
        yield found


def test_ten_thousand_trials_are_sorted_and_filtered(browser, address):
    browser.get(f"{address}/study/many")
    wait(browser, lambda b: text(b, "#count") == "10000 of 10000 trials")
    assert len(cells(browser, "trial")) < 200  # only what is seen is drawn
    values = [float(value) for value in cells(browser, "recommended")]
    assert values == sorted(values)  # the best is first, without a click
    assert values[0] == 0
    click(browser, '#trials th[data-column="recommended"] button', By.CSS_SELECTOR)
    assert float(cells(browser, "recommended")[0]) == pytest.approx(0.9999)
    head = '#trials th[data-column="recommended"][aria-sort="descending"]'
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, head))
    browser.find_element(By.ID, "search").send_keys("x<0.01 and trial>=5000")
    wait(browser, lambda b: text(b, "#count") == "50 of 10000 trials")
    assert all(int(trial) >= 5000 for trial in cells(browser, "trial"))
    browser.execute_script("document.getElementById('search').value = ''")
    browser.find_element(By.ID, "search").send_keys("running")
    wait(browser, lambda b: text(b, "#count") == "0 of 10000 trials")
    browser.execute_script("document.getElementById('search').value = ''")
    browser.find_element(By.ID, "search").send_keys("rte<0.1")
    wait(browser, lambda b: text(b, "#count") == "0 of 10000 trials; there is no column rte")
    assert errors(browser) == []


def test_the_end_of_the_table_can_be_scrolled_to(browser, address):
    browser.get(f"{address}/study/many")
    wait(browser, lambda b: text(b, "#count") == "10000 of 10000 trials")
    browser.execute_script("const t = document.getElementById('trials'); t.scrollTop = t.scrollHeight")
    wait(browser, lambda b: float(cells(b, "recommended")[-1]) == 0.9999)


def test_a_running_study_updates_by_itself(browser, tmp_path):
    place = tmp_path / "live.db"
    study = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=place, name="live")
    with served(place) as address:
        browser.get(f"{address}/study/live")
        wait(browser, lambda b: "0 of 5 evaluations" in text(b, "#live"))
        grant = study.ask()
        wait(browser, lambda b: "1 of 5 evaluations" in text(b, "#live"))
        study.tell(grant, 0.25)
        wait(browser, lambda b: "Best: 0.25" in text(b, "#live"))
        wait(browser, lambda b: text(b, "#count") == "1 of 1 trials")
        wait(browser, lambda b: drawn(b, "history"))
        study.tell(study.ask(), 0.125)
        wait(browser, lambda b: 0.125 in drawn(b, "history"))
        browser.get(address)
        study.tell(study.ask(), 0.0625)
        wait(browser, lambda b: "0.0625" in text(b, "#live"))
        browser.get("about:blank")
    assert errors(browser) == []


def test_hostile_names_and_messages_stay_text(browser, address):
    browser.get(address)
    click(browser, HOSTILE, By.LINK_TEXT)
    wait(browser, lambda b: HOSTILE in text(b, "h1"))
    wait(browser, lambda b: text(b, "#count") == "1 of 1 trials")
    assert HOSTILE in cells(browser, "message")[0]
    click(browser, "0", By.LINK_TEXT)
    wait(browser, lambda b: "Trial 0" in text(b, "h1"))
    assert HOSTILE in text(browser, "body")
    assert browser.title != "owned"
    assert errors(browser) == []


def test_two_trials_and_two_studies_are_compared(browser, address):
    browser.get(f"{address}/study/many")
    wait(browser, lambda b: text(b, "#count") == "10000 of 10000 trials")
    assert not browser.find_element(By.ID, "compare").is_enabled()
    browser.execute_script("document.querySelector('#all-trials').scrollIntoView()")
    first, second = cells(browser, "trial")[:2]
    for number in (first, second):
        click(browser, f'input[aria-label="compare trial {number}"]', By.CSS_SELECTOR)
    wait(browser, lambda b: b.find_element(By.ID, "compare").is_enabled())
    click(browser, "compare", By.ID)
    wait(browser, lambda b: "Compare" in text(b, "h1"))
    assert text(browser, "caption") == "what differs"
    browser.get(address)
    for place in (1, 2):
        click(browser, f"(//input[@class='pick'])[{place}]")
    click(browser, "compare", By.ID)
    wait(browser, lambda b: text(b, "h1") == "Compare studies")
    assert HOSTILE in text(browser, "main")


def test_a_chart_is_computed_when_it_is_scrolled_to(browser, address):
    browser.get(f"{address}/study/many")
    assert not browser.find_elements(By.CSS_SELECTOR, "#importance .canvas > *")
    browser.execute_script("document.getElementById('importance').scrollIntoView()")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#importance[data-interactive]"))
    assert errors(browser) == []


def test_values_with_spaces_and_truths_are_found_and_a_short_table_is_short(browser, tmp_path):
    space = {"act": ["relu", "leaky relu"], "nesterov": [True, False]}
    ss.tune(lambda trial: 1.0, space, budget="4 evaluations", method="grid", storage=tmp_path / "s.db", name="s")
    with served(tmp_path / "s.db") as address:
        browser.get(f"{address}/study/s")
        wait(browser, lambda b: text(b, "#count") == "4 of 4 trials")
        browser.execute_script("document.querySelector('#trials').scrollIntoView()")
        height = browser.execute_script("return document.getElementById('trials').clientHeight")
        assert height < 5 * 27 + 60
        for words in ("act=leaky relu", "nesterov=True", 'act="leaky relu|tanh"'):
            browser.execute_script("document.getElementById('search').value = ''")
            browser.find_element(By.ID, "search").send_keys(words)
            wait(browser, lambda b: text(b, "#count") == "2 of 4 trials")
        browser.get("about:blank")
    assert errors(browser) == []


def test_the_moment_of_the_forecast_can_be_chosen(browser, tmp_path):
    study = ss.Study({"x": (0.0, 1.0)}, budget="20 steps", max_resource=4, storage=tmp_path / "s.db", name="s")
    study.tell(study.ask(), 1.0)
    with served(tmp_path / "s.db") as address:
        browser.get(f"{address}/study/s")
        browser.execute_script("document.getElementById('forecast').scrollIntoView()")
        click(browser, "#forecast option[value='0.25']", By.CSS_SELECTOR)
        asked = "return performance.getEntriesByType('resource').some((one) => one.name.includes('at=0.25'))"
        wait(browser, lambda b: b.execute_script(asked))
        browser.get("about:blank")
    assert errors(browser) == []


TOKEN = "let-me-in"


def test_actions_on_a_running_study(browser, tmp_path):
    place = tmp_path / "live.db"
    study = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=place, name="live")
    study.ask()
    with served(place, token=TOKEN, allow_actions=True) as address:
        browser.get(f"{address}/study/live")
        assert "needs its token" in text(browser, "body")
        assert all("401" in message for message in errors(browser))
        browser.get(f"{address}/study/live?token={TOKEN}")
        assert "token" not in browser.current_url
        wait(browser, lambda b: "alive" in text(b, "#live"))
        browser.find_element(By.NAME, "budget").send_keys("7 evaluations")
        click(browser, "//button[text()='change the budget']")
        wait(browser, lambda b: "1 of 7 evaluations" in text(b, "#live"))
        click(browser, "//button[text()='release']")
        wait(browser, lambda b: "no worker" in text(b, "#live"))
        browser.find_element(By.NAME, "config.x").send_keys("0.125")
        click(browser, "//button[text()='try it next']")
        wait(browser, lambda b: "1 enqueued" in text(b, "#live"))
        browser.find_element(By.NAME, "reason").send_keys(HOSTILE)
        click(browser, "//button[text()='stop the study']")
        wait(browser, lambda b: f"stopped: {HOSTILE}" in text(b, "#live"))
        browser.get("about:blank")
    assert [event.kind for event in study.events()[2:]] == ["budgeted", "released", "enqueued", "stopped"]
    assert errors(browser) == []


def test_without_the_flag_there_is_nothing_to_click(browser, address):
    browser.get(f"{address}/study/many")
    assert not browser.find_elements(By.CSS_SELECTOR, "form[method=post]")
    status = browser.execute_script(
        "return fetch('/study/many/do/stop', {method: 'POST', body: 'reason=x'}).then((answer) => answer.status)"
    )
    assert status == 403


def test_a_study_that_vanishes_is_said_and_a_new_one_is_shown(browser, tmp_path):
    place = tmp_path / "live.db"
    told = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=place, name="live")
    told.tell(told.ask(), 0.5)
    with served(place) as address:
        browser.get(f"{address}/study/live")
        wait(browser, lambda b: "Best: 0.5" in text(b, "#live"))
        for file in tmp_path.glob("live.db*"):
            if file.is_file():
                file.unlink()
        wait(browser, lambda b: "not live" in text(b, "#offline"))
        again = ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=place, name="live")
        again.tell(again.ask(), 0.25)
        browser.get(f"{address}/study/live")
        wait(browser, lambda b: "Best: 0.25" in text(b, "#live"))
        browser.get("about:blank")
