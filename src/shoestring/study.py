"""A study: open it, ask and tell, or let it run an objective. No algorithm lives here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from shoestring._other_names import explain_options, missing_attribute
from shoestring.core.ask_tell import ask, fail, heartbeat, tell
from shoestring.core.budget import Amounts, Budget, as_budget
from shoestring.core.decisions import Done, Method
from shoestring.core.event_log import EventLog, check_name, find_study
from shoestring.core.events import Event, Granted, Mode, Opened, Rule
from shoestring.core.front import FrontMember
from shoestring.core.grants import Grant
from shoestring.core.heartbeats import WorkerRecord, worker_records
from shoestring.core.history import History, TrialRecord
from shoestring.core.journal import Journal
from shoestring.core.known import Initial, WarmStart, add_results, make_added, make_enqueued, start_with, warm_start
from shoestring.core.recommendation import DEFAULT_RULE, Best, advised_best, check_rule, require, require_result
from shoestring.core.study_parts import HasFront, HasRemarks
from shoestring.core.verification import Verification, verify
from shoestring.display.live import watch
from shoestring.errors import MethodError, ReadingError
from shoestring.exchange.optuna_trials import export_to_optuna, options_from_optuna
from shoestring.logs import open_log
from shoestring.logs.addresses import hide_password
from shoestring.methods.opening import (
    check_goals,
    check_options,
    choose_method,
    create_or_find,
    rebuild_method,
    refuse_differences,
    stored_method,
)
from shoestring.methods.registry import describe, references_of
from shoestring.objectives.checks import warn_of_another_objective
from shoestring.objectives.loading import refuse_while_loading
from shoestring.objectives.trial import Objective
from shoestring.objectives.trial_files import best_folder, folder_of, steps_without_checkpoint
from shoestring.past.opening import Asked, Past, plan_of
from shoestring.running.callbacks import Callbacks
from shoestring.running.detached import Detached
from shoestring.running.housekeeping import HasHousekeeping
from shoestring.running.interruption import explain_interrupt
from shoestring.running.loop import default_executor, drive
from shoestring.running.options import RUN_PARAMETERS, RunOptions, read_options
from shoestring.spaces.configspace import ConfigSpace
from shoestring.spaces.definition import as_space
from shoestring.spaces.serialisation import serialise
from shoestring.views.states import study_line
from shoestring.views.trial_rows import HasTables


class Study(HasFront, HasRemarks, HasHousekeeping, HasTables):
    """One tuning effort: a space, a method, a budget, a log.

    Opening a study that exists continues it. The arguments must match the stored study; only the budget may change.
    ``initial`` is a list of configurations to try first, and of other studies to learn from: ``ss.warm_start(study)``.

    ``space`` is the search space, and ``budget`` the most that may be spent. ``method`` is a name such as "asha", or
    an object. ``mode`` says whether small values are better ("min") or large ones ("max"). ``max_resource`` is the
    most steps that a trial can have. ``storage`` is a file or an address, and ``name`` the name of the study in it;
    without a storage the study is in memory. The same ``seed`` gives the same decisions. ``recommend`` is the rule of
    ``best``. ``past`` are studies of similar models and ``guess`` values that have worked before, to be tried early.
    ``objectives`` names several, each "min" or "max"; ``constraints`` are bounds, ``{"latency": "< 0.01"}``.

    >>> import shoestring as ss
    >>> study = ss.Study({"x": (-1.0, 1.0)}, budget=ss.Budget(evaluations=20), method="random")
    >>> while (grant := study.ask()) is not None:
    ...     study.tell(grant, grant.config["x"] ** 2)
    >>> study.state, len(study.trials), study.best.value < 0.1
    ('finished', 20, True)
    """

    @explain_options()
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
        initial: Initial = (),
        past: Past = None,
        guess: Mapping[str, Any] | None = None,
        objectives: Mapping[str, Mode] | None = None,
        constraints: Mapping[str, str] | None = None,
        _objective: str | None = None,
    ) -> None:
        limits = as_budget(budget)
        check_options(mode, max_resource, seed)
        check_rule(recommend)
        chosen, note = choose_method(method, limits, max_resource)
        mode = check_goals(objectives, constraints, mode, recommend, chosen)
        log, name, own = open_log(storage), check_name("study" if name is None else name), as_space(space)
        plan = plan_of(Asked(own, past, guess, seed, log, name, bool(objectives and len(objectives) > 1)))
        opened = Opened(
            0.0, serialise(own), describe(chosen), limits.limits(), mode, max_resource, seed, _objective, recommend,
            objectives and dict(objectives), dict(constraints or {}) or None, plan=plan.entries,
        )  # fmt: skip
        number, history = create_or_find(log, name, chosen, opened)
        find_method = partial(stored_method, name, None if method == "auto" else chosen)
        self._journal = Journal(log, number, name, chosen if history else None, history, find_method=find_method)
        refuse_differences(self.history.opened, opened, name, method == "auto")
        self._journal.current_method()
        self._message = plan.note_of_new(note, past, log) if history else plan.note_on(self.history.opened, past)
        self.budget = limits
        start_with(self._journal, initial)

    @classmethod
    def load(cls, storage: str | Path | EventLog, name: str | None = None) -> Study:
        """A stored study. The name may be left out if there is only one.

        >>> import shoestring as ss
        >>> ss.Study.load(None, "digits")
        Traceback (most recent call last):
        ...
        shoestring.errors.StudyNotFound: there is no study 'digits' in None; it holds no study
        """
        return cls._open_stored(storage, name, follow=True)

    @classmethod
    def _open_stored(cls, storage: str | Path | EventLog, name: str | None, follow: bool) -> Study:
        log = open_log(storage, create=False)
        number, name = find_study(log, hide_password(storage), name)
        study = cls.__new__(cls)
        study._message = ""
        study._journal = Journal(log, number, name, None, find_method=rebuild_method, follow=follow)
        return study

    @classmethod
    def from_optuna(cls, study: Any, name: str | None = None, **options: Any) -> Study:
        """A study with the space and the trials of an Optuna study, or of the address of its storage: these cost
        nothing, and pruned ones can be continued. ``options`` are the same as for a study; ``budget`` is needed.
        """
        return cls(**options_from_optuna(study, name, options))

    def to_optuna(self, storage: Any = None, name: str | None = None) -> Any:
        """The trials as a new Optuna study, in a storage of Optuna's or in memory; a warning names what is lost."""
        return export_to_optuna(self.name, self.history, self.events(), storage, name)

    @property
    def name(self) -> str:
        return self._journal.name

    @property
    def history(self) -> History:
        """The history so far, including what other processes added. It changes while other threads report."""
        with self._current() as history:
            return history

    @contextmanager
    def _current(self) -> Iterator[History]:
        """The history with what other processes added, which no other thread changes within this block."""
        with self._journal.lock:
            self._journal.sync()
            yield self._journal.history

    @property
    def trials(self) -> Sequence[TrialRecord]:
        """All trials in the order they were started."""
        return tuple(self.history.trials)

    @property
    def best(self) -> Best:
        """The configuration that the study recommends so far, and at which step, by the rule ``recommend``: its best
        reading ("best"), the best running median of three ("median"), its last reading ("last"), or its best reading
        unless the method finds that the readings are noisy and expects more of another configuration ("auto").

        ``study.history.best("last")`` answers by another rule. An error shows the first failure if there is none.
        """
        with self._current() as history:
            return require(advised_best(history, self._journal.current_method), history)

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
        """Return what was spent, in all units: ``study.spent.steps``, or ``study.spent["steps"]``."""
        with self._current() as history:
            return Amounts(history.ledger.spent())

    @property
    def remaining(self) -> Amounts:
        """Return what is neither spent nor committed to running trials, in the units of the budget."""
        with self._current() as history:
            return Amounts(history.remaining())

    @property
    def state(self) -> str:
        """Say what ``ask`` gives: "open" a grant, "waiting" one after a running trial reports, "finished" no more.

        It is finished if its budget is spent, nothing is left to try, or it was stopped; ``reason`` says which.
        """
        with self._current():
            answer = self._journal.peek()
        if isinstance(answer, Granted):
            return "open"
        return "finished" if isinstance(answer, Done) else "waiting"

    @property
    def reason(self) -> str:
        """Return why the study is where it is: what the next grant is for, or why there is none."""
        with self._current():
            return self._journal.peek().reason

    @overload
    def ask(self) -> Grant | None: ...
    @overload
    def ask(self, n: int) -> list[Grant]: ...
    def ask(self, n: int | None = None) -> Grant | list[Grant] | None:
        """The next grant; None if there is nothing to start now (``state`` says whether ever).

        ``ask(8)`` is a list of up to eight grants, empty if there is nothing to start. They are decided together, so a
        model is fitted once for all of them. They are the same as from eight calls in a row.

        Several threads can use one study: each gets grants of its own, and no thread waits for another one's objective.
        """
        most = 1 if n is None else n
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise MethodError(f"n is {n!r}; it is how many grants are asked for at most, a whole number from 1")
        found = ask(self._journal, min(most, sys.maxsize))
        return found if n is not None else found[0] if found else None

    def tell(self, grant: Grant | int, readings: object) -> None:
        """Report on a grant: one reading (of step ``until``), a list with one reading per step, or step to reading.

        A trial's number stands for its last grant. A reading that is known already is ignored if it is the same and
        refused if it differs. If the trial was taken over by another process meanwhile, what is new counts and the
        rest is ignored.
        """
        tell(self._journal, grant, readings)

    def fail(self, grant: Grant | int, error: object) -> None:
        """Report that the step after the last reading of a grant, or of a trial by its number, could not be done."""
        fail(self._journal, grant, error)

    def heartbeat(self, grant: Grant | int) -> None:
        """Renew the lease of a running trial now; an error says that it has ended or was taken over.

        The process that asked does this by itself every five seconds. Call it in another process that serves the same
        study, or to find out whether a trial is still worth working on after a long pause.
        """
        heartbeat(self._journal, grant)

    def enqueue(self, config: Mapping[str, Any], source: str = "") -> None:
        """Try a configuration next: before the method chooses one by itself, whichever method it is. ``source`` says
        who wants it, if it is not the user; the log and the reason of the trial name it.

        >>> import shoestring as ss
        >>> study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random")
        >>> study.enqueue({"x": 0.5})
        >>> study.ask().config
        {'x': 0.5}
        """
        self._journal.put(lambda history: make_enqueued(history, config, source))

    def add(self, config: Mapping[str, Any], readings: object = None, *, failed: object = None) -> None:
        """Add a result from elsewhere. It is learned from like a trial of this study, and costs nothing.

        ``readings`` is one value (of the last step), a list with one for each step, or step to value; a value may be a
        :class:`Reading`. ``failed`` says why the configuration failed there. A result that is known is ignored.

        >>> import shoestring as ss
        >>> study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random")
        >>> study.add({"x": 0.5}, 0.1)
        >>> study.best.config, study.spent.evaluations
        ({'x': 0.5}, 0)
        """
        self._journal.put(lambda history: make_added(history, config, readings, failed))

    def add_from(self, other: Study | WarmStart) -> int:
        """Add the results of another study, or of ``ss.warm_start(study, fill=...)``; how many were taken."""
        return add_results(self._journal, other if isinstance(other, WarmStart) else warm_start(other))

    @explain_options(RUN_PARAMETERS)
    def run(self, objective: Objective, **options: Unpack[RunOptions]) -> Study:
        """Run the objective until the budget is spent, the study is stopped, or nothing is left to try.

        ``workers`` trials run at once, each in a process of its own, unless an ``executor`` says where they run.
        ``progress`` shows or hides the progress; by default it is shown in a terminal and in a notebook.
        ``retries`` is how often a trial is run again after the same step raised, or was lost with its process; by
        default never and once. A trial that takes longer than ``trial_timeout`` seconds, or a step that takes longer
        than ``step_timeout``, fails. The study is stopped when a reading reaches ``target``, or when none was better
        than the best for a budget of ``patience``, such as "50 steps". Running a stopped study again continues it.
        With ``gpus=[0, 1]`` each worker process sees one of these GPUs, with ``devices`` it is only told which one is
        its own, as ``trial.device``. Each computes with ``threads`` threads, by default with its share of the cores;
        ``init()`` is called once in each of them.

        Trials that can go on keep their files, and of those that ended the best ``keep``, and ``study.best`` in any
        case; None keeps all. ``callbacks`` are objects with ``on_reading(study, trial, step, reading)``,
        ``on_trial_end(study, trial)`` or ``on_study_end(study)``, such as the loggers of ``ss.loggers``; one that fails
        is logged and changes nothing. A warning says if the objective has another name than the one that the study was
        started with, unless ``accept_objective`` is set.
        """
        refuse_while_loading()
        run, limits = read_options(options)
        limits.check_for(len(self.history.goals.names))
        if not run["accept_objective"]:
            warn_of_another_objective(self.name, self.history.opened.objective, objective)
        display = watch(self._journal, run["progress"], self._message)
        executor = run["executor"] or default_executor(run)
        callbacks = Callbacks(self, run["callbacks"])
        with explain_interrupt(self._journal.log, self.repeats):
            drive(self._journal, objective, executor, display, limits, run["keep"], callbacks)
        if not self.history.stopped:  # on request, perhaps before the first reading
            require_result(self.history)
        return self

    def workers(self) -> list[WorkerRecord]:
        """List the workers that run trials of this study, with their last heartbeat and their trials."""
        with self._current() as history:
            return list(worker_records(self._journal.log, self._journal.study, history))

    def stop(self, reason: str = "the study was stopped by hand") -> None:
        """Stop the study before its budget is spent, in all processes that run it.

        They end what they are running as soon as they notice: between two steps, or at once if the trials run in
        processes of their own.
        """
        if not isinstance(reason, str) or not reason:
            raise MethodError(f"the reason is {reason!r}; it must be a text that says why the study is stopped")
        with self._current():
            self._journal.stop(reason)

    def release(self, trial: int, reason: str = "it was released by hand") -> None:
        """Free a running trial: another process takes it over at once, without waiting for its present holder.

        If that one still reports a reading, it counts if it is the first one of its step.
        """
        with self._current():
            self._journal.release(trial, reason)

    def verify(self, method: Method | None = None) -> Verification:
        """Replay the log and check every decision; the first that differs is named."""
        return verify(self.events(), method or self._journal.current_method())

    def events(self) -> list[Event]:
        """The events of the log, from the first one on."""
        return self._journal.log.read(self._journal.study, 0)

    def __repr__(self) -> str:
        """The study in one line."""
        return study_line(self._journal)

    def _repr_html_(self) -> str:
        """The report card of the study, which notebooks show."""
        from shoestring.display.card import card  # here because only a notebook draws

        return card(self)

    def directory(self, trial: int | FrontMember | None = None, *, best: bool = False) -> Path:
        """The folder with a trial's files, or with the checkpoint of a member of the front, or of ``study.best``.

        A checkpoint is what the trial had written after that step, or before it. Read it or copy it, and change
        nothing in it: the trial may be trained on.
        """
        if (trial is None) != best:
            raise ReadingError("give the number of a trial, or best=True for the checkpoint of study.best")
        if trial is None or isinstance(trial, FrontMember):
            return best_folder(self.files, trial or self.best, self._journal.history.trials)
        return folder_of(self.files, trial, self.history.trials)

    @property
    def files(self) -> Path:
        """The folder that holds the files of all trials; it exists once one of them has files."""
        return self._journal.files()

    @property
    def detached(self) -> Detached:
        """This study for trials that are asked for in one process and told in another, as the command line does it."""
        return Detached(self._journal)

    def repeats(self) -> int:
        """Return how many steps are run again at most, and charged again, if another process continues this study now.

        These are the steps since the last checkpoint of each running or paused trial.
        """
        return steps_without_checkpoint(self.files, self.history.trials)

    def references(self, bibtex: bool = False) -> list[str]:
        """List the publications of the methods of this study, in words or, with ``bibtex``, as BibTeX entries."""
        return references_of(self._journal.current_method(), bibtex)

    if not TYPE_CHECKING:  # a type checker would take any name to exist

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute("study", "a Study", name)


def snapshot(storage: str | Path | EventLog, name: str | None) -> Study:
    """Load a stored study at this moment: it does not follow its log, so that all parts shown agree."""
    return Study._open_stored(storage, name, follow=False)
