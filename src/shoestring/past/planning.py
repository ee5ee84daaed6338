"""The plan of a new study, from its user's past and guess.

======== ============================================================================ =======
symbol   meaning                                                                      shape
======== ============================================================================ =======
c        candidates: the three best configurations of every past study               (m,)
R        how much worse than its best a past study expects a candidate to end         (k, m)
======== ============================================================================ =======

The portfolio is chosen greedily: each candidate is the one with which Σ over studies of min over the chosen of R
becomes smallest. So the first is good everywhere, and the next ones are good where the first are not. Ties go to the
candidate that is better on the whole. It has at most five configurations; with more than ten past studies there are
further winners, which ``core/planned.py`` tries while little of the budget is used. It ends where the sum hardly falls:
the winners of one study are often copies of each other, and studies of the same model agree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from shoestring._arrays import Array
from shoestring.core.events import LONGEST_PLAN
from shoestring.core.planned import FIRST, GUESS
from shoestring.past.forecasts import PastForecast
from shoestring.past.guesses import check_guess, draw_guesses
from shoestring.past.opening import Asked, PastStudy, PlanMade
from shoestring.past.sources import Source, described, sources
from shoestring.spaces.codec import Codec, Config

T = TypeVar("T")

# With more past studies than this, more of their winners are planned than the portfolio has.
_MANY_STUDIES = 10
# A further configuration must lower the sum over studies by this much, in standard deviations of the scores of a study.
_LEAST_GAIN = 0.1


def plan_if_new(asked: Asked) -> PlanMade:
    """The plan of a study. A stored one has its own: its past is not read, and may be gone.

    With several objectives, fronts of the past are candidates, where it has them.
    """
    codec, past = Codec(asked.space), asked.past
    guess = check_guess(codec, asked.guess)
    found = [] if past is None or asked.log.find(asked.name) is not None else sources(past, asked.log, asked.name)
    studies = [_read(source, codec, guess, asked.several) for source in found]
    entries = _entries(codec, guess, asked.seed, studies)
    return PlanMade(entries, tuple(studies), "" if past is None else described(past))


def _entries(
    codec: Codec, guess: Mapping[str, Any], seed: int, studies: list[PastStudy]
) -> tuple[Mapping[str, Any], ...]:
    """The guess and the portfolio of the past take turns."""
    own = [{"config": config, "origin": GUESS, "sd": sd} for config, sd in draw_guesses(codec, guess, seed)]
    chosen = [{"config": config, "origin": digest, "sd": 0.0} for config, digest in _portfolio(studies)]
    mixed: list[Mapping[str, Any]] = [entry for pair in zip_longest(own, chosen) for entry in pair if entry is not None]
    return tuple(_each_once(mixed, lambda entry: Codec.key(entry["config"])))[:LONGEST_PLAN]


def _each_once(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The items without later ones that have the key of an earlier one."""
    found: dict[Hashable, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


def _read(source: Source, codec: Codec, guess: Mapping[str, Any], several: bool) -> PastStudy:
    if source.history is None:
        return PastStudy(source.name, source.digest, source.problem)
    forecast = PastForecast(source.history, codec, guess, several)
    trials = len(source.history.trials)
    if not forecast.same.common:
        return PastStudy(source.name, source.digest, "no common parameter", trials)
    if not forecast.winners:
        why = "all of it is outside of the space" if forecast.outside else "no result"
        return PastStudy(source.name, source.digest, why, trials, forecast.outside)
    return PastStudy(source.name, source.digest, "", trials, forecast.outside, forecast)


def _portfolio(studies: list[PastStudy]) -> Iterator[tuple[Config, str]]:
    """The chosen configurations, in the order in which they were chosen, each with the digest of its study."""
    used = [(study.forecast, study.digest) for study in studies if study.forecast is not None]
    winners = [(each, digest) for forecast, digest in used for each in forecast.winners]
    listed = _each_once(winners, lambda winner: Codec.key(winner[0]))
    if not listed:
        return
    R = np.array([forecast.regrets([config for config, _ in listed]) for forecast, _ in used])
    most = LONGEST_PLAN if len(used) > _MANY_STUDIES else FIRST
    fronts = any(forecast.of_front for forecast, _ in used)  # whose ends differ, though none is better
    yield from (listed[i] for i in _greedy(R, most, -np.inf if fronts else _LEAST_GAIN))


def _greedy(R: Array, most: int, least_gain: float) -> list[int]:
    """The columns of R with which the sum over its rows of the least value falls fastest, until it hardly falls."""
    totals, least, chosen = R.sum(axis=0), np.full(len(R), np.inf), list[int]()
    while len(chosen) < min(most, R.shape[1]):
        sums = np.round(np.minimum(R, least[:, None]).sum(axis=0), 9)
        rest = [i for i in range(R.shape[1]) if i not in chosen]
        best = min(rest, key=lambda i: (sums[i], totals[i], i))
        if chosen and sums[best] > least.sum() - least_gain:
            break
        chosen.append(best)
        least = np.minimum(least, R[:, best])
    return chosen
