"""The pages of the dashboard, and who may ask for what."""

import json
import re
import socket
from urllib.parse import quote

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import dashboard as command, main

pytest.importorskip("starlette", reason="the dashboard needs starlette: pip install 'shoestring[dashboard]'")
pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn: pip install 'shoestring[dashboard]'")

from shoestring.errors import MethodError
from shoestring.web.actions import act
from shoestring.web.app import create_app
from tests.web.serving import asked, served

HOSTILE = "<img src=x onerror=alert(1)>"
QUOTED = quote(HOSTILE, safe="")
TOKEN = "let-me-in"


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    place = tmp_path_factory.mktemp("dashboard") / "s.db"
    for name in ("first", HOSTILE):
        study = ss.Study({"x": (0.0, 1.0)}, budget="60 steps", max_resource=4, method="asha", storage=place, name=name)
        for number in range(14):
            grant = study.ask()
            if number == 1:
                study.fail(grant, "<script>alert(2)</script>")
            else:
                study.tell(grant, {step: 1 / step for step in range(grant.start + 1, grant.until + 1)})
    (study.directory(0) / "model.txt").write_text("weights")
    (study.directory(0) / "out.txt").symlink_to("/etc/passwd")
    study.ask()
    outside = place.parent / "outside"
    (outside / "work").mkdir(parents=True)
    (outside / "work" / "secret.txt").write_text("of another user")
    (place.parent / "s.db.files" / HOSTILE / "trial-1").symlink_to(outside, target_is_directory=True)
    (study.directory(0) / "folder").symlink_to(outside, target_is_directory=True)
    return place


@pytest.fixture(scope="module")
def address(storage):
    with served(storage) as found:
        yield found


PATHS = [
    "/", "/fragment", "/study/first", "/study/first/fragment", "/study/first/trial/0", "/study/first/trial/1",
    "/study/first/trial/1/fragment", *(f"/study/{QUOTED}/part/{part}" for part in ("budget", "failures", "turning")),
    "/study/first/compare?trial=0&trial=1", "/compare?study=first&study=" + QUOTED,
    "/study/" + QUOTED, "/study/" + QUOTED + "/trial/1",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_there_and_names_and_messages_stay_text(address, path):
    status, headers, text = asked(address + path)
    assert status == 200
    assert "<img src=x" not in text
    assert "<script>alert" not in text
    assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers
    assert not re.search(r'\son\w+="|\sstyle="|javascript:', text)


@pytest.mark.parametrize("kind", ["curves", "history", "burn_down", "shares", "workers", "importance", "parallel"])
def test_plots_are_svg(address, kind):
    status, headers, text = asked(f"{address}/study/first/plot/{kind}")
    assert (status, headers["content-type"]) == (200, "image/svg+xml")
    assert text.startswith("<svg")


def test_the_curves_of_chosen_trials_and_the_regret_of_studies(address):
    assert "learning curves" in asked(f"{address}/study/first/curves?trial=0&trial=2")[2]
    assert "learning curves" in asked(f"{address}/study/first/curves?trial=0")[2]
    assert "no reading of this trial" in asked(f"{address}/study/first/curves?trial=1")[2]
    assert "Regret" in asked(f"{address}/regret?study=first")[2]


def test_only_the_trials_that_changed_are_sent(tmp_path):
    study = ss.Study({"trial": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=tmp_path / "s.db")
    with served(tmp_path / "s.db") as address:

        def rows(since):
            return json.loads(asked(f"{address}/study/study/trials.json?since={since}")[2])

        first, second = study.ask(), study.ask()
        answer = rows(0)
        assert answer["columns"][-1] == "config.trial"
        assert [row[0] for row in answer["rows"]] == [0, 1]
        assert rows(answer["position"])["rows"] == []
        study.fail(second, "x" * 100_000)
        changed = rows(answer["position"])
        assert [row[:3] for row in changed["rows"]] == [[1, 1, "failed"]]
        assert len(changed["rows"][0][7]) < 1000
        study.tell(first, 1.0)
        assert [row[0] for row in rows(changed["position"])["rows"]] == [0]
        assert asked(f"{address}/study/study/trials.json?since=x")[0] == 400


def test_all_trials_as_columns_and_rows(address):
    answer = json.loads(asked(f"{address}/study/first/trials.json")[2])
    assert answer["columns"][:3] == ["trial", "arm", "state"]
    assert answer["columns"][-1] == "x"
    assert [row[0] for row in answer["rows"]] == list(range(len(answer["rows"])))
    assert answer["rows"][1][2] == "failed"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/study/none", 404), ("/study/first/trial/99", 404), ("/study/first/plot/none", 404),
        ("/study/first/plot/__init__", 404), ("/study/first/compare?trial=a", 400), ("/study/first/compare", 400),
        ("/nothing", 404), ("/compare", 400), ("/regret", 400), ("/study/first/part/none", 404),
        ("/study/../trial/0", 404), ("/study/first/compare?trial=" + "9" * 5000, 400),
        ("/study/..%2f..%2fetc/trial/0", 404),
    ],
)  # fmt: skip
def test_what_is_not_there_is_an_error_page(address, path, status):
    assert asked(address + path)[0] == status


def test_files_of_a_trial_are_downloads_and_nothing_else_can_be_read(address):
    place = f"{address}/study/{QUOTED}/trial/0/file"
    status, headers, text = asked(f"{place}/work/model.txt")
    assert (status, text) == (200, "weights")
    assert headers["content-disposition"].startswith("attachment")
    assert "out.txt" not in asked(f"{address}/study/{QUOTED}/trial/0")[2]
    for path in (
        "work/out.txt",
        "../../../s.db",
        "..%2f..%2f..%2fs.db",
        "%2e%2e/%2e%2e/%2e%2e/s.db",
        "/etc/passwd",
        "",
    ):
        assert asked(f"{place}/{path}")[0] == 404, path


def test_no_link_below_the_folder_of_the_storage_is_followed(address):
    trial = f"{address}/study/{QUOTED}/trial"
    for path in ("1/file/work/secret.txt", "0/file/work/folder/work/secret.txt"):
        assert asked(f"{trial}/{path}")[0] == 404, path
    for page in (f"{trial}/0", f"{trial}/1"):
        assert "secret.txt" not in asked(page)[2]


def test_only_requests_for_a_loopback_host_are_answered(address):
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example:8080", ""):
        assert asked(address, Host=host)[0] == 403
    for host in ("localhost:1234", "localhost", "127.0.0.1", "[::1]:80"):
        assert asked(address, Host=host)[0] == 200


ACTIONS = {"budget": {"budget": "90 steps"}, "stop": {"reason": "enough"}, "release": {"trial": "0"},
           "enqueue": {"config.x": "0.5"}}  # fmt: skip


@pytest.mark.parametrize("action", ACTIONS)
def test_actions_are_off_without_the_flag(address, storage, action):
    before = len(ss.Study.load(storage, "first").events())
    assert asked(f"{address}/study/first/do/{action}", {**ACTIONS[action], "secret": ""})[0] == 403
    assert "<form" not in asked(f"{address}/study/first")[2]
    assert len(ss.Study.load(storage, "first").events()) == before


def test_actions_need_a_token():
    with pytest.raises(MethodError, match="needs a token"):
        create_app(None, allow_actions=True)


@pytest.fixture
def changeable(tmp_path):
    """A study with a running trial, its page with actions, the secret of that page, and what opens it."""
    place = tmp_path / "s.db"
    study = ss.Study({"x": (0.0, 1.0)}, budget="60 steps", method="random", storage=place, name="first")
    study.ask()
    with served(place, token=TOKEN, allow_actions=True) as address:
        page = asked(f"{address}/study/first", authorization=f"Bearer {TOKEN}")[2]
        yield study, f"{address}/study/first", re.search(r'name="secret" value="([^"]+)"', page)[1]


def done(address, action, secret, **headers):
    form = {**ACTIONS.get(action, {}), "secret": secret}
    return asked(f"{address}/do/{action}", form, **{"authorization": f"Bearer {TOKEN}", **headers})[0]


@pytest.mark.parametrize("action", ACTIONS)
def test_actions_need_the_secret_of_the_page_the_token_and_its_own_site(changeable, action):
    study, address, secret = changeable
    before = study.events()
    assert done(address, action, "") == 403
    assert done(address, action, "guess") == 403
    assert done(address, action, secret, authorization="Bearer guess") == 401
    assert done(address, action, secret, authorization="") == 401
    assert done(address, action, secret, origin="http://evil.example") == 403
    assert done(address, action, secret, origin="null") == 403
    assert done(address, action, secret, origin="http://127.0.0.1:1") == 403
    assert done(address, action, secret, sec_fetch_site="same-site") == 403
    assert asked(f"{address}/do/{action}", authorization=f"Bearer {TOKEN}")[0] == 405
    assert study.events() == before
    own = address.partition("/study")[0]
    assert done(address, action, secret, origin=own, sec_fetch_site="same-origin") == 303
    assert [event.kind for event in study.events()[len(before) :]] == [
        {"budget": "budgeted", "stop": "stopped", "release": "released", "enqueue": "enqueued"}[action]
    ]


def test_what_an_action_cannot_do_is_said(changeable):
    study, address, secret = changeable
    before, head = study.events(), {"authorization": f"Bearer {TOKEN}"}
    status, _, text = asked(f"{address}/do/budget", {"budget": "<b>", "secret": secret}, **head)
    assert (status, "<b>" in text) == (400, False)
    assert asked(f"{address}/do/budget", {"budget": "9 steps" * 20_000, "secret": secret}, **head)[0] == 413
    for trial in ("7", "x", "-1", "1" * 40):
        assert asked(f"{address}/do/release", {"trial": trial, "secret": secret}, **head)[0] == 400
    for value in ("2", "<b>", ""):
        assert asked(f"{address}/do/enqueue", {"config.x": value, "secret": secret}, **head)[0] == 400
    assert done(address, "explode", secret) == 404
    assert study.events() == before
    assert done(address, "stop", secret) == 303
    assert "stopped: enough" in asked(address, **head)[2]


def test_a_study_in_postgresql_is_shown_and_changed_like_any_other(server, database):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=database, name="first")
    study.tell(study.ask(), 0.5)
    study.ask()
    with served(database, token=TOKEN, allow_actions=True) as address:
        head = {"authorization": f"Bearer {TOKEN}"}
        status, _, page = asked(f"{address}/study/first", **head)
        assert (status, "alive" in page) == (200, True)
        secret = re.search(r'name="secret" value="([^"]+)"', page)[1]
        assert done(f"{address}/study/first", "enqueue", secret) == 303
        assert done(f"{address}/study/first", "stop", secret) == 303
        server.cut_connections(database.rpartition("/")[2])
        for path in ("/", "/study/first", "/study/first/trial/0", "/study/first/plot/workers"):
            assert asked(address + path, **head)[0] == 200
    assert [event.kind for event in study.events()[-2:]] == ["enqueued", "stopped"]


def test_a_configuration_is_enqueued_with_values_of_its_space(tmp_path):
    space = {"n": (1, 9), "x": (0.0, 1.0), "kind": ["1", "two"], "flag": [True, False]}
    study = ss.Study(space, budget="60 steps", method="random", storage=tmp_path / "s.db", name="first")
    form = {"config.n": "3", "config.x": "1", "config.kind": "1", "config.flag": "False"}
    act(tmp_path / "s.db", "first", "enqueue", form)
    assert study.ask().config == {"n": 3, "x": 1.0, "kind": "1", "flag": False}


def test_a_token_is_needed_where_there_is_one(storage):
    with served(storage, token=TOKEN) as address:
        assert asked(address)[0] == 401
        assert asked(f"{address}/static/dashboard.js")[0] == 401
        assert asked(f"{address}/?token=guess")[0] == 401
        assert asked(address, Authorization="Bearer let-me-in")[0] == 200
        status, headers, _ = asked(f"{address}/?token=let-me-in")
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]
        assert asked(address, Cookie=headers["set-cookie"].partition(";")[0])[0] == 200
        for path, place in (
            ("/study/a%20b?x=1&token=", "/study/a%20b?x=1"),
            ("//evil.example/?token=", "/evil.example/"),
        ):
            assert asked(address + path + TOKEN)[1]["location"] == place


def test_another_interface_gets_a_token(monkeypatch, storage):
    started = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: started.append(sockets[0].getsockname()))
    words = ["dashboard", str(storage), "--port", "0", "--host"]
    public = CliRunner().invoke(main, [*words, "0.0.0.0"])
    own = CliRunner().invoke(main, [*words, "127.0.0.1"])
    changing = CliRunner().invoke(main, ["dashboard", str(storage), "--port", "0", "--allow-actions"])
    assert [host for host, _ in started] == ["0.0.0.0", "127.0.0.1", "127.0.0.1"]
    assert f"http://0.0.0.0:{started[0][1]}/?token=" in public.output
    assert own.output == f"http://127.0.0.1:{started[1][1]}/\n"
    assert "?token=" in changing.output
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert "pip install 'shoestring[dashboard]'" in CliRunner().invoke(main, [*words, "::1"]).output


@pytest.mark.parametrize("token", ["a b&c=d#e", "50%41", 'quoted " and ; é ✓'])
def test_the_printed_address_opens_the_dashboard_whatever_is_in_its_token(monkeypatch, storage, token):
    with monkeypatch.context() as patched:
        patched.setattr("uvicorn.Server.run", lambda server, sockets: None)
        result = CliRunner().invoke(main, ["dashboard", str(storage), "--port", "0", "--token", token])
    query = result.output.strip().partition("/?")[2]
    with served(storage, token=token) as address:
        status, headers, _ = asked(f"{address}/?{query}")
        assert status == 303
        assert asked(address, Cookie=headers["set-cookie"].partition(";")[0])[0] == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"", b"GET / HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT",
        b"POST /study/first/do/stop HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer let-me-in\r\n"
        b"Content-Length: 99\r\n\r\nsecret",
    ],
)  # fmt: skip
def test_a_request_that_does_not_end_is_not_waited_for(monkeypatch, storage, request_):
    monkeypatch.setattr("shoestring.web.server.PATIENCE", 0.2)
    monkeypatch.setattr("shoestring.web.guard.PATIENCE", 0.2)
    with served(storage, token=TOKEN, allow_actions=True) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(request_)
            answer = b""
            while part := connection.recv(65536):  # a connection that stays open ends with a timeout
                answer += part
    assert not request_.startswith(b"POST") or answer.startswith(b"HTTP/1.1 408")


def test_a_port_that_is_taken_is_named_before_an_address_is_printed(storage):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["dashboard", str(storage), "--port", str(port)])
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in result.output
    assert "http://" not in result.output


def test_objectives_without_steps_have_no_plots_of_steps(tmp_path, address):
    place = tmp_path / "once.db"
    ss.Study({"x": (0.0, 1.0)}, budget="5 evaluations", method="random", storage=place, name="once")
    with served(place) as once:
        page = asked(f"{once}/study/once")[2]
        assert "not started" in asked(once)[2]
    assert "plot/history" in page
    assert not any(f"plot/{kind}" in page for kind in ("curves", "rungs", "forecast"))
    assert "plot/curves" in asked(f"{address}/study/first")[2]


def test_the_moment_of_a_forecast_is_one_of_those_offered(address):
    assert "after 25 % of the budget" in asked(f"{address}/study/first/plot/forecast?at=0.25")[2]
    for given in ("?at=0.33", "?at=<b>", ""):
        assert "after 50 % of the budget" in asked(f"{address}/study/first/plot/forecast{given}")[2]


def test_events_have_a_time_that_people_can_read(address):
    page = asked(f"{address}/study/first/trial/0")[2]
    assert re.search(r"<td>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC</td><td>reported</td>", page)
    assert "e+09" not in page
    running = asked(f"{address}/study/{QUOTED}/fragment")[2]
    assert re.search(r">last event</th>.*20\d\d-\d\d-\d\d \d\d:\d\d", running)
