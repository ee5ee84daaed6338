"""Knowledge of the user: enqueued configurations, results from elsewhere, warm starts."""

import math
import re

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.events import Added, Enqueued, Granted
from shoestring.errors import CorruptLog, ReadingError, SpaceError
from shoestring.executors import Simulated
from shoestring.logs.memory import MemoryLog
from shoestring.methods import named, names
from shoestring.problems import CurveTable
from shoestring.testing.laws import check_known, give
from shoestring.testing.playground import Playground
from shoestring.views.trace import trace_of
from shoestring.web.report import report
from tests.methods.test_contract import is_one_component, with_small_pool

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
METHODS = [name for name in names() if name != "auto"]
# What they propose depends on results from elsewhere; the other names promote by rank, or learn nothing at all.
MODELS = [
    "tpe",
    "cmaes",
    "gp",
    "boes",
    "asha-tpe",
    "bohb",
    "boss",
    "pboss",
    "forecast",
    "bhpt",
    "bhpt-eps",
    "bhpt-kgm",
    "freeze-thaw",
    "rollout",
    "gp-ei",
]
SCHEDULES = ["sh", "hyperband", "asha", "ss", "mss", "amss"]


def square(trial):
    return (trial.config["x"] - 0.3) ** 2


def curve(trial):
    for step in range(trial.start + 1, 10):
        yield (trial.config["x"] - 0.3) ** 2 + 1 / step


def study_of(method="random", **options):
    return ss.Study(SPACE, **{"budget": "90 steps", "max_resource": 9, "method": method, **options})


@pytest.mark.parametrize("name", METHODS)
def test_what_is_enqueued_comes_first(name):
    study = study_of(name)
    wanted = [{"x": 0.125, "y": 0.5}, {"x": 0.25, "y": 1.0}, {"x": 1.0, "y": 0.0}]
    for config in wanted:
        study.enqueue(config)
    seen = []
    while len(seen) < 3 and (grant := study.ask()) is not None:
        if grant.config not in seen:
            seen.append(grant.config)
            assert "it was enqueued" in grant.reason
        study.tell(grant, [1.0] * (grant.until - grant.start))
    assert seen == wanted


@pytest.mark.parametrize("name", MODELS)
def test_models_learn_from_what_is_added(name):
    distances = {}
    for centre in (0.15, 0.85):
        study = study_of(with_small_pool(named(name)) if name == "rollout" else name)
        for i in range(24):
            x, y = np.random.default_rng(i).random(2)
            study.add({"x": x, "y": y}, [abs(x - centre) + 1 / step for step in range(1, 10)])
        assert study.spent.steps == 0
        proposed = []
        while len(proposed) < 4:
            grant = study.ask()
            if grant.start == 0 and grant.trial >= 24:
                proposed.append(grant.config["x"])
            study.tell(
                grant, [abs(grant.config["x"] - centre) + 1 / s for s in range(grant.start + 1, grant.until + 1)]
            )
        distances[centre] = np.mean(proposed)
    assert distances[0.15] < distances[0.85]


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_promote_what_is_added(name):
    study = study_of(name)
    for i in range(9):
        study.add({"x": i / 10, "y": 0.5}, {1: i / 10 + 1})
    arms = set()
    while len(arms) < 3 and (grant := study.ask()) is not None:
        arms.add(study.trials[grant.trial].arm)
        study.tell(grant, [grant.config["x"] + 1] * (grant.until - grant.start))
    assert arms & set(range(3)), "none of the best results was promoted"


@pytest.mark.parametrize("name", [name for name in METHODS if is_one_component(named(name))])
def test_samplers_and_schedules_hold_the_laws_with_many_results(name):
    check_known(named(name), results=40)


@pytest.mark.parametrize("budget", ["12 evaluations", "20 s"])
@pytest.mark.parametrize("name", METHODS)
def test_every_unit_of_the_budget(name, budget):
    problem = Playground()
    study = ss.Study(problem.space, budget=budget, method=with_small_pool(named(name)), max_resource=9)
    give(study, 8)
    study.run(problem, executor=Simulated(4))
    assert study.verify()


class TestQueue:
    def test_the_values_become_the_spaces_own(self):
        space = ss.space(rate=(0.0, 2.0), kernel=[(3, 3), (5, 5)], width=range(16, 65, 16), epochs=30)
        study = ss.Study(space, budget="9 evaluations", method="random")
        study.enqueue({"rate": 1, "kernel": [5, 5], "width": np.int64(32)})
        config = study.ask().config
        assert config == {"rate": 1.0, "kernel": (5, 5), "width": 32, "epochs": 30}
        assert type(config["rate"]) is float
        assert type(config["width"]) is int

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({"x": 0.5}, "'y' is missing"),
            ({"x": 0.5, "y": 2.0}, "'y' is 2.0"),
            ({"x": 0.5, "y": "a"}, "'y' is 'a'"),
            ({"x": 0.5, "y": 0.5, "z": 1}, "'z' is not a parameter"),
        ],
    )
    def test_what_is_no_configuration_is_refused(self, config, words):
        study = study_of()
        for action in (study.enqueue, lambda config: study.add(config, 1.0)):
            with pytest.raises(SpaceError, match=words):
                action(config)

    @pytest.mark.parametrize("given", [["adam"], ("adam",), ["adam", "sgd"], [], [["adam"]]])
    def test_a_list_is_not_one_of_the_choices_that_are_in_it(self, given):
        """ConfigSpace answers for each part of a list; a list that was taken as a value could not be encoded later."""
        space = ss.space(kind=["adam", "sgd"], x=(0.0, 1.0))
        study = ss.Study(space, budget="9 evaluations", method="random")
        for action in (study.enqueue, lambda config: study.add(config, 1.0)):
            with pytest.raises(SpaceError, match=r"'kind' is .*, outside of"):
                action({"kind": given, "x": 0.5})
        with pytest.raises(SpaceError, match=r"the guess of 'kind' is .*, outside of"):
            ss.Study(space, budget="9 evaluations", method="random", guess={"kind": given})

    def test_a_constant_is_completed_by_what_the_values_become(self):
        space = ss.space(ss.when("pad", kernel=(3, 3)), kernel=[(3, 3), (5, 5)], pad=1)
        study = ss.Study(space, budget="9 evaluations", method="random")
        study.enqueue({"kernel": [3, 3]})
        assert study.ask().config == {"kernel": (3, 3), "pad": 1}

    @pytest.mark.parametrize("given", [0, 11, 2.5, -3, 1e9])
    @pytest.mark.parametrize("name", ["layers", "width"])
    def test_a_whole_number_is_not_moved_into_its_range(self, name, given):
        study = ss.Study({"layers": (1, 10), "width": ss.log(1, 10)}, budget="9 evaluations", method="random")
        with pytest.raises(SpaceError, match=f"'{name}' is {re.escape(str(given))}, outside of"):
            study.enqueue({"layers": 2, "width": 2, name: given})
        study.enqueue({"layers": 2.0, "width": np.float64(10)})
        assert study.ask().config == {"layers": 2, "width": 10}

    def test_what_is_known_is_refused(self):
        study = study_of()
        study.enqueue({"x": 0.5, "y": 0.5})
        with pytest.raises(SpaceError, match="waits in the queue"):
            study.enqueue({"x": 0.5, "y": 0.5})
        grant = study.ask()
        with pytest.raises(SpaceError, match="trial 0"):
            study.enqueue(grant.config)
        study.add({"x": 0.1, "y": 0.5}, 1.0)
        with pytest.raises(SpaceError, match="trial 1"):
            study.enqueue({"x": 0.1, "y": 0.5})

    def test_a_result_takes_its_configuration_off_the_queue(self):
        study = study_of()
        study.enqueue({"x": 0.5, "y": 0.5})
        study.add({"x": 0.5, "y": 0.5}, 1.0)
        assert not study.history.queue
        assert study.ask().config != {"x": 0.5, "y": 0.5}

    def test_an_exhausted_grid_still_tries_it(self):
        study = ss.Study(
            {"x": (0.0, 1.0)}, budget="9 evaluations", method=ss.compose(ss.samplers.Grid(2), ss.schedulers.Full())
        )
        for _ in range(2):
            study.tell(study.ask(), 1.0)
        assert study.state == "finished"
        study.enqueue({"x": 0.5})
        assert study.state == "open"
        study.tell(study.ask(), 1.0)
        assert study.state == "finished"

    def test_only_rows_of_a_table(self):
        table = CurveTable([[float(i), float(i % 3)] for i in range(8)], [[float(i)] for i in range(8)])
        study = ss.Study(table.space, budget="8 evaluations", method="random")
        row = study.history.codec.rows[5]
        study.enqueue(row)
        assert study.ask().config == row
        with pytest.raises(SpaceError, match="not a row"):
            study.enqueue({**row, "x1": row["x1"] - 1})

    def test_it_is_seen_by_other_processes(self, tmp_path):
        options = {"storage": tmp_path / "study.db", "name": "one"}
        here, there = study_of(**options), study_of(**options)
        here.enqueue({"x": 0.5, "y": 0.5})
        assert there.ask().config == {"x": 0.5, "y": 0.5}
        assert here.ask().config != {"x": 0.5, "y": 0.5}


class TestInitial:
    def test_they_are_tried_first_and_once(self, tmp_path):
        options = {
            "method": "tpe",
            "storage": tmp_path / "study.db",
            "initial": [{"x": 0.5, "y": 0.5}, {"x": 0.3, "y": 0.0}],
        }
        study = ss.tune(square, SPACE, budget="5 evaluations", **options)
        assert [trial.config["x"] for trial in study.trials[:2]] == [0.5, 0.3]
        study = ss.tune(square, SPACE, budget="7 evaluations", **options)
        assert len(study.trials) == 7
        assert sum(isinstance(event, Enqueued) for event in study.events()) == 2
        assert study.verify()

    def test_something_else_is_refused(self):
        with pytest.raises(ReadingError, match="not a study"):
            ss.tune(square, SPACE, budget="5 evaluations", initial=[3])


class TestResults:
    def test_all_forms(self):
        study = study_of()
        study.add({"x": 0.1, "y": 0.0}, 0.5)
        study.add({"x": 0.2, "y": 0.0}, [0.9, 0.8])
        study.add({"x": 0.3, "y": 0.0}, {3: ss.Reading(0.7, low=0.6, high=0.8, cost=2.0, accuracy=math.nan), 1: 0.9})
        study.add({"x": 0.4, "y": 0.0}, failed=MemoryError("too large"))
        assert [trial.state for trial in study.trials] == ["finished", "paused", "paused", "failed"]
        assert [sorted(trial.readings) for trial in study.trials] == [[9], [1, 2], [1, 3], []]
        assert study.trials[2].readings[3].low == 0.6
        assert study.trials[3].message == "too large"
        assert study.best.config == {"x": 0.1, "y": 0.0}
        assert not any(study.spent.values())

    @pytest.mark.parametrize(
        ("readings", "words"),
        [(None, "no reading"), ([], "no reading"), (math.nan, "finite"), ([1.0] * 10, "step 10"), ({0: 1.0}, "step 0")],
    )
    def test_what_is_no_result_is_refused(self, readings, words):
        with pytest.raises(ReadingError, match=words):
            study_of().add({"x": 0.1, "y": 0.0}, readings)

    def test_more_steps_than_a_trial_has_are_refused(self):
        study = ss.Study(SPACE, budget="2 evaluations")
        with pytest.raises(ReadingError, match="step 2 is outside of a trial of this study, which has only step 1"):
            study.add({"x": 0.5, "y": 0.5}, [0.1, 0.2])

    def test_the_same_one_is_ignored_and_another_is_a_replicate(self):
        study = study_of()
        for value in (0.5, 0.5, 0.7):
            study.add({"x": 0.1, "y": 0.0}, value)
        assert [(trial.arm, trial.replicate) for trial in study.trials] == [(0, 0), (0, 1)]
        assert study.best.value == 0.6

    def test_largest_is_best_where_that_is_so(self):
        study = study_of(mode="max")
        study.add({"x": 0.1, "y": 0.0}, 0.5)
        study.add({"x": 0.2, "y": 0.0}, 0.7)
        assert study.best.value == 0.7

    def test_a_beginning_is_continued_from_its_first_step_and_paid(self, tmp_path):
        study = study_of("asha", storage=tmp_path / "study.db", budget="30 steps")
        for i in range(9):
            study.add({"x": i / 10, "y": 0.5}, {1: (i / 10 - 0.3) ** 2 + 1})
        assert study.repeats() == 0
        study.run(curve)
        first = next(event for event in study.events() if isinstance(event, Granted))
        assert (first.trial, first.start) == (3, 1)
        assert study.spent.steps == 30
        assert study.verify()
        assert ss.Study.load(tmp_path / "study.db").verify()

    def test_schedules_do_not_finish_what_others_left(self):
        for scheduler in (ss.schedulers.Full(), ss.schedulers.ASHA()):
            study = study_of(ss.compose(ss.samplers.Random(), scheduler))
            study.add({"x": 0.1, "y": 0.0}, [0.5, 0.4])
            assert study.ask().start == 0

    def test_plots_and_the_report_show_it(self):
        study = study_of("asha")
        study.add({"x": 0.1, "y": 0.0}, [0.5, 0.4])
        study.run(curve)
        trace = trace_of(study)
        assert len(trace.reported) == len(study.history.readings)
        assert "0.1" in report(study)


class CountsAppends(MemoryLog):
    appends = 0

    def append(self, study, events, expect):
        self.appends += 1
        super().append(study, events, expect)


class TestWarmStart:
    def test_many_results_are_appended_together(self):
        log, first, other = CountsAppends(), study_of(), study_of()
        for i in range(20):
            first.add({"x": i / 20, "y": 0.5}, 1.0)
        other.add({"x": 0.5, "y": 0.5}, 1.0)
        other.add({"x": 0.5, "y": 0.25}, 1.0)
        second = study_of(storage=log)
        assert second.add_from(ss.warm_start(first, other)) == 22
        assert log.appends == 2, "a result that is in both is compared with what was added before"
        assert len(second.trials) == 21
        assert [trial.config for trial in second.trials[:20]] == [trial.config for trial in first.trials]

    def test_the_same_space(self):
        first = ss.tune(curve, SPACE, budget="60 steps", max_resource=9, method="asha")
        second = study_of("tpe")
        assert second.add_from(first) == len(first.trials)
        assert [trial.config for trial in second.trials] == [trial.config for trial in first.trials]
        assert second.best.value == first.best.value
        assert second.trials[0].reason == "added from study, trial 0"
        second.add_from(first)
        assert len(second.trials) == len(first.trials)

    def test_an_overlapping_space(self, caplog):
        first = ss.tune(square, {**SPACE, "gone": (0, 3)}, budget="20 evaluations", method="random")
        wider = {"x": (0.0, 0.5), "y": (-1.0, 1.0), "new": (0, 9), "fixed": 7}
        second = ss.Study(wider, budget="9 evaluations", method="tpe", initial=[ss.warm_start(first, fill={"new": 3})])
        inside = [trial for trial in first.trials if trial.config["x"] <= 0.5]
        assert len(second.trials) == len(inside) < 20
        assert "outside of the space" in caplog.text
        assert all(trial.config["new"] == 3 and trial.config["fixed"] == 7 for trial in second.trials)
        with pytest.raises(SpaceError, match=r"has no parameter 'new'.*fill="):
            ss.Study(wider, budget="9 evaluations", initial=[first])

    def test_a_whole_number_outside_of_the_space_is_not_taken(self):
        first = ss.Study({"layers": (1, 100)}, budget="9 evaluations", method="random")
        for layers in (5, 50):
            first.add({"layers": layers}, float(layers))
        second = ss.Study({"layers": (1, 10)}, budget="9 evaluations", method="random", initial=[first])
        assert [trial.config for trial in second.trials] == [{"layers": 5}]

    def test_a_parameter_is_filled_in_where_it_is_active(self, caplog):
        first = ss.Study({"layers": (1, 3)}, budget="9 evaluations", method="random")
        for layers in (1, 2, 3):
            first.add({"layers": layers}, float(layers))
        wider = ss.space(ss.when("dropout", "layers > 1"), layers=(1, 3), dropout=(0.0, 0.5))
        known = ss.warm_start(first, fill={"dropout": 0.0})
        second = ss.Study(wider, budget="9 evaluations", method="random", initial=[known])
        assert [trial.config.get("dropout") for trial in second.trials] == [None, 0.0, 0.0]
        assert caplog.text == ""

    def test_running_again_adds_nothing_that_was_continued_meanwhile(self, tmp_path):
        first = ss.tune(curve, SPACE, budget="30 steps", max_resource=9, method="asha")
        for steps in (40, 41, 42):
            study = ss.tune(
                curve, SPACE, budget=f"{steps} steps", max_resource=9, method="asha", initial=[first],
                storage=tmp_path / "study.db",
            )  # fmt: skip
            continued = [trial for trial in study.trials[: len(first.trials)] if not trial.foreign]
            assert continued, "nothing of the first study was continued"
            assert len(study.trials) == len(study.history.arms)

    def test_other_steps(self):
        long = ss.tune(curve, SPACE, budget="27 steps", max_resource=9, method="random")
        whole = ss.Study(SPACE, budget="9 evaluations", method="random", initial=[long])
        assert [trial.readings[1].value for trial in whole.trials] == [trial.readings[9].value for trial in long.trials]
        short = study_of(max_resource=3, initial=[long])
        assert all(sorted(trial.readings) == [1, 2, 3] and trial.state == "finished" for trial in short.trials)
        longer = study_of(max_resource=27, initial=[long, ss.warm_start(whole)])
        assert [trial.state for trial in longer.trials] == ["paused"] * 3 + ["finished"] * 3

    def test_a_value_for_no_parameter_is_refused(self):
        first = ss.tune(lambda trial: trial.config["x"], SPACE, budget="2 evaluations", method="random")
        with pytest.raises(SpaceError, match="fill has 'z', which is not a parameter of the space"):
            ss.Study(SPACE, budget="2 evaluations", initial=[ss.warm_start(first, fill={"z": 1})])

    def test_another_direction_is_refused(self):
        first = ss.tune(square, SPACE, budget="5 evaluations", mode="max", method="random")
        with pytest.raises(ReadingError, match="mode='max'"):
            study_of(initial=[first])

    def test_failures_are_taken_along(self):
        def failing(trial):
            if trial.config["x"] > 0.5:
                raise RuntimeError("too large")
            return trial.config["x"]

        first = ss.tune(failing, SPACE, budget="20 evaluations", method="random")
        second = ss.Study(SPACE, budget="9 evaluations", method="gp", initial=[first])
        failed = [trial.message for trial in second.trials if trial.state == "failed"]
        assert failed == [trial.message for trial in first.trials if trial.state == "failed"]
        assert "RuntimeError: too large" in failed[0]


@pytest.mark.parametrize(
    "event",
    [
        Added(0.0, {"x": 0.5, "y": 0.5}, []),
        Added(0.0, {"x": 0.5, "y": 0.5}, [{"step": 2, "value": 1.0}, {"step": 1, "value": 1.0}]),
        Added(0.0, {"x": 0.5, "y": 0.5}, [{"step": 10, "value": 1.0}]),
        Added(0.0, {"x": 7.0, "y": 0.5}, [{"step": 1, "value": 1.0}]),
        Enqueued(0.0, {"x": 7.0, "y": 0.5}),
        Enqueued(0.0, {"x": 0.25, "y": 0.25}),
    ],
    ids=lambda event: str(event)[:60],
)
def test_a_log_cannot_say_what_cannot_be(event):
    log = MemoryLog()
    study = study_of(storage=log)
    study.enqueue({"x": 0.25, "y": 0.25})
    log.append(0, [event], 2)
    with pytest.raises(CorruptLog):
        study.ask()


def test_an_enqueued_configuration_says_who_wants_it(tmp_path):
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random", storage=tmp_path / "s.db", name="s")
    study.enqueue({"x": 0.25}, source="a colleague")
    study.enqueue({"x": 0.5})
    again = ss.Study.load(tmp_path / "s.db")
    assert "it was enqueued by a colleague" in again.ask().reason
    assert again.ask().reason.endswith("it was enqueued")
    assert [event.source for event in again.events() if event.kind == "enqueued"] == ["a colleague", ""]
    assert again.verify().ok
