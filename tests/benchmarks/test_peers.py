"""Messages to peers that run in environments of their own, and new trainings of chosen configurations."""

import pytest
from ConfigSpace import OrdinalHyperparameter

import shoestring as ss
from benchmarks.harness import common
from benchmarks.suites.batch_optimisation import peers as hebo
from benchmarks.suites.budgeted_tuning import peers as smac
from benchmarks.suites.sub_sampling import seed_noise

SPACE = ss.space(rate=ss.log(1e-3, 1.0), units=(1, 9), momentum=(0.0, 0.9), rule=["a", "b"])
SPACE.add(OrdinalHyperparameter("size", [16, 64, 512]))


class TestHEBO:
    def test_a_space_is_described_in_its_format(self):
        assert {each.pop("name"): each for each in hebo.described(SPACE)} == {
            "rate": {"type": "pow", "lb": 1e-3, "ub": 1.0},
            "units": {"type": "int", "lb": 1, "ub": 9},
            "momentum": {"type": "num", "lb": 0.0, "ub": 0.9},
            "size": {"type": "int", "lb": 0, "ub": 2},
            "rule": {"type": "cat", "categories": ["a", "b"]},
        }

    def test_what_it_suggests_is_a_configuration(self):
        suggested = {"rate": 0.1, "units": 3, "momentum": 0.5, "size": 2, "rule": "b"}
        found = hebo.configuration(SPACE, suggested)
        assert {name: found[name] for name in ("units", "size", "rule")} == {"units": 3, "size": 512, "rule": "b"}
        assert (found["rate"], found["momentum"]) == pytest.approx((0.1, 0.5))

    def test_it_is_left_out_where_it_is_not_installed(self, monkeypatch):
        monkeypatch.delenv("SHOESTRING_HEBO", raising=False)
        with pytest.raises(common.Unavailable, match="SHOESTRING_HEBO"):
            hebo.played(None, 0)


def test_smac_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.delenv("SHOESTRING_SMAC", raising=False)
    with pytest.raises(common.Unavailable, match="SHOESTRING_SMAC"):
        smac._trained([], 2)


def test_new_trainings_differ_by_their_seed_only():
    config = dict(seed_noise.arrays.DROPOUT.get_default_configuration())
    first, again, other = (seed_noise._new_trainings("network with dropout", config, seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(first) == seed_noise.NEW
