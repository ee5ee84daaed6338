"""A guess as configurations: what the user guessed itself, then draws near it.

A guess may name some of the parameters alone. The others are drawn from the space, as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from shoestring._arrays import Array
from shoestring.core.randomness import generator
from shoestring.core.untried import nearest_row
from shoestring.errors import SpaceError, brief
from shoestring.spaces.axes import native
from shoestring.spaces.codec import Codec, Config, in_words, is_legal
from shoestring.spaces.parameters import guess_in

# How many draws near the guess are planned, their standard deviation in the unit cube on every ordered axis, and the
# probability that an unordered choice is kept.
NEAR, SD, _KEPT = 4, 0.15, 0.8
# How often another draw is made where one repeats an earlier one, or the space forbids it.
_DRAWS = 100


def check_guess(codec: Codec, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The guess of a study: what its parameters were written with, then what is given; each value checked."""
    found = {name: value for name in codec.names for value in guess_in(codec.space[name])}
    if given is not None and not isinstance(given, Mapping):
        raise SpaceError(
            f"guess is {brief(given)}; give values by the names of parameters, such as guess={{'lr': 3e-3}}"
        )
    for name, value in {**found, **(given or {})}.items():
        found[name] = _legal(codec, name, value)
    return found


def _legal(codec: Codec, name: str, value: Any) -> Any:
    if name not in codec.names:
        known = ", ".join(codec.names)
        raise SpaceError(f"the guess has {name!r}, which is not a parameter that can vary; these are {known}")
    axis = codec.axes[codec.names.index(name)]
    own = axis.own_value(native(value))
    is_switch = isinstance(native(value), bool) and not axis.choices
    if is_switch or not is_legal(codec.space[name], own):
        raise SpaceError(f"the guess of {name!r} is {brief(value)}, outside of {in_words(codec.space[name])}")
    return own


def draw_guesses(codec: Codec, guess: Mapping[str, Any], seed: int) -> Iterator[tuple[Config, float]]:
    """The configurations of a guess, each with its standard deviation: 0 for the guess itself."""
    seen = set()
    for number in range(1 + NEAR if guess else 0):
        rng = generator(seed, number, "guess")
        drawn = (_config_at(codec, _point(codec, guess, rng, near=number > 0)) for _ in range(_DRAWS))
        config = _most_guessed((one for one in drawn if one is not None and Codec.key(one) not in seen), guess)
        if config is None and not number:
            raise SpaceError(f"the guess {dict(guess)} is forbidden by the space")
        if config is not None:
            config = config if number or codec.rows else {name: guess.get(name, config[name]) for name in config}
            seen.add(Codec.key(config))
            yield config, SD if number else 0.0


def _most_guessed(configs: Iterable[Config], guess: Mapping[str, Any]) -> Config | None:
    """The first of these that has most of the guessed parameters, as some of them may be inactive; None without any.

    None is drawn after one that has all of them.
    """
    found, most = None, -1
    for config in configs:
        active = len(guess.keys() & config.keys())
        if active > most:
            found, most = config, active
        if most == len(guess):
            break
    return found


def _point(codec: Codec, guess: Mapping[str, Any], rng: np.random.Generator, near: bool) -> Array:
    point = codec.sample_point(rng)
    for i, axis in enumerate(codec.axes):
        if axis.name not in guess:
            continue
        centre = axis.encode(guess[axis.name])
        if not near:
            point[i] = centre
        elif axis.categorical:
            point[i] = centre if rng.random() < _KEPT else point[i]
        else:
            point[i] = _draw_truncated(rng, centre)
    return point


def _draw_truncated(rng: np.random.Generator, centre: float) -> float:
    """A normal draw around the centre that is inside of the unit interval."""
    while not 0 <= (drawn := rng.normal(centre, SD)) <= 1:
        pass
    return drawn


def _config_at(codec: Codec, point: Array) -> Config | None:
    """The configuration at a point, on a table the nearest row; None if the space forbids it."""
    if codec.rows is not None:
        return dict(codec.rows[nearest_row(codec, point, np.ones(len(codec.rows), dtype=bool))])
    config = codec.decode(point)
    return config if codec.allowed(config) else None
