"""Reasons why CAMINOS' times differ."""

from ..caveats import Caveat

CAVEATS: tuple[Caveat, ...] = (
    Caveat(
        "A message is complete when it has arrived. A rank leaves a phase when its sends and receives are complete."
    ),
    Caveat("Time advances in cycles of one phit, so latencies far below the time of a phit round to zero."),
    Caveat("A message within a node takes no time."),
)
"""In the order of the report."""
