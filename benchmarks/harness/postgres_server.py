"""A private PostgreSQL server for tests and benchmarks: in a temporary folder, on a free port of the loopback address.

It needs the server's programs, which Debian has in the package ``postgresql``. The server refuses to run as root; then
it runs as the user ``postgres`` or ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shoestring.errors import StorageError

_USERS = ("postgres", "nobody")


def programs() -> Path | None:
    """The folder with the server's programs; None if there is no server."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("[0-9]*/bin/pg_ctl")]
    return max(folders, key=lambda folder: [int(part) for part in folder.parent.name.split(".")], default=None)


class Server:
    """A server that is running. Without ``fsync`` it is faster, and survives no power failure."""

    def __init__(self, folder: Path, listen: str = "127.0.0.1", fsync: bool = True) -> None:
        bin_ = programs()
        if bin_ is None:
            raise StorageError("there is no PostgreSQL server here; Debian has it in the package postgresql")
        self._bin, self._listen, self._fsync = bin_, listen, "on" if fsync else "off"
        self._data, self._sockets = folder / "data", folder
        self.port = _free_port()
        self._user = _other_user()
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--auth=trust", "--username=shoestring", "--encoding=UTF8", "--no-sync", "--locale=C")
        with (self._data / "pg_hba.conf").open("a") as file:  # the benchmarks have hosts of their own in this range
            file.write("host all all 10.0.0.0/8 trust\n")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        """Run one of the server's programs, as a user that it accepts."""
        command = [str(self._bin / program), "-D", str(self._data), *arguments]
        ids = {} if self._user is None else {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with tempfile.TemporaryFile() as output:  # no pipe, which the server would keep open
            done = subprocess.run(command, stdout=output, stderr=output, cwd=self._sockets, **ids)  # type: ignore[call-overload]
            if done.returncode:
                output.seek(0)
                raise StorageError(f"{program} failed: {output.read().decode(errors='replace')[-500:]}")

    def start(self) -> None:
        options = (
            f"-p {self.port} -k {self._sockets} -c listen_addresses={self._listen} -c max_connections=200 "
            f"-c fsync={self._fsync}"
        )
        self._run("pg_ctl", "-w", "-l", str(self._sockets / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        self._execute("postgres", f'CREATE DATABASE "{name}"')
        return self.address(name)

    def address(self, name: str, host: str = "127.0.0.1") -> str:
        return f"postgresql://shoestring@{host}:{self.port}/{name}"

    def cut_connections(self, name: str) -> None:
        """End all sessions of a database, except its own."""
        self._execute(
            name,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )

    def count(self, name: str, table: str) -> int:
        """Return how many rows a table of a database has."""
        return int(self._execute(name, f"SELECT count(*) FROM {table}")[0][0])

    def _execute(self, name: str, statement: str) -> list[Any]:
        import psycopg  # here because the module is for those who have it

        with psycopg.connect(self.address(name), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            rows: list[Any] = cursor.fetchall() if cursor.description else []
        connection.close()
        return rows


@contextmanager
def private_server(listen: str = "127.0.0.1", fsync: bool = True) -> Iterator[Server]:
    """A server of one's own, which is stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="shoestring-postgres-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), listen, fsync)
        try:
            yield server
        finally:
            with suppress(StorageError):  # it may be stopped already
                server.stop("immediate")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _other_user() -> pwd.struct_passwd | None:
    """Whom the server runs as, if we are root."""
    if os.getuid() != 0:
        return None
    for name in _USERS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise StorageError(f"the PostgreSQL server does not run as root, and there is no user {' or '.join(_USERS)}")
