"""The suite of early readings: what peers pay, what they are told, and what its functions are."""

import json
import math
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.harness import pictures
from benchmarks.harness.common import Options, Unavailable
from benchmarks.peers import spoken
from benchmarks.suites.early_readings import comparison, crossing, ours, peers, prices
from benchmarks.suites.early_readings.ledger import Ledger, Spent
from benchmarks.tasks import yahpo_lcbench as surrogate

CONFIG = dict(zip(surrogate.ORDER, (64, 0.01, 0.5, 0.01, 3, 128, 0.2), strict=True))
REFERENCE = surrogate.Reference(best=0.0, median=100.0, seconds=52.0)


class Falling:
    """The error falls by one an epoch from 100 minus the layers; an epoch takes as many seconds as there are layers."""

    def __init__(self, task="a task"):
        self.task = task

    def curve(self, config):
        layers = config["num_layers"]
        return 100.0 - layers - np.arange(1, 53), np.full(52, float(layers))

    def __call__(self, trial):
        for step in range(trial.start + 1, 53):
            yield self.reading(trial.config, step)

    def reading(self, config, step, seed=0):
        return float(self.curve(config)[0][step - 1])

    def seconds(self, config, step, seed=0):
        return float(config["num_layers"])


@pytest.fixture
def played(monkeypatch, tmp_path):
    """The suite with a task that needs no data."""
    for module in (ours, peers):
        monkeypatch.setattr(module, "Problem", Falling)
        monkeypatch.setattr(module, "model_version", lambda: "falling")
    for module in (ours, peers, comparison):
        monkeypatch.setattr(module, "references", lambda: {"a task": REFERENCE})
    monkeypatch.setattr(comparison, "names", lambda: ("a task",))


class TestLedger:
    def ledger(self):
        return Ledger(Falling(), {"epochs": [2, 5], "seconds": [6.0, 9.0]})

    def test_a_budget_sees_the_epochs_that_it_can_pay_for(self):
        ledger = self.ledger()
        with pytest.raises(Spent):
            ledger.train(CONFIG, 52)
        assert ledger.found == {"epochs": [95.0, 92.0], "seconds": [95.0, 94.0]}

    def test_training_on_costs_the_added_epochs(self):
        ledger = self.ledger()
        assert ledger.train(CONFIG, 1) == [96.0]
        assert ledger.train(CONFIG, 3) == [96.0, 95.0, 94.0]
        assert ledger.spent == {"epochs": 3, "seconds": 9.0}
        assert (ledger.left("epochs"), ledger.left("seconds")) == (2, 0.0)

    def test_another_configuration_is_paid_from_its_start(self):
        ledger = self.ledger()
        ledger.train(CONFIG, 2)
        ledger.train({**CONFIG, "num_layers": 1}, 2)
        assert ledger.spent == {"epochs": 4, "seconds": 8.0}
        assert ledger.best == 97.0 - 2


def test_the_baseline_leaves_enough_for_its_finalists():
    ledger = Ledger(Falling(), {"epochs": [520.0]})
    peers.stop_at(5, ledger, "epochs", seed=0, finalists=3)
    lengths = sorted(ledger.trained.values())
    assert lengths == [5] * (len(lengths) - 3) + [52] * 3
    assert 0 <= ledger.left("epochs") < 5


def test_the_baseline_reserves_seconds_by_what_configurations_cost():
    ledger = Ledger(Falling(), {"seconds": [1040.0]})
    peers.stop_at(5, ledger, "seconds", seed=1, finalists=3)
    finished = [values for values, epochs in ledger.trained.items() if epochs == 52]
    layers = surrogate.ORDER.index("num_layers")
    assert [values[layers] for values in finished] == [5.0] * 3, "the deepest end lowest here, and are the dearest"


class TestSurrogate:
    def test_seconds_never_run_backwards(self):
        found = surrogate.durations(np.array([2.0, 1.0, 5.0, *range(6, 55)]))
        assert found[:3].tolist() == [2.0, pytest.approx(54 / 520), 3.0]
        assert found.min() >= 54 / 520 - 1e-12

    def test_regret_is_between_the_best_and_the_median(self):
        reference = surrogate.Reference(10.0, 30.0, 1.0)
        assert [reference.regret(error) for error in (10.0, 30.0, 5.0)] == [0.0, 1.0, -0.25]

    def test_without_its_data_it_is_skipped_with_a_line(self, monkeypatch, tmp_path):
        monkeypatch.setattr(surrogate, "FOLDER", tmp_path)
        for cached in (surrogate.names, surrogate._codes):
            cached.cache_clear()
        with pytest.raises(Unavailable, match="SHOESTRING_DATA"):
            surrogate.names()

    def test_every_task_has_a_stored_reference(self):
        if not (surrogate.FOLDER / "encoding.json").exists():
            pytest.skip("there is no surrogate in SHOESTRING_DATA")
        found = surrogate.references()
        assert found.keys() == set(surrogate.names())
        assert all(0 <= one.best < one.median < 100 and one.seconds > 0 for one in found.values())


def test_ours_sees_what_its_budget_pays_for(played):
    assert ours.played("random", "a task", 0, "epochs", 2) >= 100 - 5 - 52
    by_seconds = ours.played("random", "a task", 0, "seconds", 1)
    assert 100 - 5 - 52 <= by_seconds < 100, "52 seconds reach to the end of one configuration at most"


class TestPeersElsewhere:
    SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import pipe
given = pipe.task()
print("what the library prints is no answer")
config = {{one["name"]: one["low"] for one in given["space"]}}
for layers in range(1, 6):
    pipe.trained({{**config, "num_layers": layers}}, given["epochs"])
"""

    @pytest.fixture
    def peer(self, monkeypatch, tmp_path):
        script = tmp_path / "peer.py"
        folder = os.path.dirname(peers.__file__).replace(os.path.join("suites", "early_readings"), "peers")
        script.write_text(self.SCRIPT.format(folder=folder))
        monkeypatch.setattr(spoken, "command", lambda *given: [sys.executable, str(script)])
        spoken._process.cache_clear()
        yield
        if spoken._process.cache_info().currsize:
            process, complaints = spoken._process(peers.ELSEWHERE["DEHB"])
            spoken._process.cache_clear()
            with process, complaints:
                process.stdin.close()
                assert process.wait() == 0, "without further tasks it ends"

    def test_it_asks_for_trainings_until_the_budget_is_spent(self, peer, played):
        ledger = Ledger(Falling(), {"epochs": [60.0, 104.0]})
        with pytest.raises(Spent):
            peers.speak(peers.ELSEWHERE["DEHB"], peers.given_to("DEHB", 0), ledger.train)
        assert ledger.found == {"epochs": [47.0, 46.0]}

    def test_one_process_serves_all_runs_and_nothing_is_left_of_the_last_one(self, peer, played):
        found = []
        for _ in range(3):
            ledger = Ledger(Falling(), {"epochs": [60.0]})
            with pytest.raises(Spent):
                peers.speak(peers.ELSEWHERE["DEHB"], peers.given_to("DEHB", 0), ledger.train)
            found.append((ledger.found, dict(ledger.trained)))
        assert found[0] == found[1] == found[2]
        assert spoken._process.cache_info().misses == 1

    def test_one_that_ends_early_is_an_error(self, peer, played):
        endless = Ledger(Falling(), {"epochs": [1e4]})
        with pytest.raises(RuntimeError, match=r"dehb_fidelities\.py ended before its budget"):
            peers.speak(peers.ELSEWHERE["DEHB"], peers.given_to("DEHB", 0), endless.train)

    def test_one_that_is_slow_has_no_result_of_large_budgets(self, peer, played, monkeypatch):
        monkeypatch.setattr(peers, "_code", lambda peer: "1")
        monkeypatch.setattr(peers, "FEW_TRAININGS", {"DEHB": 1})
        found = peers.errors("DEHB", "a task", 0, "epochs", (1, 2))
        assert found[0] == 100 - 1 - 52
        assert math.isnan(found[1])

    def test_its_space_is_plain_json(self):
        found = {one["name"]: one for one in json.loads(json.dumps(peers.given_to("DEHB", 0)["space"]))}
        assert found["learning_rate"] == {
            "name": "learning_rate",
            "kind": "float",
            "low": 1e-4,
            "high": 0.1,
            "log": True,
        }
        assert found["num_layers"] == {"name": "num_layers", "kind": "int", "low": 1, "high": 5, "log": False}

    def test_one_that_is_not_installed_is_left_out_with_a_line(self, monkeypatch, capsys):
        monkeypatch.delenv("SHOESTRING_DEHB", raising=False)
        assert peers.available(["DEHB", "stop at epoch 1"]) == ["stop at epoch 1"]
        assert "DEHB is left out: SHOESTRING_DEHB" in capsys.readouterr().err


class TestComparison:
    # Two tasks, two seeds; c was played with one seed, and with 2 trainings only.
    FOUND = comparison.Found(
        ["auto", "b", "c"],
        [2, 5],
        np.array(
            [
                [[[0.1, 0.1], [0.4, 0.2], [0.0, np.nan]], [[0.2, 0.2], [0.1, 0.1], [np.nan, np.nan]]],
                [[[0.5, 0.3], [0.2, 0.2], [0.1, np.nan]], [[0.2, 0.1], [0.5, 0.4], [np.nan, np.nan]]],
            ]
        ),
    )

    @pytest.fixture
    def rows(self):
        return {line.name: line for line in comparison._rows(self.FOUND)}

    def test_errors_are_over_seeds(self, rows):
        assert rows["auto, 2 trainings: regret"].measured == pytest.approx(0.25)
        assert rows["auto, 2 trainings: regret"].error == pytest.approx(0.05)
        assert rows["auto, 2 trainings: share above 0.3"].measured == 0.25

    def test_a_method_with_fewer_seeds_is_compared_on_those(self, rows):
        assert (rows["c, 2 trainings: regret"].measured, rows["c, 2 trainings: regret"].n) == (pytest.approx(0.05), 1)
        assert rows["auto - c, 2 trainings"].measured == pytest.approx(0.3 - 0.05)
        assert rows["auto - b, 2 trainings"].measured == pytest.approx((0.3 - 0.3 + 0.2 - 0.3) / 2)
        assert rows["auto - b, 2 trainings"].n == 2

    def test_ranks_are_by_the_seeds_that_all_methods_have(self, rows):
        ranks = {name: rows[f"{name}, 2 trainings: rank"] for name in "bc"}
        assert {name: (rank.measured, rank.n) for name, rank in ranks.items()} == {"b": (2.5, 1), "c": (1.0, 1)}
        assert rows["auto, 5 trainings: rank"].measured == rows["b, 5 trainings: rank"].measured == 1.5
        assert rows["auto, 5 trainings: rank"].n == 2, "c was not played with 5 trainings"

    def test_a_budget_that_a_method_was_not_played_with_has_no_rows_of_it(self, rows):
        assert not [name for name in rows if "c, 5 trainings" in name]

    def test_a_quick_run_has_all_its_rows(self, played):
        rows = {line.name for line in comparison.epochs(Options(1, quick=True))}
        assert {"random, 2 trainings: regret", "auto, 5 trainings: rank"} <= rows


class TestPrices:
    def test_a_regret_is_reached_between_two_budgets_on_a_log_scale(self):
        assert prices.seconds_for(0.5, (2, 8), [1.0, 0.0]) == 4.0
        assert prices.seconds_for(2.0, (2, 8), [1.0, 0.0]) == 2.0, "the smallest budget is enough"
        assert prices.seconds_for(-1.0, (2, 8), [1.0, 0.0]) == 8.0, "no budget is"

    def test_half_of_the_seconds_with_an_error_over_seeds(self):
        blind = np.array([0.6, 0.4])
        seeing = blind[:, None] + [0.3, 0.0, -0.3, -0.6]
        line = prices.share_of_seconds("share", (2, 5, 10, 20), 10, seeing, blind)
        assert (line.measured, line.n) == (pytest.approx(0.5), 2)
        assert line.error == pytest.approx(0.0, abs=1e-9)

    def test_a_quick_run_compares_the_default_with_itself(self, played, monkeypatch):
        monkeypatch.setattr(prices, "names", lambda: ("a task",))
        monkeypatch.setattr(prices, "references", lambda: {"a task": REFERENCE})
        rows = {line.name: line for line in prices.table(Options(1, quick=True))}
        assert rows["auto - blind to prices, 10 trainings"].measured == pytest.approx(
            rows["auto, 10 trainings: regret"].measured - rows["blind to prices, 10 trainings: regret"].measured
        )
        assert 0.5 <= rows["share of seconds, 10 trainings"].measured <= 1


def test_crossing_curves_cross_and_the_recommended_value_has_no_noise():
    slow, fast = (
        {"learning_rate": rate, "weight_decay": 1e-4, "width": 181, "optimizer": "sgd", "momentum": 0.9}
        for rate in (0.01, 0.3)
    )
    assert crossing.value(slow, 3) > crossing.value(fast, 3)
    assert crossing.value(slow, 27) < crossing.value(fast, 27)
    assert crossing.value(slow, 10**3) == pytest.approx(0.03, abs=1e-4)
    readings = list(crossing.train(SimpleNamespace(config=slow, seed=1, start=0)))
    assert [reading.metrics["test"] for reading in readings] == [crossing.value(slow, step) for step in range(1, 28)]
    noise = [reading.value - reading.metrics["test"] for reading in readings]
    assert 0 < math.sqrt(np.mean(np.square(noise))) < 3 * crossing.NOISE


def test_bars_join_ranks_within_the_critical_difference():
    assert pictures._alike([1.0, 1.5, 3.2, 3.4, 9.0], 2.0) == [(1.0, 1.5), (1.5, 3.4)]
