"""Traces of MPI calls against operations counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once
from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import CALC, ENDED, RECEIVE, SEND, STARTED, Operations
from fabricstudy.workload.traces import liballprof

SENDER = [
    "# a comment", "MPI_Init:0:0:100", "MPI_Comm_rank:103:0,0,2:7:104", "MPI_Isend:150:64:10:11,8,8:1:5:0,0,2:4096:152",
    "MPI_Wait:170:4096:9:180", "MPI_Barrier:180:0,0,2:190", "MPI_Finalize:191",
]  # fmt: skip
RECEIVER = [
    "MPI_Init:0:0:90",
    "MPI_Recv:120:64:10:11,8,8:0:5:0,1,2:9:160",
    "MPI_Barrier:200:0,1,2:220",
    "MPI_Finalize:221",
]


def read(folder: Path, *ranks: list[str]) -> Operations:
    for rank, lines in enumerate(ranks):
        (folder / f"run-{rank}.txt").write_text("\n".join(lines))
    return matched(liballprof.read(folder / "run-0.txt"))


def test_calls_become_what_passes_between_them_and_messages(tmp_path: Path) -> None:
    operations = read(tmp_path, SENDER, RECEIVER)
    # Computation, isend, computation, wait, and a message to the other rank and back; receive alike.
    expected = [CALC, SEND, CALC, CALC, SEND, RECEIVE, CALC, RECEIVE, CALC, SEND, RECEIVE]
    assert operations.kind.tolist() == expected
    assert operations.rank.tolist() == [0] * 6 + [1] * 5
    assert operations.duration_ns[operations.kind == CALC].tolist() == [50_000, 18_000, 0, 30_000, 40_000]
    assert operations.size_bytes[operations.sends].tolist() == [80, 1, 1]
    waits = set(zip(operations.dependent.tolist(), operations.needs.tolist(), operations.when.tolist(), strict=True))
    assert {(1, 0, ENDED), (2, 1, STARTED), (3, 2, ENDED), (3, 1, ENDED), (4, 3, ENDED), (5, 3, ENDED)} <= waits
    assert operations.partner[1] == 7


@pytest.mark.parametrize(
    ("times", "computed"),
    [
        ([(150, 200), (160, 170), (260, 300)], [50_000, 60_000]),
        ([(150, 200), (160, 230), (260, 300)], [50_000, 30_000]),
        ([(150, 200), (20, 30), (40, 50)], [50_000, 10_000]),
    ],
    ids=["within", "across", "clock set back"],
)
def test_calls_that_overlap_are_named_and_leave_the_computation_between_their_ends(
    tmp_path: Path, times: list[tuple[int, int]], computed: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    calls = [f"MPI_Barrier:{start}:0,0,1:{end}" for start, end in times]
    assert read(tmp_path, ["MPI_Init:0:0:100", *calls]).duration_ns.tolist() == computed
    assert any("1 calls begin" in message and "run-0.txt, line 3" in message for message in caplog.messages)


def test_collective_operations_are_those_of_the_patterns(tmp_path: Path) -> None:
    def lines(rank: int) -> list[str]:
        world = f"0,{rank},4"
        return [
            "MPI_Init:0:0:0", f"MPI_Allreduce:5:1:2:125:2,8,8:3:{world}:9", f"MPI_Bcast:9:1:3:2,100,1:2:{world}:10",
            f"MPI_Reduce:11:1:2:7:2,8,8:3:0:{world}:12",
        ]  # fmt: skip

    operations = read(tmp_path, *map(lines, range(4)))
    size = operations.size_bytes[operations.sends]
    # Recursive doubling of 1000 B, two binomial trees of 300 and 56 B.
    assert {int(of): int(np.count_nonzero(size == of)) for of in np.unique(size)} == {1000: 8, 300: 3, 56: 3}
    to_root = operations.rank[operations.partner[operations.sends[size == 56]]]
    assert np.count_nonzero(to_root == 0) == 2


def test_an_empty_message_is_one_and_an_empty_collective_operation_is_none(tmp_path: Path) -> None:
    ends = ["MPI_Send:1:64:0:11,8,8:1:5:0,0,2:2", "MPI_Recv:1:64:10:11,8,8:0:5:0,1,2:9:2"]
    files = [["MPI_Init:0:0:0", end, f"MPI_Bcast:3:1:0:2,100,1:0:0,{rank},2:4"] for rank, end in enumerate(ends)]
    operations = read(tmp_path, *files)
    assert operations.size_bytes[operations.kind != CALC].tolist() == [0, 0]


@pytest.mark.parametrize(("line", "where"), [
    ("MPI_Scan:1:2:3:4:5", "run-0.txt, line 2"),
    ("MPI_Send:1:64:10:11,8,8:1:5:0,0,3:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:ten:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:10:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Recv:1:64:10:11,8,8:-1:5:0,0,2:9:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:-10:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:1_0:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:10:11,-8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:nan:64:10:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1_0:64:10:11,8,8:1:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:10:11,8,8:1.9:5:0,0,2:9", "run-0.txt, line 2"),
    ("MPI_Send:1:64:10:11,8,8:1:5:0,1,2:9", "run-0.txt, line 2"),
    ("MPI_Bcast:1:3:2:2,100,1:7:0,0,2:10", "run-0.txt, line 2"),
    ("end of file missing", "run-0.txt, line 2"),
])  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, line: str, where: str) -> None:
    with pytest.raises(InputFileError) as refusal:
        read(tmp_path, ["MPI_Init:0:0:0", line], ["MPI_Init:0:0:0"])
    assert refusal.value.where.startswith(where)
    assert ("MPI_Scan" in str(refusal.value)) == ("Scan" in line)


def test_a_wait_for_very_many_requests(tmp_path: Path) -> None:
    """Those that are not known are null; 10^12 of them take no time."""
    sender = [*SENDER[:4], "MPI_Waitall:170:1000000000000:4088:9:180", *SENDER[5:]]
    operations = read(tmp_path, sender, RECEIVER)
    waits = set(zip(operations.dependent.tolist(), operations.needs.tolist(), operations.when.tolist(), strict=True))
    assert (3, 1, ENDED) in waits


def test_the_file_of_rank_0_is_named(tmp_path: Path) -> None:
    (tmp_path / "run-10.txt").write_text("")
    with pytest.raises(InputFileError):
        liballprof.files(tmp_path / "run-10.txt")
    for rank in range(11):
        (tmp_path / f"run-{rank:02d}.txt").write_text("")
    assert len(liballprof.files(tmp_path / "run-00.txt")) == 11


def test_times_that_go_back_are_refused_or_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InputFileError) as refusal:
        read(tmp_path, [SENDER[3].replace(":152", ":149")], RECEIVER)
    assert refusal.value.value == 149
    warn_once.cache_clear()
    assert len(read(tmp_path, SENDER, [*RECEIVER[:1], RECEIVER[1].replace(":120:", ":80:"), *RECEIVER[2:]])) == 10
    assert "1 calls begin before" in caplog.messages[-1]
