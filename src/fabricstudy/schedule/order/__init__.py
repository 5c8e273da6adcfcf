"""Order of the queue: which waiting job comes first; one module for each order.

In: times of submission and requests of the waiting jobs.
Out: the score of each; the highest comes first.
"""

from .base import Order

__all__ = ["Order"]
