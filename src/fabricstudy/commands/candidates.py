"""``fabricstudy candidates``: which machines could be built, and which of them are best."""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from fabricstudy.analysis.candidates import Candidates
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.core.model import Model
from fabricstudy.study.file import load_study, validated
from fabricstudy.workflow.pipeline import find_study

from .common import progress_spinner, text_table

WORDS = (
    "The front: no other candidate has at most the price a node, the bound and the taper (below 1 counts as 1), and "
    "less of one of them. Taper: what half of the nodes can send, over what the bisection carries; above 1 the middle "
    "of the machine is the bottleneck. Bound: least time for the traffic, whatever the routing."
)
_HOW_LONG = "all families of 2000 nodes take up to a minute"
_KEYS = ("nodes", "max_nodes", "radix", "ports_per_node", "taper", "bandwidth", "families")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{WORDS} How long it takes: {_HOW_LONG}."
    parser.add_argument("--nodes", type=int, required=True, help="nodes, at least")
    parser.add_argument("--max-nodes", type=int, help="most nodes (default: 5 %% more)")
    parser.add_argument("--radix", type=int, required=True, help="ports of a router")
    parser.add_argument("--ports-per-node", type=float, help="ports of all routers for each node, at most (default: 8)")
    parser.add_argument("--taper", type=float, help="what half of the nodes can send over the bisection, at most")
    parser.add_argument("--bandwidth", help="of all cables (default: 25 GB/s)")
    parser.add_argument("--families", nargs="+", metavar="KIND", help="kinds of machines (default: all)")
    parser.add_argument("--study", help="study whose jobs make the traffic (default: all-to-all of all nodes, 1 kB)")
    parser.add_argument("--prices", type=Path, help="CSV of prices (default: those of Besta and Hoefler, 2014)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write a study that simulates the front")


def list_candidates(args: argparse.Namespace) -> dict[str, Any]:
    """List the machines of about so many nodes that no other one beats in price, bound and taper."""
    if args.write and args.write.exists():
        raise FabricstudyError(f"{args.write}: there is such a file; move it away, or give another name")
    file = find_study(args.study) if args.study else None
    folder = file.parent if file else Path()
    asked = {key: getattr(args, key) for key in _KEYS if getattr(args, key) is not None} | _jobs(file)
    if args.prices:
        asked["prices"] = _price_file(args.prices, folder)
    analysis = validated(_Asked, {"candidates": asked}, {"folder": folder}).candidates
    with progress_spinner(f"looking at candidates; {_HOW_LONG}") as tell:
        candidates = analysis.found(tell)
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
    """Return the jobs of a study as they stand in it, and the cores of its nodes."""
    if file is None:
        return {"jobs": [{"share": 1.0, "pattern": {"kind": "all-to-all", "message": "1 kB"}}]}
    study = load_study(file)
    if study.machine is None:
        raise FabricstudyError(f"{file}: a study without jobs; give one that simulates")
    return {"jobs": study.base["jobs"], "cores_per_node": study.machine.cores_per_node}


def _price_file(file: Path, folder: Path) -> dict[str, str]:
    return {"kind": "file", "file": os.path.relpath(file, folder)}


def _study(analysis: Candidates, jobs: list[Any], front: dict[str, Any], prices: Any) -> dict[str, Any]:
    """Return a study that simulates machines with the jobs that the bounds are of, in the sizes that these have."""
    sized = [
        {key: value for key, value in written.items() if key != "share"} | {"nodes": job.node_count(analysis.nodes)}
        for written, job in zip(jobs, analysis.jobs, strict=True)
    ]
    cost = {"kind": "cost", "machines": front, "prices": prices, "radix": analysis.radix}
    return {
        "study": "next-machine-candidates",
        "title": f"Machines of {analysis.nodes} to {analysis.largest} nodes that no other candidate beats",
        "machine": next(iter(front.values())),
        "routing": "minimal",
        "jobs": sized,
        "engine": "caminos",
        "sweep": {"machine": {"of": "machine", "values": front}},
        "analyses": {"cost": cost | {"routers_per_rack": analysis.routers_per_rack}},
        "figures": [
            {"id": "time", "kind": "bar", "title": "Runtime of the jobs", "x": "machine", "y": "runtime_ns"},
            {
                "id": "price", "kind": "bar", "title": "What a node costs", "analysis": "cost", "x": "machine",
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
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(result["families"].items()))
    console.print(
        f"\n{result['candidates']:,} candidates ({counted}); above is the front. Prices in {result['currency']}; "
        f"bound of {result['traffic']}, the least one first.\n{WORDS}",
        highlight=False,
    )
    if result["written"]:
        console.print(f"Written: {result['written']}; see: fabricstudy plan {result['written']}", highlight=False)
