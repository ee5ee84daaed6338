"""The HTTP server for ask and tell: real requests to a real server, which is killed and started again."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib.parse import quote

import pytest

pytest.importorskip("starlette", reason="the server needs starlette: pip install 'shoestring[dashboard]'")

import uvicorn

import shoestring as ss
from shoestring.web import serve_api
from shoestring.web.serve import create_app
from shoestring.web.server import server_config

TOKEN = "secret"
CREATE = {"name": "s", "space": {"x": {"float": [0, 1]}}, "budget": "9 evaluations", "method": "random"}
STEPS = {**CREATE, "budget": {"steps": 30}, "max_resource": 9, "method": "asha"}


def call(address, path, body=None, token=TOKEN, method=None):
    """Status and JSON of an answer."""
    data = None if body is None else json.dumps(body).encode() if not isinstance(body, bytes) else body
    request = urllib.request.Request(f"{address}{path}", data, {"Authorization": f"Bearer {token}"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text


@contextmanager
def served(storage, **options):
    server = uvicorn.Server(server_config(create_app(storage, token=TOKEN, **options), port=0, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


@pytest.fixture
def address(tmp_path):
    with served(tmp_path / "s.db") as found:
        yield found


def test_a_study_from_its_creation_to_its_end(address):
    status, state = call(address, "/studies", CREATE)
    assert (status, state["state"], state["remaining"]) == (200, "open", {"evaluations": 9})
    assert call(address, "/studies/s/best") == (200, None)
    told = {}
    while (grant := call(address, "/studies/s/ask", {})[1])["trial"] is not None:
        assert {"config", "start", "until", "seed", "reason", "lease"} <= grant.keys()
        told[grant["trial"]] = grant["config"]["x"] ** 2
        status, trial = call(address, f"/studies/s/trials/{grant['trial']}/tell", {"value": told[grant["trial"]]})
        assert (status, trial["state"]) == (200, "finished")
    assert (grant["state"], sorted(told)) == ("finished", list(range(9)))
    assert call(address, "/studies/s/best")[1]["value"] == min(told.values())
    assert call(address, "/studies")[1] == ["s"]


def test_a_study_learns_from_others_of_the_storage_and_from_a_guess(address):
    call(address, "/studies", CREATE)
    while (grant := call(address, "/studies/s/ask", {})[1])["trial"] is not None:
        call(address, f"/studies/s/trials/{grant['trial']}/tell", {"value": grant["config"]["x"] ** 2})
    best = call(address, "/studies/s/best")[1]["config"]
    for number, past in enumerate((["s"], "auto")):
        status, state = call(address, "/studies", {**CREATE, "name": f"after-{number}", "seed": 1, "past": past})
        assert (status, state["planned"] > 0) == (200, True)
        assert call(address, f"/studies/after-{number}/ask", {})[1]["config"] == best
    call(address, "/studies", {**CREATE, "name": "guessed", "guess": {"x": 0.25}})
    assert call(address, "/studies/guessed/ask", {})[1]["config"] == {"x": 0.25}


def test_the_same_tell_twice_is_one_and_another_value_is_a_conflict(address):
    call(address, "/studies", STEPS)
    path = f"/studies/s/trials/{call(address, '/studies/s/ask', {})[1]['trial']}"
    first = call(address, f"{path}/tell", {"step": 1, "value": 0.5})
    assert first[0] == 200
    assert call(address, f"{path}/tell", {"step": 1, "value": 0.5}) == first
    status, answer = call(address, f"{path}/tell", {"step": 1, "value": 0.25})
    assert (status, answer["known"]["readings"]) == (409, {"1": 0.5})
    assert call(address, "/studies/s")[1]["spent"]["steps"] == 1
    assert call(address, f"{path}/tell", {"value": 0.5})[0] == 400, "it might be meant for a later step"


def test_the_same_failure_twice_is_one(address):
    call(address, "/studies", CREATE)
    call(address, "/studies/s/ask", {})
    first = call(address, "/studies/s/trials/0/fail", {"message": "no memory"})
    assert (first[0], first[1]["state"]) == (200, "failed")
    assert call(address, "/studies/s/trials/0/fail", {"message": "no memory"}) == first
    assert call(address, "/studies/s/trials/0/fail", {"message": "other"})[0] == 409
    assert call(address, "/studies/s/trials/0/tell", {"value": 1.0})[0] == 409


def test_a_client_that_is_silent_loses_its_trial_and_one_with_heartbeats_keeps_it(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(serve_api, "ticks", lambda: now[0])
    with served(tmp_path / "s.db", lease=10.0) as address:
        call(address, "/studies", CREATE)
        silent, alive = (call(address, "/studies/s/ask", {})[1] for _ in range(2))
        now[0] = 6.0
        assert call(address, "/studies/s/trials/1/heartbeat", {"lease": alive["lease"]})[0] == 200
        now[0] = 12.0
        again = call(address, "/studies/s/ask", {})[1]
        assert (again["trial"], again["config"]) == (0, silent["config"])
        assert call(address, "/studies/s/ask", {})[1]["trial"] == 2
        late = {"lease": silent["lease"]}
        assert call(address, "/studies/s/trials/0/heartbeat", late)[0] == 409
        assert call(address, "/studies/s/trials/0/fail", {"message": "late", **late})[0] == 409
        assert call(address, "/studies/s/trials/0/tell", {"value": 0.5})[0] == 200, "the first reading counts"
        assert call(address, "/studies/s/trials/0/tell", {"value": 0.6})[0] == 409


def test_a_budget_cannot_be_raised_by_creating_the_study_again(address):
    call(address, "/studies", CREATE)
    assert call(address, "/studies", CREATE)[0] == 200
    assert call(address, "/studies", {**CREATE, "budget": "99 evaluations"})[0] == 409
    assert call(address, "/studies", {**CREATE, "space": {"x": {"float": [0, 2]}}})[0] == 409
    assert call(address, "/studies/s")[1]["budget"] == {"evaluations": 9}


def test_a_stopped_study_gives_no_more_trials(address):
    call(address, "/studies", CREATE)
    assert call(address, "/studies/s/stop", {"reason": "enough"})[1]["state"] == "finished"
    assert call(address, "/studies/s/ask", {})[1] == {"trial": None, "state": "finished", "reason": "enough"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/studies", b"{", 400),
        ("/studies", b"[]", 400),
        ("/studies", b"[" * 100_000, 400),
        ("/studies", b" " * 1_000_001, 413),
        ("/studies", {"name": "t"}, 400),
        ("/studies", {**CREATE, "executor": "os.system"}, 400),
        ("/studies", {**CREATE, "name": "../t"}, 400),
        ("/studies", {**CREATE, "name": ["t"]}, 400),
        ("/studies", {**CREATE, "name": "t", "budget": {"apples": 3}}, 400),
        ("/studies", {**CREATE, "name": "t", "budget": 3}, 400),
        ("/studies", {**CREATE, "name": "t", "method": {"a": 1}}, 400),
        ("/studies", {**CREATE, "name": "t", "space": {"x": [0, 1]}}, 400),
        ("/studies", {**CREATE, "name": "t", "space": {"x": {"int": ["a", {}]}}}, 400),
        ("/studies/none/ask", {}, 404),
        ("/studies/s/trials/7/tell", {"value": 1.0}, 404),
        ("/studies/s/trials/-1/tell", {"value": 1.0}, 404),
        ("/studies/s/trials/0/tell", {"value": "high"}, 400),
        ("/studies/s/trials/0/tell", b'{"value": NaN}', 400),
        ("/studies/s/trials/0/tell", {"readings": [1.0]}, 400),
        ("/studies/s/trials/0/tell", {"readings": {"one": 1.0}}, 400),
        ("/studies/s/trials/0/tell", {"readings": {"1": {"self": 1.0}}}, 400),
        ("/studies/s/trials/0/tell", {"step": 2, "value": 1.0}, 409),
        ("/studies/s/stop", {"reason": 3}, 400),
        ("/studies", {**CREATE, "name": "t", "past": "/etc/passwd"}, 400),
        ("/studies", {**CREATE, "name": "t", "past": ["other.db"]}, 400),
        ("/studies", {**CREATE, "name": "t", "past": [["s"]]}, 400),
        ("/studies", {**CREATE, "name": "t", "guess": {"y": 0.5}}, 400),
        ("/nothing", {}, 404),
    ],
)
def test_a_wrong_request_changes_nothing_and_says_why(address, path, body, status):
    call(address, "/studies", CREATE)
    call(address, "/studies/s/ask", {})
    before = call(address, "/studies/s")
    answer = call(address, path, body)
    assert (answer[0], len(answer[1]["error"]) > 5) == (status, True)
    assert (call(address, "/studies/s"), call(address, "/studies")[1]) == (before, ["s"])


def test_every_request_needs_the_token(address):
    for path, body in (("/", None), ("/openapi.json", None), ("/studies", None), ("/studies", CREATE)):
        assert call(address, path, body, token="guess")[0] == 401
    assert call(address, "/studies")[1] == []


def test_the_document_describes_every_request_and_the_page_shows_it(address):
    document = call(address, "/openapi.json")[1]
    named = [(path, method) for path, methods in document["paths"].items() for method in methods]
    assert len(named) == 10
    ids = {document["paths"][path][method]["operationId"] for path, method in named}
    assert len(ids) == len(named)
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {TOKEN}"})
    page = urllib.request.urlopen(request, timeout=60).read().decode()
    assert all(f"{method.upper()} {path}" in page for path, method in named)


def test_the_dashboard_can_answer_the_same_requests(tmp_path):
    ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", storage=tmp_path / "s.db", name="other")
    words = ["dashboard", str(tmp_path / "s.db"), "--port", "0", "--serve", "--token", TOKEN]
    command = [sys.executable, "-m", "shoestring", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stderr.readline().partition("/?")[0]
            assert call(address, "/api/studies", CREATE)[0] == 200
            grant = call(address, "/api/studies/s/ask", {})[1]
            path = f"/api/studies/s/trials/{grant['trial']}/tell"
            assert call(address, path, {"value": 0.5})[1]["state"] == "finished"
            assert call(address, path, {"value": 0.6})[0] == 409
            assert call(address, "/api/studies/s", token="guess")[0] == 401
            assert call(address, "/api/openapi.json")[1]["servers"] == [{"url": "/api"}]
            request = urllib.request.Request(f"{address}/study/s", headers={"Authorization": f"Bearer {TOKEN}"})
            with urllib.request.urlopen(request, timeout=60) as page:
                assert "0.5" in page.read().decode()
        finally:
            process.kill()


class Server:
    """``shoestring serve`` in a process of its own, on one port."""

    def __init__(self, storage):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.storage, self.address = storage, f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        words = ["serve", str(self.storage), "--port", str(self.port), "--token", TOKEN, "--lease", "2"]
        command = [sys.executable, "-m", "shoestring", *words]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def call(self, path, body=None):
        """An answer, from the next server if this one is killed meanwhile."""
        while True:
            try:
                return call(self.address, path, body)
            except (OSError, HTTPException):  # the latter if it was killed in the middle of an answer
                time.sleep(0.05)


def client(server, number, told, lost, wrong):
    """Ask and tell until the study is over; now and then a client is lost with its trial, or tells twice."""
    rng = random.Random(number)
    while True:
        grant = server.call("/studies/s/ask", {})[1]
        if grant["trial"] is None:
            if grant["state"] == "finished":
                return
            time.sleep(0.1)
        elif rng.random() < 0.03:
            lost.append(grant["trial"])
        else:
            for _ in range(1 + (rng.random() < 0.1)):
                path, value = f"/studies/s/trials/{grant['trial']}/tell", grant["config"]["x"] ** 2
                status, trial = server.call(path, {"value": value})
                if (status, trial.get("readings")) != (200, {"1": value}):
                    wrong.append(trial)
            told.append(grant["trial"])


def test_eight_clients_and_a_server_that_is_killed_spend_the_budget_exactly(tmp_path):
    server, told, lost, wrong = Server(tmp_path / "s.db"), [], [], []
    try:
        server.call("/studies", {**CREATE, "budget": "300 evaluations"})
        with ThreadPoolExecutor(8) as pool:
            clients = [pool.submit(client, server, number, told, lost, wrong) for number in range(8)]
            for enough in (80, 160, 240):
                while len(told) < enough and not all(each.done() for each in clients):
                    time.sleep(0.01)
                server.kill()
                server.start()
        for each in clients:
            each.result()
    finally:
        server.kill()
    study = ss.Study.load(tmp_path / "s.db", "s")
    assert (bool(lost), wrong) == (True, [])
    assert sorted(set(told)) == list(range(300))
    assert study.spent.evaluations == len(study.trials) == 300
    assert all(trial.readings[1].value == trial.config["x"] ** 2 for trial in study.trials)
    assert study.verify().ok


@pytest.mark.parametrize(("language", "command"), [("bash", ["bash", "-eu"]), ("javascript", ["node"])])
def test_the_clients_of_the_page_run(address, tmp_path, language, command):
    for needed in {"bash": ("curl", "jq"), "javascript": ("node",)}[language]:
        if shutil.which(needed) is None:
            pytest.skip(f"the client needs {needed}")
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
    script = tmp_path / ("client.sh" if language == "bash" else "client.mjs")
    script.write_text(re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)[1])
    environment = {**os.environ, "SERVER": address, "TOKEN": TOKEN}
    subprocess.run([*command, str(script)], env=environment, check=True, timeout=120)
    state = call(address, "/studies/demo")[1]
    assert state["state"] == "finished"
    assert all(state["spent"][unit] == limit for unit, limit in state["budget"].items())


def test_a_name_with_odd_characters_is_a_name(address):
    call(address, "/studies", {**CREATE, "name": "ä b?c"})
    assert call(address, f"/studies/{quote('ä b?c')}")[1]["name"] == "ä b?c"
