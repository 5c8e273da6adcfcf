"""Quality of a job's mapping, and its lower bound over all mappings."""

import numpy as np

from fabricstudy.core.arrays import Bools
from fabricstudy.core.store import Record
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.graph import Machine
from fabricstudy.routing.base import Routing
from fabricstudy.routing.minimal import Minimal
from fabricstudy.structure.load import LinkLoads, has_loads, link_loads
from fabricstudy.workload.mapping import Slots, TaskGraph
from fabricstudy.workload.mapping.bound import mapping_bound
from fabricstudy.workload.messages import PlacedJob, hop_bytes
from fabricstudy.workload.pattern.base import Pattern

MOST_MESSAGES = 2**22
"""Messages of a job up to which the bound is computed; a million messages cost a second."""


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
