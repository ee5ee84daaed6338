"""The reference: every public name says what it is and what its parameters mean, and the main ones show it."""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import shoestring as ss

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
import reference

NAMES = [(package, name) for package in reference.PACKAGES for name in reference.public(package)]
MAIN = ["Budget", "Command", "Grant", "Reading", "Study", "compose", "forbid", "ints", "log", "space", "tune", "when"]


def parameters_of(value):
    """List the parameters that a caller can give, by name."""
    try:
        signature = inspect.signature(value)
    except ValueError:
        return []
    named = (p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return [p.name for p in named if not p.name.startswith("_")]


def explanations(package, name, value):
    """Return where a reader of the reference finds what a parameter means: at the name, or at the head of its page."""
    texts = [reference.own_doc(value), inspect.getdoc(import_module(package))]
    if name == "tune":  # it says that its options are those of the other
        texts.append(inspect.getdoc(ss.Study.run))
    return " ".join(filter(None, texts))


@pytest.mark.parametrize(("package", "name"), NAMES, ids=lambda part: part.rpartition(".")[2])
def test_a_public_name_explains_itself_and_its_parameters(package, name):
    value = getattr(import_module(package), name)
    if not callable(value) or name == "Trial":  # a table of operations; and what only an executor makes
        return
    assert reference.own_doc(value), f"{package}.{name} has no docstring"
    text = explanations(package, name, value)
    unexplained = [p for p in parameters_of(value) if not re.search(rf"``[^`]*\b{p}\b[^`]*``", text)]
    assert not unexplained, f"{package}.{name} does not say what these mean: {', '.join(unexplained)}"


@pytest.mark.parametrize("name", MAIN)
def test_a_main_name_has_an_example(name):
    """The examples run with the tests, as doctests."""
    assert ">>>" in reference.own_doc(getattr(ss, name))


@pytest.mark.parametrize("package", reference.PACKAGES)
def test_a_page_of_the_reference_shows_every_name(package):
    page = reference.page_of(package)
    assert all(f"\n## {name}\n" in page for name in reference.public(package))
    assert "``" not in page.replace("```", "")
    assert ":class:" not in page
    assert page.count("```") % 2 == 0
