"""Evaluating policies: what is done to the images, trainings that go on exactly, and the table."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoestring[augment]'")
from torch import nn

from shoestring.augment.comparison import Plan, compare
from shoestring.augment.datasets import read_dataset
from shoestring.augment.evaluation import Evaluation, Recipe, crop, cut_out, learning_rate, mirror
from shoestring.augment.policies import Policy
from shoestring.augment.policy_set import PolicySet
from shoestring.augment.replicas import Replicas
from shoestring.augment.wide_resnet import network_named, wide_resnet
from shoestring.cli import main
from shoestring.errors import MethodError, StudyMismatch
from tests.pictures import image_folder

QUICK = Recipe(network="wrn-10-1", epochs=2, batch=16, crop=1, cutout=3)
INVERT = [Policy("Invert", 9, "Invert", 0)]


def data(seed, n=64):
    """Images whose class is the brighter half."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (n,), generator=generator)
    images = torch.randint(0, 128, (n, 1, 8, 8), generator=generator, dtype=torch.uint8)
    for row, label in enumerate(labels):
        images[row, :, :, 4 * label : 4 * label + 4] += 100
    return images, labels


def evaluation(policies=None, recipe=QUICK, **options):
    torch.set_num_threads(1)
    return Evaluation(policies, data(1), data(2), 2, recipe, **options)


def test_a_crop_is_a_shift_with_zeros():
    torch.manual_seed(0)
    images = torch.arange(1, 1 + 200 * 2 * 25, dtype=torch.float32).view(200, 2, 5, 5)
    found, shifts = crop(images, 2), set()
    padded = nn.functional.pad(images, (2,) * 4)
    for image, whole in zip(found, padded, strict=True):
        here = [(r, c) for r in range(5) for c in range(5) if torch.equal(whole[:, r : r + 5, c : c + 5], image)]
        assert len(here) == 1
        shifts.update(here)
    assert len(shifts) == 25


def test_half_of_the_images_are_mirrored():
    torch.manual_seed(0)
    images = torch.rand(400, 1, 3, 4)
    found = mirror(images)
    same, turned = ((found == other).all(dim=(1, 2, 3)) for other in (images, images.flip(3)))
    assert (same ^ turned).all()
    assert 140 < int(same.sum()) < 260


@pytest.mark.parametrize("side", [3, 4])
def test_a_cut_out_square_is_around_a_pixel_of_the_image(side):
    torch.manual_seed(0)
    hidden = cut_out(torch.ones(500, 2, 9, 7), side) == 0
    assert torch.equal(hidden[:, 0], hidden[:, 1])
    rows, columns = hidden[:, 0].any(2).sum(1), hidden[:, 0].any(1).sum(1)
    assert torch.equal(hidden[:, 0].sum((1, 2)), rows * columns)
    assert int(rows.max()) == int(columns.max()) == side
    assert int(rows.min()) >= side // 2
    assert hidden[:, 0].any(0).all()


def test_the_learning_rate_warms_up_and_ends_at_zero():
    rates = [learning_rate(0.1, epoch, 200) for epoch in np.linspace(0, 200, 401)]
    assert rates[0] == pytest.approx(0.01)
    assert max(rates) < 0.1
    assert int(np.argmax(rates)) == 10
    assert rates[-1] == pytest.approx(0)
    assert rates[200] == pytest.approx(0.05)


def test_wide_networks_have_the_published_size():
    assert sum(p.numel() for p in wide_resnet(28, 10, 3, 10).parameters()) == pytest.approx(36.5e6, rel=0.002)
    network = network_named("wrn-16-1", 1, 3)
    assert sum(isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3) for m in network.modules()) == 13
    assert network(torch.zeros(2, 1, 10, 10)).shape == (2, 3)
    for name, match in {"wrn-11-1": "6 n \\+ 4", "wrn-40-0": "width", "vgg": "there are small and wrn"}.items():
        with pytest.raises(MethodError, match=match):
            network_named(name, 3, 10)


def test_a_batch_that_is_shared_has_the_gradient_of_the_whole():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.randn(7, 3, 4, dtype=torch.float64), torch.randint(3, (7,))
    cpu = torch.device("cpu")

    def gradients(devices):
        model.zero_grad()
        replicas = Replicas(model, devices)
        losses = replicas.backward(nn.functional.cross_entropy, x, y), replicas.loss(nn.functional.cross_entropy, x, y)
        return losses, [p.grad.clone() for p in model.parameters()], replicas.outputs(x)

    whole = gradients([cpu])
    for n in (2, 3, 9):
        losses, slopes, outputs = gradients([cpu] * n)
        assert losses == pytest.approx(whole[0], rel=1e-12)
        torch.testing.assert_close(slopes, whole[1])
        torch.testing.assert_close(outputs, whole[2])


def test_replicas_follow_the_model():
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2), nn.BatchNorm1d(2))
    replicas = Replicas(model, [torch.device("cpu")] * 2)
    x = torch.randn(6, 2, 2)
    before = replicas.outputs(x)
    with torch.no_grad():
        model[1].weight.add_(1.0)
        model[2].running_mean.add_(0.5)
    torch.testing.assert_close(replicas.outputs(x), model.eval()(x).detach())
    assert not torch.allclose(before, replicas.outputs(x))


def test_a_training_learns_and_its_seed_fixes_it():
    recipe = Recipe(network="wrn-10-1", epochs=6, batch=16, crop=1, cutout=0, flip=False)
    before = torch.get_rng_state()
    accuracy = evaluation(recipe=recipe).run()
    assert torch.equal(before, torch.get_rng_state())
    assert accuracy > 80
    assert evaluation(recipe=recipe).run() == accuracy
    assert 0 <= evaluation(INVERT, recipe=recipe, seed=1, devices=[torch.device("cpu")] * 2).run() <= 100


class Stopped(Exception):
    pass


def test_a_training_that_was_stopped_goes_on_exactly(tmp_path):
    def stop(epoch):
        if epoch == 1:
            return
        raise Stopped

    def weights(run):
        return torch.cat([p.detach().ravel() for p in run._model.parameters()])

    whole = evaluation(INVERT)
    accuracy = whole.run()
    state = tmp_path / "training.pt"
    with pytest.raises(Stopped):
        evaluation(INVERT, state=state).run(stop)
    again = evaluation(INVERT, state=state)
    assert again.run() == accuracy
    assert torch.equal(weights(whole), weights(again))
    assert evaluation(INVERT, state=state).run() == accuracy  # finished: only read
    with pytest.raises(StudyMismatch, match="policies"):
        evaluation(None, state=state).run()
    with pytest.raises(StudyMismatch, match="epochs is 2 in the file, 3 was given"):
        evaluation(INVERT, Recipe(network="wrn-10-1", epochs=3, batch=16, crop=1, cutout=3), state=state).run()


def found():
    counts = np.ones(22500, dtype=np.int64)
    totals = np.linspace(0, 1, 22500)
    return PolicySet(counts, totals, totals**2)


def test_a_table_has_its_errors_over_searches(tmp_path):
    plan = Plan(Recipe(network="wrn-10-1", epochs=1, batch=16), ["none", "best2"], [found(), found()], seeds=2)
    lines = compare(plan, data(1), data(2), 2, tmp_path)
    assert [(line.name, line.trainings) for line in lines] == [("none", 2), ("best2", 4)]
    kept = json.loads((tmp_path / "train.json").read_text())["accuracies"]
    means = [sum(part) / 2 for part in kept["best2"]]
    assert lines[1].accuracy == pytest.approx(sum(means) / 2)
    assert lines[1].error == pytest.approx(abs(means[0] - means[1]) / 2)
    assert math.isclose(lines[0].error, abs(kept["none"][0][0] - kept["none"][0][1]) / 2)
    for sets, match in ((["hope"], "there is no set 'hope'"), (["union"], "--policies"), ([], "at least one")):
        with pytest.raises(MethodError, match=match):
            Plan(QUICK, sets)
    with pytest.raises(MethodError, match="epochs"):
        Recipe(epochs=0)


def run(*words):
    return CliRunner().invoke(main, ["augment", *map(str, words), "--quiet"])


def test_a_search_and_trainings_on_the_command_line(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'shoestring[plots]'")
    photos, out = image_folder(tmp_path / "photos" / "train"), tmp_path / "out"
    image_folder(tmp_path / "photos" / "test", each=5)
    words = ("--size", 8, "--workers", 0, "--held-out", 8, "--network", "wrn-10-1", "--output", out)
    done = run("search", tmp_path / "photos", "--budget", "6 steps", "--first-pass", "all", "--batch", 4, *words)
    assert done.exit_code == 0, done.output
    small = ("--epochs", 1, "--seeds", 1, "--batch", 8, "--sets", "none,half")
    done = run("train", tmp_path / "photos", "--policies", out / "policies.json", *words, *small)
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.output.splitlines()] == ["test", "none", "half", "written:"]
    assert run("train", tmp_path / "photos", "--policies", out / "policies.json", *words, *small).output == done.output
    other = run(
        "train", photos, "--policies", out / "policies.json", "--device", "cpu", "--device", "cpu", *words, *small
    )
    assert other.exit_code == 2
    assert "holds another training" in other.output


def test_what_cannot_be_trained_is_said_in_a_line(tmp_path):
    for words, match in {
        ("train", "--sets", "union"): "--policies",
        ("train", "--device", "hope"): "--device hope cannot be used",
        ("train", "--sets", "none", "--held-out", 0): "0 of 1797 images cannot be held out",
        ("train", "--sets", "none", "--network", "wrn-9-1"): "6 n + 4",
        ("search", "--network", "resnet"): "there are small and wrn",
        ("search", "--rate", -1): "-1.0 is not in the range x>0",
    }.items():
        done = run(*words, "--output", tmp_path / "out")
        assert done.exit_code == 2, done.output
        assert match in done.output
    assert CliRunner().invoke(main, ["augment", "--help"]).output.count("train") >= 2


def test_parts_of_a_folder_and_a_file(tmp_path):
    for part, each in {"train": 10, "val": 6, "test": 7}.items():
        image_folder(tmp_path / "all" / part, each=each)
    image_folder(tmp_path / "two" / "train", each=10)
    image_folder(tmp_path / "two" / "test", each=7)
    lengths = {}
    for name in ("all", "two"):
        for test in (False, True):
            train, held, classes = read_dataset(tmp_path / name, 8, held_out=4, test=test, stream=True)
            lengths[name, test] = len(train), len(held)
            assert classes == 2
    assert lengths == {
        ("all", False): (20, 12),
        ("all", True): (20, 14),
        ("two", False): (16, 4),
        ("two", True): (20, 14),
    }
    x = np.zeros((20, 8, 8), dtype=np.uint8)
    y = np.arange(20) % 2
    np.savez(tmp_path / "parts.npz", x_train=x, y_train=y, x_valid=x[:6], y_valid=y[:6], x_test=x[:8], y_test=y[:8])
    assert [len(read_dataset(tmp_path / "parts.npz", 8, test=test)[1].images) for test in (False, True)] == [6, 8]
