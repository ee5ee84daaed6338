"""The run keeper: a benchmark can be killed and continued, and changed code never reuses a run."""

import json
from multiprocessing import get_context

import pytest

from benchmarks.harness import kept, provenance
from shoestring.methods import BHPT, named


def forbidden():
    raise AssertionError("the run was finished before and must not be repeated")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.jsonl"


class TestKeeping:
    def test_a_finished_run_is_read_by_the_next_process(self, path):
        assert kept.Kept(path).get("a", lambda: [1.5, 2]) == [1.5, 2]
        assert kept.Kept(path).get("a", forbidden) == [1.5, 2]

    def test_without_a_file_runs_are_kept_in_memory(self):
        runs = kept.Kept()
        runs.get("a", lambda: 1)
        assert runs.get("a", forbidden) == 1

    def test_all_plays_only_what_is_missing(self, path):
        kept.Kept(path).get("3", lambda: "kept")
        found = kept.Kept(path).all([("3", 3), ("4", -4)], abs)
        assert found == {"3": "kept", "4": 4}
        assert kept.Kept(path).get("4", forbidden) == 4

    @pytest.mark.parametrize("torn", range(1, 8))
    def test_a_torn_last_line_is_ignored_and_does_not_harm_the_next(self, path, torn):
        kept.Kept(path).get("a", lambda: 1)
        kept.Kept(path).get("b", lambda: 2)
        path.write_bytes(path.read_bytes()[:-torn])
        runs = kept.Kept(path)
        assert runs.get("a", forbidden) == 1
        runs.get("b", lambda: 2)
        runs.get("c", lambda: 3)
        again = kept.Kept(path)
        assert [again.get(name, forbidden) for name in "abc"] == [1, 2, 3]

    def test_processes_can_append_to_one_file(self, path):
        context = get_context("spawn")
        writers = [context.Process(target=_append, args=(path, writer)) for writer in range(3)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        assert len(lines) == 3 * 200
        assert {name for name, *_ in lines} == {f"{w} {i}" for w in range(3) for i in range(200)}


class TestEarlierCode:
    @pytest.fixture
    def path(self, path, monkeypatch):
        """A run of earlier code, at a commit that is noted with it."""
        monkeypatch.setattr(kept, "_commit", lambda: "0123456789ab")
        monkeypatch.setattr(provenance, "_earlier", set())
        kept.Kept(path).get(kept.key("task", 0, named("asha"), code="0.1+0123456789ab"), lambda: 1)
        kept.Kept(path).get(kept.key("task", 0, "asha", code="0.1+0123456789ab"), lambda: 4)
        return path

    def test_it_is_played_again_unless_it_was_asked_for(self, path):
        assert kept.Kept(path).get(kept.key("task", 0, named("asha")), lambda: 2) == 2
        assert "earlier" not in provenance.provenance("python x.py")

    def test_it_counts_where_there_is_none_of_this_code_and_its_commit_is_stored(self, path):
        runs = kept.Kept(path, earlier=True)
        assert runs.get(kept.key("task", 0, named("asha")), forbidden) == 1
        assert runs.get(kept.key("task", 0, "asha"), forbidden) == 4, "a method by its name"
        assert provenance.provenance("python x.py")["earlier"] == ["0123456789ab"]
        with pytest.raises(kept.Missing):  # another seed is another run
            runs.get(kept.key("task", 1, named("asha")), forbidden)

    def test_a_run_of_this_code_is_preferred(self, path):
        kept.Kept(path).get(kept.key("task", 0, named("asha")), lambda: 2)
        assert kept.Kept(path, earlier=True).get(kept.key("task", 0, named("asha")), forbidden) == 2
        assert "earlier" not in provenance.provenance("python x.py")

    def test_a_peer_of_another_version_is_another_one(self, path):
        kept.Kept(path).get(kept.key("task", 0, "DEHB", code="1"), lambda: 1)
        with pytest.raises(kept.Missing):
            kept.Kept(path, earlier=True).get(kept.key("task", 0, "DEHB", code="2"), forbidden)


def _append(path, writer):
    runs = kept.Kept(path)
    for i in range(200):
        runs.get(f"{writer} {i}", lambda: "x" * 500)


class TestKeys:
    def test_every_part_counts(self):
        keys = {
            kept.key("task", 0, named("asha")),
            kept.key("other", 0, named("asha")),
            kept.key("task", 1, named("asha")),
            kept.key("task", 0, named("bohb")),
            kept.key("task", 0, BHPT()),
            kept.key("task", 0, BHPT(epsilon=0.5)),
            kept.key("task", 0, named("asha"), trainings=[2]),
            kept.key("task", 0, "Optuna TPE, 5.0.0"),
        }
        assert len(keys) == 8
        assert kept.key("task", 0, named("asha")) in keys

    def test_the_version_counts(self, monkeypatch):
        before = kept.key("task", 0, named("asha"))
        monkeypatch.setattr(kept, "code_version", lambda: "0.0.0+0")
        assert kept.key("task", 0, named("asha")) != before

    def test_changed_code_counts_and_changed_comments_do_not(self, tmp_path):
        def version(text):
            package = tmp_path / str(len(list(tmp_path.iterdir())))
            package.mkdir()
            (package / "module.py").write_text(text)
            return kept.code_version(package)

        one = version('"""Doc."""\n\n\ndef f():\n    """Say one."""\n    return 1\n')
        assert version("def f():\n    return 1  # one\n") == one
        assert version("def f():\n    return 2\n") != one
