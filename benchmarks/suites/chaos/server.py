"""Eight clients of ``shoestring serve`` under a hard budget; clients and the server are killed at random moments."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import shoestring as ss
from benchmarks.harness.common import Options
from benchmarks.harness.measurements import Row
from benchmarks.suites.chaos.http_client import post
from shoestring.core.events import Reported

CLIENTS, EVALUATIONS, TOKEN = 8, 2000, "secret"
CLIENT = Path(__file__).with_name("http_client.py")


def server(options: Options) -> list[Row]:
    """Compare the log with what the server has confirmed to its clients."""
    evaluations = EVALUATIONS // 10 if options.quick else EVALUATIONS
    with tempfile.TemporaryDirectory() as folder:
        found = _run(Path(folder), evaluations)
    return [Row(name, float(count), at_most=0.0 if name in MUST_NOT_BE else None) for name, count in found.items()]


MUST_NOT_BE = ("confirmed readings lost", "readings doubled", "readings wrong", "evaluations too many or too few",
               "decisions that a replay does not repeat")  # fmt: skip


def _run(folder: Path, evaluations: int) -> dict[str, int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    storage, address = folder / "s.db", f"http://127.0.0.1:{port}"
    serve = [sys.executable, "-m", "shoestring", "serve", str(storage), "--port", str(port), "--token", TOKEN,
             "--lease", "2"]  # fmt: skip
    records = [folder / f"{number}.jsonl" for number in range(CLIENTS)]
    commands = [[sys.executable, str(CLIENT), address, TOKEN, str(record)] for record in records]

    def start(command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stderr=subprocess.DEVNULL)

    serving = start(serve)
    space, budget = {"x": {"float": [0, 1]}}, {"evaluations": evaluations}
    post(address, TOKEN, "/studies", {"name": "s", "space": space, "budget": budget, "method": "random"})
    clients = [start(command) for command in commands]
    rng, killed = random.Random(0), Counter[str]()
    try:
        while not all(client.poll() == 0 for client in clients):
            time.sleep(rng.uniform(0.2, 0.8))
            if rng.random() < 0.2:
                serving = _replaced(serving, lambda: start(serve))
                killed["server"] += 1
            number = rng.randrange(CLIENTS)
            if clients[number].poll() is None:
                clients[number] = _replaced(clients[number], lambda n=number: start(commands[n]))
                killed["clients"] += 1
    finally:
        for process in (serving, *clients):
            process.kill()
            process.wait()
    return {"clients killed": killed["clients"], "server killed": killed["server"], **_checked(storage, records)}


def _replaced(process: subprocess.Popen[bytes], start: Callable[[], Any]) -> Any:
    process.kill()
    process.wait()
    return start()


def _checked(storage: Path, records: list[Path]) -> dict[str, int]:
    study = ss.Study.load(storage, "s")
    lines = [line for record in records if record.exists() for line in record.read_text().splitlines()]
    confirmed = [json.loads(line) for line in lines if line.endswith("]")]  # a killed client may leave half a line
    values = {trial.index: [reading.value for reading in trial.readings.values()] for trial in study.trials}
    reported = Counter((event.trial, event.step) for event in study.events() if isinstance(event, Reported))
    whole = int(study.budget.limits()["evaluations"])
    return {
        "evaluations": int(study.spent.evaluations),
        "confirmed readings": len(confirmed),
        "confirmed readings lost": sum([value] != values.get(trial) for trial, value in confirmed),
        "readings doubled": sum(count > 1 for count in reported.values()),
        "readings wrong": sum(values[trial.index] != [trial.config["x"] ** 2] for trial in study.trials),
        "evaluations too many or too few": abs(int(study.spent.evaluations) - whole) + abs(len(study.trials) - whole),
        "decisions that a replay does not repeat": int(not study.verify().ok),
    }
