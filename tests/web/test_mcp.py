"""The tools for agents: the SDK's own client against real servers, over standard input and output and over HTTP."""

import asyncio
import base64
import gc
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager

import pytest

pytest.importorskip("mcp", reason="the server for agents needs its SDK: pip install 'shoestring[mcp]'")

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import shoestring as ss
from shoestring.core.budget import Budget
from shoestring.errors import BudgetError, StudyMismatch, StudyNotFound
from shoestring.web import agents as module
from shoestring.web.agents import Agents
from shoestring.web.mcp import mcp_server

SPACE = {"x": {"float": [0, 1]}, "act": {"choice": ["relu", "tanh"]}}
CREATE = {"name": "s", "space": SPACE, "budget": "5 evaluations", "method": "random"}


class Session:
    """Calls of one client; ``refused`` has the messages of those that were refused."""

    def __init__(self, client):
        self.client, self.refused = client, []

    async def names(self):
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def __call__(self, tool, **arguments):
        answer = await self.client.call_tool(tool, arguments)
        if answer.is_error:
            self.refused.append(answer.content[0].text)
            return None
        return answer.structured_content if answer.structured_content is not None else answer.content[0]


def run(session, server):
    async def main():
        async with asyncio.timeout(120), Client(server) as client:
            return await session(Session(client))

    return asyncio.run(main())


def by_stdio(storage, *options):
    return StdioServerParameters(command=sys.executable, args=["-m", "shoestring", "mcp", str(storage), *options])


async def spend(call, study="s"):
    """Ask and tell until the study says that it is finished; how many trials were given."""
    count = 0
    while (grant := await call("ask", study=study))["trial"] is not None:
        count += 1
        await call("tell", study=study, trial=grant["trial"], value=grant["config"]["x"])
    assert grant["state"] == "finished"
    return count


def test_an_agent_that_tries_to_overspend_cannot(tmp_path):
    async def session(call):
        assert await call("create_study", **{**CREATE, "budget": "99 evaluations"}) is None
        assert await call("create_study", **{**CREATE, "budget": "99 steps"}) is None
        assert (await call("create_study", **CREATE))["remaining"] == {"evaluations": 5}
        assert await call("create_study", **{**CREATE, "budget": "8 evaluations"}) is None, "the budget is final"
        assert await call("create_study", **{**CREATE, "name": "t", "budget": "4 evaluations"}) is None
        assert await call("create_study", **{**CREATE, "name": "t", "budget": "3 evaluations"})
        for x in (0.25, 0.5, 0.75):
            assert await call("suggest", study="s", config={"x": x, "act": "relu"}, reason="a guess")
        assert await spend(call) == 5, "what is suggested is paid like the rest"
        assert await call("suggest", study="s", config={"x": 0.1, "act": "relu"}, reason="one more")
        assert (await call("ask", study="s"))["trial"] is None
        assert (await call("create_study", **CREATE))["state"] == "finished"
        assert (await call("stop", study="t", reason="enough"))["state"] == "finished"
        assert (await call("ask", study="t"))["trial"] is None
        assert await call("create_study", **{**CREATE, "name": "u", "budget": "4 evaluations"}) is None
        return call.refused

    refused = run(session, by_stdio(tmp_path / "s.db", "--allow", "8 evaluations"))
    assert [word in text for word, text in zip(
        ("99", "must limit its evaluations", "budget of 5", "3 evaluations of 8", "3 evaluations of 8"), refused,
        strict=True,
    )] == [True] * 5  # fmt: skip
    spent = [ss.Study.load(tmp_path / "s.db", name).spent.evaluations for name in ("s", "t")]
    assert spent == [5, 0]
    assert ss.Study.load(tmp_path / "s.db", "s").verify().ok


def test_the_log_names_the_origin_of_a_suggestion_and_why_repeats_it(tmp_path):
    async def session(call):
        await call("create_study", **CREATE)
        await call("suggest", study="s", config={"x": 0.5, "act": "tanh"}, reason="the middle\nof it")
        grant = await call("ask", study="s")
        await call("tell", study="s", trial=0, value=0.5)
        return grant, await call("why", study="s", trial=0)

    grant, why = run(session, by_stdio(tmp_path / "s.db", "--allow", "5 evaluations"))
    assert grant["config"] == {"x": 0.5, "act": "tanh"}
    assert "the middle of it" in why["decisions"][0]["reason"]
    (event,) = [event for event in ss.Study.load(tmp_path / "s.db").events() if event.kind == "enqueued"]
    assert event.source.startswith("the agent ")
    assert event.source.endswith(": the middle of it")


def curves(trial):
    for step in range(trial.start, 9):
        yield (trial.config["x"] - 0.3) ** 2 + 1 / (step + 2)


def test_a_read_only_server_shows_everything_and_writes_nothing(tmp_path):
    storage = tmp_path / "s.db"
    ss.tune(curves, {"x": (0.0, 1.0)}, budget="60 steps", max_resource=9, storage=storage, name="s", progress=False)
    gc.collect()  # closes the database, if nothing holds it
    before, files = storage.read_bytes(), {path.name for path in tmp_path.iterdir()}

    async def session(call):
        assert await call.names() == {"list_studies", "state", "why", "plot"}
        assert await call("stop", study="s", reason="no") is None
        studies = (await call("list_studies"))["result"]
        return studies, await call("state", study="s"), await call("plot", study="s", kind="curves")

    studies, state, picture = run(session, by_stdio(storage, "--read-only"))
    assert studies[0]["spent"]["steps"] == 60
    assert state["forecasts"]["trials"] or state["forecasts"]["note"]
    assert set(state["importance"]["shares"]) <= {"x"}
    assert base64.b64decode(picture.data).startswith(b"\x89PNG")
    assert storage.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} <= files


@contextmanager
def served_over_http(storage, *options):
    words = ["-m", "shoestring", "mcp", str(storage), "--http", "--port", "0", "--token", "secret", *options]
    with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server.stderr.readline().split()[0]
        finally:
            server.kill()


def test_the_same_tools_over_http_with_a_token(tmp_path):
    async def session(call):
        await call("create_study", **CREATE)
        return await spend(call)

    with served_over_http(tmp_path / "s.db", "--allow", "5 evaluations") as address:
        assert httpx2.post(address, json={}).status_code == 401

        @asynccontextmanager
        async def with_token():
            headers = {"Authorization": "Bearer secret"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                streamable_http_client(address, http_client=http) as s,
            ):
                yield s

        assert run(session, with_token()) == 5


WRONG = [
    ("create_study", {**CREATE, "name": "../t"}),
    ("create_study", {**CREATE, "name": "t", "space": {"x": "__import__('os').system('true')"}}),
    ("create_study", {**CREATE, "name": "t", "method": "os.system"}),
    ("create_study", {**CREATE, "name": "t", "budget": {"apples": 1}}),
    ("suggest", {"study": "s", "config": {"x": "1 + 1", "act": "relu"}, "reason": ""}),
    ("suggest", {"study": "s", "config": {"y": 1}, "reason": ""}),
    ("tell", {"study": "s", "trial": 0, "value": "abc"}),
    ("tell", {"study": "s", "trial": 7, "value": 1.0}),
    ("tell", {"study": "s", "trial": 0}),
    ("tell", {"study": "s", "trial": 0, "readings": {"2": 1.0}}),
    ("plot", {"study": "s", "kind": "__import__"}),
    ("why", {"study": "s", "trial": 9}),
    ("state", {"study": "none"}),
    ("stop", {"study": "s"}),
]


def test_a_wrong_call_changes_nothing_and_says_why(tmp_path):
    async def session(call):
        await call("create_study", **CREATE)
        await call("ask", study="s")
        before = len(ss.Study.load(tmp_path / "s.db", "s").events())
        for tool, arguments in WRONG:
            assert await call(tool, **arguments) is None, (tool, arguments)
        assert all(len(text.rpartition(f"Error executing tool {tool}")[2]) > 9 for text, (tool, _) in
                   zip(call.refused, WRONG, strict=True))  # fmt: skip
        return before

    before = run(session, mcp_server(Agents(tmp_path / "s.db", Budget("9 evaluations"))))
    assert len(ss.Study.load(tmp_path / "s.db", "s").events()) == before
    assert not (tmp_path / "t").exists()


def test_only_the_studies_that_are_named_are_offered(tmp_path):
    for name in ("s", "t"):
        ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", storage=tmp_path / "s.db", name=name)
    agents = Agents(tmp_path / "s.db", Budget("9 evaluations"), only=["s"])
    assert [each["name"] for each in agents.list()] == ["s"]
    with pytest.raises(StudyNotFound, match="there is 's'"):
        agents.why("t")
    with pytest.raises(StudyMismatch, match="names are s"):
        agents.create("u", {"x": {"float": [0, 1]}}, "1 evaluations")


def test_two_agents_that_create_at_the_same_moment_do_not_exceed_the_allowance(tmp_path, monkeypatch):
    first, second = (Agents(tmp_path / "s.db", Budget("5 evaluations")) for _ in range(2))
    create = module.Studies.create

    def both_at_once(studies, name, *given, **options):
        monkeypatch.setattr(module.Studies, "create", create)
        second.create("t", SPACE, "5 evaluations")
        return create(studies, name, *given, **options)

    monkeypatch.setattr(module.Studies, "create", both_at_once)
    with pytest.raises(BudgetError, match="0 evaluations of 5"):
        first.create("s", SPACE, "5 evaluations")
    assert first.studies.ask("s")["trial"] is None


def test_without_an_allowance_nothing_is_created(tmp_path):
    with pytest.raises(BudgetError, match="--allow"):
        Agents(tmp_path / "s.db").create("s", SPACE, "1 evaluations")
