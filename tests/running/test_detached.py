"""Trials that are asked for in one process and told in another."""

import threading

import shoestring as ss


def _with_a_released_trial(storage):
    study = ss.Study({"x": (0.0, 1.0)}, budget="9 evaluations", method="random", storage=storage, name="s")
    grant = study.detached.ask()
    study.release(grant.trial)
    return study


def test_a_released_trial_is_given_to_one_of_two_processes(tmp_path):
    first = _with_a_released_trial(tmp_path / "s.db")
    second = ss.Study.load(tmp_path / "s.db")
    assert first.detached.ask().trial == 0
    assert second.detached.ask().trial == 1, "which has not seen yet that the trial is taken"


def test_a_released_trial_is_given_to_one_of_eight_threads(tmp_path):
    study, given = _with_a_released_trial(tmp_path / "s.db"), []
    ready = threading.Barrier(8)

    def ask():
        ready.wait()
        given.append(study.detached.ask().trial)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(given) == list(range(8))
