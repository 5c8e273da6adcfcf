"""An incast that never ends next to a victim, without and with the congestion management of each engine that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fabricstudy.core.store import Record
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_from_json, point_id
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.graph import Machine

from ..machines import point_on

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "bandwidth": "10 GB/s"}
VICTIM_NODES = 36
THRESHOLD = 6
"""Senders of an incast from which SST throttles them (`cm_incast_threshold` in its portControl.h)."""


def _engine(name: str) -> Any:
    probe = engine_named(name).probe()
    return pytest.param(name, marks=pytest.mark.skipif(not probe.found, reason=str(probe.reason)))


with_management = pytest.mark.parametrize("engine", [_engine("sst"), _engine("codes")])


def victim_point(engine: str, senders: int, managed: bool) -> Point:
    """Return a halo exchange on random nodes, and an incast of so many senders on others; 0 for none."""
    network = {"packet": "2 kB", "buffer": "32 kB"} | ({"congestion_management": True} if managed else {})
    pattern = {"kind": "incast", "message": "128 kB"} if senders else {"kind": "idle"}
    halo = {"kind": "stencil", "message": "16 kB", "iterations": 1}
    jobs = [
        {
            "nodes": senders + 1 if senders else 36,
            "pattern": pattern,
            "allocation": "random",
            "background": senders > 0,
        },
        {"nodes": VICTIM_NODES, "pattern": halo, "allocation": "random"},
    ]
    return point_on(DRAGONFLY, engine=engine, jobs=jobs, network=network)


def simulated(folder: Path, point: Point) -> Record:
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    assert record["status"] == "done", record["reason"]
    return record


def victim_ns(folder: Path, *point: Any) -> float:
    time_ns = simulated(folder, victim_point(*point))["jobs"][1]["runtime_ns"]
    assert isinstance(time_ns, float)
    return time_ns


@with_management
def test_the_victim_of_an_incast_is_faster(tmp_path: Path, engine: str) -> None:
    alone = victim_ns(tmp_path / "alone", engine, 0, False)
    unmanaged, managed = (victim_ns(tmp_path / str(on), engine, 35, on) for on in (False, True))
    assert unmanaged > 10 * alone
    assert alone < managed < unmanaged / 4


@pytest.mark.parametrize("engine", [_engine("packet"), _engine("sst"), _engine("codes")])
def test_without_congestion_it_changes_no_time(tmp_path: Path, engine: str) -> None:
    off, on = (victim_ns(tmp_path / str(managed), engine, 0, managed) for managed in (False, True))
    assert on == off


@pytest.mark.parametrize("engine", [_engine("sst")])
def test_sst_throttles_from_its_threshold_of_senders(tmp_path: Path, engine: str) -> None:
    def both(senders: int) -> list[float]:
        return [victim_ns(tmp_path / f"{senders}{managed}", engine, senders, managed) for managed in (False, True)]

    off, on = both(THRESHOLD - 1)
    assert on == off
    off, on = both(THRESHOLD)
    assert on < off / 2


@pytest.mark.parametrize("engine", [_engine("sst")])
def test_on_sst_throttled_senders_leave_buffers_free(tmp_path: Path, engine: str) -> None:
    def stalled(managed: bool) -> float:
        record = simulated(tmp_path / str(managed), victim_point("sst", 35, managed))
        links = sum(row["links"] for row in record["links"])
        stall_ns = sum(row["stall_mean_ns"] * row["links"] for row in record["links"]) / links
        return float(stall_ns / record["jobs"][1]["runtime_ns"])

    assert stalled(True) < stalled(False) / 1.5


@pytest.mark.parametrize("engine", [_engine("codes")])
def test_on_codes_throttled_senders_end_late_and_the_root_is_busy(tmp_path: Path, engine: str) -> None:
    def incast(managed: bool) -> Record:
        pattern = {"kind": "incast", "message": "128 kB"}
        jobs = [{"nodes": 36, "pattern": pattern, "allocation": "random"}]
        network = {"packet": "2 kB", "buffer": "32 kB", "congestion_management": managed}
        record: Record = simulated(
            tmp_path / str(managed), point_on(DRAGONFLY, engine=engine, jobs=jobs, network=network)
        )["jobs"][0]
        return record

    off, on = incast(False), incast(True)
    root_ns = 35 * 128_000 / 10.0
    assert root_ns <= off["runtime_ns"] <= on["runtime_ns"] < 1.1 * root_ns
    assert on["rank_mean_ns"] > 1.2 * off["rank_mean_ns"]


FAT_TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "10 GB/s"}


@pytest.mark.parametrize(
    ("engine", "machine", "routing", "refused"),
    [
        ("caminos", DRAGONFLY, "minimal", True),
        ("flow", DRAGONFLY, "minimal", True),
        ("sst", DRAGONFLY, "minimal", False),
        ("sst", FAT_TREE, "d-mod-k", True),
        ("codes", DRAGONFLY, "minimal", False),
        ("codes", FAT_TREE, "d-mod-k", True),
        ({"kind": "codes", "processes": 2}, DRAGONFLY, "minimal", True),
    ],
)
def test_it_is_refused_where_there_is_none(engine: Any, machine: dict[str, Any], routing: str, refused: bool) -> None:
    point = point_on(machine, routing, engine=engine, network={"congestion_management": True})
    assert (_refusal(point) is not None) == refused
    plain = point_on(machine, routing, engine=engine)
    assert _refusal(plain) is None and point_id(plain) != point_id(point)


def test_it_is_refused_with_offered_traffic() -> None:
    offered = {"traffic": "uniform", "load": 0.5, "arrivals": "periodic", "message": "2 kB"}
    point = point_on(DRAGONFLY, engine="sst", jobs=[], offered=offered, network={"congestion_management": True})
    assert _refusal(point) is not None


def _refusal(point: Point) -> str | None:
    machine: Machine = point.machine.build()
    return engine_named(point.engine.kind).unsupported(point, machine)


def test_points_with_classes_are_stored_and_compared() -> None:
    one, two = (
        point_on(DRAGONFLY, engine="sst", network={"classes": classes}, jobs=jobs_of_class("a"))
        for classes in ({"a": 0.5, "b": 0.25}, {"b": 0.25, "a": 0.5})
    )
    assert one == two and hash(one) == hash(two) and point_id(one) == point_id(two)
    assert point_from_json(one.model_dump(mode="json")) == one


def jobs_of_class(name: str | None) -> list[dict[str, Any]]:
    return [{"share": 1.0, "class": name, "pattern": {"kind": "all-to-all", "message": "100 kB"}}]


def test_off_is_no_part_of_an_id() -> None:
    point = point_on(DRAGONFLY, network={"congestion_management": False})
    assert point_id(point) == point_id(point_on(DRAGONFLY))


def with_classes(of_jobs: tuple[str, str], shares: dict[str, float], managed: bool = False) -> Point:
    """Return the victim and the incast of 35 senders, in traffic classes."""
    point = victim_point("sst", 35, managed).model_dump(mode="json", by_alias=True)
    for job, name in zip(point["jobs"], of_jobs, strict=True):
        job["class"] = name
    point["network"]["classes"] = shares
    return point_from_json(point)


@pytest.mark.parametrize("engine", [_engine("sst")])
def test_an_incast_of_another_class_does_no_harm(tmp_path: Path, engine: str) -> None:
    alone = victim_ns(tmp_path / "alone", engine, 0, False)
    halves = {"bulk": 0.5, "fast": 0.5}
    same, other = (
        simulated(tmp_path / name, with_classes(("bulk", name), halves))["jobs"][1]["runtime_ns"]
        for name in ("bulk", "fast")
    )
    assert same > 10 * alone
    assert alone <= other < 1.1 * alone


@pytest.mark.parametrize("engine", [_engine("sst")])
@pytest.mark.parametrize("share", [0.75, 0.5, 0.25])
def test_a_class_has_its_share_of_a_link(tmp_path: Path, engine: str, share: float) -> None:
    """Two exchanges over one cable between two groups, of which the second never ends."""

    def exchange(nodes: list[int], **more: Any) -> dict[str, Any]:
        allocation = {"kind": "explicit", "nodes": nodes}
        return {"pattern": {"kind": "ring", "message": "500 kB"}, "allocation": allocation, **more}

    network = {"classes": {"a": share, "b": 1 - share}}
    jobs = [exchange([0, 8], **{"class": "a"}), exchange([2, 10], background=True, **{"class": "b"})]
    record = simulated(tmp_path, point_on(DRAGONFLY, engine=engine, jobs=jobs, network=network))
    # Each rank sends 500 kB in both directions of its ring; shares count whole packets.
    assert record["jobs"][0]["runtime_ns"] == pytest.approx(2 * 500_000 / 10.0 / share, rel=0.15)


@pytest.mark.parametrize("engine", ["caminos", "flow", "codes"])
def test_classes_are_refused_where_there_are_none(engine: str) -> None:
    jobs = jobs_of_class("a")
    point = point_on(DRAGONFLY, engine=engine, jobs=jobs, network={"classes": {"a": 0.5, "b": 0.5}})
    assert _refusal(point) is not None
    assert _refusal(point.model_copy(update={"engine": point_on(DRAGONFLY, engine="sst").engine})) is None


@pytest.mark.parametrize(
    ("classes", "of_job", "code", "path"),
    [
        ({"a": 0.5}, "b", "unknown-name", "jobs.0.class"),
        ({"a": 0.5}, None, "unknown-name", "jobs.0.class"),
        ({}, "a", "unknown-name", "jobs.0.class"),
        ({"a": 0.7, "b": 0.4}, "a", "out-of-range", "classes"),
    ],
)
def test_wrong_classes_are_refused(classes: dict[str, float], of_job: Any, code: str, path: str) -> None:
    jobs = jobs_of_class(of_job)
    with pytest.raises(ValidationError) as refused:
        point_on(DRAGONFLY, jobs=jobs, network={"classes": classes})
    (error,) = refused.value.errors()
    assert (error["ctx"]["error"].code, error["ctx"]["error"].path) == (code, path)
