"""Machines with named routers and nodes."""

from dataclasses import dataclass, field

from .graph import Machine


@dataclass(frozen=True, eq=False)
class NamedMachine(Machine):
    """A machine from a file, with the names by which forwarding tables refer to it."""

    router_names: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    """Names in the file, by number."""
    host_names: tuple[str, ...] = ()
    """Host of each node; empty for nodes that the file does not name."""
    router_of: dict[str, int] = field(default_factory=dict)
    node_of: dict[str, int] = field(default_factory=dict)
    """Number of each name or alias."""
    link_of_port: dict[str, int] = field(default_factory=dict)
    node_of_port: dict[str, int] = field(default_factory=dict)
    """Directed link or node at each "router number:port number", if the file has ports."""


NAME_FIELDS = ("router_names", "node_names", "host_names", "router_of", "node_of", "link_of_port", "node_of_port")
"""Fields that `Machine` does not have."""
