"""What each engine costs on the same points: CPU seconds per million packet-hops, and how much of all is ours.

The points are four topologies of about a hundred nodes, and dragonflies of 72, 1,056 and 9,702 nodes.

A packet-hop is a packet of `network.packet` that crosses a cable between routers; their number is that of the routes,
which random ties change a little. Ours are placing, writing the input and reading the result. Engines that
are not there are named and left out; what an engine cannot do is told with its reason.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from fabricstudy.engine.attempt import attempt_point
from fabricstudy.engine.definitions import AnalysedMachine
from fabricstudy.engine.engine import Engine
from fabricstudy.engine.point import Point
from fabricstudy.engine.records import loads_by_routes
from fabricstudy.engine.registry import engine_named
from fabricstudy.engine.settings import Limits
from fabricstudy.structure.summary import describe_machine
from fabricstudy.workload.placing import place

ENGINES = ("packet", "caminos", "sst", "codes", "flow")
ALIKE = {"bandwidth": "1 GB/s"}
# About a hundred nodes each, with routers that all engines have.
MACHINES: dict[str, tuple[dict[str, Any], str]] = {
    "dragonfly": ({"groups": 9, "routers_per_group": 4, "nodes_per_router": 2, **ALIKE}, "minimal"),
    "torus": ({"shape": [5, 5, 3], "bandwidth": {"links": "1 GB/s", "host": "6 GB/s"}}, "dimension-order"),
    "fat-tree": ({"radix": 8, **ALIKE}, "d-mod-k"),
    "slim-fly": ({"q": 5, "nodes_per_router": 2, **ALIKE}, "minimal"),
}
# Dragonflies by their nodes, and the messages that each of them sends: fewer where there are more.
SIZES = {72: (9, 4, 2, 64), 1056: (33, 8, 4, 16), 9702: (99, 14, 7, 2)}
ALL_TO_ALL = {"kind": "all-to-all", "message": "24 kB"}
LIMITS = Limits.model_validate({"time": "10 min", "memory": "8 GB"})


def point(kind: str, sizes: dict[str, Any], routing: str, engine: str, pattern: dict[str, Any] = ALL_TO_ALL) -> Point:
    """Return a point with one rank a node."""
    job = {"share": 1.0, "ranks_per_node": 1, "pattern": pattern}
    machine, own = {"kind": kind, **sizes}, {"kind": engine}
    return Point.model_validate(
        {"machine": machine, "routing": {"kind": routing}, "jobs": [job], "engine": own, "seed": 1}
    )


def dragonfly(nodes: int, engine: str) -> Point:
    """Return a point with messages of 64 kB to random nodes."""
    groups, routers, of_router, messages = SIZES[nodes]
    sizes = {"groups": groups, "routers_per_group": routers, "nodes_per_router": of_router, **ALIKE}
    pattern = {"kind": "uniform-random", "message": "64 kB", "messages_per_rank": messages}
    return point("dragonfly", sizes, "minimal", engine, pattern)


def simulate(this: Point, engine: Engine) -> None:
    """Simulate a point once and print what it took."""
    machine = this.machine.build()
    analysed = AnalysedMachine(machine, describe_machine(machine).bisection.cut_side)
    with tempfile.TemporaryDirectory() as folder:
        found = attempt_point(this, engine, analysed, LIMITS, Path(folder))
    if found["status"] != "done":
        print(
            f"  {this.machine.kind:<10} {this.machine.nodes:>5} nodes {found['status']}: {found['reason']}", flush=True
        )
        return
    (job,) = place(this, machine, analysed.cut_side)
    packet_hops = loads_by_routes(job, machine, this.routing).link_bytes.sum() / this.network.packet_bytes
    ours = found["overhead_cpu_s"] / (found["cpu_s"] + found["overhead_cpu_s"])
    print(
        f"  {this.machine.kind:<10} {this.machine.nodes:>5} nodes {packet_hops / 1e6:6.2f} million packet-hops, "
        f"{found['cpu_s'] / packet_hops * 1e6:8.2f} s CPU a million, {ours:5.1%} of all ours",
        flush=True,
    )


def main() -> None:
    """Print a line for each engine and machine."""
    for name in ENGINES:
        engine = engine_named(name)
        probe = engine.probe()
        print(f" {name}: {probe.version if probe.found else f'left out: {probe.reason}'}", flush=True)
        if probe.found:
            for kind, (sizes, routing) in MACHINES.items():
                simulate(point(kind, sizes, routing, name), engine)
            for nodes in SIZES:
                simulate(dragonfly(nodes, name), engine)


if __name__ == "__main__":
    main()
