"""The CartPole example: its physics are gymnasium's, its gradients are right, and its agents learn."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "cartpole_ppo.py"
GOOD = {"units_1": 32, "units_2": 32, "batch": 8, "rate": 1e-2, "discount": 0.98, "clipping": 0.2, "entropy": 0.01}


@pytest.fixture(scope="module")
def cartpole():
    spec = importlib.util.spec_from_file_location("cartpole_ppo", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["cartpole_ppo"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["cartpole_ppo"]


def leaning(x):
    """Pushes to where the pole leans, and soon overshoots."""
    return 1e9 * np.sign(x[:, 2])


def balanced(x):
    """Also heeds the speeds, and stands until the limit."""
    return 1e9 * (x @ [0.1, 0.5, 5.0, 1.5])


def test_physics_are_those_of_gymnasium(cartpole):
    gymnasium = pytest.importorskip(
        "gymnasium", reason="gymnasium is not installed: pip install 'shoestring[examples]'"
    )
    env = gymnasium.make("CartPole-v1").unwrapped
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (4, 300)) * np.array([[2.45], [3.0], [0.22], [3.0]])
    right = rng.random(300) < 0.5
    moved, fell = cartpole.physics(states, right)
    for i in range(300):
        env.reset(seed=0)
        env.state = states[:, i].copy()
        _, reward, terminated, _, _ = env.step(int(right[i]))
        np.testing.assert_allclose(moved[:, i], env.state, rtol=0, atol=1e-9)
        assert terminated == fell[i]
        assert reward == 1.0  # also for the step that ends it: a return counts the steps
    assert 0 < fell.sum() < 300


def test_an_episode_is_as_long_as_with_gymnasium(cartpole):
    gymnasium = pytest.importorskip(
        "gymnasium", reason="gymnasium is not installed: pip install 'shoestring[examples]'"
    )
    played = cartpole.play(leaning, 20, np.random.default_rng(1))
    env = gymnasium.make("CartPole-v1").unwrapped
    for episode, length in enumerate(played.lengths):
        mine = played.episode == episode
        env.reset(seed=0)
        env.state = played.states[mine][0].copy()
        ended = [env.step(int(action))[2] for action in played.right[mine]]
        assert ended == [False] * (length - 1) + [length < cartpole.LIMIT]


def test_episodes_end_at_the_limit(cartpole):
    played = cartpole.play(balanced, 6, np.random.default_rng(0))
    assert (played.lengths == cartpole.LIMIT).all()
    assert played.stands.all()
    assert len(played.states) == 6 * cartpole.LIMIT


def network(cartpole, seed):
    built = cartpole.Network((5, 7), 1e-2, np.random.default_rng(seed), np.float64)
    built.weights += np.random.default_rng(seed + 1).normal(size=built.weights.shape) * 0.5
    return built


def differences(loss, weights, width=1e-6):
    """Central differences of a loss in each of the weights, which are moved in place."""
    slopes = np.empty_like(weights)
    for i, kept in enumerate(weights.copy()):
        weights[i] = kept + width
        above = loss()
        weights[i] = kept - width
        slopes[i] = (above - loss()) / (2 * width)
        weights[i] = kept
    return slopes


@pytest.mark.parametrize(("clipping", "entropy"), [(0.2, 0.0), (0.05, 0.7), (1.0, 0.1)])
def test_gradient_of_the_ppo_loss(cartpole, clipping, entropy):
    rng, policy = np.random.default_rng(3), network(cartpole, 3)
    x, right, advantage = rng.normal(size=(40, 4)), rng.random(40) < 0.5, rng.normal(size=40)
    before = cartpole.log_chance(policy(x) + 0.3 * rng.normal(size=40), right)  # so that some are clipped

    def loss():
        return cartpole.surrogate(policy(x), right, before, advantage, clipping, entropy)[0]

    inputs = policy.hidden(x)
    _, slope = cartpole.surrogate(policy.output(inputs), right, before, advantage, clipping, entropy)
    np.testing.assert_allclose(policy.gradient(inputs, slope), differences(loss, policy.weights), atol=1e-7)
    if entropy == 0:
        assert 0 < (slope == 0).sum() < 40  # the clipped ones


def test_loss_of_ppo_by_hand(cartpole):
    # Right was taken with chance 1/2 and now has 3/4: the ratio 1.5 is cut to 1.2.
    logit, right = np.array([math.log(3)]), np.array([True])
    loss, slope = cartpole.surrogate(logit, right, np.log([0.5]), np.array([2.0]), 0.2, 0.0)
    assert loss == pytest.approx(-2.4)
    assert slope[0] == 0
    loss, _ = cartpole.surrogate(logit, right, np.log([0.5]), np.array([0.0]), 0.2, 1.0)
    assert loss == pytest.approx(0.75 * math.log(0.75) + 0.25 * math.log(0.25))


@pytest.mark.parametrize("policy", [leaning, balanced])
@pytest.mark.parametrize("discount", [0.0, 0.9, 1.0])
def test_returns_are_the_discounted_rewards_to_come(cartpole, discount, policy):
    played = cartpole.play(policy, 3, np.random.default_rng(0))
    critic, scale = network(cartpole, 1), 7.0
    assert played.stands.all() == (policy is balanced)
    found = cartpole.returns(played, critic, discount, scale)
    for episode, length in enumerate(played.lengths):
        value = critic(played.last[[episode]])[0] * scale if played.stands[episode] else 0.0
        expected = []
        for _ in range(length):
            value = 1 + discount * value
            expected.append(value)
        np.testing.assert_allclose(found[played.episode == episode], expected[::-1])


def test_a_good_configuration_learns(cartpole):
    counts = [cartpole.episodes_to_converge(GOOD, seed) for seed in range(3)]
    assert sum(counts) / 3 < 300
    assert counts == [cartpole.episodes_to_converge(GOOD, seed) for seed in range(3)]


@pytest.mark.parametrize("change", [{"rate": 1e-7}, {"discount": 0.0}])
def test_a_bad_configuration_hits_the_cap(cartpole, change):
    assert cartpole.episodes_to_converge({**GOOD, "batch": 64, **change}, 0) == cartpole.MOST_EPISODES


@pytest.mark.filterwarnings("error")
def test_the_corners_of_the_space_give_no_warning(cartpole, monkeypatch):
    monkeypatch.setattr(cartpole, "MOST_EPISODES", 60)
    for discount in (0.0, 1.0):
        for rest in ({"rate": 0.1, "clipping": 0.0, "entropy": 0.0}, {"rate": 0.1, "clipping": 1.0, "entropy": 1.0}):
            assert 5 <= cartpole.episodes_to_converge({**GOOD, **rest, "discount": discount}, 0) <= 60


def test_a_trial_averages_its_agents_and_goes_on_from_its_file(cartpole, monkeypatch, tmp_path):
    monkeypatch.setattr(cartpole, "episodes_to_converge", lambda config, seed: 100 * (1 + seed[1]))

    class Trial:
        config, seed, start, directory = GOOD, 5, 0, tmp_path

    readings = cartpole.train(Trial)
    assert [next(readings) for _ in range(3)] == [100, 150, 200]
    Trial.start = 3
    assert next(cartpole.train(Trial)) == 250
