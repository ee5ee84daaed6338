"""A study: open it, ask and tell, or let it run an objective. No algorithm lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoestring.core.budget import Amounts, Budget, as_budget
from shoestring.core.decisions import Done, Method
from shoestring.core.event_log import EventLog
from shoestring.core.events import Event, Granted, Mode, Opened, Rule
from shoestring.core.grants import Grant, next_grant
from shoestring.core.history import History, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.readings import Reading, readings_by_step
from shoestring.core.recommendation import DEFAULT_RULE, Best, check_rule
from shoestring.core.verification import Verification, verified
from shoestring.errors import Conflict, EverythingFailed, MethodError, ReadingError, StudyMismatch, StudyNotFound
from shoestring.executors.base import Executor, Objective, check_workers
from shoestring.executors.checkpoints import checkpoint_of, files_of
from shoestring.executors.driver import default_executor, drive
from shoestring.executors.loading import stop_if_loading
from shoestring.logs import open_log
from shoestring.methods.registry import (
    auto,
    described,
    differing_option,
    named,
    rebuilt,
    same_method,
    unknown_classes,
)
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import as_space
from shoestring.spaces.serialisation import differing_parameter, serialised
from shoestring.ui.progress import watch

if TYPE_CHECKING:
    import pandas


class Study:
    """One tuning effort: a space, a method, a budget, a log.

    Opening a study that exists continues it. What is given must match what is stored; only the budget may change.

    >>> import shoestring as ss
    >>> study = ss.Study({"x": (-1.0, 1.0)}, budget=ss.Budget(evaluations=20), method="random")
    >>> while (grant := study.ask()) is not None:
    ...     study.tell(grant, grant.config["x"] ** 2)
    >>> study.state, len(study.trials), study.best.value < 0.1
    ('finished', 20, True)
    """

    def __init__(
        self,
        space: ConfigSpace.ConfigurationSpace | Mapping[str, Any],
        *,
        budget: Budget | str,
        method: str | Method = "auto",
        mode: Mode = "min",
        max_resource: int | None = None,
        storage: str | Path | EventLog | None = None,
        name: str | None = None,
        seed: int = 0,
        recommend: Rule = DEFAULT_RULE,
        _objective: str | None = None,
    ) -> None:
        limits = as_budget(budget)
        _check_options(mode, max_resource, seed)
        check_rule(recommend)
        chosen, note = _method(method, limits, max_resource)
        opened = Opened(
            0.0, serialised(as_space(space)), described(chosen), limits.limits(), mode, max_resource, seed, _objective,
            recommend,
        )  # fmt: skip
        log, name = open_log(storage), _checked_name(name)
        number, self.note, history = log.find(name), "", None
        if number is None:
            history = _opened_history(chosen, opened)
            try:
                number, self.note = log.create(name, opened), note
            except Conflict:  # another process created it at this moment
                number, history = log.find(name), None
        assert number is not None
        self._journal = Journal(log, number, name, chosen, history)
        stored = self.history.opened
        _refuse_differences(stored, opened, name, method == "auto")
        if method == "auto" and history is None:
            self._journal.method = rebuilt(stored.method)
            if self._journal.method is None:
                raise StudyMismatch(f"the stored study {name!r} has a method of its own: give it as method=...")
        self.budget = limits

    @classmethod
    def load(cls, storage: str | Path | EventLog, name: str | None = None) -> Study:
        """A stored study. The name may be left out if there is only one.

        >>> import shoestring as ss
        >>> ss.Study.load(None, "digits")
        Traceback (most recent call last):
        ...
        shoestring.errors.StudyNotFound: there is no study 'digits' in None; it holds no study
        """
        log = open_log(storage, create=False)
        known = log.studies()
        if name is None and len(known) == 1:
            name = known[0]
        number = None if name is None else log.find(name)
        if number is None or name is None:
            held = ", ".join(map(repr, known)) if known else "no study"
            asked = f"there is no study {name!r} in {storage}" if name else f"say which study of {storage} is meant"
            raise StudyNotFound(f"{asked}; it holds {held}")
        study = cls.__new__(cls)
        study.note = ""
        study._journal = Journal(log, number, name, None)
        study._journal.find_method = lambda: _rebuilt_method(study.history.opened.method)
        return study

    @property
    def name(self) -> str:
        return self._journal.name

    @property
    def history(self) -> History:
        """The history so far, including what other processes added."""
        self._journal.sync()
        return self._journal.history

    @property
    def trials(self) -> Sequence[TrialRecord]:
        """All trials in the order they were started."""
        return tuple(self.history.trials)

    @property
    def best(self) -> Best:
        """The configuration that the study recommends so far, and at which step, by the rule ``recommend``: its best
        reading ("best"), the best running median of three ("median") or its last reading ("last").

        ``study.history.best("last")`` answers by another rule. An error shows the first failure if there is none.
        """
        found = self.history.best()
        if found is None:
            raise EverythingFailed(_first_failure(self.history))
        return found

    @property
    def budget(self) -> Budget:
        """The total allowance. Assign another one to continue to that; what was already spent counts."""
        return self.history.ledger.budget

    @budget.setter
    def budget(self, given: Budget | str) -> None:
        limits = as_budget(given)
        if limits != self.budget:
            self._journal.change_budget(limits)

    @property
    def spent(self) -> Amounts:
        """What was spent, in all units: ``study.spent.steps``, or ``study.spent["steps"]``."""
        return Amounts(self.history.ledger.spent())

    @property
    def remaining(self) -> Amounts:
        """What is neither spent nor committed to running trials, in the units of the budget."""
        return Amounts(self.history.remaining())

    @property
    def state(self) -> str:
        """ "open": ask will give a grant; "waiting": only after a running trial reports; "finished"."""
        self._journal.sync()
        answer = self._journal.peek()
        if isinstance(answer, Granted):
            return "open"
        return "finished" if isinstance(answer, Done) else "waiting"

    @property
    def reason(self) -> str:
        """Why the study is where it is: what the next grant is for, or why there is none."""
        self._journal.sync()
        return self._journal.peek().reason

    def ask(self) -> Grant | None:
        """The next grant; None if there is nothing to start now (``state`` says whether ever).

        A study object belongs to one thread; another thread opens the same storage itself.
        """
        for trial in self._journal.orphans():
            if self._journal.adopt(trial.index, trial.step):
                return _grant_of(trial, "taken over from a worker that is gone")
        answer = self._journal.grant()
        if isinstance(answer, Granted):
            return _grant_of(self.history.trials[answer.trial], answer.reason)
        return None

    def tell(self, grant: Grant, readings: object) -> None:
        """Report on a grant: one reading (of step ``until``), a list with one reading per step, or step to reading.

        A reading that is known already is ignored if it is the same and refused if it differs.
        """
        for step, given in readings_by_step(grant.start, grant.until, readings).items():
            trial = self._trial_of(grant)
            if step in trial.readings:
                _refuse_other_value(trial, step, given)
            elif trial.state in ("failed", "lost", "stopped"):
                raise ReadingError(
                    f"trial {grant.trial} has ended ({trial.state}: {trial.message}); it takes no more readings"
                )
            else:
                self._journal.report(grant.trial, step, given)
                if self._trial_of(grant).state in ("failed", "lost", "stopped"):
                    return

    def fail(self, grant: Grant, error: object) -> None:
        """Report that the step after the last reading could not be done."""
        self._trial_of(grant)
        self._journal.close(grant.trial, "failed", _message(error), steps=1)

    def _trial_of(self, grant: Grant) -> TrialRecord:
        trials = self._journal.history.trials
        if not 0 <= grant.trial < len(trials) or trials[grant.trial].seed != grant.seed:
            raise ReadingError(f"the grant of trial {grant.trial} is not one of this study {self.name!r}")
        return trials[grant.trial]

    def run(
        self, objective: Objective, *, workers: int = 1, executor: Executor | None = None, progress: bool | None = None
    ) -> Study:
        """Run the objective until the budget is spent or nothing is left to try."""
        stop_if_loading()
        check_workers(workers, executor)
        display = watch(self._journal, progress, self.note)
        drive(self._journal, objective, executor or default_executor(workers), display)
        if self.history.best() is None:
            raise EverythingFailed(_first_failure(self.history))
        return self

    def verify(self, method: Method | None = None) -> Verification:
        """Replay the log and check every decision; the first that differs is named."""
        return verified(self.events(), method or self._journal.current_method())

    def events(self) -> list[Event]:
        """The events of the log, from the first one on."""
        return self._journal.log.read(self._journal.study, 0)

    def frame(self) -> pandas.DataFrame:
        """The readings as a pandas DataFrame, one row per reading (needs pandas)."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "study.frame() needs pandas: pip install 'shoestring[plots]', or use study.rows()"
            ) from None
        return pandas.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """The readings as plain rows; a trial without a reading has one row with an empty value."""
        return [row for trial in self.history.trials for row in trial.rows()]

    def directory(self, trial: int | None = None, *, best: bool = False) -> Path:
        """The folder with a trial's files; with ``best=True`` the one with the checkpoint of ``study.best``.

        The latter is what the trial had written after step ``study.best.step``, or the last that it wrote before. Read
        it or copy it, and change nothing in it: the trial may be trained on.
        """
        if (trial is None) != best:
            raise ReadingError("give the number of a trial, or best=True for the checkpoint of study.best")
        if best or trial is None:
            return self._checkpoint(self.best)
        if not 0 <= trial < len(self.history.trials):
            raise ReadingError(f"there is no trial {trial}; the study has {len(self.history.trials)}, counted from 0")
        return files_of(self._journal.files(), trial).work()

    def _checkpoint(self, best: Best) -> Path:
        trial = self._journal.history.trials[best.trial]
        found = checkpoint_of(self._journal.files(), trial, best.step)
        if found is None:
            raise ReadingError(
                f"trial {best.trial} wrote no files into trial.directory up to step {best.step}: save a checkpoint "
                f"there after each step, or train study.best.config again with seed {trial.seed} to that step"
            )
        return found

    def references(self) -> list[str]:
        """Where the methods of this study were published."""
        method = self._journal.current_method()
        parts = [method, getattr(method, "sampler", None), getattr(method, "scheduler", None)]
        found = [getattr(part, "reference", None) for part in parts]
        return [reference for reference in found if reference]


def _checked_name(name: str | None) -> str:
    """A name that can also be that of a folder, because the trials' files are kept in one."""
    name = "study" if name is None else name
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or any(c in name for c in "/\\\0"):
        raise MethodError(f"the study's name is {name!r}; it must be a text without slashes")
    return name


def _check_options(mode: object, max_resource: object, seed: object) -> None:
    if mode not in ("min", "max"):
        raise MethodError(f"mode is {mode!r}; it must be 'min' or 'max'")
    if max_resource is not None and (
        not isinstance(max_resource, int) or isinstance(max_resource, bool) or max_resource < 1
    ):
        raise MethodError(
            f"max_resource is {max_resource!r}; it must be the most steps a trial can have, a whole number from 1"
        )
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise MethodError(f"seed is {seed!r}; it must be a whole number")


def _method(given: object, budget: Budget, max_resource: int | None) -> tuple[Method, str]:
    if given == "auto":
        return auto(budget, max_resource)
    if isinstance(given, str):
        return named(given), ""
    if not callable(getattr(given, "decide", None)):
        what = "a sampler" if hasattr(given, "propose") else "a scheduler" if hasattr(given, "next") else "no method"
        raise MethodError(
            f"method is {given!r}, {what}: give a name, compose(sampler, scheduler), or an object with a decide method"
        )
    return given, ""  # type: ignore[return-value]


def _rebuilt_method(description: Mapping[str, Any]) -> Method:
    """The method of a stored study; an error that names the classes that are not known here."""
    method: Method | None = rebuilt(description)
    if method is None:
        unknown = ", ".join(unknown_classes(description)) or "objects that a log cannot hold"
        raise MethodError(
            f"the method of this study uses {unknown}, not known in this process: import the module that registers it "
            "(shoestring.methods.register), declare an entry point of the group shoestring.methods, "
            "or give the method: Study(..., method=...), verify(method=...)"
        )
    return method


def _opened_history(method: Method, opened: Opened) -> History:
    """The history of a new study. Its first grant is decided now: what cannot work fails before it is stored."""
    history = History()
    history.apply(opened)
    answer = next_grant(method, history, "", opened.at)
    if not isinstance(answer, Granted):
        raise MethodError(f"the method has nothing to try: {answer.reason}")
    return history


def _refuse_differences(stored: Opened, given: Opened, name: str, any_method: bool) -> None:
    differs = differing_parameter(stored.space, given.space)
    for field in ("mode", "max_resource", "seed", "recommend", "method"):
        ours, theirs = getattr(stored, field), getattr(given, field)
        same = any_method or same_method(ours, theirs) if field == "method" else ours == theirs
        if differs is None and not same:
            one_field = f"{field} was {ours!r} and is now {theirs!r}"
            differs = differing_option(ours, theirs) if field == "method" else one_field
    if differs:
        raise StudyMismatch(f"the stored study {name!r} differs from the one given: {differs}; give it another name")


def _grant_of(trial: TrialRecord, reason: str) -> Grant:
    return Grant(trial.index, dict(trial.config), trial.seed, trial.step, trial.until, reason)


def _message(error: object) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)


def _first_failure(history: History) -> str:
    failed = next((trial for trial in history.closings if trial.state != "finished"), None)
    if failed is None:
        return "there is no reading yet"
    return (
        f"no trial gave a usable reading; {len(history.closings)} ended without one, "
        f"the first (trial {failed.index}, {failed.config}) as {failed.state}: {failed.message}"
    )


def _refuse_other_value(trial: TrialRecord, step: int, given: object) -> None:
    known, value = trial.readings[step].value, given.value if isinstance(given, Reading) else given
    if value != known:
        raise ReadingError(
            f"step {step} of trial {trial.index} has the reading {known!r} and is now reported as {value!r}"
        )
