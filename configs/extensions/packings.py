"""Most partitions of a list that can be in use at once."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from fabricstudy.analysis.base import Analysis, Row
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.model import ConfigError, Whole, at_path, model_check
from fabricstudy.machine.base import Topology
from fabricstudy.schedule.packing import max_disjoint_partitions
from fabricstudy.schedule.partition_list.base import PartitionList
from fabricstudy.schedule.partitions import NodePool, Partitions

MAX_PLACEMENTS = 10_000
NOTHING = "nothing"

Counts = dict[Annotated[int, Field(ge=1)], Annotated[Whole, Field(ge=1, le=1000)]]


class Packings(Analysis, kind="packings"):
    """Maximum number of concurrent partitions of each size, given other partitions in use.

    Partitions conflict if they share a midplane or a cable. Each number is the optimum of an integer program, for the
    best placement of the partitions in use. The columns:

    * `list`, `given`, `class_nodes`: label of the list, label of the partitions in use (`nothing` for the empty
      machine), and nodes of a partition
    * `concurrent_max`, `concurrent_share`: the number, and the share of the machine's nodes in these partitions
    """

    keys = ("list", "given", "class_nodes")
    numbers = ("class_nodes", "concurrent_max", "concurrent_share")

    machine: Topology = Field(description="machine to divide")
    lists: dict[str, PartitionList] = Field(min_length=1, max_length=100, description="lists of partitions by name")
    given: dict[str, Counts] = Field(
        default_factory=dict, description="partitions already in use, by label: {label: {nodes: number}}"
    )

    @model_check
    def _fits(self) -> None:
        for name, partition_list in self.lists.items():
            with at_path("lists", name):
                partitions = partition_list.partitions(self.machine)
            if isinstance(partitions, NodePool):
                problem = "nodes without a topology do not conflict"
                raise ConfigError(problem, "leave it out", ("lists", name), code="unsupported")

    def rows(self) -> list[Row]:
        rows = []
        for name, partition_list in self.lists.items():
            partitions = partition_list.partitions(self.machine)
            assert isinstance(partitions, Partitions)  # checked above
            for label, counts in {NOTHING: {}, **self.given}.items():
                placements = list(_placements(partitions, counts))
                if len(placements) > MAX_PLACEMENTS:
                    problem = f"{label}: these partitions have more than {MAX_PLACEMENTS:,} placements"
                    raise FabricstudyError(f"{problem}; write fewer of them")
                for nodes in sorted(set(partitions.nodes.tolist())):
                    of_size = partitions.nodes == nodes
                    counted = (len(max_disjoint_partitions(partitions, of_size, used)) for used in placements)
                    most = max(counted, default=None)  # None if the partitions in use conflict in all placements
                    share = None if most is None else most * nodes / partitions.machine_nodes
                    keys = {"list": name, "given": label, "class_nodes": nodes}
                    rows.append({**keys, "concurrent_max": most, "concurrent_share": share})
        return rows


def _placements(partitions: Partitions, counts: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
    """Return the sets of partitions of these sizes without conflicts, up to one more than `MAX_PLACEMENTS`."""
    choices = [
        itertools.combinations(np.flatnonzero(partitions.nodes == nodes).tolist(), count)
        for nodes, count in counts.items()
    ]
    conflicts = partitions.conflicts
    rivals = [
        frozenset(conflicts.other[conflicts.first[partition] : conflicts.first[partition + 1]].tolist()) - {partition}
        for partition in range(len(partitions))
    ]
    sets = (tuple(itertools.chain(*parts)) for parts in itertools.product(*choices))
    disjoint = (chosen for chosen in sets if all(rivals[partition].isdisjoint(chosen) for partition in chosen))
    return itertools.islice(disjoint, MAX_PLACEMENTS + 1)
