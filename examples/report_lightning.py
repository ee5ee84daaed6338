"""Tune a Lightning module on digits: an epoch is a step."""

import logging
import sys
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

import shoestring as ss
from shoestring.integrations.lightning import checkpoint, report_callback

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
X, y = (torch.tensor(part) for part in load_digits(return_X_y=True))
DATA = TensorDataset(X.float() / 16, y)
PARTS = [DataLoader(torch.utils.data.Subset(DATA, part), 100) for part in (range(1200), range(1200, 1797))]


class Digits(LightningModule):
    def __init__(self, lr, width):
        super().__init__()
        self.lr = lr
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 10))

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("error", (self.layers(batch[0]).argmax(1) != batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), self.lr)


def train(trial):
    torch.manual_seed(trial.seed)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = Trainer(max_epochs=9, accelerator="cpu", callbacks=[report_callback(trial, "error")], **quiet)
    trainer.fit(Digits(**trial.config), *PARTS, ckpt_path=checkpoint(trial))


if __name__ == "__main__":
    budget = ss.Budget(steps=int(sys.argv[1]) if len(sys.argv) > 1 else 60)
    study = ss.tune(train, {"lr": ss.log(1e-4, 0.1), "width": ss.log(8, 128)}, budget=budget, max_resource=9)
    print(f"error {study.best.value:.3f} with {study.best.config} after {study.spent.steps:g} epochs in all")
