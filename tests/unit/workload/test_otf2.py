"""OTF2 archives: one of SST, and one that the package otf2 writes here."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fabricstudy.core.input_files import InputFileError
from fabricstudy.workload.critical_path import critical_path_ns
from fabricstudy.workload.matching import matched
from fabricstudy.workload.traces import otf2 as reader

from .test_dumpi import messages_of

BROADCAST = Path(__file__).parents[2] / "data/traces/otf2/traces.otf2"


def test_an_archive_of_sst_is_one_broadcast() -> None:
    pytest.importorskip("otf2")
    operations = matched(reader.read(BROADCAST))
    # Down a binomial tree from rank 0, whose totals are 4 times the vector.
    assert messages_of(operations) == [(0, 1, 4096), (0, 2, 4096), (2, 3, 4096)]
    # From the end of MPI_Comm_rank to MPI_Bcast, and so on, in ticks of 1 / 2.000000653 ns.
    ranks = operations.compute_ns_per_rank()
    assert ranks.min() > 16_000 and ranks.max() < 18_000
    assert len(reader.files(BROADCAST)) == 10


def test_messages_wait_for_their_requests(tmp_path: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    with otf2.writer.open(str(tmp_path / "run"), timer_resolution=10**9) as trace:
        known = trace.definitions
        root = known.system_tree_node("node")
        processes = [known.location_group(f"rank {rank}", system_tree_parent=root) for rank in range(2)]
        threads = [known.location("master", group=process) for process in processes]
        mpi, no_flag = otf2.Paradigm.MPI, otf2.GroupFlag.NONE
        known.group("locations", otf2.GroupType.COMM_LOCATIONS, mpi, no_flag, members=threads)
        group = known.group("world", otf2.GroupType.COMM_GROUP, mpi, no_flag, members=threads)
        world = known.comm("MPI_COMM_WORLD", group)
        call, user = (known.region(name) for name in ("MPI_Any", "main"))
        first, second = (trace.event_writer_from_location(thread) for thread in threads)
        for writer in (first, second):
            writer.enter(0, user)
            writer.enter(10, call)
            writer.leave(20, call)
        # Rank 0: 100 ns, isend, 50 ns, wait, 7 ns, receive; rank 1: irecv and wait for it, then a send.
        first.enter(120, call)
        first.mpi_isend(121, 1, world, 5, 1000, 77)
        first.leave(130, call)
        first.enter(180, call)
        first.mpi_isend_complete(181, 77)
        first.leave(190, call)
        first.enter(197, call)
        first.mpi_recv(250, 1, world, 6, 30)
        first.leave(260, call)
        second.enter(25, call)
        second.mpi_irecv_request(26, 4)
        second.leave(27, call)
        second.enter(27, call)
        second.mpi_irecv(150, 0, world, 5, 1000, 4)
        second.leave(152, call)
        second.enter(152, call)
        second.mpi_send(153, 0, world, 6, 30)
        second.leave(160, call)
    operations = matched(reader.read(tmp_path / "run/traces.otf2"))
    assert messages_of(operations) == [(0, 1, 1000), (1, 0, 30)]
    assert operations.duration_ns[operations.duration_ns > 0].tolist() == [100, 50, 7, 5]
    # 100 ns, then 1000 ns to the other rank and 30 ns back.
    assert critical_path_ns(operations, np.array([1000.0, 30.0]), np.array([1000.0, 30.0])) == 1130


def test_without_the_package_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(InputFileError) as refusal:
        reader.read(BROADCAST)
    assert "fabricstudy[otf2]" in refusal.value.remedy


@pytest.mark.parametrize(("size", "resolution"), [(2**64 - 1, 10**9), (2**63, 10**9), (8, 0)])
def test_numbers_out_of_range(tmp_path: Path, size: int, resolution: int) -> None:
    otf2 = pytest.importorskip("otf2")
    with otf2.writer.open(str(tmp_path / "run"), timer_resolution=resolution) as trace:
        known = trace.definitions
        root = known.system_tree_node("node")
        processes = [known.location_group(f"rank {rank}", system_tree_parent=root) for rank in range(2)]
        threads = [known.location("master", group=process) for process in processes]
        mpi, no_flag = otf2.Paradigm.MPI, otf2.GroupFlag.NONE
        known.group("locations", otf2.GroupType.COMM_LOCATIONS, mpi, no_flag, members=threads)
        world = known.comm("world", known.group("world", otf2.GroupType.COMM_GROUP, mpi, no_flag, members=threads))
        call = known.region("MPI_Allreduce")
        for thread in threads:
            writer = trace.event_writer_from_location(thread)
            writer.enter(10, call)
            writer.mpi_collective_begin(11)
            writer.mpi_collective_end(19, otf2.CollectiveOp.ALLREDUCE, world, 0, size, size)
            writer.leave(20, call)
    with pytest.raises(InputFileError):
        matched(reader.read(tmp_path / "run/traces.otf2"))


def test_a_damaged_archive_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In one sentence: what the library writes does not come to the screen."""
    pytest.importorskip("otf2")
    (tmp_path / "a.otf2").write_bytes(BROADCAST.read_bytes())
    with pytest.raises(InputFileError):
        reader.read(tmp_path / "a.otf2")
    with pytest.raises(InputFileError):
        reader.files(tmp_path / "b.otf2")
    assert capfd.readouterr() == ("", "")
