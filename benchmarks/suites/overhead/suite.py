"""Overhead and quality of shoestring and Optuna, measured in the same run. Times are CPU times.

    python benchmarks/overhead.py                      # all tables
    python benchmarks/overhead.py --table tpe --seeds 5
    python benchmarks/overhead.py --quick --json

Ratios are those of a seed, taken one after the other, so that a busy machine slows both.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import optuna
from ConfigSpace.hyperparameters import IntegerHyperparameter

import shoestring as ss
from benchmarks.harness.common import Options, Unavailable, main
from benchmarks.harness.measurements import Row, row
from shoestring.core.decisions import Proposal
from shoestring.core.randomness import generator
from shoestring.problems import Synthetic
from shoestring.samplers import TPE, Random
from shoestring.schedulers import Full
from shoestring.spaces.codec import Codec

warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
optuna.logging.set_verbosity(optuna.logging.ERROR)

# Six floats of which two are logarithmic, two integers, two choices.
MIXED = ss.space(
    a=(0.0, 1.0), b=(0.0, 1.0), c=(-5.0, 5.0), d=(-5.0, 5.0), e=ss.log(1e-5, 1.0), f=ss.log(1e-5, 1.0),
    g=(1, 20), h=ss.log(1, 128), i=["relu", "tanh", "gelu"], j=[True, False],
)  # fmt: skip
SPACES = {
    "1 parameter": ss.space(x=(-5.0, 5.0)),
    "3 parameters": ss.space(x=(-5.0, 5.0), rate=ss.log(1e-5, 1.0), act=["relu", "tanh"]),
    "10 parameters": MIXED,
}


def distributions(space: Any) -> dict[str, Any]:
    """A space of ours as Optuna's distributions."""
    found: dict[str, Any] = {}
    for name, parameter in space.items():
        if hasattr(parameter, "choices"):
            found[name] = optuna.distributions.CategoricalDistribution(list(parameter.choices))
        elif isinstance(parameter, IntegerHyperparameter):
            found[name] = optuna.distributions.IntDistribution(parameter.lower, parameter.upper, log=parameter.log)
        else:
            found[name] = optuna.distributions.FloatDistribution(parameter.lower, parameter.upper, log=parameter.log)
    return found


def suggested(trial: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration from an Optuna trial, parameter by parameter as its users write it."""
    return {name: trial._suggest(name, kind) for name, kind in kinds.items()}


def loss(config: Mapping[str, Any]) -> float:
    """Something that tells configurations apart and takes next to no time."""
    return sum(len(value) if isinstance(value, str) else abs(value) for value in config.values())


def multivariate(seed: int) -> Any:
    return optuna.samplers.TPESampler(multivariate=True, seed=seed)


@contextmanager
def storage() -> Iterator[Callable[[], str]]:
    """Addresses of fresh SQLite files, in memory where the system has a folder there: disks are not compared."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        numbers = count()
        yield lambda: f"sqlite:///{Path(folder) / f'{next(numbers)}.db'}"


def cpu(action: Callable[[], object]) -> float:
    before = time.process_time()
    action()
    return time.process_time() - before


def side_by_side(what: str, pairs: Sequence[tuple[float, float]], **limit: float) -> list[Row]:
    """Both numbers of each seed, and their ratio."""
    ours, theirs = zip(*pairs, strict=True)
    return [
        row(f"{what}: shoestring", ours),
        row(f"{what}: Optuna", theirs),
        row(f"{what}: ratio", [a / b for a, b in pairs], **limit),
    ]


def evaluations(options: Options) -> list[Row]:
    """Evaluations a CPU second with random sampling and an objective that takes no time."""
    rows = []
    with storage() as fresh:
        for label, space in SPACES.items():
            kinds = distributions(space)
            for place, limit, n, address in (("memory", 1.0, 2000, lambda: None), ("SQLite", 8.0, 100, fresh)):
                run_ours(space, 2, 0, address())  # the first use of a library loads parts of it
                run_theirs(kinds, 2, 0, address())
                pairs = [
                    (
                        n / cpu(lambda: run_ours(space, n, seed, address())),  # noqa: B023 - called at once
                        n / cpu(lambda: run_theirs(kinds, n, seed, address())),  # noqa: B023
                    )
                    for seed in range(min(options.seeds, 5))
                ]
                rows += side_by_side(f"{place}, {label}", pairs, at_least=limit)
    return rows


def run_ours(space: Any, n: int, seed: int, url: str | None) -> None:
    budget = ss.Budget(evaluations=n)
    ss.tune(
        lambda trial: loss(trial.config), space, budget=budget, method="random", storage=url, seed=seed, progress=False
    )


def run_theirs(kinds: Mapping[str, Any], n: int, seed: int, url: str | None) -> None:
    study = optuna.create_study(storage=url, sampler=optuna.samplers.RandomSampler(seed=seed))
    study.optimize(lambda trial: loss(suggested(trial, kinds)), n_trials=n)


def opening(options: Options) -> list[Row]:
    """CPU seconds to open a stored study of 10,000 finished trials (500 if quick) and list them."""
    n = 500 if options.quick else 10_000
    with storage() as fresh:
        our_url, their_url = fresh(), fresh()
        run_ours(MIXED, n, 0, our_url)
        study = optuna.create_study(storage=their_url, study_name="study")
        study.add_trials(finished_trials(n, 0))

        pairs = [
            (
                cpu(lambda: listed(ss.Study.load(our_url, "study").trials, n)),
                cpu(lambda: listed(optuna.load_study(study_name="study", storage=their_url).trials, n)),
            )
            for _ in range(min(options.seeds, 5))
        ]
        return side_by_side(f"{n:,} trials of 10 parameters", pairs, at_most=1 / 3)


def listed(trials: Sequence[Any], n: int) -> None:
    if len(trials) != n:
        raise RuntimeError(f"{len(trials)} of {n} trials were found")


def finished_trials(n: int, seed: int) -> list[Any]:
    """Random configurations of the mixed space with their losses, as Optuna keeps them."""
    codec, rng, kinds = Codec(MIXED), generator(seed, 0, "benchmark"), distributions(MIXED)
    configs = [codec.sample(rng) for _ in range(n)]
    return [optuna.trial.create_trial(params=c, distributions=kinds, value=loss(c)) for c in configs]


@dataclass(frozen=True)
class After:
    """Random for the first arms and TPE from then on: what does an ask cost after this many?"""

    arms: int

    def propose(self, history: Any, rng: Any) -> Proposal | None:
        sampler = Random() if len(history.arms) < self.arms else TPE()
        return sampler.propose(history, rng)


def tpe(options: Options) -> list[Row]:
    """CPU milliseconds of ask and tell with TPE among 10 mixed parameters; Optuna's is multivariate as ours is."""
    rows, rounds = [], 10 if options.quick else 50
    for n, limit in ((1_000, 1 / 5), (10_000, 1 / 4)):
        seeds = range(min(options.seeds, 5))
        pairs = [(tpe_of_ours(n, rounds, seed), tpe_of_theirs(n, rounds, seed)) for seed in seeds]
        rows += side_by_side(f"after {n:,} evaluations", pairs, at_most=limit)
    return rows


def tpe_of_ours(n: int, rounds: int, seed: int) -> float:
    method = ss.compose(After(n), Full())
    study = ss.Study(MIXED, budget=ss.Budget(evaluations=2 * n), method=method, seed=seed)
    return milliseconds(lambda: ask_ours(study), n, rounds)


def tpe_of_theirs(n: int, rounds: int, seed: int) -> float:
    study, kinds = optuna.create_study(sampler=multivariate(seed)), distributions(MIXED)
    study.add_trials(finished_trials(n, seed))
    return milliseconds(lambda: ask_theirs(study, kinds), 0, rounds)


def milliseconds(ask: Callable[[], object], before: int, rounds: int) -> float:
    """Of one round of asking and telling, after this many; a few more go before, to fill caches."""
    for _ in range(before + 3):
        ask()
    return 1000 * cpu(lambda: [ask() for _ in range(rounds)]) / rounds


def ask_ours(study: ss.Study) -> float:
    grant = study.ask()
    if grant is None:
        raise RuntimeError("the study is over")
    value = loss(grant.config)
    study.tell(grant, value)
    return value


def ask_theirs(study: Any, kinds: Mapping[str, Any]) -> float:
    trial = study.ask(kinds)
    value = loss(trial.params)
    study.tell(trial, value)
    return value


PROBLEMS = {
    "branin": Synthetic("branin"),
    "hartmann3": Synthetic("hartmann3"),
    "hartmann6": Synthetic("hartmann6"),
    "ackley-5": Synthetic("ackley", 5),
    "rosenbrock-4": Synthetic("rosenbrock", 4),
    "levy-5": Synthetic("levy", 5),
    "levy-10": Synthetic("levy", 10),
    "rastrigin-4": Synthetic("rastrigin", 4),
    "styblinski-tang-6": Synthetic("styblinski-tang", 6),
    "mixed": Synthetic("mixed"),
}
# Of a mixed function the best cell can be hit exactly, up to rounding.
LEAST_REGRET = 1e-9


def fresh_quality(options: Options) -> list[Row]:
    """The quality again, on seeds that no choice of a default has seen."""
    return quality(options, first=1000)


def quality(options: Options, first: int = 0) -> list[Row]:
    """log10 of the regret after 100 evaluations, TPE and Optuna's multivariate TPE; lower is better."""
    rows, differences = [], []
    for name, problem in PROBLEMS.items():
        ours = [best_of_ours(problem, 100, first + seed) for seed in range(options.seeds)]
        theirs = [best_of_theirs(problem, 100, first + seed) for seed in range(options.seeds)]
        gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
        rows += [
            row(f"{name}: shoestring", ours),
            row(f"{name}: Optuna", theirs),
            row(f"{name}: difference", gaps),
        ]
        differences.append(gaps)
    by_seed = [statistics.fmean(gaps) for gaps in zip(*differences, strict=True)]
    return [*rows, row("all functions: mean difference", by_seed, at_most=0.0)]


def best_of_ours(problem: Synthetic, evaluations: int, seed: int) -> float:
    method = ss.compose(TPE(), Full())
    study = ss.Study(problem.space, budget=ss.Budget(evaluations=evaluations), method=method, seed=seed)
    while (grant := study.ask()) is not None:
        study.tell(grant, problem.value(grant.config))
    return log_regret(study.best.value, problem)


def best_of_theirs(problem: Synthetic, evaluations: int, seed: int) -> float:
    study, kinds = optuna.create_study(sampler=multivariate(seed)), distributions(problem.space)
    for _ in range(evaluations):
        trial = study.ask(kinds)
        study.tell(trial, problem.value(trial.params))
    return log_regret(study.best_value, problem)


def log_regret(value: float, problem: Synthetic) -> float:
    return math.log10(max(value - problem.best, LEAST_REGRET))


OPENED = {
    "shoestring": """import shoestring as ss
space = ss.space(rate=ss.log(1e-4, 1.0), width=ss.log(8, 256), act=["relu", "tanh"])
ss.Study(space, budget="300 steps", max_resource=27).ask()""",
    "optuna": """import optuna
trial = optuna.create_study().ask()
trial.suggest_float("rate", 1e-4, 1.0, log=True)
trial.suggest_int("width", 8, 256, log=True)
trial.suggest_categorical("act", ["relu", "tanh"])""",
}


def imports(options: Options) -> list[Row]:
    """CPU seconds of an import, and of an import with the first suggestion, without the start of Python."""

    def seconds(program: str) -> list[float]:
        timed = f"import time; t = time.process_time()\n{program}\nprint(time.process_time() - t)"
        command = [sys.executable, "-W", "ignore", "-c", timed]
        found = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(5)]
        return [float(text) for text in found]

    rows = [row("import shoestring", seconds("import shoestring"), at_most=0.2)]
    rows.append(row("import optuna", seconds("import optuna")))
    rows.append(row("shoestring, import and first ask of auto", seconds(OPENED["shoestring"]), at_most=0.6))
    return [*rows, row("optuna, import and first ask", seconds(OPENED["optuna"]))]


# The last commit whose events had no checksums, leases and boundary checks.
BEFORE = "cf4a696"
ASKED = """import sys, time
import shoestring as ss
space = ss.space(x=(-5.0, 5.0), rate=ss.log(1e-5, 1.0), act=["relu", "tanh"])
def microseconds(n, storage):
    study = ss.Study(space, budget=ss.Budget(evaluations=n), method="random", storage=storage)
    before = time.process_time()
    while (grant := study.ask()) is not None:
        study.tell(grant, grant.config["x"])
    return (time.process_time() - before) / n * 1e6
microseconds(50, None)
print(microseconds(3000, None), microseconds(1500, sys.argv[1]))"""


def safety(options: Options) -> list[Row]:
    """CPU microseconds of ask and tell, now and before events had checksums, measured in turn."""
    root, found = Path(__file__).parents[3], dict[str, list[tuple[float, ...]]]()
    with tempfile.TemporaryDirectory() as folder, storage() as fresh:
        archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=root, capture_output=True, check=False)
        if archive.returncode:
            raise Unavailable(f"the commit {BEFORE} is not in this copy of the repository")
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for _ in range(2 * min(options.seeds, 5)):
            for version, source in (("now", root / "src"), ("before", Path(folder) / "src")):
                command = [sys.executable, "-c", ASKED, fresh().removeprefix("sqlite:///")]
                environment = {**os.environ, "PYTHONPATH": str(source)}
                answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                found.setdefault(version, []).append(tuple(map(float, answer.split())))
    rows = []
    for place, now, before in zip(("memory", "SQLite"), zip(*found["now"]), zip(*found["before"]), strict=True):  # noqa: B905
        rows += [row(f"{place}: now", now), row(f"{place}: before", before)]
        rows.append(
            row(f"{place}: ratio of the medians", [statistics.median(now) / statistics.median(before)], at_most=1.1)
        )
    return rows


TABLES = {
    "evaluations": evaluations,
    "safety": safety,
    "opening": opening,
    "tpe": tpe,
    "quality": quality,
    "fresh-quality": fresh_quality,
    "import": imports,
}


def run() -> None:
    main(__doc__, TABLES, quick_seeds=2)
