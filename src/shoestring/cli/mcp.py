"""``shoestring mcp``: the studies of a storage as tools for agents."""

from __future__ import annotations

import secrets
from importlib.util import find_spec

import click

from shoestring import web
from shoestring.cli.arguments import DEFAULT_STORAGE
from shoestring.cli.dashboard import listen
from shoestring.cli.output import echo
from shoestring.core.budget import as_budget
from shoestring.errors import MethodError


@click.command(
    epilog="\b\nExample:\n"
    "  shoestring mcp shoestring.db --allow '200 evaluations'\n"
    "  shoestring mcp shoestring.db --read-only --http --port 8082",
)
@click.argument("storage", default=DEFAULT_STORAGE)
@click.option("--read-only", is_flag=True, help="Offer only the tools that look.")
@click.option(
    "--allow",
    metavar="BUDGET",
    help="Let agents create studies; the budgets of all studies of STORAGE together are at most this.",
)
@click.option("--study", "only", multiple=True, metavar="NAME", help="Offer no other study than this; may be repeated.")
@click.option(
    "--lease",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="An agent that is silent for this long loses its trial.",
)
@click.option("--http", is_flag=True, help="Answer over streamable HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface to listen on, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8082, show_default=True, help="The port, with --http.")
@click.option("--token", envvar="SHOESTRING_TOKEN", help="What a request must know, with --http; made up if left out.")
def mcp(
    storage: str, read_only: bool, allow: str | None, only: tuple[str, ...], lease: float, http: bool, host: str,
    port: int, token: str | None,
) -> None:  # fmt: skip
    """Offer the studies of STORAGE to agents, as tools of the Model Context Protocol.

    Agents ask and tell within the budgets of the studies, which they cannot raise. They can create
    studies only with --allow. Everything that they change is in the log.
    """
    if find_spec("mcp") is None or find_spec("mcp.server.mcpserver") is None:
        raise MethodError("this needs the SDK of the protocol, version 2 or newer: pip install 'shoestring[mcp]'")
    if read_only and allow:
        raise MethodError("--read-only and --allow contradict each other: who only looks creates nothing")
    agents = web.mcp.Agents(storage, as_budget(allow) if allow else None, read_only, only, lease)
    if not http:
        web.mcp.mcp_server(agents).run("stdio")
        return
    secret = token or secrets.token_urlsafe(24)
    app = web.mcp.http_app(agents, host, secret)
    listening = listen(host, port)
    place = f"[{host}]" if ":" in host else host
    echo(f"http://{place}:{listening.getsockname()[1]}/mcp with the header Authorization: Bearer {secret}", err=True)
    web.server.serve(app, listening)
