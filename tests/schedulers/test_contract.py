"""Every scheduler holds to the contract, with each of its options; and the reductions of one to another."""

import pytest

from shoestring import compose, schedulers
from shoestring.core.events import Granted
from shoestring.samplers import Random
from shoestring.schedulers import (
    ASHA,
    AsyncSubSampling,
    Hyperband,
    ModifiedSubSampling,
    SubSampling,
    SuccessiveHalving,
)
from shoestring.testing import check_scheduler, played


@pytest.mark.parametrize("name", schedulers.__all__)
def test_schedulers(name):
    check_scheduler(getattr(schedulers, name)())


@pytest.mark.parametrize(
    "scheduler",
    [
        Hyperband(overlap=False),
        Hyperband(replicate="fresh"),
        SuccessiveHalving(arms=5),
        ASHA(eta=2, min_resource=2),
        ASHA(replicate="fresh"),
        SubSampling(compare="samples"),
        SubSampling(compare="rung", replicate="resume"),
        ModifiedSubSampling(compare="samples", weights="budget"),
        ModifiedSubSampling(compare="rung", replicate="resume", overlap=False),
        AsyncSubSampling(compare="rung", replicate="resume"),
        AsyncSubSampling(compare="samples"),
    ],
    ids=repr,
)
def test_options(scheduler):
    check_scheduler(scheduler)


def plan_of(scheduler):
    events = played(compose(Random(), scheduler))[1]
    return [(e.trial, e.config, e.start, e.until) for e in events if isinstance(e, Granted)]


def test_hyperband_with_one_bracket_is_successive_halving():
    assert plan_of(Hyperband(brackets=1)) == plan_of(SuccessiveHalving())
