"""Layouts of machines: positions of routers and lines for cables; one module per layout.

In: a machine. Out: a `Layout`. Grids are drawn as grids, trees level by level, machines of groups as groups on a
circle, and other graphs by hop distance.
"""

from fabricstudy.core.model import ConfigError
from fabricstudy.machine.graph import Machine
from fabricstudy.report.layouts import graph, grid, groups, tree
from fabricstudy.report.layouts.base import Layout

__all__ = ["Layout", "lay_out"]

MAX_DRAWN_LINES = 12_000
"""More lines cannot be distinguished."""

MAX_SPOTS = 3_000
"""More spots cannot be distinguished."""

_SMALLER = "draw a smaller machine of the same kind, such as one with fewer groups, pods or routers per dimension"


def lay_out(machine: Machine) -> Layout:
    """Lay out a machine by coordinates, levels or groups of its routers.

    Raises
    ------
    ConfigError
        If the picture would have more spots or lines than can be distinguished.
    """
    if machine.coordinates is not None and machine.routers > MAX_SPOTS:
        problem = f"a grid of {machine.routers:,} routers cannot be drawn"
        raise ConfigError(problem, f"{_SMALLER}; stay at or below {MAX_SPOTS:,}", code="out-of-range")
    for rule in (grid.lay_out, tree.lay_out, groups.lay_out):
        layout = rule(machine)
        if layout is not None:
            break
    else:
        if machine.routers > graph.MAX_DRAWN_ROUTERS:
            problem = f"a graph of {machine.routers:,} routers without groups, levels or coordinates cannot be drawn"
            raise ConfigError(problem, f"stay at or below {graph.MAX_DRAWN_ROUTERS:,}", code="out-of-range")
        layout = graph.lay_out(machine)
    if len(layout.positions) > MAX_SPOTS or len(layout.paths) > MAX_DRAWN_LINES:
        problem = f"a picture of {len(layout.positions):,} dots and {len(layout.paths):,} lines cannot be read"
        limits = f"at most {MAX_SPOTS:,} dots and {MAX_DRAWN_LINES:,} lines are drawn"
        raise ConfigError(problem, f"{_SMALLER}; {limits}", code="out-of-range")
    return layout
