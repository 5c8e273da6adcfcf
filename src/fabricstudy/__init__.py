"""Declarative experiment pipeline for interconnect research.

Data flows through the packages in this order, and imports go the same way only:
``machine`` -> ``routing`` -> ``structure`` -> ``workload`` -> ``engine`` -> ``analysis`` -> ``study`` -> ``table``
-> ``report`` -> ``artifact`` -> ``cli``. Below them are ``errors``, ``model``, ``quantities``, ``kinds``, ``columns``,
``source``, ``kept``, ``store``, ``files``, ``lifetime`` and ``startup``.
"""

import gc

# A command of ours loads a few hundred modules, whose objects all stay: looking for garbage among them is in vain.
gc.set_threshold(50_000)

__version__ = "0.1.0"
