"""What of the simulations of a study differs besides its axes: rounded latencies, units, and virtual channels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from math import inf
from typing import NamedTuple, TypeVar

from fabricstudy.core.columns import ADDED_EXPERIMENTS
from fabricstudy.core.phrasing import count_noun, quantity
from fabricstudy.engine.caminos import CaminosSettings
from fabricstudy.engine.caminos.resolution import Resolution, RoundedLatency, resolution_of
from fabricstudy.engine.job_traffic import traffic_by_job
from fabricstudy.engine.point import Point
from fabricstudy.engine.registry import engine_named

from .figures import Label
from .model import Study
from .plan import Plan
from .sweep import PointRow

MESSAGE_ERROR = 0.05
"""Share of the time of a message by which its latencies may be rounded without a warning."""

DIFFERENCE_ERROR = 0.1
"""Share of the difference of two latencies by which their simulated difference may be wrong without a warning."""

MAX_ROUTERS = 4096
"""Routers up to which the virtual channels of a routing, which take all distances, are compared."""

_MOST_LABELS = 6

T = TypeVar("T")


def resolutions(plan: Plan) -> dict[str, Resolution]:
    """Return the resolution of the points of a seed on CAMINOS, the engine that rounds."""
    build = lru_cache(maxsize=4)(lambda machine_id: plan.machines[machine_id].build())
    found: dict[tuple[object, ...], Resolution | None] = {}
    of_points = {}
    for name in dict.fromkeys(row.point_id for row in _rows(plan)):
        point, machine_id = plan.points[name].point, plan.points[name].machine_id
        if not isinstance(point.engine, CaminosSettings):
            continue
        key = (machine_id, point.network, point.engine, point.routing, point.jobs, point.offered)
        if key not in found:
            found[key] = resolution_of(point, build(machine_id))
        if (of_point := found[key]) is not None:
            of_points[name] = of_point
    return of_points


def resolution_warnings(plan: Plan, of_points: Mapping[str, Resolution]) -> list[str]:
    """Return a sentence for each axis whose comparison the resolution affects, and one on rounded latencies.

    Parameters
    ----------
    of_points : resolution of each point of a seed
    """
    if not of_points:
        return []
    warnings = [_lost_latencies(plan, axis, of_points) for axis in _latency_axes(plan.study)]
    axes = [axis for axis in plan.axes if axis in plan.study.design_axes]
    warnings += [_unequal_units(plan, axis, of_points) for axis in axes]
    of_channels = virtual_channels(plan, of_points)
    warnings += [_unequal_channels(plan, axis, of_channels) for axis in axes]
    return [sentence for sentence in (*warnings, _rounded_latencies(plan, of_points)) if sentence]


def _rows(plan: Plan) -> Iterator[PointRow]:
    """Yield the rows of the first seed of each experiment: phits and latencies are those of all seeds."""
    seed: dict[str, int] = {}
    for row in plan.rows:
        if seed.setdefault(row.experiment, row.seed) == row.seed and row.experiment not in ADDED_EXPERIMENTS:
            yield row


def _latency_axes(study: Study) -> list[str]:
    keys = {name: {key for path in paths for key in path.split(".")} for name, paths in study.axis_paths.items()}
    return [name for name in keys if keys[name] & {"latency", "router_latency"}]


def virtual_channels(plan: Plan, of_points: Iterable[str]) -> dict[str, int]:
    """Return the virtual channels of points that are not too large."""
    build = lru_cache(maxsize=4)(lambda machine_id: plan.machines[machine_id].build())
    default = cache(
        lambda engine, machine_id, routing: engine_named(engine).virtual_channels(routing, build(machine_id))
    )
    found = {}
    for name in of_points:
        point, machine_id = plan.points[name].point, plan.points[name].machine_id
        channels = point.network.virtual_channels
        if channels is None and point.machine.routers <= MAX_ROUTERS:
            channels = default(point.engine.kind, machine_id, point.routing)
        if channels is not None:
            found[name] = channels
    return found


def _comparisons(plan: Plan, axis: str, of_points: Mapping[str, T]) -> Iterator[dict[Label, T]]:
    """Yield what is known of points by label, for each set of points that differ in an axis only."""
    groups: defaultdict[tuple[object, ...], dict[Label, T]] = defaultdict(dict)
    for row in _rows(plan):
        label = row.labels[axis]
        if label is not None and row.point_id in of_points:
            others = (value for name, value in row.labels.items() if name != axis)
            engine = plan.points[row.point_id].point.engine.kind
            groups[(row.experiment, engine, *others)].setdefault(label, of_points[row.point_id])
    return (group for group in groups.values() if len(group) > 1)


class _Lost(NamedTuple):
    """A difference of two latencies that the simulation does not have."""

    error: float
    set_ns: float
    simulated_ns: float
    link_class: str
    labels: tuple[Label, Label]
    resolution: Resolution


def _lost_latencies(plan: Plan, axis: str, of_points: Mapping[str, Resolution]) -> str:
    """Return a sentence if labels of an axis of latencies differ by other amounts in the simulation."""
    groups = list(_comparisons(plan, axis, of_points))
    worst = [max(_differences(group), default=None) for group in groups]
    lost = [one for one in worst if one is not None and one.error > DIFFERENCE_ERROR]
    if not lost:
        return ""
    most = max(lost)
    unit = _finer(most.resolution, DIFFERENCE_ERROR * most.set_ns)
    first, second = most.labels
    return (
        f"Axis {axis} varies latencies that the simulations round to cycles of "
        f"{quantity(most.resolution.cycle_ns, 'nanosecond', 4)}: in {len(lost)} of "
        f"{count_noun(len(groups), 'comparison')} differences are wrong by more than {DIFFERENCE_ERROR:.0%}. "
        f"Between {first} and {second} the latency of {most.link_class} links (with a router) differs by "
        f"{quantity(most.set_ns, 'nanosecond')}, in the simulation by {quantity(most.simulated_ns, 'nanosecond', 4)}. "
        f"{_remedy(unit, [one for group in groups for one in group.values()])}."
    )


def _differences(group: Mapping[Label, Resolution]) -> Iterator[_Lost]:
    """Yield the differences of all latencies between labels that follow each other."""
    for (first, one), (second, other) in pairwise(group.items()):
        for a, b in zip(one.latencies, other.latencies, strict=False):
            difference_ns = abs(b.set_ns - a.set_ns)
            if a.link_class == b.link_class and difference_ns > 0:
                simulated_ns = abs(b.simulated_ns - a.simulated_ns)
                error, finer = abs(simulated_ns / difference_ns - 1), min(one, other)
                yield _Lost(error, difference_ns, simulated_ns, a.link_class, (str(first), str(second)), finer)


def _unequal_units(plan: Plan, axis: str, of_points: Mapping[str, Resolution]) -> str:
    """Return a sentence if labels of an axis are compared at different units."""
    groups = list(_comparisons(plan, axis, of_points))
    unequal = [group for group in groups if len({resolution.unit_bytes for resolution in group.values()}) > 1]
    if not unequal:
        return ""
    units = [{label: one.unit_bytes for label, one in group.items()} for group in unequal]
    shown = _by_label(units, lambda unit: quantity(unit, "byte"))
    compared = [resolution for group in unequal for resolution in group.values()]
    return (
        f"Axis {axis} is compared at different phits (units in which data moves) in {len(unequal)} of "
        f"{count_noun(len(groups), 'comparison')}, which may cause a part of the difference: "
        f"{shown}. {_remedy(min(one.unit_bytes for one in compared), compared)}."
    )


def _unequal_channels(plan: Plan, axis: str, of_points: Mapping[str, int]) -> str:
    """Return a sentence if labels of an axis are compared with different numbers of virtual channels."""
    groups = list(_comparisons(plan, axis, of_points))
    unequal = [group for group in groups if len(set(group.values())) > 1]
    if not unequal:
        return ""
    return (
        f"Axis {axis} is compared with different numbers of virtual channels, each with a buffer of its own, in "
        f"{len(unequal)} of {count_noun(len(groups), 'comparison')}, which may cause a part of the difference: "
        f"{_by_label(unequal, str)}. Set network.virtual_channels to {max(max(group.values()) for group in unequal)}."
    )


def _by_label(groups: Iterable[Mapping[Label, int]], text: Callable[[int], str]) -> str:
    """Return the smallest and the largest number of each label in words."""
    numbers: dict[Label, set[int]] = {}
    for group in groups:
        for label, number in group.items():
            numbers.setdefault(label, set()).add(number)
    shown = [
        f"{label}: {' to '.join(map(text, sorted({min(of_label), max(of_label)})))}"
        for label, of_label in list(numbers.items())[:_MOST_LABELS]
    ]
    return "; ".join(shown + [f"{len(numbers) - _MOST_LABELS} more"] * (len(numbers) > _MOST_LABELS))


def _rounded_latencies(plan: Plan, of_points: Mapping[str, Resolution]) -> str:
    """Return a sentence if latencies are rounded by much of the time of a message."""
    error = {name: _rounded_share(plan.points[name].point, one) for name, one in of_points.items()}
    rounded = [name for name in error if error[name] > MESSAGE_ERROR]
    if not rounded:
        return ""
    worst = max(rounded, key=error.__getitem__)
    resolution = of_points[worst]
    links = [
        f"{one.link_class} {quantity(one.set_ns, 'nanosecond')} as {quantity(one.simulated_ns, 'nanosecond', 4)}"
        for one in resolution.latencies
    ]
    # Each latency is rounded by up to half a cycle.
    cycle_ns = 2 * MESSAGE_ERROR * _message_ns(plan.points[worst].point, resolution) / len(_route(resolution))
    unit = _finer(resolution, cycle_ns)
    return (
        f"Latencies are rounded to cycles, in {len(rounded)} of {count_noun(len(of_points), 'point')} per seed by more "
        f"than {MESSAGE_ERROR:.0%} of the time of a job's longest message on an idle network; at most "
        f"{error[worst]:.0%}, "
        f"in {worst} (links with a router: {', '.join(links)}). {_remedy(unit, of_points.values())}."
    )


def _route(resolution: Resolution) -> tuple[RoundedLatency, ...]:
    """Return a route over one link of each class and both links to nodes."""
    return (*resolution.latencies, resolution.latencies[-1])


def _message_ns(point: Point, resolution: Resolution) -> float:
    """Return the time of a message on this route without others: of the jobs' longest messages the shortest."""
    sizes = [max(part.message_bytes for part in job.classes) for job in traffic_by_job(point) if job.classes]
    latency_ns = sum(link.set_ns for link in _route(resolution))
    return latency_ns + min(sizes) * resolution.ns_per_byte if sizes else inf


def _rounded_share(point: Point, resolution: Resolution) -> float:
    """Return the error of the latencies of this route over the time of a message there."""
    error_ns = sum(link.simulated_ns - link.set_ns for link in _route(resolution))
    return abs(error_ns) / _message_ns(point, resolution)


def _finer(resolution: Resolution, cycle_ns: float) -> int:
    """Return the unit with this cycle, to two digits, rounded down."""
    unit = int(resolution.unit_bytes * cycle_ns / resolution.cycle_ns)
    step: int = 10 ** max(0, len(str(unit)) - 2)
    return unit // step * step


def _remedy(unit: int, compared: Iterable[Resolution]) -> str:
    """Return how to get this unit in all these points."""
    if unit < max(one.finest_bytes for one in compared):
        return "No phit resolves this: use larger latencies or messages, or an engine that rounds none, such as sst"
    return f"Set engine.phit to {quantity(unit, 'byte')} (smaller is slower)"
