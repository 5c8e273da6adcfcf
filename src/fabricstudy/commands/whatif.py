"""``fabricstudy machine whatif``: what a machine loses if cables or routers fail, without simulation."""

import argparse
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from fabricstudy.analysis.resilience import adversary_of, figures_of
from fabricstudy.core.errors import FabricstudyError
from fabricstudy.core.host_lists import expanded
from fabricstudy.core.input_files import InputFileError
from fabricstudy.core.model import at_path
from fabricstudy.machine.base import Topology
from fabricstudy.machine.distances import hop_distances
from fabricstudy.machine.faults import Faults, Survivors, rest_of, survivors
from fabricstudy.machine.graph import Machine, NamedMachine
from fabricstudy.report.figure_style import STYLE
from fabricstudy.report.machine_picture import Scene, draw_machines
from fabricstudy.study.file import validated

from .common import (
    MACHINE_HELP,
    check_format,
    check_output_path,
    load_named_machine,
    machine_files,
    progress_spinner,
    table_console,
    text_table,
)
from .draw import DATES

NAMED = 20
"""Most nodes and routers that are listed."""

_LABELS = {
    "uniform_load": "throughput at an even split, uniform traffic",
    "adversary_load": "throughput at an even split, adversarial traffic",
}
_COSTS = ("diameter", "mean_hops")
"""Figures of which more is worse; of bisection and those in `_LABELS` less is worse."""
_BISECTION = ("bisection_lower_Bps", "bisection_upper_Bps")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("machine", metavar="MACHINE", help=MACHINE_HELP)
    words = (
        "router, by number or name; node by name, or a list like n[1-4]; cable, by its two routers, like 0,5: one of "
        "parallel cables, with its class if they are of several, like 0,5,optical; or cables drawn at random, like "
        "'5 cables' or '2 %%'; repeat it for several"
    )
    parser.add_argument("--fail", metavar="CABLE|ROUTER|NUMBER|SHARE", action="append", required=True, help=words)
    parser.add_argument("--of", metavar="CLASS", action="append", default=[], help="link class of the cables that fail")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw of cables (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="picture to write: .svg, .pdf or .png")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare a machine before and after faults: nodes, hops, bisection, throughput, and the worst pair."""
    check_output_path(args.out, *machine_files(args.machine))
    check_format(args.out, DATES)
    config = load_named_machine(args.machine)
    with progress_spinner("analysing"):
        machine = config.build()
        faults = validated(Faults, _faults(args, machine), {})
        with at_path("--fail"):
            left = survivors(machine, faults)
        written = _picture(machine, left, args.out) if args.out is not None else {}
        return _losses(config, machine, left) | written


def _faults(args: argparse.Namespace, machine: Machine) -> dict[str, Any]:
    """Sort what fails into shares, cables, nodes and routers; a name of the machine comes first."""
    routers, nodes = (machine.router_of, machine.node_of) if isinstance(machine, NamedMachine) else ({}, {})
    found: dict[str, list[Any]] = {"shares": [], "cables": [], "routers": [], "nodes": []}
    for part in map(str.strip, args.fail):
        listed = _listed(part)
        if all(name in routers for name in listed):
            found["routers"] += listed
        elif all(name in nodes for name in listed):
            found["nodes"] += listed
        elif part.endswith("%"):
            found["shares"].append(part)
        elif number := re.fullmatch(r"(\d+) cables?", part):
            found["shares"].append(int(number[1]))
        elif "," in part:
            found["cables"].append(_cable(part, routers, {link.name for link in machine.classes}))
        else:
            found["routers"].append(_name(part))
    shares = found.pop("shares")
    if len(shares) > 1 or (shares and found["cables"]):
        problem = "--fail has cables drawn at random and other cables; give one number or share, or name cables"
        raise FabricstudyError(problem, "conflicting-keys")
    return found | {"cables": shares[0] if shares else found["cables"], "of": args.of, "seed": args.seed}


def _listed(part: str) -> list[str]:
    """Return the names of a list of hosts in brackets, or the text itself."""
    if "[" in part:
        with suppress(InputFileError):
            return expanded(part)
    return [part]


def _cable(part: str, routers: Mapping[str, int], classes: set[str]) -> list[int | str]:
    """Return the two routers of a cable, and maybe its class; names may have commas."""
    words = part.split(",")
    splits = [
        [
            *map(_name, (",".join(words[:i]), ",".join(words[i:j]))),
            *([",".join(words[j:]).strip()] if words[j:] else []),
        ]
        for i in range(1, len(words))
        for j in range(max(i + 1, len(words) - 1), len(words) + 1)
    ]
    fits = [split for split in splits if all(isinstance(name, int) or name in routers for name in split[:2])]
    fits = [split for split in fits if split[2:] == [] or split[2] in classes]
    if len(fits) > 1:
        problem = f"--fail {part}: several pairs of routers have such names; give their numbers"
        raise FabricstudyError(problem, "conflicting-keys")
    return fits[0] if fits else [*map(_name, words[:2]), *map(str.strip, words[2:])]


def _name(text: str) -> int | str:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else text


def _losses(config: Topology, machine: Machine, left: Survivors) -> dict[str, Any]:
    rest = rest_of(machine, left)
    adversary = adversary_of(config).destinations(machine, np.random.default_rng(0))
    same_nodes = rest.nodes == machine.nodes
    routers, nodes = np.flatnonzero(~left.router), np.flatnonzero(~left.node)
    node_names = machine.node_names if isinstance(machine, NamedMachine) else range(machine.nodes)
    return {
        "before": _facts(machine) | figures_of(machine, adversary, quickly=False),
        # Nodes of the adversary that are lost have no traffic of their own.
        "after": _facts(rest) | figures_of(rest, adversary if same_nodes else None, quickly=False),
        "failed_cables": _failed_cables(machine, left),
        "lost_routers": [_router_name(machine, router) for router in routers[:NAMED].tolist()],
        "lost_nodes": [node_names[node] for node in nodes[:NAMED].tolist()],
        "worst_pair": _worst_pair(machine, rest, left),
    }


def _facts(machine: Machine) -> dict[str, Any]:
    return {"nodes": machine.nodes, "routers": machine.routers, "cables": machine.cables}


def _router_name(machine: Machine, router: int) -> int | str:
    return machine.router_names[router] if isinstance(machine, NamedMachine) else router


def _failed_cables(machine: Machine, left: Survivors) -> list[dict[str, Any]]:
    """Return the failed cables between routers that are left: routers, class, number, and how many joined them."""
    marked, failed = left.marked, []
    ends = np.sort(np.stack([marked.cable_tail, marked.cable_head]), axis=0)
    for row in np.flatnonzero(~left.row & left.router[ends].all(axis=0)).tolist():
        pair = ends[:, row]
        parallel = int(marked.cable_count[(ends == pair[:, None]).all(axis=0)].sum())
        failed.append({
            "routers": [_router_name(machine, int(end)) for end in pair],
            "class": marked.classes[marked.cable_class[row]].name.removesuffix("-failed"),
            "cables": int(marked.cable_count[row]), "of": parallel,
        })  # fmt: skip
    return failed


def _worst_pair(machine: Machine, rest: Machine, left: Survivors) -> dict[str, Any] | None:
    """Return the two routers with nodes whose distance grows most, of equal ones the first; None if none grows."""
    working = np.flatnonzero(left.router)
    hops_left = hop_distances(rest).matrix()
    growth = hops_left - hop_distances(machine).matrix()[np.ix_(working, working)]
    ends = np.flatnonzero(rest.nodes_of_router)
    growth = growth[np.ix_(ends, ends)]
    tail, head = np.unravel_index(int(growth.argmax()), growth.shape)
    if growth[tail, head] <= 0:
        return None
    hops = int(hops_left[ends[tail], ends[head]])
    pair = [_router_name(machine, int(working[ends[end]])) for end in (tail, head)]
    return {"routers": pair, "hops_before": hops - int(growth[tail, head]), "hops_after": hops}


def _picture(machine: Machine, left: Survivors, out: Path) -> dict[str, Any]:
    """Draw the whole machine with its failed cables in a colour of their own, and the nodes that are lost."""
    holder = np.where(left.node, 0, 1).astype(np.int32)
    with mpl.rc_context(STYLE):
        canvas, words, _ = draw_machines([Scene(left.marked, ("nodes", "lost nodes"), holder)])
        canvas.savefig(out, dpi=200, metadata=DATES[out.suffix])
    return {"written": str(out), "shows": words}


def _numbers(name: str, before: float, after: float | None) -> tuple[str, str, str]:
    """Return a figure before and after, and its change."""
    if after is None:
        return f"{before:.5g}", "-", ""
    change = f"{100 * (after / before - 1):+.1f} %" if before else ""
    if name in (*_LABELS, *_COSTS) and abs(after - before) > 1e-9 * before:
        change += ", worse" if (after > before) == (name in _COSTS) else ", better"
    return f"{before:.5g}", f"{after:.5g}", change


def _intervals(before: Sequence[float], after: Sequence[float]) -> tuple[str, str, str]:
    """Return two intervals, and the interval of the change.

    Examples
    --------
    >>> _intervals((300, 300), (150, 300)), _intervals((9, 10), (9, 9))
    (('300', '150 to 300', '-50.0 % to +0.0 %'), ('9 to 10', '9', '-10.0 % to +0.0 %'))
    """
    changes = [100 * (end / other - 1) for end, other in zip(after, reversed(before), strict=True)]
    formats = ("{:.5g}", before), ("{:.5g}", after), ("{:+.1f} %", changes)
    cells = [list(dict.fromkeys(form.format(end) for end in ends)) for form, ends in formats]
    first, second, change = (" to ".join(ends) for ends in cells)
    return first, second, change


def show(result: dict[str, Any]) -> None:
    """Print a table of the machine before and after, then what is lost."""
    console, table = table_console(120), text_table("", "before", "after", "change")
    before, after = result["before"], result["after"]
    for name, value in before.items():
        if name == _BISECTION[0]:
            cells = _intervals(*([facts[end] / 1e9 for end in _BISECTION] for facts in (before, after)))
            table.add_row("bisection (GB/s)", *cells)
        elif name not in _BISECTION:
            table.add_row(_LABELS.get(name, name.replace("_", " ")), *_numbers(name, value, after.get(name)))
    console.print(table)
    console.print(
        "throughput at an even split: an estimate, no bound: the load at which the bottleneck cable is full if packets "
        "split equally among minimal paths, as a share of the bandwidth of a node's link (above 1 that link limits); "
        "packets that choose among paths may carry more"
    )
    for cable in result["failed_cables"][:NAMED]:
        number = f"{cable['cables']} of {cable['of']} cables" if cable["of"] > 1 else "the cable"
        console.print(f"failed: {number} from {' to '.join(map(str, cable['routers']))}, class {cable['class']}")
    if len(result["failed_cables"]) > NAMED:
        console.print(f"failed: {len(result['failed_cables']) - NAMED:,} more; --json lists all")
    for noun in ("routers", "nodes"):
        lost = result["before"][noun] - result["after"][noun]
        listed = ", ".join(map(str, result[f"lost_{noun}"])) + ", ..." * (lost > NAMED)
        console.print(f"lost {noun}: {lost:,}" + f" ({listed})" * bool(lost))
    worst = result["worst_pair"]
    if worst is not None:
        ends = " and ".join(map(str, worst["routers"]))
        console.print(f"worst pair: routers {ends}, from {worst['hops_before']} to {worst['hops_after']} hops")
    if "written" in result:
        console.print(f"written: {result['written']}: {result['shows']}")
