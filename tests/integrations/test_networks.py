"""PyTorch, Lightning, Keras and Hugging Face report to a trial, and go on from their checkpoints."""

import logging
import os

import pytest

from tests.integrations.training import check_continued, data, needed, tuned

pytestmark = pytest.mark.filterwarnings("ignore")  # what the frameworks warn about is theirs


def test_pytorch_with_the_checkpoint_helper():
    torch = needed("torch")
    train_data, valid_data = (tuple(map(torch.tensor, part)) for part in data())
    starts, losses = [], {}

    def fitted(trial, epochs, start=0, state=None):
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 1)
        optimiser = torch.optim.Adam(model.parameters(), lr=trial.config["lr"])
        if state is not None:
            model.load_state_dict(state["model"])
            optimiser.load_state_dict(state["optimiser"])
        for epoch in range(start + 1, epochs + 1):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(model(train_data[0])[:, 0], train_data[1]).backward()
            optimiser.step()
            loss = torch.nn.functional.mse_loss(model(valid_data[0])[:, 0], valid_data[1])
            yield epoch, loss, {"model": model.state_dict(), "optimiser": optimiser.state_dict()}

    def train(trial):
        starts.append(trial.start)
        for epoch, loss, state in fitted(trial, 9, trial.start, trial.checkpoint.load()):
            trial.checkpoint.save(state)
            assert (trial.directory / "checkpoint.pt").exists()
            trial.report(loss, step=epoch)  # a tensor with a gradient

    study = tuned(train)
    check_continued(study, starts)
    trial = max(study.trials, key=lambda trial: trial.step)
    losses = [float(loss.detach()) for _, loss, _ in fitted(trial, trial.step)]
    assert [reading.value for reading in trial.readings.values()] == pytest.approx(losses)


def test_lightning(tmp_path):
    needed("lightning")
    import torch
    from lightning.pytorch import LightningModule, Trainer

    from shoestring.integrations.lightning import checkpoint, report_callback

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    (x, y), (vx, vy) = data()
    starts = []

    class Module(LightningModule):
        def __init__(self, lr):
            super().__init__()
            self.lr, self.layer = lr, torch.nn.Linear(4, 1)

        def loss(self, batch):
            return torch.nn.functional.mse_loss(self.layer(batch[0])[:, 0], batch[1])

        def training_step(self, batch, _):
            return self.loss(batch)

        def validation_step(self, batch, _):
            self.log("val_loss", self.loss(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.lr)

    def loader(*arrays):
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*map(torch.tensor, arrays)), batch_size=40)

    def trainer(*callbacks, epochs=9):
        return Trainer(
            max_epochs=epochs, callbacks=list(callbacks), logger=False, enable_checkpointing=False, accelerator="cpu",
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip

    def train(trial):
        starts.append(trial.start)
        torch.manual_seed(0)
        fit = trainer(report_callback(trial, "val_loss")).fit
        fit(Module(trial.config["lr"]), loader(x, y), loader(vx, vy), ckpt_path=checkpoint(trial))

    study = tuned(train, steps=20)
    check_continued(study, starts)
    trial = max(study.trials, key=lambda trial: trial.step)
    torch.manual_seed(0)
    alone = trainer(epochs=trial.step)
    alone.fit(Module(trial.config["lr"]), loader(x, y), loader(vx, vy))
    assert trial.readings[trial.step].value == pytest.approx(float(alone.callback_metrics["val_loss"]), rel=1e-4)


@pytest.mark.parametrize("parts", [1, 2])
def test_keras(monkeypatch, parts):
    """Its epochs start at 0 with every call of ``fit`` without ``initial_epoch``; the steps go on."""
    needed("torch")
    monkeypatch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "torch"))
    keras = needed("keras")
    from shoestring.integrations.keras import checkpoint, report_callback

    (x, y), valid = data()
    starts = []

    def train(trial):
        starts.append(trial.start)
        if trial.start:
            model = keras.models.load_model(checkpoint(trial))
        else:
            model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
            model.compile(keras.optimizers.SGD(trial.config["lr"]), "mse")
        callbacks = [report_callback(trial, "val_loss")]
        options = {"verbose": 0, "callbacks": callbacks, "validation_data": valid}
        if parts == 1:
            model.fit(x, y, 40, 9, initial_epoch=trial.start, **options)
        for _ in range(parts if parts > 1 else 0):
            model.fit(x, y, 40, 5, **options)

    study = tuned(train, steps=20)
    check_continued(study, starts)
    assert "loss" in study.trials[0].readings[1].metrics


@pytest.mark.parametrize("strategy", ["epoch", "steps"])
@pytest.mark.parametrize("at_start", [False, True], ids=["", "evaluated at the start"])
def test_transformers(strategy, at_start):
    needed("accelerate")
    transformers = needed("transformers")
    import torch

    from shoestring.integrations.transformers import checkpoint, report_callback

    train_part, valid_part = data()
    starts = []

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x, labels):
            out = self.layer(x)[:, 0]
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    def rows(x, y):
        return [{"x": torch.tensor(a), "labels": torch.tensor(b)} for a, b in zip(x, y, strict=True)]

    def train(trial):
        starts.append(trial.start)
        arguments = transformers.TrainingArguments(
            output_dir=str(trial.directory), num_train_epochs=9, learning_rate=trial.config["lr"], report_to=[],
            eval_strategy=strategy, save_strategy=strategy, eval_steps=2, save_steps=2, save_total_limit=1,
            use_cpu=True, disable_tqdm=True, per_device_train_batch_size=40, logging_strategy="no",
            eval_on_start=at_start,
        )  # fmt: skip
        trainer = transformers.Trainer(
            Model(), arguments, train_dataset=rows(*train_part), eval_dataset=rows(*valid_part),
            callbacks=[report_callback(trial)],
        )  # fmt: skip
        trainer.train(resume_from_checkpoint=checkpoint(trial))

    study = tuned(train)
    check_continued(study, starts)
