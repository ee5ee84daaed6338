"""Pictures: every plot is drawn by every backend, even where there is nothing to show."""

import inspect
import json
import sys
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest

import shoestring as ss
from shoestring import plots
from shoestring.augment.bandit import Bandit
from shoestring.augment.policy_set import PolicySet
from shoestring.errors import MethodError
from shoestring.online import OnlineTuner
from shoestring.plots import with_matplotlib
from shoestring.plots.figure_values import figure_values
from shoestring.plots.picture import Bars, Line, Panel, Picture, Words, bar_range
from shoestring.plots.style import CATEGORIES, DARK, INK, PAPER, STATE_STYLES, darken, layout, scale, text_width
from shoestring.plots.svg import svg
from tests.plots.studies import added, played, started, told

KINDS = sorted(set(plots.__all__) - {"online", "pairs"})
STUDIES = {
    "no trial": told,
    "one trial": lambda: told(1.0),
    "only failures": lambda: told(*[ValueError("no <b>luck</b>")] * 3),
    "one failure and one value": lambda: told(ValueError("boom"), 2.0),
    "one trial that runs": lambda: started(1),
    "only results from elsewhere": lambda: added(0.5),
    "the same value everywhere": lambda: told(*[1.0] * 12),
}


PLAYED = cache(played)


def shown(kind, study):
    return [study] if kind == "regret" else study


def texts(document):
    return " ".join(element.text or "" for element in ElementTree.fromstring(document).iter())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", STUDIES)
def test_a_study_with_little_to_show_is_a_picture_that_says_so(kind, case):
    study = shown(kind, STUDIES[case]())
    document = getattr(plots, kind)(study, backend="svg", width=400)
    if case == "no trial":
        assert "no trial has started" in texts(document)
    if case == "only failures" and kind not in ("burn_down", "shares", "rungs", "workers"):
        assert "all 3 trials failed" in texts(document)
        assert "<b>" not in document
    if case == "one trial that runs" and kind not in ("burn_down", "shares", "rungs", "workers"):
        assert "no reading yet: 1 running" in texts(document)
    if case == "only results from elsewhere" and kind in ("burn_down", "shares", "rungs", "workers"):
        assert "all results come from elsewhere" in texts(document)
    if case == "the same value everywhere" and kind in ("contour", "importance"):
        assert "All 12 configurations have the same value" in texts(document)
    if case == "the same value everywhere" and kind == "regret":
        assert "no regret to draw" in texts(document)
    if case not in ("one trial", "only failures"):
        for backend in ("matplotlib", "plotly"):
            assert getattr(plots, kind)(study, backend=backend, width=400) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_is_well_formed_svg_at_any_width(kind):
    study = shown(kind, PLAYED())
    for width in (400, 1600):
        root = ElementTree.fromstring(getattr(plots, kind)(study, backend="svg", width=width))
        assert root.get("width") == str(width)


@pytest.mark.parametrize("backend", ["matplotlib", "plotly"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_libraries_draw_every_plot(kind, backend, tmp_path):
    figure = getattr(plots, kind)(shown(kind, PLAYED()), backend=backend, width=640)
    if backend == "matplotlib":
        figure.savefig(tmp_path / "plot.png")
        assert figure.get_size_inches()[0] == 6.4
    else:
        assert figure.layout.width == 640
        assert figure.to_json()


def test_plots_of_other_things_with_nothing_to_show():
    assert "no round was played" in plots.online(OnlineTuner(["a", "b"]), backend="svg")
    assert "no policy was played" in plots.pairs(PolicySet.from_bandit(Bandit()), backend="svg")


def test_a_single_bar_is_not_as_thick_as_its_panel():
    panels = [panel for kind in ("workers", "rungs", "shares") for panel in plot_of(kind, told(1.0)).panels]
    ranges = [panel.y_range for panel in panels if not panel.table]
    assert ranges
    assert all(high - low >= 3 for low, high in ranges)


def test_a_reading_before_anything_was_spent_is_inside_the_picture():
    (panel,) = plot_of("history", added(0.5)).panels
    assert panel.x_range[0] < 0


def plot_of(kind, study):
    return getattr(plots, kind).data(study).picture()


def test_names_and_messages_are_escaped():
    study = told(ValueError("</text><script>alert(1)</script>"), name="<img src=x onerror=alert(1)>")
    for kind in KINDS:
        document = getattr(plots, kind)(shown(kind, study), backend="svg")
        assert "<script" not in document
        assert "<img" not in document
    assert "<img" not in plots.curves(study, backend="plotly").layout.title.text


def test_options_that_cannot_be_used_are_refused():
    with pytest.raises(MethodError, match="backend is 'bokeh'; it must be one of 'matplotlib', 'plotly', 'svg'"):
        plots.curves(told(1.0), backend="bokeh")
    with pytest.raises(MethodError, match="width is 10; it must be a whole number of pixels from 200 to 4000"):
        plots.curves(told(1.0), width=10)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    monkeypatch.delitem(sys.modules, "shoestring.plots.with_plotly", raising=False)
    with pytest.raises(MethodError, match=r"this needs plotly: pip install 'shoestring\[plots\]'"):
        plots.curves(told(1.0), backend="plotly")


def test_panels_are_side_by_side_only_where_there_is_room():
    picture = plots.slices.data(played()).picture()
    assert layout(picture, 400).columns == 1
    assert layout(picture, 1600).columns == 3


def test_far_outliers_do_not_flatten_the_axis():
    axis = scale([*[0.1 * i - 5 for i in range(100)], 1e6])
    assert axis.range is not None
    assert axis.range[1] < 100
    assert axis.outside == 1
    assert scale([0.001, 1.0]).log
    assert scale([]).range is None


@pytest.mark.parametrize("kind", ["parallel", "slices", "contour"])
def test_values_in_steps_are_labelled_where_they_are(kind):
    space = ss.space(
        steps=ss.ints(16, 256, step=16), logs=ss.ints(16, 1024, step=16, log=True), few=ss.ints(1, 8, step=7, log=True),
        range=range(5, 500, 5), array=np.linspace(0.1, 0.9, 17), pairs=[(3, 3), (5, 5)], whole=(1, 100),
    )  # fmt: skip
    study = ss.tune(lambda trial: trial.config["steps"], space, budget="12 evaluations", method="random")
    assert "<svg" in getattr(plots, kind)(study, backend="svg")
    axes = {axis.name: axis for axis in study.history.codec.axes}
    for one in plots.slices.data(study).slices:
        assert 2 <= len(one.ticks) <= 8
        for place, label in one.ticks:
            value = axes[one.parameter].decode(place)
            assert label == (f"{value:.3g}" if isinstance(value, float) else str(value))


def test_four_panels_are_two_rows_of_two():
    assert layout(Picture("four", (Panel(()),) * 4), 960).columns == 2
    assert layout(Picture("three", (Panel(()),) * 3), 960).columns == 3


def test_wide_labels_of_bars_are_inside_the_picture():
    names = ["momentum", "MMMMMMMM", "weight_decay"]
    bars = Bars([0.0, 1.0, 2.0], [0.0] * 3, [1.0] * 3, "#000000")
    panel = Panel((bars,), y_ticks=list(enumerate(names)), y_range=bar_range(3), rows=3)
    found = {}
    for element in ElementTree.fromstring(svg(Picture("bars", (panel,)), 800)).iter():
        if element.text in names:
            found[element.text] = float(element.get("x"))
    font = 12
    assert all(found[name] > font * text_width(name) for name in names)


def test_shares_are_in_steps_where_every_configuration_has_one_evaluation():
    def train(trial):
        for _ in range(9):
            yield trial.config["x"]

    options = {"budget": "12 evaluations", "max_resource": 9, "method": "asha"}
    study = ss.tune(train, {"x": (0.0, 1.0)}, **options)
    assert plots.shares.data(study).unit == "steps"
    assert plots.shares.data(study, unit="evaluations").total == 12


def test_the_labels_of_the_first_and_the_last_tick_are_inside_the_picture():
    names = ["activation (relu, tanh)", "value (0.4267 to 0.7835)"]
    panel = Panel((Line([0.0, 1.0], [0.0, 1.0], "#000000"),), x_ticks=list(enumerate(names)), x_range=(0.0, 1.0))
    found = 0
    for element in ElementTree.fromstring(svg(Picture("ends", (panel,)), 640)).iter():
        if element.text in names:
            found += 1
            half = 12 * text_width(element.text) / 2
            assert half - 0.1 <= float(element.get("x")) <= 640 - half + 0.1
    assert found == 2


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_for_plotly_are_json_and_say_which_trial_each_point_is(kind):
    found = figure_values(plot_of(kind, [PLAYED()] if kind == "regret" else PLAYED()), 640)
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    keys = [key for trace in found["data"] for key in trace.get("customdata", ())]
    for trace in found["data"]:
        assert len(trace.get("customdata", trace.get("x", ()))) == len(trace.get("x", ()))
    if kind in ("curves", "history", "parallel", "slices", "contour", "workers", "pareto", "metrics"):
        assert set(keys) <= {trial.index for trial in PLAYED().trials}
        assert keys


def test_panels_of_a_figure_do_not_overlap():
    picture = Picture("six", [Panel((Line([0.0, 1.0], [0.0, 1.0], "#000000"),), f"panel {i}") for i in range(6)])
    axes = figure_values(picture, 1000)["layout"]
    boxes = [(*axes[f"xaxis{i}"]["domain"], *axes[f"yaxis{i}"]["domain"]) for i in ("", 2, 3, 4, 5, 6)]
    for i, (left, right, bottom, top) in enumerate(boxes):
        assert 0 <= left < right <= 1
        assert -1e-9 <= bottom < top <= 1 + 1e-9
        for other in boxes[:i]:
            assert right < other[0] or other[1] < left or top < other[2] or other[3] < bottom


def contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_a_picture_has_a_dark_one_with_enough_contrast():
    used = {INK, *CATEGORIES, *(style.color for style in STATE_STYLES.values())}
    assert used <= set(DARK)
    assert contrast(DARK[INK], DARK[PAPER]) > 7
    for color in used:
        assert contrast(DARK[color], DARK[PAPER]) > 3, color


def test_a_dark_picture_is_the_same_picture():
    light = plots.curves(PLAYED(), backend="svg")
    dark = darken(light)
    assert INK not in dark
    assert texts(dark) == texts(light)


def test_words_are_drawn_by_every_renderer():
    panel = Panel((Words([0.0], [0.5], ["<b>tanh"]), Line([0.0, 1.0], [0.0, 1.0], "#000000")))
    picture = Picture("words", (panel,))
    assert "&lt;b&gt;tanh" in svg(picture, 400)
    assert "&lt;b&gt;tanh" in json.dumps(figure_values(picture, 400))
    assert with_matplotlib.figure(picture).axes[0].texts[0].get_text() == "<b>tanh"


def test_parallel_coordinates_have_values_and_categories_on_their_axes():
    document = plots.parallel(PLAYED(), backend="svg", width=800)
    found = {element.text for element in ElementTree.fromstring(document).iter()}
    assert {"0.001", "0.01", "0.1", "a", "b", "x", "rate", "kind", "value"} <= found


@pytest.mark.parametrize("kind", sorted(set(plots.__all__)))
def test_signatures_name_every_option(kind):
    parameters = inspect.signature(getattr(plots, kind)).parameters
    assert list(parameters)[-2:] == ["backend", "width"]
    assert not any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in parameters.values())
    with pytest.raises(MethodError, match=f"{kind} has no option 'colour'; it has"):
        getattr(plots, kind)(told(1.0), colour="x")


def test_the_record_takes_no_options_of_a_figure():
    with pytest.raises(MethodError, match="makes no figure, so it takes no width"):
        plots.curves.data(told(1.0), width=300)
