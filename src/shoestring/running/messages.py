"""Messages of a run to the logger ``shoestring`` about its trials; a warning that would repeat is given once."""

from __future__ import annotations

import logging

from shoestring.core.history import FAILED, History, TrialRecord

_logger = logging.getLogger("shoestring")


class Messages:
    """The messages of one run. ``quiet`` runs, of simulations, do not warn of failures."""

    def __init__(self, history: History, quiet: bool = False) -> None:
        self._history = history
        self._quiet = quiet
        self._said: set[str] = set()

    def _is_first(self, kind: str) -> bool:
        first = kind not in self._said
        self._said.add(kind)
        return first

    def waiting(self) -> None:
        if self._is_first("waiting"):
            running = "; ".join(f"trial {t.index} by {t.worker}" for t in self._history.running.values())
            _logger.info("waiting for trials that other processes are running: %s", running)

    def taking_over(self, trial: TrialRecord, start: int) -> None:
        _logger.info("trial %d is taken over after step %d", trial.index, start)

    def note_takeover(self, trial: TrialRecord) -> None:
        _logger.warning("trial %d was taken over by %s", trial.index, trial.worker or "no worker yet")

    def trying_again(self, trial: TrialRecord, start: int, why: str) -> None:
        _logger.warning("trial %d is tried again after step %d: %s", trial.index, start, why)

    def repeating(self, trial: TrialRecord, start: int) -> None:
        """Steps that are in the log are run again."""
        _logger.log(
            logging.WARNING if self._is_first("repeating") else logging.INFO,
            "trial %d continues after step %d instead of %d: this process does not hold it in memory, and it has no "
            "later checkpoint. The steps between are run again and charged; save checkpoints in trial.directory "
            "(trial.checkpoint.save), or, if the objective is a generator, let more trials stay in memory (alive= of "
            "the executor)",
            *(trial.index, start, trial.step),
        )

    def note_end(self, trial: TrialRecord) -> None:
        first = trial.state in FAILED and not self._quiet and self._is_first("failing")
        if not _logger.isEnabledFor(logging.INFO):
            if first:
                how = "failed" if trial.state == "failed" else "is lost"
                words = "trial %d %s, and the study goes on: %s. Further failures are logged at level INFO"
                _logger.warning(words, trial.index, how, trial.message)
            return
        sign, found, lowest = self._history.sign, trial.recommended, self._history.lowest
        value = f" with value {sign * found.loss:g} at step {found.step}" if found else ""
        costs = [reading.cost for reading in trial.readings.values() if reading.cost is not None]
        cost = f", cost {sum(costs):g}" if costs else ""
        why = trial.message or trial.reason
        best = f". Best is trial {lowest[0].index} with {sign * lowest[2]:g}" if lowest else ""
        _logger.log(
            logging.WARNING if first else logging.INFO,
            "trial %d %s%s (%d steps, %.3g s%s; %s): %s%s",
            *(trial.index, trial.state, value, trial.step, trial.seconds, cost, why, dict(trial.config), best),
        )
