"""Draw the pictures of the gallery in plots.md:

    python docs/gallery.py                       # docs/pictures/*.png
    python docs/gallery.py --output DIR --width 1600 --backend svg

The studies are small and seeded, and run on a virtual clock, so the pictures come out the same.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import shoestring as ss
from shoestring.augment.bandit import Bandit
from shoestring.augment.policies import OPERATIONS, Policy
from shoestring.online import TVGPUCB, Confident, OnlineTuner

SPACE = ss.space(
    rate=ss.log(1e-4, 1.0), momentum=(0.0, 0.99), width=ss.log(8, 256), activation=["relu", "tanh", "gelu"]
)


class Training:
    """Learning curves that depend on the configuration; large rates diverge, and wide networks take longer."""

    def reading(self, config: dict[str, Any], step: int, seed: int) -> ss.Reading:
        rate, width = np.log10(config["rate"]), np.log2(config["width"])
        if rate > -0.4 and config["momentum"] > 0.5 and step > 2:
            raise FloatingPointError("the loss is not finite: try a smaller rate")
        floor = 0.05 + 0.03 * (rate + 1.6) ** 2 + 0.008 * (width - 6.5) ** 2 + 0.04 * abs(config["momentum"] - 0.85)
        floor += {"relu": 0.0, "tanh": 0.02, "gelu": 0.005}[config["activation"]]
        speed = max(0.25 + 0.4 * config["momentum"] + 0.08 * rate, 0.03)
        noise = 0.004 * np.random.default_rng([seed % 2**32, step]).normal()
        error = floor + (0.9 - floor) * np.exp(-speed * step) + noise
        return ss.Reading(float(error), cost=float(0.5 + width / 8), size=float(config["width"]), error=float(error))

    def __call__(self, trial: ss.Trial) -> Iterator[ss.Reading]:
        for step in range(trial.start + 1, 28):
            yield self.reading(trial.config, step, trial.seed)

    def seconds(self, config: dict[str, Any], step: int, seed: int) -> float:
        return 0.5 + config["width"] / 128


def study(
    method: str, name: str, seed: int = 0, workers: int = 4, budget: str = "400 steps", **options: Any
) -> ss.Study:
    opened = ss.Study(SPACE, budget=budget, max_resource=27, method=method, name=name, seed=seed, **options)
    return opened.run(Training(), executor=ss.executors.Simulated(workers), progress=False)


def tuner() -> OnlineTuner:
    policy = TVGPUCB(noise=0.003, forgetting=0.002, lengthscale=0.3)
    found = OnlineTuner(np.linspace(0, 1, 12)[:, None], policy, Confident(0.7), horizon=300)
    rng = np.random.default_rng(0)
    for step in range(300):
        current = found.ask()
        if current.look:
            best = 0.3 + 0.4 * step / 300
            found.tell(float(1 - 2 * (current.config[0] - best) ** 2 + 0.05 * rng.normal()))
    return found


def policies() -> Any:
    bandit, rng = Bandit(), np.random.default_rng(0)
    gain = rng.normal(size=(len(OPERATIONS), len(OPERATIONS)))
    for _ in range(4000):
        a, b = rng.integers(len(OPERATIONS), size=2)
        index = Policy(OPERATIONS[a], int(rng.integers(10)), OPERATIONS[b], int(rng.integers(10))).index
        bandit.update(index, float(gain[a, b] + rng.normal()))
    return ss.augment.PolicySet.from_bandit(bandit)


def plots() -> Iterator[tuple[str, Callable[..., Any]]]:
    """List the pictures: each name, and a function that draws it with some options."""
    halving, curves = study("hyperband", "hyperband"), study("forecast", "forecast", workers=1)
    groups = {
        method: [study(method, f"{method}-{seed}", seed, 1, "250 steps") for seed in range(4)]
        for method in ("forecast", "asha", "random")
    }
    goals = {"error": "min", "size": "min"}
    both = study("asha-tpe", "several", objectives=goals)
    for kind, shown in {
        "history": curves, "curves": curves, "burn_down": halving, "shares": curves, "forecast": curves,
        "rungs": halving, "workers": halving, "parallel": curves, "slices": halving, "contour": halving,
        "importance": halving, "pareto": curves, "metrics": curves, "regret": groups, "front": both,
        "volume": both, "online": tuner(),
        "pairs": policies(),
    }.items():  # fmt: skip
        options = {"forecast": {"at": 0.25}, "metrics": {"y": "cost"}}.get(kind, {})
        yield kind, partial(getattr(ss.plots, kind), shown, **options)


def save(figure: Any, path: Path) -> None:
    """As a PNG of few colours, which is a quarter of the size."""
    from PIL import Image

    content = io.BytesIO()
    figure.savefig(content)
    Image.open(content).convert("RGB").quantize(48).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "pictures")
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--backend", choices=["matplotlib", "svg", "plotly"], default="matplotlib")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, draw in plots():
        figure = draw(backend=arguments.backend, width=arguments.width)
        if arguments.backend == "svg":
            (arguments.output / f"{name}.svg").write_text(figure, encoding="utf-8")
        elif arguments.backend == "plotly":
            figure.write_html(arguments.output / f"{name}.html")
        else:
            save(figure, arguments.output / f"{name}.png")


if __name__ == "__main__":
    main()
