"""The machine as arrays: routers, nodes, cables and link classes; machines with names."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fabricstudy.core.arrays import Floats, Int32s, Ints

from .dimension import Dimension


@dataclass(frozen=True)
class LinkClass:
    """Link class: bandwidth per direction and latency of one cable."""

    name: str
    bandwidth_Bps: float
    latency_ns: float


@dataclass(frozen=True, eq=False)
class Machine:
    """Routers, links and nodes with bandwidths.

    A *row* of the cable arrays joins routers `cable_tail[i]` and `cable_head[i]` by `cable_count[i]` parallel
    cables of class `cable_class[i]`; rows are unique by routers and class. Row i has two directed links: 2i from tail
    to head and 2i+1 from head to tail; a directed link's capacity is that of all its parallel cables.

    Raises ValueError if array lengths, numbers or rows are inconsistent.
    """

    kind: str
    """Kind of the topology."""
    node_router: Int32s
    """Router of each node; int32 [nodes]."""
    cable_tail: Int32s
    cable_head: Int32s
    cable_class: Int32s
    cable_count: Int32s
    """Router-to-router cables; int32 [rows] each."""
    classes: tuple[LinkClass, ...]
    """Classes of router-to-router cables, indexed by `cable_class`."""
    host: LinkClass
    """Class of the links between a node and its router (one each way)."""
    routers: int
    cores_per_node: int = 1
    group: Int32s | None = None
    """Group of each router (dragonfly group, Slim Fly sub-group, fat-tree pod or core); int32 [routers]."""
    coordinates: Int32s | None = None
    """Coordinates of each router in a grid, the first varying fastest; int32 [routers, dimensions]."""
    dimensions: tuple[Dimension, ...] = ()
    level: Int32s | None = None
    """Level of each router of a tree: 0 for leaves, which have the nodes; int32 [routers]."""
    hop_weight: tuple[int, ...] = field(default=())
    """Weight of a hop of each class for minimal routing; default: 1."""
    router_in_node: bool = False
    """The router of a node is part of it, as the ports of an accelerator are; it and the host links cost nothing."""

    def __post_init__(self) -> None:
        if not self.hop_weight:
            object.__setattr__(self, "hop_weight", (1,) * len(self.classes))
        self._check_shapes()
        self._check_values()

    def _check_shapes(self) -> None:
        rows = len(self.cable_tail)
        if not (len(self.cable_head) == len(self.cable_class) == len(self.cable_count) == rows):
            raise ValueError("the cable arrays differ in length")
        if len(self.hop_weight) != len(self.classes):
            raise ValueError("hop_weight needs one weight per link class")
        for name in ("group", "coordinates", "level"):
            array = getattr(self, name)
            if array is not None and len(array) != self.routers:
                raise ValueError(f"{name} needs one row per router")
        lengths = [dimension.length for dimension in self.dimensions]
        if lengths and (self.coordinates is None or self.coordinates.shape != (self.routers, len(lengths))):
            raise ValueError("dimensions need coordinates of every router")

    def _check_values(self) -> None:
        ends = {
            **dict.fromkeys(("node_router", "cable_tail", "cable_head"), self.routers),
            "cable_class": len(self.classes),
            **dict.fromkeys(("cable_count", "group", "coordinates", "level"), 2**31),
        }
        for name, end in ends.items():
            array = getattr(self, name)
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
                raise ValueError(f"{name} is no array of integers")
            if array.ndim != 1 + (name == "coordinates"):
                raise ValueError(f"{name} has {array.ndim} dimensions")
            if array.size and (array.min() < 0 or array.max() >= end):
                raise ValueError(f"{name} has a value outside 0..{end - 1}")
        if np.any(self.cable_count < 1):
            raise ValueError("a row needs at least one cable")
        links = (*self.classes, self.host)
        if not all(0 < link.bandwidth_Bps < np.inf and 0 <= link.latency_ns < np.inf for link in links):
            raise ValueError("a bandwidth must be positive and finite, and a latency finite and not negative")
        if not all(1 <= weight < np.inf for weight in self.hop_weight):
            raise ValueError("a hop weighs at least 1")
        if self.cores_per_node < 1:
            raise ValueError("a node needs at least one core")
        low = np.minimum(self.cable_tail, self.cable_head).astype(np.int64)
        high = np.maximum(self.cable_tail, self.cable_head)
        if np.any(low == high):
            raise ValueError("a cable joins a router with itself")
        key = (low * self.routers + high) * len(self.classes) + self.cable_class
        if np.any(np.diff(np.sort(key)) == 0):
            raise ValueError("two rows join the same routers with the same class; merge them into one row")

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_router)

    @property
    def cables(self) -> int:
        """Number of router-to-router cables, counting parallel ones."""
        return int(self.cable_count.sum())

    @property
    def links(self) -> int:
        """Number of directed links (two per row)."""
        return 2 * len(self.cable_tail)

    @cached_property
    def row_of_cable(self) -> Ints:
        """Row of each cable, parallel ones one after the other, int64 [cables]."""
        return np.repeat(np.arange(len(self.cable_count)), self.cable_count)

    @cached_property
    def link_tail(self) -> Int32s:
        """Tail router of each directed link, int32 [links]."""
        return np.stack([self.cable_tail, self.cable_head], axis=1).reshape(-1)

    @cached_property
    def link_head(self) -> Int32s:
        """Head router of each directed link, int32 [links]."""
        return np.stack([self.cable_head, self.cable_tail], axis=1).reshape(-1)

    @cached_property
    def link_class(self) -> Int32s:
        """Class of each directed link, int32 [links]."""
        return np.repeat(self.cable_class, 2)

    @cached_property
    def link_capacity_Bps(self) -> Floats:
        """Capacity of each directed link, all parallel cables together, float64 [links]."""
        bandwidth_Bps = np.array([link.bandwidth_Bps for link in self.classes], dtype=np.float64)
        return np.repeat(bandwidth_Bps[self.cable_class] * self.cable_count, 2)

    def bottleneck_s(self, link_bytes: Floats) -> float:
        """Return the time in which the bottleneck link carries its bytes, in s; `link_bytes` is float64 [links]."""
        return float(np.max(link_bytes / self.link_capacity_Bps, initial=0.0))

    @cached_property
    def nodes_of_router(self) -> Int32s:
        """Number of nodes on each router, int32 [routers]."""
        return np.bincount(self.node_router, minlength=self.routers).astype(np.int32)

    @property
    def radix(self) -> int:
        """Maximum number of ports of a router: cables and nodes."""
        ports = np.bincount(self.cable_tail, weights=self.cable_count, minlength=self.routers)
        ports += np.bincount(self.cable_head, weights=self.cable_count, minlength=self.routers)
        return int((ports + self.nodes_of_router).max())


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
