"""The same with Optuna, without its integration package."""

import logging
import sys
import warnings

import optuna
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

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


class Report(Callback):
    def __init__(self, trial):
        self.trial = trial

    def on_train_epoch_end(self, trainer, module):
        self.trial.report(trainer.callback_metrics["error"].item(), trainer.current_epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned()


def train(trial):
    torch.manual_seed(0)
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = Trainer(max_epochs=9, accelerator="cpu", callbacks=[Report(trial)], **quiet)
    width = trial.suggest_int("width", 8, 128, log=True)
    trainer.fit(Digits(trial.suggest_float("lr", 1e-4, 0.1, log=True), width), *PARTS)
    return trainer.callback_metrics["error"].item()


if __name__ == "__main__":
    study = optuna.create_study(pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(train, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print(f"error {study.best_value:.3f} with {study.best_params}")
