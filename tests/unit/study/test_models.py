"""What the models take and refuse, apart from whole files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from fabricstudy.core.model import ConfigError
from fabricstudy.engine.point import Point
from fabricstudy.engine.settings import EngineSettings
from fabricstudy.machine.base import Topology
from fabricstudy.machine.dragonfly import DragonflyConfig
from fabricstudy.routing.valiant import Valiant
from fabricstudy.study.dotted_paths import parse_path, set_at_path
from fabricstudy.study.file import load_machine
from fabricstudy.study.model import Study
from fabricstudy.workload.job import Job

from ...machines import FourRouters


def test_a_kind_is_registered_where_it_stands_and_known_from_then_on() -> None:
    """A second member needs no other change, and the single one behaves as one of several."""

    class Wheel(FourRouters):
        """A second machine."""

        kind: Literal["wheel"] = "wheel"

    with pytest.raises(ValidationError):
        Topology.model_validate({"kind": "wheel"})
    Topology.FAMILY.add(Wheel)
    try:
        assert Topology.model_validate({"kind": "wheel"}) == Wheel()
        assert "wheel" in json.dumps(Study.model_json_schema())
        with pytest.raises(ConfigError):
            type("Other", (Topology,), {"__module__": "other"}, kind="wheel")
    finally:
        Topology.FAMILY.remove("wheel")


def test_name_stands_for_defaults() -> None:
    assert EngineSettings.model_validate("caminos") == EngineSettings.model_validate({"kind": "caminos"})
    job = Job.model_validate({"nodes": 1, "pattern": "idle", "allocation": "spread", "mapping": "random"})
    assert (job.pattern.kind, job.allocation.kind, job.mapping.kind) == ("idle", "spread", "random")


def test_members_pass_as_they_are() -> None:
    machine = DragonflyConfig.model_validate(
        {"groups": 3, "routers_per_group": 2, "nodes_per_router": 1, "bandwidth": "1 GB/s"}
    )
    job = Job.model_validate({"nodes": 1, "pattern": "idle"})
    engine = EngineSettings.model_validate("caminos")
    point = Point(machine=machine, routing=Valiant(), jobs=(job,), engine=engine, seed=1)
    assert point.machine == machine


@pytest.mark.parametrize(
    ("groups", "routers", "nodes_per_router", "links", "ports", "cables"),
    [
        (9, 4, 2, 1, 2, 9 * 6 + 36),
        (17, 8, 2, 1, 2, 17 * 28 + 136),
        (9, 4, 2, 3, 6, 9 * 6 + 108),
        (4, 2, 1, 1, 2, 4 + 6),
        (2, 1, 1, 1, 1, 1),
    ],
)
def test_dragonfly_counts(
    groups: int, routers: int, nodes_per_router: int, links: int, ports: int, cables: int
) -> None:
    machine = DragonflyConfig.model_validate(
        {
            "groups": groups,
            "routers_per_group": routers,
            "nodes_per_router": nodes_per_router,
            "links_per_group_pair": links,
            "bandwidth": "1 GB/s",
        }
    )
    assert machine.nodes == groups * routers * nodes_per_router
    assert machine.global_ports_per_router == ports
    assert machine.cables == cables


@pytest.mark.parametrize(
    ("job", "nodes", "ranks"),
    [
        ({"share": 1.0}, 72, 144),
        ({"share": 0.5}, 36, 72),
        ({"share": 1 / 3}, 24, 48),
        ({"share": 0.1}, 7, 14),
        ({"nodes": 5, "ranks_per_node": 1}, 5, 5),
        ({"nodes": 5, "ranks_per_core": 3}, 5, 30),
        ({"nodes": 5, "ranks_per_node": 4, "ranks_per_core": 3}, 5, 20),
        ({"allocation": {"kind": "explicit", "nodes": [4, 2, 9]}}, 3, 6),
    ],
)
def test_size_of_a_job(job: dict[str, Any], nodes: int, ranks: int) -> None:
    config = Job.model_validate({"pattern": "idle", **job})
    assert config.node_count(72) == nodes
    assert config.rank_count(72, 2) == ranks


def test_put_leaves_the_original_and_shares_the_rest() -> None:
    tree: dict[str, Any] = {"machine": {"bandwidth": "1 GB/s"}, "jobs": [{"share": 1}, {"share": 2}]}
    path = parse_path("jobs.*.share", Point)
    after = set_at_path(tree, path, 3)
    assert after["jobs"] == [{"share": 3}, {"share": 3}] and tree["jobs"] == [{"share": 1}, {"share": 2}]
    assert after["machine"] is tree["machine"]


def test_put_expands_what_is_written_shorter() -> None:
    tree = {"machine": {"kind": "dragonfly", "bandwidth": "1 GB/s"}, "engine": "caminos"}
    after = set_at_path(
        set_at_path(tree, parse_path("machine.bandwidth.global", Point), "2 GB/s"),
        parse_path("engine.phit", Point),
        "1 kB",
    )
    assert after == {
        "machine": {"kind": "dragonfly", "bandwidth": {"local": "1 GB/s", "global": "2 GB/s", "host": "1 GB/s"}},
        "engine": {"kind": "caminos", "phit": "1 kB"},
    }


def test_machine_file(tmp_path: Path) -> None:
    """A machine stands in a file of its own, bare or below its key; errors have the path as written."""
    path = tmp_path / "machine.yaml"
    bare = "{kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 1, bandwidth: 1 GB/s}"
    for text in (bare, f"machine: {bare}"):
        path.write_text(text)
        assert load_machine(path).nodes == 6
    path.write_text(f"machine: {bare}".replace("groups: 3", "groups: 0"))
    with pytest.raises(ConfigError, match=r"e\.yaml: machine\.groups: .* \(value: 0\); .* 1"):
        load_machine(path)
