"""What pictures of machines show: slow cables on top, and all classes and jobs in the legend, each in its colour."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.report.machine_picture import Scene, draw_machines
from fabricstudy.study.figures import MachineFigure
from fabricstudy.study.file import validate_machine, validate_study
from fabricstudy.study.plan import rows_of_figure

TREE, HYPERX = (
    validate_machine({"bandwidth": "1 GB/s", **written}).build()
    for written in ({"kind": "xgft", "down": [4, 3], "up": [2]}, {"kind": "hyperx", "shape": [3, 3]})
)


def legend(canvas: Figure) -> dict[str, Any]:
    """Colour of each entry, by the words up to the first colon."""
    (entries,) = canvas.legends
    names = [text.get_text().split(":")[0] for text in entries.get_texts()]
    handles = [handle for handle in entries.legend_handles if isinstance(handle, Line2D)]
    return dict(zip(names, (to_hex(handle.get_color()) for handle in handles), strict=True))


def lines(canvas: Figure, panel: int = 0) -> list[LineCollection]:
    return [one for one in canvas.axes[panel].collections if isinstance(one, LineCollection)]


def colours(drawn: LineCollection) -> Any:
    return drawn.get_color()


def with_slow_cable(machine: Machine) -> Machine:
    link = np.zeros_like(machine.cable_class)
    link[2] = 1
    return replace(
        machine, cable_class=link, classes=(machine.classes[0], LinkClass("slow", 0.25e9, 40.0)), hop_weight=()
    )


def test_a_slow_cable_is_drawn_last_dashed_and_named() -> None:
    canvas, words, basis = draw_machines([Scene(with_slow_cable(TREE))])
    solid, dashed = lines(canvas)
    assert (len(solid.get_segments()), len(dashed.get_segments())) == (5, 1)
    assert to_hex(colours(dashed)[0]) == legend(canvas)["slow"]
    styles: list[Any] = [dashed.get_linestyle(), solid.get_linestyle()]
    assert styles[0][0][1] is not None and styles[1][0][1] is None
    assert words.startswith("1 cable slower") and "1 cable slower" in basis
    children = canvas.axes[0].get_children()
    assert children.index(solid) < children.index(dashed)


def test_the_slowest_class_is_drawn_last() -> None:
    bandwidths = {"x": 1e9, "y": 2e9}
    classes = tuple(replace(link, bandwidth_Bps=bandwidths[link.name]) for link in HYPERX.classes)
    canvas, _, basis = draw_machines([Scene(replace(HYPERX, classes=classes))])
    drawn = [to_hex(colour) for colour in colours(lines(canvas)[0])]
    assert drawn == [legend(canvas)["y"]] * 9 + [legend(canvas)["x"]] * 9 and "dashed" not in basis


def test_the_legend_has_the_classes_of_all_machines_and_no_colour_twice() -> None:
    for jobs in (("one", "two"), tuple("abcdef"), tuple("abcdefghijk")):
        holder = [np.arange(machine.nodes, dtype=np.int32) % len(jobs) for machine in (TREE, HYPERX)]
        scenes = [Scene(machine, jobs, own) for machine, own in zip((TREE, HYPERX), holder, strict=True)]
        entries = legend(draw_machines(scenes)[0])
        assert set(entries) == {"up1", "x", "y", *jobs, "without nodes"}
        assert len(set(entries.values())) == len(entries)


def test_a_class_without_cables_is_not_in_the_legend() -> None:
    group = validate_machine({"kind": "aries", "groups": 1, "chassis_per_group": 2, "bandwidth": "1 GB/s"}).build()
    assert set(legend(draw_machines([Scene(group)])[0])) == {"row", "column"}


def test_labels_are_names_and_numbers_of_nodes() -> None:
    canvas = draw_machines([Scene(TREE, labels=True)])[0]
    texts = {text.get_text() for text in canvas.axes[0].texts}
    assert {"0\n4 nodes", "1\n4 nodes", "2\n4 nodes", "3", "4"} <= texts


class Counted(SimpleNamespace):
    """A row that counts how often its seed is read."""

    reads: ClassVar[int] = 0

    @property
    def seed(self) -> int:
        Counted.reads += 1
        return 1


@pytest.mark.parametrize("size", [50, 200])
def test_rows_of_a_figure_are_read_a_few_times_each(size: int) -> None:
    figure = MachineFigure.model_validate({"id": "m", "kind": "machine", "title": "M", "experiment": "e"})
    Counted.reads = 0
    rows: list[Any] = [Counted(experiment="e", labels={}, point_id=str(number)) for number in range(size)]
    assert list(rows_of_figure(figure, rows).values()) == [rows[:1]]
    assert Counted.reads <= 5 * size


def test_a_study_without_figures_draws_its_placements() -> None:
    """An allocation that is varied is drawn, with a panel for each of its labels."""
    job = {"share": 0.5, "pattern": {"kind": "ring", "message": "1 kB"}}
    study = {
        "study": "s", "machine": {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"},
        "routing": "dimension-order", "jobs": [job], "engine": "packet",
        "sweep": {"where": {"of": "jobs.0.allocation", "values": ["cluster", "random"]}},
    }  # fmt: skip
    figures = validate_study(study).report_figures
    (placement,) = (figure for figure in figures if isinstance(figure, MachineFigure))
    assert (placement.columns, placement.experiment) == ("where", "main")
    fixed = {name: value for name, value in study.items() if name != "sweep"}
    assert not any(isinstance(figure, MachineFigure) for figure in validate_study(fixed).report_figures)
