"""Messages as max-min fair flows, by the program in ``engines/flow``: a screening engine without packets.

What a point becomes:

* **Flow**: a message is one flow over all of its routes, with a share of its bytes on each link. Under minimal,
  dimension order and D-mod-k the shares are those of the analysis. Under Valiant a path is drawn for each packet, up to
  64. Under adaptive routing and UGAL a message chooses up to 16 paths by link queues, again after each eighth of it.
* **Rates** are max-min fair (Bertsekas and Gallager), with all parallel cables of a link as one.
* **Network interface**: `network.injection` messages of a node are under way. Bytes that have left the node and have
  not arrived wait in the first router's buffer, up to `window_bytes`. While it is full, messages without bytes in it
  have the rate of those that fill it: a slow message delays the others of its node.
* **Latency** of cables and routers is added to each message.
* **Operations**: phases become operations; these start and end as on packet, computation in picoseconds.

References
----------
Bertsekas, Gallager: Data Networks, 2nd edition, Prentice Hall 1992, section 6.5.2.
Velho, Schnorr, Casanova, Legrand: On the validity of flow-level TCP network models for grid and cloud simulations. ACM
TOMACS 23(4), 2013, doi:10.1145/2517448 (where flow models break).
Navaridas, Pascual, Erickson, Stewart, Luján: INRFlow: an interconnection networks research flow-level simulation
framework. Journal of Parallel and Distributed Computing 130, 2019, doi:10.1016/j.jpdc.2019.03.013.
"""

from .adapter import Flow

__all__ = ["Flow"]
