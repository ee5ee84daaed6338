"""Access control: every request is checked here before it is answered, and every answer gets its headers here.

On the loopback interface only requests for a loopback host are answered, so that no other site can reach the dashboard
through a name that it points at this machine. With a token, every request needs it. What changes something must come
from a page of this dashboard.
"""

from __future__ import annotations

import asyncio
import hmac
from urllib.parse import quote, unquote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NO_TOKEN = (
    "this server needs its token: open the address that it printed when it started, or send the header "
    "Authorization: Bearer TOKEN"
)
# Seconds in which the body of a request must have come.
PATIENCE = 20.0
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with "no-referrer" a browser would not say where a form comes from
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Checks every request before it is answered, and adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in own]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        request = Request(scope)
        refused = self._refuse(request) or _cross_origin(request)
        await (refused or self.app)(scope, receive, with_headers)

    def _refuse(self, request: Request) -> Response | None:
        """Answer a request that is not allowed at all."""
        if self._token is None:
            host = request.headers.get("host", "")
            known = host in _LOOPBACK or host.rpartition(":")[0] in _LOOPBACK
            return None if known else Response("this server answers only requests for localhost", 403)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        cookie = _cookie(request)
        if self._is_token(bearer) or self._is_token(unquote(request.cookies.get(cookie, ""))):
            return None
        given = request.query_params.get("token", "")
        if self._is_token(given) and request.method == "GET":
            answer = RedirectResponse(_without_token(request), 303)
            answer.set_cookie(cookie, quote(given, safe=""), httponly=True, samesite="strict")
            return answer
        return Response(_NO_TOKEN, 401)

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def _cookie(request: Request) -> str:
    """The name of the cookie: browsers send cookies to all ports of a host, and there may be several dashboards."""
    return f"shoestring-{request.url.port or 'token'}"


def _without_token(request: Request) -> str:
    """The same address on this host, without the token."""
    others = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    return "/" + quote(request.url.path.lstrip("/\\")) + (f"?{urlencode(others)}" if others else "")


def _cross_origin(request: Request) -> Response | None:
    """The answer to a change that a browser asks for on behalf of another site."""
    if request.method in ("GET", "HEAD"):
        return None
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    own = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if own and site == "same-origin":
        return None
    return Response("this server can only be changed from its own pages, or by a client that is not a browser", 403)


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request, of at most this many bytes, unless it does not come to its end."""
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise HTTPException(413, "the body of the request is too long")
    except TimeoutError:
        raise HTTPException(408, "the body of the request did not come to its end") from None
    return body
