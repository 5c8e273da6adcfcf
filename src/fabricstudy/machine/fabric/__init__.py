"""Fabrics from files: one module per format.

In: the bytes of a file. Out: a `Fabric`: routers, nodes and cables by name, with their attributes, or an
`InputFileError` with the position in the file. `read_fabric` selects the format by the content of the file; its suffix
decides where the content does not.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from fabricstudy.core.input_files import InputFileError, text_of
from fabricstudy.core.log import warn_once

from . import (
    anynet,
    dot,
    edge_list,
    foreign,
    gml,
    graphml,
    htsim,
    iblinkinfo,
    ibnetdiscover,
    node_link,
    ns3,
    plain_edges,
    simgrid,
    slurm,
    slurm_yaml,
    sst_macro,
)
from .base import HEAD_BYTES, MAX_FABRIC_NODES, Cable, Fabric, LinkAttributes, Port
from .slurm import included_files

__all__ = [
    "FORMATS", "MAX_FABRIC_NODES", "Cable", "Fabric", "FormatName", "LinkAttributes", "Port", "included_files",
    "is_fabric_file", "read_fabric",
]  # fmt: skip


class Format(NamedTuple):
    """A format: its reader, its name in messages, and what the beginning of a file in this format contains."""

    read: Callable[[bytes], Fabric]
    words: str
    signature: re.Pattern[str]
    suffixes: tuple[str, ...] = ()
    """Suffixes that mean this format alone."""


FormatName = Literal[
    "graphml", "simgrid", "sst-macro", "node-link", "gml", "dot", "ibnetdiscover", "iblinkinfo", "slurm", "slurm-yaml",
    "anynet", "htsim", "ns3", "edge-list", "plain-edges",
]  # fmt: skip

FORMATS: dict[FormatName, Format] = {
    "graphml": Format(graphml.read, "GraphML", graphml.SIGNATURE, (".graphml",)),
    "simgrid": Format(simgrid.read, "a platform of SimGrid", simgrid.SIGNATURE),
    "sst-macro": Format(sst_macro.read, "a topology of SST-macro", sst_macro.SIGNATURE),
    "node-link": Format(node_link.read, "node-link JSON", node_link.SIGNATURE, (".json",)),
    "gml": Format(gml.read, "GML", gml.SIGNATURE, (".gml",)),
    "dot": Format(dot.read, "DOT", dot.SIGNATURE, (".dot", ".gv")),
    "ibnetdiscover": Format(
        ibnetdiscover.read, "output of ibnetdiscover, or a netfile of ibsim", ibnetdiscover.SIGNATURE,
        (".ibnetdiscover",),
    ),
    "iblinkinfo": Format(iblinkinfo.read, "output of iblinkinfo", iblinkinfo.SIGNATURE, (".iblinkinfo",)),
    "slurm": Format(slurm.read, "topology.conf of Slurm", slurm.SIGNATURE, (".conf",)),
    "slurm-yaml": Format(slurm_yaml.read, "topology.yaml of Slurm", slurm_yaml.SIGNATURE),
    "anynet": Format(anynet.read, "a network of BookSim (anynet)", anynet.SIGNATURE, (".anynet",)),
    "htsim": Format(htsim.read, "a fat tree of htsim", htsim.SIGNATURE),
    "ns3": Format(ns3.read, "a topology of ns-3 (HPCC)", ns3.SIGNATURE),
    "edge-list": Format(edge_list.read, "an edge list with a header", edge_list.SIGNATURE, (".csv",)),
    "plain-edges": Format(plain_edges.read, "an edge list without a header", plain_edges.SIGNATURE, (".edgelist",)),
}  # fmt: skip
"""Formats by name, in the order in which their signatures are tried."""


def read_fabric(path: Path, data: bytes, name: FormatName | None = None) -> Fabric:
    """Read a fabric in the format of this name, by default that of its content.

    Raises InputFileError with the position in the file.
    """
    if not data.strip():
        raise InputFileError("the file is empty", "use a complete file")
    if name is None:
        name = _format(path, data)
    fabric = slurm.read(data, path) if name == "slurm" else FORMATS[name].read(data)
    if not fabric.routers:
        raise InputFileError("the file has no router or switch", f"use a complete file of {FORMATS[name].words}")
    return fabric


def _format(path: Path, data: bytes) -> FormatName:
    """Return the format of a file, and print a sentence unless its suffix means it. Raises InputFileError."""
    head = data[:HEAD_BYTES].decode("utf-8-sig", errors="replace")
    found = _format_of(head)
    if found is None:
        text_of(data)
        foreign.refuse(head)
        found = next((name for name, form in FORMATS.items() if path.suffix in form.suffixes), None)
    if found is None:
        known = "; ".join(f"{name}: {form.words}" for name, form in FORMATS.items())
        raise InputFileError("unknown format of a fabric", f"use one of {known}")
    if path.suffix not in FORMATS[found].suffixes:
        warn_once(f"{path.name} is read as {FORMATS[found].words}; write format: {found} in the machine to confirm it")
    return found


def is_fabric_file(path: Path) -> bool:
    """Return whether a command takes a file for a fabric, rather than for a study or machine in YAML."""
    if not path.is_file():
        return False
    if path.suffix not in (".yaml", ".yml"):
        return True
    with path.open("rb") as file:
        return _format_of(file.read(HEAD_BYTES).decode("utf-8-sig", errors="replace")) == "slurm-yaml"


def _format_of(head: str) -> FormatName | None:
    return next((name for name, form in FORMATS.items() if form.signature.search(head)), None)
