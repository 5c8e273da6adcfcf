"""Points that are simulated on an engine with packets because the study's own engine has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fabricstudy.core.columns import SPOT_CHECK
from fabricstudy.engine.registry import engine_named
from fabricstudy.study.model import Study
from fabricstudy.study.plan import Plan, plan

SIZES = {f"{size} kB": f"{size} kB" for size in range(10, 410)}


def flow(**more: Any) -> dict[str, Any]:
    return {"engine": "flow", "sweep": {"size": {"of": "jobs.0.pattern.message", "values": SIZES}}} | more


def checked(of: Plan) -> tuple[list[str], list[str]]:
    """Points of the spot check on flow, and on packet."""
    rows = [row.point_id for row in of.rows if row.experiment == SPOT_CHECK]
    engine = {name: of.points[name].point.engine.kind for name in rows}
    return tuple([name for name in rows if engine[name] == kind] for kind in ("flow", "packet"))  # type: ignore


@pytest.mark.parametrize(("seeds", "points", "drawn"), [(1, 400, 12), (2, 800, 24)])
def test_three_in_a_hundred_cheap_points_are_on_both_engines(
    study_of: Callable[..., Study], seeds: int, points: int, drawn: int
) -> None:
    of = plan(study_of(**flow(seeds=seeds)))
    flows, packets = checked(of)
    assert len(flows) == len(packets) == len({*flows, *packets}) / 2 == drawn and len(of.points) == points + drawn
    for one, other in zip(flows, packets, strict=True):
        pair = [of.points[name].point.physics() | {"engine": None} for name in (one, other)]
        assert pair[0] == pair[1]
    packet = engine_named("packet")
    costs = sorted(packet.predict_cpu_s(one.point) for one in of.points.values() if one.point.engine.kind == "flow")
    assert max(packet.predict_cpu_s(of.points[name].point) for name in packets) <= costs[4 * drawn - 1]
    assert checked(plan(study_of(**flow(seeds=seeds)))) == (flows, packets)


def test_few_points_are_all_checked_and_other_engines_not_at_all(study_of: Callable[..., Study]) -> None:
    flows, packets = checked(plan(study_of(engine="flow", spot_check=10)))
    assert len(flows) == len(packets) == 6
    assert checked(plan(study_of(spot_check=10))) == ([], [])


@pytest.mark.parametrize(
    ("seeds", "asked", "drawn"), [(1, None, 12), (1, 0, 0), (1, 5, 5), (None, None, 0), (None, 2, 2)]
)
def test_a_small_study_has_no_check_unless_it_asks_for_one(
    study_of: Callable[..., Study], seeds: int | None, asked: int | None, drawn: int
) -> None:
    """Of 400 points, and of 6."""
    study = flow(seeds=seeds, spot_check=asked) if seeds else {"engine": "flow", "spot_check": asked}
    assert [len(names) for names in checked(plan(study_of(**study)))] == [drawn, drawn]


def test_a_point_that_is_on_both_engines_anyway_is_no_other_point(study_of: Callable[..., Study]) -> None:
    engines = {"engine": {"of": "engine", "values": ["packet", "flow"]}}
    of = plan(study_of(sweep__engine=engines["engine"], spot_check=10))
    in_sweep = {row.point_id for row in of.rows if row.experiment == "main"}
    flows, packets = checked(of)
    assert len(flows) == 6 and {*flows, *packets} <= in_sweep == of.points.keys()
    assert {row.labels["engine"] for row in of.rows if row.experiment == SPOT_CHECK} == {None}


def test_pairs_that_the_study_has_are_taken_first(study_of: Callable[..., Study]) -> None:
    """Ten large points on both engines are checked in place of the 290 small ones that are on flow alone."""
    sizes = {f"{size} kB": f"{size} kB" for size in range(10, 310)}
    sweep = {"size": {"of": "jobs.0.pattern.message", "values": sizes}, "engine": ["flow", "packet"]}
    exclude = [{"engine": "packet", "size": list(sizes)[:-10]}]
    of = plan(study_of(engine="flow", sweep=sweep, exclude=exclude, seeds=1))
    assert set(checked(of)[1]) == {name for name, one in of.points.items() if one.point.engine.kind == "packet"}
    assert len(of.points) == 310


def test_what_flow_refuses_is_not_drawn(study_of: Callable[..., Study]) -> None:
    """Messages of a few bytes are cheapest, and refused."""
    sizes = {f"{size} B": f"{size} B" for size in range(1, 50)} | {"400 kB": "400 kB", "500 kB": "500 kB"}
    sweep = {"size": {"of": "jobs.0.pattern.message", "values": sizes}}
    flows, packets = checked(plan(study_of(engine="flow", sweep=sweep, spot_check=10)))
    assert len(flows) == len(packets) == 2


def test_what_packet_refuses_is_not_drawn(study_of: Callable[..., Study]) -> None:
    """Buffers of less than four packets."""
    sweep = {"buffer": {"of": "network.port_buffer", "values": {"small": "6 kB", "large": "8 kB"}}}
    machine = {"kind": "torus", "shape": [4, 4], "bandwidth": {"links": "1 GB/s", "host": "1 GB/s"}}
    study = plan(study_of(engine="flow", machine=machine, routing="dimension-order", sweep=sweep, spot_check=10))
    flows, packets = checked(study)
    assert len(study.points) == 3 and len(flows) == len(packets) == 1


def test_points_of_packet_are_simulated_on_caminos_if_the_study_asks_for_it(study_of: Callable[..., Study]) -> None:
    of = plan(study_of(engine="packet", check="engines"))
    names = [row.point_id for row in of.rows if row.experiment == SPOT_CHECK]
    assert [of.points[name].point.engine.kind for name in names] == 6 * ["packet", "caminos"]
    assert not any(row.experiment == SPOT_CHECK for row in plan(study_of(engine="packet")).rows)
