"""Traffic from files: matrices and messages."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from fabricstudy.core import input_files
from fabricstudy.core.log import warn_once
from fabricstudy.core.model import ConfigError
from fabricstudy.core.quantities import BASE_UNITS_CONTEXT
from fabricstudy.engine.job_traffic import traffic_by_job
from fabricstudy.workload.messages import Messages, PlacedJob, WorkloadError, write_workload_tables
from fabricstudy.workload.pattern import messages
from fabricstudy.workload.pattern.base import Pattern, in_send_order
from fabricstudy.workload.pattern.matrix import read_matrix_market

from ...machines import DRAGONFLY, point_on

DENSE = np.array([[9, 1000, 0, 2500], [10, 0, 20, 0.2], [0, 0, 0, 0], [3000, 0, 1, 0]])


def pattern_of(folder: Path, name: str, **keys: Any) -> Pattern:
    kind = {"kind": "matrix", "message": "1 kB"} if "message" not in name else {"kind": "messages"}
    written = {**kind, "file": name, **keys}
    return Pattern.model_validate(written, context={"folder": folder}, by_alias=True, by_name=False)


def messages_of(pattern: Pattern, ranks: int) -> Messages:
    rng = np.random.default_rng(1)
    return in_send_order(pattern.sends(ranks, rng), pattern, ranks, rng)


def list_csv(path: Path) -> None:
    rows = [f"{r}, {c}, {DENSE[r, c]}" for r, c in zip(*np.nonzero(DENSE), strict=True)]
    path.write_text("\n".join(["# by hand", "source,destination,bytes", *rows]))


WRITERS: dict[str, Callable[[Path], Any]] = {
    "m.mtx": lambda path: mmwrite(path, coo_array(DENSE)),
    "array.mtx": lambda path: mmwrite(path, DENSE),
    "m.csv": lambda path: np.savetxt(path, DENSE, delimiter=","),
    "list.csv": list_csv,
    "m.dat": lambda path: np.savetxt(path, DENSE),
    "m.txt": lambda path: np.savetxt(path, DENSE, delimiter=", "),
    "list.txt": list_csv,
    "m.npz": lambda path: np.savez_compressed(path, DENSE),
    "sparse.npz": lambda path: save_npz(path, csr_array(DENSE)),
    "m.npy": lambda path: np.save(path, DENSE),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_matrix_is_sent_in_messages_of_the_size_stated(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    pattern = pattern_of(tmp_path, name, iterations=2)
    pattern.check_ranks(4)
    messages = messages_of(pattern, 4)
    sent = np.zeros((4, 4))
    np.add.at(sent, (messages.source, messages.destination), messages.size_bytes)
    expected = DENSE.copy()
    np.fill_diagonal(expected, 0)
    expected[1, 3] = 1  # of a fifth of a byte
    assert np.array_equal(sent, 2 * expected)
    own = np.sort(messages.size_bytes[(messages.source == 0) & (messages.destination == 3) & (messages.phase == 0)])
    assert own.tolist() == [500, 1000, 1000] and set(messages.phase) == {0, 1}
    told = {part.size_bytes: part.messages for part in pattern.traffic(4)}
    assert told == {1000: 2 * 6, (500 + 10 + 20 + 1 + 1) // 5: 2 * 5} and pattern.traffic_messages(4) == len(messages)


LIST = "phase,source,destination,bytes\n0,0,1,100\n0,2,1,7\n0,2,0,9\n2,1,0,5\n0,2,3,8\n"


def as_parquet(path: Path) -> None:
    rows = np.array([line.split(",") for line in LIST.split()[1:]], dtype=np.int64).T
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    phase, source, destination = rows[:3].astype(np.int32)
    messages = Messages(phase, source, destination, rows[3])
    write_workload_tables([PlacedJob("app", np.arange(4, dtype=np.int32), messages)], path.parent)


@pytest.mark.parametrize("name", ["messages.csv", "messages.parquet"])
def test_messages_keep_their_phases_and_their_order(tmp_path: Path, name: str) -> None:
    (tmp_path / "messages.csv").write_text(LIST)
    as_parquet(tmp_path / "messages.parquet")
    pattern = pattern_of(tmp_path, name, iterations=2)
    pattern.check_ranks(4)
    messages = messages_of(pattern, 4)
    once = [(0, 0, 1, 100), (0, 2, 1, 7), (0, 2, 0, 9), (0, 2, 3, 8), (2, 1, 0, 5)]
    found = zip(messages.phase, messages.source, messages.destination, messages.size_bytes, strict=True)
    assert [tuple(map(int, row)) for row in found] == once + [(phase + 3, *row) for phase, *row in once]
    assert pattern.traffic(4) == ((10.0, 129 // 5, 3),)


@pytest.mark.parametrize(("name", "text"), [("m.csv", "0,5\n7,0\n"), ("messages.csv", LIST)])
def test_the_point_holds_the_content_and_a_change_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "other").mkdir()
    for path in (tmp_path / name, tmp_path / "other" / name):
        path.write_text(text)
    pattern = pattern_of(tmp_path, name)
    assert pattern.physics() == pattern_of(tmp_path / "other", name).physics()
    from_record = Pattern.model_validate(pattern.model_dump(mode="json"), context=BASE_UNITS_CONTEXT)
    assert from_record.physics() == pattern.physics()
    (tmp_path / name).write_text(text.replace("5", "6"))
    for one in (pattern, from_record):
        with pytest.raises(WorkloadError):
            one.sends(4, np.random.default_rng(0))
    for ranks in (1, 3, 5):
        with pytest.raises(ConfigError) as refusal:
            pattern.check_ranks(ranks)
        assert (refusal.value.code, refusal.value.keys) == ("does-not-fit", ("file",))


def test_costs_of_listed_messages_are_predicted(tmp_path: Path) -> None:
    (tmp_path / "messages.csv").write_text(LIST)
    job = {"nodes": 2, "pattern": pattern_of(tmp_path, "messages.csv", iterations=3)}
    (traffic,) = traffic_by_job(point_on(DRAGONFLY, jobs=[job]))
    assert (traffic.ranks, traffic.classes[0].messages) == (4, 15.0)


MTX = "%%MatrixMarket matrix coordinate real general\n"
COMPLEX = "%%matrixmarket matrix coordinate complex general"
HEAD = "phase,source,destination,bytes\n"
BAD = [
    ("m.csv", "0,1\n1,x\n", "line 2, column 2 (1)", "x"),
    ("m.csv", "0,1\n-1,0\n", "line 2, column 1 (0)", "-1"),
    ("m.csv", "0,1\n\n# no\n1,nan\n", "line 4, column 2 (1)", "nan"),
    ("m.csv", "0,1\n1\n", "line 2", None),
    ("m.csv", "0,1,2,3\n1,0,2,3\n", "", None), ("m.csv", "0,1,2\n1,0,2\n", "line 1", "0,1,2"),
    ("m.dat", "0 1\n1 x\n", "line 2, column 2 (1)", "x"),
    ("m.txt", "0 1\n1\n", "line 2", None),
    ("m.csv", "5\n", "", None),
    ("m.csv", "", "", None),
    ("m.csv", "1,0\n0,1\n", "", None),
    ("m.csv", "source,destination,bytes\n0,1.5,3\n", "line 2, column 2 (destination)", "1.5"),
    ("m.csv", "source,destination,bytes\n0,1,many\n", "line 2, column 3 (bytes)", "many"),
    ("m.csv", "source,destination,bytes\n0,1\n", "line 2", None),
    ("m.mtx", MTX + "2 2 1\n1 2 -4\n", "row 1, column 2 of the matrix", -4.0),
    ("m.mtx", MTX + "2 3 1\n1 2 4\n", "", None),
    ("m.mtx", MTX + "2 2 1\n1 7 4\n", "line 3", "7"),
    ("m.mtx", MTX + "2 2 1\n1 2 4 1\n", "line 3", "1 2 4 1"),
    ("m.mtx", MTX + "2 2 2\n1 2 4\n", "line 2", "2 2 2"),
    ("m.mtx", MTX + "4 4 99999999999\n1 2 5\n", "line 2", "4 4 99999999999"),
    ("m.mtx", f"{COMPLEX}\n2 2 1\n1 2 4 1\n", "line 1", COMPLEX),
    ("m.csv", "source,destination,bytes\n0,1,1e30\n", "line 2, column 3 (bytes)", "1e30"),
    ("m.csv", f"source,destination,bytes\n0,{'9' * 400},1\n", "line 2, column 2 (destination)", "9" * 400),
    ("m.csv", "source,destination,bytes\n0,9999999999999999999999999,1\n", "line 2, column 2 (destination)", "9" * 25),
    ("m.csv", f"source,destination,bytes\n0,1,{2**61}\n1,2,{2**61}\n2,0,{2**61}\n", "", 3.0 * 2**61),
    ("m.csv", f"0,1\n{'1' * 200_000},0\n", "line 2", None),
    ("messages.csv", HEAD + "".join(f"0,{n},{n + 1},{2**62}\n" for n in range(3)), "", 3.0 * 2**62),
    ("messages.csv", HEAD + "0,0,1,1_0\n", "line 2, column 4 (bytes)", "1_0"),
    ("m.mtx", MTX.replace("real", "pattern") + "2 2 1\n1 2\n", "line 1", None),
    ("m.npz", "no numpy", "", None),
    ("m.xls", "sheet,1\n1,0\n", "line 1, column 1 (0)", "sheet"),
    ("m.npy", "no numpy", "", None),
    ("m.csv", "source,destination,weight\n0,1,5\n", "line 1", "source,destination,weight"),
    ("m.csv", ",source,destination,bytes\n0,0,1,5\n", "line 1", ",source,destination,bytes"),
    ("m.csv", "Source,Destination,Bytes\n0,1,5\n", "line 1", "Source,Destination,Bytes"),
    ("m.csv", "src,dst,bytes\n0,1,5\n", "line 1", "src,dst,bytes"),
    ("m.csv", "source,destination,bytes\n", "line 1", None),
    ("messages.csv", HEAD + "0,0,1,-1\n", "line 2 (bytes)", -1),
    ("messages.csv", HEAD + "-1,0,1,1\n", "line 2 (phase)", -1),
    ("messages.csv", HEAD + "2147483647,0,1,1\n", "line 2 (phase)", 2**31 - 1),
    ("messages.csv", HEAD + "0,0,a,1\n", "line 2, column 3 (destination)", "a"),
    ("messages.csv", HEAD + "0,0,1\n", "line 2", None),
    ("messages.csv", HEAD, "", None),
    ("messages.csv", "phase,source,dest,bytes\n", "line 1, column 3", "dest"),
    ("messages.csv", "phase,source,destination\n", "line 1", None),
    ("messages.parquet", "PAR1", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "where", "value"), BAD)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, name: str, text: str, where: str, value: Any) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValidationError) as refusal:
        pattern_of(tmp_path, name)
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert (error.code, error.keys, error.value) == ("invalid-data-file", ("file",), value)
    assert error.problem.startswith(f"{name}, {where}: " if where else f"{name}: ")


def table(**changed: Any) -> pd.DataFrame:
    return pd.DataFrame({"phase": [0, 0], "source": [0, 1], "destination": [1, 0], "bytes": [4, 5]} | changed)


@pytest.mark.parametrize(("changed", "where"), [
    ({"bytes": [4, -5]}, "row 2 (bytes)"),
    ({"bytes": [4.0, 5.0]}, "column bytes"),
    ({"source": pd.array([0, None], dtype="Int64")}, "column source"),
    ({"job": ["a", "b"]}, "column job"),
])  # fmt: skip
def test_what_is_wrong_in_a_table(tmp_path: Path, changed: dict[str, Any], where: str) -> None:
    table(**changed).to_parquet(tmp_path / "messages.parquet")
    with pytest.raises(ValidationError) as refusal:
        pattern_of(tmp_path, "messages.parquet")
    assert refusal.value.errors()[0]["ctx"]["error"].problem.startswith(f"messages.parquet, {where}: ")


@pytest.mark.parametrize(
    "arrays", [{"a": np.eye(2), "b": np.eye(2)}, {"a": np.ones(4)}, {"a": np.array([["x"] * 2] * 2)}]
)
def test_archives_of_something_else(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ValidationError, match=r"\.npz"):
        pattern_of(tmp_path, "m.npz")


def test_the_loss_of_the_file_is_told_without_the_folder_of_the_study(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("source,destination,bytes\n0,1,5\n1,0,5\n")
    of = pattern_of(tmp_path, "m.csv", kind="matrix", message="1 kB")
    (tmp_path / "m.csv").unlink()
    with pytest.raises(WorkloadError, match=r"m\.csv") as refusal:
        of.sends(2, np.random.default_rng(0))
    assert str(tmp_path) not in str(refusal.value)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("form", ["coordinate", "array"])
@pytest.mark.parametrize("field", ["real", "integer"])
def test_matrix_market_is_read_as_scipy_does(tmp_path: Path, symmetry: Any, form: str, field: Any) -> None:
    half = np.tril(np.random.default_rng(1).integers(0, 9, (5, 5)), -1)
    diagonal = np.diag([1, 0, 2, 0, 3])
    dense = {"general": half, "symmetric": half + half.T + diagonal, "skew-symmetric": half - half.T}[symmetry]
    mmwrite(tmp_path / "m.mtx", coo_array(dense) if form == "coordinate" else dense, field=field, symmetry=symmetry)
    data = (tmp_path / "m.mtx").read_bytes()
    assert f"{form} {field} {symmetry}".encode() in data
    assert np.array_equal(read_matrix_market(data).toarray(), dense)


@pytest.mark.parametrize("declared", [(10**9, 10**9), (3, 3)])
def test_an_archive_shorter_than_it_declares_takes_no_memory(tmp_path: Path, declared: tuple[int, int]) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": declared})
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(32))
    with pytest.raises(ValidationError) as refusal:
        pattern_of(tmp_path, "m.npz")
    assert refusal.value.errors()[0]["ctx"]["error"].problem.startswith("m.npz, a.npy: ")


def test_what_unpacks_to_very_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "MAX_INPUT_BYTES", 1000)
    monkeypatch.setattr(messages, "MAX_ROWS", 10)
    np.savez_compressed(tmp_path / "m.npz", np.zeros((20, 20)))
    pd.DataFrame({"phase": 0, "source": [0] * 20, "destination": 1, "bytes": 4}).to_parquet(
        tmp_path / "messages.parquet"
    )
    for name in ("m.npz", "messages.parquet"):
        with pytest.raises(ValidationError, match=name):
            pattern_of(tmp_path, name)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_content_tells_the_format_of_a_matrix(tmp_path: Path, name: str, packed: bool) -> None:
    WRITERS[name](tmp_path / name)
    data = (tmp_path / name).read_bytes()
    other = tmp_path / ("traffic.gz" if packed else "traffic.out")
    other.write_bytes(gzip.compress(data) if packed else data)
    written, expected = (messages_of(pattern_of(tmp_path, one), 4) for one in (other.name, name))
    assert np.array_equal(written.size_bytes, expected.size_bytes)
    assert np.array_equal(written.destination, expected.destination)


def test_one_sentence_says_which_format_was_taken_unless_it_is_stated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name, form in (("m.csv", "matrix"), ("list.csv", "entries"), ("m.mtx", "matrix-market"), ("m.npy", "numpy")):
        WRITERS[name](tmp_path / name)
        (tmp_path / "traffic").write_bytes((tmp_path / name).read_bytes())
        for keys in ({}, {"format": form}):
            caplog.clear()
            warn_once.cache_clear()
            pattern = pattern_of(tmp_path, "traffic", **keys)
            assert len(messages_of(pattern, 4)) == 11
            told = [words for words in caplog.messages if "diagonal" not in words]
            assert [f"format: {form}" in words for words in told] == [True] * (not keys)


@pytest.mark.parametrize("name", ["m.csv", "list.csv", "m.mtx"])
def test_line_ends_and_a_byte_order_mark_change_no_matrix(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    data = (tmp_path / name).read_bytes()
    expected = messages_of(pattern_of(tmp_path, name), 4)
    for changed in (b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), b"\n" * (name != "m.mtx") + data):
        (tmp_path / "other").write_bytes(changed)
        found = messages_of(pattern_of(tmp_path, "other"), 4)
        assert np.array_equal(found.size_bytes, expected.size_bytes)
        assert np.array_equal(found.destination, expected.destination)


def test_the_key_format_reads_rows_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "triples.txt").write_text("0 1 5\n1 2 7\n2 0 9\n")
    entries, matrix = (pattern_of(tmp_path, "triples.txt", format=form) for form in ("entries", "matrix"))
    found = messages_of(entries, 3)
    rows = zip(found.source.tolist(), found.destination.tolist(), found.size_bytes.tolist(), strict=True)
    assert sorted(rows) == [(0, 1, 5), (1, 2, 7), (2, 0, 9)]
    assert messages_of(matrix, 3).size_bytes.sum() == 1 + 5 + 1 + 7 + 2
    assert entries.physics() != matrix.physics()
    for form in ("numpy", "matrix-market", "text"):
        with pytest.raises(ValidationError) as refusal:
            pattern_of(tmp_path, "triples.txt", format=form)
        (error, *_) = refusal.value.errors()
        assert "format" in error["loc"] or error["ctx"]["error"].code == "invalid-data-file"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (pd.DataFrame([[0, 5, 0], [5, 0, 7], [0, 7, 0]]).to_csv(), "the first row and the first column"),
        (pd.DataFrame([[0, 5, 0], [5, 0, 7], [0, 7, 0]]).to_csv(index=False), "the first row"),
        ("0 1 5\n1 2 7\n2 0 9\n0 2 4\n1 0 3\n", "source,destination,bytes"),
        ("0 1 100\n1 2 50\n2 3 70\n3 0 20\n", "write the header source,destination,bytes"),
        ("0 1 2\n1 2 50\n2 3 70\n3 0 20\n", "format: entries"),
        ("0 1 5\n1 0 7\n", "format: entries"),
    ],
)
def test_labels_and_rows_of_entries_are_told_from_a_matrix(tmp_path: Path, text: str, remedy: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(ValidationError) as refusal:
        pattern_of(tmp_path, "m.csv")
    error = refusal.value.errors()[0]["ctx"]["error"]
    assert error.code == "invalid-data-file" and remedy in error.remedy and "line 1" in error.problem


@pytest.mark.parametrize("text", ["0 1 5\n1 2 7\n2 0 9\n", "1,5\n5,0\n"])
def test_a_diagonal_that_is_not_used_is_told(tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()
    (tmp_path / "m.txt").write_text(text)
    pattern_of(tmp_path, "m.txt")
    (told,) = caplog.messages
    assert "diagonal" in told and ("format: entries" in told) == (text[1] == " ")
