"""Lists of partitions, ranked for a mix of jobs.

A geometry has two costs: the stretch f, the best bisection of its size over its own, by which communication takes
longer, and the share 1 - u of the machine that is idle while as many partitions as possible are in use. A mix with
shares w(s) of the node-hours, run one size after the other, takes the sum of w(s) f(s) / u(s) times the time of a
machine without idle nodes. Backfilling can be better, so that lists are ranked by a lower bound of the utilisation.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import Analysis, Row
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import ConfigError, Number, at_path, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.schedule.cables import lines_of
from fabricstudy.schedule.packing import max_disjoint_partitions
from fabricstudy.schedule.partition_list.base import Loops, grid_of
from fabricstudy.schedule.partition_list.cuboids import Cuboids, canonical
from fabricstudy.structure.pareto import is_pareto_efficient
from fabricstudy.structure.partitions import Geometry, PartitionSpace, partition_space
from fabricstudy.structure.production import Allowed

MAX_LISTS = 20_000
EVERY_SIZE = "all"
_Weight = Annotated[Number, Field(gt=0)]


@dataclass(frozen=True)
class _Fit:
    """A geometry of one size, in building blocks along each dimension."""

    geometry: Geometry
    links: int  # across its best flat cut
    count: int  # of partitions that fit at once
    stretch: float  # best bisection of the size over its own
    used: float  # share of the machine


class PartitionLists(Analysis, kind="partition-lists"):
    """All lists with one geometry for each size of a mix of jobs, ranked by bisection and concurrent partitions.

    The machine runs the mix one size after the other, with the most partitions in use, from an integer program as in
    `packings`. Backfilling can only be better. The columns:

    * `part`, `geometries`: `all` and a geometry for each size, ascending; or a size in nodes and one geometry of it, as
      if all jobs had this size; trailing sides of 1 are left out
    * `named`: name of the list in `named`, or `other`
    * `bisection_links`, `concurrent_max`: of one geometry: cables across its best flat cut, and most partitions in use
    * `stretch`: best bisection of the size over its own; of a list the mean over the mix
    * `idle_share`: share of the machine's node-hours in which no partition can be used, without slowdown
    * `useful_utilisation`: node-hours of the mix at the best bisections over those of the machine; the part
      `communication` is stretched
    * `rank`: 1 has the largest `useful_utilisation`; `front`: 1 if the list is Pareto-efficient in `stretch` and
      `idle_share`, else 0; both among lists of the same `part`
    """

    keys = ("part", "geometries")
    labels = ("named",)
    numbers = (
        "bisection_links", "concurrent_max", "stretch", "idle_share", "useful_utilisation", "rank", "front",
    )  # fmt: skip

    machine: Topology = Field(description="machine to divide, which must be a grid")
    sizes: dict[Annotated[int, Field(ge=1)], _Weight] = Field(
        min_length=1, max_length=100, description="the mix: {nodes: share of the node-hours}; normalised to a sum of 1"
    )
    communication: Number = Field(
        ge=0, le=1, description="part of the run time that is communication, at the best bisection"
    )
    named: dict[str, Allowed] = Field(
        default_factory=dict, description="lists to label: {label: geometries, one for each size}"
    )
    at: Literal["aligned", "any"] = Field("aligned", description="corners: multiples of the sides, or everywhere")
    loops: Loops = Field(
        default_factory=dict, description="for a dimension, which positions of its lines can be closed by themselves"
    )

    @model_check
    def _fits(self) -> None:
        with at_path("machine"):
            space = self._space
        lines_of(space, self.loops, grid_of(self.machine).axis_names)
        named = self._named()
        sizes = {space.nodes(geometry) for geometry in space.geometries()}
        for nodes in self.sizes.keys() - sizes:
            nearest = min(sizes, key=lambda size: abs(size - nodes))
            problem, path = "no partition has so many nodes", ("sizes", str(nodes))
            raise ConfigError(problem, f"write {nearest}", path, nodes, "does-not-fit")
        for label, geometries in named.items():
            if sorted(map(space.nodes, geometries)) != sorted(self.sizes):
                problem = f"not one geometry for each of the sizes {', '.join(map(str, sorted(self.sizes)))}"
                raise ConfigError(problem, "write one for each", ("named", label), code="out-of-range")

    @property
    def _space(self) -> PartitionSpace:
        return partition_space(grid_of(self.machine))

    def _named(self) -> dict[str, set[Geometry]]:
        """Return the geometries of the named lists that have sizes of the mix."""
        space = self._space
        return {
            label: {
                geometry for geometry in canonical(space, listed, "named", label) if space.nodes(geometry) in self.sizes
            }
            for label, listed in self.named.items()
        }

    def rows(self) -> list[Row]:
        """Return the rows of each size, then those of all lists, sorted by rank.

        Raises FabricstudyError if there are too many lists.
        """
        space = self._space
        of_size: dict[int, list[Geometry]] = {nodes: [] for nodes in sorted(self.sizes)}
        for geometry in space.geometries():
            of_size.get(space.nodes(geometry), []).append(geometry)
        lists = math.prod(map(len, of_size.values()))
        if lists > MAX_LISTS:
            problem = f"{lists:,} lists are too many; at most {MAX_LISTS:,} are compared"
            raise FabricstudyError(f"{problem}; give fewer sizes")
        fits = {nodes: self._of_size(space, geometries) for nodes, geometries in of_size.items()}
        of_sizes = [row for nodes in fits for row in self._ranked(str(nodes), {nodes: fits[nodes]})]
        return of_sizes + self._ranked(EVERY_SIZE, fits)

    def _of_size(self, space: PartitionSpace, geometries: list[Geometry]) -> list[_Fit]:
        best_Bps = max(map(space.bisection_Bps, geometries))
        fits = []
        for geometry in geometries:
            keys = {"geometries": [geometry], "at": self.at, "loops": self.loops}
            try:
                partitions = Cuboids.model_validate(keys).partitions(self.machine)
            except ConfigError as error:
                raise FabricstudyError(str(error)) from None
            count, capacity_Bps = len(max_disjoint_partitions(partitions)), space.bisection_Bps(geometry)
            stretch = best_Bps / capacity_Bps if capacity_Bps else 1.0
            used = count * space.nodes(geometry) / partitions.machine_nodes
            fits.append(_Fit(geometry, space.bisection_links(geometry), count, stretch, used))
        return fits

    def _ranked(self, part: str, fits: Mapping[int, list[_Fit]]) -> list[Row]:
        """Return a row for each choice of one geometry of each size."""
        lists, named = list(itertools.product(*fits.values())), self._named()
        shares = np.array([self.sizes[nodes] for nodes in fits])
        stretch, used = (
            np.array([[getattr(fit, name) for fit in fits_of_list] for fits_of_list in lists])
            for name in ("stretch", "used")
        )
        time = shares / shares.sum() / used
        # Rounded, so that floating-point errors do not rank lists.
        mean = np.round(stretch @ shares / shares.sum(), 9)
        idle = np.round(1 - 1 / time.sum(axis=1), 9)
        useful = np.round(1 / (time * (1 + self.communication * (stretch - 1))).sum(axis=1), 9)
        front = is_pareto_efficient(np.stack([mean, idle], axis=1))
        order = np.lexsort((mean, -useful))
        rank = 1 + np.searchsorted(-useful[order], -useful)
        single, geometries = part != EVERY_SIZE, [{fit.geometry for fit in fits_of_list} for fits_of_list in lists]
        return [
            {
                "part": part, "geometries": " ".join(_written(fit.geometry) for fit in lists[i]),
                "named": ", ".join(label for label, listed in named.items() if geometries[i] <= listed) or "other",
                "bisection_links": lists[i][0].links if single else None,
                "concurrent_max": lists[i][0].count if single else None,
                "stretch": float(mean[i]), "idle_share": float(idle[i]), "useful_utilisation": float(useful[i]),
                "rank": int(rank[i]), "front": int(front[i]),
            }
            for i in order
        ]  # fmt: skip


def _written(geometry: Geometry) -> str:
    """Return a geometry without trailing sides of 1."""
    longer = [dimension for dimension, side in enumerate(geometry, 1) if side > 1]
    return "x".join(map(str, geometry[: max(longer, default=1)]))
