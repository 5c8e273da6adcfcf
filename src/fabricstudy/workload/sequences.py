"""Operations of a rank as one sequence, as programs that call MPI have it.

In a sequence a rank posts a send or receive, computes, or waits until some of its sends and receives have ended, one
after the other. That is exact where each operation needs all that the rank has waited for before it, and computations
of a stream are in the order in which they could start.
"""

from collections import deque
from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from .messages import WorkloadError
from .operations import CALC, ENDED, RECEIVE, SEND, STARTED, Operations


class Step(NamedTuple):
    """An operation of a sequence, and the sends and receives for whose ends the rank waits before it.

    The last step of a rank has no operation, -1, and waits for all others.
    """

    waits: list[int]
    operation: int


def exact_sequences(operations: Operations) -> list[list[Step]]:
    """Return the sequence of each rank, in which all operations start as their dependencies say.

    Raises WorkloadError where there is none, or an operation needs the end of a synchronous send.
    """
    if not operations.eager:
        needed = operations.needs[operations.when == ENDED]
        if len(of_send := needed[operations.kind[needed] == SEND]):
            raise WorkloadError(
                f"rank {operations.rank[of_send[0]]} waits until the message of a synchronous send has arrived, and in "
                "this engine a send ends before; set sends: eager, or use the engine packet"
            )
    walk = _Walk(operations)
    if walk.early is not None:
        rank = operations.rank[walk.early]
        streams = len(np.unique(operations.stream[(operations.rank == rank) & (operations.kind == CALC)]))
        many = f"{streams} streams" if streams > 1 else "operations that may overlap"
        raise WorkloadError(
            f"this engine runs a sequence of MPI calls on each rank, and rank {rank} has {many}; set streams: merged, "
            "or use the engine packet"
        )
    return walk.steps


def merged(operations: Operations) -> Operations:
    """Return operations that start one after the other on each rank, in one stream, without cycles.

    Their order is that of a run in which messages take no time. For programs that are sequences nothing changes; of
    others, a rank may wait for what its next operation does not need.
    """
    dependent, needs, when = list[int](), list[int](), list[int]()
    for steps in _Walk(operations).steps:
        last, is_calc = -1, False
        for waits, operation in steps[:-1]:
            waited = [*waits, last] if is_calc else waits
            started = [] if is_calc or last < 0 else [last]
            dependent += [operation] * (len(waited) + len(started))
            needs += [*waited, *started]
            when += [ENDED] * len(waited) + [STARTED] * len(started)
            last, is_calc = operation, operations.kind[operation] == CALC
    return replace(
        operations,
        stream=np.zeros_like(operations.stream),
        dependent=np.array(dependent, dtype=np.int64),
        needs=np.array(needs, dtype=np.int64),
        when=np.array(when, dtype=np.int8),
    )


class _Walk:
    """Walks through the operations in the order of `_order`, and notes what each rank waits for."""

    def __init__(self, operations: Operations) -> None:
        self.kind, self.stream = operations.kind.tolist(), operations.stream.tolist()
        by_dependent = np.argsort(operations.dependent, kind="stable")
        first = np.searchsorted(operations.dependent[by_dependent], np.arange(len(operations) + 1)).tolist()
        needs = list(zip(operations.needs[by_dependent].tolist(), operations.when[by_dependent].tolist(), strict=True))
        self.steps: list[list[Step]] = [[] for _ in range(operations.ranks)]
        # Computations, sends and receives in the order in which their rank knows that they have ended.
        self._ended: list[list[int]] = [[] for _ in range(operations.ranks)]
        # Of each operation: the index in this list, and the length of the list when it started.
        self._index: dict[int, int] = {}
        self._before = [0] * len(operations)
        # Of each computation: how much of the list it needs.
        self._ready: dict[int, int] = {}
        self.early: int | None = None
        """An operation that could start earlier than in its sequence, if there is one."""
        rank = operations.rank.tolist()
        for operation in _order(operations):
            self._add(rank[operation], operation, needs[first[operation] : first[operation + 1]])
        unknown = [i for i in range(len(operations)) if i not in self._index]
        rest: list[list[int]] = [[] for _ in range(operations.ranks)]
        for operation in unknown:
            rest[rank[operation]].append(operation)
        for steps, waits in zip(self.steps, rest, strict=True):
            steps.append(Step(waits, -1))

    def _add(self, rank: int, operation: int, needs: list[tuple[int, int]]) -> None:
        ended = self._ended[rank]
        direct = {needed for needed, when in needs if when == ENDED}
        waits = sorted(needed for needed in direct if needed not in self._index)
        self._end(ended, waits)
        implied = max((self._before[needed] for needed, _ in needs), default=0)
        is_calc = self.kind[operation] == CALC
        if self.early is None and not self._is_exact(ended, operation, direct, implied):
            self.early = operation
        self._before[operation] = len(ended)
        self.steps[rank].append(Step(waits, operation))
        if is_calc:
            self._ready[operation] = max([implied, *(self._index[needed] + 1 for needed in direct)])
            self._end(ended, [operation])

    def _end(self, ended: list[int], operations: list[int]) -> None:
        for operation in operations:
            self._index[operation] = len(ended)
            ended.append(operation)

    def _is_exact(self, ended: list[int], operation: int, direct: set[int], implied: int) -> bool:
        """Return whether an operation cannot start before all in `ended` have ended.

        It needs the first `implied` of them, and `direct`.
        """
        for index in range(len(ended) - 1, implied - 1, -1):
            other = ended[index]
            if other in direct:
                continue
            # A computation that could start no later, in the same stream, and needs all before it.
            return (
                self.kind[operation] == self.kind[other] == CALC
                and self.stream[operation] == self.stream[other]
                and self._ready[other] <= implied
            )
        return True


def _order(operations: Operations) -> list[int]:
    """Return all operations in the order in which they start if messages take no time, and ranks have one stream.

    Receives start before sends at the same time, and both before computations.
    """
    by_needed = np.argsort(operations.needs, kind="stable")
    first = np.searchsorted(operations.needs[by_needed], np.arange(len(operations) + 1)).tolist()
    dependents = operations.dependent[by_needed].tolist()
    when = operations.when[by_needed].tolist()
    missing = np.bincount(operations.dependent, minlength=len(operations)).tolist()
    kind, rank, partner = operations.kind.tolist(), operations.rank.tolist(), operations.partner.tolist()
    duration_ns = operations.duration_ns.tolist()
    end, class_of = 0, {RECEIVE: 1, SEND: 2, CALC: 3}
    busy = [False] * operations.ranks
    waiting: list[deque[int]] = [deque() for _ in range(operations.ranks)]
    halves = [0] * len(operations)  # of receives: started, arrived
    heap: list[tuple[float, int, int, int]] = []
    order: list[int] = []
    pushed = 0

    def push(time_ns: float, what: int, operation: int) -> None:
        nonlocal pushed
        heappush(heap, (time_ns, what, pushed, operation))
        pushed += 1

    def release(time_ns: float, operation: int, wanted: int) -> None:
        for index in range(first[operation], first[operation + 1]):
            if when[index] == wanted:
                dependent = dependents[index]
                missing[dependent] -= 1
                if not missing[dependent]:
                    push(time_ns, class_of[kind[dependent]], dependent)

    def halve(time_ns: float, receive: int) -> None:
        halves[receive] += 1
        if halves[receive] == 2:
            push(time_ns, end, receive)

    for operation, count in enumerate(missing):
        if not count:
            push(0.0, class_of[kind[operation]], operation)
    while heap:
        time_ns, what, _, operation = heappop(heap)
        own = rank[operation]
        if what == end:
            if kind[operation] == CALC:
                busy[own] = False
                if waiting[own]:
                    heappush(heap, (time_ns, class_of[CALC], -1, waiting[own].popleft()))
            release(time_ns, operation, ENDED)
            continue
        if what == class_of[CALC]:
            if busy[own]:
                waiting[own].append(operation)
                continue
            busy[own] = True
            push(time_ns + duration_ns[operation], end, operation)
        elif what == class_of[SEND]:
            push(time_ns, end, operation)
            halve(time_ns, partner[operation])
        else:
            halve(time_ns, operation)
        order.append(operation)
        release(time_ns, operation, STARTED)
    return order
