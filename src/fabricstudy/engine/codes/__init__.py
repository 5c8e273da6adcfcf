"""CODES on ROSS: simulated packets, for the topologies of which CODES has a model.

What a point becomes:

* **Network**: `models` translates the topology and the routing; a key or name is ours to check, since CODES takes a
  misspelt one for its default. What a model lacks is refused, and the row says so.
* **Packets**: `network.packet` bytes, stored whole at each router (a chunk of CODES is a packet here); buffers of
  `network.buffer` for each virtual channel, credits, and `network.injection` messages of a node that take turns.
* **Jobs**: each rank's messages as a DUMPI trace (`trace`), since collectives move no data in CODES' replay. Messages
  are sent at once, without asking (the eager protocol); what CODES adds to each in software is taken away.
* **Success** is more than an exit code of 0: `result` wants all ranks finished, nothing left behind, no default in
  the place of a setting, and the bytes of each rank and port.
* **Jobs and links**: a dragonfly lists all hops; elsewhere, where routes are fixed, each job is run alone as well.
  Either has to make up what all jobs together put on the links.

References
----------
Mubarak, Carothers, Ross, Carns: Enabling parallel simulation of large-scale HPC network systems. IEEE TPDS 28(1), 2017.
Carothers, Bauer, Pearce: ROSS, a high-performance, low-memory, modular Time Warp system. JPDC 62(11), 2002,
doi:10.1016/S0743-7315(02)00004-7.
"""

from .adapter import PROGRAM, Codes
from .files import HOPS, OUTPUTS
from .settings import CodesSettings

__all__ = ["HOPS", "OUTPUTS", "PROGRAM", "Codes", "CodesSettings"]
