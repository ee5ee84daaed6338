"""Augmentation with what was found: a callable for one image or a batch, in a loader's worker or on the device.

Each image gets a policy of its own, drawn uniformly from the set. What a call draws follows from the seed, the call's
number and the loader's worker; a copy in another worker therefore draws other numbers, and the same seed gives the
same run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shoestring.augment.images import as_tensor
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import Policy, decoded
from shoestring.augment.policy_set import PolicySet, RankedPolicy
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError


class Augment:
    """Applies policies of a set, or of a list of policies, to PIL images, tensors and batches.

    A set stands for what :meth:`~shoestring.augment.PolicySet.keep` gives, all levels of the better half of its
    pairs; give ``found.union()`` or ``found.top(50)`` for another choice. What comes in goes out: a PIL image, a tensor
    (channels, height, width) or (n, channels, height, width), uint8 or floats from 0 to 1, on its device.

    >>> augment = Augment([Policy("Invert", 9, "Rotate", 0)], seed=1)
    >>> int(augment(torch.zeros(3, 8, 8, dtype=torch.uint8)).min())
    255
    """

    def __init__(self, policies: PolicySet | Sequence[Policy | RankedPolicy], *, seed: int = 0) -> None:
        self._indices = _indices(policies)
        self._seed = seed
        self._calls = 0

    def __call__(self, given: Any) -> Any:
        if torch.is_tensor(given):
            batch = given if given.ndim == 4 else given[None]
            return self._batch(batch).view_as(given)
        if not hasattr(given, "convert"):
            raise SpaceError(
                f"{type(given).__name__} was given; Augment takes a PIL image, a tensor or a batch of them"
            )
        return _as_pil(self._batch(as_tensor(given)[None])[0])

    def _batch(self, images: Tensor) -> Tensor:
        rng = generator(self._seed, self._calls, f"augment {_worker()}")
        self._calls += 1
        operations, levels = decoded(self._indices[rng.integers(len(self._indices), size=len(images))])
        return apply_policies(images, operations, levels, rng.random((2, len(images), DRAWS)))

    def state_dict(self) -> dict[str, int]:
        """How many calls were made: with it a training that is continued draws what it would have drawn."""
        return {"calls": self._calls}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._calls = state["calls"]

    def __repr__(self) -> str:
        return f"Augment({len(self._indices)} policies, seed={self._seed})"


class AugmentModule(torch.nn.Module):  # type: ignore[misc]
    """The same as a module of batches, which augments while it is in training mode only."""

    def __init__(self, policies: PolicySet | Sequence[Policy | RankedPolicy], *, seed: int = 0) -> None:
        super().__init__()
        self.augment = Augment(policies, seed=seed)

    def forward(self, images: Tensor) -> Tensor:
        return self.augment(images) if self.training else images

    def extra_repr(self) -> str:
        return repr(self.augment)


def _indices(policies: PolicySet | Sequence[Policy | RankedPolicy]) -> Any:
    chosen = policies.keep() if isinstance(policies, PolicySet) else policies
    found = np.array([(p.policy if isinstance(p, RankedPolicy) else p).index for p in chosen], dtype=np.int64)
    if not len(found):
        raise SpaceError("there is no policy to apply: the set is empty")
    return found


def _worker() -> str:
    """The loader's worker this runs in, with the seed the loader gave it for this epoch; empty outside of one."""
    info = torch.utils.data.get_worker_info()
    return "" if info is None else f"{info.id}/{info.seed}"


def _as_pil(image: Tensor) -> Any:
    from PIL import Image

    array = image.permute(1, 2, 0).numpy()
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
