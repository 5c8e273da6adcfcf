"""Machines whose routers and nodes have names, which tables of routes go by."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .graph import Machine

NAMES = "names.json"


@dataclass(frozen=True, eq=False)
class NamedMachine(Machine):
    """A machine that was read from a file."""

    router_names: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    """Names in the file, in the order of the numbers."""
    router_of: dict[str, int] = field(default_factory=dict)
    node_of: dict[str, int] = field(default_factory=dict)
    """Router or node of each name, further ones as well."""
    link_of_port: dict[str, int] = field(default_factory=dict)
    node_of_port: dict[str, int] = field(default_factory=dict)
    """By "router number:port number", where the file names ports: the directed link that leaves there, or the node."""

    def save(self, path: Path) -> None:
        """Write the machine as `Machine.save` does, with the names beside the arrays."""
        super().save(path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(NAMES, json.dumps({name: getattr(self, name) for name in _FIELDS}))


_FIELDS = ("router_names", "node_names", "router_of", "node_of", "link_of_port", "node_of_port")


def load(path: Path) -> Machine:
    """Read a machine that `save` wrote, with its names if it has some."""
    machine = Machine.load(path)
    with zipfile.ZipFile(path) as archive:
        if NAMES not in archive.namelist():
            return machine
        names = json.loads(archive.read(NAMES))
    names |= {name: tuple(names[name]) for name in ("router_names", "node_names")}
    return NamedMachine(
        **{key: value for key, value in vars(machine).items() if key in Machine.__annotations__}, **names
    )
