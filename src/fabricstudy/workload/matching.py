"""Listings of operations, as traces have them, and the matching of their messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from fabricstudy.core.arrays import Array, Bools, Floats, Int32s, Integers, Ints
from fabricstudy.core.input_files import MAX_RANKS, MAX_TRAFFIC_BYTES, InputFileError

from .operations import CALC, ENDED, MAX_STREAMS, RECEIVE, SEND, STARTED, Operations, renumbered

ANY = -1
"""Source or tag of a receive that takes any."""

ANY_TAG_END = 2**32
"""A receive with any tag takes tags of programs, below this, and no messages of collective operations."""

MAX_OPERATIONS = 2**27
"""About 20 GB while they are matched; simulators need less."""

MAX_NS = 1e15
"""Time of an operation: eleven days."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Operations of all ranks as a trace lists them: a message is known by its ends and its tag."""

    ranks: int
    rank: Int32s
    stream: Integers
    kind: Integers
    duration_ns: Floats
    size_bytes: Ints
    peer: Ints
    """Destination of a send, source of a receive or `ANY`, int64 [operations]."""
    tag: Ints
    dependent: Ints
    needs: Ints
    when: Integers
    where: Callable[[int], str] = lambda operation: f"operation {operation}"
    """Returns the position of an operation in the file."""
    mark: Integers | None = None
    mark_names: tuple[str, ...] = ()
    """As in `Operations`."""
    receives_at_most: bool = False
    """Whether the bytes of a receive are those of its buffer, as in MPI, instead of those of its message."""

    def in_order_of_ranks(self) -> Listing:
        """Return the operations sorted by rank; those of a rank keep their order."""
        order = np.argsort(self.rank, kind="stable")
        if np.array_equal(order, np.arange(len(order))):
            return self
        where, columns = self.where, renumbered(self, order, "peer", "tag")[1]
        return replace(self, **columns, where=lambda operation: where(int(order[operation])))


def matched(listing: Listing) -> Operations:
    """Return the operations of a listing with their messages matched, and without cycles.

    As in MPI, the k-th send of a rank to another with a tag is for the k-th receive there from the first with this tag,
    in the order of the listing. With receives from any source or with any tag, messages are matched in the order of a
    run in which they take no time.

    Raises InputFileError for numbers out of range, messages that nobody sends or receives, and operations that wait
    for each other.
    """
    _check_size(listing)
    _check_dependencies(listing)
    listing = listing.in_order_of_ranks()
    _check_ranges(listing)
    receives = listing.kind == RECEIVE
    wild = receives & ((listing.peer == ANY) | (listing.tag == ANY))
    partner = _partners_of_a_run(listing) if wild.any() else _partners(listing)
    operations = Operations(
        listing.ranks, listing.rank, listing.stream.astype(np.int32), listing.kind, listing.duration_ns,
        np.where(receives, _sent_bytes(listing, partner), listing.size_bytes), partner, listing.dependent,
        listing.needs, listing.when, mark=listing.mark, mark_names=listing.mark_names,
        received_from_any=int(np.count_nonzero(wild)),
    )  # fmt: skip
    _check_cycles(operations, listing.where)
    return operations


def relisted(operations: Operations, where: Callable[[int], str] = Listing.where) -> Listing:
    """Return operations as a listing, to check them; each message has a tag of its own.

    Raises InputFileError unless sends and receives are partners of each other.
    """
    kind, partner = operations.kind, operations.partner
    if (wrong := (kind == CALC) & (partner != -1)).any():
        at = int(np.argmax(wrong))
        raise InputFileError("a calc with a partner", "use -1", where(at), int(partner[at]))
    ends = np.flatnonzero((kind == SEND) | (kind == RECEIVE))
    inside = ~_outside(partner[ends], 0, len(kind))
    other = np.where(inside, partner[ends], 0)
    if (wrong := ~inside | (partner[other] != ends) | (kind[ends] + kind[other] != SEND + RECEIVE)).any():
        at = int(ends[np.argmax(wrong)])
        remedy = "name the receive of a send, and its send there"
        raise InputFileError("not the partner of its partner", remedy, where(at), int(partner[at]))
    sends = np.flatnonzero(kind == SEND)
    tag, peer = (np.full(len(kind), -1, dtype=np.int64) for _ in range(2))
    tag[sends] = tag[partner[sends]] = sends
    peer[ends] = operations.rank[partner[ends]]
    return Listing(
        operations.ranks, operations.rank, operations.stream, kind, operations.duration_ns, operations.size_bytes,
        peer, tag, operations.dependent, operations.needs, operations.when, where, operations.mark,
        operations.mark_names,
    )  # fmt: skip


def _check_size(listing: Listing) -> None:
    count, dependencies = len(listing.rank), len(listing.dependent)
    if not count:
        raise InputFileError("no operations", "write at least one message")
    if max(count, dependencies) > MAX_OPERATIONS:
        problem = f"{count:,} operations and {dependencies:,} dependencies"
        raise InputFileError(problem, f"use at most {MAX_OPERATIONS:,} of each, for example by fewer iterations")
    if not 1 <= listing.ranks <= MAX_RANKS:
        raise InputFileError("number of ranks out of range", f"use 1 to {MAX_RANKS:,}", "", listing.ranks)


def _check_ranges(listing: Listing) -> None:
    """Raise InputFileError at the first operation with a number out of range."""
    kind, sends = listing.kind, listing.kind == SEND
    messages = kind != CALC
    least = np.where(sends, 0, ANY)
    checks: tuple[tuple[str, Bools, Array, str], ...] = (
        ("kind", (kind < CALC) | (kind > RECEIVE), kind, "use 0 (calc), 1 (send) or 2 (receive)"),
        ("rank", _outside(listing.rank, 0, listing.ranks), listing.rank, f"use 0 to {listing.ranks - 1}"),
        ("stream", _outside(listing.stream, 0, MAX_STREAMS), listing.stream, f"use 0 to {MAX_STREAMS - 1}"),
        ("time", ~((listing.duration_ns >= 0) & (listing.duration_ns <= MAX_NS)), listing.duration_ns,
         f"use 0 to {MAX_NS:g} ns"),
        ("time of a message", messages & (listing.duration_ns != 0), listing.duration_ns, "write it as a calc before"),
        ("bytes", messages & _outside(listing.size_bytes, 0, MAX_TRAFFIC_BYTES + 1), listing.size_bytes,
         f"use 0 to {MAX_TRAFFIC_BYTES}"),
        ("bytes of a calc", ~messages & (listing.size_bytes != 0), listing.size_bytes, "use 0"),
        ("partner", messages & ((listing.peer < least) | (listing.peer >= listing.ranks)), listing.peer,
         f"use a rank from 0 to {listing.ranks - 1}"),
        ("tag", messages & (listing.tag < least), listing.tag, "use 0 or more"),
    )  # fmt: skip
    for name, wrong, values, remedy in checks:
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputFileError(f"{name} out of range", remedy, listing.where(at), values[at].item())
    total = float(listing.size_bytes[sends].sum(dtype=np.float64))
    if total > MAX_TRAFFIC_BYTES:
        raise InputFileError("too many bytes in total", f"use at most {MAX_TRAFFIC_BYTES}", "", total)


def _check_dependencies(listing: Listing) -> None:
    """Raise InputFileError for a dependency on an operation of another rank, or on none."""
    ends, count = (listing.dependent, listing.needs), len(listing.rank)
    wrong = _outside(ends[0], 0, count) | _outside(ends[1], 0, count) | _outside(listing.when, ENDED, STARTED + 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputFileError("dependency out of range", f"use operations 0 to {count - 1}", f"dependency {at}")
    if (apart := listing.rank[ends[0]] != listing.rank[ends[1]]).any():
        where = listing.where(int(ends[0][np.argmax(apart)]))
        raise InputFileError("depends on another rank", "let a message connect the ranks", where)


def _outside(values: Integers, least: int, end: int) -> Bools:
    return (values < least) | (values >= end)


def _partners(listing: Listing) -> Ints:
    """Return the partner of each operation; raise InputFileError for messages without one."""
    partner = np.full(len(listing.rank), -1, dtype=np.int64)
    sends, receives = (np.flatnonzero(listing.kind == kind) for kind in (SEND, RECEIVE))
    of_sends = np.stack([listing.tag[sends], listing.peer[sends], listing.rank[sends]])
    of_receives = np.stack([listing.tag[receives], listing.rank[receives], listing.peer[receives]])
    by_send, by_receive = np.lexsort(of_sends), np.lexsort(of_receives)
    sends, of_sends = sends[by_send], of_sends[:, by_send]
    receives, of_receives = receives[by_receive], of_receives[:, by_receive]
    if of_sends.shape != of_receives.shape or not np.array_equal(of_sends, of_receives):
        raise _unmatched(listing, sends, of_sends, receives, of_receives)
    partner[sends], partner[receives] = receives, sends
    return partner


def _sent_bytes(listing: Listing, partner: Ints) -> Ints:
    """Return the bytes that a send, or the send of a receive, has; raise InputFileError unless the ends agree."""
    sends = np.flatnonzero(listing.kind == SEND)
    size, wanted = listing.size_bytes[sends], listing.size_bytes[partner[sends]]
    if (differ := (size > wanted) if listing.receives_at_most else (size != wanted)).any():
        at = int(np.argmax(differ))
        send, receive = int(sends[at]), int(partner[sends[at]])
        sent = f"rank {listing.rank[send]} sends {size[at]} B with tag {listing.tag[send]}"
        problem = f"{sent}, and rank {listing.rank[receive]} receives {wanted[at]} B"
        raise InputFileError(problem, "use equal sizes", listing.where(send))
    return np.where(listing.kind == RECEIVE, listing.size_bytes[partner], listing.size_bytes)


def _partners_of_a_run(listing: Listing) -> Ints:
    """Return the partner of each operation in a run whose messages take no time, of equal times the lowest first.

    Calcs wait for their dependencies alone, not for others of their stream.

    Raises InputFileError for messages without a partner, and for operations that never start.
    """
    kind, peer, tag, rank = (column.tolist() for column in (listing.kind, listing.peer, listing.tag, listing.rank))
    duration_ns = listing.duration_ns.tolist()
    order = np.argsort(listing.needs, kind="stable")
    first = np.searchsorted(listing.needs[order], np.arange(len(kind) + 1)).tolist()
    successor, when = listing.dependent[order].tolist(), listing.when[order].tolist()
    unmet = np.bincount(listing.dependent, minlength=len(kind)).tolist()
    partner = [-1] * len(kind)
    queues = _Queues(partner)

    # Time, operation, and whether it ends there.
    events = [(0.0, operation, 0) for operation in range(len(kind)) if not unmet[operation]]
    started = [False] * len(kind)
    while events:
        time_ns, at, is_end = heappop(events)
        wanted = ENDED if is_end else STARTED
        if not is_end:
            started[at] = True
            if kind[at] == CALC:
                heappush(events, (time_ns + duration_ns[at], at, 1))
            else:
                take = queues.receive if kind[at] == RECEIVE else queues.send
                other = take(at, rank[at], peer[at], tag[at])
                if other >= 0:
                    partner[at], partner[other] = other, at
                    heappush(events, (time_ns, at if kind[at] == RECEIVE else other, 1))
                if kind[at] == SEND:
                    heappush(events, (time_ns, at, 1))
        for j in range(first[at], first[at + 1]):
            if when[j] == wanted:
                unmet[successor[j]] -= 1
                if not unmet[successor[j]]:
                    heappush(events, (time_ns, successor[j], 0))
    lonely = [at for at, begun in enumerate(started) if begun and kind[at] != CALC and partner[at] < 0]
    if lonely:
        at = lonely[0]
        does = "sends a message that nobody receives" if kind[at] == SEND else "waits for a message that nobody sends"
        problem = f"rank {rank[at]} {does}: {'to' if kind[at] == SEND else 'from'} {peer[at]}, tag {tag[at]}"
        raise InputFileError(problem, "list both ends of each message", listing.where(at))
    if not all(started):
        at = started.index(False)
        raise InputFileError(f"operation {at} of rank {rank[at]} never starts", "remove cycles", listing.where(at))
    return np.array(partner, dtype=np.int64)


class _Queues:
    """Messages that have arrived and receives that are posted, in their order, by destination, source and tag."""

    def __init__(self, partner: list[int]) -> None:
        self.partner = partner
        self.arrived: dict[tuple[int, int, int], deque[int]] = {}
        self.posted: dict[tuple[int, int, int], deque[tuple[int, int]]] = {}
        self.count = 0

    def receive(self, operation: int, to: int, source: int, tag: int) -> int:
        """Return the first message that a receive takes, or -1 and wait for one."""
        queue = self.arrived.get((to, source, tag), deque())
        while queue:
            # A message is in several queues.
            if self.partner[send := queue.popleft()] < 0:
                return send
        self.posted.setdefault((to, source, tag), deque()).append((self.count, operation))
        self.count += 1
        return -1

    def send(self, operation: int, source: int, to: int, tag: int) -> int:
        """Return the first receive that takes a message, or -1 and wait for one."""
        tags = (tag, ANY) if tag < ANY_TAG_END else (tag,)
        keys = [(to, end, of_tag) for end in (source, ANY) for of_tag in tags]
        waiting = [self.posted[key] for key in keys if self.posted.get(key)]
        if waiting:
            return min(waiting, key=lambda queue: queue[0]).popleft()[1]
        for key in keys:
            self.arrived.setdefault(key, deque()).append(operation)
        return -1


def _unmatched(listing: Listing, sends: Ints, of_sends: Ints, receives: Ints, of_receives: Ints) -> InputFileError:
    """Return the mistake in the first message, by source, destination and tag, that lacks an end."""
    keys, counts = np.unique(np.concatenate([of_sends, of_receives], axis=1), axis=1, return_inverse=True)
    number = np.bincount(counts[: len(sends)], minlength=keys.shape[1])
    wanted = np.bincount(counts[len(sends) :], minlength=keys.shape[1])
    differ = np.flatnonzero(number != wanted)
    first = differ[np.lexsort(keys[:, differ])[0]]
    tag, destination, source = keys[:, first].tolist()
    of, columns = (sends, of_sends) if number[first] > wanted[first] else (receives, of_receives)
    lonely = of[np.flatnonzero((columns == keys[:, [first]]).all(axis=0))][min(number[first], wanted[first])]
    others = f"; {len(differ) - 1:,} other pairs differ, too" if len(differ) > 1 else ""
    if number[first] > wanted[first]:
        problem = f"rank {source} sends a message to rank {destination} with tag {tag} that nobody receives{others}"
    else:
        problem = f"rank {destination} waits for a message from rank {source} with tag {tag} that nobody sends{others}"
    return InputFileError(problem, "list both ends of each message", listing.where(int(lonely)))


def _check_cycles(operations: Operations, where: Callable[[int], str]) -> None:
    # Imports numba, which planning does not need.
    from .critical_path import find_cycle

    found = find_cycle(operations)
    if found:
        listed = ", ".join(str(operation) for operation in found[:10]) + (", ..." if len(found) > 10 else "")
        ranks = sorted({int(operations.rank[operation]) for operation in found})
        problem = (
            f"operations {listed} of rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks[:10]))} need each other"
        )
        raise InputFileError(problem, "remove one of these dependencies", where(found[0]))
