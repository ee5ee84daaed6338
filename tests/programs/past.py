"""Run a study with a past, and kill -9 this process after some steps.

python tests/programs/past.py STORAGE PAST STEPS
"""

import os
import signal
import sys

import shoestring as ss

storage, past, kill_after = sys.argv[1], sys.argv[2], int(sys.argv[3])
done = 0


def train(trial):
    global done
    path = trial.directory / "step"
    for step in range(trial.start + 1, 28):
        done += 1
        if done == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        path.write_text(str(step))
        yield abs(trial.config["x"] - 0.5) + abs(trial.config["y"] - 0.5) + 0.1 / step


if __name__ == "__main__":
    ss.tune(
        train, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget="150 steps", max_resource=27, storage=storage, name="own",
        past=past, guess={"x": 0.4}, progress=False, retries=1000,
    )  # fmt: skip
