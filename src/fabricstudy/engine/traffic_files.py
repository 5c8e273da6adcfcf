"""Files of traffic for the bundled programs: operations of jobs, and destinations of offered traffic."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Floats, Ints
from fabricstudy.workload.marks import is_drawable
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.operations import MAX_STREAMS, SEND
from fabricstudy.workload.phases import operations_of, started_at
from fabricstudy.workload.traffic.base import Destinations

from .failures import Unsupported
from .machine_file import weights, write_rows
from .point import Point
from .settings import Network

EAGER, SYNCHRONOUS = 1, 3
"""Kinds of sends in the file of operations."""

MAX_DRAIN = 20
"""Windows after the measured one in which measured messages may arrive."""

_RAILS = {"round-robin": "ports", "striping": "stripes"}


def write_operations(
    path: Path,
    jobs: Sequence[PlacedJob],
    network: Network,
    unit_bytes: int = 1,
    unit_ns: float = 1e-3,
    node_Bps: float = 0.0,
) -> None:
    """Write the operations of all jobs, also of jobs of phases, in units of bytes and of time, a picosecond.

    `node_Bps` is the bandwidth of all links of a node together, by which jobs with a load offer it.
    """
    with path.open("wb") as file:
        file.write(b"operations 1\n")
        if network.ports_per_node > 1:
            file.write(f"{_RAILS[network.rails]} {network.ports_per_node}\n".encode())
        file.write(f"jobs {len(jobs)}\n".encode())
        for job in jobs:
            operations = started_at(operations_of(job), job.start_ns)
            if job.load is None:
                file.write(f"{'background' if job.background else 'ranks'} {job.ranks}\n".encode())
                write_rows(file, job.node_of_rank)
            else:
                file.write(f"offered {job.ranks}\n".encode())
                write_rows(file, job.node_of_rank, np.rint(mean_gaps_ns(job, node_Bps) / unit_ns).astype(np.int64))
            key = operations.rank.astype(np.int64) * MAX_STREAMS + operations.stream
            streams, stream = np.unique(key, return_inverse=True)
            kind = operations.kind.astype(np.int64)
            sent = np.where(kind == SEND, whole_units(operations.size_bytes, unit_bytes), 0)
            length = whole_times(operations.duration_ns, unit_ns) + sent
            kind[kind == SEND] = EAGER if operations.eager else SYNCHRONOUS
            file.write(f"streams {len(streams)}\noperations {len(operations)}\n".encode())
            write_rows(file, kind, operations.rank, stream, length, np.maximum(operations.partner, 0))
            order = np.argsort(operations.needs, kind="stable")
            file.write(f"dependencies {len(order)}\n".encode())
            write_rows(file, *(column[order] for column in (operations.needs, operations.dependent, operations.when)))


def mean_gaps_ns(job: PlacedJob, node_Bps: float) -> Floats:
    """Return the mean gap between the messages of each rank of a job with a load, float64 [ranks]; 0 if it has none.

    The ranks of a node that send to other nodes have equal parts of its load.
    """
    source, size_bytes = job.messages.source[job.is_inter_node], job.messages.size_bytes[job.is_inter_node]
    messages = np.bincount(source, minlength=job.ranks)
    mean_bytes = np.bincount(source, size_bytes, job.ranks) / np.maximum(messages, 1)
    on_node = np.bincount(job.node_of_rank, messages > 0)[job.node_of_rank]
    rate_Bps = (job.load or 0.0) * node_Bps / np.maximum(on_node, 1)
    return mean_bytes * 1e9 / rate_Bps if rate_Bps.all() else np.zeros(job.ranks)


def whole_units(size_bytes: Ints, unit_bytes: int) -> Ints:
    """Return the units of messages; the last one may be partly empty."""
    return -(-size_bytes // unit_bytes)


def whole_times(duration_ns: Floats, unit_ns: float = 1.0) -> Ints:
    """Return times in whole units, each rounded up, so that no sum of them is below the true one.

    A quotient within a billionth of a whole number is this number: divisions of floats are not exact.
    """
    units = duration_ns / unit_ns
    nearest = np.rint(units)
    times: Ints = np.where(np.isclose(units, nearest, rtol=1e-9, atol=0), nearest, np.ceil(units)).astype(np.int64)
    return times


def needs_times(jobs: Sequence[PlacedJob]) -> bool:
    """Return whether start and end of all operations are of interest: for marks, or for a figure."""
    traces = [job.operations for job in jobs if job.operations is not None]
    return any(trace.mark is not None for trace in traces) or (len(traces) > 0 and is_drawable(traces))


def write_destinations(path: Path, destinations: Destinations, nodes: int) -> None:
    """Write where the nodes send offered traffic, with weights."""
    weight = weights(destinations.share)
    sent = weight > 0
    with path.open("wb") as file:
        file.write(f"offered 1\nnodes {nodes}\nrows {np.count_nonzero(sent)}\n".encode())
        write_rows(
            file, *(column[sent] for column in (destinations.node, weight, destinations.first, destinations.last))
        )


def check_ports(point: Point) -> None:
    """Raise `Unsupported` for offered traffic of nodes with several ports."""
    if point.offered is not None and point.network.ports_per_node > 1:
        raise Unsupported("nodes that offer traffic have one port; leave network.ports_per_node out")
