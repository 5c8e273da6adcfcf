"""When operations start and end without contention: cycles, and the critical path."""

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Floats, Ints

from .operations import ENDED, Operations


def critical_path_ns(operations: Operations, message_ns: Floats, leaving_ns: Floats) -> float:
    """Return the time of the longest path through operations, in ns: a lower bound of their runtime.

    `message_ns` are times from the start of a send to the arrival of its message, `leaving_ns` those to the end of an
    eager send; float64 [messages], in the order of `Operations.sends`. A stream computes one thing at a time, so the
    total of the busiest stream is a bound, too.
    """
    arrival_ns, own_ns = np.zeros(len(operations)), operations.duration_ns.copy()
    sends = operations.sends
    arrival_ns[sends] = message_ns
    own_ns[sends] = leaving_ns if operations.eager else message_ns
    end_ns, _ = _walk(operations, own_ns, arrival_ns)
    return max(float(end_ns.max(initial=0.0)), operations.busiest_stream_ns())


def find_cycle(operations: Operations) -> list[int]:
    """Return operations that wait for each other, each for the next one and the last for the first; none if none do."""
    nothing = np.zeros(len(operations))
    _, unmet = _walk(operations, nothing, nothing)
    never = unmet.reshape(-1, 2) > 0
    if not never.any():
        return []
    order = np.argsort(operations.dependent, kind="stable")
    first = np.searchsorted(operations.dependent[order], np.arange(len(operations) + 1))
    at, path = int(np.argmax(never[:, 1])), list[int]()
    position: dict[int, int] = {}
    while at not in position:
        position[at] = len(path)
        path.append(at)
        waits = order[first[at] : first[at + 1]]
        needed = operations.needs[waits]
        missing = needed[np.where(operations.when[waits] == ENDED, never[needed, 1], never[needed, 0])]
        # What has started and does not end is a receive.
        at = int(missing[0]) if len(missing) else int(operations.partner[at])
    return path[position[at] :]


def _walk(operations: Operations, own_ns: Floats, arrival_ns: Floats) -> tuple[Floats, Ints]:
    """Return the end of each operation (ns), and of its start and its end the number of things that they wait for."""
    from scipy.sparse import csr_array

    # Event 2 i is the start of operation i, 2 i + 1 its end.
    start, sends = 2 * np.arange(len(operations)), operations.sends
    events = np.concatenate([start, 2 * sends, 2 * operations.needs + (operations.when == ENDED)])
    later = np.concatenate([start + 1, 2 * operations.partner[sends] + 1, 2 * operations.dependent])
    lasts_ns = np.concatenate([own_ns, arrival_ns[sends], np.zeros(len(operations.needs))])
    edges = csr_array((lasts_ns, (events, later)), (2 * len(operations),) * 2)
    time_ns, unmet = _longest_paths(edges.indptr.astype(np.int64), edges.indices.astype(np.int64), edges.data)
    return time_ns[1::2], unmet


@njit(cache=True)
def _longest_paths(first: Ints, later: Ints, lasts_ns: Floats) -> tuple[Floats, Ints]:
    """Return when each event happens (ns), and how many of those that it waits for do not.

    The edges of event i, to later ones, are ``first[i]`` to ``first[i + 1]``.
    """
    time_ns, unmet = np.zeros(len(first) - 1), np.zeros(len(first) - 1, dtype=np.int64)
    for event in later:
        unmet[event] += 1
    queue = np.empty(len(unmet), dtype=np.int64)
    begin, end = 0, 0
    for event in range(len(unmet)):
        if unmet[event] == 0:
            queue[end] = event
            end += 1
    while begin < end:
        event = queue[begin]
        begin += 1
        for edge in range(first[event], first[event + 1]):
            waiting = later[edge]
            time_ns[waiting] = max(time_ns[waiting], time_ns[event] + lasts_ns[edge])
            unmet[waiting] -= 1
            if unmet[waiting] == 0:
                queue[end] = waiting
                end += 1
    return time_ns, unmet
