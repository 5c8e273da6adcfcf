"""How searches for the saturation load ended stands on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fabricstudy.report.findings import sentences
from fabricstudy.report.page import render
from fabricstudy.report.summaries import searches
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan
from fabricstudy.table.collect import collect

from ..table.synthetic import structure

STUDY: dict[str, Any] = {
    "study": "searched", "engine": "packet", "routing": "minimal",
    "machine": {"kind": "torus", "shape": [4], "bandwidth": "1 GB/s"},
    "offered": {"traffic": "uniform", "load": "saturation"},
    "sweep": {"latency": {"of": "machine.latency", "values": {"a": "1 ns", "b": "2 ns", "c": "3 ns", "d": "4 ns"}}},
    "figures": [],
}  # fmt: skip


def test_state_and_end_of_each_search(tmp_path: Path) -> None:
    """Of four searches one is bounded above, one is not, one has an undecided run, and one ran out of time."""
    study = validate_study(STUDY)
    planned = plan(study)
    found: list[tuple[str, float, float, float] | None] = [
        ("steady", 0.7, 0.72, 0.002), ("steady", 0.898, 0.9, 0.008), ("undecided", 0.6, 0.7, 0.004), None,
    ]  # fmt: skip
    records = []
    for (point_id, _), result in zip(planned.points.items(), found, strict=True):
        record: dict[str, Any] = {
            "point_id": point_id, "engine": "packet", "version": "1", "status": "timeout", "reason": "240 s", "seed": 1,
            "cpu_s": 1.0, "wall_s": 1.0, "memory_bytes": 10, "overhead_cpu_s": 0.1, "host": "h", "fingerprint": "f",
            "started": "2026", "jobs": [], "links": [],
        }  # fmt: skip
        if result:
            state, load, high, growth = result
            record |= {"status": "done", "reason": None, "latency": {
                "traffic_kind": "uniform", "zero_load_ns": 1.0, "saturation_bound": 0.9, "bound_method": "paths",
                "saturation_load": load, "saturation_low": load - 0.01, "saturation_high": high, "state": state,
                "over_bound": load / 0.9, "backlog_growth": growth,
            }}  # fmt: skip
        records.append(record)
    tables = collect(planned, records, map(structure, planned.machines))
    table = searches(planned, tables)
    assert [row[-1] for row in table.rows] == [
        "steady, saturated above (1)", "steady, none saturated up to the bound (1)", "undecided, saturated above (1)",
        "timeout (1)",
    ]  # fmt: skip
    growths = [row[list(table.head).index("growth of the backlog %, max")] for row in table.rows]
    assert growths == ["0.2", "0.8", "0.4", "–"]
    assert "certainly saturated in 1 of 3 points" in " ".join(sentences(tables, None))
    page = render(planned, tables, [], b"", str(tmp_path / "searched.yaml"))
    assert 'id="searches"' in page and "undecided, saturated above" in page
    none = replace(tables, points=tables.points.assign(engine="analysis"))
    assert not searches(planned, none).rows


def test_a_study_without_searches_has_no_such_section() -> None:
    planned = plan(validate_study({**STUDY, "offered": {"traffic": "uniform", "load": 0.5}}))
    assert not searches(planned, collect(planned, [], [])).rows
