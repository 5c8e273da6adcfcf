"""Partitions of machines and their bisections."""

from collections.abc import Iterator

from pydantic import Field

from fabricstudy.core.model import ConfigError, model_check
from fabricstudy.core.quantities import Size
from fabricstudy.machine.base import Topology
from fabricstudy.machine.grid import GridConfig
from fabricstudy.structure.partitions import Geometry, PartitionSpace, SizeChoice, geometries_by_size, partition_space
from fabricstudy.structure.production import Allowed, fits

from .base import Analysis, Row


def _facts(space: PartitionSpace, size: SizeChoice, geometry: Geometry, message_bytes: int | None) -> Row:
    links, capacity_Bps = space.bisection_links(geometry), space.bisection_Bps(geometry)
    whole = links == 0  # a single router has no bisection
    sent = None if message_bytes is None or whole else message_bytes
    return {
        "blocks": size.blocks, "geometry": "x".join(map(str, geometry)), "nodes": size.nodes,
        "longest": space.longest(geometry), "bisection_links": links, "bisection_Bps": capacity_Bps,
        "links_per_node": links / size.nodes, "crossing_per_link": None if whole else size.nodes / 2 / links,
        "exchange_ns": None if sent is None else 1e9 * sent * size.nodes / 2 / capacity_Bps,
        "gain": None if whole else space.bisection_Bps(size.best) / capacity_Bps,
        "geometries": size.geometries, "misordered": size.misordered,
    }  # fmt: skip


class PartitionsAnalysis(Analysis, kind="partitions"):
    """Best, worst and production geometry of each size of partition, and their bisections.

    A partition is a cuboid of building blocks: midplanes of a Blue Gene, where every partition has the rings of the
    whole machine, else routers, where a ring stays one only in a dimension that the partition spans. The columns:

    * `machine`, `blocks`, `choice`: label of the machine, building blocks, and best, worst or production
    * `geometry`, `nodes`; `longest`: routers along the longest dimension
    * `bisection_links`, `bisection_Bps`: cables across the best flat cut into halves (2 N / L on a Blue Gene/Q), and
      what they carry
    * `links_per_node`: `bisection_links` over `nodes`
    * `crossing_per_link`: messages that each link of the bisection carries one way if each node sends one across
    * `exchange_ns`: the least time that this takes
    * `gain`: largest bisection of this size over that of the row
    * `geometries`: their number for this size
    * `misordered`: pairs of them in which the one with the shorter longest dimension has no larger bisection
    """

    keys = ("machine", "blocks", "choice")
    labels = ("geometry",)
    numbers = (
        "blocks", "nodes", "longest", "bisection_links", "bisection_Bps", "links_per_node", "crossing_per_link",
        "exchange_ns", "gain", "geometries", "misordered",
    )  # fmt: skip

    machines: dict[str, Topology] = Field(
        min_length=1, max_length=1000, description="machines to divide, which must be grids: {label: machine}"
    )
    allowed: Allowed | None = Field(None, description="geometries that the scheduler allocates; default: all that fit")
    message_bytes: Size | None = Field(None, alias="message", description="what each node sends, for `exchange_ns`")

    @model_check
    def _fit(self) -> None:
        for label, machine in self.machines.items():
            if not isinstance(machine, GridConfig):
                problem = f"a machine of kind {machine.kind} has no cuboids"
                remedy = "take a torus, mesh, hypercube, hyperx, express-mesh, bluegene-p or bluegene-q"
                raise ConfigError(problem, remedy, ("machines", label), machine.kind, "unsupported")
        for label, space in self._spaces():
            for number, geometry in enumerate(self.allowed or ()):
                if not fits(geometry, space.blocks):
                    problem = f"it does not fit into the {'x'.join(map(str, space.blocks))} blocks of {label}"
                    path = ("allowed", str(number))
                    raise ConfigError(problem, "take sides that do", path, list(geometry), "does-not-fit")

    def _spaces(self) -> Iterator[tuple[str, PartitionSpace]]:
        grids = ((label, grid) for label, grid in self.machines.items() if isinstance(grid, GridConfig))
        return ((label, partition_space(grid)) for label, grid in grids)

    def rows(self) -> list[Row]:
        return [
            {"machine": label, "choice": choice, **_facts(space, size, geometry, self.message_bytes)}
            for label, space in self._spaces()
            for size in geometries_by_size(space, self.allowed)
            for choice, geometry in (("production", size.production), ("best", size.best), ("worst", size.worst))
            if geometry is not None
        ]
