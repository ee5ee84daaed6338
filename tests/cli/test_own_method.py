"""Studies with a method of the user's own on the command line: its class is registered by the objective's file."""

import subprocess
import sys

import shoestring as ss

SCRIPT = """
from dataclasses import dataclass
import shoestring as ss
from shoestring.core.decisions import Proposal

@ss.methods.register
@dataclass(frozen=True)
class Shifted:
    shift: float = 0.0

    def propose(self, history, rng):
        return Proposal({"x": float((rng.random() + self.shift) % 1)}, "shifted")

def loss(trial):
    return trial.config["x"]

method = ss.compose(Shifted(0.5), ss.schedulers.Full())
if __name__ == "__main__":
    ss.tune(loss, {"x": (0.0, 1.0)}, budget="5 evaluations", method=method, storage="a.db", name="own")
"""


def run(folder, *arguments):
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)


def test_it_is_resumed_and_verified(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    assert run(tmp_path, "train.py").returncode == 0
    resumed = run(tmp_path, "-m", "shoestring", "resume", "a.db", "own", "--budget", "8 evaluations")
    assert "8 of 8 spent" in resumed.stdout, resumed.stderr
    verified = run(tmp_path, "-m", "shoestring", "verify", "a.db", "own", "--objective", "train.py:loss")
    assert "all 8 grants" in verified.stdout, verified.stderr
    refused = run(tmp_path, "-m", "shoestring", "verify", "a.db", "own")
    assert refused.returncode == 2
    assert "__main__:Shifted, not known in this process" in refused.stderr


def test_a_method_that_is_not_known_is_refused_before_the_budget_is_written(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT.replace("@ss.methods.register", ""))
    assert run(tmp_path, "train.py").returncode == 0
    resumed = run(tmp_path, "-m", "shoestring", "resume", "a.db", "own", "--budget", "8 evaluations")
    assert resumed.returncode == 2
    assert ss.Study.load(tmp_path / "a.db").budget == ss.Budget(evaluations=5)
