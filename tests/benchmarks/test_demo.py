"""The demo's table: how often the default is better than random search, ties not counted."""

import pytest

from benchmarks.harness.common import Options
from benchmarks.suites.defaults import demo


def test_a_tie_is_not_better(monkeypatch):
    errors = {"auto": [0.02, 0.03, 0.05], "random": [0.03, 0.03, 0.04], "asha": [0.1] * 3, "bhpt-eps": [0.2] * 3}
    monkeypatch.setattr(demo, "_played", lambda method, epochs, seed: {"best": errors[method][seed], "arms": epochs})
    rows = {row.name: row for row in demo.table(Options(3, quick=False))}
    share = rows["share of seeds on which auto is better than random"]
    assert share.measured == pytest.approx(1 / 3)
    assert share.met is False
    assert rows["auto - random: error"].measured == pytest.approx(0)
    assert rows["auto: configurations"].measured == demo.EPOCHS
