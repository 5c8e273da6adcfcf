"""Declarative experiment pipeline for interconnect research.

Data flows through the packages in this order, and imports go the same way only: ``core`` -> ``machine`` ->
``routing`` -> ``structure`` -> ``workload`` -> ``engine`` -> ``schedule`` -> ``analysis`` -> ``study`` -> ``table`` ->
``report`` -> ``artifact`` -> ``workflow`` -> ``commands``.
"""

__version__ = "0.1.0"
