"""Traces of jobs: one module for each kind.

In: the keys of a study, the size of the machine, a seed.
Out: `Jobs`, with the number of repaired irregularities.
"""

from .base import Trace

__all__ = ["Trace"]
