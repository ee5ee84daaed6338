"""The fifteen operations on batches of images, each image at a level of its own.

Images are (n, channels, height, width) with one channel or three, of at least 8 × 8 pixels: ``uint8``, or floats from
0 to 1. Inside, pixels are floats from 0 to 255; ``uint8`` images are rounded after each operation as PIL does. What
is random (the sign of a shear, a brightening or a darkening, the place of a cut-out) is given as numbers from 0 to 1,
so the same numbers give the same images on every device.

============ ======================================== =========================================
operation    at level l, s = l/9                      beside PIL
============ ======================================== =========================================
ShearX/Y     ± .3·s                                   nearest neighbour, black outside: exact
TranslateX/Y ± .45·s of the width or height           exact
Rotate       ± 30°·s                                  exact
AutoContrast mixed in with the weight (l+1)/10        exact at 9, else PIL's blend
Invert       mixed in with the weight .7 + .3·s       exact at 9, else PIL's blend
Equalize     mixed in with the weight (l+1)/10        exact at 9, else PIL's blend
Solarize     from the grey level 256·(1 − s) on       exact
Posterize    to 8 − round(4·s) bits                   exact
Contrast     by 1 ± .9·s, as Color, Brightness        within one grey level
Sharpness    by 1 ± .9·s                              within one grey level
Cutout       a grey square of .2·s of the side        PIL has none
============ ======================================== =========================================

The ranges are AutoAugment's. There the three operations without a magnitude ignore their level; here strength rises
with the level for every operation. A negative is never mixed half and half, which would leave a grey nothing: every
level is a negative. The square of Cutout has soft edges, so that it grows with the level also in small images.
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
_FIX = 65536  # PIL walks through an affine map in fixed point with 16 binary places

Operation = Callable[[Tensor, Tensor, Tensor], Tensor]


def apply_policies(images: Tensor, operations: Any, levels: Any, draws: Any) -> Tensor:
    """Each image under its own policy, or all under one; the images given are not changed.

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
    """Refuse what is no batch of images, and say what is."""
    shape = tuple(images.shape)
    if len(shape) != 4 or shape[1] not in (1, 3) or min(shape[2:]) < _SMALLEST:
        raise SpaceError(
            f"images of shape {shape} were given; a batch is (n, 1 or 3 channels, height, width), "
            f"with at least {_SMALLEST} × {_SMALLEST} pixels"
        )
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise SpaceError(f"images of {images.dtype} were given; they are uint8, or floats from 0 to 1")


def _apply(images: Tensor, operations: Any, levels: Any, draws: Any) -> Tensor:
    """One place of the policies. Images with the same operation are worked on together."""
    levels = np.broadcast_to(levels, len(images))
    if operations.ndim == 0 or (operations == operations.flat[0]).all():
        return _one(images, int(operations.flat[0]), levels, draws)
    result = torch.empty_like(images)
    for operation in np.unique(operations):
        rows = np.flatnonzero(operations == operation)
        place = torch.as_tensor(rows, device=images.device)
        result[place] = _one(images[place], int(operation), levels[rows], draws[rows])
    return result


def _one(images: Tensor, operation: int, levels: Any, draws: Any) -> Tensor:
    strength = torch.as_tensor(levels / (LEVELS - 1), dtype=torch.float64, device=images.device)
    numbers = torch.as_tensor(draws, dtype=torch.float64, device=images.device)
    work = _TABLE[operation]
    if operation in _MOVES:  # pixels are moved, not changed: any type will do
        return work(images, strength, numbers)
    if images.dtype == torch.uint8:
        # PIL cuts fractions off; the small amount is for products such as .1 · 10 that fall just short
        return (work(images.float(), strength, numbers).clamp_(0, 255) + 1e-3).to(torch.uint8)
    return (work(images.float() * 255, strength, numbers).clamp_(0, 255) / 255).to(images.dtype)


def _sign(draws: Tensor) -> Tensor:
    return torch.where(draws[:, 0] < 0.5, -1.0, 1.0).to(draws)


def _each(values: Tensor) -> Tensor:
    """One number per image, to be multiplied with pixels."""
    return values[:, None, None, None].float()


def _mixed(start: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """PIL's blend: start at 0, end at 1, and beyond."""
    return torch.lerp(start, end, _each(weight))


def _moved(images: Tensor, matrix: list[Tensor]) -> Tensor:
    """PIL's affine transform, nearest neighbour: (x, y) shows what was at (ax + by + c, dx + ey + f), else black."""
    n, channels, height, width = images.shape
    a, b, c, d, e, f = matrix

    def walked(along: Tensor, across: Tensor, start: Tensor) -> Tensor:
        step_x, step_y, origin = (
            torch.floor(value * _FIX + 0.5).long()[:, None, None]
            for value in (along, across, start + 0.5 * (along + across))
        )
        x = torch.arange(width, device=images.device)[None, None, :]
        y = torch.arange(height, device=images.device)[None, :, None]
        return (origin + x * step_x + y * step_y) >> 16

    column, row = walked(a, b, c), walked(d, e, f)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).view(n, 1, -1)
    pixels = images.flatten(2).gather(2, place.expand(n, channels, -1))
    return (pixels * inside.view(n, 1, -1)).view_as(images)


def _shear_x(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    one, zero = torch.ones_like(strength), torch.zeros_like(strength)
    return _moved(images, [one, 0.3 * strength * _sign(draws), zero, zero, one, zero])


def _shear_y(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    one, zero = torch.ones_like(strength), torch.zeros_like(strength)
    return _moved(images, [one, zero, zero, 0.3 * strength * _sign(draws), one, zero])


def _translate_x(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    one, zero = torch.ones_like(strength), torch.zeros_like(strength)
    return _moved(images, [one, zero, 0.45 * images.shape[3] * strength * _sign(draws), zero, one, zero])


def _translate_y(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    one, zero = torch.ones_like(strength), torch.zeros_like(strength)
    return _moved(images, [one, zero, zero, zero, one, 0.45 * images.shape[2] * strength * _sign(draws)])


def _rotate(images: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """Counter-clockwise for a positive angle, about the middle, as PIL's."""
    angle = -math.radians(30) * strength * _sign(draws)
    cos, sin = torch.cos(angle), torch.sin(angle)
    x, y = images.shape[3] / 2, images.shape[2] / 2
    return _moved(images, [cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y])


def _auto_contrast(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    low, high = pixels.amin((2, 3), keepdim=True), pixels.amax((2, 3), keepdim=True)
    scale = 255.0 / (high - low).clamp(min=1e-6)
    full = torch.where(high > low, ((pixels - low) * scale), pixels)
    return _mixed(pixels, full, _without_magnitude(strength))


def _without_magnitude(strength: Tensor) -> Tensor:
    """The weight (l + 1)/10 of an operation that has no magnitude of its own."""
    return (strength * (LEVELS - 1) + 1) / LEVELS


def _invert(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    return _mixed(pixels, 255 - pixels, 0.7 + 0.3 * strength)


def _equalize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """PIL's: the lookup table is the running count, in steps of a 255th of all but the lightest pixels."""
    n, channels = pixels.shape[:2]
    grey = pixels.round().long().view(n, channels, -1)
    counts = torch.zeros(n, channels, 256, dtype=torch.long, device=pixels.device)
    counts.scatter_add_(2, grey, torch.ones_like(grey))
    lightest = counts.gather(2, grey.amax(2, keepdim=True))
    step = (grey.shape[2] - lightest) // 255
    before = counts.cumsum(2) - counts
    table = torch.where(step > 0, (before + step // 2) // step.clamp(min=1), torch.arange(256, device=pixels.device))
    full = table.clamp(0, 255).gather(2, grey).view_as(pixels).to(pixels.dtype)
    return _mixed(pixels, full, _without_magnitude(strength))


def _solarize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    return torch.where(pixels < _each(256 * (1 - strength)), pixels, 255 - pixels)


def _posterize(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    size = _each(2 ** torch.floor(4 * strength + 0.5))
    return torch.floor(pixels.round() / size) * size


def _grey(pixels: Tensor) -> Tensor:
    """PIL's luma, a whole number; a grey image is its own."""
    if pixels.shape[1] == 1:
        return pixels
    weights = torch.tensor([19595.0, 38470.0, 7471.0], device=pixels.device)[:, None, None] / 65536
    return torch.floor((pixels * weights).sum(1, keepdim=True) + 0.5)


def _factor(strength: Tensor, draws: Tensor) -> Tensor:
    return 1 + 0.9 * strength * _sign(draws)


def _contrast(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    mean = torch.floor(_grey(pixels).mean((1, 2, 3), keepdim=True) + 0.5)
    return _mixed(mean, pixels, _factor(strength, draws))


def _color(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    return pixels if pixels.shape[1] == 1 else _mixed(_grey(pixels), pixels, _factor(strength, draws))


def _brightness(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    return pixels * _each(_factor(strength, draws))


def _sharpness(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    """Towards or away from PIL's smooth filter: the mean of 3 × 3 pixels, the middle five times; the border stays."""
    total = torch.nn.functional.avg_pool2d(pixels, 3, stride=1) * 9 + 4 * pixels[:, :, 1:-1, 1:-1]
    smooth = pixels.clone()
    smooth[:, :, 1:-1, 1:-1] = torch.floor(total / 13 + 0.5)
    return _mixed(smooth, pixels, _factor(strength, draws))


def _cutout(pixels: Tensor, strength: Tensor, draws: Tensor) -> Tensor:
    height, width = pixels.shape[2:]
    half = 0.1 * strength
    rows = _covered(draws[:, 1] - half, draws[:, 1] + half, height)
    columns = _covered(draws[:, 2] - half, draws[:, 2] + half, width)
    cover = (rows[:, :, None] * columns[:, None, :])[:, None].float()
    return torch.lerp(pixels, torch.full_like(pixels, 127.5), cover)


def _covered(start: Tensor, end: Tensor, size: int) -> Tensor:
    """The part of each pixel of a line between two places, given as shares of the line; (n, size)."""
    pixel = torch.arange(size, device=start.device)
    return (torch.minimum(pixel + 1, end[:, None] * size) - torch.maximum(pixel, start[:, None] * size)).clamp(0, 1)


_MOVES = range(5)
_TABLE: tuple[Operation, ...] = (
    _shear_x, _shear_y, _translate_x, _translate_y, _rotate, _auto_contrast, _invert, _equalize,
    _solarize, _posterize, _contrast, _color, _brightness, _sharpness, _cutout,
)  # fmt: skip
