"""Which partitions a machine's scheduler has: one module a kind of list.

In: what a study says of it, and the machine.
Out: `Partitions`, with their midplanes and cables, or a `NodePool`.
"""

from .base import PartitionList

__all__ = ["PartitionList"]
