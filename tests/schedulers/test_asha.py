"""ASHA against a slow, obvious version of itself."""

import math

from hypothesis import given, settings, strategies as st

import shoestring as ss
from shoestring.core.decisions import Continue, Start
from shoestring.schedulers import ASHA
from shoestring.schedulers.rungs import ladder

SPACE = {"x": (0.0, 1.0)}


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
