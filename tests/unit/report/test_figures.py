"""Figures: what they rest on stands in them, and no study makes them fail."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest
import seaborn as sns
from matplotlib.figure import Figure

from fabricstudy.report.figures import Drawn, _colour, _data, _log_ticks, draw
from fabricstudy.table.select import observe

from .conftest import FIGURES, STUDY, Case

Make = Callable[..., Case]


def drawn(case: Case, *names: str) -> dict[str, Drawn]:
    """The figures of a case with these ids, or all of them."""
    return {figure.id: draw(figure, case.tables) for figure in case.study.figures if figure.id in names or not names}


def test_every_figure_is_drawn_as_svg_and_pdf_with_words_beside_it(make: Make) -> None:
    for name, one in drawn(make()).items():
        if name == "nothing":
            continue
        assert ElementTree.fromstring(one.svg).tag.endswith("svg")
        assert one.pdf.startswith(b"%PDF")
        assert one.alt
        assert "none missing" in one.basis
        # Labels of a study are text, never markup.
        assert b"<script" not in one.svg


def test_points_seeds_and_meaning_of_the_bars_are_stated(make: Make) -> None:
    found = drawn(make(), "lines", "boxes", "cuts")
    assert found["lines"].basis == (
        "n = 24 points, 3 seeds; median over seeds, whiskers: least to largest; "
        "dotted: bound, the least time that the links allow; none missing."
    )
    assert "box: quartiles and median, whiskers: least and largest" in found["boxes"].basis
    assert found["cuts"].basis == "n = 2 machines; whiskers: interval of 1 values; none missing."


def test_axes_that_a_figure_does_not_tell_apart_are_named(make: Make) -> None:
    figure = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
    basis = drawn(make(figures=[figure]))["a"].basis
    assert "median over seeds and routing and message, whiskers: least to largest" in basis


def test_an_axis_that_moves_with_a_drawn_one_is_not_named(make: Make) -> None:
    sweep = {
        "alpha": {"of": "machine.bandwidth.global", "values": {0.5: "0.5 GB/s", 2: "2 GB/s"}},
        "buffer": {"of": "network.buffer", "values": ["64 kB", "32 kB"]},
    }
    figure = {"id": "a", "kind": "line", "title": "A", "x": "alpha", "y": "runtime_ns"}
    basis = drawn(make(figures=[figure], claims=[], sweep=sweep, zip=[["alpha", "buffer"]]))["a"].basis
    assert "; median over seeds, whiskers" in basis


def test_failed_points_are_counted_and_the_rest_is_drawn(make: Make) -> None:
    # The first three points are all seeds of ratio 0.5, minimal, first message.
    found = drawn(make(lost=3), "lines", "bars")
    assert "n = 21 points, 3 seeds" in found["lines"].basis
    assert "3 of 24 points missing (3 failed)" in found["lines"].basis
    assert "3 of 4 pairs" in found["bars"].basis
    assert "; 4 pairs." in drawn(make(), "bars")["bars"].basis
    assert found["bars"].svg


def test_without_any_result_the_reason_stands_instead(make: Make) -> None:
    found = drawn(make(lost=24))
    assert not found["lines"].svg and not found["lines"].pdf
    assert found["lines"].basis == "Nothing to draw: table jobs has no such rows; 24 of 24 points missing (24 failed)."
    assert found["nothing"].basis.startswith("Nothing to draw: table agreement has no such rows")
    assert found["cuts"].svg


def test_normalised_values_are_ratios_of_medians(make: Make) -> None:
    """Numbers 1 to 3 of the first base have the median 1.01 ms; all values of ratio 2 are twice as large."""
    alt = drawn(make(), "bars")["bars"].alt
    values = [float(text) for text in re.findall(r"([\d.]+) at", alt)]
    assert min(values) == 1.0
    assert max(values) == pytest.approx(2.0, abs=0.2)


def test_one_hue_axis_is_one_colour_a_label_whatever_its_text(make: Make) -> None:
    """Labels such as "2 GB/s, 40 ns" are no two axes, of which the second would shade the first."""
    figure = {"id": "a", "kind": "bar", "title": "A", "x": "alpha", "y": "runtime_ns", "hue": "net"}
    labels = ["2 GB/s, 40 ns", "2 GB/s, 80 ns", "1 GB/s, 40 ns"]
    nets = {label: {"machine.latency": f"{40 + number} ns"} for number, label in enumerate(labels)}
    sweep = {**STUDY["sweep"], "net": {"set": nets}}
    case = make(figures=[figure], claims=[], sweep=sweep, seeds=1)
    (declared,) = case.study.figures
    data = _data(declared, case.tables, observe(case.tables, declared, declared.y))
    assert set(data.family.values()) == set(data.hues)
    colours = {tuple(_colour(data, hue)) for hue in data.hues}
    plain = {tuple(colour) for colour in sns.color_palette("colorblind", len(data.hues))}
    assert colours == plain


def test_two_hue_axes_are_families_of_colours(make: Make) -> None:
    case = make()
    bars = next(one for one in case.study.figures if one.id == "bars")
    data = _data(bars, case.tables, observe(case.tables, bars, bars.y))
    assert set(data.family.values()) == {"minimal", "valiant"}
    assert len(data.family) == 4


def test_units_stand_on_the_axes(make: Make) -> None:
    found = drawn(make(), "lines", "cuts")
    assert ": runtime (ms) against" in found["lines"].alt
    assert "bisection upper (GB/s)" in found["cuts"].alt
    assert "1.01 at" in found["lines"].alt


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure["id"])
def test_the_same_tables_give_the_same_picture(make: Make, figure: dict[str, Any]) -> None:
    case = make(figures=[figure])
    one, two = drawn(case)[figure["id"]], drawn(case)[figure["id"]]
    assert (one.svg, one.pdf) == (two.svg, two.pdf)


@pytest.mark.parametrize(
    "change",
    [
        {"x_log": True, "y_log": True},
        {"rows": "message", "same_y": False},
        {"x": "message"},
        {"x": "seed", "hue": "alpha"},
        {"hue": [], "style": "message"},
        {"x": "message", "kind": "box", "style": None, "show_bound": False},
        {"over_jobs": "each", "columns": "job"},
        {"over_jobs": "each", "hue": "job_name"},
        {"where": {"alpha": 2}},
        {"kind": "bar", "style": None, "show_bound": False},
        {"kind": "box", "style": None, "show_bound": False, "hue": ["message", "routing"]},
    ],
)
def test_all_ways_of_drawing(make: Make, change: dict[str, Any]) -> None:
    (one,) = drawn(make(figures=[{**FIGURES[0], **change}])).values()
    assert one.svg


@pytest.mark.parametrize(("low", "high"), [(1, 1.9), (60, 950), (40, 7000), (1e3, 4e7), (2e-3, 3.0)])
def test_logarithmic_scales_have_labels_that_do_not_overlap(low: float, high: float) -> None:
    canvas = Figure(figsize=(4, 2.6))
    axes = canvas.subplots()
    axes.plot([1, 2], [low, high])
    _log_ticks(axes)
    canvas.canvas.draw()
    inside = [
        text.get_window_extent() for text in axes.get_yticklabels(which="both")
        if text.get_text() and axes.get_ylim()[0] <= text.get_position()[1] <= axes.get_ylim()[1]
    ]  # fmt: skip
    assert len(inside) >= 2
    assert not any(one.overlaps(other) for i, one in enumerate(inside) for other in inside[:i])
