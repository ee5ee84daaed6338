"""The loggers of experiment trackers, with the real libraries and without a server."""

import pytest

import shoestring as ss
from tests.loggers.test_loggers import reported, tuned

NEED = "is not installed: make test-integrations installs it"


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason=f"tensorboard {NEED}")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    study = tuned(ss.loggers.TensorBoard(tmp_path))
    found = []
    for trial in study.trials:
        events = EventAccumulator(str(tmp_path / "study" / f"trial-{trial.index}")).Reload()
        tags = events.Tags()["scalars"]
        assert set(tags) == ({"value", "cost", "accuracy"} if trial.readings else set())
        texts = {tag.removesuffix("/text_summary") for tag in events.Tags()["tensors"]}
        assert ("git" in texts) == ("git" in trial.attributes)
        found += [(trial.index, scalar.step, scalar.value) for scalar in (events.Scalars("value") if tags else [])]
    expected = [(trial, step, pytest.approx(value, rel=1e-6)) for trial, step, value in sorted(reported(study))]
    assert sorted(found) == expected


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason=f"mlflow {NEED}")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    for steps in (20, 30):
        study = tuned(ss.loggers.MLflow(tracking_uri=uri), tmp_path / "study.db", steps)
    client = mlflow.MlflowClient(uri)
    runs = client.search_runs([client.get_experiment_by_name("study").experiment_id])
    assert len(runs) == len(study.trials)
    status = {"finished": "FINISHED", "failed": "FAILED", "paused": "SCHEDULED"}
    found = []
    for run in runs:
        trial = study.trials[int(run.data.tags["shoestring.trial"])]
        assert run.info.status == status[trial.state]
        assert run.data.params == {name: str(value) for name, value in trial.config.items()}
        assert run.data.tags.get("git") == trial.attributes.get("git")
        found += [(trial.index, m.step, m.value) for m in client.get_metric_history(run.info.run_id, "value")]
    assert sorted(found) == sorted(reported(study))


@pytest.mark.filterwarnings("ignore")
def test_wandb_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason=f"wandb {NEED}")
    monkeypatch.setenv("WANDB_SILENT", "true")
    study = tuned(ss.loggers.WandB("shoestring", mode="offline", dir=str(tmp_path)), steps=12)
    runs = [path for path in (tmp_path / "wandb").iterdir() if path.name.startswith("offline-run")]
    assert len(runs) == len(study.trials)
    assert all(list(run.glob("*.wandb")) for run in runs)
