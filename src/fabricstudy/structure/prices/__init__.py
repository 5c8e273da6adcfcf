"""Prices of routers and cables: one module per price list.

In: the key `prices` of a study.
Out: a `Tariff`: prices of routers, ports, and cables by bandwidth and length; power of a port.
"""

from .base import Prices, Tariff

__all__ = ["Prices", "Tariff"]
