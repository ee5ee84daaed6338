"""``shoestring serve``: ask and tell over HTTP."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from urllib.parse import quote

import click

from shoestring import web
from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.dashboard import listen
from shoestring.cli.output import echo
from shoestring.errors import MethodError


@click.command(epilog="\b\nExample:\n  shoestring serve shoestring.db --port 8081")
@click.argument("storage", default=DEFAULT_STORAGE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True)
@click.option("--token", envvar="SHOESTRING_TOKEN", help="What a request must know; made up if it is not given.")
@click.option(
    "--lease",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="A client that is silent for this long loses its trial to another one.",
)
def serve(storage: str, host: str, port: int, token: str | None, lease: float) -> None:
    """Answer ask and tell for the studies of STORAGE over HTTP, as JSON.

    The address that it prints shows the requests that there are. All of them need the token. End it
    with Ctrl-C: everything is in the log, so that a server started again goes on.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise MethodError("the server needs starlette and uvicorn: pip install 'shoestring[dashboard]'")
    secret = token or secrets.token_urlsafe(24)
    app = web.serve.create_app(storage, token=secret, lease=lease)
    listening = listen(host, port)
    place = f"[{host}]" if ":" in host else host
    echo(f"http://{place}:{listening.getsockname()[1]}/?token={quote(secret, safe='')}", err=True)
    web.server.serve(app, listening)
