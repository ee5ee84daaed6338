"""The reward, the search and its file, and the transform."""

import json
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoestring[augment]'")
from torch import nn

from shoestring.augment import Augment, Policy, search
from shoestring.augment.images import as_floats, as_images
from shoestring.augment.operations import DRAWS, apply_policies
from shoestring.augment.policies import decode
from shoestring.augment.reward import TwinNetworks
from shoestring.errors import BudgetError, MethodError, ObjectiveError, SpaceError, StorageError, StudyMismatch

PROGRAM = Path(__file__).parents[1] / "programs" / "augment.py"


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The fastest for networks this small, and the same arithmetic in every process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def network():
    """Small, with all that a twin could get wrong: batch-norm, dropout and a buffer of whole numbers."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, stride=2), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(54, 3)
    )


def data(n=96, seed=0):
    """Bars that are high, low or in the middle, in noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    images = rng.integers(0, 90, (n, 1, 8, 8))
    for image, label in zip(images, labels, strict=True):
        image[0, 1 + 2 * label : 3 + 2 * label] += 150
    return torch.from_numpy(images.astype(np.uint8)), torch.from_numpy(labels)


def searched(**settings):
    given = {"budget": "60 steps", "rounds": 3, "batch": 16, "valid_batch": 32, "progress": False}
    return search(network, data(), data(seed=1), **{**given, **settings})


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("counts", "totals", "squares"))


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
        lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    ],
    ids=["momentum", "adam"],
)
def test_the_identity_policy_gains_nothing(optimizer):
    images, labels = data()
    identity, bad = (
        decode(policy.index) for policy in (Policy("ShearX", 0, "Rotate", 0), Policy("Invert", 9, "Cutout", 9))
    )
    twins = TwinNetworks(network(), optimizer, nn.functional.cross_entropy)
    schedule = torch.optim.lr_scheduler.ExponentialLR(twins.optimizer, 0.95)
    gains = {"identity": [], "bad": []}
    for step in range(30):
        name, (operations, levels) = ("bad", bad) if step % 3 == 2 else ("identity", identity)
        draws = np.random.default_rng(step).random((2, 32, DRAWS))
        batch = images[step : step + 32]
        twins.make_equal()
        twins.train(
            as_floats(batch),
            as_floats(apply_policies(batch, operations, levels, draws)),
            labels[step : step + 32],
            step,
        )
        gains[name].append(twins.gain(as_floats(images), labels))
        schedule.step()
    assert max(map(abs, gains["identity"])) < 1e-5
    assert min(map(abs, gains["bad"])) > 1e-4


@pytest.mark.parametrize("forgotten", ["buffers", "optimizer", "rate"])
def test_a_twin_that_is_not_equal_would_show(forgotten, monkeypatch):
    """The test above can fail: leave out one part and the identity has a gain."""
    images, labels = data()
    twins = TwinNetworks(network(), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), nn.functional.cross_entropy)
    if forgotten == "buffers":
        twins._pairs = twins._pairs[:1]
    elif forgotten == "optimizer":
        monkeypatch.setattr(TwinNetworks, "_copy_optimizer_state", lambda self: self._twin_optimizer.state.clear())
    gains = []
    for step in range(10):
        twins.make_equal()
        if forgotten == "rate":
            twins._twin_optimizer.param_groups[0]["lr"] = 0.2
        twins.train(as_floats(images), as_floats(images), labels, step)
        gains.append(abs(twins.gain(as_floats(images), labels)))
        bad = as_floats(255 - images)
        twins.train(bad, bad, labels, step)
        twins._train(twins.twin, twins._twin_optimizer, bad, labels, step)  # the twins part
    assert max(gains) > 1e-5


def test_a_search_spends_its_steps_and_prunes():
    found = searched()
    assert found.plays == 60
    assert found.about["steps"] == 60
    assert found.about["rounds"] == 3
    assert same(found, searched())
    assert not same(found, searched(seed=1))


@pytest.mark.parametrize(
    "settings", [{"pruning": "sh"}, {"pruning": "none"}, {"estimate": "mean"}, {"initial": 0}, {"device": "cpu"}]
)
def test_every_kind_of_search_ends(settings):
    assert searched(**settings).plays == 60


def test_the_first_pass_plays_each_pair_before_any_twice():
    found = searched(budget="240 steps", initial=225, rounds=1)
    assert (found.counts.reshape(225, 100).sum(axis=1) >= 1).all()


def test_a_budget_in_seconds_is_kept():
    found = searched(budget="2s")
    assert found.about["steps"] > 20


def test_a_network_that_diverges_is_replaced_and_a_model_that_always_does_is_an_error():
    with pytest.raises(ObjectiveError, match="smaller learning rate"):
        searched(
            optimizer=lambda p: torch.optim.SGD(p, lr=1e30),
            scheduler=lambda o, n: torch.optim.lr_scheduler.ConstantLR(o),
        )
    rates = iter([1e30, 1e30] + [0.1] * 100)  # the first network and its twin, then good ones
    found = searched(optimizer=lambda p: torch.optim.SGD(p, lr=next(rates)))
    assert found.plays == 60


def test_the_callers_generator_is_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    searched(budget="10 steps")
    assert torch.equal(before, torch.get_rng_state())


class Stopped(Exception):
    pass


@pytest.mark.parametrize("after", [7, 31, 45])
def test_a_search_that_was_stopped_goes_on_exactly(tmp_path, after):
    calls = []

    def until(images):
        calls.append(len(images))
        if len(calls) > 3 * after:
            raise Stopped
        return as_floats(images)

    adam = {"optimizer": lambda p: torch.optim.Adam(p, lr=0.01), "save_every": 5}
    whole = searched(**adam)
    with pytest.raises(Stopped):
        searched(**adam, prepare=until, state=tmp_path / "search.pt")
    assert (tmp_path / "search.pt").exists()
    again = searched(**adam, state=tmp_path / "search.pt")
    assert same(whole, again)
    assert same(whole, searched(**adam, state=tmp_path / "search.pt"))  # finished: only read


@pytest.mark.parametrize("save_every", [1, 20])
def test_a_search_killed_with_9_again_and_again_goes_on_exactly(tmp_path, save_every):
    """In the first pass, in rounds and between them, while a step is played and while the file is written."""
    program, state, steps = runpy.run_path(str(PROGRAM)), tmp_path / "search.pt", []
    delays = np.random.default_rng(save_every).uniform(0, 0.15, 5)
    for delay in delays:
        seen = state.stat().st_mtime_ns if state.exists() else 0
        command = [sys.executable, str(PROGRAM), str(state), str(save_every)]
        killed = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while killed.poll() is None and time.monotonic() < deadline:
            if state.exists() and state.stat().st_mtime_ns != seen:
                break
            time.sleep(0.002)
        time.sleep(delay)
        killed.kill()
        _, err = killed.communicate()
        assert state.exists(), err
        assert killed.returncode in (0, -signal.SIGKILL), err
        steps.append(torch.load(state, weights_only=True)["position"]["step"])
        if killed.returncode == 0:  # it was done before
            break
    assert steps == sorted(steps)
    assert steps[0] < 200
    assert same(program["run"](state, save_every), program["run"](None))


def test_a_file_from_before_the_option_of_the_first_pass_is_continued(tmp_path):
    state = tmp_path / "search.pt"
    whole = searched(state=state)
    content = torch.load(state, weights_only=True)
    description = json.loads(content["description"])
    assert description.pop("first_pass") == "stage"
    torch.save({**content, "description": json.dumps(description)}, state)
    assert same(whole, searched(state=state))
    with pytest.raises(StudyMismatch, match="first_pass is 'stage' in the file, 'all' was given"):
        searched(state=state, first_pass="all")


def test_the_first_pass_can_play_all_policies():
    stage = searched(budget="600 steps", initial=600, rounds=1)
    every = searched(budget="600 steps", initial=600, rounds=1, first_pass="all")
    levels = np.add.outer(np.arange(10), np.arange(10)).ravel()  # the sum of the two levels of a pair's policies
    played = [set(levels[np.flatnonzero(found.counts) % 100].tolist()) for found in (stage, every)]
    assert played[0] == {0, 1, 2, 7, 8, 13, 14}
    assert played[1] == set(range(19))
    assert every.counts.max() == 1
    with pytest.raises(MethodError, match="first_pass"):
        searched(first_pass="some")


def test_after_a_first_pass_of_all_policies_the_rounds_start_with_the_first_stage():
    found = searched(budget="40 steps", initial=0, rounds=1, first_pass="all")
    levels = np.add.outer(np.arange(10), np.arange(10)).ravel()
    assert set(levels[np.flatnonzero(found.counts) % 100].tolist()) <= {0, 1, 2, 7, 8, 13, 14}


class Stored(torch.utils.data.Dataset):
    """A dataset that notes how many of its images were read, by this process."""

    def __init__(self, pair):
        self.pair, self.read = pair, 0

    def __len__(self):
        return len(self.pair[0])

    def __getitem__(self, index):
        self.read += 1
        return self.pair[0][index], int(self.pair[1][index])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_is_streamed_gives_the_same_search(tmp_path, workers):
    whole, state = searched(), tmp_path / "search.pt"
    train, valid = Stored(data(200)), Stored(data(seed=1))

    def streamed(**more):
        given = {"budget": "60 steps", "rounds": 3, "batch": 16, "valid_batch": 32, "progress": False}
        return search(network, train, valid, workers=workers, **given, **more)

    held = search(network, data(200), data(seed=1), budget="60 steps", rounds=3, batch=16, valid_batch=32)
    assert same(held, streamed())
    assert not same(held, whole)
    read = train.read
    assert read == (64 + 60 * 16 if workers == 0 else 64), "the images that identify it, and the batches"
    assert same(held, streamed(state=state, save_every=7))
    train.pair = data(200, seed=5)
    with pytest.raises(StudyMismatch, match="data"):
        streamed(state=state)
    with pytest.raises(SpaceError, match="workers=-1"):
        search(network, train, valid, budget="5 steps", workers=-1)


def test_several_devices_share_every_batch():
    """Without batch normalisation, which each device has for itself, sharing changes rounding alone."""

    def plain():
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 3))

    def run(device):
        return search(plain, data(), data(seed=1), budget="30 steps", initial=30, batch=16, device=device)

    one, two = run("cpu"), run(["cpu", "cpu"])
    assert same(two, run(["cpu", "cpu"]))
    np.testing.assert_array_equal(one.counts, two.counts)
    np.testing.assert_allclose(one.totals, two.totals, atol=0.02)
    with pytest.raises(MethodError, match="device="):
        run([])


def test_the_identity_policy_gains_nothing_on_several_devices():
    images, labels = data()
    twins = TwinNetworks(
        network(), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), nn.functional.cross_entropy,
        [torch.device("cpu")] * 3,
    )  # fmt: skip
    for step in range(5):
        twins.make_equal()
        batch = as_floats(images[8 * step : 8 * step + 20]), labels[8 * step : 8 * step + 20]
        twins.train(batch[0], batch[0], batch[1], step)
        assert abs(twins.gain(as_floats(images), labels)) < 1e-6


def test_another_search_is_not_continued(tmp_path):
    state = tmp_path / "search.pt"
    searched(state=state)
    for other in ({"seed": 1}, {"budget": "61 steps"}, {"rounds": 4}):
        with pytest.raises(StudyMismatch, match=next(iter(other))):
            searched(state=state, **other)
    with pytest.raises(StudyMismatch, match=r"optimizer: lr is 0\.05 in the file, 0\.1 was given"):
        searched(state=state, optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=2e-4))
    with pytest.raises(StudyMismatch, match="data"):
        search(network, data(seed=5), data(seed=1), budget="60 steps", rounds=3, batch=16, valid_batch=32, state=state)


def test_a_file_that_is_no_search_is_refused(tmp_path):
    (tmp_path / "search.pt").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(StorageError, match="cannot be read"):
        searched(state=tmp_path / "search.pt")


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"budget": "3 cost"}, BudgetError, "steps or seconds"),
        ({"rounds": 0}, MethodError, "rounds"),
        ({"pruning": "hope"}, MethodError, "eop"),
        ({"estimate": "hope"}, MethodError, "shrunk"),
        ({"initial": -1}, MethodError, "initial"),
    ],
)
def test_wrong_settings_are_refused(settings, error, match):
    with pytest.raises(error, match=match):
        searched(**settings)


def test_wrong_data_and_models_are_refused():
    images, labels = data()
    with pytest.raises(SpaceError, match="96 images and 5 labels"):
        search(network, (images, labels[:5]), data(), budget="5 steps")
    with pytest.raises(SpaceError, match="normalise"):
        search(network, (images.float() - 90, labels), data(), budget="5 steps")
    with pytest.raises(SpaceError, match="must be equal"):
        search(network, (images.repeat(1, 3, 1, 1), labels), data(), budget="5 steps")
    with pytest.raises(SpaceError, match="dataset"):
        search(network, 3, data(), budget="5 steps")
    with pytest.raises(ObjectiveError, match="Module"):
        search(lambda: 3, data(), data(), budget="5 steps")


def test_datasets_arrays_and_tensors_are_the_same_data():
    images, labels = data(8)
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pictures = [(pil.fromarray(image[0].numpy()), int(label)) for image, label in zip(images, labels, strict=True)]
    for given in (
        (images, labels),
        (images[:, 0].numpy(), labels.tolist()),
        (images.permute(0, 2, 3, 1).numpy(), labels.numpy()),
        torch.utils.data.TensorDataset(images, labels),
        pictures,
    ):
        assert as_images(given, "train").digest() == as_images((images, labels), "train").digest()


@pytest.fixture(scope="module")
def found():
    return searched()


def test_augment_keeps_the_kind_of_what_it_is_given(found):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    images, _ = data()
    augment = Augment(found, seed=1)
    assert augment(images).shape == images.shape
    assert augment(images[0]).shape == images[0].shape
    assert augment(images.float() / 255).dtype == torch.float32
    for mode in ("L", "RGB"):
        picture = pil.fromarray(images[0, 0].numpy()).convert(mode)
        assert (augment(picture).mode, augment(picture).size) == (mode, picture.size)
    with pytest.raises(SpaceError, match="PIL"):
        augment([1, 2])
    with pytest.raises(SpaceError, match="empty"):
        Augment([])


def test_augment_follows_its_seed_and_can_be_continued(found):
    images, _ = data()
    one, other = Augment(found, seed=4), Augment(found, seed=4)
    first, second = one(images), one(images)
    assert not torch.equal(first, second)
    assert torch.equal(first, other(images))
    resumed = Augment(found, seed=4)
    resumed.load_state_dict(other.state_dict())
    assert torch.equal(second, resumed(images))
    assert not torch.equal(first, Augment(found, seed=5)(images))


class Pictures(torch.utils.data.Dataset):
    def __init__(self, transform):
        self.images, self.transform = data(16)[0], transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(self.images[index])


@pytest.mark.parametrize("workers", [0, 2])
def test_augment_works_in_the_workers_of_a_loader(found, workers):
    def epoch():
        made = torch.Generator().manual_seed(0)
        loader = torch.utils.data.DataLoader(
            Pictures(Augment(found)), batch_size=4, num_workers=workers, generator=made
        )
        return torch.cat(list(loader))

    one = epoch()
    assert torch.equal(one, epoch())
    assert len(torch.unique(one, dim=0)) == 16


def test_exports(found):
    images, _ = data()
    assert found.to_torchvision(seed=2)(images[0]).shape == images[0].shape
    module = found.to_kornia(seed=2)
    assert torch.equal(module(images), Augment(found, seed=2)(images))
    assert torch.equal(module.eval()(images), images)


def test_the_export_stands_in_a_sequence_of_kornia(found):
    kornia = pytest.importorskip("kornia", reason="kornia is not installed: pip install 'shoestring[augment]'")
    images = as_floats(data()[0])
    sequence = kornia.augmentation.ImageSequential(
        found.to_kornia(seed=2), kornia.augmentation.RandomHorizontalFlip(p=1.0)
    )
    expected = Augment(found, seed=2)(images).flip(3)
    assert torch.allclose(sequence(images), expected)


def test_the_display_shows_the_leading_pairs(capsys):
    searched(progress=True)
    shown = capsys.readouterr().err
    assert "best pairs" in shown
    assert "60 of 60" in shown
