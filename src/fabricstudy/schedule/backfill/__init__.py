"""Backfilling: which later jobs may start while an earlier one waits; one module for each rule.

In: the state of a schedule.
Out: start and partition of each job.
"""

from .base import Backfill

__all__ = ["Backfill"]
