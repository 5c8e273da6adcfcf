"""CAMINOS (caminos-lib 0.6.3) behind our front end in ``engines/caminos``: phits, credits and virtual channels.

What a point becomes:

* **Phit**: the unit in which data moves; `phit_bytes` chooses it. Messages are rounded up to whole phits, packets down.
* **Cycle**: one cycle moves a phit at the bandwidth ``phit / cycle``. CAMINOS takes an integer divisor per link
  class, so the bandwidths are put on a common grid (`bandwidth_divisors`), at most 1 % below the true ones
  and never above.
* **Delays**: a phit has arrived when its last byte has: it takes the cycles in which it crosses the link, plus the
  latency of the link and of the router it comes from, rounded to the nearest cycle. The grain is a cycle, so latencies
  far below the time of a phit vanish.
* **Router**: our `Switch`, equal to CAMINOS' `InputOutput` (`Basic` ignores divisors), with a crossbar as fast as the
  fastest link class, a buffer of `network.buffer` for each virtual channel of each input, half of that at each output,
  and packets that move on when the next buffer has room for the whole of them.
* **Virtual channels**: hop k of a packet uses channel k alone, and there are as many as hops in the longest route.
  So no packet waits for one with fewer hops behind it: no deadlock, whatever the machine. Dimension order, d-mod-k
  and adaptive routing without rings have four that do not count hops; see `channels`.
* **Arbitration**: a packet drawn at random goes first. In dimension order it is the one whose router lags behind
  the others of its job; see `arbitration`.
* **Routing** is our plug ``engines/caminos/src/routes.rs``. Minimal takes the paths of least `Machine.hop_weight`;
  where several outputs lead on, one that has room, drawn for each packet. Valiant goes through a router with nodes,
  drawn for each packet. UGAL takes the best minimal output or the best detour, by hops and bytes that wait.

The jobs follow the rules stated in ``engines/caminos/src/messages.rs``: a send is complete when it has arrived; up to
`network.injection` messages of a node are under way at once and take turns at its link packet by packet, and its ranks
take turns in starting them; messages within a node take no time.

References
----------
Camarero: caminos-lib 0.6.3, a modular interconnection network simulator (Rust crate).
Valiant: A scheme for fast parallel communication. SIAM Journal on Computing 11(2), 1982, doi:10.1137/0211027.
Singh: Load-balanced routing in interconnection networks. Thesis, Stanford University, 2005.
"""

from ..contract import Unsupported
from .adapter import Caminos
from .channels import arbitration, channels
from .clock import Clock, bandwidth_divisors, clock, phit_bytes, phits_of
from .files import CONFIGURATION, MACHINE, MESSAGES, configuration
from .result import RESULT
from .settings import CaminosSettings

__all__ = [
    "CONFIGURATION",
    "MACHINE",
    "MESSAGES",
    "RESULT",
    "Caminos",
    "CaminosSettings",
    "Clock",
    "Unsupported",
    "arbitration",
    "bandwidth_divisors",
    "channels",
    "clock",
    "configuration",
    "phit_bytes",
    "phits_of",
]
