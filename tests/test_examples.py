"""Every example runs, in a folder of its own."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert not err
    return out


def test_digits(tmp_path):
    first = finish(start(tmp_path, "digits_mlp.py", "6 steps"))
    assert "after 6 epochs in all" in first
    assert "after 9 epochs in all" in finish(start(tmp_path, "digits_mlp.py", "9 steps"))


def test_ask_and_tell(tmp_path):
    assert "after 40 trials" in finish(start(tmp_path, "ask_tell.py"))


def test_several_processes_share_one_budget(tmp_path):
    processes = [start(tmp_path, "several_processes.py") for _ in range(2)]
    for process in processes:
        assert "300 steps spent" in finish(process)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'shoestring[augment]'")
def test_augmentation_search(tmp_path):
    out = finish(start(tmp_path, "augment_search.py", "--steps", "60", "--seeds", "1", "--epochs", "5"))
    assert "worst 5 pairs" in out
    assert (tmp_path / "policies.json").exists()


def test_every_example_is_named_in_a_test():
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    assert [path.name for path in EXAMPLES.glob("*.py") if path.name not in tests] == []
