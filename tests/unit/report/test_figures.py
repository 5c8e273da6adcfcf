"""Figures: what they rest on stands in them, and no study makes them fail."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import seaborn as sns
import yaml
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle

from fabricstudy.report.axis_figures import _data, draw_axis_figure
from fabricstudy.report.ecdf import draw_ecdf
from fabricstudy.report.figure_style import PLAIN_NUMBERS, Looks, dropped_note, lighten, log_ticks
from fabricstudy.report.figures import RenderedFigure, draw
from fabricstudy.report.heatmap import _colours, draw_heatmap
from fabricstudy.report.page import LEAST_PX
from fabricstudy.report.scatter import draw_scatter as scatter_canvas
from fabricstudy.report.scatter import fronts
from fabricstudy.study.figures import Figure as AxisFigure
from fabricstudy.study.figures import HeatmapFigure

from .conftest import FIGURES, STUDY, Case, case_of

Make = Callable[..., Case]
HEATMAP = {"id": "a", "kind": "heatmap", "title": "A", "x": "alpha", "y": "routing", "value": "runtime_ns"}


def drawn(case: Case, *names: str, formats: Sequence[str] = ("svg", "pdf")) -> dict[str, RenderedFigure]:
    """The figures of a case with these ids, or all of them; pictures of other formats than these are empty."""
    save = Figure.savefig

    def savefig(figure: Figure, file: Any, **options: Any) -> None:
        if options["format"] in formats:
            save(figure, file, **options)

    figures = [figure for figure in case.study.figures if figure.id in names or not names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", savefig)
        return {figure.id: draw(figure, case.tables) for figure in figures}


def told(case: Case, *names: str) -> dict[str, RenderedFigure]:
    """What is said of the figures, without their pictures, which take most of the time."""
    return drawn(case, *names, formats=())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RenderedFigure]:
    """All figures of the study, drawn once."""
    file = tmp_path_factory.mktemp("pictures") / "study.yaml"
    file.write_text(yaml.safe_dump(STUDY, sort_keys=False))
    return drawn(case_of(file, lost=0))


def test_every_figure_is_drawn_as_svg_and_pdf_with_words_beside_it(pictures: dict[str, RenderedFigure]) -> None:
    for name, one in pictures.items():
        if name == "nothing":
            continue
        assert ElementTree.fromstring(one.svg).tag.endswith("svg")
        assert one.pdf.startswith(b"%PDF")
        assert one.alt
        assert "none missing" in one.basis
        # Labels of a study are text, never markup.
        assert b"<script" not in one.svg


def test_points_seeds_and_meaning_of_the_bars_are_stated(pictures: dict[str, RenderedFigure]) -> None:
    assert pictures["lines"].basis == (
        "n = 24 points, 3 seeds; median over seeds, whiskers: min to max; "
        "dotted: lower bound on the runtime; none missing."
    )
    assert "box: quartiles and median, whiskers: min and max" in pictures["boxes"].basis
    assert pictures["cuts"].basis == "n = 2 machines; whiskers: intervals of 1 values; none missing."


def test_axes_that_a_figure_does_not_tell_apart_are_named(make: Make) -> None:
    figure = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
    basis = told(make(figures=[figure]))["a"].basis
    assert "median over seeds and routing and message, whiskers: min to max" in basis


def test_an_axis_that_moves_with_a_drawn_one_is_not_named(make: Make) -> None:
    sweep = {
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 2: "2 GB/s"}},
        "buffer": {"of": "network.buffer", "values": ["64 kB", "32 kB"]},
    }
    figure = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
    basis = told(make(figures=[figure], claims=[], sweep=sweep, zip=[["alpha", "buffer"]]))["a"].basis
    assert "; median over seeds, whiskers" in basis


def test_failed_points_are_counted_and_the_rest_is_drawn(make: Make, pictures: dict[str, RenderedFigure]) -> None:
    # The first three points are all seeds of ratio 0.5, minimal, first message.
    found = drawn(make(lost=3), "lines", "bars", formats=["svg"])
    assert "n = 21 points, 3 seeds" in found["lines"].basis
    assert "3 of 24 points missing (3 failed)" in found["lines"].basis
    assert "3 of 4 comparisons" in found["bars"].basis
    assert "; 4 comparisons, seed by seed." in pictures["bars"].basis
    assert found["bars"].svg


def test_without_any_result_the_reason_stands_instead(make: Make) -> None:
    found = drawn(make(lost=24), "lines", "nothing", "cuts", formats=["svg"])
    assert not found["lines"].svg and not found["lines"].pdf
    assert found["lines"].basis == "Nothing to draw: table jobs has no such rows; 24 of 24 points missing (24 failed)."
    assert found["nothing"].basis.startswith("Nothing to draw: table agreement has no such rows")
    assert found["cuts"].svg


def test_normalised_values_are_ratios_of_equal_seeds(make: Make) -> None:
    """Valiant takes three times as long with each seed, while seeds differ by 50 %: there is nothing to whisker."""
    figure = {**FIGURES[1], "x": "message", "hue": "routing", "where": {"alpha": 0.5}}
    case = make(figures=[figure], claims=[])
    jobs = case.tables.jobs
    jobs = jobs.assign(runtime_ns=1e6 * (1 + jobs["seed"] / 2) * (1 + 2 * (jobs["routing"] == "valiant")))
    alone = jobs[(jobs["routing"] == "valiant") | (jobs["seed"] != 2)]
    for rows, note in ((jobs, "2 comparisons, seed by seed."), (alone, "2 values without a reference are excluded.")):
        (declared,) = case.study.figures
        assert isinstance(declared, AxisFigure)
        data = _data(declared, replace(case.tables, jobs=rows))
        ends = data.marks.set_index("hue")[["low", "y", "high"]]
        assert np.allclose(ends.loc["minimal"], 1) and np.allclose(ends.loc["valiant"], 3)
        assert data.basis.endswith(note)


def test_where_leaves_the_reference_of_a_normalised_figure(make: Make) -> None:
    shown = {**FIGURES[1], "where": {"routing": "valiant"}}
    valiant, both = (drawn(make(figures=[figure], claims=[]), "bars")["bars"].alt for figure in (shown, FIGURES[1]))
    values = [float(text) for text in re.findall(r"([\d.]+) at", valiant)]
    assert "minimal, " not in valiant and values and min(values) != 1.0
    assert max(values) == max(float(text) for text in re.findall(r"([\d.]+) at", both))


def test_one_hue_axis_is_one_colour_a_label_whatever_its_text(make: Make) -> None:
    """Labels such as "2 GB/s, 40 ns" are no two axes, of which the second would shade the first."""
    figure = {"id": "a", "kind": "bar", "title": "A", "x": "alpha", "y": "runtime_ns", "hue": "net"}
    labels = ["2 GB/s, 40 ns", "2 GB/s, 80 ns", "1 GB/s, 40 ns"]
    nets = {label: {"machine.latency": f"{40 + number} ns"} for number, label in enumerate(labels)}
    sweep = {**STUDY["sweep"], "net": {"set": nets}}
    case = make(figures=[figure], claims=[], sweep=sweep, seeds=1)
    (declared,) = case.study.figures
    assert isinstance(declared, AxisFigure)
    looks = _data(declared, case.tables).looks
    assert set(looks.family.values()) == set(looks.hues)
    assert list(looks.palette.values()) == list(sns.color_palette("colorblind", len(looks.hues)))


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_a_legend_is_in_view_on_a_telephone(make: Make, kind: str) -> None:
    """A figure is at least 660 px wide for 7.6 inches, and scrolls sideways."""
    figure = {**FIGURES[1], "kind": kind, "hue": ["routing", "message", "alpha"], "normalise_to": {}, "x": "seed"}
    canvas = canvas_of(make(figures=[figure], claims=[]))
    canvas.canvas.draw()
    right_inches = canvas.legends[0].get_window_extent().x1 / canvas.dpi
    assert len(canvas.legends[0].get_texts()) == 8 and right_inches * LEAST_PX / 7.6 < 390


def test_the_axis_of_normalised_values_names_the_reference(make: Make) -> None:
    axes, *_ = canvas_of(make(figures=[FIGURES[1]], claims=[])).axes
    assert axes.get_ylabel().replace("\n", " ") == "runtime relative to routing minimal"


def test_two_hue_axes_are_families_of_colours() -> None:
    """The second axis sets the lightness."""
    names = [(first, second) for first in ("minimal", "valiant") for second in ("small", "large")]
    marks = pd.DataFrame({"hue": map(", ".join, names), "family": [first for first, _ in names], "style": ""})
    colours = list(Looks(marks).palette.values())
    first, second = sns.color_palette("colorblind", 2)
    assert colours == [first, lighten(first, 0.7), second, lighten(second, 0.7)]


def test_units_stand_on_the_axes(pictures: dict[str, RenderedFigure]) -> None:
    assert ": runtime (ms) against" in pictures["lines"].alt
    assert "bisection upper (GB/s)" in pictures["cuts"].alt
    assert "1.01 at" in pictures["lines"].alt


@pytest.mark.parametrize("name", [figure["id"] for figure in FIGURES])
def test_the_same_tables_give_the_same_picture(make: Make, pictures: dict[str, RenderedFigure], name: str) -> None:
    one, two = pictures[name], drawn(make(), name)[name]
    assert (one.svg, one.pdf) == (two.svg, two.pdf)


@pytest.mark.parametrize(
    "change",
    [
        {"x_log": True, "y_log": True},
        {"rows": "message", "share_y": False, "from_zero": False},
        {"x": "message"},
        {"x": "seed", "hue": "alpha"},
        {"hue": [], "style": "message"},
        {"x": "message", "kind": "box", "style": None, "show_bound": False},
        {"reduce_jobs": "each", "columns": "job"},
        {"reduce_jobs": "each", "hue": "job_name"},
        {"where": {"alpha": 2}},
        {"kind": "bar", "style": None, "show_bound": False},
        {"kind": "box", "style": None, "show_bound": False, "hue": ["message", "routing"]},
    ],
)
def test_all_ways_of_drawing(make: Make, change: dict[str, Any]) -> None:
    (one,) = drawn(make(figures=[{**FIGURES[0], **change}]), formats=["svg"]).values()
    assert one.svg


@pytest.mark.parametrize(("given", "from_zero"), [({}, True), ({"from_zero": False}, False)])
def test_lines_begin_at_zero_unless_the_study_says_otherwise(
    make: Make, given: dict[str, Any], from_zero: bool
) -> None:
    case = make(figures=[{**FIGURES[0], "y_log": False, **given}])
    (declared,) = case.study.figures
    assert isinstance(declared, AxisFigure)
    bottoms = [axes.get_ylim()[0] for axes in draw_axis_figure(declared, case.tables).canvas.axes]
    assert bottoms and all(bool(bottom == 0) is from_zero for bottom in bottoms)


@pytest.mark.parametrize(
    ("labels", "given", "scale", "positions"),
    [
        ([0.5, 1, 2, 4], {}, "log", [0.5, 1, 2, 4]), ([1, 2, 3], {}, "linear", [1, 2, 3]),
        ([0.5, 1, 2, 4], {"x_log": False}, "linear", [0.5, 1, 2, 4]), ([1, 2, 3], {"x_log": True}, "log", [1, 2, 3]),
        (["a", "b", "c", "d"], {}, "linear", [0, 1, 2, 3]),
        (["500 B", "1 kB", "2 kB", "4 kB"], {}, "log", [500, 1000, 2000, 4000]),
        (["1 us", "2 us", "3 us"], {"x_log": True}, "log", [1e-6, 2e-6, 3e-6]),
        (["1 kB", "1000 B", "8 kB"], {}, "linear", [0, 1, 2]), (["1 kB", "2 us", "8 kB"], {}, "linear", [0, 1, 2]),
    ],
)  # fmt: skip
def test_ratios_and_sizes_are_drawn_on_a_logarithmic_scale(
    make: Make, labels: list[Any], given: dict[str, Any], scale: str, positions: list[float]
) -> None:
    alpha = {"of": "machine.bandwidth.global", "values": {label: f"{n + 1} GB/s" for n, label in enumerate(labels)}}
    case = make(claims=[], sweep={"alpha": alpha}, figures=[{**LINES, **given}])
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    (axes,) = draw_axis_figure(figure, case.tables).canvas.axes
    assert axes.get_xscale() == scale
    assert [text.get_text() for text in axes.get_xticklabels()] == [str(label) for label in labels]
    assert [float(at) for at in positions] in [
        np.asarray(line.get_xdata(), dtype=float).tolist() for line in axes.lines
    ]


def test_of_many_sizes_those_with_a_tick_are_apart_and_have_units(make: Make) -> None:
    sizes = [f"{2**power} kB" for power in range(24)] + ["5 kB"]
    alpha = {"of": "machine.bandwidth.global", "values": {label: f"{n + 1} GB/s" for n, label in enumerate(sizes)}}
    case = make(claims=[], sweep={"alpha": alpha}, figures=[LINES])
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    (axes,) = draw_axis_figure(figure, case.tables).canvas.axes
    told = {text.get_text(): text.get_position()[0] for text in axes.get_xticklabels()}
    assert 8 < len(told) < 20 and "1 kB" in told and "5 kB" not in told
    assert all(at == pytest.approx(1000 * float(text.removesuffix(" kB"))) for text, at in told.items())


LINES = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}


def test_lines_that_coincide_differ_in_dashes_width_and_marker(make: Make) -> None:
    """The wide one is drawn first, so that those above it leave some of it uncovered."""
    case = make(figures=[{**LINES, "hue": "routing", "where": {"message": "large"}}])
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    (axes,) = draw_axis_figure(figure, case.tables).canvas.axes
    looks = [
        (one.get_linestyle(), one.get_marker(), one.get_linewidth())
        for one in axes.lines
        if np.size(one.get_xdata()) > 1
    ]
    lines = [look for look in looks if look[0] != "None"]
    assert len(lines) == 2 and all(len(set(part)) == 2 for part in zip(*lines, strict=True))
    assert lines[0][2] > lines[1][2]


@pytest.mark.parametrize(("hues", "hatched"), [(["routing"], False), (["routing", "message", "alpha"], True)])
def test_bars_of_many_hues_are_hatched(make: Make, hues: list[str], hatched: bool) -> None:
    case = make(figures=[{**LINES, "kind": "bar", "x": "seed", "hue": hues}])
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    canvas = draw_axis_figure(figure, case.tables).canvas
    hatches = [patch.get_hatch() for patch in canvas.legends[0].get_patches()]
    assert bool(len({one for one in hatches if one}) == len(hatches) - 1) is hatched
    assert [next(iter(bars)).get_hatch() for bars in canvas.axes[0].containers] == hatches


def test_labels_without_any_number_are_named_and_n_is_what_is_drawn(make: Make) -> None:
    """Six of the points fail, all of Valiant at one of the messages; a partner of others is lost, too."""
    case = make(
        figures=[
            {**LINES, "hue": "routing", "where": {"message": "large"}},
            {**FIGURES[1], "where": {"message": "large"}},
        ]
    )
    points = case.tables.points.copy()
    gone = (points["routing"] == "valiant") & (points["message"] == "large")
    points.loc[gone, ["status", "reason"]] = ["failed", "x"]
    jobs = case.tables.jobs[~case.tables.jobs["point_id"].isin(points.loc[gone, "point_id"])]
    lost = replace(case, tables=replace(case.tables, points=points, jobs=jobs))
    basis = told(lost, "a")["a"].basis
    assert basis.startswith("n = 6 points,") and "6 of 12 points missing" in basis and "routing valiant" in basis
    gone = (points["routing"] == "minimal") & (points["message"] == "large") & (points["alpha"] == 2)
    jobs = case.tables.jobs[~case.tables.jobs["point_id"].isin(points.loc[gone, "point_id"])]
    assert told(replace(case, tables=replace(case.tables, jobs=jobs)), "bars")["bars"].basis.startswith("n = 6 points,")


def test_rows_without_a_number_of_points_that_have_others_are_counted(make: Make) -> None:
    case = make(figures=[{**LINES, "reduce_jobs": "each", "hue": "job"}])
    second = case.tables.jobs.assign(job=1, runtime_ns=np.nan)
    jobs = pd.concat([case.tables.jobs, second], ignore_index=True)
    basis = told(replace(case, tables=replace(case.tables, jobs=jobs)), "a")["a"].basis
    assert basis.startswith("n = 24 points,") and "24 rows without a number" in basis


@pytest.mark.parametrize(("low", "high"), [(1, 1.9), (60, 950), (40, 7000), (1e3, 4e7), (2e-3, 3.0)])
def test_logarithmic_scales_have_labels_that_do_not_overlap(low: float, high: float) -> None:
    canvas = Figure(figsize=(4, 2.6))
    axes = canvas.subplots()
    axes.plot([1, 2], [low, high])
    log_ticks(axes)
    canvas.canvas.draw()
    inside = [
        text.get_window_extent() for text in axes.get_yticklabels(which="both")
        if text.get_text() and axes.get_ylim()[0] <= text.get_position()[1] <= axes.get_ylim()[1]
    ]  # fmt: skip
    assert len(inside) >= 2
    assert not any(one.overlaps(other) for i, one in enumerate(inside) for other in inside[:i])


def with_hops(case: Case, hop_bytes: Mapping[str, Sequence[float]]) -> Case:
    """Return other hops for the jobs of each message, one number for each of the first labels in the plan's order."""
    jobs = case.tables.jobs.copy()
    for message, numbers in hop_bytes.items():
        own = jobs.index[jobs["message"] == message]
        jobs.loc[own, "hop_bytes"] = np.resize(np.array(numbers, dtype=float), len(own))
    return replace(case, tables=replace(case.tables, jobs=jobs))


SCATTER = {"id": "a", "kind": "scatter", "title": "A", "x": "hop_bytes", "y": "runtime_ns", "columns": "message"}
ALPHAS = {str(number): f"{number} GB/s" for number in range(1, 5)}


def many(make: Make, **changes: Any) -> Case:
    """Eight times of each of two messages, which grow along the plan; those of the last routing are twice as long."""
    sweep = {
        "message": {"of": "jobs.0.pattern.message", "values": {"small": "1 kB", "large": "1 MB"}},
        "routing": {"of": "routing.kind", "values": ["minimal", "valiant"]},
        "alpha": {"of": "machine.bandwidth.global", "values": ALPHAS},
    }
    return make(claims=[], sweep=sweep, seeds=1, **changes)


@pytest.mark.parametrize(("form", "sign", "value"), [("spearman", "ρ", "−0.98"), ("kendall", "τ", "−0.93")])
def test_a_scatter_plot_says_how_far_both_columns_agree_in_each_panel(
    make: Make, form: str, sign: str, value: str
) -> None:
    case = many(make, figures=[{**SCATTER, "correlation": form, "x_unit": "kB", "unit": "ms"}])
    # Eight marks each: in the same order; in the opposite one but for two neighbours.
    hops = {"small": [1, 2, 3, 4, 5, 6, 7, 8], "large": [8, 7, 6, 5, 4, 3, 1, 2]}
    one = told(with_hops(case, hops))["a"]
    assert f"small: {sign} = 1.00, n = 8; large: {sign} = {value}, n = 8." in one.alt
    assert one.panels == 2
    assert "n = 16 points, 1 seed; " in one.basis and one.basis.endswith("; none missing.")
    assert "runtime (ms) against hop bytes (kB)" in one.alt


def test_a_scatter_plot_tells_no_correlation_where_there_is_none(make: Make) -> None:
    case = many(make, figures=[SCATTER])
    constant = told(with_hops(case, {"small": [1], "large": list(range(8))}))["a"]
    assert "small: n = 8, no order: one column is constant; large: ρ" in constant.alt
    few = told(many(make, figures=[{**SCATTER, "where": {"alpha": ["1", "2"]}}]))["a"]
    assert few.alt.count("n = 4, too few to rank") == 2


def test_a_mark_of_a_scatter_plot_is_the_median_over_seeds(pictures: dict[str, RenderedFigure]) -> None:
    one = pictures["marks"]
    assert "24 points, 3 seeds; medians over seeds" in one.basis and "rank correlation" not in one.basis
    assert one.alt.count("n = 4, too few to rank") == 2


def test_a_heat_map_tells_the_ends_of_each_panel(pictures: dict[str, RenderedFigure]) -> None:
    """Points 0 to 2 are the seeds of alpha 0.5, minimal, first message; 18 to 20 of alpha 2, Valiant."""
    alt = pictures["cells"].alt
    assert alt.startswith("Heat map: runtime (ms) by alpha and routing. ")
    assert "min 1.01 at 0.5, minimal; max 2.38 at 2, valiant" in alt


def test_a_heat_map_of_ratios_counts_its_pairs_and_leaves_lost_cells_blank(make: Make) -> None:
    figure = {**HEATMAP, "columns": "message", "normalise_to": {"routing": "minimal"}}
    one = drawn(make(lost=3, figures=[figure]), formats=["svg"])["a"]
    assert one.svg and "3 of 24 points missing (3 failed); 3 of 4 comparisons, seed by seed; " in one.basis
    assert "min 1 at " in one.alt
    plain = {**figure, "normalise_to": {}, "columns": None, "value": "bound_ns", "log": True}
    assert "median over seeds and message" in told(make(figures=[plain]))["a"].basis
    assert drawn(make(lost=24, figures=[plain]))["a"].basis.startswith("Nothing to draw: table jobs has no such rows")


def test_colours_of_a_heat_map_lie_about_what_means_no_difference() -> None:
    def norm(values: list[float], **keys: Any) -> tuple[float, float]:
        figure = HeatmapFigure.model_validate({**HEATMAP, **keys})
        scale = _colours(figure, pd.Series(values)).norm
        return float(scale.vmin), float(scale.vmax)  # type: ignore[arg-type]

    assert norm([2.0, 5.0]) == (2, 5)
    assert norm([-0.25, 0.75]) == (-0.75, 0.75)
    assert norm([0.8, 1.5], normalise_to={"alpha": 1}) == (0.5, 1.5)
    assert norm([0.0, 2.0, 8.0], log=True) == (2, 8)


@pytest.mark.parametrize("log, values, notes", [(True, [0.0, 2.0], 1), (True, [2.0], 0), (False, [-1.0], 0)])
def test_values_that_a_logarithmic_scale_cannot_show_are_counted(log: bool, values: list[float], notes: int) -> None:
    assert len(dropped_note(pd.Series(values), log)) == notes


@pytest.mark.parametrize(
    "figure",
    [
        {"kind": "line", "y": "compute_ns", "y_log": True},
        {"kind": "scatter", "x": "compute_ns", "y": "runtime_ns", "x_log": True},
        {"kind": "heatmap", "x": "alpha", "y": "routing", "value": "compute_ns", "log": True},
        {"kind": "ecdf", "x": "compute_ns", "x_log": True},
    ],
)
def test_a_logarithmic_scale_without_a_number_above_zero_shows_nothing(make: Make, figure: dict[str, Any]) -> None:
    axis = {"x": "alpha", **figure} if figure["kind"] == "line" else figure
    (picture,) = drawn(make(figures=[{"id": "a", "title": "A", **axis}])).values()
    assert not picture.svg and picture.basis.startswith("Nothing to draw")


def test_a_panel_of_a_heat_map_without_a_value_is_empty(make: Make) -> None:
    """No point has this pair of labels."""
    grid = {**HEATMAP, "x": "message", "y": "seed", "columns": "alpha", "rows": "routing"}
    exclude = [{"alpha": 2, "routing": "valiant"}]
    (picture,) = drawn(make(figures=[grid], exclude=exclude, claims=[])).values()
    assert picture.svg and picture.panels == 2


def test_numbers_at_a_logarithmic_colour_scale_are_plain(make: Make) -> None:
    (picture,) = drawn(make(figures=[{**HEATMAP, "log": True}], claims=[]), formats=("svg",)).values()
    assert picture.svg and b"mathdefault" not in picture.svg


def test_large_labels_of_an_axis_are_written_out() -> None:
    assert [PLAIN_NUMBERS(value, 0) for value in (0.5, 32768, 1048576)] == ["0.5", "32768", "1048576"]


MACHINES = {
    name: {"kind": "hyperx", "shape": shape, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
    for name, shape in {"lean": [36], "ring": [6, 6], "rich": [3, 12]}.items()
}
FRONT = {
    "id": "a", "kind": "scatter", "title": "Worth", "x": "price_per_node", "x_analysis": "bill",
    "x_where": {"part": "all"}, "y": "runtime_ns", "unit": "ms", "hue": "machine", "columns": "routing", "front": True,
}  # fmt: skip


def priced(
    make: Make, prices: dict[str, float], parts: tuple[str, ...] = ("all",), year: float | None = None, **changes: Any
) -> Case:
    """Times that grow with the number of the machine, which an analysis gives these prices."""
    sweep = {
        "routing": {"of": "routing", "values": ["minimal", "valiant"]},
        "machine": {"of": "machine", "values": MACHINES},
    }
    analyses = {"bill": {"kind": "cost", "machines": MACHINES}}
    case = make(claims=[], sweep=sweep, analyses=analyses, figures=[{**FRONT, **changes}])
    rows = [
        {"kind": "cost", "machine": machine, "part": part, "price_per_node": price}
        | ({"currency": "USD", "year": year} if year else {})
        for machine, price in prices.items()
        for part in parts
    ]
    return replace(case, tables=replace(case.tables, analyses={"bill": pd.DataFrame(rows)}))


def test_marks_that_no_other_one_beats_are_joined_and_named(make: Make) -> None:
    """Points 0, 3 and 6 are the first seeds of the machines; seed 1 is the median. The ring is dear and not fast."""
    case = priced(make, {"lean": 30.0, "ring": 31.0, "rich": 20.0})
    (figure,) = case.study.figures
    canvas = scatter_canvas(figure, case.tables)[0]  # type: ignore[arg-type]
    for axes, times in zip(canvas.axes, [(1.07, 1.01), (2.32, 2.20)], strict=True):
        (line,) = (line for line in axes.lines if line.get_linestyle() == "--")
        assert line.get_xydata().tolist() == pytest.approx(np.array([(20.0, times[0]), (30.0, times[1])]))  # type: ignore[union-attr]
    (front,) = fronts(case.study.figures, case.tables, {})
    minimal, valiant = "rich (20, 1.07) and lean (30, 1.01), of 3", "rich (20, 2.32) and lean (30, 2.2), of 3"
    assert f"for routing minimal {minimal}; for routing valiant {valiant}." in front
    one = told(case)["a"]
    assert "whiskers: min to max; none missing." in one.basis
    assert f"minimal: on the front {minimal}" in one.alt
    (without,) = fronts([figure.model_copy(update={"hue": ()})], case.tables, {})
    assert "minimal 2, of 3; " in without


def test_marks_have_the_number_of_their_machine(make: Make) -> None:
    """Each machine has its own hops; a mark is the median time over seeds of a machine."""
    hops = {"lean": 1.0, "ring": 3.0, "rich": 2.0}
    sweep = {"topology": {"of": "machine", "values": MACHINES}}
    figure = {
        "id": "a", "kind": "scatter", "title": "Hops", "x": "bisection_upper_Bps", "x_table": "machines",
        "y": "runtime_ns", "unit": "ms", "hue": "topology",
    }  # fmt: skip
    case = make(claims=[], sweep=sweep, figures=[figure])
    machines, jobs = case.tables.machines, case.tables.jobs
    machines["bisection_upper_Bps"] = machines["topology"].map(hops)
    (axes,) = scatter_canvas(case.study.figures[0], case.tables)[0].axes  # type: ignore[arg-type]
    drawn = sorted(map(tuple, axes.collections[0].get_offsets().tolist()))  # type: ignore[union-attr]
    expected = sorted(
        (hops[str(name)], time / 1e6) for name, time in jobs.groupby("topology")["runtime_ns"].median().items()
    )
    assert len(drawn) == 3 and np.array(drawn) == pytest.approx(np.array(expected))
    one = told(case)["a"]
    assert "n = 9 points" in one.basis and "none missing" in one.basis and "against bisection" in one.alt


def test_a_front_of_slowdowns_ranks_no_machine(make: Make) -> None:
    case = priced(make, {"lean": 30.0, "ring": 31.0, "rich": 20.0})
    case.tables.jobs["slowdown"] = case.tables.jobs["runtime_ns"] / 1e6
    of_times = case.study.figures[0]
    of_slowdowns = of_times.model_copy(update={"y": "slowdown", "unit": None})
    assert fronts([of_times], case.tables, {}) and fronts([of_slowdowns], case.tables, {}) == []


def test_prices_have_their_currency_and_a_narrow_axis_is_told(make: Make) -> None:
    """Prices within 1.3 % span the whole axis."""
    case = priced(make, {"lean": 1000.0, "ring": 1013.0, "rich": 1005.0}, year=2025.0)
    one = told(case)["a"]
    assert "against price per node (USD of 2025), " in one.alt and "; all x within 1.3 %; " in one.basis
    (front,) = fronts(case.study.figures, case.tables, {})
    assert "price per node (USD of 2025)" in front


def test_times_of_a_scatter_plot_over_those_of_a_machine(make: Make) -> None:
    """Each panel has its own reference, seed by seed."""
    prices = {"lean": 30.0, "ring": 31.0, "rich": 20.0}
    plain, case = priced(make, prices), priced(make, prices, unit=None, normalise_to={"machine": "lean"})
    canvases = [scatter_canvas(one.study.figures[0], one.tables)[0] for one in (plain, case)]  # type: ignore[arg-type]
    for times, ratios in zip(*(canvas.axes for canvas in canvases), strict=True):
        marks, over = (axes.collections[0].get_offsets()[:, 1] for axes in (times, ratios))
        assert over.tolist() == pytest.approx((marks / marks[0]).tolist())
    (front,) = fronts(case.study.figures, case.tables, {})
    assert "for routing minimal rich (20, 1.06) and lean (30, 1), of 3" in front
    assert told(case)["a"].basis.endswith("none missing; 4 comparisons, seed by seed.")


def test_marks_without_a_price_are_counted_and_named(make: Make) -> None:
    """Two of three machines have a price; 3 seeds and 2 routings of the third are not drawn."""
    case = priced(make, {"lean": 30.0, "rich": 20.0})
    basis = told(case)["a"].basis
    assert basis.startswith("n = 12 points,") and "6 of 18 points missing" in basis and "ring" in basis
    (front,) = fronts(case.study.figures, case.tables, case.study.analyses)
    assert ", of 2" in front and "price_per_node: ring" in front
    named = priced(make, {"lean": 30.0, "rich": 20.0}, x_key={"ring": "lean"})
    basis = told(named)["a"].basis
    assert basis.startswith("n = 18 points,") and "none missing" in basis
    (front,) = fronts(named.study.figures, named.tables, {})
    assert ", of 3" in front


def test_the_front_names_its_price_list_and_what_another_one_changes(make: Make) -> None:
    """The first prices are made up, so another list changes the front; by those of the analysis both agree."""
    case = priced(make, {"lean": 30.0, "ring": 31.0, "rich": 20.0})
    (front,) = fronts(case.study.figures, case.tables, case.study.analyses)
    assert "besta-2014 (USD of 2014); by mixnet-2025 (USD of 2025), " in front
    # Rich costs 20 and takes 1.07, ring 31 and 1.04, lean 30 and 1.01.
    assert front.endswith(" Least price times time: for routing minimal rich; for routing valiant rich.")
    cost = case.study.analyses["bill"]
    price = {row["machine"]: row["price_per_node"] for row in cost.rows() if row["part"] == "all"}
    other = cost.other_prices()
    assert other and list(other[1]) == ["mixnet-2025 (USD of 2025)"]
    again = priced(make, price)
    (same,) = fronts(again.study.figures, again.tables, again.study.analyses)
    assert "by mixnet-2025 (USD of 2025), it is the same. Least price times time: " in same
    assert ("leave" in front or "join" in front) and ", ," not in front


def test_the_least_price_times_time_names_what_the_seeds_do_not_tell_apart(make: Make) -> None:
    """Times of rich are 1.06, 1.07 and 1.08, of the ring 1.03, 1.04 and 1.05: products within 0.03 % at 20.577."""
    case = priced(make, {"lean": 30.0, "ring": 20.577, "rich": 20.0})
    (front,) = fronts(case.study.figures, case.tables, case.study.analyses)
    least = front.rpartition("Least price times time: for routing minimal ")[2].partition(";")[0]
    assert {name for name in ("lean", "ring", "rich") if name in least} == {"ring", "rich"} and "3" in least
    apart = priced(make, {"lean": 30.0, "ring": 20.4, "rich": 20.0})
    (front,) = fronts(apart.study.figures, apart.tables, apart.study.analyses)
    assert front.rpartition("Least price times time: for routing minimal ")[2].startswith("ring;")


def test_marks_of_a_scatter_plot_differ_in_shape(make: Make) -> None:
    case = priced(make, {"lean": 30.0, "ring": 31.0, "rich": 20.0})
    canvas = scatter_canvas(case.study.figures[0], case.tables)[0]  # type: ignore[arg-type]
    shapes = [path.vertices.tolist() for path in canvas.axes[0].collections[0].get_paths()]  # type: ignore[union-attr]
    handles = [handle for handle in canvas.legends[0].legend_handles if isinstance(handle, Line2D)][:3]
    assert all(one != other for i, one in enumerate(shapes) for other in shapes[:i])
    for handle, vertices in zip(handles, shapes, strict=True):
        marker = MarkerStyle(handle.get_marker())
        assert marker.get_path().transformed(marker.get_transform()).vertices.tolist() == vertices  # type: ignore[union-attr]


def test_a_mark_takes_its_price_from_one_row(make: Make) -> None:
    two = priced(make, dict.fromkeys(MACHINES, 1.0), parts=("all", "cables"), x_where={"part": ["all", "cables"]})
    assert told(two)["a"].basis.startswith("Nothing to draw: several rows of the analysis bill fit one mark")
    assert fronts(two.study.figures, two.tables, {}) == []


PARTS = {
    "id": "a", "kind": "bar", "title": "A", "x": "routing", "y": "runtime_ns", "unit": "ms", "reduce_jobs": "each",
    "hue": "alpha", "parts": ["compute_ns", "communication_ns"],
}  # fmt: skip


def test_upper_parts_of_a_bar_are_lighter() -> None:
    base = (0.0, 0.5, 1.0)
    assert lighten(base, 0) == base
    assert lighten(base, 0.65) == pytest.approx((0.65, 0.825, 1.0))


def test_bars_stand_on_one_another_and_reach_to_y(make: Make) -> None:
    case = make(figures=[PARTS])
    jobs = case.tables.jobs
    jobs["compute_ns"] = 1e5 * jobs["seed"]
    jobs["communication_ns"] = jobs["runtime_ns"] - jobs["compute_ns"]
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    data = _data(figure, case.tables)
    canvas = draw_axis_figure(figure, case.tables).canvas
    heights = {round(bar.get_height(), 6) for bars in canvas.axes[0].containers for bar in bars}
    whole = {round(float(one), 6) for one in data.rows.groupby(["x", "hue"])["y"].median()}
    assert heights == whole | {0.2}
    assert [text.get_text() for text in canvas.legends[0].get_texts()][-2:] == ["communication and waiting", "compute"]
    jobs.loc[jobs.index[:5], "communication_ns"] = np.nan  # such as the exposed part on an engine that has none
    assert "n = 19 points" in told(case)["a"].basis and "5 values without all parts excluded" in told(case)["a"].basis
    jobs["compute_ns"] *= 2
    assert told(case)["a"].basis == "Nothing to draw: compute_ns and communication_ns do not add up to runtime_ns."


def canvas_of(case: Case) -> Figure:
    """The canvas of the only figure, which is of lines, bars or boxes."""
    figure = case.study.figures[0]
    assert isinstance(figure, AxisFigure)
    return draw_axis_figure(figure, case.tables).canvas


BARS = {"id": "a", "kind": "bar", "title": "A", "x": "message", "y": "runtime_ns", "hue": "routing"}


def test_each_bar_shows_its_bound(make: Make) -> None:
    (axes,) = canvas_of(make(figures=[{**BARS, "show_bound": True}])).axes
    bars = [bar for bars in axes.containers for bar in getattr(bars, "patches", [])]
    of_bounds, of_times = ([bar for bar in bars if bar.get_facecolor()[3] == alpha] for alpha in (0, 1))
    middles = sorted(bar.get_x() + bar.get_width() / 2 for bar in of_times)
    assert middles and sorted(bar.get_x() + bar.get_width() / 2 for bar in of_bounds) == pytest.approx(middles)
    assert {bar.get_height() for bar in of_bounds} == {9e5}


def test_each_bar_shows_its_interval(make: Make) -> None:
    (axes,) = canvas_of(make(figures=[{**BARS, "interval": ["bound_ns", "runtime_ns"]}])).axes
    bars = [bar for bars in axes.containers for bar in getattr(bars, "patches", [])]
    lines = [np.array(line.get_data(), dtype=float) for line in axes.lines]
    ends = sorted((np.nanmean(x), np.nanmin(y), np.nanmax(y)) for x, y in lines)
    assert [x for x, _, _ in ends] == pytest.approx(sorted(bar.get_x() + bar.get_width() / 2 for bar in bars))
    assert {low for _, low, _ in ends} == {9e5} and all(high > low for _, low, high in ends)


def test_a_shared_scale_reaches_to_the_values_of_each_panel(make: Make) -> None:
    case = make(figures=[{**FIGURES[0], "columns": "routing", "hue": [], "share_y": True, "y_log": False}])
    (figure,) = case.study.figures
    assert isinstance(figure, AxisFigure)
    last = case.tables.points["routing"].drop_duplicates().iloc[-1]
    case.tables.jobs.loc[case.tables.jobs["routing"] == last, "runtime_ns"] *= 8
    data = _data(figure, case.tables)
    tops = [axes.get_ylim()[1] for axes in draw_axis_figure(figure, case.tables).canvas.axes]
    assert len(tops) > 1 and min(tops) >= data.rows["y"].max()


@pytest.mark.parametrize(("times", "same"), [(9.0, True), (12.0, False)])
def test_panels_that_differ_by_more_than_ten_have_scales_of_their_own(make: Make, times: float, same: bool) -> None:
    case = make(figures=[{**BARS, "x": "alpha", "columns": "message", "rows": None}])
    jobs = case.tables.jobs
    larger = jobs["runtime_ns"].where(jobs["message"] != "large", times * jobs["runtime_ns"].max())
    level = larger.where(jobs["message"] == "large", jobs["runtime_ns"].max())
    tables = replace(case.tables, jobs=jobs.assign(runtime_ns=level))
    panels = canvas_of(replace(case, tables=tables)).axes
    assert (panels[0].get_ylim() == panels[1].get_ylim()) == same
    assert [axes.get_ylabel() for axes in panels] == ["runtime (ns)", ""]
    (one,) = told(replace(case, tables=tables)).values()
    assert ("scales differ between panels" in one.basis) == (not same)


def test_panels_go_by_the_names_of_jobs(make: Make) -> None:
    figure = {"id": "a", "kind": "box", "title": "A", "x": "alpha", "y": "runtime_ns", "reduce_jobs": "each"}
    case = make(figures=[{**figure, "columns": "job"}], jobs=[{**STUDY["jobs"][0], "name": "halo"}])
    assert [axes.get_title() for axes in canvas_of(case).axes] == ["job: halo"]


def test_one_panel_is_as_wide_as_two(make: Make) -> None:
    one, two = (make(figures=[{**BARS, "columns": columns}]) for columns in (None, "message"))
    assert canvas_of(one).get_figwidth() == canvas_of(two).get_figwidth()


def test_an_ecdf_is_the_share_of_values_that_are_no_larger(make: Make) -> None:
    case = make(figures=[{"id": "a", "kind": "ecdf", "title": "A", "x": "runtime_ns", "hue": "routing"}])
    (one,) = told(case).values()
    assert "24 values of n = 24 points, 3 seeds" in one.basis
    times = case.tables.jobs.query("routing == 'valiant'")["runtime_ns"]
    assert f"valiant: half at most {times.median():.0f}" in one.alt


# Numbers that a figure draws in each panel, as rows of text, and what pandas computes from the table.


def in_panels(case: Case, numbers: Callable[[Any], Sequence[float]]) -> dict[str, list[float]]:
    """Return the sorted numbers that are drawn in each panel of the only figure, by its title."""
    figure = case.study.figures[0]
    draw_figure = scatter_canvas if figure.kind == "scatter" else draw_axis_figure
    draw_figure = {"ecdf": draw_ecdf, "heatmap": draw_heatmap}.get(figure.kind, draw_figure)  # type: ignore[assignment]
    canvas = draw_figure(figure, case.tables).canvas  # type: ignore[arg-type]
    return {axes.get_title(): sorted(map(float, numbers(axes))) for axes in canvas.axes if axes.get_title()}


def of_lines(axes: Any) -> list[float]:
    return [y for line in axes.lines if line.get_linestyle() != "None" for y in line.get_ydata()]


def of_whiskers(axes: Any) -> list[float]:
    return [y for part in axes.collections for segment in part.get_segments() for y in segment[:, 1]]


def of_bars(axes: Any) -> list[float]:
    return [bar.get_height() for bars in axes.containers for bar in bars]


def of_points(axes: Any) -> list[float]:
    marks: list[Any] = [part for part in axes.collections if isinstance(part, PathCollection)]
    return [y for part in marks for _, y in part.get_offsets()]


def of_cells(axes: Any) -> list[float]:
    cells: list[Any] = [part for part in axes.collections if isinstance(part, QuadMesh)]
    return [y for part in cells for y in part.get_array().ravel()]


def of_steps(axes: Any) -> list[float]:
    return [x for line in axes.lines for x in line.get_xdata()[1:]]


MEDIAN, ENDS, ALL = ["median"], ["min", "max"], [pd.Series.tolist]


@pytest.mark.parametrize(
    ("kind", "keys", "numbers", "expected"),
    [
        ({"kind": "line", "x": "alpha", "hue": "message"}, ["alpha", "message"], of_lines, MEDIAN),
        ({"kind": "line", "x": "alpha", "hue": "message"}, ["alpha", "message"], of_whiskers, ENDS),
        ({"kind": "line", "x": "alpha", "style": "message"}, ["alpha", "message"], of_lines, MEDIAN),
        ({"kind": "bar", "x": "alpha", "hue": "message"}, ["alpha", "message"], of_bars, MEDIAN),
        ({"kind": "box", "x": "alpha", "hue": "message"}, ["alpha", "message"], of_points, ALL),
        ({"kind": "scatter", "x": "hop_bytes", "hue": "alpha", "style": "message"}, ["alpha", "message"], of_points,
         MEDIAN),
        ({"kind": "heatmap", "x": "alpha", "y": "message", "value": "runtime_ns"}, ["alpha", "message"], of_cells,
         MEDIAN),
        ({"kind": "ecdf", "x": "runtime_ns", "hue": "message"}, ["message"], of_steps, ALL),
    ],
)  # fmt: skip
def test_plotted_numbers_are_those_of_the_table(
    make: Make, kind: dict[str, Any], keys: list[str], numbers: Any, expected: list[Any]
) -> None:
    y = {} if kind["kind"] in ("heatmap", "ecdf") else {"y": "runtime_ns"}
    case = make(figures=[{"id": "a", "title": "A", "columns": "routing", "unit": "ms", **y, **kind}], claims=[])
    drawn = in_panels(case, numbers)
    for routing, part in case.tables.jobs.groupby("routing"):
        values = part.groupby(keys)["runtime_ns"].agg(expected) if expected is not ALL else part["runtime_ns"]
        assert drawn[f"routing: {routing}"] == pytest.approx(sorted(np.ravel(values) / 1e6), rel=1e-12)
