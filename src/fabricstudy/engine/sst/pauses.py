"""What ranks compute, as times in their traces.

A rank of SST's computes where a call starts later than any call before it has ended. `write_traces` writes 0 for all
of these times, and ends stay so: the start of a call is how long its rank computes before it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from fabricstudy.workload.messages import Computing, PlacedJob, WorkloadError

from ..contract import Unsupported
from ..point import Point
from .system import settings
from .traces import _EMPTY_CALL, _RECEIVE_CALL, _SEND_CALL, _WAIT_CALL, _WAIT_END, Seats

Ints = npt.NDArray[np.int64]

_NUMBER_BYTES, _TIME_BYTES, _REQUEST_BYTES = 4, 8, 8
_NS = 1e-9


def check_computing(point: Point) -> None:
    """Refuse jobs that compute where SST does other things than our traces say.

    Raises
    ------
    Unsupported
        With the reason.
    """
    computing = [job.compute for job in point.jobs if job.compute is not None]
    if computing and settings(point).motifs == "native":
        raise Unsupported("Ember's own motifs do not compute; leave engine.motifs out, or compute")
    if any(compute.overlap for compute in computing) and settings(point).mpi != "none":
        raise Unsupported(
            "with engine.mpi: default a rank cannot compute before its sends have been taken; leave overlap or mpi out"
        )


def write_pauses(prefix: Path, job: PlacedJob, computing: Computing, seats: Seats) -> None:
    """Let ranks compute before the first call of a phase, and before they wait for its messages; in whole ns.

    Parameters
    ----------
    prefix : Path
        Of the traces, one a rank: ``<prefix>.<rank>``, by SST's numbers.
    """
    pause_ns = np.rint(np.concatenate([computing.before_ns, computing.beside_ns]))
    place = np.concatenate(_places(job, computing, seats))
    seat = np.tile(seats.seat_of_rank[computing.rank], 2)
    order = np.argsort(seat, kind="stable")
    order = order[pause_ns[order] > 0]
    cuts = np.flatnonzero(np.diff(seat[order])) + 1
    for rows in np.split(order, cuts) if len(order) else []:
        # Where a phase only sends there is nothing to wait for, and the next one begins at the same call.
        calls, of_call = np.unique(place[rows], return_inverse=True)
        path = prefix.with_name(f"{prefix.name}.{seat[rows[0]]}")
        trace = np.fromfile(path, dtype=np.uint8)
        if calls[-1] == len(trace) - _EMPTY_CALL.itemsize:
            raise WorkloadError(
                f"a rank of job {job.name} computes beside messages that it sends last and does not wait for, which "
                "SST's traces cannot say; leave overlap out, or take the engine caminos"
            )
        # Half a ns more, since SST cuts off what is behind the point.
        start_s = (np.bincount(of_call, pause_ns[rows]) + 0.5) * _NS
        trace[calls[:, None] + _NUMBER_BYTES + np.arange(_TIME_BYTES)] = (
            start_s.astype("<f8").view(np.uint8).reshape(-1, _TIME_BYTES)
        )
        trace.tofile(path)


def _places(job: PlacedJob, computing: Computing, seats: Seats) -> tuple[Ints, Ints]:
    """Where in the trace of its rank each phase begins before which it computes, and where it waits, int64 [rows]."""
    messages = job.messages
    phases = int(messages.phase.max(initial=-1)) + 1
    seat = seats.seat_of_rank[np.concatenate([messages.source, messages.destination])]
    keys, place = np.unique(seat * phases + np.tile(messages.phase, 2), return_inverse=True)
    sends, receives = (np.bincount(part, minlength=len(keys)) for part in np.split(place, 2))
    posts = sends * _SEND_CALL.itemsize + receives * _RECEIVE_CALL.itemsize
    waits = (receives > 0) * (_WAIT_CALL.itemsize + _WAIT_END.itemsize) + receives * _REQUEST_BYTES
    start = np.cumsum(posts + waits) - posts - waits
    first_of_seat = np.searchsorted(keys, keys // phases * phases)
    start += _EMPTY_CALL.itemsize - start[first_of_seat]
    rows = np.searchsorted(keys, seats.seat_of_rank[computing.rank] * phases + computing.phase)
    return start[rows], (start + posts)[rows]
