"""XGBoost, LightGBM and CatBoost report to a trial, and go on where they were."""

from importlib import import_module

import pytest

from shoestring.errors import MethodError, ReadingError
from shoestring.integrations.measurements import report_measured
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


def test_lightgbm_when_no_split_is_left():
    """It saves fewer trees than there were rounds, and counts from them when it continues."""
    lightgbm = needed("lightgbm")
    from shoestring.integrations.lightgbm import checkpoint, report_callback

    (x, y), (vx, vy) = data()
    starts, trees = [], []

    def train(trial):
        starts.append(trial.start)
        train_set = lightgbm.Dataset(x, y, free_raw_data=False)
        if trial.start:
            trees.append((lightgbm.Booster(model_file=checkpoint(trial)).current_iteration(), trial.start))
        lightgbm.train(
            {"objective": "binary", "learning_rate": trial.config["lr"], "verbose": -1, "num_threads": 1,
             "min_data_in_leaf": 60, "min_gain_to_split": 1.0},
            train_set,
            9 - trial.start,
            valid_sets=[lightgbm.Dataset(vx, vy, reference=train_set, free_raw_data=False)],
            valid_names=["valid"],
            init_model=checkpoint(trial),
            callbacks=[report_callback(trial, "valid binary_logloss")],
        )  # fmt: skip

    study = tuned(train, steps=60)
    check_continued(study, starts)
    assert any(count < start for count, start in trees), f"otherwise this tests nothing: {trees}"


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosting_that_stops_early_is_continued_and_finishes(library):
    boosting = needed(library)
    module = import_module(f"shoestring.integrations.{library}")
    (x, y), (vx, vy) = data()
    starts = []

    def with_xgboost(trial, callback):
        boosting.train(
            {"objective": "binary:logistic", "eta": 1.5, "max_depth": 6, "nthread": 1},
            boosting.DMatrix(x, y),
            9 - trial.start,
            evals=[(boosting.DMatrix(vx, vy), "valid")],
            verbose_eval=False,
            xgb_model=module.checkpoint(trial),
            callbacks=[callback("valid-logloss"), boosting.callback.EarlyStopping(rounds=2, save_best=True)],
        )

    def with_lightgbm(trial, callback):
        train_set = boosting.Dataset(x, y, free_raw_data=False)
        boosting.train(
            {"objective": "binary", "learning_rate": 1.5, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 2},
            train_set,
            9 - trial.start,
            valid_sets=[boosting.Dataset(vx, vy, reference=train_set, free_raw_data=False)],
            valid_names=["valid"],
            init_model=module.checkpoint(trial),
            callbacks=[callback("valid binary_logloss"), boosting.early_stopping(2, verbose=False)],
        )

    def train(trial):
        starts.append(trial.start)
        run = with_xgboost if library == "xgboost" else with_lightgbm
        run(trial, lambda monitor: module.report_callback(trial, monitor))

    study = tuned(train, steps=24)
    assert [trial.message for trial in study.trials if trial.state == "failed"] == []
    assert any(trial.state == "finished" and 0 < trial.step < 9 for trial in study.trials), "it never stopped early"
    assert any(starts)


def test_a_checkpoint_that_is_not_loaded_is_warned_of(caplog):
    xgboost = needed("xgboost")
    from shoestring.integrations.xgboost import report_callback

    (x, y), valid = data()

    def train(trial):
        sets = [(xgboost.DMatrix(*valid), "valid")]
        callbacks = [report_callback(trial, "valid-rmse")]
        xgboost.train({"nthread": 1}, xgboost.DMatrix(x, y), 9, evals=sets, verbose_eval=False, callbacks=callbacks)

    tuned(train)
    assert "checkpoint(trial) was not asked for" in caplog.text


def test_catboost_with_snapshots():
    catboost = needed("catboost")
    from shoestring.integrations.catboost import report_callback

    (x, y), valid = data()
    starts = []

    def fitted(lr, *callbacks, **options):
        model = catboost.CatBoostClassifier(
            iterations=18, learning_rate=lr, depth=2, verbose=False, thread_count=1, **options
        )
        return model.fit(x, y, eval_set=valid, callbacks=list(callbacks), use_best_model=False)

    def train(trial):
        starts.append(trial.start)
        folder = str(trial.directory)
        fitted(
            trial.config["lr"], report_callback(trial, every=2), train_dir=folder, save_snapshot=True,
            snapshot_file=f"{folder}/snapshot", snapshot_interval=0,
        )  # fmt: skip

    study = tuned(train)
    check_continued(study, starts)
    trial = max(study.trials, key=lambda trial: trial.step)
    alone = fitted(trial.config["lr"], allow_writing_files=False).get_evals_result()["validation"]["Logloss"]
    values = [reading.value for reading in trial.readings.values()]
    assert values == pytest.approx(alone[1 : 2 * trial.step : 2], rel=1e-4)


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
        report_measured(None, measured, "a")
