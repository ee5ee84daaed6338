"""Online tuning inside an ordinary training loop, in three lines.

::

    tuning = OnlineTraining(CEGPUCB(space, horizon=2000), measure=validation_accuracy)
    for batch in loader:
        config = tuning.begin()         # what to use in this round
        train_on(batch, **config)
        tuning.end()                    # measures only if this round is worth it

The reward of a round is its gain: the measure after it minus the measure before it. A look right after a look needs
one new measurement, a look after a round without one needs two. Nothing here imports a framework; ``state_dict`` and
``load_state_dict`` are named as in PyTorch, so that the tuner goes into the same checkpoint as the optimiser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoestring.errors import ReadingError
from shoestring.online.tuner import OnlineTuner, Round


class OnlineTraining:
    """Calls ``measure`` (larger is better) only where the tuner wants to look.

    ``scale`` multiplies the gain: 100 turns an accuracy into per cent.

    >>> from shoestring.online import CEGPUCB
    >>> skill = [0.0]
    >>> tuning = OnlineTraining(CEGPUCB(["wait", "learn"], horizon=20), measure=lambda: skill[0])
    >>> for _ in range(20):
    ...     config = tuning.begin()
    ...     skill[0] += config == "learn"
    ...     _ = tuning.end()
    >>> config, tuning.measurements <= 2 * tuning.tuner.looks
    ('learn', True)
    """

    def __init__(self, tuner: OnlineTuner, measure: Callable[[], float], scale: float = 1.0) -> None:
        self.tuner, self._measure, self._scale = tuner, measure, scale
        self.measurements = 0
        self._round: Round | None = None
        self._last_measure: float | None = None

    @property
    def round(self) -> Round | None:
        """The round between ``begin`` and ``end``, None outside of one."""
        return self._round

    def begin(self) -> Any:
        """The configuration of the next round; measures first if the round will be looked at."""
        if self._round is not None:
            raise ReadingError(f"round {self._round.number} has not ended; call end() before begin()")
        self._round = self.tuner.ask()
        if self._round.look and self._last_measure is None:
            self._last_measure = self._read_measure()
        return self._round.config

    def end(self) -> bool:
        """Close the round, and give the tuner its gain if it asked to look; returns whether it did."""
        if self._round is None:
            raise ReadingError("there is no round to end; call begin() before end()")
        looked, self._round = self._round.look, None
        before, self._last_measure = self._last_measure, None
        if looked:
            assert before is not None
            self._last_measure = self._read_measure()
            self.tuner.tell(self._scale * (self._last_measure - before))
        return looked

    def _read_measure(self) -> float:
        self.measurements += 1
        return float(self._measure())

    def state_dict(self) -> dict[str, Any]:
        """The state between two rounds."""
        if self._round is not None:
            raise ReadingError(f"round {self._round.number} is open; save the state after end()")
        return {"tuner": self.tuner.state_dict(), "last_measure": self._last_measure, "measurements": self.measurements}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.tuner.load_state_dict(state["tuner"])
        self._last_measure, self.measurements, self._round = state["last_measure"], int(state["measurements"]), None
