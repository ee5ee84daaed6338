"""The web application: it reads the log of a storage and renders pages.

Security is in ``guard.py``. CORS is not enabled, scripts and styles come from files of the package alone, and files of
trials are served only from the folder of their trial, as downloads. Actions are off unless they are allowed, and need a
secret that only the pages have.

The event loop does nothing but wait: one thread answers what is quick, another one what is not.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from shoestring import plots
from shoestring.core.events import Event
from shoestring.core.history import TrialRecord
from shoestring.errors import MethodError, ShoestringError
from shoestring.objectives.folders import open_file
from shoestring.plots.picture import Picture, drawable
from shoestring.views.trace import Trace
from shoestring.web import pages, study_page, trial_page
from shoestring.web.actions import ACTIONS, act
from shoestring.web.artefacts import artefacts, image_type
from shoestring.web.charts import CHARTS, Chart, draw, plotly_script, read_options, render_chart
from shoestring.web.files import download, files_of_trial, inline_image
from shoestring.web.guard import Guard, read_body
from shoestring.web.reader import Reader, ReaderThread, Storage
from shoestring.web.trial_table import trials_json

_LONGEST_FORM = 100_000
# Server-sent events: seconds between two comments that keep the line open.
_QUIET = 15.0
_MOST_COMPARED = {"trial": 6, "study": 64}
_TYPES = {".css": "text/css", ".js": "text/javascript"}
_STATIC = ("style.css", "theme.js", "dashboard.js", "trials.js", "charts.js", "list.js")
THEME_COOKIE = "shoestring-theme"

Answer = Callable[[Reader, Request], str]
Draw = Callable[[Reader, Request], Picture]


class FileConvertor(PathConvertor):
    """A path in an address, which may have line ends."""

    regex = "(?s:.*)"


register_url_convertor("file", FileConvertor())


class Dashboard:
    """The answers to requests; ``quick`` and ``slow`` are the threads that read the log for them."""

    def __init__(self, storage: Storage, allow_actions: bool) -> None:
        self._storage = storage
        self._secret = secrets.token_urlsafe(24) if allow_actions else None
        self.quick, self.slow = ReaderThread(storage, "quick"), ReaderThread(storage, "slow")
        self.every = 1.0
        self.closing = False  # streams end when it is set

    def routes(self) -> list[Route]:
        study = "/study/{name}"
        trial = f"{study}/trial/{{index}}"
        return [
            Route("/", self._html(self.quick, lambda reader, _: pages.list_page(reader.overviews()))),
            Route("/fragment", self._html(self.quick, lambda reader, _: pages.list_body(reader.overviews()))),
            Route("/events", self._events(lambda reader, _: pages.list_version(reader.overviews()))),
            Route("/compare", self._html(self.slow, _compare_studies)),
            Route("/regret", self._picture(self.slow, _regret)),
            Route("/static/plotly.min.js", self.plotly),
            Route("/static/{file}", self.static),
            Route(study, self._html(self.quick, self.study)),
            Route(f"{study}/fragment", self._html(self.quick, self.study_head)),
            Route(f"{study}/events", self._events(lambda reader, request: reader.version(_name(request)))),
            Route(f"{study}/trials.json", self.trials),
            Route(f"{study}/plot/{{kind}}", self.plot),
            Route(f"{study}/part/{{part}}", self._html(self.quick, _part)),
            Route(f"{study}/curves", self._picture(self.quick, _draw_curves)),
            Route(f"{study}/compare", self._html(self.quick, _compare_trials)),
            Route(f"{study}/do/{{action}}", self.act, methods=["POST"]),
            Route(trial, self._html(self.slow, self.trial)),
            Route(
                f"{trial}/fragment",
                self._html(self.slow, lambda *given: trial_page.trial_body(*_trial_content(*given))),
            ),
            Route(f"{trial}/file/{{path:file}}", self.file),
            Route(f"{trial}/image/{{path:file}}", self.image),
        ]

    def _html(self, thread: ReaderThread, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return HTMLResponse(await thread.ask(answer, request))

        return endpoint

    def _picture(self, thread: ReaderThread, answer: Draw) -> Callable[[Request], Awaitable[Response]]:
        """A picture as SVG or as values; a chosen theme counts more than the system's."""

        def render(reader: Reader, request: Request) -> tuple[str, str]:
            chosen = request.cookies.get(THEME_COOKIE)
            theme = {"theme": chosen} if chosen in ("dark", "light") else {}
            return render_chart(answer(reader, request), {**request.query_params, **theme})

        async def endpoint(request: Request) -> Response:
            content, media_type = await thread.ask(render, request)
            return Response(content, media_type=media_type)

        return endpoint

    def _events(self, version: Answer) -> Callable[[Request], Awaitable[Response]]:
        """Server-sent events: one whenever the version has changed; they end when it cannot be read any more."""

        async def lines(request: Request, first: str) -> AsyncIterator[str]:
            now, last, quiet = first, "", 0.0
            while not self.closing:
                if now != last or quiet >= _QUIET:
                    yield f"data: {now}\n\n" if now != last else ": still here\n\n"
                    last, quiet = now, 0.0
                await asyncio.sleep(self.every)
                quiet += self.every
                try:
                    now = await self.quick.ask(version, request)
                except ShoestringError:
                    return

        async def endpoint(request: Request) -> Response:
            first = await self.quick.ask(version, request)
            return StreamingResponse(lines(request, first), media_type="text/event-stream")

        return endpoint

    def study(self, reader: Reader, request: Request) -> str:
        trace = reader.trace(_name(request))
        seen = study_page.Seen(trace, reader.workers(trace), reader.checkpoint(trace), self._secret)
        return study_page.study_page(seen, reader.version(trace.name))

    def trial(self, reader: Reader, request: Request) -> str:
        trace, trial, events, kept, version = _trial_content(reader, request)
        return trial_page.trial_page(trace, trial, events, kept, version, self._secret)

    def study_head(self, reader: Reader, request: Request) -> str:
        trace = reader.trace(_name(request))
        return study_page.study_head(
            study_page.Seen(trace, reader.workers(trace), reader.checkpoint(trace), self._secret)
        )

    async def trials(self, request: Request) -> Response:
        """The trials that changed since a position of the log, as columns and rows of plain values."""
        since = request.query_params.get("since", "0")
        position = _number(since)
        if position is None:
            raise HTTPException(400, "since must be a position of the log")
        answer = await self.quick.ask(lambda reader: trials_json(reader.trace(_name(request)), position))
        return Response(answer, media_type="application/json")

    async def plot(self, request: Request) -> Response:
        chart = CHARTS.get(request.path_params["kind"])
        if chart is None:
            raise HTTPException(404, "there is no such plot")
        thread = self.slow if chart.slow else self.quick
        return await self._picture(thread, lambda reader, _: _chart(reader, request, chart))(request)

    async def act(self, request: Request) -> Response:
        """Change a study: an event in its log."""
        if self._secret is None:
            raise HTTPException(403, "actions are off: start the dashboard with --allow-actions")
        form, action = await _form(request), request.path_params["action"]
        if not hmac.compare_digest(form.get("secret", "").encode(), self._secret.encode()):
            raise HTTPException(403, "this form is not one of this dashboard: load the page of the study again")
        if action not in ACTIONS:
            raise HTTPException(404, f"there is no such action; there are {', '.join(ACTIONS)}")
        try:
            place = await self.slow.ask(lambda _: act(self._storage, _name(request), action, form))
        except ShoestringError as error:
            raise HTTPException(400, str(error)) from None
        return RedirectResponse(place, 303)

    async def file(self, request: Request) -> Response:
        found = await self.quick.ask(_file, request)
        return download(found, request.path_params["path"].rpartition("/")[2])

    async def image(self, request: Request) -> Response:
        """An image that a trial shows; what does not start like one is not there."""
        found = await self.quick.ask(_file, request)
        kind = image_type(found)
        if kind is None:
            found.close()
            raise HTTPException(404, "there is no such image")
        return inline_image(found, kind)

    async def static(self, request: Request) -> Response:
        name = request.path_params["file"]
        if name not in _STATIC:
            raise HTTPException(404, "there is no such file")
        content = pages.stylesheet() if name == "style.css" else _static(name)
        return Response(content, media_type=_TYPES[Path(name).suffix])

    async def plotly(self, request: Request) -> Response:
        """plotly.js from the installed package; the address has its version, so a browser may keep it."""
        path = plotly_script()
        if path is None:
            raise HTTPException(404, "plotly is not installed: pip install plotly")
        kept = {"cache-control": "private, max-age=31536000, immutable"}
        return FileResponse(path, media_type=_TYPES[".js"], headers=kept)


def create_app(
    storage: Storage, *, token: str | None = None, allow_actions: bool = False, api: Starlette | None = None
) -> Starlette:
    """The application for the studies of a storage. With ``token``, every request needs it; actions need one, and so
    does ``api``, an application for programs that answers below /api.
    """
    if (allow_actions or api) and not token:
        raise MethodError("a dashboard that allows actions needs a token: others on this machine can reach it too")
    dashboard = Dashboard(storage, allow_actions)
    app = Starlette(
        routes=[*dashboard.routes(), *([Mount("/api", api)] if api else [])],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _error_page, ShoestringError: _error_page},
    )
    app.state.dashboard = dashboard
    return app


async def _error_page(request: Request, error: Exception) -> Response:
    """Render an error page; a question that a study cannot answer is "not found"."""
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (404, str(error))
    return HTMLResponse(pages.error_page(detail), status)


def _name(request: Request) -> str:
    name: str = request.path_params["name"]
    return name


def _number(given: str) -> int | None:
    """A number from an address, unless it is longer than any number of ours."""
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else None


def _trial(trace: Trace, given: str) -> TrialRecord:
    index = _number(given)
    if index is None or index >= len(trace.history.trials):
        raise HTTPException(404, f"there is no trial {given[:20]}; the study has {len(trace.history.trials)}")
    return trace.history.trials[index]


def _chart(reader: Reader, request: Request, chart: Chart) -> Picture:
    trace = reader.trace(_name(request))
    options = read_options(trace, chart, request.query_params)
    return reader.picture(trace, f"{chart.kind} {options}", lambda trace: draw(trace, chart, options))


def _part(reader: Reader, request: Request) -> str:
    if request.path_params["part"] not in study_page.PARTS:
        raise HTTPException(404, "there is no such part of the page")
    return study_page.part(reader.trace(_name(request)), request.path_params["part"])


def _draw_curves(reader: Reader, request: Request) -> Picture:
    trace = reader.trace(_name(request))
    chosen = [trial.index for trial in _read_trials(trace, request)]
    return drawable(plots.curves.data(trace, trials=chosen).picture())


def _compare_trials(reader: Reader, request: Request) -> str:
    trace = reader.trace(_name(request))
    return trial_page.compare_trials(trace, _read_trials(trace, request))


def _compare_studies(reader: Reader, request: Request) -> str:
    studies = [(trace, reader.workers(trace)) for trace in _read_studies(reader, request)]
    return pages.compare_studies(studies, _grouping(request))


def _grouping(request: Request) -> str:
    given = request.query_params.get("by", "")
    return given if given in pages.GROUPINGS else next(iter(pages.GROUPINGS))


def _regret(reader: Reader, request: Request) -> Picture:
    groups = pages.group(_read_studies(reader, request), _grouping(request))
    try:
        return drawable(plots.regret.data(groups).picture())
    except MethodError as error:
        raise HTTPException(400, str(error)) from None


def _read_studies(reader: Reader, request: Request) -> list[Trace]:
    names = request.query_params.getlist("study")[: _MOST_COMPARED["study"]]
    if not names:
        raise HTTPException(400, "say which studies: ?study=first&study=second")
    return [reader.trace(name) for name in names]


def _trial_content(reader: Reader, request: Request) -> tuple[Trace, TrialRecord, list[Event], trial_page.Kept, str]:
    trace = reader.trace(_name(request))
    trial = _trial(trace, request.path_params["index"])
    folder = _folder(reader, trace.name, trial.index)
    files = files_of_trial(folder)
    shown = artefacts(folder, files, below=reader.log.directory())
    return trace, trial, trace.events(), trial_page.Kept(files, shown), reader.version(trace.name)


def _folder(reader: Reader, name: str, trial: int) -> Path:
    return reader.log.directory() / name / f"trial-{trial}"


def _file(reader: Reader, request: Request) -> BinaryIO:
    name, path = _name(request), request.path_params["path"]
    folder = _folder(reader, name, _trial(reader.trace(name), request.path_params["index"]).index)
    try:
        return open_file(folder / path.lstrip("/"), below=reader.log.directory())
    except (OSError, ValueError):  # also a path that cannot exist: too long, or with a null character
        raise HTTPException(404, "there is no such file") from None


async def _form(request: Request) -> dict[str, str]:
    body = await read_body(request, _LONGEST_FORM)
    return {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _read_trials(trace: Trace, request: Request) -> list[TrialRecord]:
    given = request.query_params.getlist("trial")[: _MOST_COMPARED["trial"]]
    if not given or any(_number(part) is None for part in given):
        raise HTTPException(400, "say which trials: ?trial=0&trial=1")
    return [_trial(trace, part) for part in given]


def _static(name: str) -> str:
    return (files("shoestring.web") / "static" / name).read_text(encoding="utf-8")
