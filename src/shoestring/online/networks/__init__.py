"""Self-tuning networks (needs torch): hyper-parameters tuned by gradient descent, in rounds that a bandit chooses.

A self-tuning network (MacKay, Vicol, Lorraine, Duvenaud and Grosse, ICLR 2019) has weights that respond to its
hyper-parameters, such as dropout rates and strengths of augmentation, so that these can be tuned during one training.
A tuning step costs about as much as a training step. Wang, Ren, Bogunovic, Xiong and Urtasun (Cost-efficient online
hyperparameter optimization, ACML 2021, section 5.2) let a bandit with two arms choose in every round whether to tune.

``ranges`` are the low and the high end of each hyper-parameter by its name, and ``start`` where some of them start;
``width`` is the width of the perturbations at the start. ``hyper`` is the number of hyper-parameters that a layer
responds to; ``inputs``, ``outputs``, ``kernel``, ``stride`` and ``padding`` are those of torch's layers. ``name`` is
the hyper-parameter that is the rate of a dropout layer, and ``network`` any module that has such layers inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names, with_torch

if TYPE_CHECKING:
    from shoestring.online.networks.layers import (
        Conv2d as Conv2d,
        Dropout as Dropout,
        HyperParameters as HyperParameters,
        Linear as Linear,
        SelfTuning as SelfTuning,
    )
    from shoestring.online.networks.training import (
        ARMS as ARMS,
        RoundOfTraining as RoundOfTraining,
        Training as Training,
    )

__all__, _load, __dir__ = lazy_names(
    __name__,
    {"layers": "Conv2d Dropout HyperParameters Linear SelfTuning", "training": "ARMS RoundOfTraining Training"},
)
__getattr__ = with_torch(__name__, _load)
