"""Augmentation as a tuning task: what a configuration does to images, and that a training repeats by its seed."""

from itertools import islice

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from benchmarks.suites.augment import setting, tuning


def config(operations, level=9, **weights):
    given = {f"{family}_weight": weights.get(family, 0.0) for family in tuning.FAMILIES}
    return {"operations": operations, **given, **{f"{family}_level": level for family in tuning.FAMILIES}}


@pytest.fixture
def images():
    return torch.from_numpy(np.random.default_rng(0).integers(1, 255, (40, 1, 8, 8)).astype(np.uint8))


def augmented(images, settings, seed=0):
    return tuning.augmented(images, settings, np.random.default_rng(seed))


def test_without_operations_images_stay_as_they_are(images):
    assert torch.equal(augmented(images, config(0, turn=1.0, negative=1.0)), images)


def test_a_family_without_weight_is_not_applied(images):
    moved = augmented(images, config(1, shift=1.0))
    kept = [
        set(one.unique().tolist()) <= {0, *before.unique().tolist()} for one, before in zip(moved, images, strict=True)
    ]
    assert all(kept)  # a translation moves pixels and fills with black
    assert not torch.equal(moved, images)


def test_more_operations_change_images_more(images):
    changes = [(augmented(images, config(n, cut=1.0)) != images).float().mean() for n in range(tuning.MOST + 1)]
    assert changes[0] == 0 < changes[1] < changes[tuning.MOST]


def test_a_training_repeats_by_its_seed(images, monkeypatch):
    labels = torch.arange(len(images)) % 10
    monkeypatch.setattr(setting, "split", lambda data: setting.Split(*[(images, labels)] * 3))
    monkeypatch.setattr(tuning, "BATCH", 20)

    def accuracies(seed):
        models = tuning.training("noise", config(2, turn=1.0, tone=1.0), seed)
        return [setting.tested(model, (images, labels))["loss"] for model in islice(models, 2)]

    assert accuracies(1) == accuracies(1)
    assert accuracies(1) != accuracies(2)
