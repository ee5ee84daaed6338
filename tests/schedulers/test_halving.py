"""The schedulers against the papers' tables and against slow, obvious versions of themselves."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoestring as ss
from shoestring.core.budget import Budget
from shoestring.core.decisions import Continue, Start
from shoestring.schedulers import ASHA, SuccessiveHalving
from shoestring.schedulers.brackets import hyperband_brackets, quota
from shoestring.schedulers.rungs import ladder

SPACE = {"x": (0.0, 1.0)}


def test_hyperband_brackets_are_those_of_the_published_table():
    """Li et al., JMLR 18 (2018), Table 1: R = 81, eta = 3. (The 2016 preprint has other sizes.)"""
    rule, table = SuccessiveHalving(eta=3), []
    for bracket in hyperband_brackets(81, 1, 3):
        budgets = list(itertools.takewhile(bool, (rule.budget(bracket, turn) for turn in range(9))))
        table.append([(quota(bracket.arms, turn, 3), budget) for turn, budget in enumerate(budgets)])
    assert table == [
        [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
        [(34, 3), (11, 9), (3, 27), (1, 81)],
        [(15, 9), (5, 27), (1, 81)],
        [(8, 27), (2, 81)],
        [(5, 81)],
    ]


def play(method, max_resource, loss, budget=10_000, arms=None):
    """One worker, every grant answered at once; the grants in order."""
    study = ss.Study(SPACE, budget=Budget(steps=budget, evaluations=arms), method=method, max_resource=max_resource)
    grants = []
    while (grant := study.ask()) is not None:
        grants.append(grant)
        study.tell(grant, [loss(grant.trial, step) for step in range(grant.start + 1, grant.until + 1)])
    return study, grants


def test_one_bracket_of_successive_halving_in_full():
    _, grants = play("sh", 9, lambda trial, step: (trial * 5) % 9, budget=9 + 3 * 2 + 6)
    assert [(g.start, g.until) for g in grants] == [(0, 1)] * 9 + [(1, 3)] * 3 + [(3, 9)]
    ranked = sorted(range(9), key=lambda trial: (trial * 5) % 9)
    assert [g.trial for g in grants[9:12]] == ranked[:3]
    assert grants[12].trial == ranked[0]


def test_ties_go_by_log_order():
    _, grants = play("sh", 9, lambda trial, step: 1.0, budget=9 + 6 + 6)
    assert [g.trial for g in grants[9:]] == [0, 1, 2, 0]
    _, grants = play("asha", 9, lambda trial, step: 1.0, budget=30)
    promoted = [g.trial for g in grants if g.until == 3]
    assert promoted == sorted(promoted)


def test_the_next_bracket_begins_while_one_waits_unless_told_not_to():
    for overlap, expected in ((True, "open"), (False, "waiting")):
        method = ss.compose(ss.samplers.Random(), SuccessiveHalving(overlap=overlap))
        study = ss.Study(SPACE, budget="100 steps", method=method, max_resource=9)
        grants = [study.ask() for _ in range(9)]
        for grant in grants[:-1]:
            study.tell(grant, 1.0)
        assert study.state == expected


def test_a_failed_arm_is_never_promoted_and_does_not_block():
    study = ss.Study(SPACE, budget="100 steps", method="sh", max_resource=9)
    for i in range(9):
        grant = study.ask()
        study.fail(grant, "broke") if i % 2 else study.tell(grant, float(i))
    assert study.ask().trial == 0


def naive_asha(history, eta, rungs):
    """Algorithm 2 of the ASHA paper, written out over the whole history at every call."""
    for level in range(len(rungs) - 2, -1, -1):
        rung = rungs[level]
        here = [(t.losses[rung], t.index) for t in history.trials if rung in t.losses]
        here += [(math.inf, t.index) for t in history.trials if t.state == "failed" and _next(t.step, rungs) == rung]
        top = sorted(here)[: int(len(here) / eta)]
        for loss, index in top:
            trial = history.trials[index]
            if math.isfinite(loss) and trial.state == "paused" and trial.step == rung:
                return index, rungs[level + 1]
    return None, rungs[0]


def _next(step, rungs):
    return next((rung for rung in rungs if rung > step), None)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    eta=st.sampled_from([2, 3, 4]),
    order=st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ttttf")), min_size=30, max_size=80),
    ties=st.booleans(),
)
def test_asha_is_the_papers_algorithm(seed, eta, order, ties):
    """With several grants open, reports in any order, failures and ties."""
    rungs = ladder(1, 16, eta)
    study = ss.Study(
        SPACE, budget="100000 steps", method=ss.compose(ss.samplers.Random(), ASHA(eta=eta)), max_resource=16, seed=seed
    )
    held = []
    for which, what in order:
        while len(held) < 4:
            expected = naive_asha(study.history, eta, rungs)
            decision = ASHA(eta=eta).next(study.history)
            if isinstance(decision, Continue):
                assert (decision.trial, decision.until) == expected
            else:
                assert isinstance(decision, Start)
                assert (None, decision.until) == expected
            held.append(study.ask())
        grant = held.pop(which % len(held))
        if what == "f":
            study.fail(grant, "broke")
        else:
            value = grant.config["x"] if not ties else round(grant.config["x"], 1)
            study.tell(grant, value + 1 / grant.until)


@pytest.mark.parametrize(("low", "high", "eta"), [(1, 81, 3), (2, 50, 3), (1, 7, 1.5), (5, 5, 3), (1, 100, 2)])
def test_ladders_rise_and_end_at_the_top(low, high, eta):
    rungs = ladder(low, high, eta)
    assert rungs[-1] == high
    assert list(rungs) == sorted(set(rungs))
    assert rungs[0] >= low


def test_asha_wins_over_random_where_stopping_pays():
    def loss(x, step):
        return x + 1 / step

    def best(method):
        values = []
        for seed in range(10):
            study = ss.Study(SPACE, budget="200 steps", method=method, max_resource=27, seed=seed)
            while (grant := study.ask()) is not None:
                study.tell(grant, [loss(grant.config["x"], s) for s in range(grant.start + 1, grant.until + 1)])
            values.append(study.best.value)
        return sum(values) / len(values)

    assert best("asha") < best("random") - 0.02
    assert best("hyperband") < best("random")
