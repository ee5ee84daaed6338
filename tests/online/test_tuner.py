"""The online tuner: ask, tell, look rules, costs, errors and checkpoints."""

import json
import math

import numpy as np
import pytest
from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, ForbiddenEqualsClause

from shoestring.errors import MethodError, ReadingError, SpaceError, StudyMismatch
from shoestring.online import (
    CEGPUCB,
    EXP3R,
    EXP3S,
    GPUCB,
    RGPUCB,
    TVGPUCB,
    UCB1,
    Always,
    Bernoulli,
    Confident,
    Disjoint,
    EpsilonGreedy,
    Exactly,
    ExpectedLoss,
    Mixed,
    OnlineTuner,
    Softmax,
)

GRID = np.linspace(0, 1, 60)[:, None]
KNOWN = TVGPUCB("matern32", 0.2, 0.01, 0.02)
POLICIES = [
    KNOWN,
    TVGPUCB("matern52", 0.2, 0.01, 0.02, acquisition="ei"),
    TVGPUCB("squared_exponential", 0.2, 0.01, 0.02, acquisition="pi"),
    TVGPUCB(),
    TVGPUCB(drift="smooth"),
    RGPUCB("matern32", 0.2, 0.01, block=9),
    GPUCB("matern32", 0.2, 0.01),
    UCB1(),
    EpsilonGreedy(),
    Softmax(),
    EXP3S(),
    EXP3R(),
]
RULES = [
    Always(),
    Bernoulli(0.4),
    Confident(0.9),
    Confident(0.9, greedy_when_blind=True),
    Disjoint(),
    Mixed(5, 20, 0.9),
    ExpectedLoss(0.05),
    Exactly(12),
]


def reward(config, step):
    x = float(np.ravel(config)[0])
    return math.exp(-((x - 0.5 - 0.3 * math.sin(step / 15)) ** 2) / 0.05) + 0.1 * math.sin(7 * step)


def play(tuner, rounds, start=0):
    played = []
    for step in range(start, start + rounds):
        round = tuner.ask()
        played.append((round.number, round.arm, round.look))
        if round.look:
            tuner.tell(reward(round.config, step))
    return played


def settings(policy, rule):
    return OnlineTuner(GRID, policy, rule, horizon=40, seed=3)


ALL = [(p, r) for p in POLICIES for r in RULES if p.has_posterior or not r.needs_posterior]


@pytest.mark.parametrize(("policy", "rule"), ALL, ids=lambda value: repr(value)[:60])
def test_every_policy_with_every_rule_runs_and_repeats(policy, rule):
    first, second = play(settings(policy, rule), 40), play(settings(policy, rule), 40)
    assert first == second
    assert first[0][2]
    assert sum(look for _, _, look in first) == settings_looks(policy, rule)


def settings_looks(policy, rule):
    tuner = settings(policy, rule)
    play(tuner, 40)
    assert tuner.spent == tuner.looks == sum(p.look for p in tuner.history)
    return tuner.looks


@pytest.mark.parametrize("cut", [0, 1, 7, 23])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda value: repr(value)[:60])
def test_a_state_dict_goes_on_exactly(policy, cut):
    rule = Exactly(12) if policy.has_posterior else Bernoulli(0.4)
    whole = play(settings(policy, rule), 40)
    stopped = settings(policy, rule)
    before = play(stopped, cut)
    text = json.dumps(stopped.state_dict(), allow_nan=False)
    resumed = settings(policy, rule)
    resumed.load_state_dict(json.loads(text))
    assert resumed.looks == stopped.looks
    assert before + play(resumed, 40 - cut, cut) == whole


@pytest.mark.parametrize("known", [{}, {"noise": 0.01, "forgetting": 0.02, "lengthscale": 0.3}])
def test_a_state_dict_taken_between_ask_and_tell_goes_on_exactly(known):
    space = {"x": (0.0, 1.0), "kind": ["a", "b"]}

    def tuner():
        return CEGPUCB(space, horizon=20, seed=5, kappa=1.0, **known)

    whole, stopped, resumed = tuner(), tuner(), tuner()
    for t in (whole, stopped):
        for step in range(6):
            if t.ask().look:
                t.tell(0.1 * step)
        assert t.ask().look
    resumed.load_state_dict(json.loads(json.dumps(stopped.state_dict())))
    for t in (whole, resumed):
        t.tell(0.7)
    for _ in range(3):
        a, b = whole.ask(), resumed.ask()
        assert a == b
        if a.look:
            whole.tell(0.2)
            resumed.tell(0.2)


def test_a_state_dict_of_another_tuner_is_refused():
    state = settings(KNOWN, Always()).state_dict()
    with pytest.raises(StudyMismatch, match="look"):
        settings(KNOWN, Bernoulli(0.5)).load_state_dict(state)


def test_asking_again_without_telling_a_look_is_an_error():
    tuner = OnlineTuner(GRID, KNOWN, Always())
    tuner.ask()
    with pytest.raises(ReadingError, match=r"round 1 said to look.*tell"):
        tuner.ask()


def test_telling_without_a_round_or_twice_is_an_error():
    tuner = OnlineTuner(GRID, KNOWN, Always())
    with pytest.raises(ReadingError, match="ask"):
        tuner.tell(1.0)
    tuner.ask()
    tuner.tell(1.0)
    with pytest.raises(ReadingError, match="already has a reading"):
        tuner.tell(1.0)


def test_a_reading_offered_on_a_blind_round_is_used_and_not_charged():
    tuner = OnlineTuner(GRID, KNOWN, Exactly(1), horizon=10)
    tuner.ask()
    tuner.tell(0.3)
    round = tuner.ask()
    assert not round.look
    before = tuner.plot_data().mean.copy()
    tuner.tell(2.0)
    assert tuner.plot_data().mean[round.arm] > before[round.arm] + 0.5
    assert (tuner.looks, tuner.spent) == (1, 1.0)
    assert tuner.history[-1].value == 2.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_reading_that_is_no_finite_number_is_charged_and_not_learned_from(bad):
    tuner = OnlineTuner(GRID, KNOWN, Always())
    tuner.ask()
    tuner.tell(1.0)
    tuner.ask()
    before = tuner.plot_data().mean.copy()
    tuner.tell(bad, cost=2.5)
    np.testing.assert_array_equal(tuner.plot_data().mean, before)
    assert tuner.spent == 3.5
    tuner.ask()


@pytest.mark.parametrize("bad", ["0.5", None, True, [1, 2]])
def test_a_reading_that_is_no_number_is_refused(bad):
    tuner = OnlineTuner(GRID, KNOWN, Always())
    tuner.ask()
    with pytest.raises(ReadingError, match="tell a number"):
        tuner.tell(bad)


def test_readings_are_clipped_on_request():
    clipped, plain = (OnlineTuner(GRID, KNOWN, Always(), clip=clip) for clip in ((-2, 2), None))
    for tuner, value in ((clipped, 50.0), (plain, 2.0)):
        tuner.ask()
        tuner.tell(value)
    np.testing.assert_array_equal(clipped.plot_data().mean, plain.plot_data().mean)


def test_kappa_one_always_looks():
    tuner = OnlineTuner(GRID, KNOWN, Confident(1.0), horizon=200)
    assert all(look for _, _, look in play(tuner, 200))
    two = OnlineTuner(["a", "b"], TVGPUCB(noise=1e-6, forgetting=1e-6), Confident(1.0))
    for _ in range(50):
        round = two.ask()
        assert round.look
        two.tell(100.0 if round.config == "a" else -100.0)


@pytest.mark.parametrize("n", [1, 2, 17, 39, 40])
@pytest.mark.parametrize("policy", [KNOWN, TVGPUCB(), UCB1()], ids=["known", "learned", "ucb1"])
def test_exactly_spends_no_more_and_no_fewer(policy, n):
    for seed in range(4):
        tuner = OnlineTuner(GRID, policy, Exactly(n), horizon=40, seed=seed)
        play(tuner, 40)
        assert tuner.looks == n
    assert not tuner.ask().look


def test_greedy_when_blind_plays_the_best_mean():
    tuner = OnlineTuner(GRID, KNOWN, Bernoulli(0.3, greedy_when_blind=True), seed=1)
    for step in range(60):
        round = tuner.ask()
        if round.look:
            tuner.tell(reward(round.config, step))
        else:
            assert round.arm == np.argmax(tuner.plot_data().mean)


def test_mixed_reduces_to_bernoulli_and_to_the_plain_rule():
    def looks(rule):
        return [look for _, _, look in play(OnlineTuner(GRID, KNOWN, rule, horizon=60, seed=2), 60)]

    assert looks(Mixed(24, 24, 0.9)) == looks(Bernoulli(0.4))
    assert looks(Mixed(0, 60, 0.9)) == looks(Confident(0.9))


def test_arms_in_a_list_are_independent_and_rows_are_related():
    for arms, related in ((["a", "b", "c"], False), (np.array([[0.0], [0.05], [0.1]]), True)):
        tuner = OnlineTuner(arms, TVGPUCB(lengthscale=0.2, noise=0.01, forgetting=0.02), Always())
        arm = tuner.ask().arm
        tuner.tell(1.0)
        others = np.delete(tuner.plot_data().mean, arm)
        assert (others > 0.5).all() if related else (others == 0.0).all()


def test_arms_given_as_an_array_are_given_back_as_rows():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    round = OnlineTuner(rows, KNOWN, Always()).ask()
    np.testing.assert_array_equal(round.config, rows[round.arm])


def test_the_lone_arm_is_always_played():
    assert [arm for _, arm, _ in play(OnlineTuner([0.5], TVGPUCB(), Confident(0.9)), 30)] == [0] * 30


def test_a_continuous_space_finds_a_moving_optimum():
    tuner = CEGPUCB({"x": (0.0, 1.0)}, horizon=60, seed=0, noise=0.01, forgetting=0.02, lengthscale=0.3)
    missed = []
    for step in range(60):
        round = tuner.ask()
        target = 0.5 + 0.3 * math.sin(step / 20)
        missed.append(abs(round.config["x"] - target))
        if round.look:
            tuner.tell(1 - 4 * (round.config["x"] - target) ** 2)
    assert np.mean(missed[30:]) < 0.15


def conditional_space():
    space = ConfigurationSpace()
    optimiser, rate = Categorical("optimiser", ["sgd", "adam", "broken"]), Float("rate", (1e-3, 1.0), log=True)
    momentum = Float("momentum", (0.0, 1.0))
    space.add([optimiser, rate, momentum])
    space.add(EqualsCondition(momentum, optimiser, "sgd"))
    space.add(ForbiddenEqualsClause(optimiser, "broken"))
    return space


@pytest.mark.parametrize("greedy", [False, True])
def test_a_mixed_conditional_space_with_a_forbidden_clause(greedy):
    tuner = OnlineTuner(conditional_space(), TVGPUCB(), ExpectedLoss(0.05, greedy_when_blind=greedy), horizon=40)
    gains = []
    for _ in range(40):
        config = tuner.ask().config
        assert config["optimiser"] != "broken"
        assert ("momentum" in config) == (config["optimiser"] == "sgd")
        gain = -((math.log10(config["rate"]) + 1.5) ** 2) - (config.get("momentum", 2.0) - 0.9) ** 2
        gains.append(gain)
        if tuner.history[-1].look:
            tuner.tell(gain)
    assert np.mean(gains[20:]) > -0.3


def test_a_finite_space_is_played_as_arms():
    tuner = CEGPUCB({"layers": (1, 4), "act": ["relu", "tanh"]}, horizon=30)
    for _ in range(30):
        round = tuner.ask()
        if round.look:
            tuner.tell(float(round.config["act"] == "tanh") - abs(round.config["layers"] - 3))
    assert round.config == {"act": "tanh", "layers": 3}
    assert round.arm is not None


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: OnlineTuner([], KNOWN), SpaceError, "no arms"),
        (lambda: OnlineTuner(7), SpaceError, "neither"),
        (lambda: OnlineTuner(["a", "b"], TVGPUCB("matern32")), SpaceError, "coordinates"),
        (lambda: OnlineTuner(np.array([[0.0, np.nan]]), KNOWN), SpaceError, "finite"),
        (lambda: OnlineTuner(GRID, UCB1(), Confident()), MethodError, "Bernoulli"),
        (lambda: OnlineTuner({"x": (0.0, 1.0)}, UCB1(), Always()), MethodError, "TVGPUCB"),
        (lambda: OnlineTuner(GRID, KNOWN, Exactly(5)), MethodError, "horizon"),
        (lambda: OnlineTuner(GRID, KNOWN, Exactly(50), horizon=40), MethodError, "at most 40"),
        (lambda: OnlineTuner(GRID, KNOWN, horizon=0), MethodError, "at least 1"),
        (lambda: OnlineTuner(GRID, KNOWN, clip=(2, -2)), MethodError, "clip"),
        (lambda: Confident(1.2), MethodError, "kappa is 1.2"),
        (lambda: Bernoulli(-0.1), MethodError, "between 0 and 1"),
        (lambda: Mixed(5, 2), MethodError, "b1 ≤ b2"),
        (lambda: Exactly(0), MethodError, "at least 1"),
        (lambda: TVGPUCB("cosine"), MethodError, "matern32"),
        (lambda: TVGPUCB(acquisition="best"), MethodError, "'ei'"),
        (lambda: OnlineTuner(GRID, TVGPUCB(forgetting=1.0)), MethodError, "below 1"),
        (lambda: OnlineTuner(GRID, TVGPUCB(noise=-1.0)), MethodError, "positive"),
        (lambda: TVGPUCB(drift="sudden"), MethodError, "'smooth'"),
    ],
)
def test_errors_say_what_to_do(make, error, says):
    with pytest.raises(error, match=says):
        make()


def test_mean_shift_is_that_of_scikit_learn():
    from sklearn.cluster import MeanShift

    from shoestring.online.local_optima import mean_shift

    rng = np.random.default_rng(0)
    points = np.vstack(
        [centre + 0.03 * rng.standard_normal((12, 2)) for centre in ([0.1, 0.2], [0.8, 0.3], [0.5, 0.9])]
    )
    ours = mean_shift(points)
    found = MeanShift(bandwidth=0.2).fit(points)
    np.testing.assert_allclose(ours, found.cluster_centers_[found.labels_], atol=1e-3)


@pytest.mark.parametrize("rule", [ExpectedLoss(0.05), Confident(0.9), Disjoint(), Exactly(15)])
def test_first_readings_of_zero_do_not_end_the_looking(rule):
    tuner = OnlineTuner(["rest", "practise"], TVGPUCB(), rule, horizon=60)
    for _ in range(60):
        round = tuner.ask()
        if round.look:
            tuner.tell(float(round.config == "practise"))
    assert round.config == "practise"


def test_a_restart_happens_once():
    tuner = OnlineTuner(GRID, RGPUCB("matern32", 0.2, 0.01, block=3), Always())
    for _ in range(4):
        arm = tuner.ask().arm
        tuner.tell(1.0)
    assert tuner.plot_data().mean[arm] > 0.9


def _played_by_exp3r(policy, better, rounds=1500):
    """Shares of the last 300 rounds: the better arm changes in the middle."""
    tuner, played = OnlineTuner([0, 1, 2], policy, Always(), horizon=rounds, seed=0), []
    for t in range(rounds):
        now = tuner.ask()
        played.append(now.arm)
        tuner.tell(0.9 if now.arm == better[2 * t // rounds] else 0.1)
    return np.bincount(played[-300:], minlength=3) / 300


def test_exp3r_notices_that_another_arm_has_become_better():
    resets = _played_by_exp3r(EXP3R(gamma=0.3), (0, 1))
    never = _played_by_exp3r(EXP3R(gamma=0.3, interval=10**6), (0, 1))
    assert resets.argmax() == 1
    assert never.argmax() == 0
    with pytest.raises(MethodError, match="gamma"):
        EXP3R(gamma=0.0)
