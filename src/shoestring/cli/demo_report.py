"""The output of ``shoestring demo`` at the end: both errors with every seed, their means, and where the epochs went."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from shoestring.cli.output import echo, table
from shoestring.core.history import Arm
from shoestring.study import Study
from shoestring.views.formatting import number, shell_arguments
from shoestring.views.states import count_states

_ROWS = 6
_BAR = 40


@dataclass(frozen=True)
class Pair:
    """A study of ours and one of random search with the same seed."""

    seed: int
    ours: Study
    rival: Study


def report(pairs: Sequence[Pair], epochs: int, storage: str) -> None:
    """Print the comparison over all seeds, then the first study of ours in detail."""
    errors = {pair.seed: (pair.ours.best.value, pair.rival.best.value) for pair in pairs}
    title = f"Held-out digits that the best network misreads, after {epochs} epochs in all"
    _section(title, [*comparison(errors), *_unequal(pairs, epochs)])
    seed, study, rival = pairs[0].seed, pairs[0].ours, pairs[0].rival
    finished = count_states(rival.trials).get("finished", 0)
    lines = [*spending(study), f"Random search trained {finished} networks to the end."]
    _section(f"Where the {study.spent['steps']:g} epochs of auto went with seed {seed}", lines)
    settings = [f"{name:<12}{number(value)}" for name, value in study.best.config.items()]
    _section(f"Its best network misreads {study.best.value:.2%}", settings)
    arguments = shell_arguments(storage, study.name)
    commands = [f"resume {arguments} --budget '{2 * epochs} steps'"]
    commands += [f"{command} {arguments}" for command in ("status", "trials", "verify")]
    _section("Continue with", [f"shoestring {command}" for command in commands])


def _section(title: str, lines: Sequence[str]) -> None:
    click.secho(f"\n{title}", bold=True)
    for line in lines:
        echo(f"  {line}")


def comparison(errors: Mapping[int, tuple[float, float]]) -> list[str]:
    """A row for each seed, the means with their standard errors, and on how many seeds each method is better."""
    rows = [
        [f"seed {seed}", f"{ours:.2%}", f"{theirs:.2%}", f"{100 * (ours - theirs):+.2f}"]
        for seed, (ours, theirs) in errors.items()
    ]
    gaps = [ours - theirs for ours, theirs in errors.values()]
    if len(errors) > 1:
        (ours, spread), (theirs, their_spread) = map(_mean, zip(*errors.values(), strict=True))
        gap, gap_spread = _mean(gaps)
        means = f"{ours:.2%} ± {spread:.2%}", f"{theirs:.2%} ± {their_spread:.2%}"
        rows.append(["mean ± standard error", *means, f"{100 * gap:+.2f} ± {100 * gap_spread:.2f}"])
    better, worse = sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)
    verdict = f"auto is better on {better} of {len(gaps)} seeds, random search on {worse}"
    ties = f", {len(gaps) - better - worse} tied" if better + worse < len(gaps) else ""
    return [*table(["", "auto", "random search", "difference in points"], rows), f"{verdict}{ties}."]


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error."""
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def _unequal(pairs: Sequence[Pair], epochs: int) -> list[str]:
    """The studies that were continued with another budget: they cannot be compared with the rest."""
    studies = [study for pair in pairs for study in (pair.ours, pair.rival)]
    return [
        f"Not comparable: {study.name} has had {study.spent['steps']:g} epochs."
        for study in studies
        if study.spent["steps"] != epochs
    ]


def spending(study: Study) -> list[str]:
    """A table of the configurations that got most epochs, and one row for all others."""
    arms = sorted(study.history.arms, key=lambda arm: (-_epochs(arm), _error(arm)))
    top, others, total = arms[:_ROWS], arms[_ROWS:], study.spent["steps"]
    rows = [[f"configuration {arm.index}", *_row(_epochs(arm), total, _error(arm))] for arm in top]
    if others:
        rest = total - sum(map(_epochs, top))
        rows.append([f"the other {len(others)}", *_row(rest, total, min(map(_error, others)))])
        rows[-1][-1] += f" stopped after {rest / len(others):.1f} epochs on average"
    return table(["", "epochs", "best error", "share", ""], rows)


def _row(epochs: float, total: float, error: float) -> list[str]:
    share = epochs / total
    return [f"{epochs:g}", f"{error:.2%}", f"{share:.0%}", "━" * round(_BAR * share)]


def _epochs(arm: Arm) -> int:
    return sum(trial.step for trial in arm.trials)


def _error(arm: Arm) -> float:
    """The error by which a configuration is judged, as in ``study.best``; 1 if it failed before its first reading."""
    found = arm.trials[0].recommended
    return 1.0 if found is None else found.loss
