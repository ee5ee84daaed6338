"""Draw the pictures of how_it_works.md, one for each method: what it trains when.

    python docs/method_pictures.py                   # docs/pictures/how_*.png
    python docs/method_pictures.py --only asha gp

The studies are small and seeded, and run on a virtual clock, so the pictures come out the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gallery import save, study
from matplotlib.figure import Figure

import shoestring as ss

STEPPED = (
    "random", "sh", "hyperband", "asha", "asha-tpe", "bohb", "ss", "mss", "amss", "boss", "pboss", "forecast", "bhpt",
    "freeze-thaw", "rollout", "gp-ei", "fabolas",
)  # fmt: skip
BLACK_BOX = ("random", "grid", "latin-hypercube", "tpe", "cmaes", "gp", "boes")
_SHADES = {0: "#c9d4e8", 1: "#8fa9d3", 2: "#4f77b8", 3: "#1f3f7a"}  # the further a trial is trained, the darker


def branin(config: Mapping[str, float]) -> float:
    """Branin's function, which has three equally good places."""
    x, y = config["x"], config["y"]
    valley = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
    return float(valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def stepped_picture(method: str) -> Figure:
    """Draw the steps of each configuration against the steps that the study had spent by then."""
    done = study(method, method, workers=4 if method == "pboss" else 1, budget="150 steps")
    figure = Figure(figsize=(6.4, 3.2), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    spent, trials, configurations = 0, done.history.trials, len(done.history.arms)
    height = max(0.8, configurations / 50)
    for grant in done.history.grants:
        trial = trials[grant.trial]
        end = min(grant.until, trial.step) if trial.readings else grant.until
        failed = trial.state == "failed" and end == trial.step
        length = max(end - grant.start, 1 if failed else 0)
        depth = min(3, int(np.log(max(end, 1)) / np.log(3)))
        axes.barh(trial.arm, length, height, spent, color="#c0392b" if failed else _SHADES[depth])
        spent += length
    best = done.best
    axes.axhline(best.arm, color="#000000", linewidth=0.6, linestyle=":")
    axes.annotate("best", (spent, best.arm), (2, 2), textcoords="offset points", fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="steps spent", ylabel="configuration", title=f"{method}: {configurations} configurations")
    labels = {"to step 1 or 2": 0, "3 to 8": 1, "9 to 26": 2, "27": 3}
    handles = [axes.barh([0], [0], color=_SHADES[shade], label=label) for label, shade in labels.items()]
    handles.append(axes.barh([0], [0], color="#c0392b", label="failed"))
    axes.legend(handles=handles, fontsize=7, loc="lower left", frameon=False)
    return figure


def black_box_picture(method: str) -> Figure:
    """Draw the evaluated configurations on the contours of a function of two parameters, in their order."""
    done = ss.Study({"x": (-5.0, 10.0), "y": (0.0, 15.0)}, budget="25 evaluations", method=method)
    while (grant := done.ask()) is not None:
        done.tell(grant, branin(grant.config))
    figure = Figure(figsize=(4.2, 3.4), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    x, y = np.meshgrid(np.linspace(-5, 10, 120), np.linspace(0, 15, 120))
    z = np.vectorize(lambda x, y: branin({"x": x, "y": y}))(x, y)
    axes.contour(x, y, z, levels=[2, 5, 10, 20, 50, 100, 200], colors="#bbbbbb", linewidths=0.8)
    points = np.array([(trial.config["x"], trial.config["y"]) for trial in done.trials])
    dots = axes.scatter(*points.T, c=range(1, len(points) + 1), cmap="Blues", edgecolor="#1f3f7a", zorder=3)
    figure.colorbar(dots, label="order")
    axes.set(xlabel="x", ylabel="y", title=f"{method}: best {done.best.value:.2f}, 25 evaluations")
    return figure


def pictures() -> dict[str, Any]:
    """List the pictures: for each name of a file, the function and the method."""
    found = {f"how_{method}": (stepped_picture, method) for method in STEPPED}
    return {**found, **{f"how_{method}_points": (black_box_picture, method) for method in BLACK_BOX}}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "pictures")
    parser.add_argument("--only", nargs="*", help="the methods to draw; all of them without it")
    arguments = parser.parse_args()
    for name, (draw, method) in pictures().items():
        if not arguments.only or method in arguments.only:
            save(draw(method), arguments.output / f"{name}.png")


if __name__ == "__main__":
    main()
