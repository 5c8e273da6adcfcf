"""A job in SST: its messages as traces of Ember's motif SIRIUSTrace, or a native motif of Ember.

A trace is one binary file a rank.

In each phase a rank posts its receives, sends one message after the other, and waits for its receives. Sends are
blocking; the non-blocking ones of SIRIUSTrace do not work in SST (2026). A rank computes where a call starts later than
any call before it has ended: calls end at 0, and the start of a call is the time that its rank computes before it.
"""

from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.core.arrays import Int32s, Integers, Ints, number_within
from fabricstudy.workload.job import Job
from fabricstudy.workload.messages import PlacedJob, WorkloadError
from fabricstudy.workload.operations import CALC, RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.all_to_all import AllToAll
from fabricstudy.workload.pattern.stencil import Stencil
from fabricstudy.workload.sequences import exact_sequences
from fabricstudy.workload.sizes import MessageSizes

from ..failures import Unsupported
from ..point import Point
from ..traffic_files import whole_times

MAX_MESSAGE_BYTES = 2**32 - 1

_INIT, _FINALIZE, _SEND, _RECEIVE, _WAIT = 1, 2, 4, 17, 129
_CHARACTERS, _WORLD = 4, 0
_TAGS = 2**30
"""Phases are distinguished by the tag; the largest number of 32 bits would mean any."""

_CALL = [("call", "<u4"), ("start", "<f8")]
_DATA = [("buffer", "<u8"), ("count", "<u4"), ("type", "<u4"), ("peer", "<i4"), ("tag", "<i4"), ("world", "<u4")]
_END = [("end", "<f8"), ("result", "<i4")]
_SEND_CALL = np.dtype([*_CALL, *_DATA, *_END])
_RECEIVE_CALL = np.dtype([*_CALL, *_DATA, ("request", "<u8"), *_END])
_EMPTY_CALL = np.dtype([*_CALL, *_END])
_WAIT_CALL = np.dtype([*_CALL, ("count", "<u4")])
_WAIT_END = np.dtype(_END)


@dataclass(frozen=True, eq=False)
class RankLayout:
    """Numbering of a job's ranks in SST: `cores` on each node, in the order of the nodes."""

    nodes: Ints
    """Nodes of the job, ascending."""
    cores: int
    sst_rank_of_rank: Ints
    """SST's number of each rank, [ranks]."""

    @property
    def seats(self) -> int:
        """Return the number of SST's ranks; some are idle where a node has fewer ranks than others."""
        return len(self.nodes) * self.cores


def rank_layout(job: PlacedJob) -> RankLayout:
    """Return SST's numbering of a job's ranks.

    Examples
    --------
    >>> from fabricstudy.workload.messages import Messages
    >>> nothing = Messages(*(np.zeros(0, dtype=np.int32) for _ in range(3)), np.zeros(0, dtype=np.int64))
    >>> rank_layout(PlacedJob("app", np.array([7, 3, 7, 3], dtype=np.int32), nothing)).sst_rank_of_rank.tolist()
    [2, 0, 3, 1]
    """
    nodes, node, ranks = np.unique(job.node_of_rank, return_inverse=True, return_counts=True)
    cores = int(ranks.max(initial=1))
    return RankLayout(nodes.astype(np.int64), cores, node * cores + number_within(node))


def write_traces(prefix: Path, job: PlacedJob, seats: RankLayout, host_Bps: float) -> None:
    """Write one trace per rank, in an existing folder: ``<prefix>.<rank>``, by SST's numbers.

    A rank computes before the first call of a phase, and before it waits for the messages of the phase; in whole ns.
    Raises `WorkloadError` if a message is too long, or a rank computes while it sends messages of its last phase,
    without waiting for any.
    """
    messages = job.messages
    longest = int(messages.size_bytes.max(initial=0))
    if longest > MAX_MESSAGE_BYTES:  # forecasts have the mean of some patterns only
        raise WorkloadError(
            f"SST's traces hold messages up to {MAX_MESSAGE_BYTES:,} B, not {longest:,} B; send several"
        )
    if job.operations is not None:
        _write_operations(prefix, job, job.operations, seats, host_Bps)
        return
    source, destination = seats.sst_rank_of_rank[messages.source], seats.sst_rank_of_rank[messages.destination]
    tag = messages.phase % _TAGS
    sends = _calls(_SEND_CALL, _SEND, messages.size_bytes, destination, tag)
    receives = _calls(_RECEIVE_CALL, _RECEIVE, messages.size_bytes, source, tag)
    receives["request"] = np.arange(1, len(messages) + 1)
    # Rows of a rank and phase keep the send order, in which messages between two ranks are matched.
    sent, received = (_by_rank_and_phase(rank, messages.phase, seats.seats) for rank in (source, destination))
    pauses = _pauses(job, seats)
    for rank in range(seats.seats):
        with prefix.with_name(f"{prefix.name}.{rank}").open("wb") as file:
            file.write(_empty_call(_INIT))
            pause_ns = 0.0
            for phase in sorted(sent[rank].keys() | received[rank].keys()):
                before_ns, overlapped_ns = pauses.get((rank, phase), (0.0, 0.0))
                posted, to_send = receives[received[rank].get(phase, [])], sends[sent[rank].get(phase, [])]
                first = posted if len(posted) else to_send
                first["start"][0] = _start_s(pause_ns + before_ns)
                file.write(posted.tobytes())
                file.write(to_send.tobytes())
                # A phase without receives has no wait: the pause is added to the next phase.
                pause_ns = overlapped_ns
                if len(posted):
                    file.write(_wait(posted["request"], _start_s(pause_ns)))
                    pause_ns = 0.0
            if pause_ns:
                raise WorkloadError(
                    f"a rank of job {job.name} computes while it sends its last messages and waits for none, which "
                    "SST's traces cannot express; leave overlap out, or use the engine packet"
                )
            file.write(_empty_call(_FINALIZE))


def _write_operations(prefix: Path, job: PlacedJob, operations: Operations, seats: RankLayout, host_Bps: float) -> None:
    """Write the traces of a job of operations: the sequence of each rank; messages are distinguished by the tag.

    SST's sends end at once. A rank that waits for one pauses for as long as its bytes need on the link of its node at
    least: behind those of its earlier sends since it last waited for a message. Pauses are rounded up to whole ns.
    """
    sends, nodes = operations.sends, job.node_of_rank
    receives = operations.partner[sends]
    size_bytes, tag = operations.size_bytes[sends], np.arange(len(sends)) % _TAGS
    source, destination = (seats.sst_rank_of_rank[operations.rank[ends]] for ends in (sends, receives))
    rows = {SEND: _calls(_SEND_CALL, _SEND, size_bytes, destination, tag)}
    rows[RECEIVE] = _calls(_RECEIVE_CALL, _RECEIVE, size_bytes, source, tag)
    rows[RECEIVE]["request"] = np.arange(1, len(sends) + 1)
    number = np.empty(len(operations), dtype=np.int64)
    number[sends] = number[receives] = np.arange(len(sends))
    computes_ns = whole_times(operations.duration_ns)
    paths = [prefix.with_name(f"{prefix.name}.{seat}") for seat in range(seats.seats)]
    for seat in np.setdiff1d(np.arange(seats.seats), seats.sst_rank_of_rank):
        paths[seat].write_bytes(_empty_call(_INIT) + _empty_call(_FINALIZE))
    for rank, steps in enumerate(exact_sequences(operations)):
        with paths[seats.sst_rank_of_rank[rank]].open("wb") as file:
            file.write(_empty_call(_INIT))
            pause_ns = 0.0
            # Since the last message that it waited for: its clock, and when its sends have left the node.
            now_ns, free_ns, left_ns = 0.0, 0.0, dict[int, float]()
            for waits, operation in steps:
                if operation >= 0:
                    rest_ns = max(0.0, max((left_ns.get(one, 0.0) for one in waits), default=0.0) - now_ns)
                    now_ns, pause_ns = now_ns + rest_ns, pause_ns + rest_ns
                requests = rows[RECEIVE]["request"][number[[one for one in waits if operations.kind[one] == RECEIVE]]]
                whole_ns = ceil(round(pause_ns, 6))
                if len(requests):
                    file.write(_wait(requests, _start_s(whole_ns)))
                    pause_ns -= whole_ns
                    whole_ns, now_ns, free_ns = 0, 0.0, 0.0
                    left_ns.clear()
                if operation < 0:
                    file.write(_pause_at_end(int(seats.sst_rank_of_rank[rank]), whole_ns) if whole_ns else b"")
                    break
                kind = int(operations.kind[operation])
                if kind == CALC:
                    pause_ns += computes_ns[operation]
                    now_ns += computes_ns[operation]
                    continue
                if kind == SEND and nodes[rank] != nodes[operations.rank[operations.partner[operation]]]:
                    free_ns = max(now_ns, free_ns) + operations.size_bytes[operation] / host_Bps * 1e9
                    left_ns[operation] = free_ns
                call = rows[kind][number[operation]]
                call["start"] = _start_s(whole_ns)
                pause_ns -= whole_ns
                file.write(call.tobytes())
            file.write(_empty_call(_FINALIZE))


def _pauses(job: PlacedJob, seats: RankLayout) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the time (ns) that each of SST's ranks computes before and during the messages of a phase."""
    if job.computing is None:
        return {}
    phase, rank, *parts_ns = job.computing.columns
    keys = zip(seats.sst_rank_of_rank[rank].tolist(), phase.tolist(), strict=True)
    return dict(zip(keys, zip(*(whole_times(part).tolist() for part in parts_ns), strict=True), strict=True))


def _start_s(pause_ns: float) -> float:
    """Return the start of a call after a pause: half a ns later, since SST truncates to whole ns."""
    return (pause_ns + 0.5) * 1e-9 if pause_ns else 0.0


def _calls(kind: np.dtype[np.void], call: int, size: Ints, peer: Ints, tag: Integers) -> npt.NDArray[np.void]:
    rows = np.zeros(len(size), dtype=kind)
    rows["call"], rows["type"], rows["world"] = call, _CHARACTERS, _WORLD
    rows["count"], rows["peer"], rows["tag"] = size, peer, tag
    return rows


def _by_rank_and_phase(rank: Ints, phase: Int32s, ranks: int) -> list[dict[int, Ints]]:
    """Return the rows of each rank, by phase."""
    rows_of: list[dict[int, Ints]] = [{} for _ in range(ranks)]
    order = np.lexsort((phase, rank)).astype(np.int64)
    if len(order):
        cuts = np.flatnonzero(np.diff(rank[order]) | np.diff(phase[order])) + 1
        for rows in np.split(order, cuts):
            rows_of[int(rank[rows[0]])][int(phase[rows[0]])] = rows
    return rows_of


def _empty_call(call: int) -> bytes:
    row = np.zeros((), dtype=_EMPTY_CALL)
    row["call"] = call
    return row.tobytes()


def _pause_at_end(seat: int, pause_ns: float) -> bytes:
    """Return calls that end a rank after a pause: it sends itself a byte, since only a call lets time pass."""
    peer, size = np.array([seat]), np.ones(1, dtype=np.int64)
    receive, send = (
        _calls(*call, size, peer, np.array([_TAGS])) for call in ((_RECEIVE_CALL, _RECEIVE), (_SEND_CALL, _SEND))
    )
    receive["request"], send["start"] = 2**62, _start_s(pause_ns)
    return receive.tobytes() + send.tobytes() + _wait(receive["request"], 0.0)


def _wait(requests: npt.NDArray[np.uint64], start_s: float) -> bytes:
    row = np.zeros((), dtype=_WAIT_CALL)
    row["call"], row["start"], row["count"] = _WAIT, start_s, len(requests)
    return row.tobytes() + np.ascontiguousarray(requests).tobytes() + np.zeros((), dtype=_WAIT_END).tobytes()


def check_native(point: Point) -> None:
    """Raise `Unsupported` for patterns without motif, background jobs, and jobs that compute."""
    for job in point.jobs:
        if not job.pattern.is_idle:
            native_motif(job, job.rank_count(point.machine.nodes, point.machine.cores_per_node))
    if any(job.background for job in point.jobs):
        raise Unsupported("Ember's own motifs cannot be repeated in the background; leave engine.motifs out")
    if any(job.compute is not None for job in point.jobs):
        raise Unsupported("Ember's own motifs do not compute; leave engine.motifs out, or compute")
    if any(isinstance(getattr(job.pattern, "message_bytes", 0), MessageSizes) for job in point.jobs):
        raise Unsupported("Ember's own motifs have messages of one size; leave engine.motifs out")


def native_motif(job: Job, ranks: int) -> str:
    """Return the motif of a job's pattern; raise `Unsupported` if there is none.

    Ember's Alltoall sends to one rank after the other, in whatever order the study asks for; its Halo3D finishes one
    dimension before the next.

    Examples
    --------
    >>> motif = native_motif(Job.model_validate({"share": 1, "pattern": {"kind": "stencil", "message": "10 kB"}}), 24)
    >>> motif.startswith("Halo3D pex=2 pey=3 pez=4 nx=1 ny=1 nz=1 fields_per_cell=10000 datatype_width=1")
    True
    """
    pattern = job.pattern
    if isinstance(pattern, AllToAll) and pattern.sizes is None:
        return f"Alltoall bytes={int(pattern.message_bytes)} iterations={pattern.iterations} compute=0"
    if isinstance(pattern, Stencil) and not pattern.periodic and len(pattern.grid(ranks)) <= 3:
        # Ember's first dimension varies fastest, as the last one of the pattern does.
        z, y, x = (1, 1, 1, *pattern.grid(ranks))[-3:]
        return (
            f"Halo3D pex={x} pey={y} pez={z} nx=1 ny=1 nz=1 fields_per_cell={int(pattern.message_bytes)} "
            f"datatype_width=1 computetime=0 iterations={pattern.iterations} doreduce=0"
        )
    what = f"{pattern.kind} with these settings" if isinstance(pattern, Stencil | AllToAll) else pattern.kind
    raise Unsupported(f"Ember has no motif for {what}; leave engine.motifs out to run it from the message list")


def map_file(number: int, seats: RankLayout) -> str:
    """Return SST's rank of each task of job `number`, in the format of Ember's CustomMap."""
    tasks = "\n".join(map(str, seats.sst_rank_of_rank.tolist()))
    return f"[JOB {number} START]\n{tasks}\n[JOB {number} END]\n"
