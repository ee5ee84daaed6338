"""The contract suites: what every sampler, scheduler, method, log and executor must hold to.

Authors of new ones call these from their own tests::

    from shoestring.testing import check_sampler

    def test_contract():
        check_sampler(MySampler())

Each raises an ``AssertionError`` that names the law that was broken.
"""

from shoestring.testing.components import check_sampler, check_scheduler
from shoestring.testing.executors import check_executor
from shoestring.testing.laws import check_another_process, check_method, check_rank_based
from shoestring.testing.logs import check_log
from shoestring.testing.playground import Playground, played

__all__ = [
    "Playground",
    "check_another_process",
    "check_executor",
    "check_log",
    "check_method",
    "check_rank_based",
    "check_sampler",
    "check_scheduler",
    "played",
]
