"""The registry of kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fabricstudy.core.kinds import families
from fabricstudy.core.source import extension_package
from fabricstudy.study.document import schema


def test_each_kind_is_found_by_the_one_module_that_writes_its_name() -> None:
    schema()  # knows all families
    assert len(families()) > 10
    for base in families():
        for kind, member in base.FAMILY.members.items():
            if base.FAMILY._modules and not extension_package(member.__module__):
                wrote = [name for name, text in base.FAMILY._modules.items() if f'kind: Literal["{kind}"]' in text]
                assert [member.__module__.startswith(name) for name in wrote] == [True], kind


STUDY = """\
study: small
machine: {kind: dragonfly, groups: 3, routers_per_group: 2, nodes_per_router: 2, cores_per_node: 1, bandwidth: 1 GB/s}
routing: {kind: minimal}
jobs: [{name: app, share: 1.0, pattern: {kind: all-to-all, message: 16 kB}}]
engine: caminos
sweep: {routing: {of: routing, values: [minimal, valiant]}}
"""


def test_a_study_loads_no_kinds_but_its_own(tmp_path: Path) -> None:
    study = tmp_path / "small.yaml"
    study.write_text(STUDY)
    code = (
        "import sys; from fabricstudy.workflow.pipeline import pipelines; pipelines(sys.argv[1]); print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, str(study)]
    loaded = set(subprocess.run(command, text=True, capture_output=True, check=True).stdout.split())
    assert {"fabricstudy.machine.dragonfly", "fabricstudy.routing.valiant"} <= loaded
    others = {"machine.torus", "routing.adaptive", "workload.pattern.stencil", "workload.mapping.greedy", "engine.sst"}
    assert not {"numba", "pandas", *(f"fabricstudy.{name}" for name in others)} & loaded
