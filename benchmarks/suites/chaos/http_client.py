"""A client of ``shoestring serve`` that is killed at any moment: ADDRESS TOKEN RECORD.

It asks and tells until the study is over, and records each tell that the server has confirmed.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any


def post(address: str, token: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """An answer, from the next server if this one is killed meanwhile; a conflict is an answer too."""
    headers = {"Authorization": f"Bearer {token}"}
    while True:
        request = urllib.request.Request(f"{address}{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                return {"status": error.code, "state": "refused"}
        except (OSError, HTTPException):
            time.sleep(0.05)


def main() -> None:
    address, token, record = sys.argv[1:]
    while True:
        grant = post(address, token, "/studies/s/ask", {})
        if grant.get("trial") is None:
            if grant["state"] == "finished":
                return
            time.sleep(0.1)
            continue
        value = grant["config"]["x"] ** 2
        answer = post(address, token, f"/studies/s/trials/{grant['trial']}/tell", {"value": value})
        if answer["state"] == "finished":
            with open(record, "a") as file:
                file.write(f"{json.dumps([grant['trial'], value])}\n")


if __name__ == "__main__":
    main()
