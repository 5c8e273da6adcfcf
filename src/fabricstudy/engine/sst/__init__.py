"""SST: sst-core with the elements Merlin, Firefly, Hermes and Ember, the simulator of the arrangements study of 2017.

What a point becomes:

* **Machine**: `wiring` selects Merlin's topology element, and the ports of its routers for cables and nodes. Machines
  and routings without such an element use anytopo, with routes computed here.
* **Jobs**: `traces` writes the message list of all engines as traces for Ember's SIRIUSTrace, one per rank, or selects
  Ember's own motif if the study asks for it.
* **Run file**: `system` writes all of this, with bandwidths, latencies, buffers and the costs of MPI, as JSON for
  ``engines/sst/model.py``, which is independent of the topology.
* **Result**: `result` applies the success test and reads job times from Ember's motif logs; `links` reads bytes,
  packets and stalls of links from the statistics of the ports, and assigns packets to jobs where that is certain.

References
----------
Rodrigues et al.: The structural simulation toolkit. SIGMETRICS Performance Evaluation Review 38(4), 2011.
"""

from .adapter import Sst

__all__ = ["Sst"]
