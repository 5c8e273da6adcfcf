"""Entries of a record: jobs with their bounds and mappings, links, link sharing."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fabricstudy.core.arrays import Bools, Floats, Int32s, Ints
from fabricstudy.core.store import Record
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.bound import (
    Bound,
    computing_bound_ns,
    load_time_ns,
    lower_bound,
)
from fabricstudy.structure.load import LinkLoads, has_loads, link_loads, link_support
from fabricstudy.structure.message_times import message_times_ns
from fabricstudy.structure.sharing import link_sharing
from fabricstudy.workload.mapping import Slots, TaskGraph
from fabricstudy.workload.mapping.bound import mapping_bound
from fabricstudy.workload.messages import PlacedJob, hop_bytes
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.phases import operations_of

from .buffers import buffer_columns
from .caveats import takes_other_paths
from .definitions import AnalysedMachine
from .outcome import JOB_LINKS, LINK_PACKETS, LINK_STALLS, LINKS, load_arrays
from .point import Point
from .registry import engine_of

MOST_MESSAGES = 2**22
"""Messages of a job up to which the bound is computed; a million messages cost a second."""


def describe_jobs(jobs: list[PlacedJob], point: Point, analysed: AnalysedMachine, record: Record) -> None:
    """Add to a record the entries on jobs and on the links that they share by their routes."""
    with_ports = _with_ports(analysed, point)
    record["jobs"] = [_job_record(index, job, point, with_ports) for index, job in enumerate(jobs)]
    record["sharing"] = sharing_by_routes(jobs, point, analysed.machine)


def lower_bound_ns(job: PlacedJob, point: Point, analysed: AnalysedMachine) -> float:
    """Return the lower bound of the runtime of a job: that of the links or its critical path, the higher one."""
    analysed = _with_ports(analysed, point)
    bound, _ = _bound(job, loads_by_routes(job, analysed.machine, point.routing), point, analysed)
    return max(bound.time_ns, _critical_path_ns(job, point, analysed.machine))


def _with_ports(analysed: AnalysedMachine, point: Point) -> AnalysedMachine:
    """Return the machine with one link a node, as fast as all of its ports together, for the lower bounds."""
    return replace(analysed, machine=_merged_ports(analysed.machine, point.network.ports_per_node))


@lru_cache(maxsize=1)
def _merged_ports(machine: Machine, ports: int) -> Machine:
    if ports == 1:
        return machine
    return replace(machine, host=replace(machine.host, bandwidth_Bps=ports * machine.host.bandwidth_Bps))


def _job_record(index: int, job: PlacedJob, point: Point, analysed: AnalysedMachine) -> Record:
    """Return size, lower bounds and mapping quality of a job."""
    machine = analysed.machine
    loads = loads_by_routes(job, machine, point.routing)
    bound = load_ns = critical_ns = None
    compute: Record = {}
    if not job.background:  # what a background job sends and computes depends on the others
        bound, load_ns = _bound(job, loads, point, analysed)
        critical_ns = _critical_path_ns(job, point, machine)
        computed_ns = _computed_ns_per_rank(job)
        if computed_ns is not None:
            compute["compute_ns"] = float(computed_ns.mean())
    return {
        "job": index,
        "ranks": job.ranks,
        "nodes": len(np.unique(job.node_of_rank)),
        "messages": len(job.messages),
        "bytes": job.bytes_sent,
        "bound_ns": bound and bound.time_ns,
        "bound_method": bound and bound.method,
        "expected_load_ns": load_ns,
        "phase_bound_ns": critical_ns if job.operations is None else None,
        "critical_path_ns": critical_ns,
        **compute,
        **buffer_columns(point, machine, engine_of(point.engine)),
        **mapping_record(job, point.jobs[index].pattern, machine, loads, analysed.cut_side),
    }


def _critical_path_ns(job: PlacedJob, point: Point, machine: Machine) -> float:
    network = point.network
    # The host link of the machine is as fast as all ports of a node together.
    message_Bps = machine.host.bandwidth_Bps * network.ports_of_message / network.ports_per_node
    limits = network.router_latency_ns, routing_of_engine(point), message_Bps
    return job_critical_path_ns(operations_of(job), job.node_of_rank, machine, *limits)


def routing_of_engine(point: Point) -> Routing | None:
    """Return the routing of a point; None if its engine may lead packets along other paths."""
    return None if takes_other_paths(engine_of(point.engine).caveats, point) else point.routing


def job_critical_path_ns(
    operations: Operations,
    node_of_rank: Int32s,
    machine: Machine,
    router_latency_ns: float,
    routing: Routing | None = None,
    host_Bps: float | None = None,
) -> float:
    """Return the critical path of operations of placed ranks without contention, in ns."""
    # Imports numba, which planning does not need.
    from fabricstudy.workload.critical_path import critical_path_ns

    sends = operations.sends
    ends = node_of_rank[operations.rank[sends]], node_of_rank[operations.rank[operations.partner[sends]]]
    size_bytes = operations.size_bytes[sends]
    leaving_ns, arrival_ns = message_times_ns(machine, *ends, size_bytes, router_latency_ns, routing, host_Bps)
    return critical_path_ns(operations, arrival_ns, leaving_ns)


def _computed_ns_per_rank(job: PlacedJob) -> Floats | None:
    """Return the computation time of each rank, float64 [ranks]; None for a job without computation."""
    if job.operations is not None:
        return job.operations.compute_ns_per_rank()
    return None if job.computing is None else job.computing.total_ns_per_rank(job.ranks)


def _bound(job: PlacedJob, loads: LinkLoads, point: Point, analysed: AnalysedMachine) -> tuple[Bound, float | None]:
    """Return the link bound of a job, and its time at the expected link loads (ns), unknown under adaptive routing."""
    machine, messages = analysed.machine, job.messages
    ends = job.node_of_rank[messages.source], job.node_of_rank[messages.destination]
    known = has_loads(machine, point.routing)
    load_bytes = loads.link_bytes if known else None
    bound = lower_bound(machine, *ends, messages.size_bytes, analysed.cut_side, routing_of_engine(point), load_bytes)
    load_ns = load_time_ns(machine, loads) if known else None
    if job.operations is not None:
        # A receive may precede all computation of its rank.
        computing_ns = 0.0, job.operations.busiest_stream_ns()
    elif job.computing is not None:
        computing_ns = job.computing.first_ns, float(job.computing.total_ns_per_rank(job.ranks).max())
    else:
        return bound, load_ns
    time_ns = computing_bound_ns(bound.time_ns, *computing_ns)
    method = bound.method if time_ns > computing_ns[1] else "computation"
    return Bound(time_ns, method), None if load_ns is None else computing_bound_ns(load_ns, *computing_ns)


def loads_by_routes(job: PlacedJob, machine: Machine, routing: Routing) -> LinkLoads:
    """Return the bytes on the links under a routing, or under minimal routing if it is adaptive."""
    oblivious = routing if has_loads(machine, routing) else Minimal()
    source, destination = job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination]
    return link_loads(machine, source, destination, job.messages.size_bytes, oblivious)


def mapping_record(job: PlacedJob, pattern: Pattern, machine: Machine, loads: LinkLoads, cut_side: Bools) -> Record:
    """Return the columns on the mapping of a job, without those that do not apply.

    Bounds over all mappings apply neither to traffic that depends on the placement nor to background jobs, whose
    traffic depends on the others.
    """
    record: Record = {"hop_bytes": hop_bytes(job, machine)}
    if job.mapping_start is not None:
        record["mapping_start"] = job.mapping_start
    if not len(job.messages):
        return record
    router = machine.node_router[job.node_of_rank]
    hops = hop_distances(machine).between(router[job.messages.source], router[job.messages.destination])
    record |= {
        "hops_max": int(hops.max()),
        "link_max_bytes": float(loads.link_bytes.max(initial=0.0)),
        "link_rms_bytes": float(np.sqrt(np.mean(loads.link_bytes**2))) if len(loads.link_bytes) else 0.0,
    }
    if job.background or pattern.follows_placement or len(job.messages) > MOST_MESSAGES:
        return record
    nodes = np.unique(job.node_of_rank)
    slots = Slots(machine, nodes, job.ranks // len(nodes))
    bound = mapping_bound(TaskGraph.of_messages(job.messages, job.ranks), slots, cut_side)
    return record | {
        "hop_bytes_bound": bound.hop_bytes,
        "hop_bound_method": bound.method,
        "bound_any_mapping_ns": bound.time_ns,
    }


def describe_links(folder: Path, machine: Machine, record: Record) -> None:
    """Add to a record the entries on links, from the arrays in `folder`."""
    arrays = load_arrays(folder)
    link_bytes, job_links = arrays[LINKS], arrays[JOB_LINKS]
    if link_bytes is not None:
        record["links"] = class_loads(machine, link_bytes, arrays[LINK_PACKETS], arrays[LINK_STALLS])
    if job_links is not None:
        used = np.unpackbits(job_links, axis=1, count=machine.links).astype(bool)
        record["sharing"]["simulated"] = sharing_record(used)


def class_loads(
    machine: Machine, link_bytes: Floats, link_packets: Ints | None, link_stall_ns: Floats | None
) -> list[Record]:
    """Return the loads of each link class, given arrays [links]."""
    rows = []
    for index, link_class in enumerate(machine.classes):
        of_class = machine.link_class == index
        loads = link_bytes[of_class]
        if len(loads):
            row = {
                "class": link_class.name,
                "links": len(loads),
                "used": int(np.count_nonzero(loads)),
                "load_mean_bytes": float(loads.mean()),
                "load_max_bytes": float(loads.max()),
                "busy_max_ns": float((loads / machine.link_capacity_Bps[of_class]).max() * 1e9),
            }
            if link_packets is not None:
                row["packets"] = int(link_packets[of_class].sum())
            if link_stall_ns is not None:
                row["stall_mean_ns"] = float(link_stall_ns[of_class].mean())
                row["stall_max_ns"] = float(link_stall_ns[of_class].max())
            rows.append(row)
    return rows


def sharing_by_routes(jobs: list[PlacedJob], point: Point, machine: Machine) -> Record:
    """Return the link sharing of the jobs by their routes alone; nothing unless two communicate."""
    if sum(len(job.messages) > 0 for job in jobs) < 2:
        return {}
    ends = [(job.node_of_rank[job.messages.source], job.node_of_rank[job.messages.destination]) for job in jobs]
    return {"routes": sharing_record(np.array([link_support(machine, *pairs, point.routing) for pairs in ends]))}


def sharing_record(used: Bools) -> Record:
    """Return the link sharing of jobs, given which job used which link, [jobs, links]."""
    sharing = link_sharing(used)
    return {"mls": sharing.mls, "tls": sharing.tls, "used": sharing.used.tolist(), "shared": sharing.shared.tolist()}
