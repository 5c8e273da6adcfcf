"""Operations as sequences of calls: exact where they are accepted, and merged programs without cycles."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.workload.critical_path import find_cycle
from fabricstudy.workload.matching import matched
from fabricstudy.workload.messages import WorkloadError
from fabricstudy.workload.operations import CALC, ENDED, RECEIVE, SEND, STARTED, Operations
from fabricstudy.workload.rendezvous import with_rendezvous
from fabricstudy.workload.sequences import exact_sequences, merged
from fabricstudy.workload.traces.mpi import Calls, Program

from .test_operations import operations_of, programs


def start_times(operations: Operations, message_ns: list[float]) -> list[float]:
    """Return when each operation starts if messages take given times and sends none: the definition, event by event."""
    waits: list[set[tuple[int, int]]] = [set() for _ in range(len(operations))]
    for dependent, needs, when in zip(operations.dependent, operations.needs, operations.when, strict=True):
        waits[dependent].add((int(needs), int(when)))
    arrival_ns = dict(zip(operations.partner[operations.sends].tolist(), message_ns, strict=True))
    stream = list(zip(operations.rank.tolist(), operations.stream.tolist(), strict=True))
    start = [-1.0] * len(operations)
    queued = dict[int, int]()
    busy, now, heap = dict[tuple[int, int], int](), 0.0, list[tuple[float, int, int, int]]()
    done = set[tuple[int, int]]()
    arrived = set[int]()
    while True:
        changed = True
        while changed:
            changed = False
            for i in range(len(operations)):
                if start[i] < 0 and waits[i] <= done and i not in queued:
                    queued[i] = len(queued)
            for i in sorted((i for i in queued if start[i] < 0), key=queued.__getitem__):
                if operations.kind[i] == CALC and stream[i] in busy:
                    continue
                start[i], changed = now, True
                done.add((i, STARTED))
                if operations.kind[i] == CALC:
                    busy[stream[i]] = i
                    heappush(heap, (now + operations.duration_ns[i], 0, i, ENDED))
                elif operations.kind[i] == SEND:
                    done.add((i, ENDED))
                    receive = int(operations.partner[i])
                    heappush(heap, (now + arrival_ns[receive], 1, receive, ENDED))
                elif i in arrived:
                    done.add((i, ENDED))
        if not heap:
            return start
        now, what, i, _ = heappop(heap)
        if what == 0:
            del busy[stream[i]]
            done.add((i, ENDED))
        else:
            arrived.add(i)
            if start[i] >= 0:
                done.add((i, ENDED))


@settings(max_examples=150, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_a_program_that_is_accepted_starts_everything_as_before(program: Operations, seed: int) -> None:
    try:
        exact_sequences(program)
    except WorkloadError:
        return
    message_ns = np.random.default_rng(seed).uniform(1, 9_000, len(program.sends)).tolist()
    assert start_times(merged(program), message_ns) == start_times(program, message_ns)


@st.composite
def mpi_programs(draw: st.DrawFn) -> Operations:
    """Random calls of ranks: messages are sent in one order of time, so none waits for a later one."""
    ranks = draw(st.integers(2, 4))
    program = Program(ranks, lambda rank, line: f"call {line} of rank {rank}")
    calls = [Calls(program, rank) for rank in range(ranks)]
    pending: list[list[int]] = [[] for _ in range(ranks)]
    for tag in range(draw(st.integers(1, 10))):
        source, destination = draw(st.permutations(range(ranks)))[:2]
        calls[source].compute(draw(st.integers(0, 5_000)))
        for rank, kind, peer in ((source, SEND, destination), (destination, RECEIVE, source)):
            request = draw(st.sampled_from([None, tag]))
            calls[rank].transfer(kind, peer, 100, tag, request)
            pending[rank] += [] if request is None else [request]
            if draw(st.booleans()):
                calls[rank].wait(pending[rank])
                pending[rank] = []
        if draw(st.integers(0, 5)) == 0:
            for one in calls:
                one.collective("allreduce", 1_000)
    return matched(program.listing())


@settings(max_examples=60, deadline=None)
@given(mpi_programs(), st.integers(0, 2**31))
def test_programs_that_call_mpi_are_sequences(program: Operations, seed: int) -> None:
    steps = exact_sequences(program)
    assert sorted(step.operation for of_rank in steps for step in of_rank[:-1]) == list(range(len(program)))
    message_ns = np.random.default_rng(seed).uniform(1, 9_000, len(program.sends)).tolist()
    assert start_times(merged(program), message_ns) == start_times(program, message_ns)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 2**31))
def test_merged_programs_are_sequences_without_cycles(program: Operations, seed: int) -> None:
    once = merged(program)
    assert not find_cycle(once) and not once.stream.any()
    exact_sequences(once)
    # What the program needs has started or ended, in this order of computations and with any times of messages.
    message_ns = np.random.default_rng(seed).uniform(1, 9_000, len(program.sends)).tolist()
    start_ns = np.array(start_times(once, message_ns))
    end_ns = np.where(program.kind == CALC, start_ns + program.duration_ns, start_ns)
    receives = program.partner[program.sends]
    end_ns[receives] = np.maximum(end_ns[receives], start_ns[program.sends] + message_ns)
    needed_ns = np.where(program.when == ENDED, end_ns[program.needs], start_ns[program.needs])
    assert (start_ns >= 0).all() and (start_ns[program.dependent] >= needed_ns).all()


ONE = "num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\nr: recv 8b from 0\n%s\n}\n"


@pytest.mark.parametrize(
    ("own", "other", "accepted"),
    [
        ("s: send 8b to 1\ncalc 10", "", True),
        # The second calc waits for its stream, not for the receive.
        ("s: send 8b to 1", "calc 10\ncalc 20", True),
        ("c: calc 10\ncalc 20\ns: send 8b to 1\ns requires c", "", True),
        # A stream of its own overlaps, unless nothing else is under way.
        ("s: send 8b to 1\ncalc 10\ncalc 10 cpu 1", "", False),
        ("s: send 8b to 1\nc: calc 10\nd: calc 10 cpu 1\nd requires c", "", True),
        # This could start while the rank computes.
        ("s: send 8b to 1", "calc 10\nc: calc 10\nc requires r\nd: calc 30\nd requires c", True),
        ("s: send 8b to 1", "a: calc 10\nb: calc 10\nb requires a\nc: calc 10\nc requires r", False),
    ],
)
def test_what_is_a_sequence(own: str, other: str, accepted: bool) -> None:
    program = operations_of(ONE % (own, other))
    if accepted:
        exact_sequences(program)
    else:
        with pytest.raises(WorkloadError):
            exact_sequences(program)


def test_ends_of_synchronous_sends_matter_only_to_what_needs_them() -> None:
    program = operations_of(ONE % ("s: send 8b to 1\ncalc 10", "")).scaled(1, False)
    assert [step.operation for step in exact_sequences(program)[0]] == [0, 1, -1]
    with pytest.raises(WorkloadError):
        exact_sequences(operations_of(ONE % ("s: send 8b to 1\nc: calc 10\nc requires s", "")).scaled(1, False))


def rendezvous_of_pair(own: str) -> Operations:
    sender = f"c: calc 10\ns: send 900b to 1\ns requires c\na: calc 4\n{own}"
    text = f"num_ranks 2\nrank 0 {{\n{sender}\n}}\nrank 1 {{\nr: recv 900b from 0\n}}"
    return with_rendezvous(operations_of(text), 500)


@pytest.mark.parametrize(("wait", "expected_ns"), [("a requires s", 210.0), ("a irequires s", 10.0)])
def test_a_long_message_waits_for_an_answer(wait: str, expected_ns: float) -> None:
    """The question leaves at 10 ns and arrives at 110, the answer at 210; sends end when they start here."""
    program = rendezvous_of_pair(wait)
    assert sorted(program.size_bytes[program.sends].tolist()) == [64, 64, 900]
    assert np.all(np.diff(program.rank) >= 0)
    starts = start_times(program, [100.0] * 3)
    (message,) = (i for i in program.sends if program.size_bytes[i] == 900)
    (after,) = np.flatnonzero(program.duration_ns == 4)
    assert (starts[message], starts[after]) == (210, expected_ns)


def test_a_late_receiver_answers_late_and_short_messages_ask_nobody() -> None:
    receiver = "c: calc 700\nr: recv 900b from 0\nr requires c"
    text = f"num_ranks 2\nrank 0 {{\ns: send 900b to 1\n}}\nrank 1 {{\n{receiver}\n}}"
    program = with_rendezvous(operations_of(text), 500)
    (message,) = (i for i in program.sends if program.size_bytes[i] == 900)
    assert start_times(program, [100.0] * 3)[message] == 800
    short = operations_of(ONE % ("s: send 8b to 1", ""))
    assert with_rendezvous(short, 8) is short


PAIR = "num_ranks 2\nrank 0 {\n%s}\nrank 1 {\n%s}\n"


def test_ranks_that_send_to_each_other_first_are_refused() -> None:
    block = "s: send 900b to %d\nr: recv 900b from %d\nr requires s\n"
    program = operations_of(PAIR % (block % (1, 1), block % (0, 0)))
    with pytest.raises(WorkloadError):
        with_rendezvous(program, 500)


@settings(max_examples=60, deadline=None)
@given(mpi_programs(), st.integers(1, 1_000))
def test_programs_with_rendezvous_are_no_faster(program: Operations, above_bytes: int) -> None:
    try:
        asked = with_rendezvous(program, above_bytes)
    except WorkloadError:
        return
    longer = int((program.size_bytes[program.sends] > above_bytes).sum())
    assert len(asked) == len(program) + 4 * longer
    before, after = start_times(program, [40.0] * len(program.sends)), start_times(asked, [40.0] * len(asked.sends))
    pairs = zip(np.array(before)[program.kind == CALC], np.array(after)[asked.kind == CALC], strict=True)
    assert all(late >= early for early, late in pairs)
