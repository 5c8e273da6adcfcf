"""SST: sst-core with the elements Merlin, Firefly, Hermes and Ember, the simulator of the arrangements study of 2017.

What a point becomes:

* **Machine**: `wiring` gives Merlin's topology element, the ports of its routers, and which port each cable and node
  takes. Machines and routings that SST has go to its own elements; others to anytopo, with our routes.
* **Jobs**: `traces` writes the message list that every engine gets as files for Ember's SIRIUSTrace, one a rank;
  `motifs` names Ember's own motif instead where the study asks for it.
* **Run file**: `system` writes all of it, with bandwidths, latencies, buffers and the costs of MPI, as JSON for
  ``engines/sst/model.py``, which knows no topology.
* **Result**: `result` applies the success test and takes job times from Ember's motif logs; `links` takes bytes,
  packets and stalls of links from the statistics of the ports, and tells whose packets they were where that is sure.
* **Cost**: `cost` predicts processor time and memory.

References
----------
Rodrigues et al.: The structural simulation toolkit. SIGMETRICS Performance Evaluation Review 38(4), 2011.
"""

from .adapter import Sst
from .settings import SstSettings

__all__ = ["Sst", "SstSettings"]
