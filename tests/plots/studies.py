"""Studies for the tests of plots: small, seeded, on a virtual clock."""

import shoestring as ss

SPACE = {"x": (0.0, 1.0), "rate": ss.log(1e-3, 1.0), "kind": ["a", "b"]}


class Problem:
    """Curves that fall to x², two steps a second where ``kind`` is "b"; large rates fail after the first step."""

    def reading(self, config, step, seed):
        if config["rate"] > 0.5 and step > 1:
            raise ValueError("the rate is too large")
        return ss.Reading(config["x"] ** 2 + 1 / step, cost=1.0 + config["x"], size=config["x"])

    def __call__(self, trial):
        yield from (self.reading(trial.config, step, trial.seed) for step in range(trial.start + 1, 10))

    def seconds(self, config, step, seed):
        return 0.5 if config["kind"] == "b" else 1.0


def played(method="hyperband", budget="120 steps", workers=3, name="played", seed=0, **options):
    study = ss.Study(SPACE, budget=budget, max_resource=9, method=method, name=name, seed=seed, **options)
    return study.run(Problem(), executor=ss.executors.Simulated(workers), progress=False)


def told(*values, mode="min", name="told"):
    """One trial for each value; an exception fails its trial."""
    study = ss.Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, budget="50 evaluations", method="random", mode=mode, name=name)
    for value in values:
        grant = study.ask()
        if isinstance(value, Exception):
            study.fail(grant, value)
        else:
            study.tell(grant, value)
    return study


def started(count):
    """A study with this many running trials, without a reading."""
    study = told()
    for _ in range(count):
        study.ask()
    return study


def added(*values):
    """Results from elsewhere only."""
    study = told()
    for index, value in enumerate(values):
        study.add({"x": 0.1 * index, "y": 0.5}, value)
    return study
