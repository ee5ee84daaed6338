"""BOSS on several workers, with two on one GPU if you like: a network is tuned in a number of brackets.

Huang, Li, Ye, Li and Zhang, An asymptotically optimal multi-armed bandit algorithm and hyperparameter optimization
(arXiv:2007.05670, 2020), Algorithms 5 and 7, as in section 8.6: brackets with η = 3, and the use of the workers.

    python examples/boss_gpus.py                                   # two workers on the processor, about a minute
    python examples/boss_gpus.py --devices cuda:0,cuda:0,cuda:1,cuda:1 --method pboss
    python examples/boss_gpus.py --gpus 0,1 --per-gpu 2            # each worker sees one GPU alone
    python examples/boss_gpus.py --ray auto --share 0.5            # a Ray cluster, two workers on a GPU

The paper's setting 1, with 32 workers on 16 GPUs for at most 60 hours, on images in a folder:

    python examples/boss_gpus.py --data cifar10/ --method pboss --brackets 10 --least 2 --most 54 \
        --ray auto --share 0.5 --budget 60h --channels 64 --storage boss.db

Interrupt it and start it again: it continues, and the report lists the workers of every start. With --method boss the
next bracket starts while workers would wait for the last one; with --synchronous, as in the paper, it does not.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch import nn
from torch.nn import functional

import shoestring as ss
from shoestring.augment.datasets import read_dataset
from shoestring.augment.images import as_floats
from shoestring.errors import MethodError, ShoestringError
from shoestring.methods import BOHB, BOSS, ParallelBOSS
from shoestring.schedulers.brackets import hyperband_brackets

SPACE = ss.space(
    rate=ss.log(1e-3, 0.5), momentum=(0.5, 0.99), decay=ss.log(1e-6, 1e-2), dropout=(0.0, 0.7), batch=[32, 64, 128]
)
METHODS: dict[str, Any] = {"boss": BOSS(), "boss-mss": BOSS(rule="mss"), "pboss": ParallelBOSS(), "bohb": BOHB()}


def network(inputs: int, classes: int, channels: int, dropout: float) -> nn.Module:
    layers: list[nn.Module] = []
    for outputs in (channels, 2 * channels, 4 * channels):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers += [nn.MaxPool2d(2), nn.Dropout(dropout)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class Objective:
    """Trains for one epoch a step, from an initialisation that follows from the trial's seed."""

    def __init__(self, data: str, channels: int, device: str | None) -> None:
        self.data, self.channels, self.device = data, channels, device
        self._images: Any = None

    def images(self, device: str) -> tuple[Any, Any, int]:
        """Training and validation images on the device, read once in each worker, and the number of classes."""
        if self._images is None:
            train, valid, classes = read_dataset(source(self.data), 32)
            parts = [(as_floats(part.images).to(device), part.labels.to(device)) for part in (train, valid)]
            self._images = (*parts, classes)
        return self._images  # type: ignore[no-any-return]

    def __call__(self, trial: Any) -> Any:
        device = self.device or trial.device or "cpu"
        (x, y), (valid_x, valid_y), classes = self.images(device)
        torch.manual_seed(trial.seed)
        config = trial.config
        model = network(x.shape[1], classes, self.channels, config["dropout"]).to(device)
        optimizer = torch.optim.SGD(
            model.parameters(), lr=config["rate"], momentum=config["momentum"], weight_decay=config["decay"]
        )
        if (state := trial.checkpoint.load()) is not None:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
        for epoch in range(trial.start + 1, 10**6):
            torch.manual_seed(trial.seed + epoch)
            model.train()
            for rows in torch.randperm(len(y)).split(config["batch"]):
                optimizer.zero_grad()
                functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                error = float((model(valid_x).argmax(1) != valid_y).float().mean())
            trial.checkpoint.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
            yield error


def arranged(given: argparse.Namespace) -> tuple[dict[str, Any], str | None]:
    """The options of the run that say where trials run, and the device of a worker that sees one GPU alone."""
    if given.ray is not None:
        resources = {"CPU": 1, "GPU": given.share} if given.share else {"CPU": 1}
        address = given.ray or None
        return {"executor": ss.executors.Ray(given.workers, resources=resources, address=address)}, (
            "cuda:0" if given.share else None
        )
    if given.gpus:
        gpus = given.gpus.split(",")
        return {"workers": given.workers or len(gpus) * given.per_gpu, "gpus": gpus}, "cuda:0"
    devices = given.devices.split(",")
    return {"workers": given.workers or len(devices), "devices": devices}, None


def report(study: ss.Study, brackets: int, least: int, most: int) -> None:
    """Print what each bracket has trained, and how busy the workers were."""
    plan, first = hyperband_brackets(most, least, 3), 0
    for number in range(brackets):
        arms = range(first, first + plan[number % len(plan)].arms)
        first = arms.stop
        trials = {trial.index for trial in study.history.trials if trial.arm in arms}
        if trials:
            ladder = Counter(grant.until for grant in study.history.grants if grant.trial in trials)
            trained = ", ".join(f"{count} to epoch {until}" for until, count in sorted(ladder.items()))
            print(f"bracket {number + 1}: {len(arms)} configurations, trained {trained}")
    uses = ss.plots.workers.data(study).uses
    busy, idle = sum(use.busy for use in uses), sum(use.idle for use in uses)
    for use in islice(uses, 8):
        print(f"worker {use.worker}: busy for {use.busy:.1f} s, idle for {use.idle:.1f} s")
    share = f"{100 * busy / (busy + idle):.0f} %" if busy + idle else "not measured"
    print(f"{study.spent['steps']:g} epochs, utilisation of {len(uses)} workers: {share}")
    print(f"lowest mean error {study.best.value:.4f} at epoch {study.best.step} with {study.best.config}")


def check(given: argparse.Namespace) -> None:
    """Refuse what every trial would fail with: images and devices that are not there, a network without width."""
    if given.channels < 1:
        raise MethodError(f"--channels {given.channels} is too small: it must be at least 1")
    read_dataset(source(given.data), 32, stream=True)
    devices = ["cuda:0"] if given.gpus else given.devices.split(",") if given.ray is None else []
    for device in devices:
        try:
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError):
            raise MethodError(
                f"this torch has no device {device}; leave --gpus and --devices out for the processor"
            ) from None


def tuned(given: argparse.Namespace) -> ss.Study:
    """Run or continue the study of these options; its name has all that its result depends on but the budget."""
    where, device = arranged(given)
    method = replace(METHODS[given.method], eta=3, min_resource=given.least, iterations=given.brackets)
    if given.synchronous:
        method = replace(method, overlap=False)
    data = source(given.data)
    objective = Objective("digits" if data is None else str(data.resolve()), given.channels, device)
    name = "synchronous-" if given.synchronous else ""
    name += f"{given.method}-{given.brackets}-{given.least}-{given.most}-{data_name(given.data)}-{given.channels}"
    return ss.tune(
        objective, SPACE, budget=given.budget, max_resource=given.most, method=method, seed=given.seed,
        storage=given.storage, name=f"{name}-{given.seed}", **where,
    )  # fmt: skip


def data_name(data: str) -> str:
    """A folder or file as a part of a study's name: folders of the same name in other places differ."""
    path = Path(data)
    return data if data == "digits" else f"{path.stem}-{crc32(str(path.resolve()).encode()):08x}"


def source(data: str) -> Path | None:
    return None if data == "digits" else Path(data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, default="boss")
    parser.add_argument("--brackets", type=int, default=3, help="after this many brackets the study is complete")
    parser.add_argument("--least", type=int, default=1, help="epochs of the shortest training")
    parser.add_argument("--most", type=int, default=9, help="epochs of the longest training")
    parser.add_argument("--budget", default="1000000 steps", help="a limit, such as 60h; brackets end the study before")
    parser.add_argument("--synchronous", action="store_true", help="no bracket starts before the last one is complete")
    parser.add_argument("--devices", default="cpu,cpu", help="one worker on each: two on one GPU is cuda:0,cuda:0")
    parser.add_argument("--gpus", help="such as 0,1: each worker sees one of them alone")
    parser.add_argument("--per-gpu", type=int, default=2, help="workers on each of --gpus")
    parser.add_argument("--ray", nargs="?", const="", help="on Ray: the address of a cluster, auto, or a local one")
    parser.add_argument("--share", type=float, default=0.0, help="of a GPU for each worker on Ray, such as 0.5")
    parser.add_argument("--workers", type=int, help="how many at once; by default as many as there is room for")
    parser.add_argument("--data", default="digits", help="digits, a folder of images or an .npz file")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--storage", default="boss_gpus.db")
    given = parser.parse_args()
    if given.method == "pboss" and given.synchronous:
        parser.error("--method pboss never waits for a bracket; --synchronous goes with the other methods")
    try:
        check(given)
        study = tuned(given)
    except ShoestringError as error:  # of the options, the data or the storage
        parser.error(str(error))
    report(study, given.brackets, given.least, given.most)


if __name__ == "__main__":
    main()
