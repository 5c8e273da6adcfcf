"""Packets through buffered routers in continuous time, by the program in ``engines/packet``.

What a point becomes:

* **Time** is in integer picoseconds: bandwidths and latencies are those of the study, and there is no cycle.
* **Cut-through**: a packet goes on as soon as its head has arrived and the next buffer has room for all of it (virtual
  cut-through). A packet that arrives over a slower link occupies the next, faster link until its tail has passed.
* **Router**: buffers at the inputs, queues at the outputs, and between them a crossbar, which is `crossbar_speedup`
  times as fast as the links. Credits count bytes of each virtual channel. Arbitration is random among the packets that
  wait, and an output is never idle while a packet in the router may go there.
* **Buffers**: the virtual channels of a router input share `network.port_buffer` (a dynamically allocated multi-queue
  buffer). Each class of channels has a reserved part, and all classes share the rest, so that the total does not grow
  with the number of classes. An input has virtual output queues: a packet never waits behind one that goes to another
  output. The queue of an output has half as much. With `network.buffer_per: channel` each virtual channel is one queue,
  with a buffer of `network.buffer`, as on CAMINOS, SST and CODES.
* **Virtual channels** are in classes against deadlock; see `fabricstudy.engine.virtual_channels`.
* **Routing**: minimal uses the paths of least `Machine.hop_weight`; among several outputs with room a packet draws one.
  Adaptive routing takes the output with most room. Valiant leads through a random router with nodes, or a random group.
  UGAL uses the best minimal output or the best detour, by hops and the bytes that wait: in virtual output queues, in
  the output, and at the other end of its link. It decides when a packet comes to its first router.
* **Node interface**: up to `network.injection` messages of a node, or of each of its ports, are under way, interleaved
  packet by packet, and its ranks start them in turn; messages within a node are free.
* **Traffic classes** have buffers of their own and shares of each link.

All jobs are operations with dependencies. A rank of a job of phases begins a phase when all that it sends or gets in
the previous one has arrived.

References
----------
Kermani, Kleinrock: Virtual cut-through: a new computer communication switching technique. Computer Networks 3(4), 1979,
doi:10.1016/0376-5075(79)90032-1.
Tamir, Frazier: Dynamically-allocated multi-queue buffers for VLSI communication switches. IEEE Trans. Computers 41(6),
1992, doi:10.1109/12.144624.
Dally, Towles: Principles and practices of interconnection networks. Morgan Kaufmann 2004.
Valiant: A scheme for fast parallel communication. SIAM Journal on Computing 11(2), 1982, doi:10.1137/0211027.
Singh: Load-balanced routing in interconnection networks. Thesis, Stanford University, 2005.
"""

from .adapter import Packet

__all__ = ["Packet"]
