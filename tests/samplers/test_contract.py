"""Every sampler holds to the contract."""

import pytest

from shoestring import compose, samplers
from shoestring.methods import named
from shoestring.samplers import BOES, TPE, GaussianProcess
from shoestring.schedulers import Full
from shoestring.testing import check_rank_based, check_sampler

SAMPLERS = {
    "thesis": BOES.thesis(),
    "tpe-by-axis": TPE(multivariate=False),
    "gp-liar": GaussianProcess(liar="min"),
}


@pytest.mark.parametrize("name", samplers.__all__)
def test_samplers(name):
    check_sampler(getattr(samplers, name)())


@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_options(sampler):
    check_sampler(sampler)


@pytest.mark.parametrize("name", samplers.__all__)
def test_samplers_look_at_ranks(name):
    check_rank_based(compose(getattr(samplers, name)(), Full()))


def test_full_is_the_scheduler_of_methods_that_only_sample():
    assert named("tpe") == compose(TPE(), Full())
