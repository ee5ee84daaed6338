"""A dashboard on a free port, in a thread of its own."""

import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import uvicorn

from shoestring.web.app import create_app
from shoestring.web.server import server_config


@contextmanager
def served(storage, **options):
    """The address of a running dashboard."""
    app = create_app(storage, **options)
    app.state.dashboard.every = 0.1
    server = uvicorn.Server(server_config(app, port=0, ws="none", lifespan="off"))
    server.config.timeout_graceful_shutdown = 1
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


class _Stay(urllib.request.HTTPRedirectHandler):
    """Redirections are answers."""

    def redirect_request(self, *_):
        return None


def asked(address, form=None, **headers):
    """Status, headers and text of an answer."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(address, data, {name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.build_opener(_Stay).open(request, timeout=60) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()
