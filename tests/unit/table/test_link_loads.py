"""Links one by one: the arrays of the store become rows, and figures read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.store import point_store, read_checksummed
from fabricstudy.engine.batch import make_batches, run_batch
from fabricstudy.engine.definitions import built
from fabricstudy.engine.settings import Limits
from fabricstudy.machine.definitions import write_machines
from fabricstudy.report.explorer import explorer
from fabricstudy.report.figure_style import InputFiles
from fabricstudy.report.figures import draw
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import Plan, plan
from fabricstudy.table.collect import collect
from fabricstudy.table.files import Tables, read_tables, write_tables
from fabricstudy.workload.definitions import WorkloadIds, workload_rows, write_workloads

FIGURES: list[dict[str, Any]] = [
    {"id": "load", "kind": "machine", "title": "L", "load": "bytes", "columns": "routing"},
    {"id": "stall", "kind": "machine", "title": "S", "load": "stall"},
    {"id": "jobs", "kind": "machine", "title": "J", "where": {"routing": "valiant"}},
    {"id": "ecdf", "kind": "ecdf", "title": "E", "table": "link_loads", "x": "load_bytes", "unit": "kB",
     "hue": "routing", "columns": "class"},
]  # fmt: skip
STUDY: dict[str, Any] = {
    "study": "links",
    "machine": {"kind": "mesh", "shape": [4, 2], "bandwidth": "1 GB/s"},
    "routing": "minimal",
    "jobs": [
        {"name": "pair", "nodes": 2, "pattern": {"kind": "ring", "message": "1 kB"}},
        {"name": "rest", "nodes": 4, "pattern": {"kind": "all-to-all", "message": "2 kB"}},
    ],
    "engine": "analysis",
    "sweep": {"routing": {"of": "routing", "values": ["minimal", "valiant"]}},
    "link_loads": "main",
    "figures": FIGURES,
}


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    planned = plan(validate_study(STUDY))
    (batch,) = make_batches(planned.points.values(), Limits(), 60.0)
    files = tmp_path / "a.jsonl", tmp_path / "a.links.parquet"
    run_batch(batch, point_store(tmp_path), lambda one: built(one.point.machine), *files, planned.link_load_points)
    return collect(planned, [record for _, record in read_checksummed(files[0]) if record], [], links=[files[1]])


def definitions(of: Plan, folder: Path) -> InputFiles:
    """Write the definitions of machines and workloads, as their rules do."""
    write_machines(((name, {}, one.build()) for name, one in of.machines.items()), folder)
    rows: list[Any] = []
    for planned in of.points.values():
        analysed, ids = built(planned.point.machine), dict(enumerate(WorkloadIds().of(planned.point)))
        rows += workload_rows(planned.point, analysed.machine, analysed.cut_side, ids)
    write_workloads(rows, folder / "workloads.parquet")
    return InputFiles((folder,), (folder / "workloads.parquet",))


def test_each_link_is_a_row_and_they_add_up(tables: Tables, tmp_path: Path) -> None:
    rows = tables.link_loads
    # 3 x 2 cables along x and 4 along y, both ways, in two points
    assert len(rows) == 2 * 2 * (6 + 4)
    jobs = tables.jobs.query("routing == 'minimal'")
    minimal = rows.query("routing == 'minimal'")
    # On shortest ways a message loads as many links as it has hops.
    assert minimal["load_bytes"].sum() == pytest.approx(jobs["hop_bytes"].sum())
    most = minimal.groupby("class")["load_bytes"].max()
    of_class = tables.links.query("routing == 'minimal'").set_index("class")["load_max_bytes"]
    assert most.to_dict() == of_class.to_dict()
    assert (np.abs(rows["tail"] - rows["head"]) == np.where(rows["class"] == "x", 1, 4)).all()
    assert (rows["busy_ns"] == rows["load_bytes"]).all()  # at 1 GB/s
    write_tables(tables, tmp_path)
    assert read_tables(tmp_path).link_loads.equals(rows) and not (tmp_path / "link_loads.csv").exists()


def test_the_explorer_has_them(tables: Tables) -> None:
    made = explorer(tables)
    assert made is not None
    found = json.loads(made.data)["link_loads"]
    assert found["rows"] == 40 and {"class", "tail", "head"} <= {axis["name"] for axis in found["axes"]}
    assert "load_bytes" in {metric["name"] for metric in found["metrics"]}


def test_figures_of_links_and_machines_are_drawn_twice_the_same(tables: Tables, tmp_path: Path) -> None:
    of = plan(validate_study(STUDY))
    made = definitions(of, tmp_path)
    first, again = ([draw(figure, tables, of, made) for figure in of.study.figures] for _ in range(2))
    assert [one.svg for one in first] == [one.svg for one in again]
    by_id = {one.figure.id: one for one in first}
    assert not by_id["stall"].svg and "stall_ns" in by_id["stall"].basis
    for name, words in (("load", ("routing: valiant", "pair", "idle")), ("jobs", ("x: 6 cables, 1 GB/s", "rest"))):
        assert ElementTree.fromstring(by_id[name].svg).tag.endswith("svg")
        assert all(f"<!-- {word} -->" in by_id[name].svg.decode() for word in words)
    assert by_id["load"].panels == 2
    assert by_id["ecdf"].basis.startswith("40 values of n = 2 points")


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"link_loads": "other"}, "unknown-name", "link_loads.0"),
        ({"link_loads": []}, "missing-key", "figures.0"),
        ({"figures": [{**FIGURES[3], "x": "ranks"}]}, "unknown-name", "figures.0"),
        ({"figures": [{key: FIGURES[3][key] for key in ("id", "kind", "title")}]}, "missing-key", "figures.0.x"),
        ({"figures": [{**FIGURES[0], "table": "jobs"}]}, "conflicting-keys", "figures.0.table"),
        ({"figures": [{**FIGURES[0], "where": {"class": "x"}}]}, "unknown-name", "figures.0"),
        ({"machine": {**STUDY["machine"], "shape": [1000, 600]}}, "out-of-range", "link_loads"),
    ],
)
def test_links_that_cannot_be(change: dict[str, Any], code: str, path: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan(validate_study({**STUDY, **change}))
    assert (error.value.code, error.value.path) == (code, path)
