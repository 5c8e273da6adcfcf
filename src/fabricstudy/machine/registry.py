"""The topologies by kind."""

from __future__ import annotations

from types import ModuleType

from ..study.machines import MachineConfig
from . import dragonfly
from .graph import Machine

# One line a topology; each module has `build(config) -> Machine`.
TOPOLOGIES: dict[str, ModuleType] = {"dragonfly": dragonfly}


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
