"""Nodes of a job by Slurm's plugin topology/block: as few blocks as possible, with the fewest free nodes that suffice.

A *base block* is a run of consecutive nodes, and a block of a larger size a run of base blocks. A job gets nodes of one
block of the smallest size that can hold it, or else of the whole machine, and within it of as few of the blocks of the
next smaller size as can hold it: it waits until these have enough free nodes. Among several blocks, the one with the
fewest free nodes is selected. Base blocks are selected one by one. The order of preference is: smaller blocks in which
the job already has nodes; the smaller block with the fewest free nodes among those that can hold the rest of the job,
or if there is none, the one with the most; then the base block, by the same rule. Ties are resolved in favour of the
last one. The nodes of a base block are allocated in ascending order.

This is the algorithm of Slurm 24.05 and later for jobs without segments, required nodes or node weights; it was not
compared with a run of Slurm.

References
----------
SchedMD: Slurm topology guide, https://slurm.schedmd.com/topology.html, and topology.conf, BlockSizes.
"""

from collections.abc import Sequence

import numpy as np

from fabricstudy.core.arrays import Bools, Ints


def block_fit(sizes: Sequence[int], free: Bools, wanted: int) -> Ints | None:
    """Return the numbers of `wanted` of the `free` nodes (bool [nodes]), ascending, or None if no blocks have them.

    `sizes` are those of blocks in nodes, ascending: of the base block, which divides the machine, and it times powers
    of two.

    Examples
    --------
    Blocks of four, with three and two free nodes: a job of two takes those of the second, a job of four waits.

    >>> free = np.array([1, 1, 1, 0, 0, 1, 1, 0], dtype=bool)
    >>> block_fit([4], free, 2).tolist(), block_fit([4], free, 4)
    ([5, 6], None)
    """
    base, blocks = sizes[0], len(free) // sizes[0]
    count = free.reshape(blocks, base).sum(axis=1)
    needed = -(-wanted // base)
    widths = [size // base for size in sizes]
    width = next((width for width in widths if width >= needed), blocks)
    part = max((smaller for smaller in widths if smaller < needed), default=1)
    most = -(-wanted // (part * base))
    free_of_part = np.add.reduceat(count, np.arange(0, blocks, part))
    part_of = np.arange(blocks) // part
    candidates = []
    for first in range(0, blocks, width):
        inside = slice(first // part, -(-min(first + width, blocks) // part))
        if np.sort(free_of_part[inside])[::-1][:most].sum() >= wanted:
            candidates.append((int(count[first : first + width].sum()), -first))
    if not candidates:
        return None
    first = -min(candidates)[1]
    left, used = wanted, set[int]()
    unused = {block for block in range(first, min(first + width, blocks)) if count[block]}
    chosen: list[Ints] = []
    while left:
        ranked = ((_rank(part_of[b] not in used, free_of_part[part_of[b]], count[b], left), -b) for b in unused)
        block = -min(ranked)[1]
        unused.remove(block)
        used.add(part_of[block])
        nodes = block * base + np.flatnonzero(free[block * base : (block + 1) * base])[:left]
        chosen.append(nodes)
        left -= len(nodes)
    return np.sort(np.concatenate(chosen))


def _rank(is_new: bool, of_part: int, of_block: int, left: int) -> tuple[bool, bool, int, bool, int]:
    """Return the rank of a base block, by whether its part is new and by the free nodes of part and block."""
    return (
        is_new, of_part < left, of_part if of_part >= left else -of_part,
        of_block < left, of_block if of_block >= left else -of_block,
    )  # fmt: skip
