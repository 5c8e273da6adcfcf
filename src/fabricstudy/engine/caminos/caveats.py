"""What sets CAMINOS' times apart."""

from __future__ import annotations

from ..caveats import Caveat

CAVEATS: tuple[Caveat, ...] = (
    Caveat("A message is complete when it has arrived, and a phase waits for its sends, too."),
    Caveat("Times are whole cycles of one phit; latencies far below a phit's time vanish."),
    Caveat("A message within a node takes no time."),
)
"""In the order in which they are told."""
