"""Output of the demo: true for every outcome, whichever method is better."""

import math

import shoestring as ss
from shoestring.cli.demo import STORAGE, _command
from shoestring.cli.demo_report import comparison, spending


def words(line: str) -> list[str]:
    return line.split()


def test_every_seed_is_shown_and_the_mean_has_its_standard_error():
    lines = comparison({4: (0.02, 0.05), 5: (0.04, 0.03), 6: (0.03, 0.04)})
    assert words(lines[1]) == ["seed", "4", "2.00%", "5.00%", "-3.00"]
    assert words(lines[2]) == ["seed", "5", "4.00%", "3.00%", "+1.00"]
    error = f"{1 / math.sqrt(3):.2f}"
    gap_error = f"{2 / math.sqrt(3):.2f}"
    mean = ["mean", "±", "standard", "error", "3.00%", "±", f"{error}%", "4.00%", "±", f"{error}%"]
    assert words(lines[4]) == [*mean, "-1.00", "±", gap_error]
    assert lines[5] == "auto is better on 2 of 3 seeds, random search on 1."


def test_a_loss_and_a_tie_are_said_as_plainly_as_a_win():
    lines = comparison({0: (0.03, 0.03), 1: (0.05, 0.02)})
    assert lines[-1] == "auto is better on 0 of 2 seeds, random search on 1, 1 tied."


def test_one_seed_has_no_mean():
    lines = comparison({0: (0.02, 0.03)})
    assert len(lines) == 3
    assert "mean" not in "".join(lines)


def test_a_configuration_is_shown_with_the_error_that_the_study_recommends_it_by():
    def turning_up(trial):
        for step in range(1, 5):
            yield 0.1 * trial.config["x"] + 0.1 * abs(step - 2)

    study = ss.tune(turning_up, {"x": [1, 2, 3]}, budget="12 steps", max_resource=4, method="grid")
    rows = [words(line) for line in spending(study)[1:]]
    assert [row[1:4] for row in rows] == [[str(arm), "4", f"{10 * (arm + 1)}.00%"] for arm in range(3)]


def test_failures_and_the_rest_are_summed_up():
    def failing(trial):
        if trial.config["x"] > 1:
            raise RuntimeError("diverged")
        yield 0.5

    study = ss.tune(failing, {"x": list(range(9))}, budget="9 steps", max_resource=1, method="grid")
    lines = spending(study)
    assert words(lines[1])[:4] == ["configuration", "0", "1", "50.00%"]
    assert words(lines[-1])[:3] == ["the", "other", "3"]


def test_the_command_that_continues_names_what_was_given():
    assert _command(STORAGE, 0, 3) == "shoestring demo"
    assert _command("my file.db", 2, 5) == "shoestring demo --storage 'my file.db' --seed 2 --seeds 5"
