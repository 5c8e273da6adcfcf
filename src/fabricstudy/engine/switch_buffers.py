"""Packet buffers of switches by name: that of a switch, divided by its ports."""

from typing import NamedTuple


class SwitchBuffer(NamedTuple):
    """The packet buffer of a switch, which its ports share, and where it is published."""

    switch_bytes: int
    ports: int
    port_speed: str
    source: str

    @property
    def port_bytes(self) -> int:
        """An equal part of the buffer; a busy port of a real switch may have more, and an idle one has less."""
        return self.switch_bytes // self.ports

    def describe(self) -> str:
        """Return where the bytes of a port come from."""
        of_ports = f"{self.switch_bytes:,} B / {self.ports} ports of {self.port_speed}"
        return f"{self.port_bytes:,} B a port: {of_ports}; {self.source}"


_TOMAHAWK_2 = "port-buffers.forwardingplane.net/concepts/broadcom-tomahawk2"
_SONIC = "github.com/sonic-net/sonic-buildimage"

SWITCH_BUFFERS = {
    "tomahawk-1": SwitchBuffer(15_982_720, 32, "100 Gb/s", f"Celestica DX010, {_SONIC}/pull/3492"),
    "tomahawk-2": SwitchBuffer(42_000_000, 64, "100 Gb/s", _TOMAHAWK_2),
    "tomahawk-5": SwitchBuffer(165_364_160, 64, "800 Gb/s", f"Arista 7060X6-64PE, {_SONIC}/pull/25560"),
    "spectrum-1": SwitchBuffer(13_945_824, 32, "100 Gb/s", f"Mellanox SN2700, {_SONIC}/pull/5908"),
    "spectrum-4": SwitchBuffer(158_229_504, 64, "800 Gb/s", f"NVIDIA SN5600, {_SONIC}/pull/20991"),
}  # fmt: skip
"""Buffers of Slingshot's Rosetta, of Quantum-2 and -3, and of Aries are not published."""
