"""Machines whose routers and nodes have names, which tables of routes go by."""

from __future__ import annotations

from dataclasses import dataclass, field

from .graph import Machine


@dataclass(frozen=True, eq=False)
class NamedMachine(Machine):
    """A machine that was read from a file.

    Parameters
    ----------
    router_names, node_names : tuple of str
        Names in the file, in the order of the numbers.
    router_of, node_of : dict
        Router or node of each name, further ones as well.
    link_of_port, node_of_port : dict
        By "router number:port number", where the file names ports: the directed link that leaves there, or the node.
    """

    router_names: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    router_of: dict[str, int] = field(default_factory=dict)
    node_of: dict[str, int] = field(default_factory=dict)
    link_of_port: dict[str, int] = field(default_factory=dict)
    node_of_port: dict[str, int] = field(default_factory=dict)


NAMES = ("router_names", "node_names", "router_of", "node_of", "link_of_port", "node_of_port")
"""Fields of a machine from a file that others have not."""
