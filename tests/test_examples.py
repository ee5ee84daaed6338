"""Every example runs, in a folder of its own."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from shoestring.cli import main

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


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'shoestring[augment]'")
def test_augmentation_search(tmp_path):
    out = finish(start(tmp_path, "augment_search.py", "--steps", "60", "--seeds", "1", "--epochs", "5"))
    assert "worst 5 pairs" in out
    assert (tmp_path / "policies.json").exists()


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'shoestring[ray]'")
def test_ray_on_a_laptop(tmp_path):
    process = start(tmp_path, "ray_cluster.py", "--workers", "2")
    out, err = process.communicate(timeout=240)  # what Ray writes to stderr is its own affair
    assert process.returncode == 0, err
    assert "300 steps spent" in out


def test_partial_fit(tmp_path):
    assert "after 12 epochs in all" in finish(start(tmp_path, "report_partial_fit.py", "12"))


def test_every_example_is_named_in_a_test():
    # tests/integrations runs report_pytorch.py, report_lightning.py, report_xgboost.py and report_lightgbm.py
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    assert [path.name for path in EXAMPLES.glob("*.py") if path.name not in tests] == []
