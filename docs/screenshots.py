"""Take the pictures of the dashboard in dashboard.md; needs chromium, chromium-driver and selenium:

python docs/screenshots.py                       # docs/pictures/dashboard_*.png
python docs/screenshots.py --output DIR --width 400
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from gallery import SPACE, Training, study
from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import shoestring as ss
from shoestring.core.events import Granted, Reported
from shoestring.logs import SqliteLog
from shoestring.web.app import create_app

TOKEN = "screenshots"
PAGES = {
    "studies": "/",
    "study": "/study/hyperband",
    "trial": "/study/hyperband/trial/12",
    "compare": "/study/hyperband/compare?trial=12&trial=38",
    "compare_studies": "/compare?study=forecast-0&study=forecast-1&study=random-0&study=random-1",
    "empty": "/study/next",
    "front": "/study/two%20objectives",
    "many": "/study/ten%20thousand",
}
# Taken once more in a dark theme, or as wide as a phone.
DARK, PHONE = ("study",), ("study",)
# All charts that can be seen are interactive or pictures, and the table of trials is there if there is one.
_DRAWN = """
const count = document.getElementById("count");
const seen = [...document.querySelectorAll("figure.chart")].filter(
    (one) => one.offsetParent && one.getBoundingClientRect().top < innerHeight - 100);
return [...document.images].every((image) => !image.offsetParent || image.complete)
    && (!count || count.textContent !== "")
    && seen.every((one) => "interactive" in one.dataset || one.querySelector("img"))
    && (!document.body.dataset.plotly || seen.every((one) => "interactive" in one.dataset));
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "pictures")
    parser.add_argument("--width", type=int, default=1000)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        storage = Path(folder) / "studies.db"
        fill(storage)
        app = create_app(storage, token=TOKEN, allow_actions=True)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        try:
            address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
            shoot(address, arguments.output, arguments.width)
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


def fill(storage: Path) -> None:
    """Studies that show what there is to see: notes and tags, two objectives, one not started, and a large one."""
    found = study("hyperband", "hyperband", storage=storage)
    found.note, found.tags = "The learning rate matters most. **Next**: wider networks.", ("baseline", "digits")
    found.annotate(12, "The best so far; *see its curve*.", git="1a2b3c")
    for seed in range(2):
        for method in ("forecast", "random"):
            study(method, f"{method}-{seed}", seed, workers=1, budget="250 steps", storage=storage)
    options: dict[str, Any] = {"method": "random", "storage": storage}
    ss.Study(SPACE, budget="50 evaluations", name="next", **options)
    goals = {"error": "min", "latency": "min"}
    two = ss.Study(SPACE, budget="60 evaluations", name="two objectives", objectives=goals, **options)
    while (grant := two.ask()) is not None:
        try:
            error = Training().reading(grant.config, 27, grant.seed).value
        except FloatingPointError as failure:
            two.fail(grant, failure)
            continue
        two.tell(grant, {"error": error, "latency": grant.config["width"] / 50})
    many(storage)


def many(storage: Path, trials: int = 10_000) -> None:
    """A study of many trials, written to the log in one go."""
    (opened,) = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget=f"{trials} evaluations", method="random").events()
    log, events = SqliteLog(storage), []
    number = log.create("ten thousand", opened)
    for i, (x, y) in enumerate(np.random.default_rng(0).random((trials, 2)).tolist()):
        config = {"x": x, "y": y}
        events.append(Granted(float(i), i, i, 0, i, 0, 1, "drawn at random", "host/1/1/1", config=config))
        events.append(Reported(float(i), i, 1, x * x + y))
    log.append(number, events, 1)


def _shoot(browser: Any, address: str, path: Path, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 1700, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(f"{address}{'&' if '?' in address else '?'}token={TOKEN}")
    WebDriverWait(browser, 120).until(lambda b: b.execute_script(_DRAWN))
    height = browser.execute_script("return document.getElementById('main').getBoundingClientRect().bottom + 20")
    metrics["height"] = min(int(height), 1700)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    time.sleep(0.5)  # charts take the new size
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    picture.quantize(64).save(path, optimize=True)


def shoot(address: str, output: Path, width: int) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        for name, path in PAGES.items():
            _shoot(browser, f"{address}{path}", output / f"dashboard_{name}.png", width, "light")
        for name in DARK:
            _shoot(browser, f"{address}{PAGES[name]}", output / f"dashboard_{name}_dark.png", width, "dark")
        for name in PHONE:
            _shoot(browser, f"{address}{PAGES[name]}", output / f"dashboard_{name}_phone.png", 390, "light")
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
