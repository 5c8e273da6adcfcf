"""CODES on ROSS: a packet simulator for the topologies of which CODES has a model.

What a point becomes:

* **Network**: `models` translates the topology and the routing. Keys and names are checked here, since CODES replaces
  unknown ones by defaults; features that a model lacks are unsupported.
* **Packets**: `network.packet` bytes, store-and-forward at each router (a chunk of CODES is a packet here); buffers of
  `network.buffer` for each virtual channel, credits, and `network.injection` interleaved messages of a node.
* **Jobs**: each rank's messages as a DUMPI trace (`trace`), since collectives move no data in CODES' replay. All
  messages are eager; CODES' software cost of a message is subtracted.
* **Success** requires more than an exit code of 0: all ranks finished, no unmatched messages, no setting replaced by a
  default, and the expected bytes of each rank and port (`result`).
* **Jobs and links**: a dragonfly lists all hops; elsewhere, with fixed routes, each job is also run alone. Either must
  sum up to the link loads of all jobs together.

References
----------
Mubarak, Carothers, Ross, Carns: Enabling parallel simulation of large-scale HPC network systems. IEEE TPDS 28(1), 2017.
Carothers, Bauer, Pearce: ROSS, a high-performance, low-memory, modular Time Warp system. JPDC 62(11), 2002,
doi:10.1016/S0743-7315(02)00004-7.
"""

from .adapter import Codes

__all__ = ["Codes"]
