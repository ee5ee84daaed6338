"""The fifteen operations on batches of images, each image at its own level.

Images are (n, channels, height, width) with one channel or three, of at least 8 × 8 pixels: ``uint8``, or floats from
0 to 1. Inside, pixels are floats from 0 to 255; ``uint8`` images are rounded after each operation as PIL does. Random
choices (the sign of a shear, lighter or darker, the place of a cut-out) are passed in as numbers from 0 to 1, so the
same numbers give the same images on every device.

============ ======================================== =========================================
operation    at level l, s = l/9                      compared to PIL
============ ======================================== =========================================
ShearX/Y     ± .3·s                                   nearest neighbour, black outside: exact
TranslateX/Y ± .45·s of the width or height           exact
Rotate       ± 30°·s                                  exact
AutoContrast blended in with the weight (l+1)/10      exact at 9, else PIL's blend
Invert       blended in with the weight .7 + .3·s     exact at 9, else PIL's blend
Equalize     blended in with the weight (l+1)/10      exact at 9, else PIL's blend
Solarize     from the grey level 256·(1 − s) on       exact
Posterize    to 8 − round(4·s) bits                   exact
Contrast     by 1 ± .9·s, as Color, Brightness        within one grey level
Sharpness    by 1 ± .9·s                              within one grey level
Cutout       a grey square of .2·s of the side        PIL has none
============ ======================================== =========================================

The ranges are from Cubuk, Zoph, Mane, Vasudevan and Le, AutoAugment: learning augmentation policies from data,
arXiv:1805.09501, 2018. There the three operations without a magnitude ignore their level; here strength rises with the
level for every operation. Invert starts at the weight .7, because an even blend of an image with its negative is plain
grey. The square of Cutout has soft edges, so that it grows with the level in small images too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from shoestring.augment.policies import LEVELS, OPERATIONS
from shoestring.errors import SpaceError

DRAWS = 3  # random numbers that one operation may use for one image
_SMALLEST = 8
_FIXED_POINT = 65536  # PIL computes affine maps in fixed point with 16 binary places

Operation = Callable[[Tensor, Tensor, Tensor], Tensor]


def apply_policies(images: Tensor, operations: Any, levels: Any, draws: Any) -> Tensor:
    """Each image under its own policy, or all under one; the input is not changed.

    ``operations`` and ``levels`` are (n, 2) or (2,), column 0 first (Eq. 3.1); ``draws`` is (2, n, 3) numbers from 0
    to 1.
    """
    check_images(images)
    operations, levels, draws = (np.asarray(given) for given in (operations, levels, draws))
    for place in range(2):
        images = _apply(images, operations[..., place], levels[..., place], draws[place])
    return images


def apply_operation(images: Tensor, operation: str, level: int, draws: Any = None) -> Tensor:
    """One operation at one level for all images; without ``draws`` signs are positive and the cut is in the middle.

    >>> images = torch.full((1, 1, 8, 8), 200, dtype=torch.uint8)
    >>> int(apply_operation(images, "Invert", 9)[0, 0, 0, 0])
    55
    """
    check_images(images)
    draws = np.full((len(images), DRAWS), 0.5) if draws is None else np.asarray(draws)
    return _apply(images, np.array(OPERATIONS.index(operation)), np.array(level), draws)


def check_images(images: Tensor) -> None:
    """Refuse what is not a batch of images."""
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] not in (1, 3) or min(shape[2:]) < _SMALLEST:
        raise SpaceError(
            f"images of shape {shape} were given; a batch is (n, 1 or 3 channels, height, width), "
            f"with at least {_SMALLEST} × {_SMALLEST} pixels"
        )
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise SpaceError(f"images of {images.dtype} were given; they must be uint8, or floats from 0 to 1")


def _apply(images: Tensor, operations: Any, levels: Any, draws: Any) -> Tensor:
    """The first or the second operation of the policies. Images with the same operation are processed together."""
    levels = np.broadcast_to(levels, len(images))
    if operations.ndim == 0 or (operations == operations.flat[0]).all():
        return _apply_one(images, OPERATIONS[operations.flat[0]], levels, draws)
    result = torch.empty_like(images)
    for operation in np.unique(operations):
        rows = np.flatnonzero(operations == operation)
        index = torch.as_tensor(rows, device=images.device)
        result[index] = _apply_one(images[index], OPERATIONS[operation], levels[rows], draws[rows])
    return result


def _apply_one(images: Tensor, operation: str, levels: Any, draws: Any) -> Tensor:
    strength = torch.as_tensor(levels / (LEVELS - 1), dtype=torch.float64, device=images.device)
    numbers = torch.as_tensor(draws, dtype=torch.float64, device=images.device)
    function = _FUNCTIONS[operation]
    if operation in _GEOMETRIC:  # pixels are moved, not changed: any type will do
        return function(images, strength, numbers)
    if images.dtype == torch.uint8:
        # PIL truncates; the small amount is for products such as .1 · 10 that fall just short
        return (function(images.float(), strength, numbers).clamp_(0, 255) + 1e-3).to(torch.uint8)
    return (function(images.float() * 255, strength, numbers).clamp_(0, 255) / 255).to(images.dtype)


def _sign(draws: Tensor) -> Tensor:
    return torch.where(draws[:, 0] < 0.5, -1.0, 1.0).to(draws)


def _per_image(values: Tensor) -> Tensor:
    """One number per image, to be multiplied with pixels."""
    return values[:, None, None, None].float()


def _blend(start: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """PIL's blend: start at 0, end at 1, extrapolated beyond."""
    return torch.lerp(start, end, _per_image(weight))


def _affine(images: Tensor, a: Any = 1, b: Any = 0, c: Any = 0, d: Any = 0, e: Any = 1, f: Any = 0) -> Tensor:
    """PIL's affine transform, nearest neighbour: (x, y) shows what was at (ax + by + c, dx + ey + f), else black."""
    n, channels, height, width = images.shape
    x = torch.arange(width, device=images.device)[None, None, :]
    y = torch.arange(height, device=images.device)[None, :, None]

    def source(*coefficients: Any) -> Tensor:
        """The column or row, (n, height, width), from which each pixel is taken."""
        along, across, start = (torch.as_tensor(k, dtype=torch.float64, device=images.device) for k in coefficients)
        step_x, step_y, origin = (
            torch.floor(value.expand(n) * _FIXED_POINT + 0.5).long()[:, None, None]
            for value in (along, across, start + 0.5 * (along + across))
        )
        return (origin + x * step_x + y * step_y) >> 16

    column, row = source(a, b, c), source(d, e, f)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).view(n, 1, -1)
    pixels = images.flatten(2).gather(2, index.expand(n, channels, -1))
    return (pixels * inside.view(n, 1, -1)).view_as(images)


def _rotate(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """Counter-clockwise for a positive angle, about the centre, as PIL's."""
    angle = -math.radians(30) * strength * _sign(draws)
    cos, sin = torch.cos(angle), torch.sin(angle)
    x, y = images.shape[3] / 2, images.shape[2] / 2
    return _affine(images, cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y)


def _auto_contrast(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    low, high = pixels.amin((2, 3), keepdim=True), pixels.amax((2, 3), keepdim=True)
    scale = 255.0 / (high - low).clamp(min=1e-6)
    full = torch.where(high > low, ((pixels - low) * scale), pixels)
    return _blend(pixels, full, _blend_weight(strength))


def _blend_weight(strength: Tensor) -> Tensor:
    """The weight (l + 1)/10 of an operation that has no magnitude of its own."""
    return (strength * (LEVELS - 1) + 1) / LEVELS


def _equalize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """PIL's: the lookup table is the cumulative count, in steps of a 255th of all but the lightest pixels."""
    n, channels = pixels.shape[:2]
    grey = pixels.round().long().view(n, channels, -1)
    counts = torch.zeros(n, channels, 256, dtype=torch.long, device=pixels.device)
    counts.scatter_add_(2, grey, torch.ones_like(grey))
    lightest = counts.gather(2, grey.amax(2, keepdim=True))
    step = (grey.shape[2] - lightest) // 255
    before = counts.cumsum(2) - counts
    table = torch.where(step > 0, (before + step // 2) // step.clamp(min=1), torch.arange(256, device=pixels.device))
    full = table.clamp(0, 255).gather(2, grey).view_as(pixels).to(pixels.dtype)
    return _blend(pixels, full, _blend_weight(strength))


def _solarize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    return torch.where(pixels < _per_image(256 * (1 - strength)), pixels, 255 - pixels)


def _posterize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    size = _per_image(2 ** torch.floor(4 * strength + 0.5))
    return torch.floor(pixels.round() / size) * size


def _grey(pixels: Tensor) -> Tensor:
    """PIL's luma, rounded; a grey image is returned unchanged."""
    if pixels.shape[1] == 1:
        return pixels
    weights = torch.tensor([19595.0, 38470.0, 7471.0], device=pixels.device)[:, None, None] / 65536
    return torch.floor((pixels * weights).sum(1, keepdim=True) + 0.5)


def _factor(strength: Tensor, draws: Tensor) -> Tensor:
    return 1 + 0.9 * strength * _sign(draws)


def _contrast(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    mean = torch.floor(_grey(pixels).mean((1, 2, 3), keepdim=True) + 0.5)
    return _blend(mean, pixels, _factor(strength, draws))


def _sharpness(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """A blend with PIL's smooth filter: the mean of 3 × 3 pixels with the middle weighted by 5; borders stay."""
    total = torch.nn.functional.avg_pool2d(pixels, 3, stride=1) * 9 + 4 * pixels[:, :, 1:-1, 1:-1]
    smooth = pixels.clone()
    smooth[:, :, 1:-1, 1:-1] = torch.floor(total / 13 + 0.5)
    return _blend(smooth, pixels, _factor(strength, draws))


def _cutout(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    height, width = pixels.shape[2:]
    half = 0.1 * strength
    rows = _coverage(draws[:, 1] - half, draws[:, 1] + half, height)
    columns = _coverage(draws[:, 2] - half, draws[:, 2] + half, width)
    cover = (rows[:, :, None] * columns[:, None, :])[:, None].float()
    return torch.lerp(pixels, torch.full_like(pixels, 127.5), cover)


def _coverage(start: Tensor, end: Tensor, size: int) -> Tensor:
    """The covered share of each pixel of a line (n, size); start and end are shares of the line."""
    pixel = torch.arange(size, device=start.device)
    return (torch.minimum(pixel + 1, end[:, None] * size) - torch.maximum(pixel, start[:, None] * size)).clamp(0, 1)


_GEOMETRIC = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
_FUNCTIONS: dict[str, Operation] = {
    "ShearX": lambda images, strength, draws: _affine(images, b=0.3 * strength * _sign(draws)),
    "ShearY": lambda images, strength, draws: _affine(images, d=0.3 * strength * _sign(draws)),
    "TranslateX": lambda images, strength, draws: _affine(images, c=0.45 * images.shape[3] * strength * _sign(draws)),
    "TranslateY": lambda images, strength, draws: _affine(images, f=0.45 * images.shape[2] * strength * _sign(draws)),
    "Rotate": _rotate,
    "AutoContrast": _auto_contrast,
    "Invert": lambda pixels, strength, draws: _blend(pixels, 255 - pixels, 0.7 + 0.3 * strength),
    "Equalize": _equalize,
    "Solarize": _solarize,
    "Posterize": _posterize,
    "Contrast": _contrast,
    "Color": lambda pixels, strength, draws: _blend(_grey(pixels), pixels, _factor(strength, draws)),
    "Brightness": lambda pixels, strength, draws: pixels * _per_image(_factor(strength, draws)),
    "Sharpness": _sharpness,
    "Cutout": _cutout,
}
