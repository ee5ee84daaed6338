"""Run a study in a child process, kill -9 it at random moments, and start it again until it ends.

    python tests/programs/crash.py STORAGE --kills 50 --workers 1 [--forgetful | --several]

Prints a line of JSON: how often it was killed. The objective's state depends on how many steps were
really trained, so files that are a step ahead of the log, or half written, show in the readings.
"""

import argparse
import json
import os
import random
import signal
import sys
import time

import shoestring as ss
from shoestring.executors import Inline, Processes

STEPS = 400
PAUSE = float(os.environ.get("CRASH_PAUSE", "0.001"))
at_work = None  # where a forked child says that it trains


def set_pause(seconds):
    """For this process, those that it forks and those that it starts."""
    global PAUSE
    PAUSE, os.environ["CRASH_PAUSE"] = seconds, str(seconds)


def say_at_work():
    global at_work
    if at_work is not None:
        os.write(at_work, b".")
        at_work = None


def train(trial):
    say_at_work()
    state = {"weight": trial.config["x"], "trained": 0}
    path = trial.directory / "state.json"
    if trial.start:
        state = json.loads(path.read_text())
    while True:
        state["trained"] += 1
        state["weight"] = 0.9 * state["weight"] + (trial.seed % 97) / (100 + state["trained"])
        with path.open("w") as file:
            text = json.dumps(state)
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(PAUSE)
            file.write(text[len(text) // 2 :])
        yield state["weight"]


def forgetful(trial):
    say_at_work()
    weight = trial.config["x"]
    for step in range(1, 1000):
        time.sleep(PAUSE)
        weight = 0.9 * weight + (trial.seed % 97) / (100 + step)
        yield weight


def several(trial):
    """Two objectives, one of which a constraint is on; notes are said again when a step is run again."""
    for weight in train(trial):
        trial.note(f"step {trial.start + 1} or later")
        yield {"weight": weight, "age": trial.config["x"] - weight / 2}


SEVERAL = {"objectives": {"weight": "min", "age": "max"}, "constraints": {"age": "> -0.2"}}


def run(storage, workers, objective):
    executor = Inline(alive=4) if workers == 1 else Processes(workers)
    goals = SEVERAL if objective is several else {}
    ss.tune(
        objective, {"x": (0.0, 1.0)}, budget=ss.Budget(steps=STEPS), max_resource=9, method="asha",
        storage=storage, name="crash", executor=executor, progress=False, keep=None, **goals,
        retries=1000,  # it is not the trial that kills its process
    )  # fmt: skip


def child(storage, workers, objective):
    global at_work
    said, write = os.pipe()
    at_work = write if workers == 1 else None
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            run(storage, workers, objective)
            code = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    os.close(write)
    return pid, said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("storage")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--shortest", type=float, default=0.0)
    parser.add_argument("--longest", type=float, default=0.08)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forgetful", action="store_true")
    parser.add_argument("--several", action="store_true")
    options = parser.parse_args()
    objective = forgetful if options.forgetful else several if options.several else train
    # Warm up once, so that each child dies in the middle of work and not of imports.
    ss.Study({"x": (0.0, 1.0)}, budget="9 steps", max_resource=9, method="asha")
    moments, kills = random.Random(options.seed), 0
    while True:
        if kills == options.kills:  # the last life is not waited for
            set_pause(0.001)
        pid, said = child(options.storage, options.workers, objective)
        if options.workers == 1 and kills % 2:  # every second kill comes while it trains, however slow the machine is
            os.read(said, 1)
        os.close(said)
        if kills < options.kills:
            time.sleep(moments.uniform(options.shortest, options.longest))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            kills += 1
        elif os.WEXITSTATUS(status):
            sys.exit(f"the child ended with {status} after {kills} kills")
        else:
            break
    print(json.dumps({"kills": kills}))


if __name__ == "__main__":
    main()
