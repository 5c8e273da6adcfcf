"""A study as the artifact of a paper.

In: a study that ran, with its tables, report, records and benchmarks, and our own code. Out: ``pack`` writes one
``.tar.gz`` that holds all of it with locks, checksums, RO-Crate metadata, a draft of the appendix on artifact
description and evaluation, and a Makefile that runs the study again; ``compare`` puts the tables of two runs side by
side, value by value; ``check`` finds files that are not as they were packed.

The same inputs give the same archive, byte for byte.
"""

from .checksums import check
from .compare import TOLERANCE, Comparison, compare
from .finished import ArtifactError, Finished, finished
from .pack import pack
from .show import show

__all__ = ["TOLERANCE", "ArtifactError", "Comparison", "Finished", "check", "compare", "finished", "pack", "show"]
