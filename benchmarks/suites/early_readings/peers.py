"""Other libraries' optimisers on the surrogate, and the baseline that stops everything at one epoch.

None but the baseline knows how large the budget is, so one run gives the result of every budget, in epochs and in
seconds. Each runs in an environment of its own, whose Python an environment variable names:

    python -m venv /tmp/syne && /tmp/syne/bin/pip install "syne-tune[gpsearchers]==0.13.0"
    python -m venv /tmp/hpb && /tmp/hpb/bin/pip install hpbandster==0.7.4 ConfigSpace==0.7.1 "numpy<2" "scipy<1.14"
    python -m venv /tmp/smac && /tmp/smac/bin/pip install smac==2.4.1
    python -m venv /tmp/dehb && /tmp/dehb/bin/pip install dehb==0.1.2
    export SHOESTRING_SYNE_TUNE=/tmp/syne/bin/python SHOESTRING_HPBANDSTER=/tmp/hpb/bin/python
    export SHOESTRING_SMAC=/tmp/smac/bin/python SHOESTRING_DEHB=/tmp/dehb/bin/python

Optuna is used from this environment.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from benchmarks.harness.common import Unavailable
from benchmarks.harness.kept import key, runs
from benchmarks.peers.environments import version
from benchmarks.peers.spoken import Peer, described, speak
from benchmarks.suites.early_readings.ledger import Ledger, Spent
from benchmarks.tasks.yahpo_lcbench import EPOCHS, SPACE, Problem, model_version, references
from shoestring.core.randomness import generator
from shoestring.spaces.codec import Codec

MOST = 30
# A process over all readings, fitted again at every decision: after ten trainings a run takes minutes.
FEW_TRAININGS = {"Syne Tune MOBSTER": 10}


ELSEWHERE = {
    "HpBandSter BOHB": Peer("SHOESTRING_HPBANDSTER", "hpbandster", "hpbandster_bohb.py"),
    "Syne Tune ASHA": Peer("SHOESTRING_SYNE_TUNE", "syne-tune", "syne_tune_schedulers.py"),
    "Syne Tune MOBSTER": Peer("SHOESTRING_SYNE_TUNE", "syne-tune", "syne_tune_schedulers.py"),
    "SMAC3 multi-fidelity": Peer("SHOESTRING_SMAC", "smac", "smac_fidelities.py"),
    "DEHB": Peer("SHOESTRING_DEHB", "dehb", "dehb_fidelities.py"),
}
OPTUNA = ("Optuna TPE + Hyperband", "Optuna TPE + SHA")
CONSTANT = {"stop at epoch 1": 1, "stop at epoch 5": 5}
PEERS = (*ELSEWHERE, *OPTUNA, *CONSTANT)


def errors(peer: str, task: str, seed: int, unit: str, trainings: Sequence[int]) -> list[float]:
    """The best error seen by the time that each budget of a unit was spent: kept, or played now.

    NaN for budgets that a peer is not played with.
    """
    if peer in CONSTANT:
        return [_constant_run(peer, task, seed, unit, n) for n in trainings]
    seconds, most = references()[task].seconds, FEW_TRAININGS.get(peer, MOST)
    name = key(task, seed, peer, code=_code(peer), surrogate=model_version(), trainings=most, seconds=seconds)
    found = runs().get(name, lambda: _played(peer, task, seed, most))
    return [found[unit][n - 1] if n <= most else math.nan for n in trainings]


def _played(peer: str, task: str, seed: int, most: int) -> dict[str, list[float]]:
    """The best error after every whole number of trainings, in both units."""
    ledger = _ledger(task, range(1, most + 1), ("epochs", "seconds"))
    with suppress(Spent):
        if peer in OPTUNA:
            _optuna(peer, ledger, seed)
        speak(ELSEWHERE[peer], given_to(peer, seed), ledger.train)
    return ledger.found


def given_to(peer: str, seed: int) -> dict[str, Any]:
    """The task of a peer in an environment of its own."""
    return {"peer": peer, "seed": seed, "epochs": EPOCHS, "space": described(SPACE)}


def _ledger(task: str, trainings: Sequence[int], units: Sequence[str]) -> Ledger:
    whole = {"epochs": float(EPOCHS), "seconds": references()[task].seconds}
    return Ledger(Problem(task), {unit: [n * whole[unit] for n in trainings] for unit in units})


def _code(peer: str) -> str:
    """The library and its version, and the script that speaks for it."""
    if peer in OPTUNA:
        return f"Optuna {_optuna_version()}"
    return ELSEWHERE[peer].code()


def _optuna_version() -> str:
    import optuna

    return str(optuna.__version__)


def _optuna(peer: str, ledger: Ledger, seed: int) -> None:
    """Optuna's sampler and pruner: a trial is trained until the pruner stops it."""
    import optuna

    from benchmarks.peers.optuna_pruning import PEERS as SETTINGS
    from benchmarks.peers.optuna_sampling import suggested

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="minimize", **SETTINGS[peer](seed, EPOCHS))
    codec = Codec(SPACE)
    while True:
        trial = study.ask()
        config, readings, state = suggested(trial, SPACE, codec), [0.0], None
        for epoch in range(1, EPOCHS + 1):
            readings = ledger.train(config, epoch)
            trial.report(readings[-1], epoch)
            if epoch < EPOCHS and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, None if state else readings[-1], state=state)


def _constant_run(peer: str, task: str, seed: int, unit: str, trainings: int) -> float:
    name = key(task, seed, peer, code="1", surrogate=model_version(), trainings=trainings, unit=unit)

    def play() -> float:
        ledger = _ledger(task, [trainings], [unit])
        with suppress(Spent):
            stop_at(CONSTANT[peer], ledger, unit, seed, finalists=min(3, trainings // 2))
        return ledger.found[unit][0] if ledger.found[unit] else ledger.best

    return float(runs().get(name, play))


def stop_at(epoch: int, ledger: Ledger, unit: str, seed: int, finalists: int) -> None:
    """Random configurations to one epoch as long as the best few can still be trained to their end; then these.

    Egele, Mohr, Viering and Balaprakash, The unreasonable effectiveness of early discarding after one epoch in neural
    network hyperparameter optimization, Neurocomputing, 2024.
    """
    codec, rng = Codec(SPACE), generator(seed, 0, "stop at one epoch")
    tried: list[tuple[float, int, float, dict[str, Any]]] = []
    dearest = 0.0
    while ledger.left(unit) >= dearest + sum(rest for _, _, rest, _ in sorted(tried)[:finalists]):
        config, before = codec.sample(rng), ledger.left(unit)
        error = ledger.train(config, epoch)[-1]
        price = before - ledger.left(unit)
        dearest = max(dearest, price)
        tried.append((error, len(tried), price * (EPOCHS - epoch) / epoch, config))
    for _, _, _, config in sorted(tried)[:finalists]:
        ledger.train(config, EPOCHS)


def available(peers: Sequence[str]) -> list[str]:
    """Those that are installed; a line says which are left out."""
    found = []
    for peer in peers:
        try:
            if peer in ELSEWHERE:
                version(ELSEWHERE[peer].variable, ELSEWHERE[peer].package)
            elif peer in OPTUNA:
                _optuna_version()
            found.append(peer)
        except (Unavailable, ModuleNotFoundError) as why:
            print(f"{peer} is left out: {why}", file=sys.stderr)
    return found
