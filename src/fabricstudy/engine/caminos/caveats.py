"""Reasons why CAMINOS' times differ."""

from ..caveats import Caveat, uses_ugal

CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "A message is complete when it has arrived. A rank leaves a phase when its sends and receives are complete."
    ),
    Caveat("Data moves in whole phits, and time in cycles of a phit: short messages and latencies are rounded."),
    Caveat("A message within a node takes no time."),
    Caveat("An eager send is complete when it would have left the node if the router always had room."),
    Caveat("Arbitration is random, which starves some nodes where dimension order loads several dimensions fully."),
    Caveat("Under UGAL the crossbar is twice as fast as the fastest link; else as fast.", uses_ugal),
)
"""In the order of the report."""
