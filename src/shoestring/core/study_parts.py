"""Two parts of a study: its front, if it has several objectives, and what is said of it and of its trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from shoestring.core.ask_tell import trial_of
from shoestring.core.front import FrontMember, hypervolume_of, member_of, require_front, weighted_best
from shoestring.core.grants import Grant
from shoestring.core.history import History
from shoestring.core.journal import Journal
from shoestring.core.remarks import ARCHIVED, Attributes, Remarks, check_note, check_tags, note_on_study, note_on_trial


class HasFront:
    """The part of a study that weighs several objectives."""

    _journal: Journal

    def _sync(self) -> History:
        self._journal.sync()
        return self._journal.history

    @property
    def front(self) -> tuple[FrontMember, ...]:
        """The feasible readings that no other one dominates, from the best value of the first objective to its worst.

        >>> import shoestring as ss
        >>> study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random",
        ...                  objectives={"error": "min", "size": "min"})
        >>> study.add({"x": 0.1}, {"error": 0.3, "size": 1})
        >>> study.add({"x": 0.5}, {"error": 0.1, "size": 5})
        >>> study.add({"x": 0.9}, {"error": 0.4, "size": 9})
        >>> [member.values for member in study.front]
        [{'error': 0.1, 'size': 5.0}, {'error': 0.3, 'size': 1.0}]
        >>> study.pick(error=1, size=0.1).config, study.hypervolume({"error": 1, "size": 10})
        ({'x': 0.5}, 7.3)
        """
        with self._journal.lock:
            return require_front(self._sync())

    def knee(self) -> FrontMember:
        """The member of the front that balances the objectives: ``pick`` with equal weights."""
        return self._pick(None)

    def pick(self, **weights: float) -> FrontMember:
        """The member of the front whose largest weighted loss is smallest.

        Each objective is put on a scale from 0, its best value on the front, to 1, its worst one.
        """
        return self._pick(weights)

    def _pick(self, weights: Mapping[str, float] | None) -> FrontMember:
        with self._journal.lock:
            history = self._sync()
            require_front(history)
            point = weighted_best(history, weights)
            assert point is not None
            return member_of(point, history.goals)

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume between the front and a reference point, which has a value for each objective.

        Without a reference it is the worst value of each objective among all feasible readings, so that the numbers of
        two studies can only be compared if they are given the same one.
        """
        with self._journal.lock:
            return hypervolume_of(self._sync(), reference)


class HasRemarks:
    """The part of a study that keeps notes, tags and attributes. No decision depends on them."""

    _journal: Journal

    @property
    def note(self) -> str:
        """Your note about the study; assign another text to replace it."""
        self._journal.sync()
        return self._journal.history.note

    @note.setter
    def note(self, text: str) -> None:
        self._journal.put(partial(note_on_study, note=check_note(text)))

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags of the study, such as ("baseline", "2 GPUs"); assign others to replace them."""
        self._journal.sync()
        return self._journal.history.tags

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        self._journal.put(partial(note_on_study, tags=check_tags(tags)))

    def archive(self, archived: bool = True) -> None:
        """Hide the study in the lists, or show it again: it gets the tag "archived", and nothing else changes."""
        others = tuple(tag for tag in self.tags if tag != ARCHIVED)
        self.tags = (*others, ARCHIVED) if archived else others

    def annotate(self, trial: Grant | int, note: str = "", **attributes: Any) -> None:
        """Add a note or attributes to a trial, whatever its state; an objective has ``trial.note`` for that.

        >>> import shoestring as ss
        >>> study = ss.tune(lambda trial: trial.config["x"], {"x": (0.0, 1.0)}, budget="2 evaluations", method="random")
        >>> study.annotate(0, "looks good", git="1a2b3c")
        >>> study.trials[0].notes, study.trials[0].attributes
        (['looks good'], {'git': '1a2b3c'})
        """
        remarks = Remarks((check_note(note),) if note else (), dict(Attributes(attributes)))
        with self._journal.lock:
            index = trial_of(self._journal, trial).index
            self._journal.put(partial(note_on_trial, trial=index, remarks=remarks))
