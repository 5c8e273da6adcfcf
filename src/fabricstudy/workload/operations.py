"""Programs as they are: operations of ranks, and what each of them waits for.

An operation computes, sends or receives. It starts when the operations that it depends on have ended, or have started;
in addition a stream of a rank computes one thing at a time. A receive has ended when its message has arrived. A send
has ended when its last byte has left the node (``eager``) or has arrived (``synchronous``).

This is the model of GOAL: directed acyclic graphs of send, receive and calc, one a rank, joined by messages.

References
----------
Hoefler, Siebert and Lumsdaine: Group Operation Assembly Language. ICPP 2009, doi:10.1109/ICPP.2009.70.
Hoefler, Schneider and Lumsdaine: LogGOPSim. HPDC 2010, doi:10.1145/1851476.1851564.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s, Integers, Ints

CALC, SEND, RECEIVE = 0, 1, 2
"""Kinds of operations."""

ENDED, STARTED = 0, 1
"""What a dependency waits for."""

MAX_STREAMS = 2**15

COLUMNS = ("rank", "stream", "kind", "duration_ns", "size_bytes")
"""Columns that do not refer to other operations."""


@dataclass(frozen=True, eq=False)
class Operations:
    """Operations of all ranks, sorted by rank, with matched messages."""

    ranks: int
    rank: Int32s
    stream: Int32s
    kind: Integers
    """`CALC`, `SEND` or `RECEIVE`; integers [operations]."""
    duration_ns: Floats
    """Time of a calc, float64 [operations]; 0 for others."""
    size_bytes: Ints
    """Bytes of a send or receive, int64 [operations]; 0 for calcs."""
    partner: Ints
    """The receive of a send, and the send of a receive, int64 [operations]; -1 for calcs."""
    dependent: Ints
    needs: Ints
    """Operation, and the one of the same rank that it waits for; int64 [dependencies] each."""
    when: Integers
    """`ENDED` or `STARTED`, integers [dependencies]."""
    eager: bool = True
    """Whether a send has ended when it has left the node, instead of when it has arrived."""
    mark: Integers | None = None
    """Part of the program that an operation belongs to, by its position in `mark_names`, or -1; int16 [operations]."""
    mark_names: tuple[str, ...] = ()
    received_from_any: int = 0
    """Receives from any source or with any tag, which `matching` has matched."""

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def sends(self) -> Ints:
        """The operations that send, int64 [messages]."""
        return np.flatnonzero(self.kind == SEND)

    def compute_ns_per_rank(self) -> Floats:
        """Return the total time of the calcs of each rank, float64 [ranks]."""
        return np.bincount(self.rank, self.duration_ns, self.ranks).astype(np.float64, copy=False)

    def busiest_stream_ns(self) -> float:
        """Return the largest total time of the calcs of a stream of a rank."""
        key = self.rank.astype(np.int64) * MAX_STREAMS + self.stream
        return float(np.bincount(np.unique(key, return_inverse=True)[1], self.duration_ns).max(initial=0.0))

    def scaled(self, factor: float, eager: bool) -> Operations:
        """Return the operations with all calcs scaled, and with this end of sends."""
        return replace(self, duration_ns=self.duration_ns * factor, eager=eager)

    def extended(
        self, beside: Ints, kind: Integers, duration_ns: Floats, size_bytes: Ints, partner: Ints,
        dependent: Ints, needs: Ints, when: Integers,
    ) -> Operations:  # fmt: skip
        """Return further operations behind these, each with rank, stream and mark of one `beside` it.

        The other columns are those of the new operations, but the dependencies replace the present ones.
        """
        more = {"kind": kind, "duration_ns": duration_ns, "size_bytes": size_bytes, "partner": partner}
        more |= {
            name: column[beside] for name in ("rank", "stream", "mark") if (column := getattr(self, name)) is not None
        }
        columns: dict[str, Any] = {name: np.concatenate([getattr(self, name), added]) for name, added in more.items()}
        return replace(self, **columns, dependent=dependent, needs=needs, when=when)

    def in_order(self, order: Ints) -> Operations:
        """Return the operations in another order, by their present numbers, and their dependencies sorted."""
        number, columns = renumbered(self, order)
        by_operation = np.lexsort((columns["needs"], columns["dependent"]))
        columns |= {name: columns[name][by_operation] for name in ("dependent", "needs")}
        partner = np.where(self.partner < 0, -1, number[self.partner])[order]
        return replace(self, **columns, partner=partner, when=self.when[by_operation])


def renumbered(listed: Any, order: Ints, *names: str) -> tuple[Ints, dict[str, Any]]:
    """Return the number of each operation in another order, and `COLUMNS`, those of these names and marks in it.

    The columns include the dependencies, in their present order, by the new numbers.
    """
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    columns = {name: getattr(listed, name)[order] for name in (*COLUMNS, *names)}
    columns |= {name: number[getattr(listed, name)] for name in ("dependent", "needs")}
    return number, columns | {"mark": None if listed.mark is None else listed.mark[order]}
