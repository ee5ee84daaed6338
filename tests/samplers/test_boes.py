"""The samplers with models: Gaussian process, CMA-ES, BOES."""

import json

import numpy as np
import pytest
from ConfigSpace import EqualsCondition

import shoestring as ss
from shoestring.core.decisions import Proposal
from shoestring.core.randomness import generator
from shoestring.errors import MethodError
from shoestring.models.maximise import climb, neighbours, snap
from shoestring.problems import CurveTable, Synthetic
from shoestring.samplers import BOES, CMAES, TPE, GaussianProcess, Random
from shoestring.samplers.surrogate import Surrogate
from shoestring.samplers.training import refit_size, scaled, training_set
from shoestring.schedulers import ASHA, Full
from shoestring.spaces.codec import Codec

SAMPLERS = [GaussianProcess(), CMAES(), BOES(), BOES.thesis()]
by_name = pytest.mark.parametrize("sampler", SAMPLERS, ids=["gp", "cmaes", "boes", "thesis"])


def played(sampler, space, loss, evaluations=40, batch=5, seed=0, **options):
    study = ss.Study(
        space, budget=ss.Budget(evaluations=evaluations), method=ss.compose(sampler, Full()), seed=seed, **options
    )
    while True:
        grants = [grant for _ in range(batch) if (grant := study.ask()) is not None]
        if not grants:
            return study
        for grant in grants:
            value = loss(grant.config)
            if value is None:
                study.fail(grant, "on purpose")
            else:
                study.tell(grant, value)


def bowl(config):
    return sum((value - 0.3) ** 2 for value in config.values())


UNIT = dict.fromkeys("abcd", (0.0, 1.0))
PROBLEMS = [Synthetic("mixed"), Synthetic("conditional")]


@by_name
def test_beats_random_on_a_bowl(sampler):
    ours, random = (
        np.mean([played(s, UNIT, bowl, 90, seed=seed).best.value for seed in range(2)]) for s in (sampler, Random())
    )
    assert ours < random / 3


@by_name
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_mixed_and_conditional_spaces(sampler, problem):
    study = played(sampler, problem.space, problem.value)
    for arm in study.history.arms:
        study.history.codec.check(arm.config)
    assert study.best.value < min(problem.value(arm.config) for arm in study.history.arms[:10])
    assert json.loads(json.dumps(study.trials[-1].explanation)) == study.trials[-1].explanation


@by_name
def test_failures_are_avoided(sampler):
    """Fail where x is large, and be better near there."""

    def loss(config):
        return None if config["x"] > 0.6 else config["y"] - config["x"]

    study = played(sampler, {"x": (0.0, 1.0), "y": (0.0, 1.0)}, loss, 60)
    late = [trial.state == "failed" for trial in study.trials[30:]]
    assert np.mean(late) < 0.5
    assert study.best.value < -0.4


@by_name
def test_everything_fails(sampler):
    study = played(sampler, UNIT, lambda config: None, 25)
    assert len({Codec.key(trial.config) for trial in study.trials}) == 25


@by_name
def test_tables(sampler):
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    table = CurveTable(X, ((X - 0.4) ** 2).sum(axis=1)[:, None])
    study = played(sampler, table.space, lambda c: table.reading(c, 1), 40, max_resource=1)
    assert len(study.history.arms) == 40
    assert table.normalised_regret(study.history) < 0.05


@by_name
def test_cached_equals_fresh_out_of_order(sampler):
    """Results come back in any order, the caches are dropped in between: the same proposals."""
    study = ss.Study(Synthetic("mixed").space, budget=ss.Budget(evaluations=36), method=ss.compose(sampler, Full()))
    rng, held = np.random.default_rng(0), []
    for _ in range(36):
        held.append(study.ask())
        if len(held) > 3:
            grant = held.pop(int(rng.integers(len(held))))
            study.tell(grant, Synthetic("mixed").value(grant.config))
        if len(study.trials) % 7 == 0:
            kept = sampler.propose(study.history, generator(0, 1, "test"))
            study.history.drop_caches()
            assert kept == sampler.propose(study.history, generator(0, 1, "test"))
    assert study.verify().ok


@by_name
def test_scale_does_not_matter(sampler):
    def loss(config):
        return 4 * bowl(config)

    plain = played(sampler, UNIT, loss, 25)
    moved = played(sampler, UNIT, lambda c: 1e4 * loss(c) - 300, 25)
    assert [arm.config for arm in moved.history.arms] == [arm.config for arm in plain.history.arms]


@by_name
def test_with_a_scheduler_of_steps(sampler):
    study = ss.Study(UNIT, budget=ss.Budget(steps=150), method=ss.compose(sampler, ASHA()), max_resource=9)
    while (grant := study.ask()) is not None:
        study.tell(grant, [bowl(grant.config) + 1 / k for k in range(grant.start + 1, grant.until + 1)])
    assert study.verify().ok


class TestTraining:
    def study(self):
        study = ss.Study(
            {"x": (0.0, 1.0)}, budget=ss.Budget(steps=200), method=ss.compose(Random(), ASHA()), max_resource=9
        )
        while (grant := study.ask()) is not None:
            study.tell(grant, [grant.config["x"]] * (grant.until - grant.start))
        return study.history

    def test_given_up_arms_count_as_no_better_than_the_median(self):
        history = self.study()
        known = training_set(history, 5)
        assert known.step > 1
        assert len(known.arms) == len(history.arms)
        reached = [max(t.losses) >= known.step for t in (history.arms[i].trials[0] for i in known.arms)]
        median = np.median(known.losses[reached])
        assert (known.losses[~np.array(reached)] >= median).all()

    def test_order_is_that_of_becoming_known(self):
        study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random")
        grants = [study.ask() for _ in range(6)]
        for i in (3, 0, 4, 1):
            study.tell(grants[i], float(i))
        study.fail(grants[5], "broken")
        known = training_set(study.history, 3)
        assert known.arms.tolist() == [3, 0, 4, 1]
        assert known.losses.tolist() == [3.0, 0.0, 4.0, 1.0]
        assert (len(known.pending), len(known.failed)) == (1, 1)
        assert training_set(study.history, 5) is None

    @pytest.mark.parametrize("transform", ["none", "tame", "cap", "rank"])
    def test_scales(self, transform):
        losses = np.random.default_rng(0).standard_normal(50)
        losses[7] = 1e6
        found = scaled(losses, transform)
        assert (np.diff(found[np.argsort(losses)]) >= 0).all()
        assert found.mean() == pytest.approx(0.0, abs=1e-6)
        np.testing.assert_array_equal(found, scaled(losses * 8 + 1024, transform))
        others = np.delete(found, 7)
        assert (others.std() > 0.1) == (transform != "none")  # the one that exploded leaves the others apart
        assert scaled(np.ones(5), transform).tolist() == [0.0] * 5


class TestProcessSampler:
    def test_pending_arms_push_proposals_apart(self):
        study = ss.Study(UNIT, budget="200 evaluations", method="gp")
        for _ in range(9):
            grant = study.ask()
            study.tell(grant, bowl(grant.config))
        grants = [study.ask() for _ in range(5)]
        points = np.array([list(grant.config.values()) for grant in grants])
        gaps = np.abs(points[:, None] - points).max(axis=2)[np.triu_indices(5, 1)]
        assert gaps.min() > 0.01
        known = training_set(study.history, 3)
        _, sd = Surrogate(study.history, known, "tame", "log-ei", warp=True).predict(known.pending)
        fresh = generator(0, 0, "t").random((50, 4))
        _, others = Surrogate(study.history, known, "tame", "log-ei", warp=True).predict(fresh)
        assert sd.max() < others.max()

    def test_refits_are_spaced(self):
        assert [refit_size(n) for n in range(18, 23)] == [18, 19, 20, 20, 20]
        assert all(refit_size(n) > 0.8 * n for n in range(50, 2000))

    @pytest.mark.parametrize("acquisition", ["log-ei", "ei", "ucb"])
    def test_acquisitions(self, acquisition):
        study = played(GaussianProcess(acquisition=acquisition), UNIT, bowl, 40)
        assert study.best.value < 0.01

    def test_climbing_finds_the_top_of_a_mixed_space(self):
        study = ss.Study(ss.space(x=(0.0, 1.0), n=(1, 40), k=["a", "b", "c"]), budget="5 evaluations", method="random")
        codec, target = study.history.codec, None
        target = codec.encode({"x": 0.62, "n": 17, "k": "c"})

        def score(points):
            gaps = np.where(codec.choices > 0, points != target, points - target)
            return -(gaps.astype(float) ** 2).sum(axis=1)

        def slope(points):
            return score(points), np.where(codec.choices > 0, 0.0, -2 * (points - target))

        starts = snap(np.random.default_rng(0).random((3, 3)), codec)
        for found in climb(starts, codec, score, slope):
            config = codec.decode(found)
            assert (config["n"], config["k"]) == (17, "c")
            assert config["x"] == pytest.approx(0.62, abs=1e-3)

    def test_neighbours_and_snapping_of_conditional_points(self):
        space = ss.space(k=["a", "b"], x=(0.0, 1.0), n=(1, 9), w=ss.log(1, 1000))
        space.add(EqualsCondition(space["x"], space["k"], "a"))
        codec = Codec(space)
        point = codec.encode({"k": "b", "n": 5, "w": 2})[None]
        near, owner = neighbours(point, codec)
        configs = [codec.decode(p) for p in near]
        assert {c["n"] for c in configs if c["k"] == "b" and c["w"] == 2} == {3, 4, 6, 7}
        assert {c["w"] for c in configs} == {1, 2, 3, 4}
        assert [c["x"] for c in configs if c["k"] == "a"] == [0.5]
        assert set(owner) == {0}
        np.testing.assert_array_equal(snap(near, codec), near)

    @pytest.mark.parametrize(
        "options", [{"startup": 1}, {"candidates": 0}, {"acquisition": "best"}, {"transform": "log"}]
    )
    def test_options_are_checked(self, options):
        with pytest.raises(MethodError, match=next(iter(options))):
            GaussianProcess(**options)


class TestStrategy:
    def test_begins_from_a_history_it_did_not_generate(self):
        """Arms of another sampler around a good place: the first proposals lie there."""

        class Elsewhere:
            def propose(self, history, rng):
                if len(history.arms) < 30:
                    return Proposal({name: float(v) for name, v in zip("abcd", rng.random(4), strict=True)}, "given")
                return CMAES().propose(history, rng)

        study = played(Elsewhere(), UNIT, bowl, 50)
        generations = [(g.sampler_state or {}).get("number") for g in study.history.grants]
        assert generations[:30] == [None] * 30
        assert generations[30:35] == [0] * 5
        assert generations[-1] >= 1
        first, given = ([bowl(trial.config) for trial in study.trials[s]] for s in (slice(30, 40), slice(30)))
        assert np.mean(first) < 0.5 * np.mean(given)

    def test_narrows_down(self):
        study = played(CMAES(), UNIT, bowl, 200)
        early, late = (np.std([t.config["a"] for t in study.trials[s]]) for s in (slice(10, 40), slice(170, 200)))
        assert late < early / 3

    @pytest.mark.parametrize("options", [{"startup": 0}, {"population": 3}])
    def test_options_are_checked(self, options):
        with pytest.raises(MethodError, match=next(iter(options))):
            CMAES(**options)


class TestBOES:
    def test_notes_say_who_proposed_and_how_the_models_voted(self):
        study = played(BOES.thesis(), UNIT, bowl, 30)
        learned = [trial.explanation for trial in study.trials if "source" in trial.explanation]
        assert len(learned) == 25
        assert {note["source"] for note in learned} <= {"tpe", "cma", "latin"}
        assert set(learned[0]["ranks"]) == {"gp", "et", "rf", "gbt"}
        assert all(rank >= 1 for note in learned for rank in note["ranks"].values())

    @pytest.mark.parametrize("combine", ["ranks", "votes"])
    @pytest.mark.parametrize("model", ["gp", "et", "rf", "gbt"])
    def test_an_ensemble_of_one_votes_as_that_one(self, model, combine):
        study = played(BOES(models=(model,), combine=combine), UNIT, bowl, 20)
        ranks = [trial.explanation["ranks"][model] for trial in study.trials if "ranks" in trial.explanation]
        assert ranks.count(1) == len(ranks) == 15

    @pytest.mark.parametrize("source", ["tpe", "cma", "latin", "random", "local"])
    def test_each_source_alone(self, source):
        study = played(BOES(candidates={source: 30}, models=("et",)), UNIT, bowl, 15)
        assert {t.explanation["source"] for t in study.trials if "source" in t.explanation} == {source}

    def test_votes_and_ranks_can_differ(self):
        scores = {
            "a": np.array([9.0, 8.0, 0.0, 1.0]),
            "b": np.array([9.0, 8.0, 0.0, 1.0]),
            "c": np.array([0.0, 8.0, 9.0, 7.0]),
            "d": np.array([0.0, 8.0, 9.5, 9.0]),
        }
        by_rank, _ = BOES(models=("gp",))._rank(scores)
        by_vote, votes = BOES.thesis()._rank(scores)
        assert by_rank[0] == 1  # everyone's second
        assert votes == {0: 2, 2: 2}
        assert by_vote[0] == 0  # as many votes as 2, and better ranks

    def test_every_second_suggestion_has_to_promise_more(self):
        study = played(BOES(), UNIT, bowl, 60)
        assert [trial.explanation["margin"] for trial in study.trials[5:11]] == [0.0, 0.05] * 3
        # A run that has converged goes on to look elsewhere.
        known, rng = training_set(study.history, 3), generator(0, 0, "t")
        near = known.points[known.losses.argmin()] + rng.normal(size=(50, 4)) * 0.01
        far = rng.random((200, 4))
        gaps = []
        for margin in (0.0, 0.05):
            view = Surrogate(study.history, known, "tame", "log-ei", warp=True, margin=margin)
            gaps.append(view.score(far).max() - view.score(near).max())
        assert gaps[1] > 20 + gaps[0]

    def test_a_batch_does_not_repeat_itself(self):
        study = played(BOES(), {"n": (1, 12), "k": ["a", "b"]}, lambda c: abs(c["n"] - 5) + (c["k"] == "a"), 20)
        assert len({Codec.key(arm.config) for arm in study.history.arms}) == 20

    def test_candidates_of_the_parzen_estimator(self):
        study = played(TPE(), UNIT, bowl, 40)
        drawn = TPE().drawn(study.history, generator(0, 0, "test"), 50)
        assert drawn.shape == (50, 4)
        assert np.abs(drawn - 0.3).mean() < 0.8 * np.abs(generator(0, 0, "u").random((50, 4)) - 0.3).mean()

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"candidates": {"tpe": -1}}, "tpe"),
            ({"candidates": {"grid": 5}}, "grid"),
            ({"candidates": {"climb": 4}}, "candidates"),
            ({"models": ("svm",)}, "models"),
            ({"models": ()}, "models"),
            ({"models": ("gp", "gp")}, "models"),
            ({"models": "gp"}, "models"),
            ({"combine": "mean"}, "combine"),
            ({"margin": -0.1}, "margin"),
            ({"margin": float("nan")}, "margin"),
            ({"margin": "far"}, "margin"),
        ],
    )
    def test_options_are_checked(self, options, word):
        with pytest.raises(MethodError, match=word):
            BOES(**options)


@pytest.mark.parametrize("child", [(0, 9), (0.0, 1.0)], ids=["whole numbers", "reals"])
def test_a_parameter_that_becomes_active_on_the_way_uphill_has_a_value(child):
    codec = Codec(ss.space(ss.when("child", "parent > 0.5"), parent=(0.0, 1.0), child=child))
    parent = codec.names.index("parent")

    def score(points):
        return points[:, parent]

    def slope(points):
        return score(points), np.eye(2)[[parent] * len(points)]

    start = codec.encode({"parent": 0.25})
    (found,) = climb(start[None], codec, score, slope)
    assert codec.fits(codec.decode(found))
    assert codec.decode(found)["parent"] == 1.0
