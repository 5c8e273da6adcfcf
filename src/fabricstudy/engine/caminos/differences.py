"""What sets CAMINOS' times apart."""

from __future__ import annotations

from ..differences import Difference

DIFFERENCES: tuple[Difference, ...] = (
    Difference("A message is complete when it has arrived, and a phase waits for its sends, too."),
    Difference("Times are whole cycles of one phit; latencies far below a phit's time vanish."),
    Difference("A message within a node takes no time."),
)
"""In the order in which they are told."""
