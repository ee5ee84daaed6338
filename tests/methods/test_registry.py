"""A method's identity: what the log records of it, what is refused, and how a class of one's own is rebuilt."""

import subprocess
import sys
from dataclasses import dataclass, field

import pytest

import shoestring as ss
from shoestring.core.decisions import Proposal
from shoestring.errors import MethodError, StudyMismatch
from shoestring.methods import named, names, register
from shoestring.methods.registry import describe, rebuild, same_method
from shoestring.samplers import TPE, Random
from shoestring.schedulers import Full


@dataclass(frozen=True)
class Shifted:
    """A sampler of a user's own."""

    shift: float = 0.0
    words: tuple[str, ...] = ("a",)
    inner: Random = field(default_factory=Random)

    def propose(self, history, rng):
        return Proposal({"x": (rng.random() + self.shift) % 1}, "shifted")


@dataclass(frozen=True)
class Whole:
    """A method of a user's own, with another inside."""

    part: float = 0.5
    sampler: object = field(default_factory=TPE)

    def decide(self, history, rng):
        return ss.compose(self.sampler, Full()).decide(history, rng)


def study_of(method, storage, budget="4 evaluations"):
    return ss.Study({"x": (0.0, 1.0)}, budget=budget, method=method, storage=storage, name="own")


@pytest.mark.parametrize("name", [name for name in names() if name != "auto"])
def test_every_named_method_is_rebuilt_as_it_was(name):
    assert rebuild(describe(named(name))) == named(name)


@pytest.mark.parametrize(
    "change",
    [
        ss.compose(Shifted(0.25), Full()),
        ss.compose(Shifted(words=("a", "b")), Full()),
        Whole(0.75),
        Whole(sampler=TPE(startup=5)),
    ],
)
def test_another_option_of_ones_own_method_is_refused(tmp_path, change):
    own = Whole() if isinstance(change, Whole) else ss.compose(Shifted(), Full())
    study_of(own, tmp_path / "a.db").ask()
    study_of(own, tmp_path / "a.db")
    with pytest.raises(StudyMismatch, match=r"method(\.sampler)?\.\w+ was .* and is now"):
        study_of(change, tmp_path / "a.db")


def test_a_class_that_is_not_registered_is_not_rebuilt(tmp_path):
    @dataclass(frozen=True)
    class Nameless:
        def propose(self, history, rng):
            return Random().propose(history, rng)

    study_of(ss.compose(Nameless(), Full()), tmp_path / "a.db").ask()
    loaded = ss.Study.load(tmp_path / "a.db")
    with pytest.raises(MethodError, match="register"):
        _ = loaded.state
    with pytest.raises(MethodError, match="register"):
        loaded.verify()
    assert loaded.verify(ss.compose(Nameless(), Full())).ok


def test_a_registered_class_is_loaded_continued_and_verified(tmp_path):
    register(Shifted)
    study = ss.tune(
        lambda trial: trial.config["x"],
        {"x": (0.0, 1.0)},
        budget="4 evaluations",
        method=ss.compose(Shifted(0.25), Full()),
        storage=tmp_path / "a.db",
        name="own",
    )
    loaded = ss.Study.load(tmp_path / "a.db")
    assert loaded.verify().ok
    loaded.budget = "6 evaluations"
    while (grant := loaded.ask()) is not None:
        loaded.tell(grant, grant.config["x"])
    assert len(loaded.trials) == 6
    assert [t.config for t in loaded.trials[:4]] == [t.config for t in study.trials[:4]]
    again = study_of("auto", tmp_path / "a.db", "6 evaluations")  # auto continues with what is stored
    assert again.verify().ok


def test_only_dataclasses_can_be_registered():
    class Plain:
        def propose(self, history, rng): ...

    for given in (Plain, Shifted(), "Shifted"):
        with pytest.raises(MethodError, match="dataclass"):
            register(given)


def test_values_that_are_not_plain_are_named_and_not_rebuilt():
    @dataclass(frozen=True)
    class Holder:
        function: object = len
        thing: object = field(default_factory=object)

    description = describe(Holder())
    assert description["function"] == {"object": "builtins:len"}
    assert description["thing"] == {"object": "builtins:object"}
    register(Holder)
    assert rebuild(description) is None
    assert same_method(description, describe(Holder()))
    assert not same_method(description, describe(Holder(function=max)))


def test_an_option_that_a_log_does_not_name_has_its_default():
    stored = {name: value for name, value in describe(TPE()).items() if name != "bandwidth"}
    assert same_method(stored, describe(TPE()))
    assert not same_method(stored, describe(TPE(bandwidth=0.5)))


def test_an_option_that_changes_decisions_is_as_before_where_a_log_does_not_name_it():
    @dataclass(frozen=True)
    class Later:
        option: str = field(default="new", metadata={"before": "old"})

    register(Later)
    description = {"class": describe(Later())["class"]}
    assert rebuild(description) == Later("old")
    assert rebuild(describe(Later())) == Later("new")
    assert same_method(description, describe(Later()))
    assert same_method(description, describe(Later("old")))
    assert not same_method(description, describe(Later("other")))


def test_a_package_declares_its_classes_by_entry_points(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\n"
        "from shoestring.samplers import Random\n"
        "@dataclass(frozen=True)\n"
        "class Mine:\n"
        "    option: int = 1\n"
        "    def propose(self, history, rng):\n"
        "        return Random().propose(history, rng)\n"
    )
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shoestring.methods]\nmine = mine:Mine\n")
    make = "import shoestring as ss, mine; ss.Study({'x': (0.0, 1.0)}, budget='3 evaluations', storage='a.db', "
    make += "method=ss.compose(mine.Mine(2), ss.schedulers.Full())).ask()"
    load = "import shoestring as ss; study = ss.Study.load('a.db'); print(study.verify().ok, study._journal.method)"
    for program in (make, load):
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("True Composed(sampler=Mine(option=2)")
