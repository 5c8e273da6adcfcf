"""Fat trees of htsim (``.topo`` of csg-htsim): nodes, tiers, size of a pod, and radices and speeds of each tier.

Tier 0 are the switches of the nodes, of which each pod has as many as its nodes need; each is joined to all switches of
tier 1 in its pod, or in the tree if there are two tiers. Switch i of tier 1 in a pod of m is joined to the switches
i, i + m, ... of tier 2. `Bundle` is the number of parallel cables.
"""

import re
from typing import NamedTuple

from fabricstudy.core.input_files import InputFileError, numbered_lines, position_text, whole
from fabricstudy.core.log import warn_once

from .base import COMMENTS, HOST, MAX_FABRIC_NODES, Cable, Fabric, LinkAttributes, Port

SIGNATURE = re.compile(rf"\A{COMMENTS}[ \t]*(?:Nodes|Tiers|Podsize)[ \t]+\d+[ \t\r]*\n", re.I)

_HEAD = ("nodes", "tiers", "podsize")
_OF_TIER = ("downlink_speed_gbps", "radix_up", "radix_down", "bundle", "downlink_latency_ns")
_UNUSED = ("oversubscribed", "queue_up", "queue_down", "switch_latency_ns")
_USE = "use a file that htsim accepts"


class _Key(NamedTuple):
    tier: int
    name: str


def read(data: bytes) -> Fabric:
    """Read a tree; raises InputFileError with the line, or if the radices do not fit.

    Examples
    --------
    >>> fabric = read(b"Nodes 4\\nTiers 2\\nPodsize 4\\nTier 0\\nRadix_Down 2\\nRadix_Up 1\\nTier 1\\nRadix_Down 2\\n")
    >>> len(fabric.routers), len(fabric.cables), len(fabric.ports)
    (3, 2, 4)
    """
    values = _values(data)
    nodes, tiers, pod = (_needed(values, _Key(-1, name)) for name in _HEAD)
    down = [_needed(values, _Key(tier, "radix_down")) for tier in range(tiers)]
    up = [_needed(values, _Key(tier, "radix_up")) for tier in range(tiers - 1)]
    bundle = [values.get(_Key(tier, "bundle"), 1) for tier in range(tiers)]
    if (
        nodes % pod
        or (tiers == 2 and nodes != pod)
        or pod % down[0]
        or bundle[0] != 1
        or any(up[i] % bundle[i + 1] for i in range(tiers - 1))
    ):
        raise InputFileError("pods, radices and bundles do not fit the number of nodes", _USE, "", nodes)
    leaves, pods = pod // down[0], nodes // pod
    upper = up[0] // bundle[1]
    # Both ends of all cables between two tiers.
    below = [leaves * (pods if tiers == 2 else 1), pods * upper]
    top = 0 if tiers == 2 else upper * (up[1] // bundle[2])
    if below[0] * bundle[1] != down[1] or (tiers == 3 and pods * bundle[2] != down[2]):
        raise InputFileError("the radix of an upper tier is not that of its cables", _USE, "", down[1])
    links = [_link(values, tier) for tier in range(tiers)]
    ports = [
        Port(f"n{node}", f"n{node}", f"tier0-{node // down[0]}", links[0], f"node {node}") for node in range(nodes)
    ]
    cables = []
    for leaf in range(leaves * pods):
        first = 0 if tiers == 2 else leaf // leaves * upper
        for switch in range(first, first + upper):
            cables.append(Cable(f"tier0-{leaf}", f"tier1-{switch}", links[1], bundle[1], "Tier 1"))
    for switch in range(pods * upper if top else 0):
        for core in range(switch % upper, top, upper):
            cables.append(Cable(f"tier1-{switch}", f"tier2-{core}", links[2], bundle[2], "Tier 2"))
    counts = [leaves * pods, upper * (1 if tiers == 2 else pods), top]
    return Fabric({f"tier{tier}-{switch}": 0 for tier in range(tiers) for switch in range(counts[tier])}, cables, ports)


def _values(data: bytes) -> dict[_Key, int]:
    values: dict[_Key, int] = {}
    tier = -1
    unused = []
    for number, line in numbered_lines(data):
        words = line.lower().split()
        if not words or words[0].startswith("#"):
            continue
        where = position_text(number)
        known = _HEAD if tier < 0 else (*_OF_TIER, *_UNUSED)
        if len(words) != 2 or words[0] not in ("tier", *known):
            remedy = f"use {', '.join(('Tier', *known))} and a number"
            raise InputFileError("unknown key of a topology of htsim", remedy, where, line)
        value = whole(words[1], 0, MAX_FABRIC_NODES, where)
        if words[0] == "tier":
            tier = value
        elif _Key(tier, words[0]) in values:
            raise InputFileError("duplicate key", "write it once", where, words[0])
        if words[0] in _UNUSED and words[0] != "oversubscribed" and value:
            unused.append(f"{words[0]} ({where})")
        values[_Key(tier, words[0])] = value
    if unused:
        warn_once(f"warning: values of htsim that are not used: {', '.join(unused)}")
    return values


def _needed(values: dict[_Key, int], key: _Key) -> int:
    value = values.get(key, 0)
    if value == 0:
        raise InputFileError(f"no {key.name}", _USE, f"Tier {key.tier}" if key.tier >= 0 else "")
    return value


def _link(values: dict[_Key, int], tier: int) -> LinkAttributes:
    speed, latency = (values.get(_Key(tier, name)) for name in ("downlink_speed_gbps", "downlink_latency_ns"))
    name = f"tier{tier}" if tier else HOST
    return LinkAttributes(name, speed * 1e9 / 8 if speed else None, float(latency) if latency else None)
