"""Reasons why the packet engine's times differ."""

from ..caveats import Caveat, uses_ugal
from ..point import Point


def _shares_buffers(point: Point) -> bool:
    return point.network.buffer_per == "port"


CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "A message is complete when it has arrived. A rank leaves a phase when its sends and receives are complete."
    ),
    Caveat(
        "The virtual channels of a router input share `network.port_buffer`; on CAMINOS, SST and CODES each has "
        "`network.buffer`.",
        _shares_buffers,
    ),
    Caveat(
        "UGAL also counts what waits in the inputs of the router.",
        lambda point: uses_ugal(point) and _shares_buffers(point),
    ),
    Caveat("A message within a node takes no time."),
)
"""In the order of the report."""
