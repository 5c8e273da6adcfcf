"""What routers and cables cost, one module a price list.

In: what a study names below `prices`.
Out: a `Tariff`: prices of a router, of its ports and of cables by bandwidth and length, and the power of a port.
"""

from .base import Prices, Tariff

__all__ = ["Prices", "Tariff"]
