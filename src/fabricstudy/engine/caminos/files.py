"""Input files of the front end: configuration, machine, operations."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fabricstudy.core.arrays import Array, Floats, Ints
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import cached_routes
from fabricstudy.routing.listed import HopList, PathList
from fabricstudy.routing.ugal import Ugal
from fabricstudy.workload.marks import is_drawable
from fabricstudy.workload.messages import PlacedJob
from fabricstudy.workload.operations import MAX_STREAMS, SEND
from fabricstudy.workload.phases import operations_of
from fabricstudy.workload.traffic.base import Destinations

from ..bundled import MACHINE, OPERATIONS
from ..detours import via
from ..point import Point
from ..settings import Network
from .channels import channels, listed, policies, routes
from .clock import Clock, clock, operation_cycles, phits_of

CONFIGURATION, OFFERED = "caminos.cfg", "offered.destinations"

MAX_DRAIN = 20
"""Windows after the measured one in which measured messages may arrive."""

FULL_WEIGHT = 2**30
"""Weight of all messages of a node in the file of destinations, and of all packets in lists of routes."""

EAGER, SYNCHRONOUS = 1, 3
"""Kinds of sends in the file of operations."""

_RAILS = {"round-robin": "ports", "striping": "stripes"}


def write_files(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write the input of the front end."""
    units = clock(point, machine)
    traces = [job.operations for job in jobs if job.operations is not None]
    recorded = any(trace.mark is not None for trace in traces) or (len(traces) > 0 and is_drawable(traces))
    traffic = f"""TaskGraph {{
    filename: "{OPERATIONS}",
    injection: {point.network.injected_messages},
    packet: {units.packet_phits},
    period: {units.divisors[-1]},
    times: {str(recorded).lower()},
  }}"""
    (folder / CONFIGURATION).write_text(configuration(point, machine, traffic, _cycle_limit(units, machine, jobs)))
    write_machine(folder / MACHINE, machine, point)
    write_operations(folder / OPERATIONS, jobs, units, point.network)


def write_offered(folder: Path, point: Point, machine: Machine, destinations: Destinations, load: float) -> None:
    """Write all that the front end reads for a run of offered traffic."""
    units, window = clock(point, machine), offered_window(point, machine)
    offered = point.offered
    assert offered is not None
    traffic = f"""Offered {{
    filename: "{OFFERED}",
    seed: {point.seed},
    arrivals: "{offered.arrivals}",
    burst: {offered.burst or 1},
    load: {load!r},
    message: {window.message_phits},
    period: {units.divisors[-1]},
    warmup: {offered.warmup * window.message_cycles},
    batch: {window.batch_cycles},
    batches: {offered.batches},
    drain: {MAX_DRAIN},
  }}"""
    (folder / CONFIGURATION).write_text(configuration(point, machine, traffic, 0))
    write_machine(folder / MACHINE, machine, point)
    weight = _weights(destinations.share)
    sent = weight > 0
    with (folder / OFFERED).open("wb") as file:
        file.write(f"offered 1\nnodes {machine.nodes}\nrows {np.count_nonzero(sent)}\n".encode())
        _write_rows(
            file, *(column[sent] for column in (destinations.node, weight, destinations.first, destinations.last))
        )


class OfferedWindow(NamedTuple):
    """Size of messages, their transmission time on the link of a node, and length of a batch, in CAMINOS' units."""

    message_phits: int
    message_cycles: int
    batch_cycles: int


def offered_window(point: Point, machine: Machine) -> OfferedWindow:
    """Return the lengths of a run of offered traffic."""
    assert point.offered is not None
    units = clock(point, machine)
    phits = -(-point.offered.message_bytes // units.phit_bytes)
    cycles = phits * units.divisors[-1]
    return OfferedWindow(phits, cycles, round(point.offered.measured * cycles / point.offered.batches))


def write_machine(path: Path, machine: Machine, point: Point) -> None:
    """Write the machine for the Rust programs, with the routes that they do not implement."""
    given, ports = listed(point.routing, machine), point.network.ports_per_node
    cables = (machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count)
    with path.open("wb") as file:
        file.write(f"graph 1\nrouters {machine.routers}\nclasses {len(machine.classes)}\n".encode())
        # Nodes of the front end are ports, those of a node one after the other.
        file.write(f"nodes {machine.nodes * ports}\n".encode())
        _write_rows(file, np.repeat(machine.node_router, ports))
        file.write(f"cables {len(machine.cable_tail)}\n".encode())
        _write_rows(file, *cables)
        if machine.dimensions:
            file.write(f"dimensions {len(machine.dimensions)}\n".encode())
            for dimension in machine.dimensions:
                file.write(f"{dimension.length} {int(dimension.wrap)} {dimension.gap or 0}\n".encode())
        if machine.level is not None:
            file.write(f"levels {machine.routers}\n".encode())
            _write_rows(file, machine.level)
        if (via(point.routing) == "group" or isinstance(point.routing, Ugal)) and machine.group is not None:
            file.write(f"groups {machine.routers}\n".encode())
            _write_rows(file, machine.group)
        match given:
            case HopList():
                by_node = cached_routes(machine, point.routing).by_destination_node
                channel = np.zeros_like(given.link) if given.channel is None else given.channel
                file.write(f"{'node' if by_node else 'router'}_hops {len(given.link)}\n".encode())
                _write_rows(file, given.router, given.goal, given.link, channel, _weights(given.share))
            case PathList():
                file.write(f"paths {len(given.hops)}\n".encode())
                _write_rows(file, given.source, given.goal, _weights(given.share), given.hops)
                file.write(f"path_routers {len(given.router)}\n".encode())
                _write_rows(file, given.router)


def _weights(share: Floats) -> Ints:
    return np.rint(share * FULL_WEIGHT).astype(np.int64)


def write_operations(path: Path, jobs: list[PlacedJob], units: Clock, network: Network) -> None:
    """Write the operations of all jobs for the Rust programs, in cycles and phits; those of jobs of phases, too."""
    with path.open("wb") as file:
        file.write(b"operations 1\n")
        if network.ports_per_node > 1:
            file.write(f"{_RAILS[network.rails]} {network.ports_per_node}\n".encode())
        file.write(f"jobs {len(jobs)}\n".encode())
        for job in jobs:
            operations = operations_of(job)
            file.write(f"{'background' if job.background else 'ranks'} {job.ranks}\n".encode())
            _write_rows(file, job.node_of_rank)
            key = operations.rank.astype(np.int64) * MAX_STREAMS + operations.stream
            streams, stream = np.unique(key, return_inverse=True)
            kind = operations.kind.astype(np.int64)
            phits = np.where(kind == SEND, phits_of(operations.size_bytes, units.phit_bytes), 0)
            length = operation_cycles(operations, stream, units) + phits
            kind[kind == SEND] = EAGER if operations.eager else SYNCHRONOUS
            file.write(f"streams {len(streams)}\noperations {len(operations)}\n".encode())
            _write_rows(file, kind, operations.rank, stream, length, np.maximum(operations.partner, 0))
            order = np.argsort(operations.needs, kind="stable")
            file.write(f"dependencies {len(order)}\n".encode())
            _write_rows(file, *(column[order] for column in (operations.needs, operations.dependent, operations.when)))


def _write_rows(file: Any, *columns: Array) -> None:
    import pyarrow as pa
    from pyarrow import csv

    def arrow(column: Array) -> pa.Array:
        # pa.array would import pandas, which is slower than the rest of a batch's start.
        data = pa.py_buffer(np.ascontiguousarray(column))
        return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, data])

    table = pa.table([arrow(column) for column in columns], names=[str(i) for i in range(len(columns))])
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))


def configuration(point: Point, machine: Machine, traffic: str, cycles: int) -> str:
    """Return the CAMINOS configuration of a point with this traffic, and at most so many cycles, as text."""
    units = clock(point, machine)
    links = ", ".join(
        f"LinkClass {{ delay: {delay}, frequency_divisor: {divisor} }}"
        for delay, divisor in zip(units.delays, units.divisors, strict=True)
    )
    return f"""Configuration {{
  random_seed: {point.seed},
  warmup: 0,
  measured: {cycles},
  topology: Graph {{ filename: "{MACHINE}", classes: {len(machine.classes)} }},
  traffic: {traffic},
  server_queue_size: 1,
  maximum_packet_size: {units.packet_phits},
  router: InputOutput {{
    virtual_channels: {channels(point, machine)},
    virtual_channel_policies: [{policies(point, machine, units.packet_phits)}],
    crossbar_frequency_divisor: {units.crossbar_divisor},
    buffer_size: {units.buffer_phits},
    output_buffer_size: {units.buffer_phits // 2},
    flit_size: {units.packet_phits},
    bubble: false,
    allow_request_busy_port: true,
    intransit_priority: false,
    allocator: Random,
  }},
  routing: {routes(point, machine)},
  link_classes: [{links}],
}}
"""


def _cycle_limit(units: Clock, machine: Machine, jobs: list[PlacedJob]) -> int:
    """Return cycles that suffice even if the messages crossed the slowest links one after the other.

    Each of them may wait for messages of all background ranks.
    """
    background = sum(job.ranks for job in jobs if job.background)
    jobs = [job for job in jobs if not job.background]
    phits = sum(int(phits_of(job.messages.size_bytes, units.phit_bytes).sum()) for job in jobs)
    messages = sum(len(job.messages) for job in jobs)
    computing_ns = sum(float(job.computing.total_ns_per_rank(job.ranks).sum()) for job in jobs if job.computing)
    computing_ns += sum(float(job.operations.duration_ns.sum()) for job in jobs if job.operations)
    # More than twice the hops of any route.
    hops = 2 * (sum(dimension.length for dimension in machine.dimensions) or machine.routers)
    on_links = phits * max(units.divisors) + messages * (hops + 2) * max(units.delays)
    return (1 + background) * on_links + round(computing_ns / units.cycle_ns) + 1000
