"""Formats of traces: told by content, compressed or not, and sets of files."""

from __future__ import annotations

import gzip
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.log import warn_once
from fabricstudy.workload.matching import matched
from fabricstudy.workload.operations import Operations
from fabricstudy.workload.pattern.base import Pattern
from fabricstudy.workload.traces import goal, goal_binary, parquet
from fabricstudy.workload.traces.formats import Format, files_beside, format_of, read_trace

EXAMPLES = Path(__file__).parents[3] / "configs/traces"
OF_MPI = "MPI_Init:0:0:100\nMPI_Barrier:180:0,{rank},2:190\nMPI_Finalize:191\n"


def columns(operations: Operations) -> dict[str, Any]:
    values = {name: np.asarray(value).tolist() for name, value in vars(operations).items()}
    return values | {
        "waits": sorted(zip(values.pop("dependent"), values.pop("needs"), values.pop("when"), strict=True))
    }


def binary_goal(operations: Operations) -> bytes:
    """Return binary GOAL, written from the structures of LogGOPSim's Parser.hpp."""
    parts, ends, begin = [], [], 6 + 16 * operations.ranks
    for rank in range(operations.ranks):
        own = np.flatnonzero(operations.rank == rank).tolist()
        place = {operation: number for number, operation in enumerate(own)}
        waits = list(
            zip(operations.dependent.tolist(), operations.needs.tolist(), operations.when.tolist(), strict=True)
        )
        lists = [
            [[place[d] for d, n, w in waits if n == operation and w == when] for when in (0, 1)] for operation in own
        ]
        records, appendix = b"", list[int]()
        for operation, (enders, starters) in zip(own, lists, strict=True):
            kind = {0: 3, 1: 1, 2: 2}[int(operations.kind[operation])]
            size = operations.duration_ns[operation] if kind == 3 else operations.size_bytes[operation]
            peer = 0 if kind == 3 else int(operations.rank[operations.partner[operation]])
            counts = (len(enders), len(appendix), len(starters), len(appendix) + len(enders))
            needed = sum(d == operation for d, _, _ in waits)
            records += struct.pack(
                "<IbIQIBBIIII", needed, kind, peer, int(size), 0, operations.stream[operation], 0, *counts
            )
            appendix += enders + starters
        roots = [number for number, operation in enumerate(own) if operation not in operations.dependent]
        head = struct.pack(f"<II{len(roots)}I", len(own), len(roots), *roots)
        parts.append(head + records + struct.pack(f"<{len(appendix)}I", *appendix))
        ends += [begin, begin := begin + len(parts[-1])]
    return struct.pack(f"<QIBB{len(ends)}Q", 4223, operations.ranks, 0, 0, *ends) + b"".join(parts)


def copied(source: Path, to: Path) -> Path:
    to.write_bytes(source.read_bytes())
    return to


def make(folder: Path) -> dict[Format, Path]:
    """Write a trace of each format that the tests have, under names without a suffix that tells it."""
    text = (EXAMPLES / "sweep.goal").read_bytes()
    operations = matched(goal.read(text))
    (folder / "goal.txt").write_bytes(b"// of a sweep\n" + text)
    (folder / "binary").write_bytes(binary_goal(operations))
    parquet.write(operations, folder / "table.out")
    for rank in range(4):
        copied(EXAMPLES / f"dumpi/testtrace-{rank:04d}.bin", folder / f"d-{rank:04d}.dat")
        copied(EXAMPLES / f"chakra/all_reduce.{rank}.et", folder / f"c.{rank}.trace")
    (folder / "c.0.json").write_text('{"workload_graph": [{"Id": 0, "NodeType": 4}]}')
    for rank in range(2):
        (folder / f"m-{rank}.txt").write_text(OF_MPI.format(rank=rank))
    return {
        "goal": folder / "goal.txt", "goal-binary": folder / "binary", "parquet": folder / "table.out",
        "dumpi": folder / "d-0000.dat", "chakra": folder / "c.0.trace", "liballprof": folder / "m-0.txt",
    }  # fmt: skip


def test_a_format_is_told_by_content(tmp_path: Path) -> None:
    for name, path in make(tmp_path).items():
        assert format_of(path) == name
    assert format_of(tmp_path / "c.0.json") == "chakra"
    assert format_of(Path(__file__).parents[2] / "data/traces/otf2/traces.otf2") == "otf2"
    (tmp_path / "x.txt").write_text("a, b")
    with pytest.raises(InputFileError):
        format_of(tmp_path / "x.txt")
    (tmp_path / "x.bin").write_text("no trace")
    with pytest.raises(InputFileError) as unknown:
        format_of(tmp_path / "x.bin")
    assert unknown.value.value == ".bin"
    (tmp_path / "x.goal").write_text("")
    with pytest.raises(ConfigError, match="line 1"):
        read_trace(tmp_path / "x.goal", (), "invalid-data-file")
    with pytest.raises(ValidationError) as refusal:
        Pattern.model_validate({"kind": "trace", "file": "x.txt", "format": "goal"}, context={"folder": tmp_path})
    assert refusal.value.errors()[0]["ctx"]["error"].keys == ("file",)


def test_all_formats_may_be_compressed(tmp_path: Path) -> None:
    files = make(tmp_path)
    expected: dict[Format, dict[str, Any]] = {
        name: columns(read_trace(path, (), "invalid-trace")[0]) for name, path in files.items()
    }
    for path in list(tmp_path.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for name, path in files.items():
        packed = path.with_name(f"{path.name}.gz")
        assert columns(read_trace(packed, (), "invalid-trace")[0]) == expected[name]
        assert len(files_beside(packed)) == {"dumpi": 3, "chakra": 3, "liballprof": 1}.get(name, 0)
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ConfigError) as refusal:
        read_trace(packed, (), "invalid-trace")
    assert (refusal.value.code, refusal.value.keys) == ("invalid-trace", ("file",))


def test_binary_goal_is_what_the_text_says(tmp_path: Path) -> None:
    for name in ("sweep.goal", "collectives.goal"):
        operations = matched(goal.read((EXAMPLES / name).read_bytes()))
        data = binary_goal(operations)
        assert columns(matched(goal_binary.read(data))) == columns(operations)
    text = b"num_ranks 2\nrank 0 {\na: send 9b to 1\nb: calc 5 cpu 2\nb irequires a\n}\nrank 1 {\nrecv 9b from 0\n}\n"
    data = binary_goal(operations := matched(goal.read(text)))
    assert columns(matched(goal_binary.read(data))) == columns(operations)
    for end in range(len(data)):
        with pytest.raises(InputFileError):
            goal_binary.read(data[:end])
    with pytest.raises(InputFileError):
        goal_binary.read(struct.pack("<Q", 2342) + data[8:])


def test_a_gap_in_a_set_of_files_is_told(tmp_path: Path) -> None:
    path = make(tmp_path)["chakra"]
    shutil.move(tmp_path / "c.2.trace", tmp_path / "c.02.trace")
    with pytest.raises(ConfigError) as refusal:
        read_trace(path, (), "invalid-trace")
    assert refusal.value.value == "c.2.trace"


def test_a_set_may_be_compressed_in_part(tmp_path: Path) -> None:
    path = make(tmp_path)["liballprof"]
    whole, _ = read_trace(path, (), "invalid-trace")
    (second,) = files_beside(path)
    packed = second.with_name(f"{second.name}.gz")
    packed.write_bytes(gzip.compress(second.read_bytes()))
    assert files_beside(path) == [second]
    second.unlink()
    assert files_beside(path) == [packed]
    assert columns(read_trace(path, (), "invalid-trace")[0]) == columns(whole)


def test_a_set_of_dumpi_has_as_many_files_as_ranks(tmp_path: Path) -> None:
    meta = copied(EXAMPLES / "dumpi/testtrace.meta", tmp_path / "t.meta")
    for ranks in (3, 10_000_000):
        for rank in range(4):
            copied(EXAMPLES / f"dumpi/testtrace-{rank:04d}.bin", tmp_path / f"testtrace-{rank:04d}.bin")
        meta.write_text(f"numprocs={ranks}\nfileprefix=testtrace\n")
        with pytest.raises(ConfigError):
            read_trace(meta, (), "invalid-trace")


def test_a_missing_file_of_a_rank_is_told_whichever_file_is_named(tmp_path: Path) -> None:
    for name in ("testtrace.meta", *(f"testtrace-{rank:04d}.bin" for rank in range(3))):
        copied(EXAMPLES / "dumpi" / name, tmp_path / name)
    for name in ("testtrace.meta", "testtrace-0000.bin"):
        with pytest.raises(ConfigError) as refusal:
            read_trace(tmp_path / name, (), "invalid-trace")
        assert "numprocs" in str(refusal.value)
    for rank in range(2):
        (tmp_path / f"m-{rank}.txt").write_text(f"MPI_Init:0:0:1\nMPI_Barrier:2:0,{rank},4:3\n")
    with pytest.raises(ConfigError) as refusal:
        read_trace(tmp_path / "m-0.txt", (), "invalid-trace")
    assert "file of each rank" in refusal.value.remedy


def test_a_missing_file_of_an_archive_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("otf2")
    archive = Path(__file__).parents[2] / "data/traces/otf2"
    shutil.copytree(archive, tmp_path / "a")
    (tmp_path / "a/traces/1.def").unlink()
    warn_once.cache_clear()
    read_trace(tmp_path / "a/traces.otf2", (), "invalid-trace")
    assert "traces/1.def" in caplog.messages[-1]
    (tmp_path / "a/traces/2.evt").unlink()
    with pytest.raises(ConfigError) as refusal:
        read_trace(tmp_path / "a/traces.otf2", (), "invalid-trace")
    assert refusal.value.value == "traces/2.evt"
