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

import uvicorn
from gallery import study
from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from shoestring.web.app import create_app

TOKEN = "screenshots"
PAGES = {
    "studies": "/",
    "study": "/study/hyperband",
    "trial": "/study/hyperband/trial/12",
    "compare": "/study/hyperband/compare?trial=12&trial=38",
    "compare_studies": "/compare?study=hyperband&study=forecast",
}
# All pictures are there, and the table of trials if there is one.
_DRAWN = """
const count = document.getElementById("count");
return [...document.images].every((image) => image.complete) && (!count || count.textContent !== "");
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "pictures")
    parser.add_argument("--width", type=int, default=1000)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        storage = Path(folder) / "studies.db"
        study("hyperband", "hyperband", storage=storage)
        study("forecast", "forecast", workers=1, budget="250 steps", storage=storage)
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


def shoot(address: str, output: Path, width: int) -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        for name, path in PAGES.items():
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            browser.get(f"{address}{path}{'&' if '?' in path else '?'}token={TOKEN}")
            WebDriverWait(browser, 60).until(lambda b: b.execute_script(_DRAWN))
            metrics["height"] = min(browser.execute_script("return document.documentElement.scrollHeight"), 1700)
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            picture.quantize(32).save(output / f"dashboard_{name}.png", optimize=True)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
