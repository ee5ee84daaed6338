"""Every log holds to the contract."""

import pytest

from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.testing import check_log
from tests.stored import execute


def test_memory():
    log = MemoryLog()
    check_log(lambda: log)


def test_sqlite(tmp_path):
    def damage(study, position):
        execute(
            tmp_path / "log.db",
            ("UPDATE events SET body = replace(body, '5', '6') WHERE study = ? AND seq = ?", study, position),
        )

    check_log(lambda: open_log(tmp_path / "log.db"), damage)


def test_postgres(database):
    def damage(study, position):
        with psycopg.connect(database) as connection:
            query = "UPDATE events SET body = replace(body, '5', '6') WHERE study = %s AND seq = %s"
            connection.execute(query, (study, position))
        connection.close()

    psycopg = pytest.importorskip("psycopg")
    check_log(lambda: open_log(database), damage)
