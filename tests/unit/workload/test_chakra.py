"""Chakra traces: examples of ASTRA-sim against closed forms, and nodes written here."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import ENDED, RECEIVE, SEND, Operations
from fabricstudy.workload.traces import chakra

EXAMPLES = Path(__file__).parents[3] / "configs/traces/chakra"
RING = (("all-reduce", "ring"),)


def test_a_ring_of_astra_sim_takes_the_time_of_its_steps() -> None:
    operations = matched(chakra.read(EXAMPLES / "custom_allreduce.0.et"))
    sends = operations.sends
    assert (operations.ranks, len(sends), set(operations.size_bytes[sends])) == (8, 8 * 14, {2**20 // 8})
    neighbour = operations.rank[operations.partner[sends]]
    assert np.array_equal(neighbour, (operations.rank[sends] + 1) % 8)
    # 14 steps, each after the message of the one before; in 7 of them a reduction of 7 us follows the message.
    transfer_ns = np.full(len(sends), 131_072.0)
    assert critical_path_ns(operations, transfer_ns, transfer_ns) == 14 * 131_072 + 7 * 7_000


def test_a_collective_operation_has_the_chosen_algorithm() -> None:
    found = matched(chakra.read(EXAMPLES / "all_reduce.0.et", RING))
    assert (len(found.sends), set(found.size_bytes[found.sends])) == (4 * 6, {2**18})
    # Recursive halving and doubling: two sizes.
    found = matched(chakra.read(EXAMPLES / "all_reduce.0.et"))
    assert sorted(found.size_bytes[found.sends].tolist()) == [2**18] * 8 + [2**19] * 8


def varint(number: int) -> bytes:
    digits = [number >> shift & 127 for shift in range(0, max(1, number.bit_length()), 7)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value % 2**64)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(number: int, kind: int, needs: tuple[int, ...] = (), us: int = 0, **attributes: int | str) -> bytes:
    """A node with a control dependency on the first of `needs`, and data dependencies on the others."""
    values = [
        field(10, field(1, name) + field(29 if isinstance(of, str) else 9, of)) for name, of in attributes.items()
    ]
    waits = [field(4, varint(need)) for need in needs[:1]] + [field(5, need) for need in needs[1:]]
    return b"".join([field(1, number), field(2, "node"), field(3, kind), *waits, field(7, us), *values])


def program(folder: Path, *ranks: list[bytes]) -> Operations:
    for rank, nodes in enumerate(ranks):
        messages = [field(1, "0.0.4"), *nodes]
        (folder / f"p.{rank}.et").write_bytes(b"".join(varint(len(message)) + message for message in messages))
    return matched(chakra.read(folder / "p.0.et"))


def test_nodes_wait_for_the_ends_of_others(tmp_path: Path) -> None:
    sender = [
        node(5, 5, (9, 7), comm_size=100, comm_dst=1, comm_tag=3),
        node(7, 4, us=4),
        node(9, 4, us=3, is_cpu_op=1),
    ]
    operations = program(tmp_path, sender, [node(0, 6, comm_size=100, comm_src=0, comm_tag=3), node(1, 2, (0,), us=2)])
    assert operations.duration_ns.tolist() == [0, 4_000, 3_000, 0, 2_000]
    assert operations.stream.tolist() == [0, 0, 1, 0, 2] and operations.size_bytes[0] == 100
    waits = zip(operations.dependent.tolist(), operations.needs.tolist(), operations.when.tolist(), strict=True)
    assert set(waits) == {(0, 1, ENDED), (0, 2, ENDED), (4, 3, ENDED)}
    assert critical_path_ns(operations, np.array([50.0]), np.array([50.0])) == 6_050


def test_an_empty_message_is_one(tmp_path: Path) -> None:
    operations = program(tmp_path, [node(0, 5, comm_size=0, comm_dst=1)], [node(0, 6, comm_size=0, comm_src=0)])
    assert operations.kind.tolist() == [SEND, RECEIVE] and operations.size_bytes.tolist() == [0, 0]


def test_process_groups_have_the_ranks_that_name_them(tmp_path: Path) -> None:
    def all_to_all(group: str) -> list[bytes]:
        # The first node starts the collective operation on a GPU, as in traces of PyTorch.
        return [
            node(0, 7, us=1, is_cpu_op=1),
            node(1, 7, (0,), comm_type=6, comm_size=80, pg_name=group),
            node(2, 4, (1,), us=1),
        ]

    operations = program(tmp_path, *(all_to_all("even" if rank % 2 == 0 else "odd") for rank in range(4)))
    sends = operations.sends
    pairs = zip(operations.rank[sends].tolist(), operations.rank[operations.partner[sends]].tolist(), strict=True)
    assert sorted(pairs) == [(0, 2), (1, 3), (2, 0), (3, 1)] and set(operations.size_bytes[sends]) == {40}
    assert critical_path_ns(operations, np.full(4, 10.0), np.full(4, 10.0)) == 2_010


@pytest.mark.parametrize(("nodes", "where"), [
    ([node(0, 5, comm_size=1, comm_dst=1), node(1, 4, (7,))], "p.0.et, node 1 (node)"),
    ([node(0, 5, comm_dst=1)], "p.0.et, node 0 (node)"),
    ([node(0, 5, comm_size=1)], "p.0.et, node 0 (node)"), ([node(0, 9)], "p.0.et, node 0 (node)"),
    ([node(0, 7, comm_type=12)], "p.0.et, node 0 (node)"), ([node(0, 5, comm_size=1, comm_dst=3)], "p.0.et, node 0"),
    ([b"\xff\xff"], "p.0.et, message 1"), ([field(10, b"\x0a\x7f")], "p.0.et, message 1"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_node(tmp_path: Path, nodes: Any, where: str) -> None:
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, nodes, [node(0, 6, comm_size=1, comm_src=0)])
    assert refusal.value.where == where
    (tmp_path / "p.0.et").write_bytes((EXAMPLES / "all_reduce.0.et").read_bytes()[:-1])
    with pytest.raises(InputFileError):
        chakra.read(tmp_path / "p.0.et")


def test_collectives_without_a_size_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    assert len(program(tmp_path, *[[node(3, 7, comm_type=0)]] * 2).sends) == 0
    assert "node 3" in caplog.messages[-1]


def test_damaged_files_give_one_error(tmp_path: Path) -> None:
    """Each shorter file is refused."""
    files = [(EXAMPLES / f"all_reduce.{rank}.et").read_bytes() for rank in range(4)]
    for rank, data in enumerate(files):
        (tmp_path / f"a.{rank}.et").write_bytes(data)
    for end in range(len(files[1])):
        (tmp_path / "a.1.et").write_bytes(files[1][:end])
        with pytest.raises(InputFileError) as refusal:
            matched(chakra.read(tmp_path / "a.0.et"))
        assert refusal.value.where


def attribute(value: bytes) -> bytes:
    return field(10, field(1, "comm_size") + value)


@pytest.mark.parametrize("parts", [
    [field(10, 5)], [field(10, field(1, 5) + field(9, 8))], [field(7, b"a")], [attribute(field(3, 8))],
    [field(3, b"a")], [field(2, 5)], [field(1, b"a")], [attribute(field(29, 5))], [attribute(varint(3 << 3 | 1))],
])  # fmt: skip
def test_fields_of_another_wire_type(tmp_path: Path, parts: list[bytes]) -> None:
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, [b"".join([field(1, 0), field(3, 4), *parts])])
    assert refusal.value.where == "p.0.et, message 1"


@pytest.mark.parametrize("value", [
    field(9, -100), field(13, 2**64 - 1), field(7, -1), varint(3 << 3 | 1) + struct.pack("<d", 1.9),
    varint(3 << 3 | 1) + struct.pack("<d", float("nan")), field(29, "8"), field(31, b"8"),
])  # fmt: skip
def test_a_size_that_is_no_whole_number_in_range(tmp_path: Path, value: bytes) -> None:
    send = b"".join([field(1, 3), field(3, 5), field(10, field(1, "comm_dst") + field(9, 1)), attribute(value)])
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, [send], [node(0, 6, comm_size=1, comm_src=0)])
    assert refusal.value.where == "p.0.et, node 3 ()"


def test_nodes_of_one_number(tmp_path: Path) -> None:
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, [node(1, 4, us=5), node(1, 4, us=5), node(2, 4, (1,))])
    assert refusal.value.where == "p.0.et, node 1 (node)"


SENDER = [
    {"Id": 5, "Name": "send", "NodeType": 5, "data_deps": [7], "comm_size": 100, "comm_dst": 1, "comm_tag": 3},
    {"Id": 7, "Name": "calc", "NodeType": 4, "runtime": 4, "data_deps": [], "is_cpu_op": True},
]
RECEIVER = """{"version": "0.0.4"}
{"name": "receive", "type": "COMM_RECV_NODE", "attr": [{"name": "comm_size", "int64Val": "100"},
 {"name": "comm_src", "int32Val": 0}, {"name": "comm_tag", "uint32Val": 3}]}{"id": "8", "type": "COMP_NODE",
 "ctrlDeps": ["0"], "durationMicros": "2"}
"""


def test_json_of_both_converters_is_what_the_messages_say(tmp_path: Path) -> None:
    (tmp_path / "j.0.json").write_text(json.dumps({"workload_graph": SENDER}))
    (tmp_path / "j.1.json").write_text(RECEIVER)
    found = matched(chakra.read(tmp_path / "j.0.json"))
    sender = [node(5, 5, (7,), comm_size=100, comm_dst=1, comm_tag=3), node(7, 4, us=4, is_cpu_op=1)]
    receiver = [node(0, 6, comm_size=100, comm_src=0, comm_tag=3), node(8, 4, (0,), us=2)]
    expected = program(tmp_path, sender, receiver)
    for name in ("rank", "stream", "kind", "duration_ns", "size_bytes", "partner", "dependent", "needs", "when"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize(("key", "value"), [
    ("Id", None), ("Id", 1.5), ("Id", 2**80), ("NodeType", "calc"), ("NodeType", 12), ("data_deps", 7),
    ("data_deps", [9]), ("data_deps", ["x"]), ("comm_size", -1), ("comm_size", 1.9), ("comm_dst", None),
    ("runtime", "long"),
    ("Id", 7),
])  # fmt: skip
def test_what_is_wrong_in_json(tmp_path: Path, key: str, value: Any) -> None:
    (tmp_path / "j.0.json").write_text(json.dumps({"workload_graph": [SENDER[0] | {key: value}, SENDER[1]]}))
    (tmp_path / "j.1.json").write_text(RECEIVER)
    with pytest.raises(InputFileError) as refusal:
        matched(chakra.read(tmp_path / "j.0.json"))
    assert refusal.value.where.startswith("j.0.json, node ")


@pytest.mark.parametrize("text", ["{", '{"version": 1} 5', "{}[" * 2, '{"a": ' * 100_000, '{"Id": ' + "9" * 5000 + "}"])
def test_text_that_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "j.0.json").write_text(text)
    with pytest.raises(InputFileError) as refusal:
        chakra.read(tmp_path / "j.0.json")
    assert refusal.value.where.startswith("j.0.json, object ")
