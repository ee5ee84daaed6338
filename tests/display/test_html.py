"""The report card that a notebook shows."""

import xml.etree.ElementTree as ElementTree

import pytest

from shoestring import plots
from tests.plots.studies import played, told

STUDIES = {
    "empty": told,
    "one": lambda: told(1.0),
    "failed": lambda: told(ValueError("<b>no</b>")),
    "played": played,
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_study_shows_its_report_card(case):
    study = STUDIES[case]()
    card = study._repr_html_()
    style, _, body = card.partition("</style>")
    assert style.startswith("<style>")
    root = ElementTree.fromstring(body)
    words = " ".join(root.itertext())
    assert study.name in words
    assert "spent" in words
    assert (study.history.best() is None) or f"by trial {study.best.trial}" in words
    assert not [element for element in root.iter() if element.tag in ("script", "b") and "no" in (element.text or "")]


def test_a_figure_is_shown_inline():
    assert plots.curves(told(1.0))._repr_png_().startswith(b"\x89PNG")
