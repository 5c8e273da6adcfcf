"""The topologies by kind."""

from __future__ import annotations

from types import ModuleType

from ..study.machines import MachineConfig
from . import dragonfly, fat_tree, grid, slim_fly
from .graph import Machine

# One line a topology; each module has `build(config) -> Machine`.
TOPOLOGIES: dict[str, ModuleType] = {
    "dragonfly": dragonfly,
    "torus": grid,
    "mesh": grid,
    "bluegene-q": grid,
    "bluegene-p": grid,
    "hypercube": grid,
    "hyperx": grid,
    "express-mesh": grid,
    "fat-tree": fat_tree,
    "slim-fly": slim_fly,
}


def build(config: MachineConfig) -> Machine:
    """Build the machine that a study describes.

    Parameters
    ----------
    config : MachineConfig
        Any entry of the union in `fabricstudy.study.machines`.

    Returns
    -------
    Machine
        The same arrays each time for the same description.
    """
    machine: Machine = TOPOLOGIES[config.kind].build(config)
    return machine
