"""Successive halving and Hyperband against the paper's table, and how ties and failures are treated."""

import itertools

import shoestring as ss
from shoestring.core.budget import Budget
from shoestring.schedulers import SuccessiveHalving
from shoestring.schedulers.brackets import hyperband_brackets, quota

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
