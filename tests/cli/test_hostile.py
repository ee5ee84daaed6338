"""Storages that a stranger wrote: what they hold stays text, and no command and no page ends with a traceback."""

import json
import logging
import os
import random
import sqlite3
import subprocess
import sys
from urllib.parse import quote

import pytest
from click.testing import CliRunner

import shoestring as ss
from shoestring.cli import main
from tests.stored import edit, execute

ESCAPES = "\x1b[31mred\x07\r\u202egnp.exe\u2066\x85\x9b2J"
COMMANDS = [
    ["status"], ["status", "--json"], ["best"], ["best", "--json"], ["trials"], ["trials", "--json"],
    ["trials", "--sort", "x"], ["trials", "--where", "x<0.5 and state=finished"], ["trials", "--sort", "nothing"],
    ["export", "--format", "json"], ["verify"], ["watch", "--once"], ["repair"],
]  # fmt: skip


def told(place, budget="9 evaluations"):
    """A study with texts of a stranger wherever a log has room for them."""
    space = {"x": (0.0, 1.0), f"k{ESCAPES}": ["a", f"b{ESCAPES}"]}
    study = ss.Study(space, budget=budget, method="random", storage=place, name="s")
    for value in (1.0, None, 3.0):
        grant = study.ask()
        study.fail(grant, f"failed {ESCAPES}") if value is None else study.tell(grant, value)
    study.ask()
    return study


def invoke(place, *words):
    return CliRunner().invoke(main, [words[0], str(place), *words[1:]])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_control_characters_of_a_log_are_printed_escaped(tmp_path, words):
    told(tmp_path / "s.db").stop(f"why {ESCAPES}")
    result = invoke(tmp_path / "s.db", *words)
    assert result.exit_code in (0, 2), result.output
    assert all(line.isprintable() for line in result.output.split("\n"))


def test_errors_and_warnings_are_escaped_too(tmp_path, caplog):
    study = told(tmp_path / "s.db")
    edit(tmp_path / "s.db", kind=f"unknown{ESCAPES}")
    result = invoke(tmp_path / "s.db", "status")
    assert (result.exit_code, result.output.rstrip("\n").isprintable()) == (2, True)
    with caplog.at_level(logging.WARNING, "shoestring"):
        logging.getLogger("shoestring").warning("the budget was given by %s", ESCAPES)
    assert [record.getMessage().isprintable() for record in caplog.records] == [True]
    assert "gnp.exe" in caplog.text
    assert study.name == "s"


@pytest.mark.skipif(os.name != "posix", reason="a closed file descriptor")
@pytest.mark.parametrize("closed", ["| head -n 1 >/dev/null", ">&-", ">&- 2>&-"])
def test_a_closed_output_is_no_reason_for_a_traceback(tmp_path, closed):
    study = told(tmp_path / "s.db", "5000 evaluations")
    for _ in range(300):
        study.tell(study.ask(), 0.5)
    for command in ("trials", "status", "export"):
        line = f"{sys.executable} -m shoestring {command} {tmp_path / 's.db'} {closed}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert done.stderr == ""


HUGE = "9" * 5000
FORGED = [
    HUGE, f"-{HUGE}", "1e308", "-1e308", "1e999", "NaN", "null", "true", "[]", "{}", '""', "-1", "0", "0.5", "4e18",
    "9223372036854775807", "9223372036854775808", json.dumps("\x1b[2J" * 400), json.dumps("a" * 7000),
    "[" * 900 + "]" * 900, '{"x": 0.5}', json.dumps("\ud800"),
]  # fmt: skip


def forged(place, seed):
    """Overwrite a few fields of a few events with values that no writer of ours stores, with valid checksums."""
    choice = random.Random(seed)
    with sqlite3.connect(place) as connection:
        rows = connection.execute("SELECT seq, body FROM events").fetchall()
    connection.close()
    for seq, body in choice.sample(rows, 1 + seed % 2):
        fields = json.loads(body)
        names = [name for name, value in fields.items() if seq or name not in ("space", "method")]
        if not names or choice.random() < 0.1:
            execute(place, ("UPDATE events SET at = ? WHERE seq = ?", choice.choice([1e308, -1e308, 1e18, -5.0]), seq))
            continue
        name = choice.choice(names)
        kept = json.dumps({other: value for other, value in fields.items() if other != name})[:-1]
        comma = ", " if len(fields) > 1 else ""
        changed = f"{kept}{comma}{json.dumps(name)}: {choice.choice(FORGED)}}}"
        execute(place, ("UPDATE events SET body = ? WHERE seq = ?", changed, seq))
    edit(place)


def lasting(place):
    """A small study of several steps, with costs and metrics."""
    study = ss.Study(
        {"x": (0.0, 1.0), "n": (1, 9)}, budget=ss.Budget(steps=60, cost=100.0), max_resource=4, method="asha",
        storage=place, name="s",
    )  # fmt: skip
    for number in range(8):
        grant = study.ask()
        if number == 1:
            study.fail(grant, "boom")
        else:
            steps = range(grant.start + 1, grant.until + 1)
            study.tell(grant, {step: ss.Reading(1 / step, cost=1.0, accuracy=0.5) for step in steps})
    study.ask()


@pytest.mark.parametrize("seed", range(40))
def test_a_forged_log_gives_an_answer_or_one_line(tmp_path, seed):
    place = tmp_path / "s.db"
    lasting(place)
    forged(place, seed)
    more = [["report", "--no-verify", "-o", str(tmp_path / "r.html")]]
    plots = [["plot", "s", kind, "-o", str(tmp_path / "p.svg")] for kind in ("curves", "burn_down", "slices", "rungs")]
    for words in [*COMMANDS, ["export"], *more, *plots]:
        result = invoke(place, *words)
        crash = None if isinstance(result.exception, SystemExit) else result.exception
        assert crash is None, (words, crash)
        assert result.exit_code in (0, 1, 2)


EXTREME = [(1e308, -1e308), (1e308, 1.0, -1e308, 0.0), (5e-324, 1e308), (-1e308,) * 3, (0.0, 1e-320)]
KINDS = ["curves", "history", "burn_down", "shares", "workers", "rungs", "forecast", "importance", "parallel", "slices",
         "contour", "pareto", "regret"]  # fmt: skip


@pytest.mark.parametrize("values", EXTREME)
@pytest.mark.filterwarnings("error")
def test_extreme_readings_are_drawn(tmp_path, values):
    place = tmp_path / "s.db"
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget="30 steps", max_resource=3, method="asha",
                     storage=place, name="s")  # fmt: skip
    for index in range(10):
        grant = study.ask()
        steps = range(grant.start + 1, grant.until + 1)
        study.tell(grant, {step: values[(index + step) % len(values)] for step in steps})
    for kind in KINDS:
        result = invoke(place, "plot", "s", kind, "-o", str(tmp_path / "p.svg"))
        assert result.exit_code == 0, (kind, result.output, result.exception)
        assert "nan" not in (tmp_path / "p.svg").read_text()
    for words in (["status"], ["watch", "--once"], ["report", "--no-verify", "-o", str(tmp_path / "r.html")]):
        assert invoke(place, *words).exit_code == 0, words


def pages(name):
    study = f"/study/{name}"
    yield from ("/", "/fragment", f"/compare?study={name}", f"/regret?study={name}", study, f"{study}/fragment")
    yield from (f"{study}/trials.json?since={number}" for number in ("0", "-1", HUGE, "%D9%A3", ""))
    yield from (f"{study}/part/{part}" for part in ("budget", "failures", "turning"))
    yield from (f"{study}/plot/{kind}?width={HUGE}&at={HUGE}" for kind in KINDS[:-1])
    for index in ("0", "1", "7", "99", "-1", HUGE):
        yield from (f"{study}/trial/{index}", f"{study}/trial/{index}/fragment", f"{study}/curves?trial={index}")
        yield from (f"{study}/compare?trial={index}&trial=0", f"{study}/trial/{index}/file/{'a/' * 3000}x")
    odd = ("\0", "..", "a" * 6000, "work\n", "\ud800".encode("utf-8", "surrogatepass"))
    yield from (f"{study}/trial/0/file/{quote(path)}" for path in odd)
    yield from (f"/study/{quote(other)}" for other in ("a" * 6000, "..", "\u202e", "\0"))


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_pages_of_a_forged_log_are_answers_and_never_errors_of_the_server(tmp_path, seed):
    pytest.importorskip("starlette", reason="the dashboard needs starlette: pip install 'shoestring[dashboard]'")
    from tests.web.serving import asked, served

    place = tmp_path / "s.db"
    lasting(place)
    if seed is not None:
        forged(place, seed)
    with served(place) as address:
        for page in pages("s"):
            status = asked(address + page)[0]
            assert status < 500, page[:200]


def test_a_file_name_with_a_newline_is_listed_and_served(tmp_path):
    pytest.importorskip("starlette", reason="the dashboard needs starlette: pip install 'shoestring[dashboard]'")
    from tests.web.serving import asked, served

    place = tmp_path / "s.db"
    lasting(place)
    folder = ss.Study.load(place).directory(0)
    for name in ("two\nlines.txt", 'quoted " é.txt', os.fsdecode(b"bytes-\xff.txt")):
        (folder / name).write_text("content")
    with served(place) as address:
        status, _, page = asked(f"{address}/study/s/trial/0")
        assert status == 200
        for link in [part.partition('"')[0] for part in page.split('href="')[1:] if "/file/" in part]:
            status, headers, text = asked(address + link)
            if "bytes" in link:  # an address is UTF-8
                assert status == 404
                continue
            assert (status, text) == (200, "content"), link
            assert "\n" not in headers["content-disposition"]
        assert page.count("/file/") == 3
