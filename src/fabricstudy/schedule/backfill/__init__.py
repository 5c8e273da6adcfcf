"""Which later jobs may start while an earlier one has to wait: one module a rule.

In: what the event loop works on.
Out: start and partition of each job.
"""

from .base import Backfill

__all__ = ["Backfill"]
