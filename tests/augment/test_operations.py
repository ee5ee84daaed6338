"""The operations against PIL, image by image and level by level."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoestring[augment]'")
from shoestring.augment.operations import DRAWS, apply_operation, apply_policies
from shoestring.augment.policies import LEVELS, OPERATIONS, Policy, decode
from shoestring.errors import SpaceError

SIZES = [(32, 32), (8, 11), (17, 40)]


def with_pil(image, operation, level, sign):
    """Apply the operation with PIL."""
    from PIL import Image, ImageEnhance, ImageOps

    s, (width, height) = level / 9, image.size

    def affine(*matrix):
        return image.transform(image.size, Image.Transform.AFFINE, matrix)

    def blended(other, weight):
        return Image.blend(image, other, weight)

    if operation in ("Contrast", "Color", "Brightness", "Sharpness"):
        return getattr(ImageEnhance, operation)(image).enhance(1 + 0.9 * s * sign)
    return {
        "ShearX": lambda: affine(1, 0.3 * s * sign, 0, 0, 1, 0),
        "ShearY": lambda: affine(1, 0, 0, 0.3 * s * sign, 1, 0),
        "TranslateX": lambda: affine(1, 0, 0.45 * width * s * sign, 0, 1, 0),
        "TranslateY": lambda: affine(1, 0, 0, 0, 1, 0.45 * height * s * sign),
        "Rotate": lambda: image.rotate(30 * s * sign),
        "AutoContrast": lambda: blended(ImageOps.autocontrast(image), (level + 1) / 10),
        "Invert": lambda: blended(ImageOps.invert(image), 0.7 + 0.3 * s),
        "Equalize": lambda: blended(ImageOps.equalize(image), (level + 1) / 10),
        "Solarize": lambda: ImageOps.solarize(image, 256 * (1 - s)),
        "Posterize": lambda: ImageOps.posterize(image, 8 - int(4 * s + 0.5)),
    }[operation]()


def pictures(size, grey):
    """Noise, a smooth picture of low contrast, and a single colour."""
    rng = np.random.default_rng(0)
    shape = size if grey else (*size, 3)
    ramp = np.add.outer(np.arange(size[0]), np.arange(size[1])) * 2 + 40
    smooth = ramp if grey else np.stack([ramp, ramp[::-1], ramp // 2], axis=-1)
    return [rng.integers(0, 256, shape), smooth, np.full(shape, 77)]


def as_batch(array):
    tensor = torch.from_numpy(array.astype(np.uint8))
    return (tensor[None] if tensor.ndim == 2 else tensor.permute(2, 0, 1))[None].contiguous()


def as_array(batch):
    return batch[0].permute(1, 2, 0).squeeze(-1).numpy().astype(int)


def draws(sign):
    return np.array([[0.2 if sign < 0 else 0.8, 0.5, 0.5]])


@pytest.mark.parametrize("grey", [False, True], ids=["rgb", "grey"])
@pytest.mark.parametrize("operation", OPERATIONS[:-1])
def test_as_pil_within_one_grey_level(operation, grey):
    image_of = pytest.importorskip("PIL.Image", reason="Pillow is not installed").fromarray
    for size in SIZES:
        for array in pictures(size, grey):
            batch, image = as_batch(array), image_of(array.astype(np.uint8))
            for level in range(LEVELS):
                for sign in (-1, 1):
                    ours = as_array(apply_operation(batch, operation, level, draws(sign)))
                    theirs = np.asarray(with_pil(image, operation, level, sign)).astype(int)
                    assert np.abs(ours - theirs).max() <= 1, (size, level, sign)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_floats_and_bytes_agree(operation):
    batch = as_batch(pictures((16, 16), grey=False)[0])
    for level in (0, 4, 9):
        whole = apply_operation(batch, operation, level)
        real = apply_operation(batch.double() / 255, operation, level)
        assert (real.dtype, real.shape) == (torch.float64, whole.shape)
        assert float((whole.double() - real * 255).abs().max()) <= 1.001


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_strength_rises_with_the_level(operation, size):
    rng = np.random.default_rng(1)
    coarse = torch.from_numpy(rng.random((64, 3, 4, 4)))
    images = torch.nn.functional.interpolate(coarse, size=size, mode="bilinear")
    draw = rng.random((64, DRAWS))
    changes = [
        float((apply_operation(images, operation, level, draw) - images).abs().mean()) for level in range(LEVELS)
    ]
    steps = np.diff(changes)
    assert (steps >= -1e-9).all(), changes
    assert changes[-1] > changes[0]
    if size == 64 and operation != "Posterize":  # whole bits, and in small images whole pixels, take two levels each
        assert (steps > 0).all(), changes


def test_color_leaves_grey_images_alone():
    batch = as_batch(pictures((16, 16), grey=True)[0])
    assert torch.equal(apply_operation(batch, "Color", 9), batch)


def test_each_image_can_have_its_own_policy():
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.integers(0, 256, (40, 3, 12, 9), dtype=np.uint8))
    before = images.clone()
    operations, levels = decode(rng.integers(22500, size=40))
    draw = rng.random((2, 40, DRAWS))
    together = apply_policies(images, operations, levels, draw)
    for row in range(40):
        alone = apply_policies(images[row : row + 1], operations[row], levels[row], draw[:, row : row + 1])
        assert torch.equal(together[row : row + 1], alone), row
    assert torch.equal(images, before)


def test_the_operations_are_applied_in_order():
    images = as_batch(pictures((16, 16), grey=False)[0])
    operations, levels = decode(Policy("Posterize", 9, "Invert", 9).index)
    expected = apply_operation(apply_operation(images, "Posterize", 9), "Invert", 9)
    assert torch.equal(apply_policies(images, operations, levels, np.zeros((2, 1, DRAWS))), expected)


@pytest.mark.parametrize(
    ("images", "match"),
    [
        (torch.zeros(2, 3, 7, 9, dtype=torch.uint8), "at least 8"),
        (torch.zeros(2, 4, 9, 9, dtype=torch.uint8), "channels"),
        (torch.zeros(3, 9, 9), "batch"),
        (torch.zeros(2, 3, 9, 9, dtype=torch.int64), "uint8"),
    ],
)
def test_what_is_no_batch_of_images_is_refused(images, match):
    with pytest.raises(SpaceError, match=match):
        apply_operation(images, "Invert", 3)
