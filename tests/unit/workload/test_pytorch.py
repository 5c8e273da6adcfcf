"""PyTorch execution traces with Kineto, written here; expected times and bytes are counted by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.input_files import InputFileError
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.traces import pytorch
from fabricstudy.workload.traces.formats import format_of

from .test_dumpi import messages_of


def tensor(number: int, count: int, size: int = 4) -> list[Any]:
    return [number, number + 1, 0, count, size, "cuda:0"]


def comms(number: int, name: str, sent: Any, received: Any, *splits: list[int], group: Any = 17, root: int = 0) -> Any:
    """A collective operation in the schema 1.0.1."""
    inputs = [sent, number, group, root, name, *(splits or ([], []))]
    return {"name": "record_param_comms", "id": number, "rf_id": number, "inputs": inputs, "outputs": [received]}


def attributed(number: int, name: str, count: int, group: str) -> Any:
    """A collective operation in the schema 1.1.0."""
    values = {"values": [[tensor(1, count)], number, [group, "default_pg"], 0, name, [], [], 0, 1, 2]}
    attrs = [{"name": "pg_name", "type": "string", "value": group}]
    return {"name": "record_param_comms", "id": number, "inputs": values, "outputs": {"values": []}, "attrs": attrs}


def kernel(name: str, stream: float, start_us: float, time_us: float, launch: int) -> Any:
    args = {"stream": stream, "correlation": launch, "External id": launch}
    return {"ph": "X", "cat": "kernel", "name": name, "ts": 5e9 + start_us, "dur": time_us, "args": args}


HOST = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 5, "args": {"External id": 4}}


def program(folder: Path, *ranks: tuple[list[Any], list[Any]], packed: bool = False) -> Operations:
    for rank, (nodes, events) in enumerate(ranks):
        other = {"name": "aten::mm", "id": 1, "inputs": [], "outputs": []}
        (folder / f"p_{rank}.json").write_text(json.dumps({"schema": "1.0.1", "pid": 5, "nodes": [other, *nodes]}))
        text = json.dumps({"schemaVersion": 1, "traceEvents": [HOST, *events]}).encode()
        beside = folder / f"p_{rank}.kineto.json{'.gz' * packed}"
        beside.write_bytes(gzip.compress(text) if packed else text)
    return matched(pytorch.read(folder / "p_0.json"))


def test_kernels_wait_as_they_were_recorded(tmp_path: Path) -> None:
    """Two streams: b begins 3 us after a, c of the other one 1 us after b, and d when both have ended."""
    events = [kernel("d", 7, 25, 5, 4), kernel("a", 7, 0, 10, 1), kernel("b", 7, 13, 4, 2), kernel("c", 9, 18, 7, 3)]
    operations = program(tmp_path, ([], events), ([], [kernel("alone", 7, 3, 2, 9)]))
    assert format_of(tmp_path / "p_0.json") == "pytorch" and len(operations.sends) == 0
    assert operations.compute_ns_per_rank().tolist() == [(10 + 3 + 4 + 1 + 7 + 0 + 5) * 1000, 2000]
    nothing = np.zeros(0)
    assert critical_path_ns(operations, nothing, nothing) == 30_000
    streams = operations.stream[(operations.rank == 0) & (operations.duration_ns > 3000)]
    assert streams.tolist() == [0, 0, 2, 0]


def test_messages_replace_the_kernels_of_nccl(tmp_path: Path) -> None:
    """The operations of the trace are in the order of launches, not of begins; waits are none."""

    def rank(mine: int) -> tuple[list[Any], list[Any]]:
        splits = [20, 10] if mine else [10, 20]
        nodes = [
            comms(9, "all_to_allv", tensor(3, 30), tensor(5, 30), splits, splits), comms(5, "wait", 3, []),
            comms(4, "allreduce", [tensor(3, 250)], [[tensor(3, 250)]]),
        ]  # fmt: skip
        events = [
            kernel("gemm", 7, 0, 10, 1), kernel("ncclKernel_AllReduce_RING", 9, 10, 900, 2),
            kernel("ncclKernel_SendRecv", 9, 915, 400, 3),
        ]  # fmt: skip
        return nodes, events

    operations = program(tmp_path, rank(0), rank(1), packed=True)
    # Of 1000 B by recursive doubling, then 20 of 30 elements.
    assert messages_of(operations) == [(0, 1, 80), (0, 1, 1000), (1, 0, 80), (1, 0, 1000)]
    times = np.full(4, 50_000.0)
    # 10 us, a message, 5 us, a message.
    assert critical_path_ns(operations, times, times) == 115_000


def test_process_groups_of_the_newer_schema(tmp_path: Path) -> None:
    """Ranks 0 and 2, and 1 and 3; the first group is all ranks."""
    groups = [{"pg_name": "0", "ranks": []}, {"pg_name": "even", "ranks": [0, 2]}, {"pg_name": "odd", "ranks": [1, 3]}]
    init = {"name": "## process_group:init ##", "id": 3, "inputs": {"values": [json.dumps(groups)]}, "outputs": {}}

    def rank(mine: int) -> tuple[list[Any], list[Any]]:
        nodes = [init, attributed(4, "broadcast", 8, "0"), attributed(5, "allreduce", 4, "odd" if mine % 2 else "even")]
        return nodes, [kernel("ncclDevKernel_Broadcast", 9, 5, 9, 2), kernel("ncclDevKernel_AllReduce", 9, 15, 9, 3)]

    operations = program(tmp_path, *map(rank, range(4)))
    pairs = [(0, 2, 16), (1, 3, 16), (2, 0, 16), (3, 1, 16)]
    assert messages_of(operations) == sorted([(0, 1, 32), (0, 2, 32), (2, 3, 32), *pairs])


ALL_REDUCE = [comms(4, "allreduce", [tensor(3, 250)], [])]
NCCL = [kernel("ncclKernel_AllReduce", 9, 10, 9, 2)]


@pytest.mark.parametrize(("nodes", "events", "where"), [
    (ALL_REDUCE, [], "p_0.kineto.json"), ([], NCCL, "p_0.kineto.json"),
    (ALL_REDUCE, [kernel("ncclKernel_Broadcast", 9, 10, 9, 2)], "p_0.kineto.json"),
    (ALL_REDUCE, [kernel("ncclKernel_AllReduce", 9, 10, -9, 2)], "p_0.kineto.json"),
    (ALL_REDUCE, [kernel("ncclKernel_AllReduce", 9, float("nan"), 9, 2)], "p_0.kineto.json"),
    (ALL_REDUCE, [kernel("ncclKernel_AllReduce", 9.5, 10, 9, 2)], "p_0.kineto.json"),
    (ALL_REDUCE, [{"cat": "kernel", "ph": "X"}], "p_0.kineto.json"),
    ([comms(4, "send", tensor(3, 250), [])], NCCL, "node 4"),
    ([comms(4, "allreduce", [tensor(3, -250)], [])], NCCL, "p_0.json"),
    ([comms(4, "allreduce", [tensor(3, 2**61, 8)], [])], NCCL, "p_0.kineto.json"),
    ([comms(4, "broadcast", [tensor(3, 8)], [], root=7)], [kernel("ncclBroadcast", 9, 1, 1, 1)], "p_0.kineto.json"),
    ([{"name": "record_param_comms", "id": 4}], NCCL, "p_0.json"), ([5], NCCL, "p_0.json"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_its_file(tmp_path: Path, nodes: Any, events: Any, where: str) -> None:
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, (nodes, events), (ALL_REDUCE, NCCL))
    assert refusal.value.where == where


def test_text_that_is_no_json(tmp_path: Path) -> None:
    program(tmp_path, (ALL_REDUCE, NCCL), (ALL_REDUCE, NCCL))
    (tmp_path / "p_1.kineto.json").write_text("[" * 100_000)
    with pytest.raises(InputFileError) as refusal:
        pytorch.read(tmp_path / "p_0.json")
    assert refusal.value.where == "p_1.kineto.json"


def test_each_rank_has_a_trace_of_kineto(tmp_path: Path) -> None:
    program(tmp_path, (ALL_REDUCE, NCCL), (ALL_REDUCE, NCCL))
    (tmp_path / "p_1.kineto.json").unlink()
    with pytest.raises(InputFileError) as refusal:
        pytorch.files(tmp_path / "p_0.json")
    assert refusal.value.where == "p_1.json"
