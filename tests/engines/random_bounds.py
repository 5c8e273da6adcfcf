"""Random points on small machines with faults, each made by its number, whose times and loads keep every bound.

``python -m tests.engines.random_bounds 2000 --first 0`` checks so many of them and lists the violations.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fabricstudy.analysis.pair_bytes import PairBytes
from fabricstudy.core.store import Record
from fabricstudy.engine.definitions import built
from fabricstudy.engine.point import PlannedPoint, Point, machine_id, point_id
from fabricstudy.engine.settings import Limits
from fabricstudy.engine.single_point import simulate_in_folder
from fabricstudy.machine.base import Topology
from fabricstudy.routing.base import Routing
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.placing import place

from .test_bounds import FAMILIES, ROUTINGS

PATTERNS: tuple[dict[str, Any], ...] = (
    {"kind": "all-to-all", "message": "4 kB"},
    {"kind": "stencil", "message": "20 kB", "iterations": 2},
    {"kind": "all-reduce", "message": "32 kB", "algorithm": "ring"},
    {"kind": "permutation", "message": "50 kB"},
    {"kind": "incast", "message": "9 kB"},
    {"kind": "broadcast", "message": "7 kB"},
    {"kind": "ring", "message": "0.5 kB", "iterations": 3},
    {"kind": "uniform-random", "message": "3 kB", "messages_per_rank": 5},
)
TRAFFICS = ("uniform", "permutation", "shift")
JOB_BOUNDS = ("bound_ns", "phase_bound_ns", "critical_path_ns", "bound_any_mapping_ns")
ROUNDING = 1e-9
DRAWN = 0.1
"""Most by which the load of the bottleneck link of random traffic may be below its mean, as a ratio."""


def random_machine(rng: np.random.Generator) -> Topology | None:
    """Return a small machine with a slow host or slow cables, failed and degraded ones; None if faults cut it apart."""
    kind = str(rng.choice(sorted({*FAMILIES} - {"twisted-torus"})))  # which is an extension
    written: dict[str, Any] = {"kind": kind, "cores_per_node": 1} | FAMILIES[kind]
    classes = {link.name for link in Topology.model_validate(written | {"bandwidth": "1 GB/s"}).build().classes}
    for names in ({*classes, "host"}, {"links", "host"}, set[str]()):  # as the family divides its links
        speeds = {name: f"{rng.choice([1, 2, 3, 10])} GB/s" for name in sorted(names)}
        times = {name: f"{rng.choice([0, 30, 500])} ns" for name in sorted(names)}
        unequal = written | ({"bandwidth": speeds, "latency": times} if names else {"bandwidth": "2 GB/s"})
        try:
            Topology.model_validate(unequal)
            break
        except ValueError:
            continue
    slow = {"cables": int(rng.integers(0, 4)), "to": float(rng.choice([0.1, 0.5]))}
    faults = {
        "cables": int(rng.integers(0, 4)), "routers": int(rng.integers(0, 2)), "degraded": slow,
        "seed": int(rng.integers(1, 1000)),
    }  # fmt: skip
    try:
        faulty = Topology.model_validate(unequal | {"faults": faults})
        return faulty if faulty.build().nodes >= 4 else None
    except ValueError:
        return None


def random_point(seed: int) -> Point | None:
    """Return a random point with one or two jobs, or, a fifth of them, with offered traffic."""
    rng = np.random.default_rng(seed)
    machine = random_machine(rng)
    if machine is None:
        return None
    fitting = [
        routing for routing in ROUTINGS if Routing.model_validate({"kind": routing}).needs in (None, *machine.traits)
    ]
    network = {
        "router_latency": str(rng.choice(["0 ns", "100 ns"])), "packet": str(rng.choice(["512 B", "2 kB"])),
        "ports_per_node": int(rng.choice([1, 1, 1, 2])), "rails": str(rng.choice(["round-robin", "striping"])),
    }  # fmt: skip
    sections: dict[str, Any] = {
        "machine": machine, "routing": {"kind": str(rng.choice(fitting))}, "network": network, "seed": seed,
    }  # fmt: skip
    if seed % 5 == 4:
        offered = {"traffic": str(rng.choice(TRAFFICS)), "load": float(rng.choice([0.01, 0.05]))}
        return Point.model_validate(sections | {"offered": offered, "engine": "packet"})
    left, jobs = machine.nodes, list[dict[str, Any]]()
    for _ in range(int(rng.integers(1, 3))):
        if left >= 4:
            nodes = min(left, int(rng.integers(4, 13)))
            left -= nodes
            compute = {"compute": {"time": "3 us", "overlap": 0.5}} if rng.random() < 0.2 else {}
            placed = {
                "allocation": str(rng.choice(["random", "cluster"])),
                "mapping": str(rng.choice(["random", "linear"])),
            }
            jobs.append({"nodes": nodes, "pattern": PATTERNS[rng.integers(len(PATTERNS))]} | placed | compute)
    engine = str(rng.choice(["packet", "packet", "packet", "flow"]))
    return Point.model_validate(sections | {"jobs": jobs, "engine": engine})


def record_of(point: Point, folder: Path) -> Record:
    planned = PlannedPoint(point_id(point), machine_id(point.machine), point)
    record: Record = simulate_in_folder(planned, folder, Limits())["record"]
    return record


def any_routing_ns(job: PlacedJob, point: Point) -> float:
    """Return the bound of `candidates` for a placed job, on links to nodes as fast as all ports."""
    machine, messages = point.machine.build(), job.messages
    host_Bps = machine.host.bandwidth_Bps * point.network.ports_per_node
    machine = replace(machine, host=replace(machine.host, bandwidth_Bps=host_Bps))
    source, destination = (job.node_of_rank[end].astype(np.int64) for end in (messages.source, messages.destination))
    traffic = PairBytes(source, destination, messages.size_bytes.astype(np.float64), machine.nodes)
    return traffic.bound_ns(machine, bisection_bounds(machine, quickly=True).cut_side)


def above_saturation(row: Record) -> list[str]:
    """Return the saturation bound if it is below the load at which the busiest link of the routes taken is full."""
    load, bound, method = row["offered_load"], row["saturation_bound"], row["bound_method"]
    if method == "host" or load > 0.8 * bound:  # all nodes alike, or saturated
        return []
    full = load / max(row["link_max"], row["accepted_load"])
    return [f"saturation_bound: {bound:.4f}, full at {full:.4f}, {method}"] * (full * (1 - DRAWN) > bound)


def violations(seed: int, folder: Path) -> list[str] | None:
    """Return the bounds that the result of a random point does not keep; None if it cannot be simulated."""
    point = random_point(seed)
    record = None if point is None else record_of(point, folder)
    if point is None or record is None or record["status"] == "unsupported":
        return None
    if record["status"] != "done":
        return [f"{record['status']}: {record['reason']}"]
    if point.offered is not None:
        return above_saturation(record["latency"])
    analysed, wrong = built(point.machine), []
    placed = place(point, analysed.machine, analysed.cut_side)
    for row, job in zip(record["jobs"], placed, strict=True):
        most_ns = row["runtime_ns"] * (1 + ROUNDING) + 0.1
        limits = {name: row.get(name) or 0.0 for name in JOB_BOUNDS} | {"candidates": any_routing_ns(job, point)}
        wrong += [
            f"{name}: {limit:.3f} ns, took {row['runtime_ns']:.3f}" for name, limit in limits.items() if limit > most_ns
        ]
        least = row.get("hop_bytes_bound", 0.0)
        wrong += [f"hop_bytes_bound: {least}, has {row['hop_bytes']}"] * (least > row["hop_bytes"] * (1 + ROUNDING))
        wrong += ["bound_ns: none"] * (row["bound_ns"] <= 0)
    return wrong


def main() -> None:
    """Check points, and print each violation and how many points were simulated."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("points", type=int)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    counted: Counter[str] = Counter()
    for seed in range(args.first, args.first + args.points):
        with tempfile.TemporaryDirectory() as folder:
            wrong = violations(seed, Path(folder) / "point")
        counted["skipped" if wrong is None else "wrong" if wrong else "kept"] += 1
        for text in wrong or ():
            print(f"{seed}: {text}", flush=True)
    print(dict(counted))


if __name__ == "__main__":
    main()
