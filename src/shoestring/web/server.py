"""The server of the dashboard: connections that send half a request are closed, and Ctrl-C does not wait."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which the head of a request must have come.
PATIENCE = 20.0


class PatientProtocol(H11Protocol):
    """HTTP, but a client that does not finish its request is not waited for."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(PATIENCE, self._give_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_waiting():
            self._forget()
        elif self._timer is None:
            self._timer = self.loop.call_later(PATIENCE, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()


def server_config(app: Starlette, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app, http=PatientProtocol, log_level="warning", server_header=False, timeout_graceful_shutdown=5, **options
    )


class _Server(uvicorn.Server):
    def handle_exit(self, *given: Any) -> None:
        self.config.app.state.dashboard.closing = True  # type: ignore[union-attr]  # pages keep a connection open
        super().handle_exit(*given)


def serve(app: Starlette, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C."""
    server = _Server if hasattr(app.state, "dashboard") else uvicorn.Server
    with listening, suppress(KeyboardInterrupt):  # the server has ended, and says so by raising it again
        server(server_config(app)).run(sockets=[listening])
