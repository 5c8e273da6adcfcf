"""Cost of message passing in software: what a rank computes for each message that it sends or receives.

The overheads are `o` of LogP, and what grows with the bytes is a copy, as in LogGPS. A processor pays both, so that
messages of one rank and stream are processed one after the other; the network itself has no part in them.

References
----------
Culler et al.: LogP: towards a realistic model of parallel computation. PPoPP 1993, doi:10.1145/155332.155333.
Ino, Fujimoto, Hagihara: LogGPS: a parallel computational model. PPoPP 2001, doi:10.1145/379539.379592.
"""

from dataclasses import dataclass

import numpy as np

from .operations import CALC, ENDED, RECEIVE, SEND, Operations


@dataclass(frozen=True)
class SoftwareCost:
    """Times of a message at its sender and its receiver, and for each of its bytes at both, in ns."""

    send_ns: float = 0.0
    receive_ns: float = 0.0
    byte_ns: float = 0.0

    @property
    def exists(self) -> bool:
        """Whether any message costs anything."""
        return self != SoftwareCost()


def with_software_cost(operations: Operations, cost: SoftwareCost) -> Operations:
    """Return operations in which a calc precedes each send and follows each receive.

    The calc takes over the dependencies of its send; operations that wait for a receive wait for the calc after it.
    """
    count, sends, receives = len(operations), operations.sends, np.flatnonzero(operations.kind == RECEIVE)
    added = np.concatenate([sends, receives])
    number = np.arange(count)
    before, behind = number.copy(), number.copy()
    before[sends] = count + np.arange(len(sends))
    behind[receives] = count + len(sends) + np.arange(len(receives))
    needs = np.where(operations.when == ENDED, behind[operations.needs], operations.needs)
    own_ns = np.where(operations.kind[added] == SEND, cost.send_ns, cost.receive_ns)
    nothing = np.zeros(len(added), dtype=np.int64)
    costly = operations.extended(
        added,
        (nothing + CALC).astype(operations.kind.dtype),
        own_ns + cost.byte_ns * operations.size_bytes[added],
        nothing,
        nothing - 1,
        np.concatenate([before[operations.dependent], sends, behind[receives]]),
        np.concatenate([needs, before[sends], receives]),
        np.concatenate([operations.when, (nothing + ENDED).astype(operations.when.dtype)]),
    )
    # Sorted by rank: a calc stands beside its message.
    position = np.concatenate([2 * number, 2 * sends - 1, 2 * receives + 1])
    return costly.in_order(np.argsort(position, kind="stable"))
