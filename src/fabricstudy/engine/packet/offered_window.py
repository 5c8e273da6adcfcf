"""Lengths of a run of offered traffic."""

from typing import NamedTuple

from ..built_point import BuiltPoint

PS_PER_S = 1e12


class OfferedWindow(NamedTuple):
    """Transmission time of a message on the link of a node, warm-up, and length of a batch, in ps."""

    message_ps: float
    warmup_ps: int
    batch_ps: int


def offered_window(point: BuiltPoint) -> OfferedWindow:
    """Return the lengths of a run of offered traffic."""
    offered = point.offered
    message_ps = offered.mean_bytes / point.machine.host.bandwidth_Bps * PS_PER_S
    batch_ps = round(offered.measured * message_ps / offered.batches)
    return OfferedWindow(message_ps, round(offered.warmup * message_ps), batch_ps)
