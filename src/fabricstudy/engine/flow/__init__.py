"""Messages as max-min fair flows, by our program in ``engines/flow``: a screening engine without packets.

What a point becomes:

* **Flow**: a message is one flow over all of its routes, with the part of its bytes that each link carries. Under
  minimal, dimension order and D-mod-k these parts are those of the analysis. Under Valiant a message has a path drawn
  for each packet, 64 at most. Under adaptive routing and UGAL it chooses up to 16 paths by what waits for the links,
  and again after each eighth of it.
* **Rates** are max-min fair (Bertsekas and Gallager), with all parallel cables of a link as one.
* **Network interface**: `network.injection` messages of a node are under way at once and take turns. What has left them
  and has not arrived waits in the first router's buffer, `window_bytes` at most. Once it is full, a message of which
  nothing waits there goes as fast as those that fill it: a slow message holds up the others of its node.
* **Latency** of cables and routers is added to each message. Ranks and phases are as in the other engines.

References
----------
Bertsekas, Gallager: Data Networks, 2nd edition, Prentice Hall 1992, section 6.5.2.
Velho, Schnorr, Casanova, Legrand: On the validity of flow-level TCP network models for grid and cloud simulations. ACM
TOMACS 23(4), 2013, doi:10.1145/2517448 (where flow models break).
Navaridas, Pascual, Erickson, Stewart, Luján: INRFlow: an interconnection networks research flow-level simulation
framework. Journal of Parallel and Distributed Computing 130, 2019, doi:10.1016/j.jpdc.2019.03.013.
"""

from .adapter import Flow
from .files import MACHINE, MESSAGES, SETTINGS, window_bytes
from .result import RESULT
from .settings import FlowSettings

__all__ = [
    "MACHINE",
    "MESSAGES",
    "RESULT",
    "SETTINGS",
    "Flow",
    "FlowSettings",
    "window_bytes",
]
