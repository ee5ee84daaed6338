"""Augmentation with the policies that were found: a callable for one image or a batch, on any device.

Each image gets its own policy, drawn uniformly from the set. The draws of a call follow from the seed, the number of
the call and the data loader's worker: copies in several workers draw different numbers, and the same seed repeats a
run.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from shoestring._arrays import Codes
from shoestring.augment.images import as_tensor
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import Policy, decode
from shoestring.core.randomness import generator
from shoestring.errors import SpaceError

if TYPE_CHECKING:
    from shoestring.augment.policy_set import PolicySet, RankedPolicy

Policies: TypeAlias = "PolicySet | Sequence[Policy | RankedPolicy]"


class Augment:
    """Applies policies of a set, or of a list of policies, to PIL images, tensors and batches.

    For a set, :meth:`~shoestring.augment.PolicySet.keep` chooses all levels of the better half of its pairs; give
    ``found.union()`` or ``found.top(50)`` for another choice. The result has the type of the input: a PIL image, or a
    tensor (channels, height, width) or (n, channels, height, width), uint8 or floats from 0 to 1, on its device.

    >>> augment = Augment([Policy("Invert", 9, "Rotate", 0)], seed=1)
    >>> int(augment(torch.zeros(3, 8, 8, dtype=torch.uint8)).min())
    255
    """

    def __init__(self, policies: Policies, *, seed: int = 0) -> None:
        self._indices = _indices(policies)
        self._seed = seed
        self._calls = 0

    def __call__(self, given: Any) -> Any:
        if torch.is_tensor(given):
            return self._batch(given if given.ndim == 4 else given[None]).view_as(given)
        if not hasattr(given, "convert"):
            raise SpaceError(
                f"{type(given).__name__} was given; Augment takes a PIL image, a tensor or a batch of them"
            )
        return _as_pil(self._batch(as_tensor(given)[None])[0])

    def _batch(self, images: Tensor) -> Tensor:
        rng = generator(self._seed, self._calls, f"augment {_worker()}")
        self._calls += 1
        policies = self._indices[rng.integers(len(self._indices), size=len(images))]
        return apply_policies(images, *decode(policies), rng.random((2, len(images), DRAWS)))

    def state_dict(self) -> dict[str, int]:
        """The number of calls so far: restore it to continue a training with the same draws."""
        return {"calls": self._calls}

    def digest(self) -> str:
        """A hash of the policies and the seed."""
        content = f"{self._seed} {self._indices.tolist()}"
        return blake2b(content.encode(), digest_size=8).hexdigest()

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._calls = state["calls"]

    def __repr__(self) -> str:
        return f"Augment({len(self._indices)} policies, seed={self._seed})"


class AugmentModule(torch.nn.Module):  # type: ignore[misc]
    """The same as a module of batches, which augments in training mode only."""

    def __init__(self, policies: Policies, *, seed: int = 0) -> None:
        super().__init__()
        self.augment = Augment(policies, seed=seed)

    def forward(self, images: Tensor) -> Tensor:
        return self.augment(images) if self.training else images

    def extra_repr(self) -> str:
        return repr(self.augment)


def _indices(policies: Policies) -> Codes:
    chosen = policies if isinstance(policies, Sequence) else policies.keep()
    if not chosen:
        raise SpaceError("there is no policy to apply: the set is empty")
    return np.array([(p if isinstance(p, Policy) else p.policy).index for p in chosen], dtype=np.int64)


def _worker() -> str:
    """The data loader's worker and its seed for this epoch; empty outside of a worker."""
    info = torch.utils.data.get_worker_info()
    return "" if info is None else f"{info.id}/{info.seed}"


def _as_pil(image: Tensor) -> Any:
    from PIL import Image

    array = image.permute(1, 2, 0).numpy()
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)
