"""The partitions of a machine as arrays, and the pool of nodes of a machine without partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fabricstudy.core.arrays import Bools, Int32s, Ints
from fabricstudy.core.model import ConfigError
from fabricstudy.structure.partitions import Geometry, PartitionSpace

from .cables import Lines, Partition, cabled_space

if TYPE_CHECKING:
    from scipy import sparse


MAX_CONFLICTS = 100_000_000
"""Ordered pairs of partitions that conflict; each needs five bytes."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """The partitions that each one conflicts with, itself included, as the rows of a sparse matrix."""

    first: Ints
    """Position of each partition's first conflict in the other arrays; int64 [partitions + 1]."""
    other: Int32s
    """The other partition, ascending for each; int32 [conflicts]."""
    shares_midplane: Bools
    """Whether the two share a midplane; otherwise they share only cables; bool [conflicts]."""

    @property
    def counts(self) -> Ints:
        """Number of partitions that each conflicts with, itself included."""
        return np.diff(self.first)


def find_conflicts(midplanes: sparse.csr_array, cables: sparse.csr_array) -> Conflicts:
    """Return the conflicts of partitions; the tables [partitions, midplanes or cables] are 1 where one occupies it.

    Raises ConfigError if there are more than `MAX_CONFLICTS`.
    """
    shared = (midplanes @ midplanes.T).astype(np.int32)
    # Cables count 2 and midplanes 1, so an odd entry shares a midplane.
    both = (shared.sign() + 2 * (cables @ cables.T).sign()).tocsr()
    if both.nnz > MAX_CONFLICTS:
        problem = f"{midplanes.shape[0]:,} partitions have {both.nnz // 2:,} conflicts, which is too many"
        remedy = f"list fewer partitions, with at most {MAX_CONFLICTS // 2:,} conflicts"
        raise ConfigError(problem, remedy, code="out-of-range")
    both.sort_indices()
    return Conflicts(both.indptr.astype(np.int64), both.indices.astype(np.int32), both.data % 2 == 1)


@dataclass(frozen=True)
class Variant:
    """The properties of a partition on which the run time of a job depends."""

    nodes: int
    """The size class."""
    torus: bool
    """Whether it is a torus in each dimension."""
    bisection_links: int
    bisection_Bps: float
    """Cables across the minimum bisection by a plane, and their capacity in one direction."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions that a scheduler allocates to jobs, in the order of its list."""

    lines: Lines
    """Midplanes and cables of the machine."""
    block_nodes: int
    """Nodes of a midplane, or of another building block."""
    listed: tuple[Partition, ...]
    nodes: Ints
    variant: Ints
    """Nodes of each, and number of its variant; int64 [partitions]."""
    variants: tuple[Variant, ...]
    """In the order of their first partitions."""
    rank: Ints
    """Partitions of lower rank are tried first, regardless of their conflicts; int64 [partitions]."""

    def __len__(self) -> int:
        return len(self.listed)

    @property
    def midplanes(self) -> int:
        """Midplanes of the machine."""
        return self.lines.midplanes

    @property
    def machine_nodes(self) -> int:
        """Nodes of the machine."""
        return self.midplanes * self.block_nodes

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each."""
        return tuple(map(str, self.listed))

    def midplanes_of(self, partition: int) -> list[int]:
        """Return the numbers of a partition's midplanes, ascending."""
        return self.lines.midplanes_of(self.listed[partition])

    def cables_of(self, partition: int) -> list[int]:
        """Return the numbers of the cables that a partition occupies, ascending."""
        return self.lines.cables(self.listed[partition])

    @cached_property
    def midplane_table(self) -> sparse.csr_array:
        """1 where a partition has a midplane, [partitions, midplanes]."""
        return _table([self.midplanes_of(number) for number in range(len(self))], self.midplanes)

    @cached_property
    def cable_table(self) -> sparse.csr_array:
        """1 where a partition occupies a cable, [partitions, cables]."""
        cables = self.midplanes * len(self.lines.lengths)
        return _table([self.cables_of(number) for number in range(len(self))], cables)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Pairs of partitions that cannot be in use at one time."""
        return find_conflicts(self.midplane_table, self.cable_table)


def _table(rows: Sequence[Sequence[int]], columns: int) -> sparse.csr_array:
    from scipy import sparse

    first = np.cumsum([0, *map(len, rows)])
    column = np.array(list(chain.from_iterable(rows)), dtype=np.int64)
    return sparse.csr_array((np.ones(len(column), dtype=np.int32), column, first), shape=(len(rows), columns))


def build_partitions(
    space: PartitionSpace, lines: Lines, listed: Sequence[Partition], rank: Mapping[Geometry, int] | None = None
) -> Partitions:
    """Return a list of partitions of a machine as arrays; `rank` is by shape, 0 by default.

    Raises ConfigError if a partition is listed twice.
    """
    if len(set(listed)) < len(listed):
        duplicate = next(partition for partition, count in Counter(listed).items() if count > 1)
        problem = f"the partition {duplicate} is listed twice"
        raise ConfigError(problem, "list each once", value=str(duplicate), code="duplicate")
    variant_of: dict[tuple[Geometry, tuple[bool, ...]], Variant] = {}
    for partition in listed:
        if (partition.shape, partition.wrap) not in variant_of:
            cabled = cabled_space(space, partition)
            links, capacity_Bps = cabled.bisection_links(partition.shape), cabled.bisection_Bps(partition.shape)
            variant = Variant(space.nodes(partition.shape), partition.is_torus, links, capacity_Bps)
            variant_of[partition.shape, partition.wrap] = variant
    variants = tuple(dict.fromkeys(variant_of.values()))
    number_of = {variant: number for number, variant in enumerate(variants)}
    numbers = [number_of[variant_of[partition.shape, partition.wrap]] for partition in listed]
    return Partitions(
        lines=lines,
        block_nodes=space.block_nodes,
        listed=tuple(listed),
        nodes=np.array([variants[number].nodes for number in numbers], dtype=np.int64),
        variant=np.array(numbers, dtype=np.int64),
        variants=variants,
        rank=np.array([(rank or {}).get(partition.shape, 0) for partition in listed], dtype=np.int64),
    )


@dataclass(frozen=True)
class NodePool:
    """Nodes without a topology: a job runs on any free ones."""

    machine_nodes: int
    counts_only: bool = False
    """Whether a reservation is a number of nodes, as in textbooks; otherwise it is a set of nodes."""
    block_nodes: ClassVar[int] = 1
    """Nodes of the smallest allocation."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """A single variant, with the nodes of the machine."""
        return (Variant(self.machine_nodes, True, 0, 0.0),)
