"""The contract suites: what every sampler, scheduler, method, log and executor must hold to.

Authors of new ones call these from their own tests::

    from shoestring.testing import check_sampler

    def test_contract():
        check_sampler(MySampler())

Each raises an ``AssertionError`` that begins with the law that was broken. ``sampler``, ``scheduler``, ``method`` and
``executor`` are what is checked. To play a study: ``problem`` and ``space``, an ``answer`` for each grant, the
``events`` to continue from, and ``budget``, ``workers``, ``max_resource`` and ``seed`` as in ``ss.tune``.

=============================  =================================================================================
:func:`check_sampler`          a sampler: pure, new configurations of the space, on finite spaces and tables too
:func:`check_scheduler`        a scheduler: pure, rank-based, ends on a finite space, survives failures
:func:`check_method`           a method: the same decisions after a crash and without caches, within the budget
:func:`check_rank_based`       a method that must not depend on the scale of the readings
:func:`check_another_process`  methods give the same log in another process with another hash seed
:func:`check_log`              a log: events are read as appended; of two users at one position one succeeds
:func:`check_executor`         an executor: steps in order and as granted, files, failures and deadlines kept
=============================  =================================================================================

:mod:`shoestring.testing.contracts` has the same as classes of pytest to inherit, with one test for each law.
:func:`played` and :func:`asked` play a study to its end, for tests of one's own.
"""

from shoestring.testing.components import check_sampler, check_scheduler
from shoestring.testing.executors import check_executor
from shoestring.testing.laws import check_another_process, check_method, check_rank_based
from shoestring.testing.logs import check_log
from shoestring.testing.playground import Playground, asked, played

__all__ = [
    "Playground",
    "asked",
    "check_another_process",
    "check_executor",
    "check_log",
    "check_method",
    "check_rank_based",
    "check_sampler",
    "check_scheduler",
    "played",
]
