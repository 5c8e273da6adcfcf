"""Machines whose routers and nodes have names, which tables of routes go by."""

from dataclasses import dataclass, field

from .graph import Machine


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


NAMES = ("router_names", "node_names", "router_of", "node_of", "link_of_port", "node_of_port")
"""Fields of a machine from a file that others have not."""
