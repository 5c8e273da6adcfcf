"""Keys and outputs that CODES' dragonflies of wiring files have in common."""

from fabricstudy.core.arrays import Integers

from ..network import PortCounters

INTRA, INTER = "intra", "inter"
"""Files of the links within a group, and between groups."""

COUNTERS = {
    "credit_size": 8,
    "auto_credit_delay": 1,
    # The window in which bytes are counted: several hours, in microseconds.
    "counting_bool": 1,
    "counting_start": 0,
    "counting_windows": 1,
    "counting_interval": 10**10,
    "num_apps": 2,
}


def port_counters(link_of_port: Integers) -> PortCounters:
    """Return the output of the bytes that left each port."""
    return PortCounters(
        "dragonfly-router-traffic-sample", router=lambda row: row[:, 2], columns=4, link_of_port=link_of_port, bits=32
    )
