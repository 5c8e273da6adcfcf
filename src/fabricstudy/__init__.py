"""Declarative experiment pipeline for interconnect research.

Data flows through the packages in this order, and imports go the same way only:
``study`` -> ``machine`` -> ``analyse`` -> ``workload`` -> ``engine`` -> ``table`` -> ``report`` -> ``artifact``
-> ``cli``.
"""

__version__ = "0.1.0"
