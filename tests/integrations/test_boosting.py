"""XGBoost, LightGBM and CatBoost report to a trial, and go on where they were."""

from importlib import import_module

import pytest

from shoestring.errors import MethodError, ReadingError
from shoestring.integrations.reporting import report_measured
from tests.integrations.training import check_continued, data, needed, tuned


def test_xgboost():
    xgboost = needed("xgboost")
    from shoestring.integrations.xgboost import checkpoint, report_callback

    (x, y), (vx, vy) = data()
    starts = []

    def boosted(rate, rounds, **options):
        results = {}
        xgboost.train(
            {"objective": "binary:logistic", "eta": rate, "max_depth": 2, "nthread": 1},
            xgboost.DMatrix(x, y),
            rounds,
            evals=[(xgboost.DMatrix(vx, vy), "valid")],
            evals_result=results,
            verbose_eval=False,
            **options,
        )
        return results["valid"]["logloss"]

    def train(trial):
        starts.append(trial.start)
        callback = report_callback(trial, "valid-logloss", every=2)
        rounds = 2 * (9 - trial.start)
        boosted(trial.config["lr"], rounds, xgb_model=checkpoint(trial), callbacks=[callback])

    study = tuned(train)
    check_continued(study, starts)
    trial = max(study.trials, key=lambda trial: trial.step)
    alone = boosted(trial.config["lr"], 2 * trial.step)
    assert [reading.value for reading in trial.readings.values()] == pytest.approx(alone[1::2], rel=1e-4)


def test_lightgbm():
    lightgbm = needed("lightgbm")
    from shoestring.integrations.lightgbm import checkpoint, report_callback

    (x, y), (vx, vy) = data()
    starts = []

    def train(trial):
        starts.append(trial.start)
        train_set = lightgbm.Dataset(x, y, free_raw_data=False)
        lightgbm.train(
            {"objective": "binary", "learning_rate": trial.config["lr"], "verbose": -1, "num_threads": 1},
            train_set,
            2 * (9 - trial.start),
            valid_sets=[lightgbm.Dataset(vx, vy, reference=train_set, free_raw_data=False)],
            valid_names=["valid"],
            init_model=checkpoint(trial),
            callbacks=[report_callback(trial, "valid binary_logloss", every=2)],
        )

    study = tuned(train)
    check_continued(study, starts)
    assert study.best.value < 0.69


def test_catboost(caplog):
    catboost = needed("catboost")
    from shoestring.integrations.catboost import report_callback

    (x, y), valid = data()

    def train(trial):
        model = catboost.CatBoostClassifier(
            iterations=9, learning_rate=trial.config["lr"], depth=2, verbose=False, allow_writing_files=False
        )
        model.fit(x, y, eval_set=valid, callbacks=[report_callback(trial)])
        return 0.0

    study = tuned(train, steps=40)
    assert study.spent["steps"] == 40
    assert [trial.message for trial in study.trials if trial.state == "failed"] == []
    assert "raised when" not in caplog.text
    assert study.best.value < 0.69
    assert max(trial.step for trial in study.trials) >= 3


def test_a_monitor_that_is_not_measured_is_named():
    xgboost = needed("xgboost")
    from shoestring.errors import EverythingFailed
    from shoestring.integrations.xgboost import report_callback

    (x, y), valid = data()

    def train(trial):
        sets = [(xgboost.DMatrix(*valid), "valid")]
        callbacks = [report_callback(trial, "loss")]
        xgboost.train({"nthread": 1}, xgboost.DMatrix(x, y), 9, evals=sets, verbose_eval=False, callbacks=callbacks)

    with pytest.raises(EverythingFailed, match="monitor is 'loss', and what was measured is 'valid-rmse'"):
        tuned(train)


@pytest.mark.parametrize("every", [0, 2.5, True])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_a_step_is_a_whole_number_of_rounds(name, every):
    module = import_module(f"shoestring.integrations.{name}")
    with pytest.raises(MethodError, match=f"every is {every}"):
        module.report_callback(None, "loss", every=every)


@pytest.mark.parametrize(("measured", "words"), [({}, "nothing was measured"), ({"b": 1.0}, "is 'b': give one")])
def test_a_metric_that_was_not_measured_is_named(measured, words):
    with pytest.raises(ReadingError, match=words):
        report_measured(None, measured, "a", 1)
