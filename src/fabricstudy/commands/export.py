"""``fabricstudy export``: a machine or a table of results in a format of other programs."""

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.machine.fabric.base import HOST
from fabricstudy.machine.graph import LinkClass, Machine
from fabricstudy.machine.named import NamedMachine

from .common import add_results, check_output_path, load_named_machine, load_pipeline, machine_files, results_folder

Edge = tuple[str, str, str, int, float, float]
_COLUMNS = {"class": "string", "count": "int", "bandwidth_Bps": "double", "latency_ns": "double"}
"""Attributes of an edge with their types in GraphML."""
_MACHINES, _TABLES = (".csv", ".graphml", ".json"), (".csv", ".tex")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    source = "published machine, like mira; YAML file; study; or mapping, like '{kind: torus, ...}'"
    parser.add_argument("source", metavar="SOURCE", help=f"{source}; with --table a study that has run")
    parser.add_argument("--table", metavar="NAME", help="table of the results of the study, such as jobs")
    words = "machine: edge list (.csv), GraphML (.graphml) or node-link JSON (.json); table: .csv or LaTeX (.tex)"
    parser.add_argument("--out", type=Path, required=True, help=words)
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--columns", nargs="+", metavar="COLUMN", help="columns of the table (default: all)")
    add_results(parser)


def export_file(args: argparse.Namespace) -> dict[str, Any]:
    """Write a machine as a graph, or a table of results as CSV or LaTeX."""
    out: Path = args.out
    suffixes = _TABLES if args.table else _MACHINES
    if out.suffix not in suffixes:
        raise FabricstudyError(f"{out}: no such format; write one of {', '.join(suffixes)}", "unsupported-format")
    if args.columns and not args.table:
        raise FabricstudyError("--columns without --table; name the table", "usage")
    check_output_path(out, *machine_files(None if args.table else args.source))
    if out.exists() and not args.force:
        problem = f"{out}: the file exists; add --force to overwrite it, or use another name"
        raise FabricstudyError(problem, "invalid-value")
    rows = _write_table(args, out) if args.table else _write_machine(load_named_machine(args.source).build(), out)
    return {"file": str(out), "rows": rows}


def _write_table(args: argparse.Namespace, out: Path) -> int:
    from fabricstudy.table.files import check_identity, read_table

    pipeline = load_pipeline(args.source)
    folder = results_folder(args) / pipeline.name / "tables"
    if not (folder / f"{args.table}.parquet").is_file():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.parquet"))) or "none, the study has not run"
        raise FabricstudyError(f"{args.table}: no such table in {folder}; known: {known}", "unknown-name")
    check_identity(folder, pipeline.name, pipeline.identity)
    frame = read_table(folder / f"{args.table}.parquet")
    missing = [name for name in args.columns or () if name not in frame]
    if missing:
        problem = f"{missing[0]}: no such column of {args.table}; known: {', '.join(map(str, frame))}"
        raise FabricstudyError(problem, "unknown-name")
    frame = frame[args.columns] if args.columns else frame
    with atomic_text(out) as file:
        file.write(frame.to_csv(index=False) if out.suffix == ".csv" else _latex(frame))
    return len(frame)


def _latex(frame: Any) -> str:
    """Return a table as LaTeX, with as many digits of a number as in the report."""
    from fabricstudy.report.text import number

    fractions = frame.select_dtypes("floating").columns
    return str(frame.assign(**{name: frame[name].map(number) for name in fractions}).to_latex(index=False, escape=True))


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


def _write_machine(machine: Machine, out: Path) -> int:
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


def show_file(written: dict[str, Any]) -> None:
    print(f"wrote {written['file']}, {written['rows']:,} rows")
