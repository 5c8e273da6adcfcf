"""Whatever the files of a trace hold, they are read as sound operations or refused, in little time and memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricstudy.core.errors import ConfigError
from fabricstudy.workload.operations import CALC, RECEIVE, SEND
from fabricstudy.workload.traces.formats import Format, files_beside, read_trace

from . import test_chakra, test_dumpi, test_pytorch
from .test_trace_formats import make

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECONDS, BYTES = 5, 150_000_000
BROADCAST = Path(__file__).parents[2] / "data/traces/otf2"


def read_or_refused(path: Path, name: Format | None = None) -> None:
    begin = time.process_time()
    tracemalloc.start()
    try:
        operations, _ = read_trace(path, (), "invalid-trace", name)
    except ConfigError as error:
        assert error.keys == ("file",) and error.remedy and len(str(error)) < 600
    else:
        kind, sends = operations.kind, operations.sends
        partner = operations.partner[sends]
        assert np.array_equal(operations.partner[partner], sends) and set(kind[partner]) <= {RECEIVE}
        assert set(kind) <= {CALC, SEND, RECEIVE} and len(partner) == np.count_nonzero(kind == RECEIVE)
        assert (operations.size_bytes[sends] >= 0).all() and np.isfinite(operations.duration_ns).all()
        assert (operations.duration_ns >= 0).all()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.process_time() - begin < SECONDS and peak < BYTES


@st.composite
def changes(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Changes of single bytes, a cut, or a part that is left out or there twice."""
    places = draw(
        st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0, 1, 8, 127, 128, 255, 45, 48, 57])), max_size=4)
    )
    first, second = sorted([draw(st.floats(0, 1)), draw(st.floats(0, 1))])
    how = draw(st.sampled_from(["bytes", "cut", "left out", "twice"]))

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        for place, value in places:
            changed[int(place * (len(data) - 1))] = value
        begin, end = int(first * len(data)), int(second * len(data))
        if how == "cut":
            return bytes(changed[:end])
        if how == "left out":
            return bytes(changed[:begin] + changed[end:])
        return bytes(changed[:end] + changed[begin:] if how == "twice" else changed)

    return change


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[Format, Path]:
    """A trace of each format."""
    return make(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("name", ["goal", "goal-binary", "parquet", "dumpi", "chakra", "liballprof"])
@FUZZ
@given(change=changes(), place=st.integers(0, 1))
def test_damaged_files(
    tmp_path_factory: pytest.TempPathFactory, files: dict[Format, Path], name: Format, change: Any, place: int
) -> None:
    folder, first = tmp_path_factory.mktemp("damaged"), files[name]
    of_trace = [first, *files_beside(first)]
    for number, file in enumerate(of_trace):
        data = file.read_bytes()
        (folder / file.name).write_bytes(change(data) if number == place % len(of_trace) else data)
    read_or_refused(folder / first.name, name)


@FUZZ
@given(change=changes(), place=st.integers(0, 10))
def test_damaged_archives(
    tmp_path_factory: pytest.TempPathFactory, change: Callable[[bytes], bytes], place: int
) -> None:
    pytest.importorskip("otf2")
    folder = tmp_path_factory.mktemp("archive")
    files = sorted(path for path in BROADCAST.rglob("*") if path.suffix in (".otf2", ".def", ".evt"))
    for number, file in enumerate(files):
        to = folder / file.relative_to(BROADCAST)
        to.parent.mkdir(exist_ok=True)
        to.write_bytes(change(file.read_bytes()) if number == place % len(files) else file.read_bytes())
    read_or_refused(folder / "traces.otf2", "otf2")


WORDS = st.sampled_from([
    "num_ranks", "rank", "{", "}", "send", "recv", "calc", "b", "to", "from", "tag", "cpu", "nic", ":", "requires",
    "irequires", "a", "l1", "0", "1", "2", "-1", "8b", "99999999999999999999", "1.5", "1_0", "//", "/*", "*/", "\n",
    "\n", "\u0661", "\x00",
])  # fmt: skip
OPERATIONS = st.sampled_from([
    "send 8b to 1", "recv 8b from 0", "recv 8b from -1 tag -1", "calc 5 cpu 3", "a: calc 1", "b: send 8 b to 0 tag 1",
    "b requires a", "a irequires b", "}", "rank 1 {", "rank 0 {", "c:recv 8b from 1 tag 1", "c requires b",
])  # fmt: skip


@FUZZ
@given(lines=st.lists(st.one_of(OPERATIONS, st.lists(WORDS, max_size=9).map(" ".join)), max_size=14))
def test_words_of_goal(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("words") / "a.goal"
    path.write_text("\n".join(["num_ranks 2", "rank 0 {", *lines]), encoding="utf-8")
    read_or_refused(path, "goal")


CELLS = st.sampled_from([
    "0", "1", "-1", "-2", "8", "4096", "1000000000000", "18446744073709551615", "nan", "1e3", "1_0", "1.9", "", "x",
    "0,0,2", "0,1,2", "0,0,3", "11,8,8", "11,-8,8", "11", ",,", "1e400",
])  # fmt: skip
CALLS = st.sampled_from([
    "Init", "Send", "Recv", "Isend", "Irecv", "Wait", "Waitall", "Sendrecv", "Barrier", "Bcast", "Allreduce", "Gather",
    "Alltoall", "Reduce_scatter", "Finalize", "Test", "",
])  # fmt: skip


@FUZZ
@given(calls=st.lists(st.tuples(CALLS, st.lists(CELLS, max_size=13)), max_size=6))
def test_calls_of_liballprof(tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, list[str]]]) -> None:
    folder = tmp_path_factory.mktemp("calls")
    (folder / "m-0.txt").write_text("\n".join(f"MPI_{name}:{':'.join(cells)}" for name, cells in calls))
    (folder / "m-1.txt").write_text("MPI_Recv:1:64:1:11,8,8:0:1:0,1,2:9:9\n")
    read_or_refused(folder / "m-0.txt", "liballprof")


NUMBERS = st.sampled_from([0, 1, 2, 3, 5, 6, 7, 9, -1, -100, 2**31, 2**62, 2**63, 2**64 - 1])
FIELDS = st.recursive(
    st.one_of(NUMBERS, st.binary(max_size=9), st.sampled_from(["comm_size", "comm_dst", "comm_type", "pg_name", "a"])),
    lambda inner: st.lists(st.tuples(st.integers(1, 33), inner), max_size=4).map(
        lambda pairs: b"".join(test_chakra.field(*pair) for pair in pairs)
    ),
    max_leaves=6,
)


@FUZZ
@given(nodes=st.lists(st.lists(st.tuples(st.integers(0, 12), FIELDS), max_size=6), max_size=4))
def test_fields_of_chakra(tmp_path_factory: pytest.TempPathFactory, nodes: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("fields")
    known = test_chakra.node(0, 5, comm_size=8, comm_dst=1)
    messages = [b"0.0.4", known, *(b"".join(test_chakra.field(*pair) for pair in node) for node in nodes)]
    data = b"".join(test_chakra.varint(len(message)) + message for message in messages)
    (folder / "a.0.et").write_bytes(data)
    receive = test_chakra.node(0, 6, comm_size=8, comm_src=0)
    (folder / "a.1.et").write_bytes(b"\x01x" + test_chakra.varint(len(receive)) + receive)
    read_or_refused(folder / "a.0.et", "chakra")


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(), st.sampled_from(["", "1", "x", "allreduce", "cuda:0"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["name", "id"]), inner)),
    max_leaves=5,
)


@FUZZ
@given(keys=st.dictionaries(
    st.sampled_from(["Id", "NodeType", "data_deps", "ctrl_deps", "runtime", "comm_size", "comm_dst", "Name"]),
    VALUES, max_size=4,
), other=VALUES)  # fmt: skip
def test_values_of_chakra_in_json(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Any], other: Any) -> None:
    folder = tmp_path_factory.mktemp("values")
    graph = [{"Id": 1, "NodeType": 5, "comm_dst": 1} | keys, other]
    (folder / "a.0.json").write_text(json.dumps({"workload_graph": graph}))
    (folder / "a.1.json").write_text(json.dumps({"version": "1"}) + json.dumps({"id": "1", "attr": [keys, other]}))
    read_or_refused(folder / "a.0.json", "chakra")


@FUZZ
@given(place=st.integers(0, 4), value=VALUES, key=st.sampled_from(["name", "id", "inputs", "outputs", "attrs", "ts",
       "dur", "args", "cat"]), of_host=st.booleans())  # fmt: skip
def test_values_of_pytorch(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: Any, key: str, of_host: bool
) -> None:
    folder = tmp_path_factory.mktemp("values")
    operation, kernel = json.loads(json.dumps([test_pytorch.ALL_REDUCE[0], test_pytorch.NCCL[0]]))
    changed: Any = operation if of_host else kernel
    if of_host and place < len(operation["inputs"]) and key == "inputs":
        operation["inputs"][place] = value
    elif key == "args":
        kernel["args"]["stream" if place % 2 else "correlation"] = value
    else:
        changed[key] = value
    with suppress(ConfigError):
        test_pytorch.program(folder, ([operation], [kernel]), (test_pytorch.ALL_REDUCE, test_pytorch.NCCL))
    read_or_refused(folder / "p_0.json", "pytorch")


ITEMS = st.one_of(NUMBERS.filter(lambda number: abs(number) < 2**63), st.integers(-2, 5))


@FUZZ
@given(columns=st.dictionaries(st.sampled_from(["rank", "stream", "kind", "ns", "bytes", "partner"]),
                               st.lists(ITEMS, min_size=2, max_size=2), max_size=3),
       needs=st.lists(st.lists(ITEMS, max_size=3), min_size=2, max_size=2),
       ranks=st.sampled_from([b"2", b"0", b"", b"-1", b"1_0", b"9" * 5000, b"\xff"]))  # fmt: skip
def test_columns_of_parquet(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, Any], needs: list[list[int]], ranks: bytes
) -> None:
    path = tmp_path_factory.mktemp("columns") / "a.parquet"
    known = {"rank": [0, 1], "stream": [0, 0], "kind": [1, 2], "ns": [0.0, 0.0], "bytes": [8, 8], "partner": [1, 0]}
    frame = pd.DataFrame(known | {"needs_ended": needs, "needs_started": [[], []]} | columns)
    pq.write_table(pa.Table.from_pandas(frame).replace_schema_metadata({b"fabricstudy.ranks": ranks}), path)
    read_or_refused(path, "parquet")


@FUZZ
@given(calls=st.lists(st.tuples(st.sampled_from(sorted(test_dumpi.CALLS)), st.lists(ITEMS, max_size=12)), max_size=4))
def test_calls_of_dumpi(tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, list[int]]]) -> None:
    folder, made = tmp_path_factory.mktemp("calls"), list[bytes]()
    sizes = {"i": 2**31, "h": 2**15, "b": 2**7}
    for name, numbers in calls:
        values, rest = list[Any](), iter([*numbers, *range(20)])
        for code in test_dumpi.CALLS[name][1][1:]:
            if code in sizes:
                values.append(next(rest) % (2 * sizes[code]) - sizes[code] * (next(rest) % 3 == 0))
                values[-1] = max(-sizes[code], min(sizes[code] - 1, values[-1]))
            elif code == "R":
                values.append([next(rest) % 2**31 for _ in range(next(rest) % 3)])
            else:
                values.append([(next(rest) % 2**31, 1)] if code == "T" else [(next(rest) % 100, 5, 0)])
        made.append(test_dumpi.call(name, *values))
    with suppress(ConfigError):
        test_dumpi.program(folder, made, [test_dumpi.call("allreduce", 1, 9, 0, 2)])
    read_or_refused(folder / "p-0000.bin", "dumpi")
