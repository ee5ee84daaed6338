"""The parts that need no torch: policies as numbers, the bandit's arrays, pruning, estimates, and sets of policies."""

import json
import subprocess
import sys
from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from shoestring.augment.bandit import RESERVOIR, Bandit
from shoestring.augment.estimates import estimate_rewards
from shoestring.augment.policies import (
    LEVELS,
    OPERATIONS,
    PAIRS,
    PER_PAIR,
    POLICIES,
    Pair,
    Policy,
    decode,
    stage_of_levels,
)
from shoestring.augment.policy_set import PolicySet, policies_of
from shoestring.augment.pruning import first_policies, next_policies
from shoestring.errors import MethodError, SpaceError, StorageError


@cache
def plays_of(seed):
    rng = np.random.default_rng(seed)
    bandit, names = Bandit(), np.array(OPERATIONS)
    for policy in rng.integers(POLICIES, size=4000):
        operations = names[decode(policy)[0]]
        good, bad = np.isin(operations, ("Rotate", "Color")).sum(), (operations == "Invert").sum()
        bandit.update(int(policy), good - 2 * bad + rng.normal())
    return bandit


def played(seed=0):
    """A bandit after 4,000 random plays of a made-up problem with good and bad operations."""
    return deepcopy(plays_of(seed))


def rng():
    return np.random.default_rng(0)


def test_every_policy_has_its_number():
    assert (len(OPERATIONS), LEVELS, POLICIES) == (15, 10, 22500)
    for index in range(0, POLICIES, 37):
        assert Policy.at(index).index == index
        assert Policy.parse(str(Policy.at(index))).index == index
    operations, levels = decode(np.arange(POLICIES))
    assert len({*map(tuple, np.hstack([operations, levels]))}) == POLICIES


@pytest.mark.parametrize("words", ["Rotate(3)", "Rotate(3), Twist(4)", "", "Rotate(3), Color(12)"])
def test_what_is_no_policy_is_refused(words):
    with pytest.raises(SpaceError):
        Policy.parse(words)


def test_the_magnitude_stages_of_figure_3_3():
    stages = stage_of_levels()
    sums = np.arange(100) // 10 + np.arange(100) % 10
    assert {*sums[stages == 0]} == {0, 1, 2, 7, 8, 13, 14}
    assert {*sums[stages == 1]} == {3, 4, 9, 10, 15, 16}
    assert first_policies("eop").sum() == 7650


def test_rewards_are_scaled_by_the_percentiles_of_the_last_thousand():
    bandit = Bandit()
    assert bandit.scale(5.0) == 0.5
    for gain in range(101):
        bandit.update(0, float(gain))
    assert bandit.scale(20.0) == 0
    assert bandit.scale(80.0) == 1
    assert bandit.scale(-1e9) == 0
    assert bandit.scale(50.0) == pytest.approx(0.5)
    for gain in np.linspace(0, 1, RESERVOIR):
        bandit.update(0, float(gain))
    assert bandit.scale(0.5) == pytest.approx(0.5, abs=0.01)  # nothing is left of the large gains


def test_equal_rewards_are_scaled_to_something_finite():
    bandit = Bandit()
    for _ in range(50):
        bandit.update(0, 0.0)
    assert [bandit.scale(gain) for gain in (-1.0, 0.0, 1.0)] == [0, 0.5, 1]


@pytest.mark.parametrize("gain", [np.nan, np.inf, -np.inf])
def test_a_gain_that_is_not_finite_counts_as_the_worst(gain):
    bandit = Bandit()
    for value in range(40):
        bandit.update(0, float(value))
    bandit.update(1, gain)
    assert bandit.totals[1] == 0
    assert np.isfinite(bandit.reservoir).all()


def test_sampling_follows_softmax_of_minus_lcb():
    bandit = Bandit(active=np.zeros(POLICIES, dtype=bool))
    bandit.active[[3, 70, 900]] = True
    bandit.counts[[3, 70, 900]] = 4, 1, 9
    bandit.totals[[3, 70, 900]] = 4.0, 0.2, 3.0
    bandit.plays = 14
    lcb = np.array([1.0, 0.2, 1 / 3]) - np.sqrt(2 * np.log(14) / np.array([4, 1, 9]))
    expected = np.exp(-lcb) / np.exp(-lcb).sum()
    generator = rng()
    drawn = np.array([bandit.sample(generator) for _ in range(20000)])
    for arm, share in zip([3, 70, 900], expected, strict=True):
        assert np.mean(drawn == arm) == pytest.approx(share, abs=0.02)  # 5 standard errors


def test_only_active_policies_are_played():
    bandit = played()
    bandit.active[:] = False
    bandit.active[[5, POLICIES - 1]] = True
    assert {bandit.sample(np.random.default_rng(seed)) for seed in range(50)} == {5, POLICIES - 1}


def test_pruning_keeps_two_thirds_of_the_pairs_and_widens_their_magnitudes():
    bandit, stages = played(), np.zeros(PAIRS, dtype=np.int64)
    sizes, widths = [], []
    for round in range(1, 11):
        active = next_policies("eop", round, bandit, stages, "mean", rng()).reshape(PAIRS, PER_PAIR)
        pairs = active.any(axis=1)
        sizes.append(int(pairs.sum()))
        widths.append({*active[pairs].sum(axis=1).tolist()})
    assert sizes == [150, 100, 66, 44, 29, 19, 13, 8, 5, 3]
    assert widths[:3] == [{34}, {69}, {100}]


def test_pruning_ranks_by_the_ucb_of_equation_3_6():
    bandit = played()
    counts, totals = (v.reshape(PAIRS, PER_PAIR).sum(axis=1) for v in (bandit.counts, bandit.totals))
    expected = totals / counts + np.sqrt(2 * np.log(bandit.plays) / counts)
    np.testing.assert_allclose(bandit.estimates("mean").pair_ucbs, expected)
    active = next_policies("eop", 1, bandit, np.zeros(PAIRS, dtype=np.int64), "mean", rng())
    kept = active.reshape(PAIRS, PER_PAIR).any(axis=1)
    assert expected[kept].min() >= expected[~kept].max()


def test_a_dropped_pair_can_return_at_its_old_stage():
    bandit, stages = played(), np.zeros(PAIRS, dtype=np.int64)
    for round in (1, 2, 3):
        active = next_policies("eop", round, bandit, stages, "mean", rng()).reshape(PAIRS, PER_PAIR)
    dropped = int(np.flatnonzero(~active.any(axis=1))[0])
    before = int(stages[dropped])
    bandit.totals[dropped * PER_PAIR] += 1000.0
    again = next_policies("eop", 4, bandit, stages, "mean", rng()).reshape(PAIRS, PER_PAIR)
    assert again[dropped].sum() == (stage_of_levels() <= before + 1).sum()


def test_the_ablations():
    bandit = played()
    third = next_policies("sh", 1, bandit, np.zeros(PAIRS, dtype=np.int64), "mean", rng())
    assert third.sum() == 15000
    bandit.active = third
    assert not (next_policies("sh", 2, bandit, np.zeros(PAIRS, dtype=np.int64), "mean", rng()) & ~third).any()
    assert next_policies("none", 1, bandit, np.zeros(PAIRS, dtype=np.int64), "mean", rng()) is bandit.active


def test_ties_are_not_broken_by_the_order_of_operations():
    kept = next_policies("eop", 5, Bandit(), np.zeros(PAIRS, dtype=np.int64), "mean", rng())
    first = decode(np.flatnonzero(kept))[0][:, 0]
    assert first.max() > 7


def test_with_many_plays_the_shrunk_estimate_is_the_mean():
    generator = rng()
    truth, n = generator.random(POLICIES), 10_000
    counts = np.full(POLICIES, n)
    found = estimate_rewards(counts, truth * n, truth**2 * n + 0.1 * n, "shrunk")
    np.testing.assert_allclose(found.policies, truth, atol=0.01)


def test_with_few_plays_the_shrunk_estimate_is_nearer_to_the_truth():
    generator = rng()
    first, second = generator.normal(0, 0.1, (2, 15))
    pairs = 0.5 + (first[:, None] + second[None, :]).ravel() + generator.normal(0, 0.05, PAIRS)
    truth = np.repeat(pairs, PER_PAIR) + generator.normal(0, 0.03, POLICIES)
    counts = generator.poisson(0.7, POLICIES)
    rewards = np.repeat(truth, counts) + generator.normal(0, 0.35, counts.sum())
    arms = np.repeat(np.arange(POLICIES), counts)
    totals, squares = (np.bincount(arms, weights=w, minlength=POLICIES) for w in (rewards, rewards**2))
    seen = counts > 0
    errors = {
        kind: np.mean((estimate_rewards(counts, totals, squares, kind).policies - truth)[seen] ** 2)
        for kind in ("mean", "shrunk")
    }
    assert errors["shrunk"] < 0.1 * errors["mean"]
    best = np.argsort(-estimate_rewards(counts, totals, squares, "shrunk").pairs)[:20]
    assert pairs[best].mean() > np.quantile(pairs, 0.85)


def test_estimates_of_nothing_are_neutral_and_of_constants_constant():
    empty = estimate_rewards(np.zeros(POLICIES, dtype=np.int64), np.zeros(POLICIES), np.zeros(POLICIES), "shrunk")
    assert (empty.policies == 0.5).all()
    ones = np.ones(POLICIES)
    for n in (1, 3):
        same = estimate_rewards(ones.astype(np.int64) * n, ones * 0.25 * n, ones * 0.0625 * n, "shrunk")
        np.testing.assert_allclose(same.policies, 0.25, atol=1e-6)
    with pytest.raises(MethodError, match="shrunk"):
        estimate_rewards(ones.astype(np.int64), ones, ones, "median")


@pytest.fixture(scope="module")
def found():
    return PolicySet.from_bandit(played(), about={"seed": 0})


def test_a_set_is_ranked(found):
    means = [ranked.mean for ranked in found.policies]
    assert means == sorted(means, reverse=True)
    assert found.top(3) == found.policies[:3]
    assert found.bottom(3) == found.policies[::-1][:3]
    assert all(item.plays for item in found.policies)
    assert found.bottom_pairs(1)[0].pair == Pair("Invert", "Invert")
    best = found.top_pairs(1)[0].pair
    assert {best.first, best.second} <= {"Rotate", "Color"}
    assert "Invert" in str(found.bottom_pairs(1)[0])


def test_the_union_is_the_best_by_ucb_and_the_best_by_mean(found):
    union = {*found.union_order(50).tolist()}
    assert union == {*found.order("mean")[:50].tolist(), *found.order("ucb")[:50].tolist()}
    assert len(found.union()) >= 0.2 * np.count_nonzero(found.counts) - 1
    assert [item.policy.index for item in found.union(50)] == found.union_order(50).tolist()


def test_a_set_goes_through_json_unchanged(found, tmp_path):
    found.save(tmp_path / "set.json")
    json.loads((tmp_path / "set.json").read_text())
    again = PolicySet.load(tmp_path / "set.json")
    assert again.policies == found.policies
    assert (again.estimate, again.about) == (found.estimate, found.about)
    for name in ("counts", "totals", "squares"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))


@pytest.mark.parametrize(
    "text", ["", "{}", '{"format": 9}', "[1]", '{"format": 1, "policies": [["Twist(1), Color(2)", 1, 1, 1]]}']
)
def test_a_file_that_is_no_set_is_refused(tmp_path, text):
    (tmp_path / "set.json").write_text(text)
    with pytest.raises((StorageError, SpaceError), match=r"set\.json|Twist"):
        PolicySet.load(tmp_path / "set.json")
    with pytest.raises(StorageError, match="cannot be read"):
        PolicySet.load(tmp_path / "none.json")


def test_merging_adds_the_plays(found):
    other = PolicySet.from_bandit(played(seed=1))
    both = found.merge(other)
    assert both.plays == found.plays + other.plays
    np.testing.assert_allclose(both.totals, found.totals + other.totals)
    half = found.merge(other, weight=0.5)
    assert found.plays < half.plays <= both.plays
    with pytest.raises(MethodError, match="weight"):
        found.merge(other, weight=0)


def test_the_heat_map_has_first_operations_as_rows(found):
    values = found.heatmap()
    assert values.shape == (15, 15)
    index = Pair("Rotate", "Invert").index
    assert values[OPERATIONS.index("Rotate"), OPERATIONS.index("Invert")] == next(
        item.mean for item in found.pairs if item.pair.index == index
    )
    lonely = Bandit()
    lonely.update(0, 1.0)
    assert np.isnan(PolicySet.from_bandit(lonely).heatmap()).sum() == PAIRS - 1


def test_keeping_the_best_half_leaves_out_what_harms(found):
    kept = found.keep()
    assert len(kept) == 112 * 100
    assert {item.pair for item in found.bottom_pairs(20)}.isdisjoint(policy.pair for policy in kept)
    with pytest.raises(MethodError, match="share"):
        found.keep(0)


def test_policies_of_pairs(found):
    policies = policies_of(found.top_pairs(2))
    assert len(policies) == 200
    assert {policy.pair for policy in policies} == {item.pair for item in found.top_pairs(2)}
    assert Policy("Rotate", 0, "Color", 9) in policies_of([Pair("Rotate", "Color")])


def test_without_torch_rankings_can_be_read_and_the_rest_says_what_to_install():
    program = """
import sys
sys.modules["torch"] = None
import shoestring.augment
shoestring.augment.PolicySet
try:
    shoestring.augment.search
except ModuleNotFoundError as error:
    print(error)
from shoestring.cli import main
main(["augment"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "shoestring.augment.search needs torch: pip install 'shoestring[augment]'\n"
    assert done.stderr == "shoestring: augment needs torch: pip install 'shoestring[augment]'\n"
    assert done.returncode == 2
