"""Operations with dependencies: matching, cycles, GOAL, Parquet, critical path."""

from __future__ import annotations

import io
import time
import tracemalloc
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.matching import matched
from fabricstudy.workload.messages import Computing, Messages, WorkloadError
from fabricstudy.workload.operations import CALC, ENDED, RECEIVE, SEND, Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.phases import from_phases
from fabricstudy.workload.traces import goal, parquet

EXAMPLE = """num_ranks 3 // with a rank that does nothing
rank 0 {
l1: calc 1500 cpu 2
l2: send 4096b to 1 tag 7 cpu 1 nic 0
l2 requires l1
l3:recv 8b from 1 tag 8 /* over
two lines */
l3 irequires l2
}
rank 2 { }
rank 1 {
recv 4096b from 0 tag 7
send 8b to 0 tag 8
}
"""


def operations_of(text: str) -> Operations:
    return matched(goal.read(text.encode()))


def columns(operations: Operations) -> dict[str, Any]:
    values = {name: np.asarray(value).tolist() for name, value in vars(operations).items()}
    waits = zip(values.pop("dependent"), values.pop("needs"), values.pop("when"), strict=True)
    return values | {"waits": sorted(waits)}


def test_goal_is_read_as_it_is_meant() -> None:
    assert columns(operations_of(EXAMPLE)) == {
        "ranks": 3, "rank": [0, 0, 0, 1, 1], "stream": [2, 1, 0, 0, 0], "kind": [CALC, SEND, RECEIVE, RECEIVE, SEND],
        "duration_ns": [1500, 0, 0, 0, 0], "size_bytes": [0, 4096, 8, 4096, 8], "partner": [-1, 3, 4, 1, 2],
        "waits": [(1, 0, 0), (2, 1, 1)], "eager": True, "mark": None, "mark_names": [],
        "received_from_any": 0,
    }  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> Operations:
    """Random programs without cycles: operations are listed in an order in which they can happen."""
    ranks = draw(st.integers(2, 4))
    lines: list[list[str]] = [[] for _ in range(ranks)]
    counts = [0] * ranks

    def add(rank: int, what: str) -> None:
        number = counts[rank]
        lines[rank].append(f"x{number}: {what}")
        for needed in draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else ():
            lines[rank].append(f"x{number} {draw(st.sampled_from(['requires', 'irequires']))} x{needed}")
        counts[rank] += 1

    # Receives of a pair may be posted in another order than its sends, with tags of their own.
    for tag in range(draw(st.integers(1, 8))):
        source, destination = draw(st.permutations(range(ranks)))[:2]
        size, tag = draw(st.integers(1, 9_000)), draw(st.sampled_from([0, tag]))
        add(source, f"calc {draw(st.integers(0, 5_000))} cpu {draw(st.integers(0, 2))}")
        size = 100 if tag == 0 else size
        add(source, f"send {size}b to {destination} tag {tag}")
        add(destination, f"recv {size}b from {source} tag {tag}")
    blocks = ("\n".join([f"rank {rank} {{", *of_rank, "}"]) for rank, of_rank in enumerate(lines))
    return operations_of("\n".join([f"num_ranks {ranks}", *blocks]))


@settings(max_examples=40)
@given(programs())
def test_goal_and_parquet_return_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, written: Operations
) -> None:
    text = io.StringIO()
    goal.write(written, text)
    assert columns(operations_of(text.getvalue())) == columns(written)
    path = tmp_path_factory.getbasetemp() / "operations.parquet"
    parquet.write(written, path)
    assert columns(matched(parquet.read(path.read_bytes()))) == columns(written)


@settings(max_examples=40)
@given(programs(), st.booleans(), st.integers(0, 2**31))
def test_the_critical_path_is_the_longest_one(program: Operations, eager: bool, seed: int) -> None:
    operations = program.scaled(2.0, eager)
    transfer_ns, latency_ns = np.random.default_rng(seed).uniform(1, 9, (2, len(operations.sends)))
    graph = nx.DiGraph()
    own_ns = operations.duration_ns.copy()
    own_ns[operations.sends] = transfer_ns + (0 if eager else latency_ns)
    for i in range(len(operations)):
        graph.add_edge(("start", i), ("end", i), weight=own_ns[i])
    for i, send in enumerate(operations.sends):
        arrival = ("end", operations.partner[send])
        graph.add_edge(("start", send), arrival, weight=transfer_ns[i] + latency_ns[i])
    for dependent, needs, when in zip(operations.dependent, operations.needs, operations.when, strict=True):
        graph.add_edge(("end" if when == ENDED else "start", needs), ("start", dependent), weight=0)
    expected = nx.dag_longest_path_length(graph)
    streams: dict[Any, float] = {}
    for rank, stream, time_ns in zip(operations.rank, operations.stream, operations.duration_ns, strict=True):
        streams[rank, stream] = streams.get((rank, stream), 0) + time_ns
    found = critical_path_ns(operations, transfer_ns + latency_ns, transfer_ns)
    assert found == pytest.approx(max(expected, *streams.values()))


@pytest.mark.parametrize(("word", "expected"), [("requires", 10_000), ("irequires", 1_000)])
def test_a_chain_waits_for_ends_or_for_starts(word: str, expected: float) -> None:
    calcs = [f"c{i}: calc 1000 cpu {i}" + (f"\nc{i} {word} c{i - 1}" if i else "") for i in range(10)]
    operations = operations_of("\n".join(["num_ranks 1", "rank 0 {", *calcs, "}"]))
    assert critical_path_ns(operations, np.zeros(0), np.zeros(0)) == expected


def test_one_stream_computes_one_thing_at_a_time() -> None:
    operations = operations_of("num_ranks 1\nrank 0 {\ncalc 70\ncalc 30\ncalc 60 cpu 1\n}\n")
    assert critical_path_ns(operations, np.zeros(0), np.zeros(0)) == 100


def test_ranks_compute_after_their_last_message_and_without_any() -> None:
    rows = Computing(np.array([0, 3, 3]), np.array([1, 0, 1]), np.array([5.0, 7.0, 2.0]), np.zeros(3))
    phase, source, destination = np.array([[1], [1], [0]], dtype=np.int32)
    one = Messages(phase, source, destination, np.array([8]))
    none = Messages(one.phase[:0], one.source[:0], one.destination[:0], one.size_bytes[:0])
    for messages, expected_ns in ((one, 12), (none, 7)):
        operations = from_phases(messages, rows, 2)
        assert operations.compute_ns_per_rank().tolist() == [7, 7]
        instant = np.zeros(len(messages))
        assert critical_path_ns(operations, instant, instant) == expected_ns


PAIR = "num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\n%s\n}\n"
BAD = [
    ("", "line 1", None),
    ("rank 0 {\n}\n", "line 1", "rank 0 {"),
    ("num_ranks 1\nrank 1 {\n}\n", "line 2", 1),
    ("num_ranks 1\nrank 0 {\ncalc 1\n", "line 3", None),
    ("num_ranks 1\nrank 0 {\ncalc 1.5\n}", "line 3", "1.5"),
    ("num_ranks 1\nrank 0 {\nl1: calc 1\nl1: calc 2\n}", "line 4", "l1"),
    ("num_ranks 1\nrank 0 {\nl1: calc 1\nl2 requires l1\n}", "line 4", "l2"),
    ("num_ranks 1\nrank 0 {\nsleep 4\n}", "line 3", "sleep 4"),
    ("num_ranks 1\nrank 0 {\ncalc 4 tag 3\n}", "line 3", "tag"),
    ("num_ranks 1\nrank 0 {\ncalc 4 cpu 70000\n}", "line 3", 70000),
    (PAIR % ("send 4b to 1", "recv 8b from 0"), "line 3", None),
    (PAIR % ("send -1b to 1", "recv -1b from 0"), "line 3", -1),
    (PAIR % ("send 4b to 1 tag 3", "recv 4b from 0 tag 2"), "line 6", None),
    (PAIR % ("send 4b to 1\nsend 4b to 1", "recv 4b from 0"), "line 4", None),
    (PAIR % ("send 4b to 7", "recv 4b from 0"), "line 3", 7),
    (PAIR % ("send 4b to 1 tag 1 tag 2", "recv 4b from 0 tag 2"), "line 3", "tag"),
    (PAIR % ("send 4 to 1", "recv 4b from 0"), "line 3", "send 4 to 1"),
    (PAIR % ("send 1_0b to 1", "recv 10b from 0"), "line 3", "send 1 _0b to 1"),
    ("num_ranks 1\nrank 0 {\ncalc 1\n} /* no end\n// x", "line 4", None),
    (PAIR % ("a: recv 4b from 1\nb: send 4b to 1\nb requires a", "a: recv 4b from 0\nb: send 4b to 0\nb requires a"),
     "line 3", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "value"), BAD)
def test_what_is_wrong_is_told_with_its_line(text: str, where: str, value: Any) -> None:
    with pytest.raises(InputFileError) as refusal:
        operations_of(text)
    assert (refusal.value.where, refusal.value.value) == (where, value)


def test_blanks_and_comments_of_goal() -> None:
    """txt2bin of LogGOPSim takes both as one program; a line comment may hold the begin of another one."""
    text = "num_ranks 2 rank 0{ // not /* a block\nl1:calc 5\nl2 : send 100 b to 1 tag 7/* a\nb */\nl2 requires l1 } "
    text += "rank 1 {\nrecv\t100b from 0 tag 7\n}"
    plain = PAIR % ("l1: calc 5\nl2: send 100b to 1 tag 7\nl2 requires l1", "recv 100b from 0 tag 7")
    assert columns(operations_of(text.replace(" } rank", "\n} rank"))) == columns(operations_of(plain))


def test_a_circle_is_told_with_all_its_operations() -> None:
    with pytest.raises(InputFileError) as refusal:
        operations_of(
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\nb requires a\nc irequires b\nb requires c\n}"
        )
    assert "operations 1, 2 of rank 0" in str(refusal.value)
    # That b starts when a has started, and a ends after b, is none.
    operations_of("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nb irequires a\n}")


@pytest.mark.parametrize(("changed", "where"), [
    ({"partner": [-1, 3, 4, 1, 1]}, "row 3"), ({"partner": [-1, 3, 99, 1, 2]}, "row 3"),
    ({"kind": [0, 1, 2, 2, 2]}, "row 3"),
    ({"rank": [0, 0, 0, 1, 9]}, "row 5"), ({"ns": [-1.0] * 5}, "row 1"), ({"bytes": [-1] * 5}, "row 2"),
    ({"needs_ended": [[], [7], [], [], []]}, "dependency 0"), ({"needs_ended": [[], [], [], [], [0]]}, "row 5"),
    ({"ns": [None] * 5}, ""), ({"stream": ["a"] * 5}, ""), ({"rank": [0, 0, 0, 1, 1.5]}, ""),
    ({"ns": [1500.0, 0, 50_000, 0, 0]}, "row 3"), ({"ns": [float("nan")] * 5}, ""),
    ({"partner": [10**9, 3, 4, 1, 2]}, "row 1"), ({"bytes": [8, 4096, 8, 4096, 8]}, "row 1"),
    ({"kind": [5, 1, 2, 2, 1], "partner": [10**9, 3, 4, 1, 2]}, "row 1"),
    ({"needs_started": [[], [None], [], [], []]}, ""), ({"marks": ["a"] * 5}, "column marks"),
    ({"rank": [1, 0, 0, 0, 1], "needs_ended": [[], [10**12], [], [], []]}, "dependency 0"),
])  # fmt: skip
def test_what_is_wrong_in_a_table(tmp_path: Path, changed: dict[str, Any], where: str) -> None:
    parquet.write(operations_of(EXAMPLE), tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    frame = pd.DataFrame(table.to_pydict() | changed)
    pq.write_table(pa.Table.from_pandas(frame).replace_schema_metadata({parquet.RANKS: b"3"}), tmp_path / "b.parquet")
    with pytest.raises(InputFileError) as refusal:
        matched(parquet.read((tmp_path / "b.parquet").read_bytes()))
    assert refusal.value.where == where


def test_limits_of_a_table_are_checked_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of 1.2e9 equal items is a file of some 100 kB."""
    parquet.write(operations_of(EXAMPLE), tmp_path / "a.parquet")
    table, items = pq.read_table(tmp_path / "a.parquet"), 1_000_000
    monkeypatch.setattr(parquet, "MAX_OPERATIONS", 4 * items)
    zeros = pa.array(np.zeros(items, dtype=np.int64))
    part = table.set_column(
        6, "needs_ended", pa.ListArray.from_arrays(pa.array([0, 0, 0, 0, 0, items], pa.int32()), zeros)
    )
    with pq.ParquetWriter(tmp_path / "b.parquet", part.schema, compression="zstd") as file:
        for _ in range(5):
            file.write_table(part)
    data = (tmp_path / "b.parquet").read_bytes()
    assert len(data) < 100_000
    tracemalloc.start()
    with pytest.raises(InputFileError):
        parquet.read(data)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    many = table.replace_schema_metadata({parquet.RANKS: b"9" * 5000})
    pq.write_table(many, tmp_path / "c.parquet")
    with pytest.raises(InputFileError):
        parquet.read((tmp_path / "c.parquet").read_bytes())


def trace(folder: Path, name: str, **keys: Any) -> Pattern:
    written = {"kind": "trace", "file": name, **keys}
    return Pattern.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def test_a_point_holds_the_content_of_its_trace(tmp_path: Path) -> None:
    (tmp_path / "a.goal").write_text(EXAMPLE)
    pattern = trace(tmp_path, "a.goal", compute=0.5, sends="synchronous")
    operations = pattern.operations()
    assert operations.duration_ns.tolist() == [750, 0, 0, 0, 0] and not operations.eager
    from_record = Pattern.model_validate(pattern.model_dump(mode="json"), context=BASE_UNITS_CONTEXT)
    assert from_record.physics() == pattern.physics()
    assert {(part.size_bytes, part.messages) for part in pattern.traffic(3)} == {(8, 1), (4096, 1)}
    sends = pattern.sends(3, np.random.default_rng(0))
    assert (sends.source.tolist(), sends.destination.tolist()) == ([0, 1], [1, 0])
    with pytest.raises(ConfigError) as refusal:
        pattern.check_ranks(4)
    assert (refusal.value.code, refusal.value.keys) == ("does-not-fit", ("file",))
    (tmp_path / "a.goal").write_text(EXAMPLE.replace("1500", "1501"))
    with pytest.raises(WorkloadError):
        pattern.operations()


@pytest.mark.parametrize("keys", [{"iterations": 2}, {"streams": "both"}, {"rendezvous": -1}, {"compute": -1}])
def test_what_a_trace_has_not_is_refused_by_name(tmp_path: Path, keys: dict[str, Any]) -> None:
    (tmp_path / "a.goal").write_text(EXAMPLE)
    with pytest.raises(ValidationError) as refusal:
        trace(tmp_path, "a.goal", **keys)
    assert refusal.value.errors()[0]["loc"][-1] in keys


@pytest.mark.parametrize(("chosen", "keys"), [
    ({"all-reduce": "ring"}, ("collectives",)), ("open-mpi", ("collectives",)),
    ({"all-reduce": "rings"}, ("collectives", "all-reduce")), ({"ring": "ring"}, ("collectives", "ring")),
])  # fmt: skip
def test_algorithms_of_collective_operations_are_checked(tmp_path: Path, chosen: Any, keys: tuple[str, ...]) -> None:
    (tmp_path / "a.goal").write_text(EXAMPLE)
    with pytest.raises(ValidationError) as refusal:
        Pattern.model_validate({"kind": "trace", "file": "a.goal", "collectives": chosen}, context={"folder": tmp_path})
    assert refusal.value.errors()[0]["ctx"]["error"].keys == keys


# The first message of rank 1 leaves at 5 us, that of rank 2 at 3 us; rank 0 takes any, then that of rank 1.
ANY_SOURCE = """num_ranks 3
rank 0 {
a: recv 8b from -1 tag -1
b: recv 8b from 1 tag -1
b irequires a
c: recv 8b from -1 tag 4
c requires a
}
rank 1 {
c: calc 5000
s: send 8b to 0 tag 3
s requires c
}
rank 2 {
c: calc 3000
s: send 8b to 0 tag 4
s requires c
}
"""


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 40), st.booleans(), st.booleans()),
                min_size=1, max_size=30))  # fmt: skip
def test_receives_from_any_rank_against_a_search_of_lists(messages: list[tuple[int, int, int, bool, bool]]) -> None:
    """Sends at distinct times and receives that are posted together, matched by the definition."""
    sends = [[f"c{i}: calc {100 * at + i}\ns{i}: send 8b to 3 tag {tag}\ns{i} requires c{i}\n"
              for i, (source, tag, at, *_) in enumerate(messages) if source == rank] for rank in range(3)]  # fmt: skip
    receives = [
        (-1 if any_source else source, -1 if any_tag else tag) for source, tag, _, any_source, any_tag in messages
    ]
    lines = [f"recv 8b from {source} tag {tag}\n" for source, tag in receives]
    text = "num_ranks 4\n" + "".join(
        f"rank {rank} {{\n{''.join(part)}}}\n" for rank, part in enumerate([*sends, lines])
    )
    waiting, expected = list(range(len(receives))), dict[int, int]()
    for i in sorted(range(len(messages)), key=lambda i: 100 * messages[i][2] + i):
        fits = [j for j in waiting if receives[j][0] in (-1, messages[i][0]) and receives[j][1] in (-1, messages[i][1])]
        if fits:
            waiting.remove(fits[0])
            expected[fits[0]] = messages[i][0]
    if waiting or all(-1 not in receive for receive in receives):
        return
    operations = operations_of(text)
    first = int(np.argmax(operations.rank == 3))
    found = operations.rank[operations.partner[first:]].tolist()
    assert found == [expected[j] for j in range(len(receives))]


def test_receives_from_any_rank_in_linear_time() -> None:
    """Twenty thousand messages wait for receives in the reverse order of their tags."""
    count = 20_000
    sends = "".join(f"send 8b to 1 tag {tag}\n" for tag in range(count))
    receives = "".join(f"r{tag}: recv 8b from -1 tag {tag}\nr{tag} requires c\n" for tag in reversed(range(count)))
    operations = operations_of(PAIR % (sends, "c: calc 1\n" + receives))
    assert operations.partner[count + 1 :].tolist() == list(reversed(range(count)))
    begin = time.process_time()
    with pytest.raises(InputFileError):
        goal.read(b"num_ranks 1\n" + b"/* " * 1_000_000)
    assert time.process_time() - begin < 5


def test_receives_from_any_rank_take_what_comes_first() -> None:
    text = ANY_SOURCE
    with pytest.raises(InputFileError) as refusal:
        operations_of(text)
    assert refusal.value.where == "line 6"  # nobody sends the third
    again = text.replace("c: recv 8b from -1 tag 4\nc requires a\n", "")
    operations = operations_of(again)
    assert operations.partner[:2].tolist() == [5, 3] and operations.received_from_any == 2
    # The faster sender comes first, and then none is left for the second receive, which names rank 1.
    with pytest.raises(InputFileError):
        operations_of(again.replace("5000", "100"))
