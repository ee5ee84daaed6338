"""BOHB and BOSS: what the model of a bracket learns from, how many brackets there are, and logs without the options."""

import pytest

import shoestring as ss
from shoestring.core.events import Granted
from shoestring.errors import MethodError, StudyMismatch
from shoestring.methods import BOHB, BOSS, ParallelBOSS, named
from shoestring.methods.registry import describe, rebuild
from shoestring.samplers import TPE, GaussianProcess, Random
from shoestring.schedulers import Hyperband

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
# With 9 steps and eta 3 the brackets of Hyperband have 9, 5 and 3 arms.
SIZES = (9, 5, 3)
METHODS = [BOHB(), BOSS(), BOSS(rule="mss"), ParallelBOSS(), BOHB(sampler=GaussianProcess(startup=4))]


def played(method, loss, budget=400, storage=None):
    study = ss.Study(SPACE, budget=ss.Budget(steps=budget), method=method, max_resource=9, storage=storage)
    while (grant := study.ask()) is not None:
        value = loss(study.history.trials[grant.trial].arm, grant.config)
        study.tell(grant, [value] * (grant.until - grant.start))
    return study


def distance(arm, config):
    return abs(config["x"] - 0.3) + abs(config["y"] - 0.6)


def configs(study, bracket):
    start = sum(SIZES[:bracket])
    return [arm.config for arm in study.history.arms[start : start + SIZES[bracket]]]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_readings_of_a_bracket_do_not_change_its_configurations(method):
    first = played(method, distance)
    other = played(method, lambda arm, config: distance(arm, config) if arm < SIZES[0] else arm % 7)
    assert configs(other, 0) == configs(first, 0)
    assert configs(other, 1) == configs(first, 1)
    assert configs(other, 2) != configs(first, 2)


def test_readings_of_the_bracket_before_do():
    first = played(BOHB(), distance)
    other = played(BOHB(), lambda arm, config: -distance(arm, config))
    assert configs(other, 0) == configs(first, 0)
    assert configs(other, 1) != configs(first, 1)


def test_with_all_readings_those_of_the_same_bracket_count():
    method = BOHB(learn_from="all")
    first = played(method, distance)
    other = played(method, lambda arm, config: distance(arm, config) if arm < SIZES[0] else arm % 7)
    assert configs(other, 1)[0] == configs(first, 1)[0]
    assert configs(other, 1) != configs(first, 1)


def test_the_first_bracket_and_a_third_of_the_others_are_random():
    starts = [grant for grant in played(BOHB(), distance, 3000).history.grants if grant.config is not None]
    at_random = ["random" in grant.reason for grant in starts]
    assert all(at_random[: SIZES[0]])
    assert 0.2 < sum(at_random[SIZES[0] :]) / len(at_random[SIZES[0] :]) < 0.5


def test_the_model_is_of_the_furthest_step_with_two_more_arms_than_parameters():
    trials = played(BOHB(), distance, 3000).trials
    steps = [trial.explanation["step"] for trial in trials if "step" in trial.explanation]
    assert steps == sorted(steps)
    assert steps[-1] == 9
    first = next(trial for trial in trials if trial.explanation.get("step") == 9)
    before = {trial.arm for trial in trials[: first.index] if 9 in trial.readings}
    assert len(before) >= len(SPACE) + 2


def test_all_random_is_hyperband():
    """The published share of random configurations, raised to one."""
    random, hyperband = (
        [trial.config for trial in played(method, distance).trials]
        for method in (BOHB(sampler=Random()), ss.compose(Random(), Hyperband()))
    )
    assert random == hyperband


@pytest.mark.parametrize(
    "method",
    [
        ss.compose(Random(), Hyperband(iterations=4)),
        BOHB(iterations=4),
        BOSS(iterations=4),
        BOSS(rule="sh", iterations=4),
        ParallelBOSS(iterations=4),
    ],
    ids=repr,
)
def test_ends_after_its_iterations(method):
    study = played(method, distance, 5000)
    assert len(study.history.arms) == sum(SIZES) + SIZES[0]
    assert study.spent["steps"] < 5000
    assert "iterations=4" in study.reason
    assert study.verify().ok


@pytest.mark.parametrize("method", [BOHB(iterations=1), ParallelBOSS(iterations=1)], ids=repr)
def test_waits_for_what_is_running_before_it_ends(method):
    study = ss.Study(SPACE, budget=ss.Budget(steps=500), method=method, max_resource=9)
    held = []
    while (grant := study.ask()) is not None:
        held.append(grant)
    assert study.state == "waiting"
    while held:
        grant = held.pop(0)
        study.tell(grant, [distance(0, grant.config)] * (grant.until - grant.start))
        while (grant := study.ask()) is not None:
            held.append(grant)
    assert len(study.history.arms) == SIZES[0]
    assert max(trial.step for trial in study.trials) == 9
    assert "iterations=1" in study.reason


def test_iterations_are_checked():
    with pytest.raises(MethodError, match="iterations is 0"):
        BOHB(iterations=0)
    with pytest.raises(MethodError, match="learn_from"):
        BOHB(learn_from="later")


def test_the_papers_own_sampler_has_a_name():
    paper = BOHB.paper(eta=4)
    assert paper.eta == 4
    assert (paper.sampler.candidates, paper.sampler.bandwidth_factor) == (64, 3)
    assert paper.sampler.random_fraction == pytest.approx(1 / 3)
    assert BOHB.paper(sampler=Random()) == BOHB(sampler=Random())


def test_methods_with_early_stopping_share_their_model():
    assert named("asha-tpe").sampler == TPE.wide()
    assert BOHB().sampler == BOSS().sampler == ParallelBOSS().sampler == TPE.wide(startup=0)
    assert (TPE.wide().candidates, TPE.wide().bandwidth) == (64, 3)
    assert TPE.wide().random_fraction == pytest.approx(1 / 3)


def before_the_options(description):
    """A description as it was written when models learned from all arms and believed every step."""
    added = ("learn_from", "iterations", "fit_at", "bandwidth_factor", "random_fraction")
    return {
        name: before_the_options(value) if isinstance(value, dict) else value
        for name, value in description.items()
        if name not in added
    }


@pytest.mark.parametrize("kind", [BOHB, BOSS, ParallelBOSS])
def test_a_description_without_the_options_decides_as_before(kind):
    method = rebuild(before_the_options(describe(kind(sampler=TPE()))))
    assert method == kind(sampler=TPE(fit_at="furthest"), learn_from="all")


def test_a_log_without_the_options_is_continued_and_verified(tmp_path, monkeypatch):
    monkeypatch.setattr("shoestring.study.describe", lambda method: before_the_options(describe(method)))
    old = BOHB(sampler=TPE(fit_at="furthest"), learn_from="all")
    played(old, distance, 150, tmp_path / "old.db")
    monkeypatch.undo()
    assert ss.Study.load(tmp_path / "old.db").verify().ok
    grown = played(BOHB(sampler=TPE()), distance, 250, tmp_path / "old.db")  # the same options, as far as it names them
    assert grown.verify().ok
    assert ss.Study.load(tmp_path / "old.db").verify().ok
    with pytest.raises(StudyMismatch, match=r"startup was 10 and is now 0 \(method='auto' goes on"):
        played("bohb", distance, 250, tmp_path / "old.db")
    assert played("auto", distance, 300, tmp_path / "old.db").verify().ok


def test_the_decisions_of_a_log_without_the_options_are_not_todays():
    grants = [
        [e for e in played(method, distance).events() if isinstance(e, Granted)]
        for method in (BOHB(sampler=TPE()), BOHB(sampler=TPE(fit_at="furthest"), learn_from="all"))
    ]
    assert grants[0] != grants[1]
