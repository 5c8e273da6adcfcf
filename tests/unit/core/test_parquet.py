"""Rows that are read from Parquet files, and what reading imports."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricstudy.core.arrays import Array
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.parquet import arrow_array, numpy_array, read_parquet, rows_writer, write_parquet

NAMES = st.sampled_from(["", "a", "b", "ba", "c", "d"])
GROUPS = st.lists(st.lists(st.tuples(NAMES | st.none(), NAMES), max_size=6), max_size=5)


@settings(max_examples=40)
@given(GROUPS, st.sets(NAMES), st.sets(NAMES) | st.none())
def test_rows_are_chosen_as_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[list[tuple[str | None, str]]],
    first: set[str],
    second: set[str] | None,
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rows, chosen = [row for group in groups for row in group], {"x": first}
    if second is not None:
        chosen["y"] = second
    with rows_writer(path, {"number": "int32", "x": "string", "y": "string", "parts": "int32[]"}) as write:
        start = 0
        for group in groups:
            numbers = list(range(start, start + len(group)))
            start += len(group)
            x, y = [row[0] for row in group], [row[1] for row in group]
            write({"number": numbers, "x": x, "y": y, "parts": [[number] for number in numbers]})
    wanted = [i for i, (x, y) in enumerate(rows) if x in first and (second is None or y in second)]
    assert read_parquet(path, chosen)["number"].to_pylist() == wanted
    table = read_parquet(path, chosen, ["parts", "y"])
    assert table.column_names == ["parts", "y"]
    assert table.to_pydict() == {"parts": [[i] for i in wanted], "y": [rows[i][1] for i in wanted]}
    assert read_parquet(path)["x"].to_pylist() == [x for x, _ in rows]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_numbers_return_as_they_were_written(tmp_path: Path, dtype: type) -> None:
    import pyarrow as pa

    numbers: Array = np.arange(20, dtype=dtype)[::3]
    write_parquet(pa.table([arrow_array(numbers)], names=["n"]), tmp_path / "n.parquet")
    read = numpy_array(read_parquet(tmp_path / "n.parquet")["n"])
    assert read.dtype == dtype
    assert read.tolist() == numbers.tolist()


@pytest.mark.parametrize("asked", [{"columns": ["n", "m"]}, {"chosen": {"m": ["a"]}}])
def test_a_file_without_a_column_is_damaged(tmp_path: Path, asked: dict[str, Any]) -> None:
    with rows_writer(tmp_path / "t.parquet", {"n": "int32"}) as write:
        write({"n": [1]})
    with pytest.raises(FabricstudyError) as caught:
        read_parquet(tmp_path / "t.parquet", **asked)
    assert caught.value.code == "results-damaged"


def test_no_damaged_byte_ends_the_process(tmp_path: Path) -> None:
    """To read Arrow's statistics of a column ends the process at some bytes."""
    with rows_writer(tmp_path / "t.parquet", {"name": "string", "n": "int32", "m": "int32"}) as write:
        write({"name": ["a", "a", "b"], "n": [1, 2, 3], "m": [0, 0, 0]})
    code = """
import sys
from pathlib import Path
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.parquet import read_parquet
content, damaged, told = Path("t.parquet").read_bytes(), Path("damaged.parquet"), 0
for at in range(len(content)):
    damaged.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    for chosen in ({}, {"name": ["a"]}):
        try:
            read_parquet(damaged, chosen).to_pydict()
        except FabricstudyError:
            told += 1
sys.exit(told < len(content))
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)


def test_reading_does_not_import_pandas(tmp_path: Path) -> None:
    """Most jobs read tables and need no pandas, whose import is a third of a job that finds all points cached."""
    with rows_writer(tmp_path / "t.parquet", {"name": "string", "n": "int32"}) as write:
        write({"name": ["a", "b"], "n": [1, 2]})
    code = (
        "import sys; from pathlib import Path; from fabricstudy.core.parquet import *;"
        "table = read_parquet(Path('t.parquet'), {'name': ['b']});"
        "assert numpy_array(table['n']).tolist() == [2] and len(read_parquet(Path('t.parquet'), {'name': ['c']})) == 0;"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
