"""Folders of images."""

import numpy as np
import pytest


def image_folder(folder, classes=2, each=12, size=12):
    """A folder of images whose classes differ in brightness."""
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pip install 'shoestring[augment]'")
    rng = np.random.default_rng(0)
    for label in range(classes):
        (folder / f"class {label}").mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(100 * label, 100 * label + 100, (size, size, 3), dtype=np.uint8)
            pil.fromarray(pixels).save(folder / f"class {label}" / f"{number}.png")
    return folder
