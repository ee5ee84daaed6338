"""Broken samplers, each of which the contract suite must refuse, by the law that it breaks."""

import random
import time
from dataclasses import dataclass
from typing import ClassVar
from zlib import crc32

import numpy as np
import pytest

from shoestring import compose
from shoestring.core.decisions import Proposal
from shoestring.core.randomness import generator
from shoestring.core.untried import free_rows, tried
from shoestring.samplers import Random
from shoestring.schedulers import Full
from shoestring.spaces.codec import Codec
from shoestring.testing import check_another_process, check_sampler


def good(history, rng, reason="random", **options):
    return Proposal(Random().propose(history, rng).config, reason, **options)


class GlobalRandomness:
    def propose(self, history, rng):
        return good(history, np.random.default_rng(np.random.randint(2**31)))


class PythonsRandomness:
    def propose(self, history, rng):
        return good(history, generator(0, random.getrandbits(31), "mutant"))


class FreshEntropy:
    def propose(self, history, rng):
        return good(history, np.random.default_rng())


@dataclass
class Remembers:
    """Its own counter instead of the history's."""

    calls: int = 0

    def propose(self, history, rng):
        self.calls += 1
        return good(history, generator(0, self.calls, "mutant"))


@dataclass(frozen=True)
class RemembersInItsClass:
    best: ClassVar[list[float]] = []

    def propose(self, history, rng):
        self.best.extend(loss for *_, loss in history.readings[-1:])
        return good(history, generator(0, int(1e6 * min(self.best, default=0)), "mutant"))


class StaleCache:
    """It never learns what happened after it was first asked."""

    def propose(self, history, rng):
        seen = history.cached("stale", lambda: len(history.readings))
        return good(history, generator(0, seen + 1000 * len(history.arms), "mutant"))


class GrowingCache:
    def propose(self, history, rng):
        calls = history.cached("calls", list)
        calls.append(1)
        return good(history, generator(0, len(calls), "mutant"))


class ReadsTheClock:
    def propose(self, history, rng):
        return good(history, generator(0, int(time.time() / 86400) + 10_000 * len(history.arms), "mutant"))


class OutsideOfTheSpace:
    def propose(self, history, rng):
        config = good(history, rng).config
        return Proposal({**config, "rate": 2.0} if "rate" in config else config, "too fast")


class InactiveParameter:
    def propose(self, history, rng):
        config = good(history, rng).config
        return Proposal({"bend": 0.5, **config} if "kind" in config else config, "it is always bent")


class Repeats:
    def propose(self, history, rng):
        return good(history, generator(0, 0, "mutant"))


class ChangesTheHistory:
    def propose(self, history, rng):
        if history.closings:
            history.closings[0].message = "it was I"
        return good(history, rng)


class SortsTheHistory:
    def propose(self, history, rng):
        history.readings.sort(key=lambda reading: reading[2])
        return good(history, rng)


class NoReason:
    def propose(self, history, rng):
        return good(history, rng, reason=" ")


class NotWritable:
    def propose(self, history, rng):
        return good(history, rng, explanation={"scores": np.zeros(3)})


class WritesNan:
    def propose(self, history, rng):
        return good(history, rng, explanation={"score": float("nan")})


class NoProposal:
    def propose(self, history, rng):
        return good(history, rng).config


class NeedsReadings:
    """It works as soon as anything succeeded, and only then."""

    def propose(self, history, rng):
        if len(history.arms) > 10:
            min(loss for *_, loss in history.readings)
        return good(history, rng)


class DividesByTheSpread:
    def propose(self, history, rng):
        losses = [loss for *_, loss in history.readings]
        if len(losses) > 3:
            _ = 1 / (max(losses) - min(losses))
        return good(history, rng)


class InsistsOnTheForbidden:
    def propose(self, history, rng):
        codec = history.codec
        drawn = [codec.decode(rng.random(codec.dimensions)) for _ in range(9)]
        forbidden = [config for config in drawn if not codec.allowed(config)]
        return Proposal(forbidden[0], "it is allowed to me") if forbidden else good(history, rng)


class GivesUpEarly:
    def propose(self, history, rng):
        codec, keys = history.codec, tried(history)
        left = [c for c in codec.everything if Codec.key(c) not in keys] if codec.finite else [1, 2]
        return good(history, rng) if len(left) > 1 else None


class FailsOnTheLastRow:
    def propose(self, history, rng):
        if history.codec.rows is not None:
            _ = 1 / int(free_rows(history).sum() - 1)
        return good(history, rng)


@dataclass(frozen=True)
class HashOrder:
    """The order of a set of texts differs from process to process."""

    def propose(self, history, rng):
        order = ",".join({"kind", "rate", "width", "bend", *map(str, range(20))})
        return good(history, generator(len(history.arms), crc32(order.encode()), "mutant"))


MUTANTS = {
    GlobalRandomness: "crash anywhere|pure decisions|cached equals fresh",
    PythonsRandomness: "crash anywhere|pure decisions|cached equals fresh",
    FreshEntropy: "crash anywhere|cached equals fresh",
    Remembers: "crash anywhere|cached equals fresh",
    RemembersInItsClass: "crash anywhere|cached equals fresh",
    StaleCache: "crash anywhere|cached equals fresh",
    GrowingCache: "crash anywhere|cached equals fresh",
    ReadsTheClock: "cached equals fresh",
    OutsideOfTheSpace: "outside of the space",
    InactiveParameter: "possible decisions: .*inactive",
    Repeats: "no duplicates",
    ChangesTheHistory: "pure decisions: the history",
    SortsTheHistory: "pure decisions: the history",
    NoReason: "reasons",
    NotWritable: "stable JSON",
    WritesNan: "stable JSON",
    NoProposal: "must be a Proposal",
    InsistsOnTheForbidden: "no duplicates",
    GivesUpEarly: "finite spaces",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_sampler_is_refused(mutant):
    with pytest.raises((AssertionError, AttributeError), match=MUTANTS[mutant]):
        check_sampler(mutant())


@pytest.mark.parametrize("mutant", [NeedsReadings, DividesByTheSpread, FailsOnTheLastRow], ids=lambda m: m.__name__)
def test_a_sampler_that_breaks_on_an_unusual_study_is_refused(mutant):
    with pytest.raises((ValueError, ZeroDivisionError)):
        check_sampler(mutant())


def test_a_sampler_that_depends_on_the_order_of_a_set_is_refused():
    with pytest.raises(AssertionError, match=r"another process: .*HashOrder"):
        check_another_process(compose(HashOrder(), Full()))


def test_the_sampler_that_the_mutants_are_made_of_is_accepted():
    check_sampler(Random())
