"""``shoestring dashboard``: the studies of a storage in a browser."""

from __future__ import annotations

import secrets
import socket
from importlib.util import find_spec
from urllib.parse import quote

import click

from shoestring import web
from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.output import echo
from shoestring.errors import MethodError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(epilog="\b\nExample:\n  shoestring dashboard shoestring.db --port 8080")
@click.argument("storage", default=DEFAULT_STORAGE)
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface; all but loopback need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option("--token", envvar="SHOESTRING_TOKEN", help="What a request must know; made up if it is needed.")
@click.option(
    "--allow-actions",
    is_flag=True,
    help="Let people change studies; needs the token.",
)
@click.option("--serve", "with_api", is_flag=True, help="Answer ask and tell too, below /api; needs the token.")
def dashboard(storage: str, host: str, port: int, token: str | None, allow_actions: bool, with_api: bool) -> None:
    """Show the studies of STORAGE in a browser, live.

    It reads the log and changes nothing, unless --allow-actions or --serve is given. End it with
    Ctrl-C.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "jinja2")):
        raise MethodError("the dashboard needs starlette, uvicorn and jinja2: pip install 'shoestring[dashboard]'")
    if not token and (allow_actions or with_api or host not in _LOOPBACK):
        token = secrets.token_urlsafe(24)
    api = web.serve.app_without_guard(storage) if with_api else None
    app = web.app.create_app(storage, token=token, allow_actions=allow_actions, api=api)
    listening = listen(host, port)
    place = f"[{host}]" if ":" in host else host
    secret = f"?token={quote(token, safe='')}" if token else ""
    echo(f"http://{place}:{listening.getsockname()[1]}/{secret}", err=True)
    web.server.serve(app, listening)


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address, before the address is printed: with port 0 the system chooses a free one."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise MethodError(
            f"the server cannot listen on {host}, port {port}: {error.strerror}; give another --port, or --port 0 "
            "for one that is free"
        ) from None
