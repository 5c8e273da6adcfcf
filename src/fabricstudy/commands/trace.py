"""``fabricstudy trace``: describe a trace, convert it, or write the messages of a point as one."""

import argparse
from pathlib import Path
from typing import Any, get_args

import numpy as np

from fabricstudy.core.errors import ConfigError, FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.engine.definitions import built
from fabricstudy.engine.records import job_critical_path_ns
from fabricstudy.engine.settings import Network
from fabricstudy.routing.minimal import Minimal
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.operations import CALC, Operations
from fabricstudy.workload.phases import operations_of
from fabricstudy.workload.placing import place
from fabricstudy.workload.traces import goal
from fabricstudy.workload.traces.formats import Format, format_of, read_trace
from fabricstudy.workload.traces.mpi import Clock, algorithms_of

from .common import check_format, check_output_path, load_named_machine, parse_positive, planned_point


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Without --machine messages take no time, so the critical path is that of the computation. With it the ranks "
        "are on its first nodes, one on each. GOAL text has times in whole ns."
    )
    parser.add_argument("file", nargs="?", type=Path, help="trace; of several files, that of rank 0")
    parser.add_argument("--format", choices=get_args(Format), help="of the trace (default: by its content)")
    parser.add_argument(
        "--collectives", nargs="+", default=[], metavar="KIND=ALGORITHM",
        help="algorithms of collective operations, such as all-reduce=ring (default: those of MPICH)",
    )  # fmt: skip
    parser.add_argument("--clock", choices=get_args(Clock), default="wall", help="of the computation, of DUMPI alone")
    parser.add_argument("--of", nargs=2, metavar=("STUDY", "POINT"), help="a job of a point instead of a file")
    parser.add_argument("--job", help="name of this job (default: the first one)")
    parser.add_argument("--write", type=Path, metavar="OUT", help="write it as GOAL text (.goal) or Parquet (.parquet)")
    parser.add_argument("--machine", help="machine for the critical path: published, YAML file or study")
    words = "with --machine: ranks on a node, between which messages take no time (default: %(default)s)"
    parser.add_argument("--ranks-per-node", type=parse_positive, default=1, help=words)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Describe a trace, convert it, or write a job of a point as GOAL."""
    if (args.file is None) == (args.of is None):
        raise FabricstudyError("give either a trace or --of STUDY POINT", "usage")
    check_format(args.write, (".goal", ".parquet"))
    check_output_path(args.write, args.file)
    operations = _read(args) if args.of is None else _job_of(args.of, args.job)
    facts = _facts(operations, args.machine, args.ranks_per_node)
    facts["format"] = None if args.file is None else args.format or format_of(args.file)
    if args.write is not None:
        write_trace(operations, args.write)
        facts["written"] = str(args.write)
    return facts


def write_trace(operations: Operations, path: Path) -> None:
    """Write operations in the format of the suffix."""
    if path.suffix == ".parquet":
        # Imports pyarrow, which GOAL text does not need.
        from fabricstudy.workload.traces import parquet

        parquet.write(operations, path)
    else:
        with atomic_text(path) as file:
            goal.write(operations, file)


def _read(args: argparse.Namespace) -> Operations:
    try:
        algorithms = algorithms_of({kind: of for kind, _, of in (pair.partition("=") for pair in args.collectives)})
        return read_trace(args.file, algorithms, "invalid-trace", args.format, args.clock)[0]
    except ConfigError as error:
        raise error.changed(keys=()) from None


def _job_of(of: list[str], name: str | None) -> Operations:
    study, point_id = of
    point = planned_point(study, point_id).point
    if not point.jobs:
        raise FabricstudyError(f"{point_id}: offered traffic has no end; choose a point with jobs", "unsupported")
    names = [job.name for job in point.jobs]
    if name is not None and name not in names:
        raise FabricstudyError(f"{name}: no such job; known: {', '.join(names)}", "unknown-name")
    analysed = built(point.machine)
    job = place(point, analysed.machine, analysed.cut_side)[0 if name is None else names.index(name)]
    return operations_of(job)


def _facts(operations: Operations, machine: str | None, ranks_per_node: int) -> dict[str, Any]:
    sends = operations.sends
    if machine is None:
        nothing = np.zeros(len(sends))
        path_ns = critical_path_ns(operations, nothing, nothing)
    else:
        path_ns = _placed_path_ns(operations, machine, ranks_per_node)
    compute_ns = float(operations.compute_ns_per_rank().mean())
    return {
        "ranks": operations.ranks,
        "streams": len(np.unique(np.stack([operations.rank, operations.stream]), axis=1).T),
        "operations": len(operations),
        "calcs": int(np.count_nonzero(operations.kind == CALC)),
        "messages": len(sends),
        "bytes": int(operations.size_bytes[sends].sum()),
        "received_from_any": operations.received_from_any,
        "dependencies": len(operations.needs),
        "compute_ns": compute_ns,
        "critical_path_ns": path_ns,
        "computing_share": compute_ns / path_ns if path_ns else 0.0,
        "machine": machine,
        "nodes": None if machine is None else -(-operations.ranks // ranks_per_node),
    }


def _placed_path_ns(operations: Operations, name: str, ranks_per_node: int) -> float:
    machine = load_named_machine(name).build()
    room = machine.nodes * ranks_per_node
    if operations.ranks > room:
        problem = f"{operations.ranks} ranks, and the machine has room for {room}: {ranks_per_node} on each node"
        raise FabricstudyError(f"{problem}; set --ranks-per-node, or choose a larger one", "does-not-fit")
    node_of_rank = (np.arange(operations.ranks) // ranks_per_node).astype(np.int32)
    return job_critical_path_ns(operations, node_of_rank, machine, Network().router_latency_ns, Minimal())


def show(facts: dict[str, Any]) -> None:
    path = "critical path of the computation"
    if facts["machine"]:
        path = f"critical path on {facts['nodes']:,} nodes of {facts['machine']}"
    if facts["format"]:
        print(f"read as {facts['format']}")
    print(f"{facts['ranks']:,} ranks with {facts['streams']:,} streams")
    print(f"{facts['operations']:,} operations: {facts['calcs']:,} calcs, {facts['messages']:,} messages")
    print(f"{facts['dependencies']:,} dependencies; all messages are matched")
    if facts["received_from_any"]:
        count = facts["received_from_any"]
        print(f"{count:,} receives from any source or with any tag, matched as if messages took no time")
    print(f"{facts['bytes']:,} B in all")
    print(f"computation of a rank  {facts['compute_ns']:.6g} ns (mean)")
    print(f"{path}  {facts['critical_path_ns']:.6g} ns, of which a rank computes {facts['computing_share']:.1%}")
    if "written" in facts:
        print(f"wrote {facts['written']}")
