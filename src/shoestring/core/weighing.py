"""Which methods can handle several objectives and constraints.

A method, or each of its parts, says in ``judges`` how it uses losses: "nothing" if it uses none of them.
"""

from __future__ import annotations

from typing import Literal

from shoestring.core.composition import Composed

# How a component uses the losses of trials.
Judges = Literal["nothing"]


def unable_part(method: object) -> object | None:
    """The part of a method that cannot handle several objectives or constraints; None if all can."""
    if hasattr(method, "judges"):
        return None
    parts = (method.sampler, method.scheduler) if isinstance(method, Composed) else ()
    return next((part for part in parts if unable_part(part) is not None), None) if parts else method
