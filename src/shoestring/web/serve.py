"""The HTTP server for ask and tell: JSON in, JSON out, and a description of itself as an OpenAPI document.

Every request needs the token (``guard.py``). The event loop only waits: studies are called in threads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from shoestring import __version__
from shoestring.errors import ShoestringError, StorageError, StudyMismatch, StudyNotFound
from shoestring.web.guard import Guard, read_body
from shoestring.web.serve_api import LEASE, AlreadyKnown, NoSuchTrial, Studies, readings_of

_LONGEST_BODY = 1_000_000
_STATUS: list[tuple[type[ShoestringError], int]] = [
    (AlreadyKnown, 409),
    (StudyMismatch, 409),
    (NoSuchTrial, 404),
    (StudyNotFound, 404),
    (StorageError, 503),
]

Body = dict[str, Any]


@dataclass(frozen=True)
class _Operation:
    """One request that the server answers: ``fields`` are those that its body may have, with their meaning."""

    method: str
    path: str
    summary: str
    answer: Callable[[Studies, Request, Body], Any]
    fields: dict[str, str] | None = None
    needed: tuple[str, ...] = ()


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _trial(request: Request) -> int:
    given = str(request.path_params["trial"])
    if not (given.isascii() and given.isdecimal() and len(given) < 16):
        raise NoSuchTrial(f"the trial is {given!r:.40}; it must be a number")
    return int(given)


def _tell(studies: Studies, request: Request, body: Body) -> Body:
    steps = studies.study(_name(request)).history.max_resource not in (None, 1)
    return studies.tell(_name(request), _trial(request), readings_of(body, steps))


_LEASE_FIELD = {"lease": "The lease that ask gave; one that has expired is refused."}
_STUDY, _TRIAL = "/studies/{name}", "/studies/{name}/trials/{trial}"
_OPERATIONS = [
    _Operation("GET", "/studies", "The names of the studies.", lambda studies, *_: studies.names()),
    _Operation(
        "POST",
        "/studies",
        "Create a study. An equal one that exists is not changed, and a different one is refused.",
        lambda studies, _, body: studies.create(**body),
        {
            "name": "The name of the study.",
            "space": 'For every parameter {"float": [0, 1]}, {"int": [1, 4]} (with "log": true if it is searched on a '
            'logarithmic scale) or {"choice": [...]}.',
            "budget": 'The most that may be spent: "300 steps", or {"steps": 300}.',
            "method": "How to spend it; auto by default.",
            "mode": "min or max.",
            "max_resource": "The most steps that a trial can have, if there are steps.",
            "seed": "The same seed gives the same decisions.",
            "recommend": "The rule for the best configuration.",
            "past": 'Studies of this storage whose best configurations are tried early: a list of names, or "auto".',
            "guess": "Values that have worked before, by the names of parameters; they are tried early.",
        },
        ("name", "space", "budget"),
    ),
    _Operation("GET", _STUDY, "What is spent, left and running.", lambda studies, r, _: studies.state(_name(r))),
    _Operation(
        "GET", f"{_STUDY}/best", "The best configuration; null at first.", lambda studies, r, _: studies.best(_name(r))
    ),
    _Operation(
        "POST",
        f"{_STUDY}/ask",
        "The next trial: train config from step start until step until, with seed. The trial is null if there is "
        "nothing to start: for now if state is waiting, for good if it is finished.",
        lambda studies, r, _: studies.ask(_name(r)),
        {},
    ),
    _Operation(
        "POST",
        f"{_STUDY}/stop",
        "Stop the study.",
        lambda studies, r, body: studies.stop(_name(r), body["reason"]),
        {"reason": "Why it is stopped."},
        ("reason",),
    ),
    _Operation("GET", _TRIAL, "What is known of a trial.", lambda studies, r, _: studies.trial(_name(r), _trial(r))),
    _Operation(
        "POST",
        f"{_TRIAL}/heartbeat",
        "Keep a trial.",
        lambda studies, r, body: studies.heartbeat(_name(r), _trial(r), **body),
        _LEASE_FIELD,
    ),
    _Operation(
        "POST",
        f"{_TRIAL}/tell",
        "Report a reading, which also keeps the trial. The same reading twice is one; another one is a conflict.",
        _tell,
        {
            "value": "The value of the step.",
            "step": "The step, needed if the study has steps.",
            "low": "The lower end of its 95 % interval.",
            "high": "The upper end.",
            "cost": "What the step cost.",
            "readings": "Instead of all these: an object from steps to values, or to objects with these fields.",
        },
    ),
    _Operation(
        "POST",
        f"{_TRIAL}/fail",
        "Report that the next step could not be done.",
        lambda studies, r, body: studies.fail(_name(r), _trial(r), **body),
        {"message": "Why not.", **_LEASE_FIELD},
        ("message",),
    ),
]


def create_app(storage: str | Path, *, token: str, lease: float = LEASE) -> Starlette:
    """The application for the studies of a storage; every request needs the token."""
    app = app_without_guard(storage, lease)
    app.add_middleware(Guard, token=token)
    return app


def app_without_guard(storage: str | Path, lease: float = LEASE) -> Starlette:
    """The same for an application that checks the token itself."""
    studies = Studies(storage, lease)
    routes = [Route(each.path, _endpoint(studies, each), methods=[each.method]) for each in _OPERATIONS]
    return Starlette(
        routes=[Route("/", _page), Route("/openapi.json", _openapi), *routes],
        exception_handlers={HTTPException: _error_response, ShoestringError: _error_response},
    )


def _endpoint(studies: Studies, operation: _Operation) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = {} if operation.fields is None else await _body(request, operation.fields, operation.needed)
        return JSONResponse(await run_in_threadpool(operation.answer, studies, request, body))

    return endpoint


async def _body(request: Request, fields: dict[str, str], needed: tuple[str, ...]) -> Body:
    try:
        body = json.loads(await read_body(request, _LONGEST_BODY) or b"{}")
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body of the request is not JSON") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the body of the request must be an object of JSON")
    for name in [*(name for name in needed if name not in body), *(name for name in body if name not in fields)]:
        wrong = "is needed" if name in needed else "is not known"
        raise HTTPException(400, f"the field {name!r:.40} {wrong}; this request has {', '.join(fields) or 'none'}")
    return body


async def _error_response(request: Request, error: Exception) -> Response:
    """An error as JSON; a conflict comes with what is known."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 400)
    known = {"known": error.known} if isinstance(error, AlreadyKnown) else {}
    return JSONResponse({"error": str(error), **known}, status)


async def _page(request: Request) -> Response:
    """The requests that there are, for a person."""
    rows = "".join(
        f"<h2>{each.method} {escape(each.path)}</h2><p>{escape(each.summary)}</p><dl>"
        + "".join(f"<dt><code>{name}</code><dd>{escape(what)}" for name, what in (each.fields or {}).items())
        + "</dl>"
        for each in _OPERATIONS
    )
    intro = '<p>Send <code>Authorization: Bearer TOKEN</code>. <a href="openapi.json">OpenAPI document</a></p>'
    return HTMLResponse(f"<!doctype html><meta charset=utf-8><title>shoestring</title><h1>shoestring</h1>{intro}{rows}")


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi(request.scope.get("root_path", "")))


def openapi(root: str) -> dict[str, Any]:
    """The OpenAPI document of a server whose paths begin with ``root``."""
    paths: dict[str, dict[str, Any]] = {}
    for each in _OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _describe(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "shoestring", "version": __version__},
        "servers": [{"url": root or "/"}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }


def _describe(operation: _Operation) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": kind}}
        for name, kind in (("name", "string"), ("trial", "integer"))
        if f"{{{name}}}" in operation.path
    ]
    answers = {"200": "done", "400": "the request is wrong", "404": "no such study or trial", "409": "a conflict"}
    described: dict[str, Any] = {
        "operationId": "_".join([operation.method.lower(), *re.findall(r"\w+", operation.path)]),
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {status: {"description": text} for status, text in answers.items()},
    }
    if operation.fields is not None:
        properties = {name: {"description": text} for name, text in operation.fields.items()}
        schema = {"type": "object", "properties": properties, "required": list(operation.needed)}
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return described
