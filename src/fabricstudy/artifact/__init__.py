"""A study as the artifact of a paper.

In: a study that ran, with its tables, report, records and benchmarks, and our own code. Out: ``pack`` writes one
``.tar.gz`` that holds all of it with locks, checksums, RO-Crate metadata, a draft of the appendix on artifact
description and evaluation, and a Makefile that runs the study again; ``compare`` puts the tables of two runs side by
side, value by value; ``check`` finds files that are not as they were packed.

The same inputs give the same archive, byte for byte.
"""

from fabricstudy.artifact.checksums import check
from fabricstudy.artifact.compare import TOLERANCE, Comparison, compare
from fabricstudy.artifact.completed_study import ArtifactError, CompletedStudy, load_completed_study
from fabricstudy.artifact.pack import pack
from fabricstudy.artifact.print_comparison import print_comparison

__all__ = [
    "TOLERANCE",
    "ArtifactError",
    "Comparison",
    "CompletedStudy",
    "check",
    "compare",
    "load_completed_study",
    "pack",
    "print_comparison",
]
