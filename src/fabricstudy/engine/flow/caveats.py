"""Reasons why the flow engine's times differ."""

from ..caveats import Caveat, uses_ugal

CAVEATS: tuple[Caveat, ...] = (
    Caveat("It has no packets: messages share full links fairly, by whichever port of a router they come."),
    Caveat("A slow message holds up the others of its own node, but none of other nodes on its way."),
    Caveat("A message within a node takes no time."),
    Caveat("A message chooses among detours after each eighth of it, not for each packet.", uses_ugal),
)
"""In the order of the report."""
