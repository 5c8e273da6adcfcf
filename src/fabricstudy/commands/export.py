"""``fabricstudy machine export``: a machine in a format of other programs."""

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fabricstudy.core.files import atomic_text
from fabricstudy.machine.fabric.base import HOST
from fabricstudy.machine.graph import LinkClass, Machine, NamedMachine

from .common import MACHINE_HELP, add_new_file, check_new_file, load_named_machine, machine_files

Edge = tuple[str, str, str, int, float, float]
_COLUMNS = {"class": "string", "count": "int", "bandwidth_Bps": "double", "latency_ns": "double"}
"""Attributes of an edge with their types in GraphML."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="MACHINE", help=MACHINE_HELP)
    add_new_file(parser, "file to write: edge list (.csv), GraphML (.graphml) or node-link JSON (.json)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write a machine as a graph: its routers, nodes and cables."""
    check_new_file(args, (".csv", ".graphml", ".json"), machine_files(args.source))
    return {"file": str(args.out), "rows": _write(load_named_machine(args.source).build(), args.out)}


def _edges(machine: Machine) -> Iterator[Edge]:
    """Yield both ends of each link, its class, count, bandwidth (B/s) and latency (ns); host links are last."""
    if isinstance(machine, NamedMachine):
        routers, nodes = machine.router_names, machine.node_names
    else:
        routers, nodes = (tuple(f"{a}{i}" for i in range(n)) for a, n in (("r", machine.routers), ("n", machine.nodes)))

    def of_link(name: str, link: LinkClass, count: int) -> tuple[str, int, float, float]:
        return name, count, link.bandwidth_Bps, link.latency_ns

    columns = (machine.cable_tail, machine.cable_head, machine.cable_class, machine.cable_count)
    for tail, head, kind, count in zip(*(column.tolist() for column in columns), strict=True):
        yield (routers[tail], routers[head], *of_link(machine.classes[kind].name, machine.classes[kind], count))
    for node, router in zip(nodes, machine.node_router.tolist(), strict=True):
        yield (node, routers[router], *of_link(HOST, machine.host, 1))


def _write(machine: Machine, out: Path) -> int:
    edges = list(_edges(machine))
    roles = {end: "router" for edge in edges if edge[2] != HOST for end in edge[:2]}
    roles |= {edge[0]: "node" for edge in edges if edge[2] == HOST}
    with atomic_text(out) as file:
        if out.suffix == ".csv":
            csv.writer(file, lineterminator="\n").writerows([("from", "to", *_COLUMNS), *edges])
        elif out.suffix == ".json":
            vertices = [{"id": name, "role": role} for name, role in roles.items()]
            links = [dict(zip(("source", "target", *_COLUMNS), edge, strict=True)) for edge in edges]
            json.dump({"directed": False, "multigraph": True, "graph": {}, "nodes": vertices, "edges": links}, file)
        else:
            file.write(_graphml(roles, edges))
    return len(edges)


def _graphml(roles: dict[str, str], edges: list[Edge]) -> str:
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for key, kind in {"role": "string", **_COLUMNS}.items():
        words = {"id": key, "for": "node" if key == "role" else "edge", "attr.name": key, "attr.type": kind}
        ElementTree.SubElement(root, "key", words)
    graph = ElementTree.SubElement(root, "graph", edgedefault="undirected")
    for name, role in roles.items():
        vertex = ElementTree.SubElement(graph, "node", id=name)
        ElementTree.SubElement(vertex, "data", key="role").text = role
    for tail, head, *values in edges:
        edge = ElementTree.SubElement(graph, "edge", source=tail, target=head)
        for key, value in zip(_COLUMNS, values, strict=True):
            ElementTree.SubElement(edge, "data", key=key).text = str(value)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def show(written: dict[str, Any]) -> None:
    print(f"wrote {written['file']}, {written['rows']:,} rows")
