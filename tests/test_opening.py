"""Opening a study: what is decided once, what the first ask loads, and what the best of a study tells."""

import subprocess
import sys

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.decisions import Done, Start


class Counting:
    """Starts a configuration at each decision, and notes at which position of the log it was asked."""

    def __init__(self):
        self.asked = []

    def decide(self, history, rng):
        self.asked.append(history.position)
        return Start(1, "the next", {"x": rng.random()}) if len(history.arms) < 5 else Done("five are enough")


def test_tune_decides_once_at_each_position():
    method = Counting()
    ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, budget="9 evaluations", method=method)
    assert method.asked == [1, 3, 5, 7, 9, 11]


def test_asking_for_the_state_does_not_decide_again(tmp_path):
    method = Counting()
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method=method, storage=tmp_path / "a.db")
    assert (study.state, study.reason) == ("open", "the next")
    grant = study.ask()
    study.tell(grant, 0.5)
    assert study.state == study.state == "open"
    assert method.asked == [1, 3]
    opened_again = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method=method, storage=tmp_path / "a.db")
    assert method.asked == [1, 3]
    assert opened_again.ask().trial == 1


@pytest.mark.parametrize("what", ["budget='300 steps', max_resource=27", "budget='50 evaluations'"])
def test_the_first_ask_of_auto_loads_no_scipy(what):
    program = (
        "import sys, shoestring as ss; space = ss.space(rate=ss.log(1e-4, 1.0), width=ss.log(8, 256), act=['a', 'b']); "
        f"ss.Study(space, {what}).ask(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.split(".")[0] in ("scipy", "sklearn", "pandas", "rich")}


def test_best_names_the_trial_whose_checkpoint_it_is():
    def train(trial):
        (trial.directory / "model.txt").write_text(str(trial.arm))
        yield np.float64(abs(trial.config["x"] - 0.5))

    method = ss.compose(ss.samplers.Random(), ss.schedulers.Full())
    study = ss.tune(train, {"x": (0.0, 1.0)}, budget="6 evaluations", max_resource=1, method=method)
    assert (study.directory(study.best.trial) / "model.txt").read_text() == str(study.best.arm)
    assert type(study.best.value) is float


def test_of_replicates_best_names_the_one_with_the_best_reading():
    space, method = {"x": (0.0, 1.0)}, ss.compose(ss.samplers.Random(), ss.schedulers.SubSampling(arms=1))
    study = ss.Study(space, budget="40 steps", max_resource=9, method=method)
    for loss in (0.5, 0.3, 0.4):
        grant = study.ask()
        study.tell(grant, {grant.until: loss})
    best, furthest = study.best, max(max(trial.losses) for trial in study.trials)
    losses = {trial.index: trial.losses.get(furthest, 9.0) for trial in study.trials}
    assert best.trial == min(losses, key=losses.get)


def test_the_package_is_a_command():
    run = subprocess.run([sys.executable, "-m", "shoestring", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"shoestring, version {ss.__version__}\n" or run.stdout == f"shoestring {ss.__version__}\n"
