"""A PostgreSQL server for the tests of this process, and a database of its own for each of them."""

import itertools
from importlib.util import find_spec

import pytest

from benchmarks.harness.postgres_server import private_server, programs

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server():
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: pip install 'shoestring[postgres]'")
    if programs() is None:
        pytest.skip("there is no PostgreSQL server here: Debian has it in the package postgresql")
    with private_server(fsync=False) as found:
        yield found


@pytest.fixture
def database(server):
    """The address of an empty database."""
    return server.database(f"test{next(_numbers)}")
