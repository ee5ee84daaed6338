"""Values that a component writes with a grant: explanations are for people, state is read back by its owner alone."""

from dataclasses import dataclass

import pytest

import shoestring as ss
from shoestring.core.decisions import Continue, Proposal, Start, read_state, write_state
from shoestring.core.events import from_json, to_json
from shoestring.errors import CorruptLog, OlderLog
from shoestring.executors import Simulated
from shoestring.methods.parallel_boss import _Place
from shoestring.samplers import Random
from shoestring.schedulers import ASHA
from shoestring.testing import Playground


@dataclass(frozen=True)
class Forger:
    """A sampler that writes the names under which schedulers once kept their state."""

    def propose(self, history, rng):
        words = {"goal": 9, "bracket": 7, "round": 2, "by": "guard", "rule": "guard", "generation": 3}
        return Proposal(Random().propose(history, rng).config, "random", words, _Place(7, 2))


def grants_of(method, budget="120 steps", workers=4):
    study = ss.Study(Playground().space, budget=budget, method=method, max_resource=9)
    study.run(Playground(), executor=Simulated(workers))
    return [(g.trial, g.start, g.until, g.config) for g in study.history.grants]


def test_a_sampler_cannot_write_what_a_scheduler_reads():
    assert grants_of(ss.compose(Forger(), ASHA())) == grants_of(ss.compose(Random(), ASHA()))


def test_nor_what_the_method_around_it_reads():
    forged, honest = (grants_of(ss.methods.ParallelBOSS(sampler=sampler)) for sampler in (Forger(), Random()))
    assert forged == honest


def test_the_states_of_sampler_and_scheduler_are_kept_apart():
    class Keeper:
        def next(self, history, may_start=True):
            return Start(1, "a new one", state=_Place(1, 0), sampler_state=_Place(5, 5))

    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method=ss.compose(Forger(), Keeper()))
    study.ask()
    granted = study.history.grants[0]
    assert read_state(_Place, granted.state) == _Place(1, 0)
    assert read_state(_Place, granted.sampler_state) == _Place(7, 2)
    assert granted.explanation["goal"] == 9


def test_state_survives_the_log_and_is_checked():
    @dataclass(frozen=True)
    class Kind:
        number: int
        word: str

    stored = write_state(Kind(3, "x"))
    assert read_state(Kind, stored) == Kind(3, "x")
    assert read_state(Kind, None) is None
    assert read_state(_Place, stored) is None
    for damaged in ({**stored, "number": "3"}, {**stored, "more": 1}, {"kind": "Kind", "word": "x"}):
        with pytest.raises(CorruptLog, match="Kind"):
            read_state(Kind, damaged)


def test_the_goal_of_a_grant_that_was_cut_is_the_core_s():
    class Whole:
        def decide(self, history, rng):
            if history.trials:
                return Continue(0, 9, "the rest")
            return Start(4, "a first part", {"x": 0.5})

    study = ss.Study({"x": (0.0, 1.0)}, budget="6 steps", method=Whole(), max_resource=9)
    for _ in range(2):
        grant = study.ask()
        study.tell(grant, [0.5] * (grant.until - grant.start))
    trial = study.trials[0]
    assert (trial.until, trial.goal) == (6, 9)
    assert [g.goal for g in study.history.grants] == [None, 9]


def test_a_log_of_the_first_format_is_refused_by_name():
    study = ss.Study({"x": (0.0, 1.0)}, budget="3 evaluations", method="random")
    body = to_json(study.events()[0]).replace('"v":3', '"v":1')
    with pytest.raises(OlderLog, match=r"format 1, of an earlier version.*export"):
        from_json("opened", 0.0, body, 0)
