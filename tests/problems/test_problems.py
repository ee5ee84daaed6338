"""Problems: optima that are what they are said to be, and tables that a study can be played on."""

import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import shoestring as ss
from shoestring.core.decisions import Done, Proposal
from shoestring.core.randomness import generator
from shoestring.core.untried import propose_new
from shoestring.errors import EverythingFailed, ReadingError, SpaceError
from shoestring.executors import Inline, Processes, Simulated
from shoestring.methods import named
from shoestring.problems import CurveTable, GridTable, Synthetic, WithCurves
from shoestring.spaces.codec import Codec
from shoestring.testing import played

DATA = Path(__file__).parents[2] / os.environ.get("SHOESTRING_DATA", "../shared/data")

# Value and place of a minimum, as published by Surjanovic and Bingham; ours for the last two.
OPTIMA = {
    Synthetic("branin"): (0.39788735772973816, {"x1": -math.pi, "x2": 12.275}),
    Synthetic("hartmann3"): (-3.86278, {"x1": 0.114614, "x2": 0.555649, "x3": 0.852547}),
    Synthetic("hartmann6"): (
        -3.32236801141551,
        {"x1": 0.20169, "x2": 0.150011, "x3": 0.476874, "x4": 0.275332, "x5": 0.311652, "x6": 0.6573},
    ),
    Synthetic("ackley", 3): (0.0, {"x1": 0.0, "x2": 0.0, "x3": 0.0}),
    Synthetic("rosenbrock", 4): (0.0, {"x1": 1.0, "x2": 1.0, "x3": 1.0, "x4": 1.0}),
    Synthetic("levy"): (0.0, {"x1": 1.0, "x2": 1.0}),
    Synthetic("rastrigin", 12): (0.0, {f"x{i}": 0.0 for i in range(1, 13)}),
    Synthetic("sphere", 1): (0.0, {"x1": 0.0}),
    Synthetic("styblinski-tang"): (-78.33233140754284, {"x1": -2.903534, "x2": -2.903534}),
    Synthetic("mixed"): (0.0, {"activation": "relu", "layers": 5, "normalise": True, "rate": 0.01}),
    Synthetic("conditional"): (0.1, {"model": "svm", "C": 10.0, "gamma": 0.01}),
}


@pytest.mark.parametrize("problem", OPTIMA, ids=lambda p: p.name)
def test_a_function_has_its_known_minimum_and_nothing_below(problem):
    value, at = OPTIMA[problem]
    assert problem.best == pytest.approx(value, abs=1e-6)
    assert problem.value(at) == pytest.approx(value, abs=1e-6)
    assert problem.value(problem.best_config) == problem.best
    codec, rng = Codec(problem.space), generator(0, 0, "points")
    codec.check(problem.best_config)
    assert all(problem.value(codec.sample(rng)) >= problem.best for _ in range(2000))


@pytest.mark.parametrize("name", ["branin", "hartmann3", "hartmann6", "styblinski-tang"])
def test_no_point_around_the_minimum_is_lower(name):
    problem, rng = Synthetic(name), generator(0, 0, "around")
    for radius in (1e-2, 1e-4, 1e-6):
        for _ in range(500):
            near = {key: v + radius * rng.standard_normal() for key, v in problem.best_config.items()}
            assert problem.value(near) >= problem.best - 1e-12


def test_noise_and_durations_follow_from_seed_and_step_alone():
    problem = Synthetic("sphere", noise=0.5, duration=3.0, spread=0.4)
    at = problem.best_config
    draws = np.array([problem.reading(at, step, seed) for seed in range(100) for step in range(1, 21)])
    assert problem.reading(at, 7, 13) == problem.reading(at, 7, 13) == draws[13 * 20 + 6]
    assert len(set(draws)) == len(draws)
    assert abs(draws.mean()) < 0.05
    assert abs(draws.std() - 0.5) < 0.03
    lengths = [problem.seconds(at, 1, seed) for seed in range(500)]
    assert min(lengths) > 0
    assert abs(float(np.median(lengths)) - 3.0) < 0.3
    assert Synthetic("sphere").seconds(at) == 1.0


def test_curves_end_at_the_function_and_learn_at_rates_of_their_own():
    problem = WithCurves(Synthetic("branin"), 27, slowest=0.2, fastest=2.0)
    codec, rng = Codec(problem.space), generator(0, 0, "curves")
    rates = []
    for _ in range(200):
        config = codec.sample(rng)
        curve = [problem.reading(config, step) for step in range(1, 28)]
        assert curve == sorted(curve, reverse=True)
        assert curve[-1] == problem.function.value(config) >= problem.best
        rates.append(problem.rate(config))
    assert min(rates) < 0.4
    assert max(rates) > 1.8


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Synthetic("brannin"), "did you mean 'branin'"),
        (lambda: Synthetic("branin", dimensions=3), "leave dimensions out"),
        (lambda: Synthetic("rosenbrock", dimensions=1), "needs 2 or more"),
        (lambda: Synthetic("branin", noise=-1.0), "noise is -1.0"),
        (lambda: WithCurves(Synthetic("branin"), 1), "max_resource is 1"),
        (lambda: WithCurves(Synthetic("branin"), 9, slowest=0.0), "rates are from 0.0"),
    ],
)
def test_what_cannot_be_a_function_is_refused(make, said):
    with pytest.raises(SpaceError, match=said):
        make()


def small_table(mode="min", n=30, **options):
    """Rows with a log column, an integer one and a constant one; curves that fall (or rise) at several speeds."""
    rng = generator(5, 0, "table")
    X = np.column_stack([10 ** rng.uniform(-4, 0, n), rng.integers(1, 9, n), np.full(n, 0.9)])
    end, rate = rng.random(n), rng.uniform(0.2, 1.0, n)
    Y = end[:, None] + np.arange(1, 10.0)[None, :] ** -rate[:, None]
    Y = Y if mode == "min" else -Y
    names = ["rate", "layers", "decay"]
    return CurveTable(X, Y, names=names, log_scale=["rate"], mode=mode, **options), X, Y


def test_a_table_takes_its_space_from_the_data():
    table, X, Y = small_table()
    space = table.space
    assert space["rate"].log
    assert space["rate"].lower == pytest.approx(X[:, 0].min())
    assert all(space["rate"].legal_value(X[:, 0])), "rounded ends leave no row outside"
    assert (space["layers"].lower, space["layers"].upper) == (1, 8)
    assert type(space["layers"]).__name__ == "UniformIntegerHyperparameter"
    assert space["decay"].value == 0.9
    assert (len(table), table.max_resource, table.best) == (30, 9, Y.min())
    rows = Codec(space).rows
    assert [table.row(config) for config in rows] == list(range(30))
    assert table.reading(rows[4], 3, seed=99) == Y[4, 2]
    assert rows[4] == {"rate": X[4, 0], "layers": X[4, 1], "decay": 0.9}


def test_a_table_may_be_given_its_space():
    X, Y = [["tanh", 3, 0.5], ["relu", 1, 0.1]], [[1.0], [2.0]]
    table = CurveTable(X, Y, {"z": ["relu", "tanh"], "b": (1, 4), "a": (0.0, 1.0)})
    assert table.reading({"a": 0.1, "b": 1, "z": "relu"}, 1) == 2.0
    given = ss.space(z=["relu", "tanh"], b=(1, 4), a=(0.0, 1.0))
    same = CurveTable(X, Y, given, names=["z", "b", "a"])
    assert same.space.meta == table.space.meta
    assert not given.meta, "the space given is not changed"
    with pytest.raises(SpaceError, match="say with names= which column is which"):
        CurveTable(X, Y, given)


def test_rows_with_the_same_values_can_all_be_reached():
    table = CurveTable([[1.0, 0.5], [2.0, 0.5], [1.0, 0.5], [1.0, 0.5]], [[4.0], [3.0], [2.0], [1.0]], names=["a", "b"])
    study = ss.tune(table, table, budget="10 evaluations", max_resource=1, method="random", executor=Simulated(2))
    assert sorted(trial.readings[1].value for trial in study.trials) == [1.0, 2.0, 3.0, 4.0]
    assert [table.row(c) for c in Codec(table.space).rows] == [0, 1, 2, 3]
    assert "recording" not in CurveTable([[1.0], [2.0]], [[1.0], [2.0]]).space


def test_the_best_is_what_can_be_reached():
    Y = [[5.0, 4.0, 3.0], [5.0, math.nan, 0.0], [math.nan, 1.0, 1.0], [6.0, math.inf, 2.0]]
    table = CurveTable([[1], [2], [3], [4]], Y)
    assert table.best == 3.0, "nothing after a bad reading is ever seen"
    assert table.normalised_regret(3.0) == 0.0
    assert table.normalised_regret(5.0) == 1.0
    with pytest.raises(SpaceError, match="every trial would fail"):
        CurveTable([[1]], [[math.nan]])


@pytest.mark.parametrize("mode", ["min", "max"])
def test_regret_is_lower_for_better_in_both_modes(mode):
    table, _, Y = small_table(mode)
    of_rows = Y.min(axis=1) if mode == "min" else Y.max(axis=1)
    assert table.normalised_regret(table.best) == 0.0
    assert table.normalised_regret(float(np.median(of_rows))) == pytest.approx(1.0)
    regrets = []
    for steps in (10, 60):
        study = ss.tune(table, table, budget=f"{steps} steps", mode=mode, max_resource=9, method="asha")
        regrets.append(table.normalised_regret(study.history))
        seen = [reading.value for trial in study.trials for reading in trial.readings.values()]
        assert regrets[-1] == table.normalised_regret(min(seen) if mode == "min" else max(seen))
    assert regrets[0] >= regrets[1] >= 0
    flat = CurveTable([[1], [2]], [[1.0], [1.0]])
    assert flat.normalised_regret(1.0) == 0.0
    assert flat.normalised_regret(2.0) == math.inf


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: CurveTable([[1], [2]], [[1.0]]), "X has 2 rows and Y has 1"),
        (lambda: CurveTable([1, 2], [[1.0], [2.0]]), r"X has the shape \(2,\)"),
        (lambda: CurveTable([[1]], [1.0]), r"Y has the shape \(1,\)"),
        (lambda: CurveTable([[1]], [[1.0]], mode="best"), "mode is 'best'"),
        (lambda: CurveTable([[1], [math.nan]], [[1.0], [1.0]]), "not finite"),
        (lambda: CurveTable([[0.5], [0.0]], [[1.0], [1.0]], log_scale=[True]), "log scale and goes down to 0.0"),
        (lambda: CurveTable([[1]], [[1.0]], log_scale=["lr"]), "log_scale names 'lr'"),
        (lambda: CurveTable([[1]], [[1.0]], log_scale=[True, False]), "2 flags for 1 columns"),
        (lambda: CurveTable([[1, 2]], [[1.0]], names=["a"]), "X has 2 columns"),
        (lambda: CurveTable([[1]], [[1.0]], seconds=[[1.0, 2.0, 3.0]]), "does not fit"),
        (lambda: CurveTable([[1]], [[1.0]], seconds=-1.0), "negative"),
        (lambda: CurveTable([[1]], [[1.0]], ss.space(a=(0, 1)), names=["b"]), "they must agree"),
        (lambda: CurveTable([[1] * 5], [[1.0]], Synthetic("conditional").space), "has conditions"),
        (lambda: CurveTable.load("nowhere.npz"), "there is no file nowhere.npz"),
        (lambda: CurveTable([[1], [2]], [[1.0], [2.0]]).row({"x1": 3}), "not a row of the table"),
    ],
)
def test_what_cannot_be_a_table_is_refused(make, said):
    with pytest.raises(SpaceError, match=said):
        make()


def test_a_step_that_was_not_recorded_is_refused():
    table = CurveTable([[1], [2]], [[1.0, 2.0], [3.0, 4.0]])
    for step in (0, -1, 3):
        with pytest.raises(ReadingError, match="set max_resource=2"):
            table.reading({"x1": 1}, step)
    longer = CurveTable([[1], [2]], [[1.0, 2.0], [3.0, 4.0]], seconds=5.0)
    study = ss.tune(longer, longer, budget="9 steps", max_resource=3, method="random", executor=Simulated(2))
    assert all("set max_resource=2" in trial.message for trial in study.trials)


def test_a_table_is_loaded_from_a_file(tmp_path):
    X = np.array([[0.1, 4.0], [0.01, 8.0], [0.5, 2.0]])
    Y = np.array([[1, 2, 3], [4, np.nan, np.nan], [7, np.nan, np.nan]])
    cost = np.array([[10, 20, 35.0], [1, np.nan, np.nan], [2, np.nan, np.nan]])
    fields = {"hp_names": ["lr", "width"], "log_scale": [True, False], "direction": "max", "steps": [1, 2, 3]}
    ends = {"length": [3, 1, 1], "diverged": [False, True, False]}
    np.savez(tmp_path / "whole.npz", X=X, Y=Y, cost=cost, **fields, **ends)
    table = CurveTable.load(tmp_path / "whole.npz")
    first, diverged, ended = Codec(table.space).rows
    assert (table.mode, table.space["lr"].log, table.best) == ("max", True, 7.0)
    assert [table.seconds(first, step) for step in (1, 2, 3)] == [10, 10, 15]
    assert math.isnan(table.reading(diverged, 2))
    assert table.reading(ended, 3) == 7.0, "a run that ended by plan keeps its last reading"
    assert table.seconds(ended, 3) == 0.0
    np.savez(tmp_path / "_configs.npz", X=X, **fields)
    np.savez(tmp_path / "apart.npz", Y=Y)
    assert CurveTable.load(tmp_path / "apart.npz").reading(first, 2) == 2.0
    assert not CurveTable.load(tmp_path / "apart.npz", log_scale=[]).space["lr"].log


def test_a_file_that_is_no_table_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", images=np.zeros(3))
    np.savez(tmp_path / "steps.npz", X=[[1]], Y=[[1.0, 2.0]], steps=[1])
    np.savez(tmp_path / "objects.npz", X=np.array([[None]]), Y=[[1.0]])
    (tmp_path / "text.npz").write_text("no arrays here")
    said = {"other": "no array 'X'", "steps": "1 steps", "objects": "cannot be read", "text": "cannot be read"}
    for name in said:
        with pytest.raises(SpaceError, match=said[name]):
            CurveTable.load(tmp_path / f"{name}.npz")
    with pytest.raises(SpaceError, match="holds images"):
        GridTable.load(tmp_path / "other.npz")


class Fixed:
    """A sampler that always proposes the same configuration."""

    def __init__(self, config):
        self.config = config

    def propose(self, history, rng):
        return Proposal(dict(self.config), "always this one")


def test_a_proposal_is_moved_to_the_nearest_free_row():
    table = CurveTable([[0.0], [1.0], [2.0], [10.0]], [[4.0], [3.0], [2.0], [1.0]], names=["x"])
    study = ss.Study(table, budget="4 evaluations", method=ss.compose(Fixed({"x": 1.9}), ss.schedulers.Full()))
    while (grant := study.ask()) is not None:
        study.tell(grant, table.reading(grant.config, 1, grant.seed))
    assert [trial.config["x"] for trial in study.trials] == [2, 1, 0, 10]
    assert propose_new(Fixed({"x": 1}), study.history, generator(0, 0, "test")) is None


@pytest.mark.parametrize("name", ["random", "grid", "asha", "hyperband"])
def test_every_row_is_reached_and_then_the_study_ends(name):
    table, _, _ = small_table()
    study = ss.tune(table, table, budget="100000 steps", max_resource=9, method=name, executor=Simulated(4))
    assert sorted(table.row(arm.config) for arm in study.history.arms) == list(range(30))
    assert study.state == "finished"
    assert study.spent["steps"] <= 30 * 9
    answer = named(name).decide(study.history, generator(0, 0, "test"))
    assert isinstance(answer, Done)
    assert answer.reason in ("every configuration has been tried", "nothing left to promote or to start")


def test_continuing_costs_only_the_added_steps():
    table, _, _ = small_table(seconds=2.0)
    study = ss.tune(table, table, budget="60 steps", max_resource=9, method="asha", executor=Simulated(1))
    assert any(len(trial.readings) == 9 for trial in study.trials)
    assert study.spent["steps"] == sum(len(trial.readings) for trial in study.trials) == 60
    assert study.spent["seconds"] == 120


def test_a_row_that_diverges_ends_failed():
    Y = np.tile([3.0, 2.0, 1.0], (6, 1)) + np.arange(6.0)[:, None]
    Y[2, 1:], Y[4, 0] = math.nan, math.inf
    table = CurveTable(np.arange(6.0)[:, None] + 0.5, Y, names=["x"])
    study = ss.tune(table, table, budget="100 steps", max_resource=3, method="random", executor=Simulated(3))
    states = {table.row(trial.config): (trial.state, trial.step) for trial in study.trials}
    assert states == dict.fromkeys((0, 1, 3, 5), ("finished", 3)) | {2: ("failed", 1), 4: ("failed", 0)}
    assert study.spent["steps"] == 4 * 3 + 2 + 1, "the step that went wrong is charged"
    assert table.normalised_regret(study.history) == 0.0
    hopeless = CurveTable([[1], [2], [3]], [[math.nan, 1], [math.nan, 1], [1, 1]])
    with pytest.raises(EverythingFailed, match="nan"):
        ss.tune(hopeless, {"x1": (1, 2)}, budget="9 steps", max_resource=2, method="random", executor=Simulated(1))


PROBLEMS = {
    "table": small_table()[0],
    "rising": small_table("max")[0],
    "curves": WithCurves(Synthetic("mixed", noise=0.1, spread=0.5), 9),
    "function": Synthetic("conditional", noise=0.1),
    "grid": GridTable(generator(1, 0, "grid").random((4, 3, 5)), {"a": [1, 2, 4, 8], "b": ["x", "y", "z"]}),
}


def tuned(problem, executor, steps=40):
    return ss.tune(
        problem,
        problem.space,
        budget=ss.Budget(steps=steps) if problem.max_resource > 1 else ss.Budget(evaluations=12),
        max_resource=problem.max_resource,
        mode=problem.mode,
        method="asha" if problem.max_resource > 1 else "random",
        executor=executor,
    )


def readings(study):
    return [(trial.config, trial.seed, trial.readings) for trial in study.trials]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_simulated_and_inline_give_the_same_readings(problem):
    simulated, inline = tuned(problem, Simulated(1)), tuned(problem, Inline())
    assert readings(simulated) == readings(inline)
    for trial in simulated.trials:
        again = [problem.reading(trial.config, step, trial.seed) for step in trial.readings]
        assert again == [reading.value for reading in trial.readings.values()]


def test_problems_run_in_other_processes():
    problem = PROBLEMS["table"]
    for trial in tuned(problem, Processes(2)).trials:
        for step, reading in trial.readings.items():
            assert reading.value == problem.reading(trial.config, step, trial.seed)
    for problem in PROBLEMS.values():
        assert pickle.loads(pickle.dumps(problem)).best == problem.best


@pytest.mark.parametrize("name", ["table", "curves"])
def test_a_simulated_study_continues_from_any_cut(name):
    problem, method = PROBLEMS[name], named("asha")
    _, events = played(method, problem, budget=ss.Budget(steps=60))
    for cut in range(1, len(events), 7):
        _, again = played(method, problem, budget=ss.Budget(steps=60), events=events[:cut])
        assert again == events, f"cut after event {cut}"


def test_a_grid_is_read_by_choice_and_its_repeats_by_seed():
    values = np.array([[[1.0, 2.0], [3.0, np.nan]], [[np.nan, np.nan], [0.5, 0.7]]])
    table = GridTable(values, {"act": ["relu", "tanh"], "width": [16, 32]}, mode="max", seconds=values * 10)
    assert (table.best, table.best_config) == (3.0, {"act": "relu", "width": 32})
    at = {"act": "relu", "width": 16}
    assert {table.reading(at, 1, seed) for seed in range(20)} == {1.0, 2.0}
    assert all(table.seconds(at, 1, seed) == 10 * table.reading(at, 1, seed) for seed in range(20))
    assert {table.reading(table.best_config, 1, seed) for seed in range(20)} == {3.0}, "what was not run is not drawn"
    assert math.isnan(table.reading({"act": "tanh", "width": 16}))
    assert table.value({"act": "tanh", "width": 32}) == pytest.approx(0.6)
    with pytest.raises(SpaceError, match="'width' is 20; the grid has 16, 32"):
        table.reading({"act": "relu", "width": 20})


def test_a_continuous_grid_is_read_at_the_nearest_value():
    table = GridTable([[1.0, 2.0, 3.0]], {"a": [5.0], "b": [0.0, 1.0, 10.0]}, continuous=True)
    assert [table.reading({"a": 5.0, "b": b}) for b in (0.0, 0.4, 0.6, 5.4, 5.6, 10.0)] == [1, 1, 2, 2, 3, 3]
    assert table.space["b"].upper == 10.0
    with pytest.raises(SpaceError, match="needs numbers"):
        GridTable([1.0, 2.0], {"a": ["x", "y"]}, continuous=True)
    with pytest.raises(SpaceError, match="give one axis a parameter"):
        GridTable([1.0, 2.0], {"a": [1, 2, 3]})
    with pytest.raises(SpaceError, match="names a value twice"):
        GridTable([1.0, 2.0], {"a": [1, 1]})


def test_grids_are_loaded_from_files(tmp_path):
    np.savez(tmp_path / "contest.npz", reward=[[1.0, 5.0]], dims=["p1", "p2"], coords_0=[0.5], coords_1=[0.0, 1.0])
    contest = GridTable.load(tmp_path / "contest.npz")
    assert (contest.mode, contest.best, contest.reading({"p1": 0.5, "p2": 0.8})) == ("max", 5.0, 5.0)
    np.savez(tmp_path / "set.npz", val_loss=[[1.0, 1.0], [3.0, 3.0]], train_time=[[7.0, 7.0], [8.0, 8.0]])
    with pytest.raises(SpaceError, match=r"there is no .*space\.json"):
        GridTable.load(tmp_path / "set.npz")
    (tmp_path / "space.json").write_text('{"order": ["lr"], "choices": {"lr": [0.1, 1]}}')
    table = GridTable.load(tmp_path / "set.npz")
    assert (table.mode, table.best, table.seconds({"lr": 1.0})) == ("min", 1.0, 8.0)


def real(path):
    if not (DATA / path).exists():
        pytest.skip(f"{DATA / path} is not there: set SHOESTRING_DATA to the folder of recorded tables")
    return DATA / path


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("lcbench/segment.npz", (2000, 52)),
        ("taskset_imdb/imdb_patch32_IRNN64_relu_avg_bs128.npz", (1000, 51)),
        ("klein_convnet_cifar10/convnet_cifar10.npz", (265, 40)),
        ("opda_curves/alexnet_imagenet.npz", (512, 100)),
        ("naap440/naap440.npz", (440, 90)),
        ("baker_nas_curves/deep_resnets_tinyimagenet.npz", (684, 141)),
    ],
)
def test_recorded_tables(path, shape):
    table = CurveTable.load(real(path))
    assert (len(table), table.max_resource) == shape
    rows = Codec(table.space).rows
    assert [table.row(config) for config in rows] == list(range(shape[0]))
    study = tuned(table, Simulated(8), steps=300)
    assert 0 <= table.normalised_regret(study.history) < 5
    for trial in study.trials[:20]:
        for step, reading in trial.readings.items():
            assert reading.value == table.reading(trial.config, step)


@pytest.mark.parametrize(
    ("path", "best"),
    [
        ("fcnet_hpolib/naval_propulsion.npz", None),
        ("hpobench_mlp/segment.npz", None),
        ("nasbench201/cifar10.npz", 91.60666),
        ("thpo2021_prelim/data-2.npz", 28.004587608961003),
    ],
)
def test_recorded_grids(path, best):
    table = GridTable.load(real(path))
    assert best is None or table.best == pytest.approx(best, abs=1e-4)
    assert table.value(table.best_config) == table.best
    study = tuned(table, Simulated(4))
    assert all(trial.readings[1].value == table.reading(trial.config, 1, trial.seed) for trial in study.trials)
