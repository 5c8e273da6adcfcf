"""Which nodes a job gets: one module a policy.

In: a `Request`: the machine, who holds which node, and how many are wanted; at least as many are free.
Out: a `Grant`. A policy keeps its rule, or raises `WorkloadError`.
"""

from .base import Allocation
from .request import NO_JOB, Grant, Request

__all__ = ["NO_JOB", "Allocation", "Grant", "Request"]
