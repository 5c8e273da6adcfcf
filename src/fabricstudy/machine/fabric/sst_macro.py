"""Topologies of SST-macro (``topology.name = file``): JSON with the output ports of switches and nodes.

``{"switches": {"s0": {"outports": {"0": {"destination": "s1", "inport": 2}, ...}}}, "nodes": {...}}``. The file has no
bandwidths.
"""

import re
from typing import Any, NamedTuple

from fabricstudy.core.input_files import InputFileError, whole

from .base import HOST, Cable, Fabric, LinkAttributes, Port, json_of

SIGNATURE = re.compile(r'\A\s*\{[\s\S]*"outports"\s*:\s*\{')

_USE = "use a file that SST-macro accepts"
_MAX_PORT = 10**9


class _End(NamedTuple):
    device: str
    port: int


def read(data: bytes) -> Fabric:
    """Read a topology; raises InputFileError with the line, or with switch and port."""
    topology = json_of(data, _USE)
    switches, nodes = (_devices(topology, key) for key in ("switches", "nodes"))
    peers = {**_peers(switches, "switches"), **_peers(nodes, "nodes")}
    cables, ports = [], []
    for end, (peer, where) in peers.items():
        if peer.device not in switches and peer.device not in nodes:
            raise InputFileError("unknown destination", _USE, where, peer.device)
        if peers.get(peer, (end, ""))[0] != end:
            raise InputFileError("the other end leads elsewhere", _USE, where, peer.device)
        if end.device in nodes and (peer.device in nodes or peer not in peers):
            raise InputFileError("a node without a port of a switch that leads back to it", _USE, where, end.device)
        if end.device in nodes or peer.device == end.device:
            continue
        if peer.device in nodes:
            link = LinkAttributes(HOST, None, None)
            name = f"{peer.device} port {peer.port}"
            ports.append(Port(peer.device, name, end.device, link, where, (), end.port))
        elif peer not in peers:
            raise InputFileError("the other end has no such port", _USE, where, peer.device)
        elif end < peer:
            link = LinkAttributes("link", None, None)
            cables.append(Cable(end.device, peer.device, link, 1, where, (end.port, peer.port)))
    return Fabric(dict.fromkeys(switches, 0), cables, ports)


def _devices(topology: Any, key: str) -> dict[str, Any]:
    devices = topology.get(key) if isinstance(topology, dict) else None
    if not isinstance(devices, dict):
        raise InputFileError(f"no mapping {key}", _USE, key)
    return devices


def _peers(devices: dict[str, Any], key: str) -> dict[_End, tuple[_End, str]]:
    """Return the peer of each port, with the position of the port."""
    peers = {}
    for name, device in devices.items():
        outports = device.get("outports") if isinstance(device, dict) else None
        if not isinstance(outports, dict):
            raise InputFileError("a device without outports", _USE, f"{key}.{name}")
        for port, to in outports.items():
            where = f"{key}.{name}.outports.{port}"
            if not isinstance(to, dict) or not isinstance(to.get("destination"), str):
                raise InputFileError("a port without destination", _USE, where)
            peer = _End(to["destination"], whole(to.get("inport"), 0, _MAX_PORT, where))
            peers[_End(name, whole(port, 0, _MAX_PORT, where))] = peer, where
    return peers
