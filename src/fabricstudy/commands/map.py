"""``fabricstudy map``: map a job's ranks, measure the mapping, and write files for launchers."""

import argparse
import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from fabricstudy.core.arrays import Integers, Ints, number_within
from fabricstudy.core.errors import FabricstudyError, suggestion
from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import numbered_lines, position_text, read_bytes
from fabricstudy.core.model import Model, at_path
from fabricstudy.engine.records import loads_by_routes, mapping_record
from fabricstudy.machine.base import Topology
from fabricstudy.machine.graph import Machine, NamedMachine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.dimension_order import DimensionOrder
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.bisection import bisection_bounds
from fabricstudy.structure.bound import load_time_ns
from fabricstudy.study.file import parse_yaml, validated
from fabricstudy.workload.mapping import Mapping, Slots, Tasks
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.pattern.task_graph import (
    GraphFile,
    TaskGraphPattern,
    nearest_power_of_ten,
    rank_messages,
    read_graph,
)

from .common import (
    add_extensions,
    check_output_path,
    load_named_machine,
    machine_files,
    parse_positive,
    parse_whole_number,
    table_console,
    text_table,
    with_extensions,
)

PRINTED_METRICS = (
    "hop_bytes", "hops_mean", "hop_bytes_over_bound", "hops_max", "link_max_bytes", "expected_load_ns", "mapping_cpu_s",
)  # fmt: skip
IN_BYTES = (
    "hop_bytes", "hop_bytes_bound", "link_max_bytes", "link_rms_bytes", "expected_load_ns", "bound_any_mapping_ns",
)  # fmt: skip
"""Metrics that are proportional to the weights."""
WHOLE_BYTES = 1e13
"""Total bytes of a scaled graph, at which weights are resolved to a trillionth, and sums over hops are exact."""
DECIDING = ("link_max_bytes", "hop_bytes", "hops_max", "expected_load_ns")
BASELINE_MAPPING = "linear"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Ranks are the vertices of the graph, or groups of them if it has more. The rank files are those of the "
        "mapping with the smallest --by. Bounds include the links between routers and the host links."
    )
    parser.add_argument("--machine", required=True, help="published machine, like mira; YAML file; or study")
    words = "task graph: METIS, Matrix Market or CSV, or a matrix of bytes, as in a study"
    parser.add_argument("--graph", required=True, type=Path, help=words)
    parser.add_argument(
        "--with", dest="mappings", default="exchange", metavar="KIND[,KIND]",
        help="mappings to try: names, or as in a study, like '{kind: exchange, start: random}' (default: exchange)",
    )  # fmt: skip
    parser.add_argument(
        "--out",
        type=Path,
        help="write OUT.cores and the rank files OUT.openmpi, OUT.mpich and, if the hosts have names, OUT.slurm",
    )
    parser.add_argument(
        "--by", choices=DECIDING, default="link_max_bytes", help="metric to minimise (default: %(default)s)"
    )
    parser.add_argument(
        "--ranks", type=parse_positive, help="ranks (default: as many as vertices, or as the nodes have cores)"
    )
    parser.add_argument("--ranks-per-node", type=parse_positive, help="ranks on a node (default: its cores)")
    words = (
        "file with the job's nodes, by number, or by name on a fabric from a file, also as lists like n[1-4,9] "
        "(default: the first ones)"
    )
    parser.add_argument("--nodes", type=Path, help=words)
    words = "file with the names of these nodes, one per line in the same order (default: those of the fabric's file)"
    parser.add_argument("--hosts", type=Path, help=words)
    parser.add_argument("--unit-bytes", type=parse_positive, default=1, help="bytes per unit of weight (default: 1)")
    parser.add_argument("--seed", type=parse_whole_number, default=1, help="seed of all random choices (default: 1)")
    add_extensions(parser)


@with_extensions
def run(args: argparse.Namespace) -> dict[str, Any]:
    """Map the ranks of a job, print metrics of the mapping, and write rank files for launchers."""
    config = load_named_machine(args.machine)
    _check_out(args)
    graph, sha256 = read_graph(args.graph)
    slots = _slots(args, config, graph)
    # Messages have whole bytes, and weights are any numbers.
    scale = nearest_power_of_ten(float(graph.units.sum()), WHOLE_BYTES)
    tasks = Tasks(slots.ranks, rank_messages(graph, slots.ranks, "metis", scale))
    if not len(tasks.messages or ()):
        problem = f"{args.graph}: all edges are within the groups of vertices of {slots.ranks} ranks"
        raise FabricstudyError(f"{problem}; use more ranks", "invalid-data-file")
    facts = {"sha256": sha256, "vertices": tasks.ranks, "edges": len(tasks.messages or ())}
    pattern = TaskGraphPattern.model_validate({"file": str(args.graph), "message": "1 B", **facts})
    mappings = _mappings(args.mappings)
    for mapping in mappings.values():
        mapping.check_fit(config, pattern, slots.ranks)
    hosts = _hosts(args.hosts, slots)
    rows, cores = [], {}
    for name, mapping in mappings.items():
        cores[name], start, cpu_s = _mapped(mapping, slots, tasks, args.seed)
        rows.append({"mapping": name, "mapping_start": start, **_metrics(slots, tasks, pattern, cores[name])})
        rows[-1] |= {name: rows[-1][name] * args.unit_bytes / scale for name in IN_BYTES if name in rows[-1]}
        rows[-1]["mapping_cpu_s"] = cpu_s
    best = min(rows, key=lambda row: (row[args.by], row["hop_bytes"], row["mapping"] != BASELINE_MAPPING))["mapping"]
    return {
        "graph": {"vertices": graph.tasks, "edges": len(graph.source), "loops": graph.loops, "sha256": sha256},
        "ranks": slots.ranks,
        "nodes": len(slots.nodes),
        "mappings": rows,
        "best": best,
        "files": _written(args.out, slots, np.asarray(cores[best]), hosts) if args.out is not None else [],
    }


def _slots(args: argparse.Namespace, config: Topology, graph: GraphFile) -> Slots:
    machine = config.build()
    per_node = args.ranks_per_node or machine.cores_per_node
    if not 1 <= per_node <= machine.cores_per_node:
        raise FabricstudyError(f"{per_node} ranks per node and {machine.cores_per_node} cores", "does-not-fit")
    listed = None if args.nodes is None else _numbers(args.nodes, machine)
    room = (machine.nodes if listed is None else len(listed)) * per_node
    ranks = args.ranks or (min(graph.tasks, room) if listed is None else room)
    if ranks > room or ranks < 2:
        raise FabricstudyError(f"{ranks} ranks and {room} cores; take from 2 to {room} ranks", "does-not-fit")
    if ranks % per_node or (listed is not None and ranks != room):
        problem = f"{ranks} ranks do not fill nodes of {per_node}"
        raise FabricstudyError(f"{problem}; give --ranks that do, or --ranks-per-node", "invalid-value")
    nodes = np.arange(ranks // per_node) if listed is None else listed
    return Slots(machine, nodes.astype(np.int32), per_node)


def _names(path: Path, known: Container[str] = ()) -> list[tuple[str, int]]:
    """Return the names in a file, each with its line: a known name with blanks, or words and lists of hosts."""
    names: list[tuple[str, int]] = []
    with at_path(file=str(path)):
        for line, text in numbered_lines(read_bytes(path)):
            words = [text.strip()] if text.strip() in known else text.split()
            for word in words:
                listed = [word] if word in known else expanded(word, position_text(line))
                names += [(name, line) for name in listed]
    return names


def _nodes_by_name(machine: Machine) -> dict[str, list[int]]:
    """Return the nodes of each name: that of a node, or of a host with all its ports."""
    named: dict[str, list[int]] = {}
    if isinstance(machine, NamedMachine):
        for node, host in enumerate(machine.host_names):
            named.setdefault(host, []).append(node)
        named |= {name: [node] for name, node in machine.node_of.items()}
    named.pop("", None)
    return named


def _numbers(path: Path, machine: Machine) -> Ints:
    nodes: list[tuple[int, int]] = []
    number_of = _nodes_by_name(machine)
    for word, line in _names(path, number_of):
        position = f"{path}: {position_text(line)}: {word}"
        if word in number_of:
            nodes += [(node, line) for node in number_of[word]]
            continue
        if not (word.isascii() and word.isdigit()):
            if number_of:
                raise FabricstudyError(f"{position}: no such node; {suggestion(word, number_of)}", "unknown-name")
            raise FabricstudyError(f"{position}: not a whole number; write one node per line", "wrong-type")
        if len(word) > 12 or int(word) >= machine.nodes:
            raise FabricstudyError(f"{position}: the machine has nodes 0 to {machine.nodes - 1}", "unknown-name")
        nodes.append((int(word), line))
    _check_distinct(path, nodes)
    return np.array([node for node, _ in nodes], dtype=np.int64)


def _check_distinct(path: Path, entries: Sequence[tuple[object, int]]) -> None:
    seen = set()
    for entry, line in entries:
        if entry in seen:
            raise FabricstudyError(f"{path}: {position_text(line)}: duplicate {entry}; write each once", "duplicate")
        seen.add(entry)


def _hosts(path: Path | None, slots: Slots) -> list[str] | None:
    """Return the hosts of the nodes, those in the fabric's file by default; a file must not contradict that."""
    known = slots.machine.host_names if isinstance(slots.machine, NamedMachine) else ()
    of_nodes = [known[node] for node in slots.nodes] if known else []
    if not all(of_nodes):
        of_nodes = []  # nodes without names
    if path is None:
        return of_nodes or None
    names = _names(path, of_nodes)
    if len(names) != len(slots.nodes):
        problem = f"{path}: {len(names)} names for {len(slots.nodes)} nodes"
        raise FabricstudyError(f"{problem}; write one per node", "out-of-range")
    if len(set(of_nodes)) == len(of_nodes):
        _check_distinct(path, names)
    for (name, line), of_node, node in zip(names, of_nodes, slots.nodes, strict=False):
        if name != of_node:
            problem = f"{path}: {position_text(line)}: {name}: node {node} is {of_node} in the fabric's file"
            raise FabricstudyError(f"{problem}; leave --hosts out, and name the job's nodes in --nodes", "unknown-name")
    return [name for name, _ in names]


class _Mappings(Model):
    mappings: tuple[Mapping, ...] = Field(alias="with")


def _mappings(text: str) -> dict[str, Mapping]:
    """Return mappings from the text of a study, `BASELINE_MAPPING` first."""
    written = [BASELINE_MAPPING, *parse_yaml(f"[{text}]")]
    mappings = validated(_Mappings, {"with": written}, {}).mappings
    names = [mapping if isinstance(mapping, str) else str(mapping) for mapping in written]
    return dict(zip(names, mappings, strict=True))


def _mapped(mapping: Mapping, slots: Slots, tasks: Tasks, seed: int) -> tuple[Ints, str | None, float]:
    mapping.warm_up()
    begin_s = sum(os.times()[:4])  # with the time of child processes
    try:
        core, start = mapping.map_ranks_with_start(slots, tasks, np.random.default_rng(seed))
    except WorkloadError as error:
        raise FabricstudyError(str(error), "unsupported") from None
    return np.asarray(core, dtype=np.int64), start, sum(os.times()[:4]) - begin_s


def _metrics(slots: Slots, tasks: Tasks, pattern: Pattern, core: Ints) -> dict[str, Any]:
    machine = slots.machine
    assert tasks.messages is not None
    job = PlacedJob("job", slots.node_of_core[core], tasks.messages)
    routing: Routing = DimensionOrder() if machine.dimensions else Minimal()
    loads = loads_by_routes(job, machine, routing)
    metrics = mapping_record(job, pattern, machine, loads, bisection_bounds(machine).cut_side)
    metrics["hops_mean"] = metrics["hop_bytes"] / max(job.bytes_sent, 1)
    # The bound is 0 if all partners of each rank fit on its router, and not computed for very many messages.
    bound = metrics.get("hop_bytes_bound")
    metrics["hop_bytes_over_bound"] = metrics["hop_bytes"] / bound if bound else None
    return metrics | {"expected_load_ns": load_time_ns(machine, loads)}


_SUFFIXES = (".cores", ".openmpi", ".mpich", ".slurm")


def _check_out(args: argparse.Namespace) -> None:
    """Refuse names of rank files that are invalid, or those of input files."""
    if args.out is None:
        return
    if not args.out.name:
        raise FabricstudyError(f"--out {args.out}: no name; give one, such as job", "invalid-value")
    read = [args.graph, args.nodes, args.hosts, *machine_files(args.machine)]
    for suffix in _SUFFIXES:
        check_output_path(args.out.with_name(args.out.name + suffix), *read)


def _written(out: Path, slots: Slots, core: Ints, hosts: list[str] | None) -> list[str]:
    """Write the rank files and return their names."""
    node, core_of_node = np.divmod(core, slots.ranks_per_node)
    if hosts is not None:
        # Several nodes of a host, which are its ports, have cores one after the other.
        before = number_within(np.unique(hosts, return_inverse=True)[1])
        core_of_node = core_of_node + before[node] * slots.ranks_per_node
    texts = {
        ".cores": "".join(f"{number}\n" for number in core),
        ".openmpi": open_mpi(node, core_of_node, hosts),
        ".mpich": cray_mpich(core, _launch_order(slots.nodes, hosts)),
    }
    if hosts is not None:
        texts[".slurm"] = slurm(node, hosts)
    for suffix, text in texts.items():
        out.with_name(out.name + suffix).write_text(text, encoding="utf-8")
    return [out.name + suffix for suffix in texts]


def _launch_order(nodes: Integers, hosts: list[str] | None) -> Integers:
    """Return nodes renumbered so that those of a host follow each other, by the first of them."""
    if hosts is None:
        return nodes
    first: dict[str, int] = {}
    for number in np.argsort(nodes).tolist():
        first.setdefault(hosts[number], len(first))
    order = sorted(range(len(nodes)), key=lambda number: (first[hosts[number]], nodes[number]))
    return np.argsort(order)


def slurm(node: Ints, hosts: list[str]) -> str:
    """Return a file for ``SLURM_HOSTFILE`` and ``srun --distribution=arbitrary``: a line with the host of each task.

    Examples
    --------
    >>> print(slurm(np.array([1, 0, 1]), ["a", "b"]), end="")
    b
    a
    b
    """
    return "".join(f"{hosts[number]}\n" for number in node)


def open_mpi(node: Ints, core: Ints, hosts: list[str] | None) -> str:
    """Return a rankfile of Open MPI; without `hosts`, nodes are numbered by the list of hosts: +n0, +n1, ...

    Examples
    --------
    >>> print(open_mpi(np.array([1, 0]), np.array([0, 3]), None), end="")
    rank 0=+n1 slot=0
    rank 1=+n0 slot=3
    """
    names = [f"+n{number}" for number in node] if hosts is None else [hosts[number] for number in node]
    slots = zip(names, core, strict=True)
    return "".join(f"rank {rank}={name} slot={slot}\n" for rank, (name, slot) in enumerate(slots))


def cray_mpich(core: Ints, nodes: Integers) -> str:
    """Return the file ``MPICH_RANK_ORDER`` for ``MPICH_RANK_REORDER_METHOD=3``: the ranks in the order of the cores.

    One line for each node, in ascending order, in which the launcher fills them, whatever the order of the allocation
    `nodes` (integers [nodes]).

    Examples
    --------
    >>> print(cray_mpich(np.array([2, 0, 3, 1]), np.array([4, 9])), end="")
    1,3
    0,2
    >>> print(cray_mpich(np.array([2, 0, 3, 1]), np.array([9, 4])), end="")
    0,2
    1,3
    """
    ranks_of_node = np.argsort(core).reshape(len(nodes), -1)
    return "".join(",".join(map(str, row)) + "\n" for row in ranks_of_node[np.argsort(nodes)])


def show(result: dict[str, Any]) -> None:
    graph = result["graph"]
    dropped = f", {graph['loops']} loops excluded" if graph["loops"] else ""
    print(f"graph   {graph['vertices']} vertices, {graph['edges']} edges{dropped}")
    print(f"job     {result['ranks']} ranks on {result['nodes']} nodes")
    table = text_table("mapping", *PRINTED_METRICS)
    for row in result["mappings"]:
        start = row["mapping_start"]
        name = row["mapping"] if start is None else f"{row['mapping']} (from {start})"
        table.add_row(name, *("–" if row[name] is None else f"{row[name]:.4g}" for name in PRINTED_METRICS))
    table_console(160).print(table)
    bound = result["mappings"][0]
    if "hop_bytes_bound" in bound:
        least = bound["hop_bytes_bound"] / max(bound["hop_bytes"], 1e-300) * bound["hops_mean"]
        print(f"no mapping has fewer than {least:.3g} hops per byte ({bound['hop_bound_method']})", end="")
        print(f", nor a time below {bound['bound_any_mapping_ns']:.4g} ns")
    print(f"chosen  {result['best']}" + (f", written to {', '.join(result['files'])}" if result["files"] else ""))
