"""``shoestring augment`` from images to pictures, and what it says when it cannot."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from shoestring.augment.policy_set import PolicySet
from shoestring.cli import main

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoestring[augment]'")
from shoestring.augment.plots import draw_heatmaps, draw_strip
from shoestring.augment.policies import Policy
from shoestring.errors import StorageError


def run(*words):
    return CliRunner().invoke(main, ["augment", *map(str, words), "--quiet"])


@pytest.fixture(scope="module")
def array():
    return np.random.default_rng(0).integers(0, 256, (30, 9, 9), dtype=np.uint8)


def test_the_digits_give_a_ranking_and_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'shoestring[plots]'")
    words = ("--budget", "40 steps", "--rounds", 2, "--output", tmp_path / "out")
    done = run(*words)
    assert done.exit_code == 0, done.output
    assert "40 plays" in done.output
    for name in ("policies.json", "heatmap.png", "strip.png"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    assert PolicySet.load(tmp_path / "out" / "policies.json").plays == 40
    assert run(*words).output == done.output  # finished: only read
    other = run("--budget", "41 steps", "--rounds", 2, "--output", tmp_path / "out")
    assert other.exit_code == 2
    assert "holds another search" in other.output


def test_a_folder_and_an_npz_are_read(tmp_path, array):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for number, image in enumerate(array):
        folder = tmp_path / "photos" / ("cat" if number % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        pil.fromarray(image).save(folder / f"{number}.png")
    np.savez(tmp_path / "photos.npz", x=array, y=np.arange(30) % 2)
    for source in ("photos", "photos.npz"):
        done = run(tmp_path / source, "--budget", "4 steps", "--size", 12, "--output", tmp_path / f"{source} out")
        assert done.exit_code == 0, done.output
        content = json.loads((tmp_path / f"{source} out" / "policies.json").read_text())
        assert len(content["policies"]) == 4


def test_what_cannot_be_read_is_said_in_a_line(tmp_path, array):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("no images")
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    np.savez(tmp_path / "strange.npz", pictures=array)
    np.savez(tmp_path / "few.npz", x=array[:3], y=[0, 1, 2])
    for name, words in {
        "empty": "one folder for each class",
        "text.txt": "neither a folder nor an .npz",
        "broken.npz": "cannot be read",
        "strange.npz": "x_train and y_train are needed",
        "few.npz": "cannot be split",
    }.items():
        done = run(tmp_path / name, "--budget", "4 steps", "--output", tmp_path / "out")
        assert done.exit_code == 2, name
        assert words in done.output
        assert len(done.output.splitlines()) == 1


def test_pictures_have_the_size_of_what_they_show(tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    images = torch.randint(0, 256, (5, 1, 8, 10), dtype=torch.uint8)
    draw_strip(images, [Policy("Invert", 9, "Rotate", 0)], tmp_path / "strip.png", scale=1)
    sheet = np.asarray(pil.open(tmp_path / "strip.png"))
    assert sheet.shape == (18, 58, 3)
    np.testing.assert_array_equal(sheet[:8, :10, 0], images[0, 0].numpy())
    np.testing.assert_array_equal(sheet[10:, :10, 0], 255 - images[0, 0].numpy())
    with pytest.raises(StorageError, match="cannot be written"):
        draw_strip(images, [], tmp_path / "nowhere" / "strip.png")


def test_a_heat_map_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'shoestring[plots]'")
    empty = PolicySet(np.zeros(22500, dtype=np.int64), np.zeros(22500), np.zeros(22500))
    with pytest.raises(StorageError, match="cannot be written"):
        draw_heatmaps({"nothing": empty}, tmp_path / "map.nothing")
