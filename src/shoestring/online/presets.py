"""CE-GP-UCB by name: TV-GP-UCB that looks only when it is not confident."""

from __future__ import annotations

from typing import Any

from shoestring.online.looks import Confident
from shoestring.online.policies import TVGPUCB
from shoestring.online.tuner import OnlineTuner


def CEGPUCB(  # noqa: N802 - an algorithm's name, used like a class
    space_or_arms: Any,
    *,
    horizon: int | None = None,
    kappa: float = 0.9,
    seed: int = 0,
    greedy_when_blind: bool = False,
    clip: tuple[float, float] | None = None,
    **policy: Any,
) -> OnlineTuner:
    """Algorithm 1 of Wang et al. (2021); further arguments go to :class:`TVGPUCB`, what is left out is learned.

    >>> tuner = CEGPUCB({"lr": (0.0, 1.0)}, horizon=2000, kappa=0.9, seed=0)
    >>> tuner.ask().look
    True
    """
    return OnlineTuner(
        space_or_arms,
        TVGPUCB(**policy),
        Confident(kappa, greedy_when_blind=greedy_when_blind),
        horizon=horizon,
        seed=seed,
        clip=clip,
    )
