"""Every log holds to the contract."""

from shoestring.logs import open_log
from shoestring.logs.memory import MemoryLog
from shoestring.testing import check_log


def test_memory():
    log = MemoryLog()
    check_log(lambda: log)


def test_sqlite(tmp_path):
    check_log(lambda: open_log(tmp_path / "log.db"))
