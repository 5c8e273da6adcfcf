"""CAMINOS (caminos-lib 0.6.3) with the front end in ``engines/caminos``: phits, credits and virtual channels.

What a point becomes:

* **Phit**: the unit in which data moves, an eighth of a packet by default. Messages are rounded up to whole phits,
  packets down.
* **Cycle**: one cycle moves a phit at the bandwidth ``phit / cycle``. CAMINOS has an integer divisor per link class, so
  bandwidths are rounded to a common grid (`bandwidth_divisors`), at most 1 % below the true ones and never above.
* **Delays**: a phit has arrived when its last byte has: the cycles of its transmission, plus the latencies of the link
  and of the router before it, rounded to the nearest cycle. Latencies far below the time of a phit vanish.
* **Router**: CAMINOS' `InputOutput` (`Basic` ignores divisors), with a crossbar as fast as the fastest link class
  (under UGAL twice as fast), a buffer of `network.buffer` for each virtual channel of each input, half of that at
  each output, and virtual cut-through: a packet advances when the next buffer has room for all of it.
* **Virtual channels**: hop k of a packet uses channel k, with as many channels as hops in the longest route. So no
  packet waits for one with fewer hops, which avoids deadlock on any machine. Dimension order, d-mod-k and adaptive
  routing without rings have four channels independent of hops; see `channels`.
* **Arbitration** is random.
* **Routing** is ``engines/caminos/src/routes.rs``. Minimal uses the paths of least `Machine.hop_weight`; among several
  outputs with room it draws one for each packet. Valiant routing sends each packet through an intermediate router,
  drawn at random among those with nodes. UGAL uses the best minimal output or the best detour, by hops and queued
  bytes.

All jobs are operations with dependencies (``engines/library/src/operations.rs``), which
``engines/caminos/src/task_graph.rs`` gives to CAMINOS. A rank of a job of phases begins a phase when all that it sends
or gets in the previous one has arrived. Up to `network.injection` messages of a node are under way, interleaved packet
by packet, and its ranks start them in turn; messages within a node are free. Computation is rounded to cycles, the
total of a stream at any time to the nearest one. Cycles in which nothing moves are left out.

References
----------
Camarero: caminos-lib 0.6.3, a modular interconnection network simulator (Rust crate).
Valiant: A scheme for fast parallel communication. SIAM Journal on Computing 11(2), 1982, doi:10.1137/0211027.
Singh: Load-balanced routing in interconnection networks. Thesis, Stanford University, 2005.
"""

from .adapter import Caminos
from .clock import CaminosSettings, phit_bytes

__all__ = ["Caminos", "CaminosSettings", "phit_bytes"]
