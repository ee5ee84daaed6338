"""The tools of ``agents.py`` for the Model Context Protocol, by the official SDK: over standard input and output, or
over HTTP. No text that a tool is given is evaluated: names are looked up, numbers are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field
from starlette.applications import Starlette

from shoestring import __version__
from shoestring.errors import ShoestringError
from shoestring.web.agents import PLOTS, Agents
from shoestring.web.guard import Guard

__all__ = ["Agents", "http_app", "mcp_server"]

P = ParamSpec("P")
R = TypeVar("R")

StudyName = Annotated[str, Field(description="The name of the study.")]
TrialNumber = Annotated[int, Field(description="The number of the trial, as ask gave it.")]
Value = Annotated[float | None, Field(description="The value that was measured, of one step.")]
Space = Annotated[
    dict[str, Any],
    Field(
        description='For every parameter {"float": [0, 1]}, {"int": [1, 4]} (with "log": true for a logarithmic scale) '
        'or {"choice": [...]}.'
    ),
]
Limit = Annotated[str | dict[str, float], Field(description='Such as "30 evaluations", or {"steps": 300}.')]
Kind = Annotated[str, Field(description="Which plot.", json_schema_extra={"enum": list(PLOTS)})]
_INSTRUCTIONS = (
    "Studies tune parameters within a hard budget. Ask for a trial, train its config from step start to step until "
    "with its seed, tell each measured value with its step, and ask again until state is finished. Tell only what was "
    "measured. suggest puts a configuration of your own at the front of the queue; it is paid from the same budget."
)


def mcp_server(agents: Agents) -> MCPServer:
    """The server with the tools that the agents may use."""
    server = MCPServer("shoestring", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in _readers(agents):
        server.add_tool(_with_errors(tool), annotations=ToolAnnotations(read_only_hint=True))
    for tool in () if agents.read_only else _writers(agents):
        server.add_tool(_with_errors(tool), annotations=ToolAnnotations(read_only_hint=False))
    return server


def http_app(agents: Agents, host: str, token: str) -> Starlette:
    """The server as an application for streamable HTTP at /mcp; every request needs the token."""
    app: Starlette = mcp_server(agents).streamable_http_app(host=host)
    app.add_middleware(Guard, token=token)
    return app


def _readers(agents: Agents) -> list[Callable[..., Any]]:
    def list_studies() -> list[dict[str, Any]]:
        """The studies with their budgets and what is spent."""
        return agents.list()

    def state(study: StudyName) -> dict[str, Any]:
        """Return the state of a study: budget, running trials, the best configuration, forecasts, importance."""
        return agents.state(study)

    def why(study: StudyName, trial: TrialNumber | None = None) -> dict[str, Any]:
        """The reasons of the decisions about a trial, in words; without a trial, of the last decisions."""
        return agents.why(study, trial)

    def plot(study: StudyName, kind: Kind = "history") -> Image:
        """A picture of the study."""
        return Image(data=agents.plot(study, kind), format="png")

    return [list_studies, state, why, plot]


def _writers(agents: Agents) -> list[Callable[..., Any]]:
    def create_study(
        name: StudyName,
        space: Space,
        budget: Limit,
        method: str = "auto",
        mode: Literal["min", "max"] = "min",
        max_resource: Annotated[int | None, Field(description="The most steps of a trial, if it has steps.")] = None,
        seed: int = 0,
        past: Annotated[list[str] | None, Field(description="Similar studies of this storage to learn from.")] = None,
        guess: Annotated[dict[str, Any] | None, Field(description="Values that have worked before.")] = None,
    ) -> dict[str, Any]:
        """Create a study. Its budget is final; the sum of all budgets is limited."""
        return agents.create(
            name, space, budget, method=method, mode=mode, max_resource=max_resource, seed=seed, past=past, guess=guess
        )

    def ask(study: StudyName) -> dict[str, Any]:
        """The next trial: train config from step start until step until, with seed. The trial is null if there is
        nothing to start: for now if state is waiting, for good if it is finished.
        """
        return agents.studies.ask(study)

    def tell(
        study: StudyName,
        trial: TrialNumber,
        value: Value = None,
        step: Annotated[int | None, Field(description="The step of the value, needed if the study has steps.")] = None,
        cost: Annotated[float | None, Field(description="What the step cost.")] = None,
        readings: Annotated[
            dict[str, Any] | None, Field(description="Instead of value and step: steps to values.")
        ] = None,
    ) -> dict[str, Any]:
        """Report what was measured. The same reading twice is one; another value for the same step is refused."""
        body = {"value": value, "step": step, "cost": cost, "readings": readings}
        return agents.tell(study, trial, {name: part for name, part in body.items() if part is not None})

    def fail(study: StudyName, trial: TrialNumber, message: str) -> dict[str, Any]:
        """Report that the next step of a trial could not be done, and why."""
        return agents.studies.fail(study, trial, message)

    def heartbeat(study: StudyName, trial: TrialNumber) -> dict[str, Any]:
        """Keep a trial that takes long; one without a heartbeat is given out again."""
        return agents.studies.heartbeat(study, trial)

    def suggest(study: StudyName, config: dict[str, Any], reason: str, context: Context) -> dict[str, Any]:
        """Have a configuration of your own tried next, from the same budget; the log names you and the reason."""
        return agents.suggest(study, config, _client(context), reason)

    def stop(study: StudyName, reason: str, context: Context) -> dict[str, Any]:
        """Stop a study before its budget is spent."""
        return agents.stop(study, _client(context), reason)

    return [create_study, ask, tell, fail, heartbeat, suggest, stop]


def _client(context: Context) -> str:
    """The name that the client gives itself; it is not proven."""
    known = context.request_context.session.client_params
    return "without a name" if known is None else f"{known.client_info.name} {known.client_info.version}".strip()


def _with_errors(tool: Callable[P, R]) -> Callable[P, R]:
    """The tool with our errors as its answers; any other error is reported by the SDK without details."""

    @wraps(tool)
    def call(*given: P.args, **named: P.kwargs) -> R:
        try:
            return tool(*given, **named)
        except ShoestringError as error:
            raise ToolError(str(error)) from None

    return call
