"""The files that CODES reads: configuration, wiring or tables, jobs, allocation, traces."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabricstudy.engine.codes.settings import CodesSettings
from fabricstudy.machine.graph import Machine
from fabricstudy.workload.messages import Messages, PlacedJob

from ..point import Point
from .models import model_of, network_of
from .network import CodesNetwork, HopList, IntArray
from .packet import events_per_object
from .trace import traces

CONFIGURATION, JOBS, ALLOCATION, TRACES, OUTPUTS = "net.yaml", "jobs.conf", "alloc.conf", "traces", "lpio"

PHANTOM = "0 phantom 0 0"
"""A job that never ends: where all jobs have ended, CODES calls what only one of its models has, and crashes."""

# What CODES adds to a message, from its source: 2500 and 1000 ns, and 0.55 ns a byte for a copy.
SOFTWARE_NS, COPY_NS_PER_BYTE = 3500.0, 0.55

LARGEST_COPY_NS = 2000.0
"""What the copy of a piece of a message may take more than that of the smallest message of the run."""

HOPS = "hops"

MAX_LISTED_PACKETS = 2_000_000
"""A list of hops takes about 0.2 kB each on the disk while the point is simulated, so 1.5 GB at most."""

EVENT_BYTES = 736


@dataclass(frozen=True, eq=False)
class TracedJob:
    """A job that sends something between nodes, as CODES gets it.

    Parameters
    ----------
    number : int
        Its number among the jobs of the point.
    place_of_rank : int array [ranks]
        CODES' number of the place where each rank runs.
    messages : Messages
        The messages in its traces.
    """

    number: int
    place_of_rank: IntArray
    messages: Messages


def traced_jobs(machine: Machine, network: CodesNetwork, jobs: list[PlacedJob]) -> list[TracedJob]:
    """Return the jobs that CODES has to simulate: those that send something between nodes."""
    places = _places(machine, network, jobs)
    smallest = _smallest_between_nodes(jobs)
    traced = []
    for number, (job, place) in enumerate(zip(jobs, places, strict=True)):
        messages = _in_pieces(_traced(job, smallest), smallest, network.packet)
        if len(messages):
            traced.append(TracedJob(number, place, messages))
    return traced


def lasting_ns(jobs: list[PlacedJob]) -> float | None:
    """How long the jobs in the background last, which is the end of the run; None if there are none."""
    return max((job.background_duration_ns for job in jobs if job.background_duration_ns is not None), default=None)


def _in_pieces(messages: Messages, smallest: int, packet: int) -> Messages:
    """Cut messages much larger than the smallest of the run into pieces of whole packets.

    The copy of the smallest message is all that can be taken away from what CODES adds to each. A piece is never
    smaller than that message: an end that would be goes with the piece before it.
    """
    piece = max(1, int((smallest + LARGEST_COPY_NS / COPY_NS_PER_BYTE) / packet)) * packet
    size = messages.size_bytes
    if piece < smallest or size.max(initial=0) <= smallest + LARGEST_COPY_NS / COPY_NS_PER_BYTE:
        return messages
    pieces = np.maximum(1, size // piece)
    pieces += (size > piece) & (size % piece >= smallest)
    row = np.repeat(np.arange(len(size)), pieces)
    last = np.cumsum(pieces) - 1
    cut = np.full(len(row), piece, dtype=np.int64)
    cut[last] = size - (pieces - 1) * piece
    return Messages(messages.phase[row], messages.source[row], messages.destination[row], cut)


def _places(machine: Machine, network: CodesNetwork, jobs: list[PlacedJob]) -> list[IntArray]:
    """CODES' number of the place of each rank: as many places a node as the largest number of ranks of a node.

    Places of a repetition belong to its nodes in turn.
    """
    node = np.concatenate([job.node_of_rank for job in jobs])
    order = np.argsort(node, kind="stable")
    seat = np.empty(len(node), dtype=np.int64)
    seat[order] = np.arange(len(node)) - np.searchsorted(node[order], node[order])
    per_node = ranks_per_node(machine, jobs)
    repetition, terminal = np.divmod(node, network.terminals)
    place = repetition * network.terminals * per_node + seat * network.terminals + terminal
    return np.split(place, np.cumsum([job.ranks for job in jobs])[:-1])


def ranks_per_node(machine: Machine, jobs: list[PlacedJob]) -> int:
    """Ranks on the node with most ranks."""
    return int(np.bincount(np.concatenate([job.node_of_rank for job in jobs]), minlength=machine.nodes).max())


def _smallest_between_nodes(jobs: list[PlacedJob]) -> int:
    return min((int(job.messages.size_bytes[job.is_inter_node].min(initial=2**31)) for job in jobs), default=1)


def _traced(job: PlacedJob, smallest: int) -> Messages:
    """The messages of a job that have an effect.

    One within a node takes no time. If there are several phases it keeps its ranks in step, and stands as one of the
    smallest size, which CODES copies at the bandwidth of a node.
    """
    messages, between = job.messages, job.is_inter_node
    if not between.any() or messages.phase.min() == messages.phase.max():
        keep, size = between, messages.size_bytes
    else:
        keep, size = np.ones_like(between), np.where(between, messages.size_bytes, smallest)
    return Messages(messages.phase[keep], messages.source[keep], messages.destination[keep], size[keep])


def write_files(folder: Path, point: Point, machine: Machine, jobs: list[PlacedJob]) -> None:
    """Write all that CODES reads; jobs that are run alone as well get a folder each, which refers to these."""
    network = network_of(point, machine)
    traced = traced_jobs(machine, network, jobs)
    hops = network.hops if lists_hops(point, network, jobs, traced) else None
    model = model_of(point)
    assert model is not None  # there is a network
    events = events_per_object(point, model.burst_bytes(point), network.packet)
    ranks, injected = ranks_per_node(machine, jobs), point.network.injected_messages
    (folder / CONFIGURATION).write_text(configuration(network, ranks, traced, events, hops, injected))
    for name, content in network.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / TRACES).mkdir()
    for job in traced:
        # Ranks of a node share its interface. One after the other needs no waiting: the scheduler sees to it.
        under_way = None if injected == 1 else max(1, injected // ranks)
        computing = jobs[job.number].computing
        for rank, data in enumerate(traces(len(job.place_of_rank), job.messages, under_way, computing)):
            (folder / f"{_prefix(job)}{rank:04}.bin").write_bytes(data)
    shared = sorted(path.name for path in folder.iterdir())
    _write_jobs(folder, traced)
    for job in jobs_to_isolate(point, network, jobs, traced):
        run_folder = folder / isolated_job_folder(job)
        run_folder.mkdir()
        for name in shared:
            (run_folder / name).symlink_to(Path("..") / name)
        _write_jobs(run_folder, [job])


def _prefix(job: TracedJob) -> str:
    return f"{TRACES}/{job.number}-"


def _write_jobs(folder: Path, traced: list[TracedJob]) -> None:
    lines = [f"{len(job.place_of_rank)} {_prefix(job)} 0 0" for job in traced]
    (folder / JOBS).write_text("\n".join([*lines, PHANTOM]) + "\n")
    (folder / ALLOCATION).write_text("".join(" ".join(map(str, job.place_of_rank.tolist())) + "\n" for job in traced))


def jobs_to_isolate(
    point: Point, network: CodesNetwork, jobs: list[PlacedJob], traced: list[TracedJob]
) -> list[TracedJob]:
    """Return the jobs that are run alone as well, to tell the links they use: all, where routes are fixed, or none."""
    able = network.fixed_routes and network.traffic is not None and network.hops is None
    return traced if able and _links_by_job(point, jobs, traced) else []


def lists_hops(point: Point, network: CodesNetwork, jobs: list[PlacedJob], traced: list[TracedJob]) -> bool:
    """Return whether a list of the hops of all packets is written, to tell the links that each job uses."""
    packets = sum(int((-(-job.messages.size_bytes // network.packet)).sum()) for job in traced)
    able = network.hops is not None and packets <= MAX_LISTED_PACKETS
    return able and _links_by_job(point, jobs, traced)


def _links_by_job(point: Point, jobs: list[PlacedJob], traced: list[TracedJob]) -> bool:
    """Return whether it is asked which links each job uses: several send something, and no two share a node."""
    asked = isinstance(point.engine, CodesSettings) and point.engine.job_links
    nodes = np.concatenate([np.unique(jobs[job.number].node_of_rank) for job in traced])
    # Where a background is cut off, what jobs do alone is not what they do together.
    asked &= lasting_ns(jobs) is None
    return asked and len(traced) > 1 and len(np.unique(nodes)) == len(nodes)


def isolated_job_folder(job: TracedJob) -> str:
    """Return the folder in which a job is run alone."""
    return f"alone-{job.number}"


def configuration(
    network: CodesNetwork,
    ranks: int,
    traced: list[TracedJob],
    events: int,
    hops: HopList | None = None,
    injected: int = 16,
) -> str:
    """Give CODES' configuration, as text."""
    smallest = min(int(job.messages.size_bytes.min()) for job in traced)
    parameters = {
        "modelnet_order": list(network.methods),
        "packet_size": network.packet,
        "chunk_size": network.packet,
        "message_size": EVENT_BYTES,
        "pe_mem_factor": events,
        # Of the messages that a node has been given: one after the other, or packet by packet in turn.
        "modelnet_scheduler": "fcfs" if injected == 1 else "round-robin",
        # Messages within a node are copied at once, whatever their number.
        "node_eager_limit": 2**31 - 1,
        "node_copy_queues": 1,
        "num_injection_queues": 1,
        "nic_seq_delay": 0,
        # Takes away what CODES adds to each message, but the copy of larger ones than the smallest.
        "self_msg_overhead": -(SOFTWARE_NS + COPY_NS_PER_BYTE * smallest),
    } | network.parameters
    if hops is not None:
        parameters[hops.key] = HOPS
    objects = {"nw-lp": network.terminals * ranks, network.terminal: network.terminals} | network.others
    return "\n".join(
        [
            "schema_version: 1",
            "topology:",
            "  format: groups",
            "  groups:",
            "    MODELNET_GRP:",
            f"      repetitions: {network.repetitions}",
            "      lps:",
            *(f"        {name}: {count}" for name, count in objects.items()),
            "  params:",
            *(f"    {name}: {_written(value)}" for name, value in parameters.items()),
            "",
        ]
    )


def _written(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
