"""Ask and tell, budgets, failures, resuming: the study without an executor."""

import math
import re
import sqlite3
from dataclasses import dataclass

import ConfigSpace as CS  # noqa: N817
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring import Budget, Reading, Study
from shoestring.core.decisions import Continue, Done, Replicate, Start
from shoestring.errors import (
    BudgetError,
    EverythingFailed,
    MethodError,
    ObjectiveError,
    ReadingError,
    SpaceError,
    StorageError,
    StudyMismatch,
    StudyNotFound,
)
from shoestring.logs.memory import MemoryLog
from shoestring.methods.bibliography import bibtex_of
from shoestring.methods.registry import names
from shoestring.testing.laws import check_budget_law
from shoestring.views.states import condition
from tests.stored import edit

SPACE = {"x": (0.0, 1.0)}


def study_of(budget="30 steps", **options):
    return Study(SPACE, budget=budget, **{"method": "asha", "max_resource": 9, **options})


class TestTelling:
    def test_a_number_is_the_reading_at_the_end_of_the_grant(self):
        study = study_of(method="random")
        grant = study.ask()
        study.tell(grant, 0.5)
        assert study.trials[0].readings == {9: Reading(0.5)}
        assert study.spent["steps"] == 9

    def test_a_list_is_one_reading_a_step_and_may_come_in_parts(self):
        study = study_of(method="random")
        grant = study.ask()
        study.tell(grant, [3.0, 2.0])
        assert study.trials[0].state == "running"
        study.tell(grant, [3.0, 2.0, 1.0])
        assert [r.value for r in study.trials[0].readings.values()] == [3.0, 2.0, 1.0]

    def test_a_mapping_is_step_to_reading(self):
        study = study_of(method="random")
        grant = study.ask()
        study.tell(grant, {9: 1.0, 3: Reading(2.0, cost=4.0, accuracy=0.5)})
        assert study.trials[0].readings[3].metrics == {"accuracy": 0.5}
        assert study.trials[0].state == "finished"

    def test_what_is_known_is_ignored_if_equal_and_refused_if_not(self):
        study = study_of(method="random")
        grant = study.ask()
        study.tell(grant, {3: 1.0})
        study.tell(grant, {3: 1.0})
        with pytest.raises(ReadingError, match=r"1\.0 and is now reported as 2\.0"):
            study.tell(grant, {3: 2.0})
        study.tell(grant, 0.5)
        study.tell(grant, 0.5)

    def test_another_process_may_tell_what_this_one_asked_for(self):
        study = study_of(storage=(log := MemoryLog()))
        other = Study.load(log)
        for grant in study.ask(6):
            other.tell(grant, grant.config["x"])
        grant = study.ask()
        assert (grant.start, grant.until) == (1, 3)
        other.tell(grant, [0.5, 0.25])
        other.fail(study.ask(), "no")
        assert study.trials[grant.trial].readings[3].value == 0.25

    def test_a_step_outside_of_the_grant_is_refused(self):
        study = study_of(method="random")
        grant = study.ask()
        for readings in ({0: 1.0}, {10: 1.0}, [1.0] * 10):
            with pytest.raises(ReadingError, match="outside of the grant"):
                study.tell(grant, readings)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "0.5", None, True, [], object()])
    def test_bad_readings_end_the_trial_as_failed_and_are_charged(self, bad):
        study = study_of(method="random")
        grant = study.ask()
        study.tell(grant, [1.0, bad])
        trial = study.trials[0]
        assert (trial.state, trial.step) == ("failed", 1)
        assert trial.message
        assert study.spent["steps"] == 2
        assert study.remaining["steps"] == 28, "the unused part of the grant is released"
        with pytest.raises(ReadingError, match="failed"):
            study.tell(grant, {3: 1.0})

    def test_fail_keeps_the_message(self):
        study = study_of(method="random")
        study.fail(study.ask(), ValueError("no such optimiser"))
        assert study.trials[0].message == "ValueError: no such optimiser"
        assert study.spent["steps"] == 1

    def test_bounds_and_cost_are_checked(self):
        for bad in (Reading(1.0, low=2.0, high=0.0), Reading(1.0, cost=-1), Reading(1.0, low=math.nan)):
            study = study_of(method="random")
            study.tell(study.ask(), bad)
            assert study.trials[0].state == "failed"


class TestBudget:
    def test_it_is_spent_exactly_and_the_last_grant_is_cut(self):
        study = study_of("20 steps", method="random")
        untils = []
        while (grant := study.ask()) is not None:
            untils.append(grant.until - grant.start)
            study.tell(grant, 1.0)
        assert untils == [9, 9, 2]
        assert study.state == "finished"
        assert study.remaining["steps"] == 0

    def test_a_raised_budget_carries_on_what_was_cut(self):
        log = MemoryLog()
        study = study_of("20 steps", method="random", storage=log)
        while (grant := study.ask()) is not None:
            study.tell(grant, 1.0)
        study = study_of("40 steps", method="random", storage=log)
        grant = study.ask()
        assert (grant.trial, grant.start, grant.until) == (2, 2, 9)

    def test_nothing_to_start_while_everything_is_promised(self):
        study = study_of("18 steps", method="random")
        first, second = study.ask(), study.ask()
        assert study.ask() is None
        assert study.state == "waiting"
        study.fail(first, "broke at once")
        assert study.ask() is not None, "what a failure did not use is granted again"
        study.tell(second, 1.0)

    def test_a_stopped_study_gives_nothing_more_and_says_why(self):
        study = study_of("18 steps", method="random")
        study.tell(study.ask(), 1.0)
        study.stop("the model is good enough")
        assert study.ask() is None
        assert (study.state, condition(study)) == ("finished", "stopped")
        assert "the model is good enough" in study.reason

    def test_a_reading_that_costs_more_than_is_left_does_not_count(self):
        study = study_of(Budget(cost=3.0), method="random", max_resource=None)
        for cost in (1.0, 1.0, 5.0):
            study.tell(study.ask(), Reading(0.5 - cost, cost=cost))
        assert study.trials[2].state == "stopped"
        assert "cost 5 and 1 was left" in study.trials[2].message
        assert study.spent["cost"] == 3.0
        assert study.ask() is None

    def test_a_step_that_the_left_over_cost_cannot_buy_is_not_started(self):
        study = study_of(Budget(cost=5.0), method="random", max_resource=None)
        for _ in range(2):
            study.tell(study.ask(), Reading(1.0, cost=2.0))
        assert study.ask() is None
        assert study.state == "finished"
        assert study.remaining["cost"] == 1.0

    def test_a_budget_too_small_for_one_trial_is_refused(self):
        with pytest.raises(BudgetError, match="cannot pay for one trial: the first needs 9 steps"):
            study_of("8 steps", method="random")
        assert study_of("8 steps", method="asha").ask().until == 1

    @settings(max_examples=60, deadline=None)
    @given(
        limits=st.dictionaries(
            st.sampled_from(["steps", "evaluations", "cost"]), st.integers(10, 60), min_size=1, max_size=3
        ),
        moves=st.lists(st.tuples(st.sampled_from("atfnc"), st.integers(0, 9), st.floats(0, 3)), max_size=60),
        method=st.sampled_from(["random", "asha", "sh", "hyperband"]),
    )
    def test_the_law_holds_whatever_a_user_does(self, limits, moves, method):
        """Ask, tell, fail, give NaN or half a list, in any order: never more than the budget."""
        study = study_of(Budget(**limits), method=method)
        grants = []
        for move, which, amount in moves:
            if move == "a":
                grants += [g for g in [study.ask()] if g]
            elif grants:
                grant = grants[which % len(grants)]
                running = study.trials[grant.trial].state == "running"
                running = running and study.trials[grant.trial].until == grant.until
                if not running:
                    continue
                step = study.trials[grant.trial].step + 1
                if move == "f":
                    study.fail(grant, "on purpose")
                else:
                    value = math.nan if move == "n" else float(which)
                    study.tell(grant, {step if move == "c" else grant.until: Reading(value, cost=amount)})
        check_budget_law(study.events())


class TestBest:
    def test_the_mean_over_replicates_decides_and_not_the_luckiest(self):
        class Twice:
            def decide(self, history, rng):
                if len(history.trials) < 2:
                    return Start(1, "new", {"x": 0.1 + 0.5 * len(history.trials)})
                return Replicate(len(history.trials) % 2, 1, "again") if len(history.trials) < 4 else Done("enough")

        study = Study(SPACE, budget="9 evaluations", method=Twice())
        for value in (0.0, 0.4, 1.0, 0.4):
            study.tell(study.ask(), value)
        assert study.ask() is None
        assert (study.best.arm, study.best.value, study.best.error) == (1, 0.4, 0.0)
        assert [t.replicate for t in study.trials] == [0, 0, 1, 1]
        assert len({t.seed for t in study.trials}) == 4

    def test_mode_max(self):
        study = study_of("3 evaluations", method="random", max_resource=None, mode="max")
        for value in (1.0, 3.0, 2.0):
            study.tell(study.ask(), value)
        assert study.best.value == 3.0

    def test_without_a_reading_the_first_failure_is_shown(self):
        study = study_of(method="random")
        with pytest.raises(EverythingFailed, match="no reading yet"):
            _ = study.best
        study.fail(study.ask(), "out of memory")
        with pytest.raises(EverythingFailed, match="out of memory"):
            _ = study.best


class TestBadInput:
    def test_each_says_what_to_do(self):
        cases = [
            (SpaceError, "at least one parameter", lambda: Study({}, budget="3 steps")),
            (SpaceError, "nothing to tune", lambda: Study({"lr": 3}, budget="3 steps")),
            (SpaceError, "low end", lambda: Study({"lr": (2.0, 1.0)}, budget="3 steps")),
            (SpaceError, "search space was expected", lambda: Study(7, budget="3 steps")),
            (MethodError, "did you mean 'hyperband'", lambda: study_of(method="hyperban")),
            (MethodError, "compose", lambda: study_of(method=ss.samplers.Random())),
            (MethodError, "max_resource", lambda: study_of(max_resource=None)),
            (MethodError, "max_resource", lambda: study_of(max_resource=0)),
            (MethodError, "mode", lambda: study_of(mode="minimum")),
            (MethodError, "seed", lambda: study_of(seed="0")),
            (MethodError, "eta", lambda: ss.schedulers.ASHA(eta=1)),
            (StorageError, "'mysql'", lambda: study_of(storage="mysql://host/db")),
            (StorageError, "does not exist", lambda: study_of(storage="no/such/folder/a.db")),
            (SpaceError, "constant", lambda: Study(constants_only(), budget="3 steps")),
            (SpaceError, "calls itself", lambda: Study({"a": CS.Float("b", (0, 1))}, budget="3 steps")),
            (SpaceError, "'a'", lambda: Study({"a": (0.0, math.inf)}, budget="3 steps")),
            (MethodError, "workers", lambda: ss.tune(abs, SPACE, budget="3 evaluations", workers=0)),
            (
                MethodError,
                "give only that",
                lambda: ss.tune(abs, SPACE, budget="3 evaluations", workers=2, executor=ss.executors.Inline()),
            ),
            (ObjectiveError, "async", lambda: ss.tune(asynchronous, SPACE, budget="3 evaluations")),
            (ObjectiveError, "function of a trial", lambda: ss.tune(3, SPACE, budget="3 steps")),
            (ObjectiveError, "already called", lambda: ss.tune((i for i in ()), SPACE, budget="3 steps")),
            (ObjectiveError, "max_resource", lambda: ss.tune(generator, SPACE, budget="3 steps")),
            (ObjectiveError, "yield", lambda: ss.tune(abs, SPACE, budget="9 steps", max_resource=3)),
        ]
        for error, words, action in cases:
            with pytest.raises(error, match=words):
                action()


def generator(trial):
    yield 1.0


async def asynchronous(trial):
    return 1.0


def constants_only():
    space = CS.ConfigurationSpace()
    space.add(CS.Constant("a", 1))
    return space


class TestStored:
    def test_running_again_continues_to_the_same_total(self, tmp_path):
        def run():
            return ss.tune(
                lambda trial: trial.config["x"],
                SPACE,
                budget="20 evaluations",
                method="random",
                storage=tmp_path / "a.db",
            )

        first = [(t.config, t.seed) for t in run().trials]
        assert [(t.config, t.seed) for t in run().trials] == first

    def test_a_study_that_differs_is_refused_and_the_parameter_named(self, tmp_path):
        storage = tmp_path / "a.db"
        Study({"lr": (0.0, 1.0), "k": (1, 3)}, budget="9 evaluations", storage=storage, method="random")
        for space, words in (
            ({"lr": (0.0, 2.0), "k": (1, 3)}, "'lr' differs: upper was 1.0 and is now 2.0"),
            ({"lr": (0.0, 1.0)}, "'k' is in the stored study"),
            ({"lr": (0.0, 1.0), "k": (1, 3), "z": (0.0, 1.0)}, "'z' is in the space given"),
        ):
            with pytest.raises(StudyMismatch, match=words):
                Study(space, budget="9 evaluations", storage=storage, method="random")
        for option in ({"seed": 1}, {"mode": "max"}, {"method": "grid"}):
            with pytest.raises(StudyMismatch, match=next(iter(option))):
                Study(
                    {"lr": (0.0, 1.0), "k": (1, 3)},
                    **{"budget": "9 evaluations", "storage": storage, "method": "random", **option},
                )

    def test_a_missing_study_lists_what_there_is(self, tmp_path):
        storage = tmp_path / "a.db"
        study_of(storage=storage, name="first")
        study_of(storage=storage, name="second")
        with pytest.raises(StudyNotFound, match="'first', 'second'"):
            Study.load(storage, "third")
        with pytest.raises(StudyNotFound, match="say which"):
            Study.load(storage)

    def test_what_died_is_handed_out_again_by_ask(self, tmp_path):
        storage = tmp_path / "a.db"
        study = study_of(method="random", storage=storage)
        grant = study.ask()
        study.tell(grant, [1.0, 0.9])
        del study  # no process holds the trial any more
        again = study_of(method="random", storage=storage).ask()
        assert (again.trial, again.config, again.seed) == (grant.trial, grant.config, grant.seed)
        assert (again.start, again.until) == (2, 9)

    def test_what_another_holds_is_left_alone(self, tmp_path):
        storage = tmp_path / "a.db"
        one, two = (study_of(method="random", storage=storage) for _ in range(2))
        assert [one.ask().trial, two.ask().trial, one.ask().trial] == [0, 1, 2]

    def test_verify_names_the_first_event_that_differs(self, tmp_path):
        storage = tmp_path / "a.db"
        study = study_of(method="asha", storage=storage)
        while (grant := study.ask()) is not None:
            study.tell(grant, [grant.config["x"] + 1 / s for s in range(grant.start + 1, grant.until + 1)])
        assert study.verify().ok
        assert study.verify().checked > 10
        grants = [i for i, e in enumerate(study.events()) if e.kind == "granted" and e.config]
        with sqlite3.connect(storage) as connection:
            (body,) = connection.execute("SELECT body FROM events WHERE seq = ?", (grants[3],)).fetchone()
        connection.close()
        edit(storage, grants[3], body=re.sub(r'"config":{"x":[^}]*}', '"config":{"x":0.5}', body))
        found = Study.load(storage, "study").verify()
        assert (found.ok, found.position) == (False, grants[3])
        assert "config" in found.difference


def test_a_finite_space_ends_when_everything_was_tried():
    study = Study({"a": [1, 2, 3], "b": (1, 2)}, budget="100 evaluations", method="random")
    while (grant := study.ask()) is not None:
        study.tell(grant, 1.0)
    assert len({tuple(t.config.items()) for t in study.trials}) == len(study.trials) == 6
    assert study.state == "finished"


def test_halving_goes_on_with_what_a_finite_space_has():
    study = Study({"a": [1, 2, 3, 4]}, budget="100 steps", method="sh", max_resource=9)
    while (grant := study.ask()) is not None:
        study.tell(grant, float(grant.config["a"]))
    assert len(study.trials) == 4
    assert study.trials[study.best.arm].step == 9
    assert study.best.config == {"a": 1}


def test_rows_and_frame():
    study = study_of(method="random")
    study.tell(study.ask(), [1.0, Reading(0.5, accuracy=0.9)])
    study.fail(study.ask(), "broke")
    rows = study.rows()
    assert [(r["trial"], r["step"], r["value"]) for r in rows] == [(0, 1, 1.0), (0, 2, 0.5), (1, 0, None)]
    pytest.importorskip("pandas")
    assert list(study.frame()["trial"]) == [0, 0, 1]


def test_references_name_the_papers():
    assert any("MLSys 2020" in reference for reference in study_of(method="asha").references())


@pytest.mark.parametrize("method", [name for name in names() if name != "auto"])
def test_references_as_bibtex_are_those_in_words(method):
    study = study_of(method=method)
    for words, entry in zip(study.references(), study.references(bibtex=True), strict=True):
        author, title, year = (re.search(rf"{field} = {{+(.*?)}}+", entry)[1] for field in ("author", "title", "year"))
        assert author.partition(",")[0] == words.partition(",")[0].partition(" ")[0]
        assert title[:20].replace(":", "") in words.replace(":", "")
        assert year in words or not re.search(r" (?:19|20)\d\d(?![.\d])", words)


def test_a_reference_of_your_own_method_becomes_a_note():
    assert bibtex_of("Doe, A method of mine, 2026") == "@misc{doe,\n  note = {Doe, A method of mine, 2026}\n}"


def test_a_budget_below_what_is_spent_is_refused():
    log = MemoryLog()
    study = study_of("30 steps", method="random", storage=log)
    study.tell(study.ask(), 1.0)
    study.tell(study.ask(), 1.0)
    with pytest.raises(BudgetError, match="already spent or committed 18 steps"):
        study_of("17 steps", method="random", storage=log)
    assert study_of("18 steps", method="random", storage=log).state == "finished"


def test_the_files_of_a_trial_can_be_found_again(tmp_path):
    def train(trial):
        for step in range(trial.start + 1, 4):
            (trial.directory / "model").write_text(f"{trial.config['x']} {step}")
            yield trial.config["x"] + 1 / step

    study = ss.tune(train, SPACE, budget="9 steps", max_resource=3, method="random", storage=tmp_path / "a.db")
    best = study.best
    for folder in (study.directory(best.trial), study.directory(best=True)):
        assert (folder / "model").read_text() == f"{best.config['x']} 3"
    assert len(list(tmp_path.rglob("model"))) == 3, "the files of each trial are there once"
    for wrong in ({}, {"trial": 0, "best": True}):
        with pytest.raises(ReadingError, match="the number of a trial, or best=True"):
            study.directory(**wrong)


def test_a_parameter_called_like_a_column_does_not_hide_it():
    study = Study({"step": (0.0, 1.0), "value": ["a"]}, budget="3 evaluations", method="random")
    study.tell(study.ask(), Reading(0.5, seed=7.0))
    (row,) = study.rows()
    assert (row["step"], row["value"], row["config.value"], row["metric.seed"]) == (1, 0.5, "a", 7.0)


@pytest.mark.parametrize("name", ["", "  ", "../up", "a/b", "..", "a\\b", 3])
def test_a_name_that_cannot_be_a_folder_is_refused(name):
    with pytest.raises(MethodError, match="without slashes"):
        study_of(name=name)


class TestOwnMethods:
    def test_what_they_decide_is_checked(self):
        class Decides:
            def __init__(self, what):
                self.what = what

            def decide(self, history, rng):
                return self.what

        for decision, words in (
            (None, "must be a Start, Continue"),
            (Replicate(3, 1, "no such arm"), "does not exist"),
            (Continue(7, 1, "no such trial"), "does not exist"),
            (Start(1, "outside", {"x": 3.0}), "outside of the space"),
            (Start(1, "unknown", {"y": 0.5}), "outside of the space"),
        ):
            with pytest.raises(MethodError, match=words):
                Study(SPACE, budget="3 evaluations", method=Decides(decision))

    def test_numpy_values_are_stored_as_plain_ones(self, tmp_path):
        class Numpy:
            def decide(self, history, rng):
                return Start(1, "numpy", {"k": np.int64(1 + len(history.arms))})

        study = Study({"k": (1, 9)}, budget="3 evaluations", method=Numpy(), storage=tmp_path / "a.db")
        study.tell(study.ask(), np.float32(0.5))
        assert Study.load(tmp_path / "a.db").trials[0].config == {"k": 1}

    def test_one_is_not_replaced_by_auto_nor_mistaken_for_a_namesake(self, tmp_path):
        @dataclass(frozen=True)
        class BOSS:
            def decide(self, history, rng):
                return Start(1, "mine", history.codec.sample(rng))

        Study(SPACE, budget="3 evaluations", method=BOSS(), storage=tmp_path / "a.db")
        with pytest.raises(StudyMismatch, match="method of its own"):
            Study(SPACE, budget="3 evaluations", storage=tmp_path / "a.db")
        with pytest.raises(MethodError, match="not known in this process"):
            Study.load(tmp_path / "a.db").ask()


def test_a_grant_of_another_study_is_refused():
    one, two = study_of(seed=1, method="random"), study_of(seed=2, method="random")
    grant = one.ask()
    two.ask()
    with pytest.raises(ReadingError, match="not one of this study"):
        two.tell(grant, 1.0)
    with pytest.raises(ReadingError, match=r"0.5 is not a grant; give what study\.ask\(\) returned"):
        two.tell(0.5, 1.0)


def test_arrays_are_lists_and_numpy_steps_are_steps():
    study = study_of(method="random")
    grant = study.ask()
    study.tell(grant, np.array([3.0, 2.0]))
    study.tell(grant, {np.int64(3): 1.0})
    assert [r.value for r in study.trials[0].readings.values()] == [3.0, 2.0, 1.0]
    with pytest.raises(ReadingError, match="not a step"):
        study.tell(grant, {"4": 1.0})


def test_a_cost_budget_needs_costs():
    study = study_of(Budget(cost=5.0), method="random", max_resource=None)
    study.tell(study.ask(), 1.0)
    assert "the reading has none" in study.trials[0].message


@pytest.mark.parametrize("method", ["asha", "amss", "asha-tpe", "pboss", "sh", "hyperband", "auto"])
def test_a_small_finite_space_is_carried_to_the_top(method):
    study = Study({"c": [1, 2, 3, 4, 5]}, budget="300 steps", method=method, max_resource=27)
    while (grant := study.ask()) is not None:
        study.tell(grant, [grant.config["c"] + 1 / step for step in range(grant.start + 1, grant.until + 1)])
    assert study.best.step == 27
    assert study.best.config == {"c": 1}


LISTS = {"x": [[1, 2], [3, 4]], "y": (0.0, 1.0)}


class TestHandedOut:
    def test_changing_a_configuration_changes_neither_the_log_nor_the_study(self):
        def objective(trial):
            trial.config["x"].append(9)
            return float(trial.config["y"])

        study = ss.tune(objective, LISTS, budget="9 evaluations", method="tpe")
        study.best.config["x"].append(9)
        assert {tuple(trial.config["x"]) for trial in study.trials} == {(1, 2), (3, 4)}
        assert {tuple(event.config["x"]) for event in study.history.grants} == {(1, 2), (3, 4)}
        assert study.verify().ok

    def test_nor_does_changing_that_of_a_grant(self):
        study = Study(LISTS, budget="9 evaluations", method="random")
        while (grant := study.ask()) is not None:
            grant.config["x"].clear()
            study.tell(grant, 1.0)
        assert all(trial.config["x"] for trial in study.trials)
        assert study.verify().ok


def one(trial):
    return 1.0


def two(trial):
    return 2.0


class TestContinuedOtherwise:
    def tuned(self, tmp_path, objective, budget="3 evaluations", **options):
        return ss.tune(objective, SPACE, budget=budget, method="random", storage=tmp_path / "a.db", **options)

    def test_another_objective_is_warned_of_by_both_names(self, tmp_path, caplog):
        self.tuned(tmp_path, one)
        self.tuned(tmp_path, one, "4 evaluations")
        assert not caplog.records
        self.tuned(tmp_path, two, "5 evaluations", accept_objective=True)
        assert not caplog.records
        self.tuned(tmp_path, two, "6 evaluations")
        (record,) = caplog.records
        assert "test_study.py:one" in record.getMessage()
        assert "test_study.py:two" in record.getMessage()

    def test_the_last_budget_given_counts_in_every_process_and_who_gave_it_is_logged(self, tmp_path, caplog):
        study = Study(SPACE, budget="3 evaluations", method="random", storage=tmp_path / "a.db")
        other = Study(SPACE, budget="5 evaluations", method="random", storage=tmp_path / "a.db")
        assert study.budget == other.budget == Budget(evaluations=5)
        (event,) = [event for event in study.events() if event.kind == "budgeted"]
        assert event.worker == study.history.budget_from == other._journal.worker
        assert "is now 5 evaluations, given by" in caplog.text


def test_a_trial_has_its_value_and_metrics_and_the_frame_has_them_with_dates():
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    before = pandas.Timestamp.now("UTC")
    study = ss.Study({"x": (0.0, 1.0)}, budget="30 steps", max_resource=3, method="random")
    grant = study.ask()
    study.tell(grant, {1: ss.Reading(0.5, accuracy=0.9, state=1), 2: ss.Reading(0.2, accuracy=0.8), 3: 0.3})
    study.fail(study.ask(), "boom")
    study.ask()
    good, failed, running = study.trials
    assert (good.value, good.metrics) == (0.2, {"accuracy": 0.8})
    assert (failed.value, failed.metrics, running.ended) == (None, {}, None)
    rows = study.trials_frame()
    assert rows.accuracy[0] == 0.8
    assert before <= rows.started[0] <= rows.ended[0] <= rows.ended[1] <= pandas.Timestamp.now("UTC")
    assert rows.ended.isna().tolist() == [False, False, True]


def test_dates_of_a_virtual_clock_are_no_error():
    study = ss.Study({"x": (0.0, 1.0)}, budget="4 evaluations", method="random")
    study.run(lambda trial: trial.config["x"], executor=ss.executors.Simulated(2), progress=False)
    assert study.trials[0].started.year == 1970
