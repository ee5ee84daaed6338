"""Self-tuning networks: the responses against brute force, and trainings that tune, stop and go on."""

import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'shoestring[augment]'")
from torch import nn

from shoestring.errors import MethodError, SpaceError, StorageError, StudyMismatch
from shoestring.online import OnlineTuner
from shoestring.online.networks import ARMS, Conv2d, Dropout, HyperParameters, Linear, SelfTuning, Training

PROGRAM = Path(__file__).parents[1] / "programs" / "self_tuning.py"
program = runpy.run_path(str(PROGRAM))
training, ROUNDS = program["training"], program["ROUNDS"]


def hyper(n=3):
    return HyperParameters({f"h{i}": (0.0, 1.0) for i in range(n)})


def weights_at(layer, raw, origin):
    """W + V(λ − λ⁰) W' and b + C(λ − λ⁰) b', written out for each output."""
    weight, bias = layer.base.weight.clone(), layer.base.bias.clone()
    for unit in range(len(bias)):
        weight[unit] += (layer.weight_scale[unit] @ (raw - origin)) * layer.response.weight[unit]
        bias[unit] += (layer.bias_scale[unit] @ (raw - origin)) * layer.response_bias[unit]
    return weight, bias


@pytest.mark.parametrize("kind", ["linear", "sequence", "convolution"])
def test_each_example_has_the_weights_of_its_hyper_parameters(kind):
    torch.manual_seed(1)
    layer = Conv2d(2, 5, 3, 3, stride=2, padding=1) if kind == "convolution" else Linear(4, 5, 3)
    nn.init.normal_(layer.weight_scale)
    nn.init.normal_(layer.bias_scale)
    x = torch.randn({"linear": (6, 4), "sequence": (6, 7, 4), "convolution": (6, 2, 8, 8)}[kind])
    network = SelfTuning(layer, hyper())
    raw = torch.randn(6, 3)
    found = network(x, raw)
    for i in range(6):
        weight, bias = weights_at(layer, raw[i], network.hyper.origin)
        if kind == "convolution":
            expected = nn.functional.conv2d(x[i : i + 1], weight, bias, stride=2, padding=1)[0]
        else:
            expected = nn.functional.linear(x[i], weight, bias)
        torch.testing.assert_close(found[i], expected)


def test_dropout_has_the_rate_of_its_hyper_parameter_and_is_off_in_evaluation():
    torch.manual_seed(0)
    given = HyperParameters({"rate": (0.0, 0.8)})
    network = SelfTuning(nn.Sequential(Linear(2, 3, 1), Dropout("rate")), given)
    raw = torch.logit(torch.tensor([[0.25], [0.75]]))  # rates .2 and .6
    x = torch.ones(2, 20_000, 2)
    ratio = (network.train()(x, raw) / network.eval()(x, raw)).detach()
    dropped = (ratio == 0).float().mean(dim=(1, 2))
    torch.testing.assert_close(dropped, torch.tensor([0.2, 0.6]), atol=0.02, rtol=0)
    kept = [float(ratio[i][ratio[i] > 0].mean()) for i in range(2)]
    assert kept == pytest.approx([1 / 0.8, 1 / 0.4])


def test_perturbations_have_their_widths_and_follow_gradients():
    torch.manual_seed(0)
    given = HyperParameters({"a": (0.0, 1.0), "b": (-1.0, 3.0)}, start={"b": 2.0}, width=0.3)
    drawn = given.sample(20_000)
    torch.testing.assert_close(drawn.detach().std(0), torch.tensor([0.3, 0.3]), atol=0.02, rtol=0)
    assert float(given.values()["b"].detach()) == pytest.approx(2.0)
    drawn.pow(2).sum().backward()
    assert given.raw_widths.grad.abs().min() > 0
    given.entropy().backward()
    assert given.entropy().detach().item() == pytest.approx(2 * torch.log(torch.tensor(0.3)).item(), rel=1e-5)


def test_tuning_lowers_the_validation_loss_of_a_bad_start():
    """A network that drops nine of ten units learns little; tuning finds that out."""

    def last(tunes):
        torch.manual_seed(0)
        given = HyperParameters({"dropout": (0.0, 0.95)}, start={"dropout": 0.9})
        body = nn.Sequential(nn.Flatten(), Linear(36, 16, 1), nn.ReLU(), Dropout("dropout"), Linear(16, 3, 1))
        run = Training(
            SelfTuning(body, given), program["data"](1), program["data"](2), tunes=lambda t: tunes, batch=16,
            optimizer=lambda p: torch.optim.SGD(p, lr=0.03, momentum=0.9),
            tuning_optimizer=lambda p: torch.optim.Adam(p, lr=0.03),
        )  # fmt: skip
        run.run(40)
        return run.evaluate(program["data"](3))[0], run.rounds[-1].hyper["dropout"]

    plain, tuned = last(False), last(True)
    assert plain[1] == pytest.approx(0.9)
    assert tuned[1] < 0.7
    assert tuned[0] < plain[0] / 2


def same(one, other):
    pairs = zip(one.network.state_dict().values(), other.network.state_dict().values(), strict=True)
    return one.rounds == other.rounds and all(torch.equal(a, b) for a, b in pairs)


def test_a_bandit_looks_where_it_is_not_confident_and_the_seed_fixes_everything():
    run = training(kappa=0.6)
    before = torch.get_rng_state()
    run.run(ROUNDS)
    assert torch.equal(before, torch.get_rng_state()), "the caller's generator was used"
    assert 0 < sum(line.looked for line in run.rounds) <= ROUNDS
    assert any(line.tuned for line in run.rounds)
    again = training(kappa=0.6)
    again.run(ROUNDS)
    assert same(run, again)
    other = training(kappa=0.6, seed=1)
    other.run(ROUNDS)
    assert not same(run, other)


def test_a_training_killed_with_9_goes_on_exactly(tmp_path):
    whole = training()
    whole.run(ROUNDS)
    state, kills = tmp_path / "training.pt", 0
    while kills < 3:
        seen = state.stat().st_mtime_ns if state.exists() else 0
        killed = subprocess.Popen([sys.executable, str(PROGRAM), str(state)], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while killed.poll() is None and time.monotonic() < deadline:
            if state.exists() and state.stat().st_mtime_ns != seen:
                break
            time.sleep(0.002)
        killed.kill()
        _, err = killed.communicate()
        assert state.exists(), err
        kills += 1
        if killed.returncode != -signal.SIGKILL:
            break
    found = training(state)
    assert len(found.rounds) > 0
    found.run(ROUNDS)
    assert same(whole, found)


def test_a_dataset_that_is_read_ahead_gives_the_training_of_tensors():
    def run(wrap, workers):
        data = [wrap(program["data"](seed)) for seed in (1, 2)]
        torch.manual_seed(0)
        found = Training(program["network"](), *data, tunes=lambda t: t % 2 == 0, batch=16, workers=workers)
        found.run(3)
        return found

    whole = run(lambda pair: pair, 0)
    for workers in (0, 2):
        assert same(whole, run(lambda pair: torch.utils.data.TensorDataset(*pair), workers))


def test_another_training_is_not_continued(tmp_path):
    state = tmp_path / "training.pt"
    training(state).run(1)
    with pytest.raises(StudyMismatch, match="seed is 0 in the file, 1 was given"):
        training(state, seed=1)
    with pytest.raises(StudyMismatch, match="only one of the two has a tuner"):
        training(state, tunes=lambda t: True)
    with pytest.raises(StudyMismatch, match=r"optimizer: lr is 0\.1 in the file, 0\.2 was given"):
        training(state, optimizer=lambda p: torch.optim.SGD(p, lr=0.2, momentum=0.9))
    with pytest.raises(StudyMismatch, match="tuning_optimizer: class is 'Adam' in the file, 'SGD' was given"):
        training(state, tuning_optimizer=lambda p: torch.optim.SGD(p, lr=0.2))
    with pytest.raises(StudyMismatch, match=r"scheduler: milestones is \{'4': 1, '8': 1\} in the file"):
        training(state, scheduler=lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [5], 0.1))
    state.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(StorageError, match="cannot be read as a training"):
        training(state)


def test_what_cannot_work_is_said():
    with pytest.raises(SpaceError, match="give ranges"):
        HyperParameters({})
    with pytest.raises(SpaceError, match="a low and a higher end"):
        HyperParameters({"a": (1.0, 1.0)})
    with pytest.raises(SpaceError, match="ends excluded"):
        HyperParameters({"a": (0.0, 1.0)}, start={"a": 1.0})
    with pytest.raises(SpaceError, match="start has b"):
        HyperParameters({"a": (0.0, 1.0)}, start={"b": 0.5})
    with pytest.raises(SpaceError, match="width"):
        HyperParameters({"a": (0.0, 1.0)}, width=0)
    with pytest.raises(SpaceError, match="no layer that responds"):
        SelfTuning(nn.Linear(3, 3), hyper())
    with pytest.raises(SpaceError, match="give it hyper=3"):
        SelfTuning(Linear(3, 3, 2), hyper())
    with pytest.raises(SpaceError, match="no hyper-parameter 'rate'"):
        SelfTuning(nn.Sequential(Linear(3, 3, 3), Dropout("rate")), hyper())
    with pytest.raises(RuntimeError, match="call the SelfTuning network"):
        Linear(3, 3, 3)(torch.zeros(1, 3))
    with pytest.raises(MethodError, match="at least 1"):
        training(steps=0)
    with pytest.raises(MethodError, match="batch=0 are not possible: both must be at least 1"):
        training(batch=0)
    with pytest.raises(SpaceError, match="train is int"):
        Training(program["network"](), 3, program["data"](1), tunes=lambda t: True)
    with pytest.raises(SpaceError, match="96 inputs and 5 labels"):
        Training(
            program["network"](), (program["data"](1)[0], torch.zeros(5)), program["data"](1), tunes=lambda t: True
        )
    wrong = training(tunes=OnlineTuner(["on", "off"], horizon=5))
    with pytest.raises(MethodError, match="ARMS"):
        wrong.run(1)
    assert ARMS == ("train only", "tune and train")
