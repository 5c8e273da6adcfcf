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
from fabricstudy.study.file import load_study, validated
from fabricstudy.workflow.pipeline import find_study

from .common import progress_spinner, table_console, text_table

WORDS = (
    "A candidate is on the Pareto front if no other is at least as good in price per node, bound and taper (values "
    "below 1 count as 1), and better in one. Taper: injection bandwidth of half of the nodes over the bisection "
    "bandwidth; above 1 the bisection is the bottleneck. Bound: lower bound on the traffic time under any routing."
)
_HOW_LONG = "all families of 2000 nodes take up to a minute"
_KEYS = ("nodes", "max_nodes", "radix", "ports_per_node", "taper", "bandwidth", "families")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{WORDS} Time: {_HOW_LONG}."
    parser.add_argument("--nodes", type=int, required=True, help="fewest nodes")
    parser.add_argument("--max-nodes", type=int, help="most nodes (default: 5 %% more)")
    parser.add_argument("--radix", type=int, required=True, help="ports of a router")
    parser.add_argument("--ports-per-node", type=float, help="most router ports per node (default: 8)")
    parser.add_argument("--taper", type=float, help="largest taper")
    parser.add_argument("--bandwidth", help="of each cable (default: 25 GB/s)")
    parser.add_argument("--families", nargs="+", metavar="KIND", help="kinds of machines (default: all)")
    parser.add_argument("--study", help="study with the jobs of the traffic (default: all-to-all of all nodes, 1 kB)")
    parser.add_argument("--prices", type=Path, help="CSV of prices (default: those of Besta and Hoefler, 2014)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write a study that simulates the front")


def list_candidates(args: argparse.Namespace) -> dict[str, Any]:
    """List the machines of about so many nodes on the Pareto front of price, bound and taper."""
    if args.write and args.write.exists():
        raise FabricstudyError(f"{args.write}: the file exists; move it, or use another name")
    file = find_study(args.study) if args.study else None
    folder = file.parent if file else Path()
    asked = {key: getattr(args, key) for key in _KEYS if getattr(args, key) is not None} | _jobs(file)
    if args.prices:
        asked["prices"] = _price_file(args.prices, folder)
    analysis = validated(_Asked, {"candidates": asked}, {"folder": folder}).candidates
    with progress_spinner(f"analysing candidates; {_HOW_LONG}") as show_progress:
        candidates = analysis.found(show_progress)
    front = {row["machine"]: written for row, written in candidates if row["front"]}
    if args.write:
        prices = _price_file(args.prices, args.write.parent) if args.prices else "besta-2014"
        study = _study(analysis, asked["jobs"], front, prices)
        with atomic_text(args.write) as text:
            yaml.safe_dump(study, text, sort_keys=False, width=120, default_flow_style=None)
    tariff = analysis.prices.tariff()
    return {
        "candidates": len(candidates),
        "families": Counter(row["family"] for row, _ in candidates),
        "currency": f"{tariff.currency} of {tariff.year}",
        "traffic": f"the jobs of {args.study}" if args.study else "all-to-all of all nodes, 1 kB a message",
        "written": str(args.write) if args.write else None,
        "front": sorted((row for row, _ in candidates if row["front"]), key=lambda row: row["bound_ns"]),
    }


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


def _price_file(file: Path, folder: Path) -> dict[str, str]:
    return {"kind": "file", "file": os.path.relpath(file, folder)}


def _study(analysis: Candidates, jobs: list[Any], front: dict[str, Any], prices: Any) -> dict[str, Any]:
    """Return a study that simulates the machines of the front with the jobs of the bounds, on equally many nodes."""
    sized = [
        {key: value for key, value in written.items() if key != "share"} | {"nodes": job.node_count(analysis.nodes)}
        for written, job in zip(jobs, analysis.jobs, strict=True)
    ]
    cost = {"kind": "cost", "machines": front, "prices": prices, "radix": analysis.radix}
    return {
        "study": "next-machine-candidates",
        "title": f"Pareto-efficient machines of {analysis.nodes} to {analysis.largest} nodes",
        "machine": next(iter(front.values())),
        "routing": "minimal",
        "jobs": sized,
        "engine": "caminos",
        "sweep": {"machine": {"of": "machine", "values": front}},
        "analyses": {"cost": cost | {"routers_per_rack": analysis.routers_per_rack}},
        "figures": [
            {"id": "time", "kind": "bar", "title": "Runtime of the jobs", "x": "machine", "y": "runtime_ns"},
            {
                "id": "price", "kind": "bar", "title": "Price per node", "analysis": "cost", "x": "machine",
                "y": "price_per_node", "where": {"part": "all"},
            },
        ],
    }  # fmt: skip


def show_candidates(result: dict[str, Any]) -> None:
    numbers = ("nodes", "routers", "diameter", "mean hops", "bisection (TB/s)", "taper", "price/node", "W/node",
               "bound (us)")  # fmt: skip
    table = text_table("machine", *numbers)
    for row in result["front"]:
        low, high = row["bisection_lower_Bps"] / 1e12, row["bisection_upper_Bps"] / 1e12
        interval = f"{high:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        table.add_row(
            row["machine"], str(row["nodes"]), str(row["routers"]), str(row["diameter"]), f"{row['mean_hops']:.2f}",
            interval, f"{row['taper']:.2f}", f"{row['price_per_node']:,.0f}", f"{row['power_per_node_W']:.1f}",
            f"{row['bound_ns'] / 1e3:,.1f}",
        )  # fmt: skip
    console = table_console(200)
    console.print(table)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(result["families"].items()))
    console.print(
        f"\n{result['candidates']:,} candidates ({counted}); the table is the front, sorted by bound. Prices in "
        f"{result['currency']}; bound of {result['traffic']}.\n{WORDS}"
    )
    if result["written"]:
        console.print(f"Written: {result['written']}; see: fabricstudy plan {result['written']}")
