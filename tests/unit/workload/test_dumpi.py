"""DUMPI traces against what dumpi2ascii lists, calls written here, and the files that CODES gets."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.input_files import InputFileError
from fabricstudy.engine.codes.trace import _file, traces
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.matching import matched
from fabricstudy.workload.messages import Messages, WorkloadError
from fabricstudy.workload.operations import CALC, RECEIVE, Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.traces import dumpi
from fabricstudy.workload.traces.formats import read_trace

RING = Path(__file__).parents[3] / "configs/traces/dumpi/testtrace.meta"
WORLD, INT, DOUBLE, NULL = 2, 9, 14, 1


def messages_of(operations: Operations) -> list[tuple[int, int, int]]:
    sends = operations.sends
    receiver = operations.rank[operations.partner[sends]]
    columns = (operations.rank[sends], receiver, operations.size_bytes[sends])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def test_a_trace_of_sst_dumpi_is_what_dumpi2ascii_lists() -> None:
    operations = matched(dumpi.read(RING))
    ring = [(rank, (rank + 1) % 4, 4) for rank in range(4)]
    barrier = [(rank, (rank + far) % 4, 1) for rank in range(4) for far in (1, 2)]
    doubling = [(rank, rank ^ far, 4) for rank in range(4) for far in (1, 2)]
    assert messages_of(operations) == sorted([*ring, *barrier, *doubling])
    of_first = (operations.rank == 0) & (operations.kind == CALC) & (operations.duration_ns > 0)
    # Init, barrier, isend, receive, wait, all-reduce, finalize; Comm_rank and Comm_size are computation.
    assert operations.duration_ns[of_first].tolist() == [42_000, 15_000, 10_000, 8_000, 15_000, 7_000]
    assert dumpi.files(RING)[0] == RING and len(dumpi.files(RING)) == 5
    assert messages_of(matched(dumpi.read(RING.with_name("testtrace-0000.bin")))) == messages_of(operations)


def test_computation_is_of_the_clock_that_is_asked_for() -> None:
    """Times of rank 0 between calls, as dumpi2ascii lists them."""
    cpu = matched(dumpi.read(RING, clock="cpu"))
    of_first = (cpu.rank == 0) & (cpu.kind == CALC) & (cpu.duration_ns > 0)
    assert cpu.duration_ns[of_first].tolist() == [41_000, 16_000, 11_000, 8_000, 14_000, 7_000]
    assert messages_of(cpu) == messages_of(matched(dumpi.read(RING)))


def test_a_call_without_times_of_the_cpu_is_told(tmp_path: Path) -> None:
    """Calls that are written here have wall-clock times alone."""
    program(tmp_path, [call("send", 1, INT, 1, 0, WORLD)], [call("recv", 1, INT, 0, 0, WORLD, [])])
    with pytest.raises(InputFileError, match=r"p-0000\.bin"):
        dumpi.read(tmp_path / "p-0000.bin", clock="cpu")


def test_other_formats_have_no_clock_to_choose() -> None:
    folder = RING.parents[1]
    for name in ("chakra/all_reduce.0.et", "sweep.goal"):
        with pytest.raises(ConfigError) as refused:
            read_trace(folder / name, (), "invalid-data-file", clock="cpu")
        assert (refused.value.code, refused.value.keys) == ("does-not-fit", ("clock",))
    ring = {"kind": "trace", "clock": "cpu", "file": "dumpi/testtrace.meta"}
    of_ring: Any = Pattern.model_validate(ring, context={"folder": folder})
    assert of_ring.operations().compute_ns_per_rank()[0] == 97_000


def test_the_files_that_codes_gets_are_read_back(tmp_path: Path) -> None:
    columns = np.array([(0, 0, 1, 100), (0, 1, 2, 300), (0, 2, 0, 70), (1, 0, 2, 5_000), (1, 0, 1, 8)]).T
    phase, source, destination = columns[:3].astype(np.int32)
    for rank, data in enumerate(traces(3, Messages(phase, source, destination, columns[3]))):
        (tmp_path / f"run-{rank:04d}.bin").write_bytes(data)
    operations = matched(dumpi.read(tmp_path / "run-0000.bin"))
    assert messages_of(operations) == sorted(zip(*columns[1:].tolist(), strict=True))


# Numbers and layouts of calls are those of dumpi/common/dumpiio.c; R is an array, T statuses of source and tag.
CALLS = {
    "send": (0, ">ihiih"), "recv": (1, ">ihiihT"), "isend": (8, ">ihiihi"), "irecv": (12, ">ihiihi"),
    "waitany": (16, ">iRiT"), "waitall": (18, ">iRT"), "testall": (19, ">iRiT"), "waitsome": (20, ">iRiRT"),
    "send_init": (26, ">ihiihi"), "start": (31, ">i"), "sendrecv": (33, ">ihiiihiihT"), "vector": (36, ">iiihh"),
    "bcast": (53, ">ihih"), "gatherv": (55, ">iiihihRRh"), "gatherv_sent": (55, ">iiihihh"),
    "allgatherv": (59, ">iihRRhh"), "alltoallv": (61, ">iRRhRRhh"), "allreduce": (65, ">ihbh"), "scan": (67, ">ihbh"),
    "dup": (84, ">hh"), "split": (86, ">hiih"), "comm_group": (72, ">hh"), "union": (73, ">hhh"),
    "difference": (75, ">hhh"), "incl": (76, ">hiRh"), "range_excl": (79, ">hiJh"), "create": (85, ">hhh"),
}  # fmt: skip


def call(name: str, *values: Any) -> bytes:
    """A call with a mask of wall-clock times and statuses."""
    number, layout = CALLS[name]
    data = struct.pack(">HBHIHI", number, 8 + 3, 0, 0, 0, 0)
    for code, value in zip(layout[1:], values, strict=True):
        if code == "R":
            data += struct.pack(f">{len(value) + 1}i", len(value), *value)
        elif code == "J":
            data += struct.pack(">I", len(value)) + b"".join(struct.pack(">4i", 3, *part) for part in value)
        elif code == "T":
            data += struct.pack(">I", len(value)) + b"".join(
                struct.pack(">iibbi", 0, at, 0, 0, tag) for at, tag in value
            )
        else:
            data += struct.pack(f">{code}", value)
    return data


def timed(data: bytes, start_ns: int, stop_ns: int) -> bytes:
    """The same call with its times."""
    return data[:3] + struct.pack(">HIHI", 0, start_ns, 0, stop_ns) + data[15:]


def program(folder: Path, *ranks: Sequence[bytes]) -> Operations:
    for rank, calls in enumerate(ranks):
        data = bytearray(_file(b"".join(calls)))
        (footer,) = struct.unpack_from(">Q", data, len(data) - 16)
        for made in calls:
            struct.pack_into(">I", data, footer + 8 + 4 * struct.unpack_from(">H", made)[0], 1)
        (folder / f"p-{rank:04d}.bin").write_bytes(data)
    return matched(dumpi.read(folder / "p-0000.bin"))


def test_receives_from_any_rank_take_what_their_status_says(tmp_path: Path) -> None:
    sender = [call("isend", 1, DOUBLE, 2, 4, WORLD, 9), call("waitall", 1, [9], [])]
    receiver = [
        call("irecv", 10, DOUBLE, -1, -1, WORLD, 5), call("irecv", 10, DOUBLE, -1, 4, WORLD, 6),
        call("testall", 2, [5, 6], 0, []), call("waitany", 2, [5, 6], 1, [(0, 4)]),
        call("waitsome", 2, [5, 1], 1, [0], [(1, 4)]),
        call("recv", 1, INT, -1, 7, WORLD, [(-1, 7)]),
    ]  # fmt: skip
    operations = program(tmp_path, sender, sender, receiver)
    assert messages_of(operations) == [(0, 2, 8), (1, 2, 8)] and operations.received_from_any == 0
    assert operations.rank[operations.partner[operations.kind == RECEIVE]].tolist() == [1, 0]


def test_an_empty_message_is_one_and_an_empty_collective_operation_is_none(tmp_path: Path) -> None:
    ranks = [[call("bcast", 0, DOUBLE, 0, WORLD)]] * 2
    sender = [call("send", 0, DOUBLE, 1, 4, WORLD), *ranks[0]]
    receiver = [call("recv", 10, DOUBLE, 0, 4, WORLD, [(0, 4)]), *ranks[1]]
    assert messages_of(program(tmp_path, sender, receiver)) == [(0, 1, 0)]


def test_communicators_have_ranks_and_tags_of_their_own(tmp_path: Path) -> None:
    def calls(rank: int) -> list[bytes]:
        other = rank // 2  # the rank of the other member: keys reverse the order
        return [
            call("dup", WORLD, 4), call("split", 4, rank % 2, -rank, 5),
            call("sendrecv", 3, INT, other, 1, 3, INT, other, 1, 5, []), call("allreduce", 2, DOUBLE, 1, 5),
        ]  # fmt: skip

    operations = program(tmp_path, *map(calls, range(4)))
    pairs = [(0, 2), (1, 3), (2, 0), (3, 1)]
    assert messages_of(operations) == sorted([(*pair, size) for pair in pairs for size in (12, 16)])


def test_blocks_of_different_sizes_reach_their_ranks(tmp_path: Path) -> None:
    blocks = [1, 0, 3]
    all_gather = call("allgatherv", 3, 1, INT, blocks, [0, 1, 1], INT, WORLD)
    root = [all_gather, call("gatherv", 0, 3, 1, INT, 0, WORLD, [1, 2, 0], [0, 0, 0], INT)]
    second = [all_gather, call("gatherv_sent", 1, 3, 2, INT, 0, WORLD, INT)]
    third = [all_gather, call("gatherv_sent", 2, 3, 0, INT, 0, WORLD, INT)]
    # Round the ring the block of rank 0 goes to 1 and 2, that of rank 2 to 0 and 1.
    ring = [(0, 1, 4), (1, 2, 4), (2, 0, 12), (0, 1, 12)]
    assert messages_of(program(tmp_path, root, second, third)) == sorted([*ring, (1, 0, 8)])
    calls = [[call("alltoallv", 2, [0, 5], [0, 0], INT, [0, 0], [0, 0], INT, WORLD)],
             [call("alltoallv", 2, [0, 0], [0, 0], INT, [5, 0], [0, 0], INT, WORLD)]]  # fmt: skip
    (tmp_path / "p-0002.bin").unlink()
    assert messages_of(program(tmp_path, *calls)) == [(0, 1, 20)]


def test_communicators_of_groups(tmp_path: Path) -> None:
    """Ranks 3 and 1 become ranks 0 and 1 of one communicator, 0 and 2 of another; each sends to the other."""

    def calls(rank: int) -> list[bytes]:
        odd = rank % 2
        made = [call("comm_group", WORLD, 5), call("incl", 5, 2, [3, 1], 6), call("range_excl", 5, 1, [(1, 3, 2)], 7)]
        made += [call("difference", 5, 6, 8), call("union", 2, 7 if rank == 0 else 8, 9)]
        made.append(call("create", WORLD, 6 if odd else 9, 4))
        place = [0, 1, 1, 0][rank]
        return [*made, call("isend", 10 + rank, INT, 1 - place, 0, 4, 77), call("recv", 99, INT, 1 - place, 0, 4, [])]

    operations = program(tmp_path, *map(calls, range(4)))
    assert messages_of(operations) == [(0, 2, 40), (1, 3, 44), (2, 0, 48), (3, 1, 52)]
    outside = [call("comm_group", WORLD, 5), call("incl", 5, 1, [0], 6), call("create", WORLD, 6, NULL)]
    single = [*outside[:2], call("create", WORLD, 6, 4), call("send", 1, INT, 0, 0, 4)]
    for rank in range(4):
        (tmp_path / f"p-{rank:04d}.bin").unlink()
    with pytest.raises(InputFileError):
        program(tmp_path, single, [*outside, call("send", 1, INT, 0, 0, NULL)])


def test_persistent_sends_derived_types_and_null_partners(tmp_path: Path) -> None:
    sender = [
        call("vector", 4, 2, 100, DOUBLE, 30), call("send_init", 3, 30, 1, 0, WORLD, 8), call("start", 8),
        call("waitall", 1, [8], []), call("start", 8), call("waitall", 1, [8], []), call("send", 1, INT, -2, 0, WORLD),
    ]  # fmt: skip
    receiver = [call("recv", 192, 5, 0, 0, WORLD, []), call("recv", 200, 5, 0, 0, WORLD, [])]
    operations = program(tmp_path, sender, receiver)
    assert messages_of(operations) == [(0, 1, 3 * 4 * 2 * 8)] * 2
    assert critical_path_ns(operations, np.full(2, 5.0), np.full(2, 3.0)) == 8.0


@pytest.mark.parametrize(("calls", "where"), [
    ([call("scan", 1, INT, 1, WORLD)], "p-0000.bin, call 1"),
    ([call("send", 1, 77, 1, 0, WORLD)], "p-0000.bin, call 1"),
    ([call("dup", WORLD, 4), call("send", 1, INT, 1, 0, 6)], "p-0000.bin, call 2"),
    ([call("send", 1, INT, 2, 0, WORLD)], "p-0000.bin, call 1"),
    ([call("send", 1, INT, 1, 0, WORLD), call("send", 1, INT, 1, 0, WORLD)], "p-0000.bin, call 2"),
    ([call("send", 1, INT, 1, 0, WORLD)[:-3]], "p-0000.bin, call 1"),
    ([struct.pack(">HB", 142, 8)], "p-0000.bin, call 0"), ([call("send", -1, INT, 1, 0, WORLD)], "p-0000.bin, call 1"),
    ([call("incl", 5, 1, [0], 6), call("create", WORLD, 6, 4), call("send", 1, INT, 1, 0, 4)], "p-0000.bin, call 3"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_call(tmp_path: Path, calls: list[bytes], where: str) -> None:
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, calls, [call("recv", 1, INT, 0, 0, WORLD, [])])
    assert refusal.value.where == where


def test_a_call_that_ends_before_it_begins_is_refused(tmp_path: Path) -> None:
    wait = call("waitall", 0, [], [])
    with pytest.raises(InputFileError) as refusal:
        program(tmp_path, [timed(wait, 5, 9), timed(wait, 20, 19)], [wait])
    assert refusal.value.where == "p-0000.bin, call 2" and refusal.value.value == 19


@pytest.mark.parametrize(
    "text", ["numprocs=4\n", "numprocs=0\nfileprefix=a\n", "numprocs=2\nfileprefix=../a\n", "\xff"]
)
def test_the_meta_file_names_the_others(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.meta").write_text(text, encoding="latin-1")
    with pytest.raises(InputFileError):
        dumpi.read(tmp_path / "a.meta")


def test_damaged_files_give_one_error(tmp_path: Path) -> None:
    """A file that ends too early is refused, and one without a part of its calls; of others nothing else is raised."""
    for file in dumpi.files(RING)[1:]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    damaged = tmp_path / "testtrace-0001.bin"
    data, refused = damaged.read_bytes(), 0
    for end in range(0, len(data), 7):
        for part in (data[:end], data[:end] + data[end + 7 :]):
            damaged.write_bytes(part)
            try:
                operations = matched(dumpi.read(tmp_path / "testtrace-0000.bin"))
            except InputFileError as error:
                assert error.where
                refused += 1
            else:
                # What is missing then is a table of names or counts.
                assert len(part) > len(data) - 8 and messages_of(operations) == messages_of(matched(dumpi.read(RING)))
    assert refused > 1.5 * len(data) / 7


def test_a_point_holds_the_content_of_all_files(tmp_path: Path) -> None:
    for file in dumpi.files(RING):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    trace = Pattern.model_validate({"kind": "trace", "file": RING.name}, context={"folder": tmp_path})
    assert len(trace.operations().sends) == 20
    damaged = tmp_path / "testtrace-0002.bin"
    damaged.write_bytes(damaged.read_bytes() + b" ")
    with pytest.raises(WorkloadError):
        trace.operations()
