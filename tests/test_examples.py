"""Every example runs, in a folder of its own."""

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import shoestring as ss
from shoestring.cli import main
from shoestring.errors import StudyNotFound
from shoestring.logs import open_log
from tests.pictures import image_folder

EXAMPLES = Path(__file__).parents[1] / "examples"
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="torch is not installed: pip install 'shoestring[augment]'"
)


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


def test_scaling_in_one_process_and_with_workers(tmp_path, monkeypatch):
    assert "200 steps spent" in finish(start(tmp_path, "scaling.py"))
    monkeypatch.setenv("WORKERS", "2")
    monkeypatch.setenv("STORAGE", "sqlite:///other.db")
    assert "200 steps spent" in finish(start(tmp_path, "scaling.py"))


def test_two_tasks_of_a_slurm_array(tmp_path, monkeypatch, database):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.setenv("STORAGE", database)
    monkeypatch.setenv("SLURM_SUBMIT_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    script = ["bash", str(EXAMPLES / "slurm_array.sh")]
    tasks = [subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for task in tasks:
        assert "scaling is finished: 200 steps spent" in finish(task)
    assert list((tmp_path / "scaling.files" / "scaling").glob("trial-*"))


def test_the_compose_file(monkeypatch):
    compose = ["docker", "compose"]
    if shutil.which("docker") is None or subprocess.run([*compose, "version"], capture_output=True).returncode:
        pytest.skip("docker compose is not installed: examples/compose.yml is not checked")
    monkeypatch.setenv("POSTGRES_PASSWORD", "secret")
    file = str(EXAMPLES / "compose.yml")
    done = subprocess.run([*compose, "-f", file, "config", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_kubernetes_manifest():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: examples/kubernetes.yml is not checked")
    parts = {part["kind"]: part for part in yaml.safe_load_all((EXAMPLES / "kubernetes.yml").read_text())}
    assert list(parts) == ["Service", "StatefulSet", "PersistentVolumeClaim", "Job"]
    assert parts["Service"]["spec"]["selector"] == parts["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    pod = parts["Job"]["spec"]["template"]["spec"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == parts["PersistentVolumeClaim"]["metadata"]["name"]
    program, *arguments = pod["containers"][0]["command"]
    assert program == "shoestring"
    assert parts["Service"]["metadata"]["name"] in arguments[1]
    name, command, rest = main.resolve_command(click.Context(main), arguments)
    assert name == "worker"
    command.make_context("worker", list(rest))  # refuses an option that it does not have


def test_the_kubernetes_manifest_is_valid_by_the_schemas_of_kubernetes():
    schemas = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed: examples/kubernetes.yml is not linted"
    )
    yaml = pytest.importorskip("yaml")
    parts = list(yaml.safe_load_all((EXAMPLES / "kubernetes.yml").read_text()))
    for part in parts:
        schemas.validate(part, schemas.latest_version(), strict=True)
    parts[0]["spec"]["port"] = 5432
    with pytest.raises(schemas.ValidationError):
        schemas.validate(parts[0], schemas.latest_version(), strict=True)


@needs_torch
def test_augmentation_search(tmp_path):
    out = finish(start(tmp_path, "augment_search.py", "--steps", "60", "--seeds", "1", "--epochs", "5"))
    assert "worst 5 pairs" in out
    assert (tmp_path / "policies.json").exists()


@needs_torch
def test_a_self_tuning_perceptron_is_resumed(tmp_path):
    words = ["--schedules", "switching,kappa:0.7,greedy:0.2,exactly:2", "--state", "runs", "--decay", "2"]
    finish(start(tmp_path, "self_tuning_network.py", "--epochs", "4", *words))
    states = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert set(states) == {"switching-0.pt", "kappa-0.7-0.pt", "greedy-0.2-0.pt", "exactly-2-0.pt"}
    out = finish(start(tmp_path, "self_tuning_network.py", "--epochs", "4", *words))  # finished: only read
    assert states == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert out.splitlines()[4].split()[0::2][0] == "exactly:2"
    assert " 2.000 " in out.splitlines()[4], "its looks"


@needs_torch
def test_a_self_tuning_vgg16_on_a_folder_of_images_that_is_streamed(tmp_path):
    data = str(image_folder(tmp_path / "images"))
    words = ("--network", "vgg16", "--channels", "2", "--epochs", "2", "--decay", "1", "--batch", "4", "--workers", "1")
    out = finish(start(tmp_path, "self_tuning_network.py", *words, "--data", data, "--schedules", "always"))
    assert " 1.000 " in out.splitlines()[1], "the share of rounds that tuned"


@needs_torch
@pytest.mark.parametrize("optimizer", ["lars", "sgd"])
def test_contrastive_learning_with_tuned_augmentations(tmp_path, optimizer):
    data = str(image_folder(tmp_path / "images"))
    words = ["--data", data, "--batch", "8", "--rounds", "3", "--steps", "2", "--optimizer", optimizer]
    words += ["--settings", "fixed,expert,random:3,exactly:2", "--state", "runs"]
    first = finish(start(tmp_path, "contrastive_augmentation.py", *words)).splitlines()
    assert [line.split()[0] for line in first] == ["R10", "fixed", "expert", "random:3", "exactly:2"]
    again = finish(start(tmp_path, "contrastive_augmentation.py", *words)).splitlines()  # finished: only read
    assert [line.split()[:5] for line in again] == [line.split()[:5] for line in first]


def refused(folder, *words):
    """The last line that a command ends with when it refuses its arguments."""
    process = start(folder, *words)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    return err.splitlines()[-1]


@needs_torch
def test_what_an_example_cannot_do_is_said_in_a_line(tmp_path):
    network, contrastive = "self_tuning_network.py", "contrastive_augmentation.py"
    assert "--schedules chance:0.2 is not known; there are never" in refused(
        tmp_path, network, "--schedules", "never,chance:0.2"
    )
    assert "whole numbers" in refused(tmp_path, network, "--decay", "60,x")
    assert "nowhere is neither a folder nor an .npz" in refused(tmp_path, network, "--data", "nowhere/")
    assert "--settings kappa is not known; there are untrained" in refused(tmp_path, contrastive, "--settings", "kappa")
    assert "there are adam, sgd, lars" in refused(tmp_path, contrastive, "--optimizer", "adamw")
    assert "--batch 0 is too small: it must be at least 1" in refused(tmp_path, network, "--batch", "0")
    assert "--steps -1 is too small: it must be at least 0" in refused(tmp_path, contrastive, "--steps", "-1")


@needs_torch
def test_what_every_trial_would_fail_with_is_refused_before_a_study_is_stored(tmp_path):
    boss, bhpt, boes = "boss_gpus.py", "bhpt_budgets.py", "boes_contest.py"
    assert "nowhere is neither a folder nor an .npz" in refused(tmp_path, boss, "--data", "nowhere/")
    assert "this torch has no device gpu:0" in refused(tmp_path, boss, "--devices", "cpu,gpu:0")
    assert "wrn-11-1 is not possible: the depth is" in refused(tmp_path, bhpt, "--resnet", "wrn-11-1")
    assert "--budgets 6,x is not a list of whole numbers" in refused(tmp_path, bhpt, "--budgets", "6,x")
    assert "folds are 1 to 14" in refused(tmp_path, boes, "--folds", "15")
    assert not list(tmp_path.iterdir())


@needs_torch
def test_contrastive_learning_continues_only_its_own_state(tmp_path):
    words = ["contrastive_augmentation.py", "--rounds", "2", "--steps", "2", "--settings", "fixed", "--state", "runs"]
    finish(start(tmp_path, *words))
    assert "holds another training: rate was 0.005" in refused(tmp_path, *words, "--rate", "0.01")
    (tmp_path / "runs" / "fixed-0.pt").write_text("nothing")
    assert "fixed-0.pt is not a training" in refused(tmp_path, *words)


@needs_torch
def test_boss_on_two_workers_counts_its_brackets(tmp_path):
    words = ("--most", "3", "--brackets", "3", "--channels", "2")
    out = finish(start(tmp_path, "boss_gpus.py", *words, "--method", "boss-mss", "--synchronous"))
    ladders = [line.partition(": ")[2] for line in out.splitlines() if line.startswith("bracket")]
    assert [ladder.partition(",")[0] for ladder in ladders] == [f"{n} configurations" for n in (3, 2, 3)]
    assert "utilisation of 2 workers" in out
    again = finish(start(tmp_path, "boss_gpus.py", *words, "--method", "boss-mss", "--synchronous"))
    assert again.splitlines()[:3] == out.splitlines()[:3], "it was complete"
    assert "bracket 3: 3 conf" in finish(start(tmp_path, "boss_gpus.py", *words, "--method", "pboss"))
    wider = (*words[:-1], "3", "--method", "boss-mss", "--synchronous")
    finish(start(tmp_path, "boss_gpus.py", *wider))
    assert len(open_log(tmp_path / "boss_gpus.db").studies()) == 3, "another network is another study"


@needs_torch
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'shoestring[ray]'")
def test_boss_on_ray(tmp_path):
    process = start(
        tmp_path, "boss_gpus.py", "--ray", "--workers", "2", "--most", "3", "--brackets", "1", "--channels", "2"
    )
    out, err = process.communicate(timeout=240)  # what Ray writes to stderr is its own affair
    assert process.returncode == 0, err
    assert "bracket 1: 3 configurations" in out


@needs_torch
def test_bhpt_under_two_budgets(tmp_path):
    words = ("--budgets", "3,8", "--methods", "bhpt-paper,bhpt-paper-eps", "--configurations", "6", "--most", "4")
    out = finish(start(tmp_path, "bhpt_budgets.py", *words, "--channels", "2"))
    rows = [line.split() for line in out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [[name, n] for name in ("bhpt-paper", "bhpt-paper-eps") for n in ("3", "8")]
    assert all(float(row[3]) <= 6 for row in rows)
    assert finish(start(tmp_path, "bhpt_budgets.py", *words, "--channels", "2")) == out, "it was complete"


def test_a_contest_that_was_killed_goes_on_to_its_last_round(tmp_path):
    words = ("--rounds", "3", "--folds", "2")
    killed, storage = start(tmp_path, "boes_contest.py", *words), tmp_path / "boes_contest.db"
    deadline = time.monotonic() + 60
    while killed.poll() is None and time.monotonic() < deadline:
        with suppress(StudyNotFound):  # the file is there before its first study is
            if storage.exists() and any(trial.step for trial in ss.Study.load(storage, "preliminary-2-0").trials):
                break
        time.sleep(0.05)
    killed.kill()
    killed.communicate(timeout=60)
    out = finish(start(tmp_path, "boes_contest.py", *words))
    assert out.startswith("15 suggestions, 15 of them complete; the slowest took ")
    assert "best accuracy 0.9" in out


def test_the_final_of_a_contest(tmp_path):
    out = finish(start(tmp_path, "boes_contest.py", "--final", "--iterations", "28", "--ours"))
    assert int(out.partition(" suggestions")[0]) > 5
    assert "best accuracy 0.9" in out


def test_a_suggestion_that_takes_too_long_ends_the_contest(tmp_path):
    process = start(tmp_path, "boes_contest.py", "--limit", "0")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "0 s are allowed" in err


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'shoestring[ray]'")
def test_ray_on_a_laptop(tmp_path):
    process = start(tmp_path, "ray_cluster.py", "--workers", "2")
    out, err = process.communicate(timeout=240)  # what Ray writes to stderr is its own affair
    assert process.returncode == 0, err
    assert "300 steps spent" in out


def test_partial_fit(tmp_path):
    assert "after 12 epochs in all" in finish(start(tmp_path, "report_partial_fit.py", "12"))


def commands_for_the_papers_scale():
    """The commands of the page of the papers that start an example, as lists of words."""
    page = (EXAMPLES.parent / "docs" / "papers.md").read_text().replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in page.splitlines() if line.startswith("python examples/")]


@needs_torch
@pytest.mark.parametrize("words", commands_for_the_papers_scale(), ids=lambda words: Path(words[0]).stem)
def test_a_command_for_a_papers_scale_is_understood(words, monkeypatch, capsys):
    """All that is missing here are the images and the hardware."""
    monkeypatch.chdir(EXAMPLES.parent)
    monkeypatch.setattr(sys, "argv", [*words, "--help"])  # options that it does not have are refused before
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(words[0], run_name="__main__")
    shown = capsys.readouterr()
    assert ended.value.code == 0, shown.err
    for word in words[1:]:
        assert not word.startswith("--") or word in shown.out


def test_every_example_is_named_in_a_test():
    # tests/integrations runs report_pytorch.py, report_lightning.py, report_xgboost.py and report_lightgbm.py
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    assert [path.name for path in EXAMPLES.glob("*.py") if path.name not in tests] == []
