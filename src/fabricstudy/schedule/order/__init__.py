"""Which waiting job comes first: one module an order.

In: when waiting jobs were submitted, what they asked for.
Out: a score for each; the highest comes first.
"""

from .base import Order

__all__ = ["Order"]
