"""Ask and tell: you run the trials, shoestring only decides which.

For experiments that Python cannot call: a cluster's queue, a laboratory, a person.

    python examples/ask_tell.py
"""

import shoestring as ss


def measure(temperature: float, minutes: int) -> float:
    """Replace this by your own experiment."""
    return (temperature - 180) ** 2 / 100 + abs(minutes - 25)


study = ss.Study({"temperature": (120.0, 240.0), "minutes": (5, 60)}, budget="40 evaluations", method="tpe")

while (grant := study.ask()) is not None:
    try:
        study.tell(grant, measure(**grant.config))
    except ValueError as error:  # the oven broke: the trial fails, the study goes on
        study.fail(grant, error)

print(f"{study.best.value:.2f} at {study.best.config} after {len(study.trials)} trials")
