"""What studies may say about machines: names, shorthands, misfits, and sweeps over their fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.engine.point import machine_id
from fabricstudy.machine.base import Topology, published_machine
from fabricstudy.study.file import load_machine
from fabricstudy.study.model import Study
from fabricstudy.study.plan import plan

from .conftest import told

CONFIG = Topology
TORUS = {"kind": "torus", "shape": [4, 4], "bandwidth": "1 GB/s"}
EXPRESS = {"kind": "express-mesh", "shape": [6, 5], "gap": 2, "bandwidth": "1 GB/s"}
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
SLIM = {"kind": "slim-fly", "q": 5, "nodes_per_router": 1, "bandwidth": "1 GB/s"}
ARIES = {"kind": "aries", "groups": 3, "bandwidth": "1 GB/s"}
PERCS = {"kind": "percs", "supernodes": 3, "bandwidth": "1 GB/s"}
BGQ = {"kind": "bluegene-q", "midplanes": [1, 1, 1, 1]}
BGP = {"kind": "bluegene-p", "midplanes": [1, 1, 1]}

MISFITS: dict[str, tuple[Any, str, str]] = {
    "a length of 0": (TORUS | {"shape": [4, 0]}, "machine.shape.1", "out-of-range"),
    "no shape": (TORUS | {"shape": []}, "machine.shape", "out-of-range"),
    "shape of text": (TORUS | {"shape": "4x4"}, "machine.shape", "wrong-type"),
    "wraps of another length": (TORUS | {"wrap": [True] * 3}, "machine.wrap", "out-of-range"),
    "mixed wraps of another length": (
        TORUS | {"wrap": [True, False, True]}, "machine.wrap", "out-of-range",
    ),
    "wrap of text": (TORUS | {"wrap": "yes"}, "machine.wrap", "wrong-type"),
    "three cables in a pair": (TORUS | {"pair_cables": 3}, "machine.pair_cables", "unknown-value"),
    "bandwidths of another length": (
        TORUS | {"bandwidth": {"links": ["1 GB/s", "2 GB/s", "1 GB/s"], "host": "1 GB/s"}},
        "machine.bandwidth.links", "out-of-range",
    ),
    "bandwidth of another kind": (
        TORUS | {"bandwidth": {"local": "1 GB/s", "host": "1 GB/s"}}, "machine.bandwidth.local",
        "unknown-key",
    ),
    "bandwidth without a unit": (TORUS | {"bandwidth": 1}, "machine.bandwidth", "invalid-quantity"),
    "key of another kind": (TORUS | {"midplanes": [1]}, "machine.midplanes", "unknown-key"),
    "too large": (TORUS | {"shape": [100_000, 100_000]}, "machine", "out-of-range"),
    "gap too large": (
        EXPRESS | {"gap": 4}, "machine.gap", "invalid-machine",
    ),
    "no gap": (EXPRESS | {"gap": 0}, "machine.gap", "out-of-range"),
    "three midplane counts": (
        {"kind": "bluegene-q", "midplanes": [4, 4, 3]}, "machine.midplanes", "out-of-range",
    ),
    "four midplane counts": (BGP | {"midplanes": [1, 1, 1, 1]}, "machine.midplanes", "out-of-range"),
    "two wraps": (BGP | {"wrap": [True, False]}, "machine.wrap", "out-of-range"),
    "two nodes on a Blue Gene router": (BGP | {"nodes_per_router": 2}, "machine.nodes_per_router", "unknown-value"),
    "large hypercube": ({"kind": "hypercube", "dimensions": 24, "bandwidth": "1 GB/s"},
        "machine.dimensions", "out-of-range"),
    "odd radix": (TREE | {"radix": 5}, "machine.radix", "invalid-machine"),
    "radix of text": (TREE | {"radix": "4"}, "machine.radix", "wrong-type"),
    "more pods than ports": (TREE | {"pods": 5}, "machine.pods", "invalid-machine"),
    "bundles for all pods": (TREE | {"core_cables": 2}, "machine.pods", "invalid-machine"),
    "no pod": (TREE | {"pods": 0}, "machine.pods", "out-of-range"),
    "uneven bundles": (
        TREE | {"radix": 8, "pods": 2, "core_cables": 3}, "machine.core_cables", "invalid-machine",
    ),
    "no prime power": (SLIM | {"q": 6}, "machine.q", "invalid-machine"),
    "q without a construction": (SLIM | {"q": 2}, "machine.q", "out-of-range"),
    "odd blades": (ARIES | {"blades_per_chassis": 5}, "machine.blades_per_chassis", "invalid-machine"),
    "more optical cables than sockets": (
        ARIES | {"cables_per_group_pair": 121}, "machine.cables_per_group_pair", "invalid-machine",
    ),
    "even groups in a circle": (
        ARIES | {"groups": 4, "arrangement": "circulant"}, "machine.arrangement", "invalid-machine",
    ),
    "more D links than ports": (
        PERCS | {"links_per_supernode_pair": 257}, "machine.links_per_supernode_pair", "invalid-machine",
    ),
    "even supernodes in a circle": (
        PERCS | {"supernodes": 4, "arrangement": "circulant"}, "machine.arrangement", "invalid-machine",
    ),
    "unknown name": ("mirra", "machine", "unknown-value"),
    "unknown instance": (
        {"instance": "juqueen-49"}, "machine.instance", "unknown-value",
    ),
    "instance that is no text": ({"instance": ["mira"]}, "machine.instance", "unknown-value"),
    "unknown key of an instance": (
        {"instance": "mira", "midplane": [1]}, "machine.midplane", "unknown-key",
    ),
    "wrong value beside an instance": (
        {"instance": "mira", "cores_per_node": 0}, "machine.cores_per_node", "out-of-range",
    ),
    "kind alone": ("torus", "machine.bandwidth", "missing-key"),
}  # fmt: skip


@pytest.mark.parametrize("misfit", MISFITS)
def test_misfits(misfit: str, tmp_path: Path) -> None:
    machine, place, code = MISFITS[misfit]
    assert told(error_of(machine, tmp_path))[0] == (code, place)


def error_of(machine: Any, folder: Path) -> ConfigError:
    path = folder / "machine.yaml"
    path.write_text(yaml.safe_dump({"machine": machine}))
    with pytest.raises(ConfigError) as caught:
        load_machine(path)
    return caught.value


@pytest.mark.parametrize(
    ("machine", "near"), [(TREE | {"radix": 5}, "4 6"), (SLIM | {"q": 6}, "5 7"), (SLIM | {"q": 18}, "17 19")]
)
def test_the_nearest_numbers_that_fit_are_proposed(machine: Any, near: str, tmp_path: Path) -> None:
    assert re.findall(r"\d+", error_of(machine, tmp_path).remedy) == near.split()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mira", {"kind": "bluegene-q", "midplanes": [4, 4, 3, 2]}),
        ("mira", {"instance": "mira"}),
        ({"instance": "mira", "midplanes": [1, 1, 1, 1], "cores_per_node": 16}, BGQ),
        ({"instance": "mira", "midplanes": [1, 1, 1, 1]}, BGQ),
        (TORUS, TORUS | {"wrap": True}),
        (TORUS, TORUS | {"wrap": [True, True]}),
        (TORUS, TORUS | {"bandwidth": {"links": ["1 GB/s", "1000 MB/s"], "host": "1 GB/s"}}),
        (TORUS, TORUS | {"latency": "40 ns", "nodes_per_router": 1, "pair_cables": 1}),
        (TREE, TREE | {"pods": 4}),
        (TREE, TREE | {"bandwidth": {"pod": "1 GB/s", "core": "1 GB/s", "host": "1 GB/s"}}),
    ],
)  # fmt: skip
def test_same_machine_same_id(one: Any, other: Any) -> None:
    assert machine_id(CONFIG.model_validate(one)) == machine_id(CONFIG.model_validate(other))


@pytest.mark.parametrize("change", [{"wrap": False}, {"wrap": [True, False]}, {"pair_cables": 2}, {"kind": "mesh"}])
def test_other_machine_other_id(change: dict[str, Any]) -> None:
    assert machine_id(CONFIG.model_validate(TORUS)) != machine_id(CONFIG.model_validate(TORUS | change))


def test_id_of_a_dragonfly_has_not_changed() -> None:
    """Stored points of older versions are found by it."""
    keys = {"kind": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "bandwidth": "1 GB/s"}
    assert machine_id(CONFIG.model_validate(keys)) == "m4a53a644b132"


@pytest.mark.parametrize(
    "machine", ["sequoia", "intrepid", "fat-tree-11k", "slim-fly-11k", TORUS | {"wrap": [True, False]}, EXPRESS]
)
def test_description_comes_back_from_json(machine: Any) -> None:
    described = CONFIG.model_validate(machine)
    data = described.model_dump(mode="json")
    assert (
        Topology.model_validate(data, context=BASE_UNITS_CONTEXT)
        == CONFIG.model_validate(data, context=BASE_UNITS_CONTEXT)
        == described
    )


def test_published_blue_genes() -> None:
    assert published_machine("mira").nodes == 49_152 and published_machine("juqueen-54").nodes == 27_648
    assert published_machine("intrepid").nodes * published_machine("intrepid").cores_per_node == 163_840


STUDY: dict[str, Any] = {
    "machine": TORUS,
    "routing": {"kind": "minimal"},
    "jobs": [{"name": "app", "share": 1.0, "pattern": {"kind": "ring", "message": "100 kB"}}],
    "sweep": ...,
}


def machines_of(study_of: Callable[..., Study], machine: Any, sweep: dict[str, Any]) -> list[Any]:
    """Machines of the points of a study, in the order of its rows."""
    found = plan(study_of(**(STUDY | {"machine": machine, "sweep": sweep})))
    return [found.points[row.point_id].point.machine for row in found.rows]


@pytest.mark.parametrize(
    ("machine", "path", "values", "expected"),
    [
        (TORUS, "machine.shape", {"small": [4, 4], "large": [8, 4, 4]}, [(4, 4), (8, 4, 4)]),
        (TORUS, "machine.shape.1", [2, 6], [(4, 2), (4, 6)]),
        ("mira", "machine.midplanes", {"old": [4, 1, 1, 1], "new": [2, 2, 1, 1]}, [(4, 1, 1, 1), (2, 2, 1, 1)]),
        (EXPRESS, "machine.gap", [1, 2, 3], [1, 2, 3]),
        ({"instance": "mira"}, "machine.cores_per_node", [1, 4], [1, 4]),
        (SLIM, "machine.q", [4, 5], [4, 5]),
        (TREE, "machine.pods", [2, 4], [2, 4]),
        (TORUS, "machine.wrap", {"torus": True, "both": [True, False]}, [(True,), (True, False)]),
    ],
)  # fmt: skip
def test_sweeps_reach_fields(
    study_of: Callable[..., Study], machine: Any, path: str, values: Any, expected: list[Any]
) -> None:
    found = machines_of(study_of, machine, {"x": {"of": path, "values": values}})
    assert [getattr(each, path.split(".")[1]) for each in found] == expected


@pytest.mark.parametrize(
    ("machine", "path", "expected"),
    [
        (TORUS, "links", {"links_Bps": [5e9], "host_Bps": 1e9}),
        (TORUS, "host", {"links_Bps": [1e9], "host_Bps": 5e9}),
        (TREE, "core", {"pod_Bps": 1e9, "core_Bps": 5e9, "host_Bps": 1e9}),
        (TREE, "host", {"pod_Bps": 1e9, "core_Bps": 1e9, "host_Bps": 5e9}),
        (SLIM, "global", {"local_Bps": 1e9, "global_Bps": 5e9, "host_Bps": 1e9}),
    ],
)
def test_sweeps_expand_the_bandwidth_of_their_machine(
    study_of: Callable[..., Study], machine: Any, path: str, expected: dict[str, Any]
) -> None:
    sweep = {"x": {"of": f"machine.bandwidth.{path}", "values": ["5 GB/s"]}}
    (found,) = machines_of(study_of, machine, sweep)
    assert found.bandwidth.model_dump(mode="json") == expected


def test_machines_are_swept_by_name(study_of: Callable[..., Study]) -> None:
    values = {"bgq": {"instance": "mira", "midplanes": [1, 1, 1, 1]}, "tree": TREE, "small": "slim-fly-11k"}
    found = machines_of(study_of, TORUS, {"x": {"of": "machine", "values": values}})
    assert [machine.kind for machine in found] == ["bluegene-q", "fat-tree", "slim-fly"]
    found = machines_of(study_of, TORUS, {"x": {"of": "machine", "values": ["slim-fly-11k", "dragonfly-11k"]}})
    assert [machine.nodes for machine in found] == [10_830, 11_130]


def test_a_sweep_sets_fields_of_a_machine_that_it_names(study_of: Callable[..., Study]) -> None:
    sweep = {
        "machine": {"of": "machine", "values": ["mira", "juqueen"]},
        "midplanes": {"of": "machine.midplanes", "values": {"one": [1, 1, 1, 1], "two": [2, 1, 1, 1]}},
    }
    assert [machine.nodes for machine in machines_of(study_of, TORUS, sweep)] == [512, 1024, 512, 1024]


@pytest.mark.parametrize("machine", ["mira", {"instance": "mira", "cores_per_node": 2}, TORUS, EXPRESS, TREE, SLIM])
def test_schema_takes_all_ways_of_writing(machine: Any) -> None:
    assert machine_schema().is_valid(machine)


@cache
def machine_schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(CONFIG.model_json_schema(by_alias=True))


@pytest.mark.parametrize("broken", ["mirra", {"instance": "mirra"}, TORUS | {"shape": "4"}, TREE | {"q": 5}])
def test_schema_refuses_other_machines(broken: Any) -> None:
    assert not machine_schema().is_valid(broken)
