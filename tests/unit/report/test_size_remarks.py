"""The page warns of programs whose messages have few packets, on engines that have packets."""

from __future__ import annotations

from typing import Any

import pytest

from fabricstudy.report.summaries import size_remarks
from fabricstudy.study.file import validate_study
from fabricstudy.study.plan import plan

from ..table.synthetic import synthetic

SHAPE = {"layers": 4, "hidden": 1024, "ffn": 2816, "heads": 16, "sequence": 2048, "vocabulary": 0}
PATTERN: dict[str, Any] = {
    "kind": "training", "model": SHAPE, "parallel": {"tensor": 4, "pipeline": 1, "data": 2}, "micro_batches": 2,
    "compute": {"rate": "1 PFLOP/s"},
}  # fmt: skip
STUDY: dict[str, Any] = {
    "study": "few", "machine": {"kind": "mesh", "shape": [8], "bandwidth": "1 GB/s"}, "routing": "minimal",
    "jobs": [{"nodes": 8, "pattern": PATTERN}], "engine": "packet",
    "sweep": {"engine": {"of": "engine", "values": ["packet", "flow"]}},
}  # fmt: skip


@pytest.mark.parametrize(("packet", "warnings"), [("1 kB", 0), ("2 MB", 1)])
def test_messages_of_few_packets_are_named(packet: str, warnings: int) -> None:
    study = validate_study({**STUDY, "network": {"packet": packet, "port_buffer": "16 MB"}})
    planned, tables = plan(study), synthetic(study)
    without_packets = tables.jobs["engine"] == "flow"
    tables.jobs["buffer_limit"] = 1.0
    tables.jobs.loc[without_packets, "buffer_limit"] = float("nan")
    remarks = size_remarks(planned, tables)
    assert without_packets.any() and len(remarks) == warnings
    assert all(remark.endswith("(1 point).") for remark in remarks)
