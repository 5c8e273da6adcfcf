"""``fabricstudy machine candidates``: possible machines, and the Pareto front of price, bound and taper."""

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import Any

import yaml

from fabricstudy.analysis.candidates import Candidates
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.files import atomic_text
from fabricstudy.core.model import Model
from fabricstudy.core.phrasing import quoted
from fabricstudy.machine.base import Topology
from fabricstudy.machine.fabric import is_fabric_file
from fabricstudy.machine.proposals import abbreviation
from fabricstudy.structure.prices import Prices
from fabricstudy.study.file import load_study, parse_yaml, validated
from fabricstudy.study.model import Study
from fabricstudy.workflow.candidates import (
    SAMPLE,
    check_estimates,
    front_sentences,
    nearest,
    run_study,
    simulated_front,
)
from fabricstudy.workflow.pipeline import find_study
from fabricstudy.workflow.snakefile import RESULTS

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
    "bandwidth; above 1 the bisection is the bottleneck. Of an interval, the higher taper is proven and counts, for "
    "--taper too. Bound: lower bound on the traffic time under any routing. Reason: what a machine has over the next "
    "cheaper one listed; of a longer front, at most 20 are listed, those that differ most. Machines with the same "
    "numbers share a line, with = between them."
)
MS_FROM_NS = 1e7
"""Longest bound from which a study has figures in milliseconds."""

_HOW_LONG = "all families of 2000 nodes take up to a minute"
_ROUTINGS = ("minimal", "ugal")
_SEEDS = 3
_FEWEST, _MOST = 2 * SAMPLE, 900
"""Limits of the candidates that are run on the flow engine."""
_KEYS = (
    "nodes", "max_nodes", "radix", "ports_per_node", "taper", "price_at_least", "price_at_most", "bandwidth",
    "families",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{WORDS} Time: {_HOW_LONG}."
    parser.add_argument("--nodes", type=int, required=True, help="fewest nodes")
    parser.add_argument("--max-nodes", type=int, help="most nodes (default: 5 %% more)")
    parser.add_argument("--radix", type=int, required=True, help="ports of a router")
    parser.add_argument("--ports-per-node", type=float, help="most router ports per node (default: 8)")
    parser.add_argument("--taper", type=float, help="largest proven taper")
    parser.add_argument("--price-at-least", type=float, metavar="PRICE", help="lowest price per node")
    parser.add_argument("--price-at-most", type=float, metavar="PRICE", help="highest price per node")
    parser.add_argument(
        "--with", dest="given", action="append", default=[], metavar="MACHINE",
        help="compare with this machine: a name, file or mapping, or label=one; may be repeated; the first one is the "
        "incumbent",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="list all candidates, not only the front")
    parser.add_argument("--bandwidth", help="of each cable (default: 25 GB/s)")
    parser.add_argument("--families", nargs="+", metavar="KIND", help="kinds of machines (default: all)")
    parser.add_argument("--study", help="study with the jobs of the traffic (default: all-to-all of all nodes, 1 kB)")
    parser.add_argument("--prices", help="CSV of prices, or a price list: besta-2014 (default), mixnet-2025")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write a study that simulates the front")
    parser.add_argument(
        "--simulate", type=_number_of_candidates, metavar="NUMBER", nargs="?", const=200,
        help="run the study written: about so many candidates (default: 200) on flow, and on the simulator those of "
        "them that may be on the front of price and time; needs --write and --study",
    )  # fmt: skip
    add_extensions(parser)


def _number_of_candidates(text: str) -> int:
    """Return how many candidates are run on the flow engine."""
    if not text.isdecimal() or not _FEWEST <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text}: not a number of candidates; write {_FEWEST} to {_MOST}")
    return int(text)


@with_extensions
def run(args: argparse.Namespace) -> dict[str, Any]:
    """List the machines of about so many nodes on the Pareto front of price, bound and taper."""
    if args.simulate and not (args.write and args.study):
        remedy = "add --write FILE for the study, and --study with its jobs"
        raise FabricstudyError(f"--simulate runs a study of jobs; {remedy}", "usage")
    if args.write and args.write.exists():
        raise FabricstudyError(f"{args.write}: the file exists; move it, or use another name")
    file = find_study(args.study) if args.study else None
    folder = file.parent if file else Path()
    asked = {key: getattr(args, key) for key in _KEYS if getattr(args, key) is not None} | _jobs(file)
    given = _given(args.given)
    if args.prices:
        asked["prices"] = _prices(args.prices, folder)
    asked["given_machines"] = {label: machine for label, (_, machine) in given.items()}
    analysis = validated(_Asked, {"candidates": asked}, {"folder": folder}).candidates
    if args.simulate and file:
        machines = {label: machine for label, machine, _ in islice(analysis.written(), 1)}
        machines = machines or {label: _as_written(source, folder)[0] for label, (source, _) in given.items()}
        written = _study(analysis, asked["jobs"], machines, "besta-2014", "us", None) | {"engine": "flow"}
        check_estimates(validated(Study, written, {"folder": folder}), file)
    with progress_spinner(f"analysing candidates; {_HOW_LONG}") as show_progress:
        candidates = analysis.found(show_progress, every_bound=args.all)
    chosen = nearest([row for row, _ in candidates], args.simulate) if args.simulate else None
    if args.write:
        near = {number for numbers in chosen or () for number in numbers}
        listed = [
            (row, written)
            for number, (row, written) in enumerate(candidates)
            if row["given"] or (row["reason"] if chosen is None else number in near)
        ]
        _write_study(args, analysis, asked["jobs"], listed, given)
    rows = sorted((row for row, _ in candidates), key=lambda row: row["bound_ns"])
    undecided = sorted((row for row in rows if row["undecided"]), key=lambda row: row["price_per_node"])
    simulated = {}
    if chosen is not None:
        run_study(args.write)
        name, by_price = load_study(args.write).study, [row for row, _ in candidates]
        simulated = simulated_front(name, by_price, chosen, analysis.jobs, RESULTS)
    shown = [written for row, written in candidates if args.all or row["reason"] or row["undecided"]]
    return {
        **simulated,
        "candidates": len(candidates),
        "families": Counter(row["family"] for row in rows),
        "prices": analysis.prices.title,
        "other_prices": {prices.title: _changes(rows, name) for name, prices in analysis.prices.others().items()},
        "traffic": f"the jobs of {args.study}" if args.study else "all-to-all of all nodes, 1 kB a message",
        "written": str(args.write) if args.write else None,
        "taken": _taken(file) if args.write else None,
        "abbreviations": _abbreviations(shown),
        "front": [row for row in rows if row["reason"]],
        "on_front": sum(row["front"] for row in rows),
        "undecided": undecided,
        "given": [row for row in rows if row["given"]],
        **({"all": rows} if args.all else {}),
    }


def _given(sources: list[str]) -> dict[str, tuple[str, Topology]]:
    """Return the source of each given machine, and the machine, by label: the one written, its name, or its size."""
    given: dict[str, tuple[str, Topology]] = {}
    for source in sources:
        label, _, rest = source.partition("=")
        if Path(source).is_file() or not rest or "{" in label:
            label, rest = "", source
        machine = load_named_machine(rest)
        name = Path(rest).stem if Path(rest).is_file() else rest
        label = label or (f"{machine.kind}, {machine.nodes} nodes" if "{" in rest else name)
        if label in given:
            raise FabricstudyError(f"--with: two machines are called {label}; write label={rest}", "duplicate")
        given[label] = (rest, machine)
    return given


def _changes(rows: list[dict[str, Any]], prices: str) -> dict[str, list[str]]:
    """Return the labels of the machines that leave and join the front by another price list."""
    by_other = [(row, prices in row["front_by"].split("; ")) for row in rows]
    return {
        "leave": [row["machine"] for row, on_it in by_other if row["front"] and not on_it],
        "join": [row["machine"] for row, on_it in by_other if on_it and not row["front"]],
    }


def _abbreviations(written: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the meaning of each abbreviation in the labels of machines."""
    keys = dict.fromkeys(key for one in written for key in one if "_per_" in key)
    return {abbreviation(key): key.replace("_", " ") for key in keys}


def _taken(file: Path | None) -> str | None:
    """Return which parts of the study of the jobs are in the study written, and which are not; None without one."""
    if file is None:
        return None
    study = load_study(file)
    axes = f" (axes {', '.join(study.axes)})" if study.axes else ""
    left_out = sorted(study.model_fields_set - {"study", "title", "description", "jobs", "figures", "claims"})
    return (
        f"From {file.name}: the jobs, as they are without its sweeps{axes}, and the cores of a node. Not taken from "
        f"it: {', '.join(left_out)}. The machines are candidates, the routings {' and '.join(_ROUTINGS)}, with "
        f"{_SEEDS} seeds each."
    )


def _write_study(
    args: argparse.Namespace,
    analysis: Candidates,
    jobs: list[Any],
    candidates: list[Any],
    given: dict[str, tuple[str, Topology]],
) -> None:
    """Write a study of candidates and the given machines, which is screened for `--simulate`."""
    folder = args.write.parent
    machines = {row["machine"]: written for row, written in candidates if not row["given"]}
    extensions = [Path(name) for name in args.extensions]
    for label, (source, _) in given.items():
        machines[label], listed = _as_written(source, folder)
        extensions += listed
    if not machines:
        raise FabricstudyError("no machine is on the front with certainty, so no study was written; raise --taper")
    prices = _prices(args.prices, folder) if args.prices else "besta-2014"
    bounds_ns = [row["bound_ns"] for row, _ in candidates]
    unit = "us" if max(bounds_ns) < MS_FROM_NS else "ms"
    study = _study(analysis, jobs, machines, prices, unit, next(iter(given), None))
    if args.simulate:
        study["title"] = f"Candidates of {analysis.nodes} to {analysis.largest} nodes"
        # Results of another file are not overwritten.
        study["study"] = re.sub(r"[^a-z0-9]+", "-", args.write.stem.lower()).strip("-")[:64] or study["study"]
        study["screen"] = {"with": "flow", "or": "front", "keep": "2 %", "sample": SAMPLE}
    if extensions:
        names = dict.fromkeys(os.path.relpath(path, folder) for path in extensions)
        study = {"study": study["study"], "extensions": list(names)} | study
    comment = _taken(find_study(args.study) if args.study else None)
    with atomic_text(args.write) as text:
        text.writelines(f"# {line}\n" for line in wrap(comment or "", 118))
        yaml.safe_dump(study, text, sort_keys=False, width=120, default_flow_style=None)


def _as_written(source: str, folder: Path) -> tuple[Any, list[Path]]:
    """Return a machine as in a study of `folder`, and the extensions that its file lists."""
    path = Path(source)
    if not path.is_file():
        return parse_yaml(source), []
    if is_fabric_file(path):
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


def _study(
    analysis: Candidates, jobs: list[Any], front: dict[str, Any], prices: Any, unit: str, incumbent: str | None
) -> dict[str, Any]:
    """Return a study that simulates the machines of the front with the jobs of the bounds, on equally many nodes.

    Its figures have times over those of the incumbent, or in `unit` without one.
    """
    sized = [
        {key: value for key, value in written.items() if key != "share"} | {"nodes": job.node_count(analysis.nodes)}
        for written, job in zip(jobs, analysis.jobs, strict=True)
    ]
    abbreviations = _legend(_abbreviations(one for one in front.values() if isinstance(one, dict)))
    title = "Runtime" if len(jobs) == 1 else "Geometric mean of the runtimes of the jobs"
    scale: dict[str, Any] = {"unit": unit}
    caption = abbreviations
    if incumbent is not None:
        title += " over that of the incumbent"
        scale = {"normalise_to": {"machine": incumbent}}
        caption = f"The incumbent is {incumbent}, under the same routing. {abbreviations}".strip()
    time = {"y": "runtime_ns", "reduce_jobs": "geometric-mean", "y_label": title.lower(), "caption": caption, **scale}
    cost = {"kind": "cost", "machines": front, "prices": prices, "radix": analysis.radix}
    return {
        "study": "next-machine-candidates",
        "title": f"Pareto-efficient machines of {analysis.nodes} to {analysis.largest} nodes",
        "machine": next(iter(front.values())),
        "routing": "minimal",
        "jobs": sized,
        "engine": "packet",
        # Under minimal routing alone, networks with few hops would compare badly with trees.
        "sweep": {
            "machine": {"of": "machine", "values": front},
            "routing": {"of": "routing", "values": list(_ROUTINGS)},
        },
        "analyses": {"cost": cost | {"routers_per_rack": analysis.routers_per_rack}},
        "seeds": _SEEDS,
        "figures": [
            {
                "id": "price-and-time", "kind": "scatter", "title": "Price of a machine and time of the jobs",
                "hue": "machine", "style": "routing", "front": True, "x": "price_per_node", "x_analysis": "cost",
                "x_where": {"part": "all"}, "x_label": f"price per node, {analysis.prices.title}",
                **time,
            },
            {"id": "time", "kind": "bar", "title": title, "x": "machine", "hue": "routing", **time},
        ],
    }  # fmt: skip


def show(result: dict[str, Any]) -> None:
    given = result["given"]
    numbers = ["nodes", "routers", "diameter", "mean hops", "bisection (TB/s)", "taper", "price/node", "W/node",
               "bound (us)"]  # fmt: skip
    table = text_table("machine", *numbers, *(f"/ {row['machine']}" for row in given), "reason")
    shown = result.get("all", [*result["front"], *(row for row in given if not row["reason"])])
    for row in shown:
        bisection = _interval(row["bisection_lower_Bps"] / 1e12, row["bisection_upper_Bps"] / 1e12, ".4g")
        taper = _interval(row["taper_lower"], row["taper_upper"], ".2f")
        mark = "? " if row["undecided"] else "* " if row["front"] and len(shown) > len(result["front"]) else ""
        power = "–" if row["power_per_node_W"] is None else f"{row['power_per_node_W']:.1f}"
        name = mark + " = ".join(filter(None, (row["machine"], row["equal"])))
        table.add_row(
            name, str(row["nodes"]), str(row["routers"]), str(row["diameter"]),
            f"{row['mean_hops']:.2f}", bisection, taper, f"{row['price_per_node']:,.0f}", power,
            f"{row['bound_ns'] / 1e3:,.1f}", *(f"{row['bound_ns'] / other['bound_ns']:.2f}" for other in given),
            row["reason"],
        )  # fmt: skip
    console = table_console(200)
    console.print(table)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(result["families"].items()))
    which = "all" if "all" in result else f"{len(result['front'])} of the {result['on_front']} on the front"
    marked = ", those on the front with *" * (len(shown) > len(result["front"]))
    console.print(
        f"\n{result['candidates']:,} candidates ({counted}); the table has {which}{marked}, sorted by bound. Bound of "
        f"{result['traffic']}. The front is by the prices {result['prices']}{_by_other_prices(result)}"
        f"{_undecided(result)}\n"
        f"{WORDS} {_legend(result['abbreviations'])}"
    )
    if "simulated_front" in result:
        front = text_table("machine", "routing", "price/node", "simulated (us)")
        for row in result["simulated_front"]:
            front.add_row(
                row["machine"], row["routing"], f"{row['price_per_node']:,.0f}", f"{row['time_ns'] / 1e3:,.1f}"
            )
        console.print("\n", front)
        console.print(front_sentences(result))
    if result["written"]:
        console.print(f"Written: {result['written']}; see: fabricstudy plan {result['written']}")
        console.print(result["taken"] or "", end="\n" * bool(result["taken"]))


def _interval(low: float, high: float, form: str) -> str:
    ends = dict.fromkeys((format(low, form), format(high, form)))
    return " to ".join(ends)


def _legend(abbreviations: dict[str, str]) -> str:
    return "; ".join(f"{short}: {meaning}" for short, meaning in abbreviations.items()) + "." * bool(abbreviations)


def _by_other_prices(result: dict[str, Any]) -> str:
    """Return how the front differs by other price lists, as the end of a sentence."""
    texts = []
    for title, changes in result["other_prices"].items():
        told = [f"{quoted(names)} {verb}" for verb, names in changes.items() if names]
        texts.append(f"; by {title}, {' and '.join(told) or 'it is the same'}")
    return f"{''.join(texts)}."


def _undecided(result: dict[str, Any]) -> str:
    """Return a sentence on the machines that only the proven end of their taper keeps off the front."""
    if not result["undecided"]:
        return ""
    names = quoted(row["machine"] for row in result["undecided"])
    where = "marked with ?" if "all" in result else "--all lists them with ?"
    return f" Off it only by the proven end of their taper, and on it by the other end: {names} ({where})."
