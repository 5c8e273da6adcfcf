"""The registry of kinds."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from fabricstudy.core.errors import ConfigError
from fabricstudy.core.kind_modules import MODULES
from fabricstudy.core.kinds import families
from fabricstudy.core.source import OURS, PACKAGE
from fabricstudy.routing.base import Routing
from fabricstudy.study.file import validate_machine


def test_each_kind_is_registered_by_the_module_that_is_listed_for_it() -> None:
    """And none is registered that is not listed, wherever its module lies."""
    for file in PACKAGE.rglob("*.py"):
        if ', kind="' in file.read_text():
            name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
            importlib.import_module(name.removesuffix(".__init__"))
    assert len(families()) > 10
    registered = {
        base.FAMILY.noun: {
            kind: member.__module__
            for kind, member in base.FAMILY.members.items()
            if member.__module__.startswith(f"{OURS}.")
        }
        for base in families()
    }
    # An engine is a package, which has its settings in a module of it.
    for kind, package in MODULES["engine"].items():
        assert f"{registered['engine'][kind]}.".startswith(f"{package}.")
    assert registered | {"engine": MODULES["engine"]} == MODULES


def test_an_unknown_kind_is_told_with_all_that_are_known() -> None:
    with pytest.raises(ValidationError) as caught:
        Routing.model_validate("minimum")
    told = caught.value.errors()[0]["ctx"]["error"]
    assert told.code == "unknown-value"
    assert all(kind in told.remedy for kind in MODULES["routing"])


def test_another_name_of_a_kind_is_the_same_machine() -> None:
    about = {"groups": 3, "leaves_per_group": 2, "spines_per_group": 2, "nodes_per_leaf": 2, "bandwidth": "1 GB/s"}
    found, same = (validate_machine({"kind": kind, **about}) for kind in ("dragonfly+", "megafly"))
    assert found == same and found.physics()["kind"] == "megafly"
    with pytest.raises(ConfigError) as caught:
        validate_machine({"kind": "dragonfly+", **about, "group": 3})
    assert caught.value.path == "machine.group" and "groups" in caught.value.remedy


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
    load = "from fabricstudy.workflow.pipeline import load_pipelines; load_pipelines(sys.argv[1])"
    code = f"import sys; {load}; print(*sys.modules)"
    command = [sys.executable, "-c", code, str(study)]
    loaded = set(subprocess.run(command, text=True, capture_output=True, check=True).stdout.split())
    assert {"fabricstudy.machine.dragonfly", "fabricstudy.routing.valiant"} <= loaded
    others = {"machine.grids", "workload.pattern.stencil", "workload.mapping.greedy", "engine.sst"}
    assert not {"numba", "pandas", *(f"fabricstudy.{name}" for name in others)} & loaded
