"""Reasons why the flow engine's times differ."""

from ..caveats import Caveat, uses_ugal

CAVEATS: tuple[Caveat, ...] = (
    Caveat("It has no packets: messages share full links fairly, independently of the router port of their arrival."),
    Caveat("A slow message delays the others of its node, but none of other nodes on its path."),
    Caveat("A message within a node takes no time."),
    Caveat("A message chooses among detours after each eighth of it, not for each packet.", uses_ugal),
)
"""In the order of the report."""
