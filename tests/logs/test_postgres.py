"""A PostgreSQL log whose connection, server or answers are lost, and one of another program."""

import os
import re
import subprocess
import sys
import threading

import pytest

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shoestring[postgres]'")

from shoestring import Study
from shoestring.errors import Conflict, StorageError, StudyNotFound
from shoestring.logs import open_log, postgres
from shoestring.testing.logs import BUDGETED, LOG_LAWS, OPENED, REPORTED


def execute(address, query):
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(query)
        rows = cursor.fetchall() if cursor.description else []
    connection.close()
    return rows


def tables_of(address):
    return execute(address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")[0][0]


class LosesAnswers:
    """A connection that does what it is told, and then breaks before the answer arrives."""

    def __init__(self, real):
        self.real = real

    @property
    def info(self):
        return self.real.info

    @property
    def closed(self):
        return self.real.closed

    def execute(self, query, values):
        self.real.execute(query, values)
        self.real.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def close(self):
        self.real.close()


def lose_next_answer(log):
    thread, real = next(iter(log._connections.items()))
    log._connections[thread] = LosesAnswers(real)


def test_looking_creates_nothing(database):
    log = open_log(database)
    assert log.studies() == []
    assert log.find("a") is None
    assert log.read(1, 0) == []
    with pytest.raises(StudyNotFound):
        Study.load(database, "a")
    assert tables_of(database) == 0
    log.create("a", OPENED)
    assert tables_of(database) == 3


def test_a_lost_connection_is_made_again(server, database):
    name = database.rpartition("/")[2]
    log = open_log(database)
    study = log.create("a", OPENED)
    server.cut_connections(name)
    log.append(study, [REPORTED], 1)
    server.cut_connections(name)
    assert log.read(study, 1) == [REPORTED]
    server.cut_connections(name)
    log.beat(study, "me")
    assert log.beats(study).keys() == {"me"}


def test_an_append_whose_answer_was_lost_is_not_doubled(database):
    log = open_log(database)
    study = log.create("a", OPENED)
    lose_next_answer(log)
    log.append(study, [REPORTED, BUDGETED], 1)
    log.append(study, [REPORTED], 3)
    assert open_log(database).read(study, 1) == [REPORTED, BUDGETED, REPORTED]


def test_after_a_lost_answer_the_event_of_another_is_not_taken_for_ours(database):
    log, other = open_log(database), open_log(database)
    study = log.create("a", OPENED)
    lose_next_answer(log)
    real = log._connections[next(iter(log._connections))]
    real.execute = lambda *_: (_ for _ in ()).throw(psycopg.OperationalError("it was never sent"))
    other.append(study, [BUDGETED], 1)
    with pytest.raises(Conflict):
        log.append(study, [REPORTED], 1)
    assert log.read(study, 1) == [BUDGETED]


def test_a_study_whose_creation_was_not_answered_is_continued(database, monkeypatch):
    open_log(database).create("other", OPENED)
    real = postgres.PostgresLog.find

    def then_lose(log, name):
        found = real(log, name)
        if found is None:
            lose_next_answer(log)
        return found

    monkeypatch.setattr(postgres.PostgresLog, "find", then_lose)
    study = Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage=database, name="a")
    assert study.ask() is not None
    assert open_log(database).studies() == ["other", "a"]


def test_the_server_may_be_restarted(server, database):
    log = open_log(database)
    study = log.create("a", OPENED)
    for position, mode in enumerate(("fast", "immediate"), 1):
        server.stop(mode)
        server.start()
        log.append(study, [REPORTED], position)
    assert log.read(study, 1) == [REPORTED, REPORTED]


def test_a_server_that_stays_away_is_an_error(server, database, monkeypatch):
    log = open_log(database)
    study = log.create("a", OPENED)
    monkeypatch.setattr(postgres, "_PATIENCE", 0.3)
    server.stop()
    try:
        with pytest.raises(StorageError, match="cannot be used"):
            log.append(study, [REPORTED], 1)
    finally:
        server.start()
    log.append(study, [REPORTED], 1)


def test_events_that_a_server_lost_leave_no_gap(database):
    log = open_log(database)
    study = log.create("a", OPENED)
    log.append(study, [REPORTED, BUDGETED], 1)
    execute(database, "DELETE FROM events WHERE seq = 2")
    with pytest.raises(StorageError, match="has lost events"):
        log.append(study, [REPORTED], 3)
    assert open_log(database).read(study, 0) == [OPENED, REPORTED]


def test_the_tables_of_another_program_are_refused(database):
    execute(database, "CREATE TABLE studies (study_id INTEGER, study_name TEXT)")
    with pytest.raises(StorageError, match="of another program"):
        open_log(database)
    execute(database, "CREATE SCHEMA ours")
    log = open_log(f"{database}?options=-csearch_path%3Dours")
    log.create("a", OPENED)
    assert log.studies() == ["a"]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:se%40cret@127.0.0.1:1/db",
        "postgresql://ada:secret@127.0.0.1:port/db",
        "postgresql://ada:se@cret@127.0.0.1:1/db",
        "postgresql://ada@127.0.0.1:1/db?password=secret",
        "postgresql+psycopg://ada:secret@127.0.0.1/db",
    ],
)
def test_a_password_is_never_shown(address):
    with pytest.raises(StorageError) as caught:
        open_log(address)
    assert "cret" not in str(caught.value)
    assert "ada" in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_study_is_named_without_the_password(database):
    with pytest.raises(StudyNotFound) as caught:
        Study.load(database.replace("shoestring@", "shoestring:secret@"), "a")
    assert "secret" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_must_open_the_study_again(database):
    log = open_log(database)
    study = log.create("a", OPENED)
    child = os.fork()
    if child == 0:
        try:
            log.append(study, [REPORTED], 1)
        except StorageError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    log.append(study, [REPORTED], 1)


def test_the_files_of_trials(database, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = database.rpartition("/")[2]
    assert open_log(database).directory() == tmp_path / f"{name}.files"
    monkeypatch.setenv("SHOESTRING_FILES", str(tmp_path / "shared"))
    assert open_log(database).directory() == tmp_path / "shared"


def test_without_psycopg_the_extra_is_named():
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from shoestring.logs import open_log; open_log('postgresql://localhost/db')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].startswith("shoestring.errors.StorageError: PostgreSQL needs psycopg")
    assert "pip install 'shoestring[postgres]'" in done.stderr


def test_a_server_whose_transactions_are_serializable_by_default(database):
    """The append itself decides who is first; a stricter isolation must not fail what the primary key allows."""
    name = database.rpartition("/")[2]
    execute(database, f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    for law in ("race", "two handles", "advisory lock", "heartbeats"):
        LOG_LAWS[law](lambda: open_log(database))
    study = Study({"x": (0.0, 1.0)}, budget="60 evaluations", method="random", storage=database)
    failures = []

    def work():
        try:
            own = Study.load(database, "study")
            while (grant := own.ask()) is not None:
                own.tell(grant, 0.5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (study.spent["evaluations"], len(study.trials)) == (60, 60)


def test_a_worker_that_finds_no_free_connection_at_its_start_waits_for_one(database):
    name = database.rpartition("/")[2]
    execute(database, "CREATE ROLE guest LOGIN CONNECTION LIMIT 1")
    execute(database, f"GRANT ALL ON DATABASE {name} TO guest; GRANT ALL ON SCHEMA public TO guest")
    guest = re.sub(r"//[^@/]*@", "//guest@", database)
    holding = psycopg.connect(guest)
    with pytest.raises(psycopg.OperationalError, match="too many connections"):
        psycopg.connect(guest)
    threading.Timer(0.5, holding.close).start()
    assert open_log(guest).studies() == []
    execute(database, "DROP OWNED BY guest; DROP ROLE guest")


def test_a_first_connection_that_is_refused_for_good_is_not_tried_again(database):
    missing = database.rpartition("/")[0] + "/nowhere"
    with pytest.raises(StorageError, match="does not exist"):
        open_log(missing)
