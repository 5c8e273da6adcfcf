"""Reasons why CAMINOS' times differ."""

from ..caveats import Caveat

CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "A message is complete when it has arrived. A rank leaves a phase when its sends and receives are complete."
    ),
    Caveat("Data moves in whole phits, and time in cycles of a phit: short messages and latencies are rounded."),
    Caveat("A message within a node takes no time."),
)
"""In the order of the report."""
