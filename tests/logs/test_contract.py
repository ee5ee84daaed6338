"""Every log holds to the contract."""

import pytest

from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.testing.contracts import LogContract
from tests.stored import execute


class TestMemory(LogContract):
    @pytest.fixture
    def open_again(self):
        log = MemoryLog()
        return lambda: log


class TestSqlite(LogContract):
    @pytest.fixture
    def open_again(self, tmp_path):
        return lambda: open_log(tmp_path / "log.db")

    @pytest.fixture
    def damage(self, tmp_path):
        query = "UPDATE events SET body = replace(body, '5', '6') WHERE study = ? AND seq = ?"
        return lambda study, position: execute(tmp_path / "log.db", (query, study, position))


class TestPostgres(LogContract):
    @pytest.fixture
    def open_again(self, database):
        return lambda: open_log(database)

    @pytest.fixture
    def damage(self, database):
        psycopg = pytest.importorskip("psycopg")

        def damage(study, position):
            with psycopg.connect(database) as connection:
                query = "UPDATE events SET body = replace(body, '5', '6') WHERE study = %s AND seq = %s"
                connection.execute(query, (study, position))
            connection.close()

        return damage
