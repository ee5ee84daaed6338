"""Notes, tags, attributes and artefacts on the pages, and what is done with whole studies: shown, safe, or refused."""

import json
import re
from urllib.parse import quote

import pytest

import shoestring as ss

pytest.importorskip("starlette", reason="the dashboard needs starlette: pip install 'shoestring[dashboard]'")
pytest.importorskip("uvicorn", reason="the dashboard needs uvicorn: pip install 'shoestring[dashboard]'")

from shoestring.web.markdown import markdown
from tests.web.serving import asked, served

TOKEN = "let-me-in"
HEAD = {"authorization": f"Bearer {TOKEN}"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)
NOTES = [
    HOSTILE,
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1)) <javascript:alert(1)>",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "![x](http://evil.example/pixel.png)",
    '[x](http://a.example "onmouseover=alert(1) x=\'")',
    "<a href=javascript:alert(1)>x</a>",
    "[x]: javascript:alert(1)\n\n[x]",
    "```\n<script>alert(1)</script>\n```",
    "&#106;avascript:alert(1) [x](&#106;avascript:alert(1))",
    '<http://a.example/"onclick=alert(1)>',
    "\u202e<b>\x00",
]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_can_run_nothing(note):
    text = str(markdown(note))
    assert not re.search(r"<(script|img|iframe|style|svg|b)\b", text, re.IGNORECASE)
    for tag in re.findall(r"<[^>]*>", text):
        assert not re.search(r"\bon\w+\s*=", re.sub(r'"[^"]*"', '""', tag), re.IGNORECASE)
    for address in re.findall(r'href="([^"]*)"', text):
        assert address.startswith(("http://", "https://", "mailto:", "#"))


def test_a_note_is_markdown():
    text = str(markdown("# Why\n\n**lr** is too large, see [the paper](https://a.example/b)\n\n* one\n* two"))
    assert "<h1>Why</h1>" in text
    assert "<strong>lr</strong>" in text
    assert '<a href="https://a.example/b" rel="noopener noreferrer nofollow">the paper</a>' in text
    assert "<li>one</li>" in text


@pytest.fixture
def study(tmp_path):
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=tmp_path / "s.db", name="first"
    )
    study.tell(study.ask(), ss.Reading(0.5, words=HOSTILE, parts={"a": [1, HOSTILE]}))
    study.note, study.tags = f"**good** {HOSTILE}", ("baseline", HOSTILE)
    study.annotate(0, f"*diverged* {HOSTILE}", git="1a2b3c", **{HOSTILE: {"deep": [HOSTILE]}})
    show = study.directory(0) / "show"
    (show / "deep").mkdir(parents=True)
    (show / "confusion.png").write_bytes(PNG)
    (show / "not_an_image.png").write_text(HOSTILE)
    (show / "page.html").write_text(HOSTILE)
    (show / "drawing.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{HOSTILE}</svg>")
    (show / "summary.txt").write_text(f"all good {HOSTILE}")
    (show / "deep" / "scores.csv").write_text(f"name,score\n{HOSTILE},1\nb,2\n")
    (show / f"{HOSTILE.replace('/', '')}.txt").write_text("named badly")
    (show / "link.txt").symlink_to("/etc/passwd")
    (show / "outside").symlink_to("/etc", target_is_directory=True)
    return study


@pytest.fixture
def address(study, tmp_path):
    with served(tmp_path / "s.db", token=TOKEN, allow_actions=True) as found:
        yield found


def test_notes_tags_attributes_and_artefacts_are_shown_as_text(address):
    pages = {path: asked(address + path, **HEAD)[2] for path in ("/", "/study/first", "/study/first/trial/0")}
    for page in pages.values():
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "root:" not in page
    assert "baseline" in pages["/"]
    assert "<strong>good</strong>" in pages["/study/first"]
    trial = pages["/study/first/trial/0"]
    for words in (
        "<em>diverged</em>",
        "1a2b3c",
        "all good",
        "<td>b</td><td>2</td>",
        "confusion.png",
        "words",
        "named badly",
    ):
        assert words in trial
    table = json.loads(asked(f"{address}/study/first/trials.json", **HEAD)[2])
    assert {"words", "parts", "git", "note"} <= set(table["columns"])
    assert all(cell is None or isinstance(cell, (int, float, str)) for cell in table["rows"][0])


def test_only_images_are_sent_as_images(address):
    place = f"{address}/study/first/trial/0/image"
    shown = re.search(
        r'src="(/study/first/trial/0/image/[^"]*confusion.png)"', asked(f"{address}/study/first/trial/0", **HEAD)[2]
    )
    status, headers, _ = raw(f"{address}{shown[1]}")
    assert (status, headers["content-type"]) == (200, "image/png")
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["x-content-type-options"] == "nosniff"
    for name in ("not_an_image.png", "page.html", "drawing.svg", "summary.txt", "link.txt", "outside/passwd"):
        assert asked(f"{place}/work/show/{name}", **HEAD)[0] == 404, name
    for path in ("../../../s.db", "..%2f..%2f..%2fs.db", "%2e%2e/%2e%2e/s.db", "/etc/passwd", ""):
        assert asked(f"{place}/{path}", **HEAD)[0] == 404, path


def raw(address):
    import urllib.request

    with urllib.request.urlopen(urllib.request.Request(address, headers=HEAD), timeout=60) as answer:
        return answer.status, answer.headers, answer.read()


def test_of_several_states_of_an_artefact_the_newest_is_shown(tmp_path):
    def train(trial):
        for step in range(trial.start + 1, 4):
            (trial.directory / "show").mkdir(exist_ok=True)
            (trial.directory / "show" / "step.txt").write_text(f"after step {step}")
            yield 1.0 / step

    ss.tune(
        train, {"x": (0.0, 1.0)}, budget="3 steps", max_resource=3, method="random", storage=tmp_path / "s.db", name="s"
    )
    with served(tmp_path / "s.db") as address:
        page = asked(f"{address}/study/s/trial/0")[2]
    assert page.count("after step") == 1
    assert "after step 3" in page


ACTIONS = {
    "note": {"note": "hello"}, "tags": {"tags": "one, two"}, "archive": {}, "rename": {"name": "second"},
    "delete": {"name": "first"},
}  # fmt: skip


def secret_of(address):
    return re.search(r'name="secret" value="([^"]+)"', asked(f"{address}/study/first", **HEAD)[2])[1]


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_needs_the_secret_the_token_and_its_own_site(address, study, action):
    before, form = study.events(), ACTIONS[action]
    place, secret = f"{address}/study/first/do/{action}", secret_of(address)
    for given, headers in (
        ("", {}), ("guess", {}), (secret, {"authorization": "Bearer guess"}), (secret, {"authorization": ""}),
        (secret, {"origin": "http://evil.example"}), (secret, {"origin": "null"}),
        (secret, {"sec_fetch_site": "cross-site"}),
    ):  # fmt: skip
        assert asked(place, {**form, "secret": given}, **{**HEAD, **headers})[0] in (401, 403)
    assert asked(place, **HEAD)[0] == 405
    assert study.events() == before
    status, headers, _ = asked(place, {**form, "secret": secret}, **HEAD)
    assert status == 303
    assert headers["location"] == {"rename": "/study/second", "delete": "/"}.get(action, "/study/first")


@pytest.mark.parametrize("action", ACTIONS)
def test_without_the_flag_none_of_them_is_there(study, tmp_path, action):
    before = study.events()
    with served(tmp_path / "s.db") as address:
        assert asked(f"{address}/study/first/do/{action}", {**ACTIONS[action], "secret": ""})[0] == 403
        assert 'method="post"' not in asked(f"{address}/study/first")[2]
        assert 'method="post"' not in asked(f"{address}/study/first/trial/0")[2]
    assert study.events() == before


def test_what_the_actions_do(address, study, tmp_path):
    def do(action, **form):
        return asked(f"{address}/study/first/do/{action}", {**form, "secret": secret_of(address)}, **HEAD)

    do("note", note="a **new** note")
    do("tags", tags="one, two,, one")
    assert (study.note, study.tags) == ("a **new** note", ("one", "two"))
    status, headers, _ = do("note", note="about the trial", trial="0")
    assert (status, headers["location"]) == (303, "/study/first/trial/0")
    assert study.trials[0].notes[-1] == "about the trial"
    do("archive")
    do("tags", tags="three")
    assert study.tags == ("three", "archived")
    assert " data-archived" in asked(f"{address}/fragment", **HEAD)[2]
    do("archive", undo="yes")
    assert study.tags == ("three",)
    for trial in ("7", "x", "-1", "9" * 30):
        assert do("note", note="x", trial=trial)[0] == 400
    assert do("tags", tags="x" * 5000)[0] == 400
    for name in ("", "a/b", "..", "first\n"):
        assert do("rename", name=name)[0] in (303, 400)
    for name in ("", "second", "FIRST"):
        assert do("delete", name=name)[0] == 400
    grant = study.ask()
    for action, name in (("rename", "second"), ("delete", "first")):
        status, _, text = do(action, name=name)
        assert status == 400
        assert "are running" in text
    study.tell(grant, 0.25)
    do("rename", name="second <b>")
    assert asked(f"{address}/study/first", **HEAD)[0] == 404
    assert asked(f"{address}/study/{quote('second <b>')}", **HEAD)[0] == 200
    assert len(ss.Study.load(tmp_path / "s.db", "second <b>").trials) == 2


def test_a_study_with_several_objectives_shows_its_front(tmp_path):
    study = ss.Study(
        {"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=tmp_path / "s.db", name="two",
        objectives={"error": "min", "latency": "min"}, constraints={"latency": "<= 9"},
    )  # fmt: skip
    for error, latency in ((0.5, 1.0), (0.25, 2.0), (0.75, 3.0)):
        study.tell(study.ask(), {"error": error, "latency": latency})
    with served(tmp_path / "s.db") as address:
        page = asked(f"{address}/study/two")[2]
        for kind in ("front", "volume"):
            assert f'id="{kind}"' in page
            assert asked(f"{address}/study/two/plot/{kind}")[2].startswith("<svg")
        assert asked(f"{address}/study/two/trial/0")[0] == 200
        assert asked(address)[0] == 200
    assert "Front: <b>2</b> trials" in page
    assert "error (min), latency (min); latency &lt;= 9" in page
