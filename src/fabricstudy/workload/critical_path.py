"""When operations start and end without contention: cycles, and the critical path."""

import numpy as np
from numba import njit

from fabricstudy.core.arrays import Floats, Integers, Ints

from .operations import ENDED, RECEIVE, SEND, STARTED, Operations


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
    places: dict[int, int] = {}
    while at not in places:
        places[at] = len(path)
        path.append(at)
        waits = order[first[at] : first[at + 1]]
        needed = operations.needs[waits]
        missing = needed[np.where(operations.when[waits] == ENDED, never[needed, 1], never[needed, 0])]
        # What has started and does not end is a receive.
        at = int(missing[0]) if len(missing) else int(operations.partner[at])
    return path[places[at] :]


def _walk(operations: Operations, own_ns: Floats, arrival_ns: Floats) -> tuple[Floats, Ints]:
    order = np.argsort(operations.needs, kind="stable")
    first = np.searchsorted(operations.needs[order], np.arange(len(operations) + 1))
    columns = operations.kind.astype(np.int8), operations.partner, first
    return _walk_kernel(
        *columns, operations.dependent[order], operations.when[order].astype(np.int8), own_ns, arrival_ns
    )


@njit(cache=True)
def _walk_kernel(
    kind: Integers, partner: Ints, first: Ints, successor: Ints, when: Integers, own_ns: Floats, arrival_ns: Floats
) -> tuple[Floats, Ints]:
    """Return the end of each operation (ns), and of its start and its end the number of things that they wait for.

    The successors of operation i are ``first[i]`` to ``first[i + 1]``.
    """
    count = len(kind)
    start_ns, end_ns = np.zeros(count), np.zeros(count)
    unmet = np.zeros(2 * count, dtype=np.int64)
    for i in range(len(successor)):
        unmet[2 * successor[i]] += 1
    for i in range(count):
        unmet[2 * i + 1] = 2 if kind[i] == RECEIVE else 1
    queue = np.empty(2 * count, dtype=np.int64)
    begin, end = 0, 0
    for i in range(count):
        if unmet[2 * i] == 0:
            queue[end] = 2 * i
            end += 1
    while begin < end:
        event = queue[begin]
        begin += 1
        i, is_end = event // 2, event % 2
        if is_end:
            time_ns, wanted = end_ns[i], ENDED
        else:
            time_ns, wanted = start_ns[i], STARTED
            end_ns[i] = max(end_ns[i], time_ns + own_ns[i])
            unmet[2 * i + 1] -= 1
            if unmet[2 * i + 1] == 0:
                queue[end] = 2 * i + 1
                end += 1
            if kind[i] == SEND:
                receive = partner[i]
                end_ns[receive] = max(end_ns[receive], time_ns + arrival_ns[i])
                unmet[2 * receive + 1] -= 1
                if unmet[2 * receive + 1] == 0:
                    queue[end] = 2 * receive + 1
                    end += 1
        for j in range(first[i], first[i + 1]):
            if when[j] == wanted:
                start_ns[successor[j]] = max(start_ns[successor[j]], time_ns)
                unmet[2 * successor[j]] -= 1
                if unmet[2 * successor[j]] == 0:
                    queue[end] = 2 * successor[j]
                    end += 1
    return end_ns, unmet
