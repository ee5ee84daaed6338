"""A storage over HTTP: the dashboard and the report (extra ``dashboard``), ask and tell, and tools for agents.

The modules are loaded on first use, because each needs libraries that the others do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.web import app as app, mcp as mcp, report as report, serve as serve, server as server

__all__, __getattr__, __dir__ = lazy_names(
    __name__, {name: name for name in ("app", "mcp", "report", "serve", "server")}
)
