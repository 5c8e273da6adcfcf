"""CPU seconds and quality of the mappings: ``python -m benches mapping`` prints figures and fails on none."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy.spatial import cKDTree

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import load_extensions
from fabricstudy.machine.grids import TorusConfig
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.structure.load import link_loads
from fabricstudy.workload.mapping import Mapping, Slots, Tasks
from fabricstudy.workload.mapping.bound import partners_bound
from fabricstudy.workload.mapping.kernels import compile_kernels, mapping_hop_bytes, slot_topology
from fabricstudy.workload.messages import Messages
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.pattern.stencil import Stencil

BYTES = 1000
PARTNERS = 9
GREEDY = {"kind": "greedy", "starts": 1}
EXCHANGE = {"kind": "exchange", "start": GREEDY}
MANY_STARTS = {"kind": "exchange", "start": {"kind": "greedy", "starts": 64}}
ANNEALED = {"kind": "annealing", "start": "exchange"}
SCOTCH = ["scotch", {"kind": "exchange", "start": "scotch"}] if find_spec("scotchpy") else []
"""Where the optional package is installed."""

CASES: dict[int, list[object]] = {
    512: [
        "random", "recursive-bisection", *SCOTCH, "greedy", "exchange", MANY_STARTS, "annealing",
        {"kind": "annealing", "moves_per_task": 10_000}, ANNEALED, "best",
    ],
    4096: [
        "random", "recursive-bisection", *SCOTCH, GREEDY, "greedy", "exchange", MANY_STARTS, "annealing",
        {"kind": "annealing", "moves_per_task": 5000}, ANNEALED, "best",
        {"kind": "exchange", "objective": "link-load"},
    ],
    16_384: [*SCOTCH, GREEDY, EXCHANGE],
    65_536: [GREEDY, EXCHANGE],
}  # fmt: skip
PLACED: list[object] = ["orb", "curve", {"kind": "exchange", "start": "orb"}, {"kind": "exchange", "start": "curve"}]
"""Mappings by coordinates, which the random geometric graph has here, too."""
SHAPES = {512: (8, 8, 8), 4096: (16, 16, 16), 16_384: (32, 32, 16), 65_536: (64, 32, 32)}


def spent(work: Callable[[], object]) -> float:
    """CPU seconds of a piece of work, those of programs that it runs included."""
    start = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - start


def messages_between(tail: np.ndarray, head: np.ndarray) -> Messages:
    """Messages both ways along edges."""
    source, destination = np.concatenate([tail, head]), np.concatenate([head, tail])
    phase = np.zeros(len(source), dtype=np.int32)
    return Messages(phase, source.astype(np.int32), destination.astype(np.int32), np.full(len(source), BYTES))


def random_geometric(ranks: int) -> Tasks:
    """Points in a cube, joined to those nearby, about nine each."""
    points = np.random.default_rng(1).random((ranks, 3))
    near = cKDTree(points).query_pairs((PARTNERS / (ranks * 4.19)) ** (1 / 3), output_type="ndarray")
    return Tasks(ranks, messages_between(near[:, 0], near[:, 1]), places=(points * 1024).astype(np.int64))


def molecular(ranks: int, patches: tuple[int, ...] = (12, 12, 12)) -> Tasks:
    """Patches and computes like NAMD's."""
    pattern = Pattern.model_validate({"kind": "patches", "patches": patches, "message": "1 kB"})
    sends = pattern.sends(ranks, np.random.default_rng(0))
    size_bytes = np.full(len(sends.source), BYTES)
    return Tasks(ranks, Messages(sends.phase, sends.source, sends.destination, size_bytes))


def shuffled_stencil(shape: tuple[int, ...]) -> Tasks:
    """The torus itself, with its ranks numbered at random."""
    ranks = int(np.prod(shape))
    pattern = Stencil.model_validate({"message": "1 kB", "shape": shape, "dimensions": len(shape), "periodic": True})
    sends = pattern.sends(ranks, np.random.default_rng(0))
    number = np.random.default_rng(1).permutation(ranks)
    one_way = sends.source < sends.destination
    return Tasks(ranks, messages_between(number[sends.source[one_way]], number[sends.destination[one_way]]))


def folded_stencil() -> Tasks:
    """A periodic stencil of 32 x 16, with its ranks numbered at random, which no mapping fits on 8 x 8 x 8 at once."""
    return shuffled_stencil((32, 16))


def conjugate_gradient() -> Tasks:
    """64 ranks of NAS CG: exchanges within rows of eight, and with the transposed rank."""
    rank = np.arange(64)
    partner = np.concatenate([rank ^ 1, rank ^ 2, rank ^ 4, rank % 8 * 8 + rank // 8])
    one_way = np.tile(rank, 4) < partner
    return Tasks(64, messages_between(np.tile(rank, 4)[one_way], partner[one_way]))


def measure(name: str, slots: Slots, tasks: Tasks, kinds: list[object]) -> None:
    """Print hops a byte and CPU seconds of each mapping."""
    assert tasks.messages is not None
    build_s = spent(lambda: tasks.graph)
    graph, total = tasks.graph, float(tasks.messages.size_bytes.sum())
    bound_s = spent(lambda: partners_bound(graph, slots))
    print(
        f"{name}: graph {build_s:.2f} s, bound {partners_bound(graph, slots) / total:.2f} hops a byte, {bound_s:.2f} s"
    )
    for kind in kinds:
        mapping: Mapping = Mapping.model_validate(kind)
        core: list[np.ndarray] = []
        cpu_s = spent(lambda m=mapping, c=core: c.append(m.map_ranks(slots, tasks, np.random.default_rng(1))))
        seat = core[0].astype(np.int64)
        hops_a_byte = mapping_hop_bytes(graph, slot_topology(slots), seat) / total
        node = slots.node_of_core[seat]
        ends = node[tasks.messages.source], node[tasks.messages.destination]
        load_s = spent(lambda e=ends: link_loads(slots.machine, *e, tasks.messages.size_bytes, DimensionOrder()))
        print(f"  {kind}: {hops_a_byte:.3f} hops a byte, {cpu_s:.2f} s CPU; link loads {load_s:.2f} s", flush=True)


def main() -> None:
    """Print all figures."""
    load_extensions([f"extensions/{name}.py" for name in ("namd", "scotch")], CONFIGS)
    compile_kernels()
    mesh = TorusConfig.model_validate({"shape": [4, 4, 4], "wrap": False, "bandwidth": "1 GB/s"}).build()
    measure(
        "NAS CG, 64 ranks on a mesh", Slots(mesh, np.arange(64, dtype=np.int32), 1), conjugate_gradient(), CASES[512]
    )
    for ranks, kinds in CASES.items():
        machine = TorusConfig.model_validate({"shape": list(SHAPES[ranks]), "bandwidth": "1 GB/s"}).build()
        slots = Slots(machine, np.arange(ranks, dtype=np.int32), 1)
        measure(f"random geometric, {ranks} ranks", slots, random_geometric(ranks), [*PLACED, *kinds])
        if ranks <= 4096:
            measure(f"stencil that fits, {ranks} ranks", slots, shuffled_stencil(SHAPES[ranks]), kinds)
        if ranks == 4096:
            measure(f"like NAMD, {ranks} ranks", slots, molecular(ranks), kinds)
        if ranks == 512:
            measure("stencil of 32 x 16, 512 ranks", slots, folded_stencil(), kinds)
            measure("like NAMD, 512 ranks", slots, molecular(ranks, (6, 6, 4)), kinds)
        print(f"most memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", flush=True)
