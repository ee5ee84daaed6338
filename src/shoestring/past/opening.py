"""The plan of a study that is opened, and what is said of it. Only a new study with a past or a guess needs models."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shoestring import past as package  # whose names load the models on first use
from shoestring._text import one_line
from shoestring.core.event_log import EventLog
from shoestring.core.events import Opened
from shoestring.core.planned import GUESS
from shoestring.past.sources import Past as Past, is_own, items_of
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.parameters import guess_in

if TYPE_CHECKING:
    from shoestring.past.forecasts import PastForecast

_logger = logging.getLogger("shoestring")

# How many of the studies that were left out are named.
_NAMED = 3


@dataclass(frozen=True)
class PastStudy:
    """A study of the past, and what is taken from it: ``problem`` says why nothing is, ``outside`` how many of its
    configurations are outside of the new space, and ``forecast`` is what it says about others.
    """

    name: str
    digest: str
    problem: str = ""
    trials: int = 0
    outside: int = 0
    forecast: PastForecast | None = None


@dataclass(frozen=True)
class PlanMade:
    """A plan as the opening event holds it, and what it was made from."""

    entries: tuple[Mapping[str, Any], ...] = ()
    studies: tuple[PastStudy, ...] = ()
    past: str = ""

    @property
    def note(self) -> str:
        """One line that says what was found and used; empty without a past and a guess."""
        planned = f"{len(self.entries)} configuration{'' if len(self.entries) == 1 else 's'} planned"
        if not self.past:
            return f"guess: {planned}" if self.entries else ""
        used = [study for study in self.studies if not study.problem]
        parts = [f"past: {len(used)} of {len(self.studies)} studies of {self.past}: {planned}"]
        outside = sum(study.outside for study in used)
        if outside:
            parts.append(f"{outside} past configurations are outside of the space")
        return "; ".join([*parts, *self._left_out()])

    def _left_out(self) -> Iterator[str]:
        left = [study for study in self.studies if study.problem]
        if left:
            named = [f"{one_line(study.name)}, {study.problem}" for study in left[:_NAMED]]
            more = [f"and {len(left) - _NAMED} more"] if len(left) > _NAMED else []
            yield "left out: " + "; ".join(named + more)

    def note_of_new(self, other: str, past: Past, own: EventLog) -> str:
        """The note of a new study, after another one. A named past that is of no use is a warning as well.

        The first study of a storage has no past there, so no warning.
        """
        named = self.past and not all(is_own(item, own) for item in items_of(past))
        if named and all(study.problem for study in self.studies):
            _logger.warning("%s", self.note)
        return "; ".join(filter(None, (other, self.note)))

    def note_on(self, stored: Opened, past: Past) -> str:
        """Explain that a stored study was opened with a past, or with another guess than it has."""
        known = [entry for entry in stored.plan if entry["origin"] == GUESS]
        if past is None and (known == list(self.entries) or not self.entries):
            return ""
        own = f"its own plan of {len(stored.plan)} configurations" if stored.plan else "no plan, as it started"
        return f"the stored study goes on with {own}; past and guess are read when a study is new"


class Asked(NamedTuple):
    """The study that asks for a plan; ``several`` says whether it has several objectives."""

    space: ConfigSpace.ConfigurationSpace
    past: Past
    guess: Mapping[str, Any] | None
    seed: int
    log: EventLog
    name: str
    several: bool = False


def plan_of(asked: Asked) -> PlanMade:
    """The plan of a study; empty without a past and a guess."""
    if asked.past is None and asked.guess is None and not any(map(guess_in, asked.space.values())):
        return PlanMade()
    return package.plan_if_new(asked)
