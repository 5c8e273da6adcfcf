"""Most partitions of a list that can be in use at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.kinds import register
from fabricstudy.core.model import ConfigError, Whole, at_path
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
    """The most partitions of each size that can be in use at once, given other partitions in use.

    Partitions conflict if they share a midplane or a cable. Each number is the optimum of an integer program, for the
    best placement of the partitions already in use. The columns `list`, `given` (the label of the partitions in use,
    `nothing` for the empty machine) and `class_nodes` identify a row; `concurrent_max` is the number, and
    `concurrent_share` their share of the machine's nodes.
    """

    kind: Literal["packings"] = "packings"
    keys: ClassVar[tuple[str, ...]] = ("list", "given", "class_nodes")
    numbers: ClassVar[tuple[str, ...]] = ("class_nodes", "concurrent_max", "concurrent_share")

    machine: Topology = Field(description="machine to divide")
    lists: dict[str, PartitionList] = Field(min_length=1, max_length=100, description="lists of partitions by name")
    given: dict[str, Counts] = Field(
        default_factory=dict, description="partitions already in use, by label: {label: {nodes: number}}"
    )

    @model_validator(mode="after")
    def _fits(self) -> Packings:
        for name, partition_list in self.lists.items():
            with at_path("lists", name):
                partitions = partition_list.partitions(self.machine)
            if isinstance(partitions, NodePool):
                problem = "nodes without a topology do not conflict"
                raise ConfigError(problem, "leave it out", ("lists", name), code="unsupported")
        return self

    def rows(self) -> list[dict[str, Any]]:
        rows = []
        for name, partition_list in self.lists.items():
            partitions = partition_list.partitions(self.machine)
            assert isinstance(partitions, Partitions)  # checked above
            sizes = sorted(set(partitions.nodes.tolist()))
            for label, counts in {NOTHING: {}, **self.given}.items():
                placings = list(_placements(partitions, counts))
                if len(placings) > MAX_PLACEMENTS:
                    problem = f"{label}: these partitions have more than {MAX_PLACEMENTS:,} placements"
                    raise FabricstudyError(f"{problem}; write fewer of them")
                for nodes in sizes:
                    of_size = partitions.nodes == nodes
                    # None if the partitions in use conflict in all their places.
                    most = max(
                        (len(max_disjoint_partitions(partitions, of_size, placing)) for placing in placings),
                        default=None,
                    )
                    share = None if most is None else most * nodes / partitions.machine_nodes
                    key = {"list": name, "given": label, "class_nodes": nodes}
                    rows.append({**key, "concurrent_max": most, "concurrent_share": share})
        return rows


def _placements(partitions: Partitions, counts: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """Return the sets of partitions of these sizes that can be in use together, up to one above the limit."""
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
