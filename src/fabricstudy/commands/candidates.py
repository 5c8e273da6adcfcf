"""``fabricstudy candidates``: possible machines, and the Pareto front of price, bound and taper."""

import argparse
import os
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from fabricstudy.analysis.candidates import Candidates
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.core.model import Model
from fabricstudy.machine.fabric import FORMATS
from fabricstudy.structure.prices import Prices
from fabricstudy.study.file import load_study, parse_yaml, validated
from fabricstudy.study.plan import plan
from fabricstudy.study.resolution import resolutions, virtual_channels
from fabricstudy.workflow.pipeline import find_study

from .common import (
    add_extensions,
    load_named_machine,
    progress_spinner,
    table_console,
    text_table,
    with_extensions,
)

WORDS = (
    "A candidate is on the Pareto front if no other is at least as good in price per node, bound and taper (values "
    "below 1 count as 1), and better in one. Taper: injection bandwidth of half of the nodes over the bisection "
    "bandwidth; above 1 the bisection is the bottleneck. Bound: lower bound on the traffic time under any routing. "
    "Machines with the same numbers share a line, with = between them."
)
ABBREVIATIONS = "n/r: nodes per router, r/g: routers per group, l/g: links per pair of groups."
MS_FROM_NS = 1e7
"""Longest bound from which a study has figures in milliseconds."""

_HOW_LONG = "all families of 2000 nodes take up to a minute"
_KEYS = (
    "nodes", "max_nodes", "radix", "ports_per_node", "taper", "price_at_least", "price_at_most", "bandwidth",
    "families",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{WORDS} {ABBREVIATIONS} Time: {_HOW_LONG}."
    parser.add_argument("--nodes", type=int, required=True, help="fewest nodes")
    parser.add_argument("--max-nodes", type=int, help="most nodes (default: 5 %% more)")
    parser.add_argument("--radix", type=int, required=True, help="ports of a router")
    parser.add_argument("--ports-per-node", type=float, help="most router ports per node (default: 8)")
    parser.add_argument("--taper", type=float, help="largest taper")
    parser.add_argument("--price-at-least", type=float, metavar="PRICE", help="lowest price per node")
    parser.add_argument("--price-at-most", type=float, metavar="PRICE", help="highest price per node")
    parser.add_argument(
        "--with", dest="given", action="append", default=[], metavar="MACHINE",
        help="compare with this machine, such as the incumbent: a name, file or mapping; may be repeated",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="list all candidates, not only the front")
    parser.add_argument("--bandwidth", help="of each cable (default: 25 GB/s)")
    parser.add_argument("--families", nargs="+", metavar="KIND", help="kinds of machines (default: all)")
    parser.add_argument("--study", help="study with the jobs of the traffic (default: all-to-all of all nodes, 1 kB)")
    parser.add_argument("--prices", help="CSV of prices, or a price list: besta-2014 (default), mixnet-2025")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write a study that simulates the front")
    add_extensions(parser)


@with_extensions
def list_candidates(args: argparse.Namespace) -> dict[str, Any]:
    """List the machines of about so many nodes on the Pareto front of price, bound and taper."""
    if args.write and args.write.exists():
        raise FabricstudyError(f"{args.write}: the file exists; move it, or use another name")
    file = find_study(args.study) if args.study else None
    folder = file.parent if file else Path()
    asked = {key: getattr(args, key) for key in _KEYS if getattr(args, key) is not None} | _jobs(file)
    given = {_label(source): load_named_machine(source) for source in args.given}
    if args.prices:
        asked["prices"] = _prices(args.prices, folder)
    asked["given_machines"] = given
    analysis = validated(_Asked, {"candidates": asked}, {"folder": folder}).candidates
    with progress_spinner(f"analysing candidates; {_HOW_LONG}") as show_progress:
        candidates = analysis.found(show_progress, every_bound=args.all)
    if args.write:
        _write_study(args, analysis, asked["jobs"], candidates)
    tariff = analysis.prices.tariff()
    rows = sorted((row for row, _ in candidates), key=lambda row: row["bound_ns"])
    return {
        "candidates": len(candidates),
        "families": Counter(row["family"] for row in rows),
        "currency": f"{tariff.currency} of {tariff.year}",
        "traffic": f"the jobs of {args.study}" if args.study else "all-to-all of all nodes, 1 kB a message",
        "written": str(args.write) if args.write else None,
        "front": [row for row in rows if row["front"]],
        "given": [row for row in rows if row["given"]],
        **({"all": rows} if args.all else {}),
    }


def _label(source: str) -> str:
    """Return the label of a machine: the name of its file, or its text."""
    return Path(source).stem if Path(source).is_file() else source


def _write_study(args: argparse.Namespace, analysis: Candidates, jobs: list[Any], candidates: list[Any]) -> None:
    """Write a study of the front and the given machines."""
    folder = args.write.parent
    machines = {row["machine"]: written for row, written in candidates if row["front"] and not row["given"]}
    extensions = [Path(name) for name in args.extensions]
    for source in args.given:
        machines[_label(source)], listed = _as_written(source, folder)
        extensions += listed
    prices = _prices(args.prices, folder) if args.prices else "besta-2014"
    bounds_ns = [row["bound_ns"] for row, _ in candidates if row["front"] or row["given"]]
    study = _study(analysis, jobs, machines, prices, "us" if max(bounds_ns) < MS_FROM_NS else "ms")
    if extensions:
        names = dict.fromkeys(os.path.relpath(path, folder) for path in extensions)
        study = {"study": study["study"], "extensions": list(names)} | study
    _write_yaml(study, args.write)
    # Machines and routings are compared at the smallest of their default units, and with the most virtual channels.
    planned = plan(load_study(args.write))
    found = resolutions(planned)
    units, channels = {one.unit_bytes for one in found.values()}, set(virtual_channels(planned, found).values())
    if len(units) > 1:
        study["engine"] = {"kind": "caminos", "phit": f"{min(units)} B"}
    if len(channels) > 1:
        study["network"] = {"virtual_channels": max(channels)}
    _write_yaml(study, args.write)


def _write_yaml(study: dict[str, Any], file: Path) -> None:
    with atomic_text(file) as text:
        yaml.safe_dump(study, text, sort_keys=False, width=120, default_flow_style=None)


def _as_written(source: str, folder: Path) -> tuple[Any, list[Path]]:
    """Return a machine as in a study of `folder`, and the extensions that its file lists."""
    path = Path(source)
    if not path.is_file():
        return parse_yaml(source), []
    if path.suffix in FORMATS:
        return {"kind": "graph", "file": os.path.relpath(path, folder)}, []
    data = parse_yaml(path.read_text(encoding="utf-8"))
    machine = data.get("machine", data)
    if isinstance(machine, dict) and "file" in machine:
        machine = machine | {"file": os.path.relpath(path.parent / machine["file"], folder)}
    return machine, [path.parent / name for name in data.get("extensions", [])]


class _Asked(Model):
    candidates: Candidates


def _jobs(file: Path | None) -> dict[str, Any]:
    """Return the jobs as in the study file, and the cores of a node."""
    if file is None:
        return {"jobs": [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB"}}]}
    study = load_study(file)
    if study.machine is None:
        raise FabricstudyError(f"{file}: a study without jobs; use one that simulates")
    return {"jobs": study.base["jobs"], "cores_per_node": study.machine.cores_per_node}


def _prices(source: str, folder: Path) -> str | dict[str, str]:
    """Return a price list as in a study of `folder`: its kind, or a file."""
    return source if source in Prices.FAMILY.kinds else {"kind": "file", "file": os.path.relpath(source, folder)}


def _study(analysis: Candidates, jobs: list[Any], front: dict[str, Any], prices: Any, unit: str) -> dict[str, Any]:
    """Return a study that simulates the machines of the front with the jobs of the bounds, on equally many nodes.

    Its figures have times in `unit`.
    """
    sized = [
        {key: value for key, value in written.items() if key != "share"} | {"nodes": job.node_count(analysis.nodes)}
        for written, job in zip(jobs, analysis.jobs, strict=True)
    ]
    tariff = analysis.prices.tariff()
    title = "Runtime" if len(jobs) == 1 else "Geometric mean of the runtimes of the jobs"
    time = {"y": "runtime_ns", "unit": unit, "reduce_jobs": "geometric-mean", "y_label": title.lower()}
    cost = {"kind": "cost", "machines": front, "prices": prices, "radix": analysis.radix}
    return {
        "study": "next-machine-candidates",
        "title": f"Pareto-efficient machines of {analysis.nodes} to {analysis.largest} nodes",
        "machine": next(iter(front.values())),
        "routing": "minimal",
        "jobs": sized,
        "engine": "caminos",
        # Under minimal routing alone, networks with few hops would compare badly with trees.
        "sweep": {
            "machine": {"of": "machine", "values": front},
            "routing": {"of": "routing", "values": ["minimal", "ugal"]},
        },
        "analyses": {"cost": cost | {"routers_per_rack": analysis.routers_per_rack}},
        "seeds": 3,
        "figures": [
            {
                "id": "price-and-time", "kind": "scatter", "title": "Price of a machine and time of the jobs",
                "hue": "machine", "style": "routing", "front": True, "x": "price_per_node", "x_analysis": "cost",
                "x_where": {"part": "all"}, "x_label": f"price per node ({tariff.currency} of {tariff.year})",
                "caption": ABBREVIATIONS, **time,
            },
            {"id": "time", "kind": "bar", "title": title, "x": "machine", "hue": "routing", **time},
        ],
    }  # fmt: skip


def show_candidates(result: dict[str, Any]) -> None:
    given = result["given"]
    numbers = ["nodes", "routers", "diameter", "mean hops", "bisection (TB/s)", "taper", "price/node", "W/node",
               "bound (us)"]  # fmt: skip
    table = text_table("machine", *numbers, *(f"/ {row['machine']}" for row in given))
    shown = result.get("all", [*result["front"], *(row for row in given if not row["front"])])
    for row in shown:
        low, high = row["bisection_lower_Bps"] / 1e12, row["bisection_upper_Bps"] / 1e12
        interval = f"{high:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        mark = "* " if row["front"] and len(shown) > len(result["front"]) else ""
        power = "–" if row["power_per_node_W"] is None else f"{row['power_per_node_W']:.1f}"
        name = mark + " = ".join(filter(None, (row["machine"], row["equal"])))
        table.add_row(
            name, str(row["nodes"]), str(row["routers"]), str(row["diameter"]),
            f"{row['mean_hops']:.2f}", interval, f"{row['taper']:.2f}", f"{row['price_per_node']:,.0f}", power,
            f"{row['bound_ns'] / 1e3:,.1f}", *(f"{row['bound_ns'] / other['bound_ns']:.2f}" for other in given),
        )  # fmt: skip
    console = table_console(200)
    console.print(table)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(result["families"].items()))
    which = "all, those on the front with *" if "all" in result else "the front"
    console.print(
        f"\n{result['candidates']:,} candidates ({counted}); the table has {which}, sorted by bound. Prices in "
        f"{result['currency']}; bound of {result['traffic']}.\n{WORDS} {ABBREVIATIONS}"
    )
    if result["written"]:
        console.print(f"Written: {result['written']}; see: fabricstudy plan {result['written']}")
