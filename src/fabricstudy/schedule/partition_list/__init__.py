"""Lists of partitions of a machine's scheduler: one module for each kind.

In: the keys of a study, and the machine.
Out: `Partitions`, with their midplanes and cables, or a `NodePool`.
"""

from .base import PartitionList

__all__ = ["PartitionList"]
