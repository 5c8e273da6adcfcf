"""How many partitions of a list can be in use at one time, alone and beside others."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole
from fabricstudy.machine.base import Topology
from fabricstudy.schedule.packing import max_disjoint_partitions
from fabricstudy.schedule.partition_list import PartitionList
from fabricstudy.schedule.partitions import NodePool, Partitions

from .base import Analysis

MAX_PLACEMENTS = 10_000
NOTHING = "nothing"

Counts = dict[Annotated[int, Field(ge=1)], Annotated[Whole, Field(ge=1, le=1000)]]


@register
class Packings(Analysis):
    """How many partitions of each size fit at once, beside partitions that are in use already.

    Partitions conflict if they share a midplane or a cable. Each number is the optimum of an integer program; of the
    places that the partitions in use may have, the best count. The columns: `list`, `given` (the label of what is in
    use, `nothing` for the empty machine) and `class_nodes` identify a row; `concurrent_max` and `concurrent_share`,
    their share of the machine's nodes.
    """

    kind: Literal["packings"] = "packings"
    keys: ClassVar[tuple[str, ...]] = ("list", "given", "class_nodes")
    numbers: ClassVar[tuple[str, ...]] = ("class_nodes", "concurrent_max", "concurrent_share")

    machine: Topology = Field(description="machine to divide")
    lists: dict[str, PartitionList] = Field(min_length=1, max_length=100, description="lists of partitions by name")
    given: dict[str, Counts] = Field(
        default_factory=dict, description="what is in use already, by label: {label: {nodes: how many}}"
    )

    @model_validator(mode="after")
    def _fits(self) -> Packings:
        for name, one in self.lists.items():
            try:
                partitions = one.partitions(self.machine)
            except ConfigError as error:
                raise error.below("lists", name) from None
            if isinstance(partitions, NodePool):
                problem = "nodes without a topology always fit"
                raise ConfigError(problem, "leave it out", ("lists", name), code="unsupported")
        return self

    def rows(self) -> list[dict[str, Any]]:
        rows = []
        for name, one in self.lists.items():
            partitions = one.partitions(self.machine)
            assert isinstance(partitions, Partitions)  # checked above
            sizes = sorted(set(partitions.nodes.tolist()))
            for label, counts in {NOTHING: {}, **self.given}.items():
                placings = list(_placements(partitions, counts))
                if len(placings) > MAX_PLACEMENTS:
                    problem = f"{label}: these partitions can be placed in more than {MAX_PLACEMENTS:,} ways"
                    raise FabricstudyError(f"{problem}; give fewer of them")
                for nodes in sizes:
                    of_size = partitions.nodes == nodes
                    # None if the partitions in use conflict in all their places.
                    most = max(
                        (len(max_disjoint_partitions(partitions, of_size, placing)) for placing in placings),
                        default=None,
                    )
                    share = None if most is None else most * nodes / partitions.machine_nodes
                    rows.append(
                        {
                            "list": name,
                            "given": label,
                            "class_nodes": nodes,
                            "concurrent_max": most,
                            "concurrent_share": share,
                        }
                    )
        return rows


def _placements(partitions: Partitions, counts: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """Return the sets of partitions of these sizes that can be in use together, up to one more than may be tried."""
    choices = [
        itertools.combinations([place for place, size in enumerate(partitions.nodes) if size == nodes], count)
        for nodes, count in counts.items()
    ]
    conflicts = partitions.conflicts
    rivals = [
        frozenset(conflicts.other[conflicts.first[place] : conflicts.first[place + 1]].tolist()) - {place}
        for place in range(len(partitions))
    ]
    sets = (tuple(itertools.chain(*parts)) for parts in itertools.product(*choices))
    apart = (places for places in sets if all(rivals[place].isdisjoint(places) for place in places))
    return itertools.islice(apart, MAX_PLACEMENTS + 1)
