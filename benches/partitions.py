"""CPU seconds of what needs no simulation: ``python -m benches partitions`` prints figures and fails on none."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from fabricstudy.core.bundled_files import CONFIGS
from fabricstudy.core.extensions import load_extensions
from fabricstudy.machine.base import published_machine
from fabricstudy.machine.grid import GridConfig
from fabricstudy.structure.partitions import geometries_by_size, partition_space


def bundled_extension(name: str) -> Any:
    """Return the module of a bundled extension."""
    return import_module(f"{load_extensions([f'extensions/{name}.py'], CONFIGS)}.{name}")


def all_partitions() -> None:
    """Enumerate the partitions of published machines."""
    for name in ("sequoia", "mira", "express-mesh-11k-g2"):
        machine = published_machine(name)
        assert isinstance(machine, GridConfig)
        start = time.process_time()
        found = geometries_by_size(partition_space(machine))
        spent = time.process_time() - start
        geometries = sum(size.geometries for size in found)
        print(f"partitions of {name}: {geometries} geometries of {len(found)} sizes, {spent:.4f} s CPU")


def exhaustive_search() -> None:
    """Search all sets of vertices of a torus."""
    search = bundled_extension("isoperimetry")
    search.edge_profile(search.product_weights([3], "torus"))  # compiles, or loads what was compiled before
    for shape in ([7, 3], [6, 4]):
        start = time.process_time()
        search.edge_profile(search.product_weights(shape, "torus"))
        print(f"all sets of a torus of {shape[0]} x {shape[1]}: {time.process_time() - start:.2f} s CPU")


def largest_machine() -> None:
    """Find the largest express mesh of a radix."""
    design = bundled_extension("design")
    start = time.process_time()
    found = design.largest_system(design.ExpressMeshFamily(gap=2), 48, True)
    assert found is not None
    print(f"largest express mesh with 48 ports: {found.nodes} nodes, {time.process_time() - start:.2f} s CPU")


def main() -> None:
    """Print all figures."""
    all_partitions()
    exhaustive_search()
    largest_machine()
