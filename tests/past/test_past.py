"""Past studies: which of them count, what is taken from them, and the messages about it."""

import itertools
import json
import re
import shutil
import sqlite3

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.cli import main
from shoestring.core.planned import plan_in_words, verdict
from shoestring.core.weighing import view_for
from shoestring.errors import ReadingError, ShoestringError, SpaceError
from shoestring.executors import Simulated
from shoestring.logs import MemoryLog
from shoestring.methods.registry import named
from shoestring.past.correspondence import Correspondence
from shoestring.past.guesses import SD, draw_guesses
from shoestring.past.planning import _greedy
from shoestring.spaces.codec import Codec

SPACE = {"lr": ss.log(1e-4, 1.0), "width": (8, 64), "act": ["relu", "tanh"]}


def train(trial):
    config = trial.config
    end = abs(np.log10(config["lr"]) + 2) + (config.get("act") == "tanh") + abs(config.get("width", 32) - 32) / 32
    for step in range(trial.start + 1, 10):
        yield end + 1 / step


def past_study(space=None, name="past", storage=None, seed=0, budget="90 steps", **options):
    study = ss.Study(
        space or SPACE, budget=budget, max_resource=9, method="asha", name=name, storage=storage, seed=seed, **options
    )
    return study.run(train, executor=Simulated(1), progress=False)


def new(space=None, past=None, **options):
    return ss.Study(space or SPACE, **{"budget": "60 steps", "max_resource": 9, "past": past, **options})


def plan(study):
    return [entry["config"] for entry in study.history.opened.plan]


def test_the_best_of_the_past_are_planned():
    past = [past_study(seed=seed) for seed in range(3)]
    study = new(past=past)
    bests = {Codec.key(each.best.config) for each in past}
    assert len(plan(study)) == 3
    assert bests & set(map(Codec.key, plan(study)))
    assert {entry["origin"] for entry in study.history.opened.plan} <= {
        row.checksum for each in past for row in [_last_row(each)]
    }
    assert study._message.endswith("past: 3 of 3 studies of past, past, past: 3 configurations planned")


def _last_row(study):
    from shoestring.core.checksums import first_link, rows_of

    return rows_of(study.events(), 0, first_link(study.name))[-1]


def test_other_bounds_scales_metrics_and_modes_are_mapped_by_value():
    def accuracy(trial):
        for value in train(trial):
            yield 100 - value

    past = ss.Study(
        {"lr": (1e-5, 2.0), "width": ss.log(4, 128), "act": ["tanh", "relu", "gelu"]},
        budget="900 steps", max_resource=9, mode="max", method="asha",
    ).run(accuracy, executor=Simulated(1), progress=False)  # fmt: skip
    study = new({"lr": ss.log(1e-4, 1.0), "width": (16, 64), "act": ["relu", "tanh"]}, past)
    assert 0 < len(plan(study)) <= 5
    ends = [next(train(_Trial(config))) - 1 for config in plan(study)]
    assert min(ends) < 1.5  # the mean of random ones is about 2
    assert "past configurations are outside of the space" in study._message


class _Trial:
    start = 0

    def __init__(self, config):
        self.config = config


def test_missing_and_extra_parameters_have_the_default_of_their_side():
    past = past_study({"lr": ss.log(1e-4, 1.0), "depth": (1, 9)}, budget="300 steps")
    study = new(past=past)
    space = study.history.codec.space
    assert {config["width"] for config in plan(study)} == {space["width"].default_value}
    assert {config["act"] for config in plan(study)} == {space["act"].default_value}
    guess = new(past=past, guess={"width": 16})
    from_past = [e["config"] for e in guess.history.opened.plan if e["origin"] != "guess"]
    assert {config["width"] for config in from_past} == {16}


def test_what_does_not_fit_is_left_out_and_named(tmp_path):
    storage = tmp_path / "team.db"
    past_study(storage=storage, name="good")
    ss.Study({"x": (0.0, 1.0)}, budget="2 evaluations", storage=storage, name="cnn-3", method="random").run(
        lambda trial: trial.config["x"], progress=False
    )
    past_study({"lr": (2.0, 3.0)}, storage=storage, name="far")
    ss.Study(SPACE, budget="9 steps", max_resource=9, storage=storage, name="empty", method="asha")
    study = new(past=storage)
    assert "past: 1 of 4 studies of" in study._message
    left_out = "left out: cnn-3, no common parameter; far, all of it is outside of the space; empty, no result"
    assert left_out in study._message


def test_a_damaged_study_is_left_out_and_the_others_are_used(tmp_path):
    storage = tmp_path / "team.db"
    past_study(storage=storage, name="damaged")
    past_study(storage=storage, name="good", seed=1)
    with sqlite3.connect(storage) as database:
        database.execute(
            "UPDATE events SET body = replace(body, 'value', 'valve') WHERE study = 1 AND kind = 'reported'"
        )
    study = new(past=f"sqlite:///{storage}")
    assert "past: 1 of 2 studies" in study._message
    assert re.search(r"left out: damaged, .*event \d+ was damaged", study._message)
    assert len(plan(study)) == 1


def test_a_named_past_of_no_use_is_a_warning(tmp_path, caplog, monkeypatch):
    monkeypatch.chdir(tmp_path)
    past_study({"x": (0.0, 1.0), "lr": (2.0, 3.0)}, storage=tmp_path / "team.db", name="far")
    ss.Study(SPACE, budget="9 evaluations", storage=tmp_path / "team.db", past="auto")
    assert not caplog.records, "the first study of a storage has none before it"
    new(past="team.db")
    assert [record.getMessage() for record in caplog.records] == [
        "past: 0 of 2 studies of team.db: 0 configurations planned; left out: far, all of it is outside of the space; "
        "study, no result"
    ]


@pytest.mark.parametrize("address", ["weekly.db", "sqlite:///weekly.db", "auto"])
def test_the_first_study_of_a_storage_may_name_it_as_its_past(tmp_path, monkeypatch, caplog, address):
    """A script that runs every week is the same in the first one."""
    monkeypatch.chdir(tmp_path)
    first = past_study(storage="weekly.db", name="week 1", past=[address])
    assert plan(first) == []
    assert not caplog.records
    assert len(plan(past_study(storage="weekly.db", name="week 2", past=[address]))) == 1


def test_auto_is_the_same_storage(tmp_path):
    storage = tmp_path / "team.db"
    assert plan(new(past="auto", storage=storage, name="first")) == []
    past_study(storage=storage, name="old")
    study = new(past="auto", storage=storage, name="monday")
    assert len(plan(study)) == 1
    assert "past: 1 of 2 studies of this storage" in study._message  # the first one has no result


def test_a_stored_study_goes_on_with_its_own_plan(tmp_path):
    storage, team = tmp_path / "own.db", tmp_path / "team.db"
    for seed in range(3):
        past_study(storage=team, name=f"past {seed}", seed=seed)
    study = new(past=team, storage=storage, name="own")
    before = plan(study)
    team.unlink()
    shutil.rmtree(tmp_path / "team.db.files", ignore_errors=True)
    again = new(past=team, storage=storage, name="own")
    assert plan(again) == before
    assert again._message == (
        "the stored study goes on with its own plan of 3 configurations; past and guess are read when a study is new"
    )
    assert new(storage=storage, name="own")._message == ""
    assert ss.Study.load(storage, "own").verify().ok


def test_a_guess_that_changed_is_said_and_changes_nothing(tmp_path):
    storage = tmp_path / "own.db"
    spaces = [{**SPACE, "lr": ss.log(1e-4, 1.0, guess=value)} for value in (1e-2, 1e-3)]
    before = plan(new(spaces[0], storage=storage, name="own"))
    assert new(spaces[0], storage=storage, name="own")._message == ""
    again = new(spaces[1], storage=storage, name="own")
    assert "its own plan of 5 configurations" in again._message
    assert plan(again) == before


@pytest.mark.parametrize("past", [7, [None], object(), [["team.db"]]])
def test_a_past_of_another_kind_is_refused(past):
    with pytest.raises(ReadingError, match=r"past is .*; give a storage such as 'team\.db'"):
        new(past=past)


def test_a_missing_storage_is_an_error_before_anything_is_created(tmp_path):
    with pytest.raises(ShoestringError, match="there is no storage"):
        new(past=tmp_path / "typo.db", storage=tmp_path / "own.db")
    assert not (tmp_path / "typo.db").exists()
    assert not (tmp_path / "own.db").exists()


def test_a_table_takes_its_nearest_rows():
    rows = ss.problems.CurveTable(np.random.default_rng(0).random((30, 2)), np.random.default_rng(1).random((30, 9)))
    names = list(rows.space)
    past = ss.Study(dict.fromkeys(names, (0.0, 1.0)), budget="90 steps", max_resource=9, method="asha").run(
        lambda trial: (trial.config[names[0]] + 1 / step for step in range(trial.start + 1, 10)), progress=False
    )
    study = ss.Study(rows.space, budget="60 steps", max_resource=9, past=past)
    keys = {Codec.key(row) for row in study.history.codec.rows}
    assert plan(study)
    assert all(Codec.key(config) in keys for config in plan(study))


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_a_space_corresponds_to_itself(seed):
    space = ss.space(ss.when("decay", act="relu"), {**SPACE, "decay": ss.log(1e-6, 1e-2)})
    codec = Codec(space)
    same = Correspondence(codec, Codec(space), {})
    config = codec.sample(np.random.default_rng(seed))
    assert same.config(config) == config
    assert np.array_equal(same.past_point(config, config), same.new_point(config), equal_nan=True)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_the_first_of_the_portfolio_is_the_best_single_one(seed, studies, most):
    R = np.random.default_rng(seed).random((studies, 6))
    chosen = _greedy(R, most, -np.inf)
    assert len(set(chosen)) == len(chosen) == most
    assert chosen[0] == int(R.sum(axis=0).argmin())
    for size in range(2, most + 1):  # each choice is the best one after those before it
        before = list(chosen[: size - 1])
        sums = {i: R[:, [*before, i]].min(axis=1).sum() for i in range(6) if i not in before}
        assert sums[chosen[size - 1]] <= min(sums.values()) + 1e-9
    every = min(R[:, list(pair)].min(axis=1).sum() for pair in itertools.combinations(range(6), most))
    assert R[:, chosen].min(axis=1).sum() >= every - 1e-9


def test_copies_of_what_is_planned_are_not():
    R = np.array([[0.0, 0.01, 0.9, 0.95], [0.8, 0.79, 0.02, 0.0]])
    assert _greedy(R, 4, 0.1) == [0, 3]
    assert _greedy(R[:1], 4, 0.1) == [0]
    assert len(plan(new(past=past_study(budget="200 steps")))) == 1


def test_more_than_ten_studies_plan_further_winners():
    past = [past_study(seed=seed, budget="40 steps") for seed in range(11)]
    assert len(plan(new(past=past[:10]))) == 5
    assert 5 < len(plan(new(past=past))) <= 30


# Guesses


def test_a_guess_is_tried_first_and_near_draws_follow():
    space = {**SPACE, "lr": ss.log(1e-4, 1.0, guess=3e-3), "width": ss.guess((8, 64), 20)}
    study = new(space, guess={"act": "tanh"})
    entries = study.history.opened.plan
    assert entries[0]["config"] == {"lr": 3e-3, "width": 20, "act": "tanh"}
    assert [entry["sd"] for entry in entries] == [0.0, SD, SD, SD, SD]
    assert {entry["origin"] for entry in entries} == {"guess"}
    assert study.ask().config == entries[0]["config"]
    assert study._message.endswith("guess: 5 configurations planned")


def test_a_guess_that_is_the_best_of_the_past_is_planned_once_and_first():
    past = past_study(budget="200 steps")
    best = plan(new(past=past))[0]
    configs = plan(new(past=past, guess=best))
    assert configs[0] == best
    assert len(set(map(Codec.key, configs))) == len(configs) == 5


def test_a_partial_guess_leaves_the_rest_as_usual():
    codec = Codec(ss.space(SPACE))
    drawn = [config for seed in range(300) for config, _ in draw_guesses(codec, {"lr": 1e-2}, seed)]
    rates = np.log10([config["lr"] for config in drawn])
    assert 0.3 < np.std(rates) < 0.8  # .15 of four decades, for four of five
    assert abs(np.mean(rates) + 2) < 0.1
    assert np.std([config["width"] for config in drawn]) > 12  # uniform
    assert 0.4 < np.mean([config["act"] == "tanh" for config in drawn]) < 0.6


def test_the_same_seed_gives_the_same_draws():
    codec = Codec(ss.space(SPACE))
    assert list(draw_guesses(codec, {"lr": 1e-2}, 3)) == list(draw_guesses(codec, {"lr": 1e-2}, 3))
    assert list(draw_guesses(codec, {"lr": 1e-2}, 3)) != list(draw_guesses(codec, {"lr": 1e-2}, 4))


def test_a_partial_guess_of_a_conditional_parameter_is_active():
    """What is drawn for the other parameters leaves it active, unless the guess contradicts itself."""
    rules = (ss.when("rate", kind="a"), ss.when("depth", kind="b"))
    codec = Codec(ss.space(*rules, kind=["a", "b"], rate=(0.0, 1.0), depth=(1, 8)))
    for seed in range(50):
        drawn = [config for config, _ in draw_guesses(codec, {"rate": 0.25}, seed)]
        assert drawn[0] == {"kind": "a", "rate": 0.25}
        assert all("rate" in config for config in drawn)
    assert "rate" not in next(draw_guesses(codec, {"rate": 0.25, "kind": "b"}, 0))[0]


@pytest.mark.parametrize(
    ("guess", "message"),
    [
        ({"lr": True}, "the guess of 'lr' is True"),
        ({"lr": 7.0}, "the guess of 'lr' is 7.0, outside of"),
        ({"rate": 0.1}, "'rate', which is not a parameter that can vary; these are"),
        ({"act": "gelu"}, "the guess of 'act' is 'gelu'"),
        ({"lr": "fast"}, "the guess of 'lr' is 'fast'"),
        ([1e-3], "give values by the names of parameters"),
    ],
)
def test_a_guess_outside_of_the_space_is_refused(guess, message):
    with pytest.raises(SpaceError, match=message):
        new(guess=guess)


def test_a_forbidden_guess_is_refused():
    space = ss.space(ss.forbid(act="tanh", lr=1.0), {**SPACE, "lr": [0.1, 1.0]})
    with pytest.raises(SpaceError, match="is forbidden by the space"):
        new(space, guess={"act": "tanh", "lr": 1.0})


def test_a_guess_is_no_part_of_the_stored_space():
    plain, with_guess = (
        ss.Study(space, budget="9 steps", max_resource=9).history.opened.space
        for space in (SPACE, {**SPACE, "lr": ss.log(1e-4, 1.0, guess=1e-2), "act": ss.guess(["relu", "tanh"], "relu")})
    )
    assert plain == with_guess


def test_a_guess_does_not_change_the_parameter_that_it_is_of():
    import ConfigSpace

    own = ConfigSpace.Float("x", (0.0, 1.0))
    assert new({"x": ss.guess(own, 0.25)}).ask().config == {"x": 0.25}
    assert own.meta is None


def test_scipy_distributions_mean_what_they_meant():
    stats = pytest.importorskip("scipy.stats")
    assert new({"x": stats.norm(0.5, 0.1)}).history.opened.plan == ()


# Command line


def test_the_status_says_what_came_of_a_plan(folder):
    past_study(past="team.db", storage="team.db", name="new", guess={"lr": 0.01})
    ss.Study(SPACE, budget="9 steps", max_resource=9, past="team.db", storage="team.db", name="newer")
    assert "plan " not in shoestring("status", "team.db", "old").output
    tried = r"plan +\d of 6 configurations from the guess and 1 past study tried; (they|a random one|the best of) "
    assert re.search(tried, shoestring("status", "team.db", "new").output)
    pending = "0 of 2 configurations from 2 past studies tried; not yet compared with random ones"
    assert pending in shoestring("status", "team.db", "newer").output


def test_the_status_of_a_plan_without_a_check_has_none():
    """A single configuration is not compared with random ones, as nothing follows it."""
    study = new(past=past_study(budget="200 steps"))
    study.run(train, executor=Simulated(1), progress=False)
    assert plan_in_words(study.history) == "1 of 1 configuration from 1 past study tried"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    past_study(storage="team.db", name="old")
    return tmp_path


def shoestring(*arguments):
    return CliRunner().invoke(main, arguments)


PARAMETERS = ["--param", "lr=log:1e-4:1", "--param", "width=8:64", "--param", "act=relu,tanh"]


def test_the_command_past_shows_what_would_be_used_and_writes_nothing(folder):
    before = (folder / "team.db").read_bytes()
    shown = shoestring("past", "team.db", *PARAMETERS, "--guess", "lr=0.01")
    assert shown.exit_code == 0, shown.output
    assert "past: 1 of 1 studies of team.db: 6 configurations planned" in shown.output
    assert "lr=0.01" in shown.output
    assert (folder / "team.db").read_bytes() == before
    told = json.loads(shoestring("past", "team.db", "--json").output)
    assert [study["name"] for study in told["studies"]] == ["old"]
    assert plan(new(past="team.db")) == [entry["config"] for entry in told["plan"]]


def test_the_command_run_takes_a_past_and_a_guess(folder):
    (folder / "train.sh").write_text('echo "$1"\n')
    command = ["run", "--budget", "6 evaluations", *PARAMETERS, "--storage", "own.db", "--name", "own", "--quiet"]
    done = shoestring(*command, "--past", "team.db", "--guess", "lr=0.01", "--", "sh", "train.sh", "{lr}")
    assert done.exit_code == 0, done.output
    study = ss.Study.load("own.db", "own")
    assert study.trials[0].config["lr"] == 0.01
    assert len(plan(study)) == 6


def test_a_guess_of_a_choice_that_looks_like_a_number_is_a_text(folder):
    shown = shoestring("past", "team.db", "--param", "act=1,2", *PARAMETERS[:2], "--guess", "act=2", "--json")
    assert json.loads(shown.output)["plan"][0]["config"]["act"] == "2"
    given = ("ask", "own", "--budget", "9 evaluations", "--param", "act=1,2", "--guess", "act=2")
    assert "ss_act=2" in shoestring(*given).output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--guess", "lr"], "--guess 'lr' is not NAME=VALUE"),
        (["--guess", "lr=9"], "the guess of 'lr' is 9"),
        (["missing.db"], "there is no storage missing.db"),
    ],
)
def test_mistakes_are_one_line(folder, options, message):
    found = shoestring("past", "team.db", *options)
    assert found.exit_code == 2
    assert message in found.output
    assert "Traceback" not in found.output


def test_a_log_is_a_past_too():
    log = MemoryLog()
    past_study(storage=log)
    assert len(plan(new(past=log))) == 1


# Several objectives and constraints


def two(trial):
    rate = np.log10(trial.config["lr"])
    for _ in range(trial.start + 1, 10):
        yield ss.Reading(error=(rate + 3) ** 2, latency=(rate + 1) ** 2 + trial.config["width"] / 64)


OBJECTIVES = {"error": "min", "latency": "min"}


def test_the_front_of_the_past_is_planned_for_several_objectives():
    past = ss.Study(SPACE, budget="200 steps", max_resource=9, objectives=OBJECTIVES, method="random")
    past.run(two, executor=Simulated(1), progress=False)
    study = new(past=past, objectives=OBJECTIVES, budget="90 steps")
    front = {Codec.key(member.config) for member in past.front}
    assert front >= set(map(Codec.key, plan(study)))
    assert len(plan(study)) > 1
    study.run(two, executor=Simulated(1), progress=False)
    assert study.verify().ok
    assert study.front


def test_what_violates_a_constraint_is_not_planned():
    def wide_is_good_but_large(trial):
        for _ in range(trial.start + 1, 10):
            yield ss.Reading(1 / trial.config["width"], memory=trial.config["width"])

    past = ss.Study(SPACE, budget="200 steps", max_resource=9, constraints={"memory": "<= 30"}, method="random")
    past.run(wide_is_good_but_large, executor=Simulated(1), progress=False)
    assert max(trial.config["width"] for trial in past.trials) > 30
    assert max(config["width"] for config in plan(new(past=past))) <= 30


def test_what_violates_a_constraint_has_lost_the_check():
    def small_is_bad(trial):
        for _ in range(trial.start + 1, 10):
            yield ss.Reading(1 / trial.config["width"], memory=trial.config["width"])

    space = {"width": (8, 64)}
    past = ss.Study(space, budget="90 steps", max_resource=9).run(small_is_bad, executor=Simulated(1), progress=False)
    given = {"past": past, "guess": {"width": 63}, "constraints": {"memory": "<= 60"}}
    study = ss.Study(space, budget="90 steps", max_resource=9, seed=1, method="random", **given)
    study.run(small_is_bad, executor=Simulated(1), progress=False)
    assert verdict(study.history) == "lost"


def test_the_check_does_not_depend_on_the_weights_of_a_decision():
    """By the first objective alone both planned configurations lost, by the second alone both won."""
    method, guess = named("forecast"), {"lr": 0.01, "width": 32}
    study = new(objectives=OBJECTIVES, method=method, guess=guess, budget="300 steps")
    for number in range(12):
        grant = study.ask()
        planned = grant.reason.startswith("planned")
        error, latency = (9.0, 1.0) if planned else (1.0, 9.0)
        study.tell(grant, {grant.until: {"error": error + number / 9, "latency": latency + number / 9}})
        if number >= 3:
            assert verdict(study.history) == verdict(view_for(study.history, method)) == "passed"
