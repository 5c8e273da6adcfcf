"""What the page says of the same points on several engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from fabricstudy.study import DimensionOrder, GridConfig, Point, Sst, Study, plan
from fabricstudy.table import Tables

from .text import Grid, expectation, number, shown


@dataclass(frozen=True)
class Difference:
    """A known reason for which an engine's times differ from those of others, and the points that it concerns."""

    engine: str
    says: str
    concerns: Callable[[Point], bool]


def _always(point: Point) -> bool:
    return True


def _settings(name: str, value: str) -> Callable[[Point], bool]:
    return lambda point: isinstance(point.engine, Sst) and getattr(point.engine, name) == value


def _ugal(point: Point) -> bool:
    return point.routing.kind == "ugal"


def _detours_on_dragonfly(point: Point) -> bool:
    return point.machine.kind == "dragonfly" and point.routing.kind in ("valiant", "ugal")


def _ties(point: Point) -> bool:
    """Whether some destinations are half-way round a ring."""
    routing, machine = point.routing, point.machine
    if not isinstance(machine, GridConfig) or not isinstance(routing, DimensionOrder) or routing.tie != "split":
        return False
    rings = (length for length, wrap in zip(machine.grid.lengths, machine.grid.wraps, strict=True) if wrap)
    return any(length > 2 and length % 2 == 0 for length in rings)


def _on_slim_fly(point: Point) -> bool:
    return point.machine.kind == "slim-fly"


def _valiant_on_dragonfly(point: Point) -> bool:
    return point.machine.kind == "dragonfly" and point.routing.kind == "valiant"


def _long_links(point: Point) -> bool:
    grid = point.machine.grid if isinstance(point.machine, GridConfig) else None
    return grid is not None and (grid.gap or 0) > 1 and point.routing.kind == "dimension-order"


KNOWN = (
    Difference("caminos", "A message is complete when it has arrived, and a phase waits for its sends, too.", _always),
    Difference("caminos", "Times are whole cycles of one phit; latencies far below a phit's time vanish.", _always),
    Difference("caminos", "A message within a node takes no time.", _always),
    Difference(
        "sst",
        "Each message carries a header of 45 bytes, and a job ends with a barrier; both are in the link loads.",
        _always,
    ),
    Difference(
        "sst", "The seed decides mappings, placements and send orders; SST's routers always draw alike.", _always
    ),
    Difference(
        "sst",
        "A send is complete when the node's interface has it; the messages of a phase wait there in their order.",
        _settings("mpi", "none"),
    ),
    Difference(
        "sst",
        "Firefly's costs of MPI and network interface count; a message above 12 kB asks before it is sent, and its "
        "rank waits until it has arrived.",
        _settings("mpi", "default"),
    ),
    Difference(
        "sst",
        "Ember's own motifs have their own order and wait for each message: Alltoall goes round the ranks, Halo3D "
        "finishes one dimension before the next.",
        _settings("motifs", "native"),
    ),
    Difference(
        "sst",
        "On a dragonfly a detour leads through a group drawn at random, or within a group through a router of it; on "
        "CAMINOS through any router. Bounds are those of the latter, so times of the former may lie below them, though "
        "not below what the bytes on their own links need.",
        _detours_on_dragonfly,
    ),
    Difference("sst", "UGAL compares queues alone, that of the detour twice, and not queues times hops.", _ugal),
    Difference(
        "sst",
        "Half-way round a ring a packet's source draws one of both ways (SST's own torus, which runs `tie: positive`, "
        "always goes up); on CAMINOS each packet takes the one that has room.",
        _ties,
    ),
    Difference("codes", "A send is complete when its last packet has left the node.", _always),
    Difference(
        "codes",
        "What CODES adds to each message is taken away again, but for the copy of more than the shortest takes.",
        _always,
    ),
    Difference(
        "codes",
        "Tori, fat trees and grids under dimension order have one virtual channel, where CAMINOS has several; packets "
        "wait at routers sorted by output, without a crossbar.",
        _always,
    ),
    Difference(
        "codes",
        "On a dragonfly Valiant goes through a group drawn at random, on CAMINOS through any router. Bounds are those "
        "of the latter, so times of the former may lie below them.",
        _valiant_on_dragonfly,
    ),
    Difference(
        "codes",
        "UGAL on a dragonfly may still leave the minimal path at other routers of the first group, and counts the "
        "queue of a detour twice; on a Slim Fly it compares several detours.",
        _ugal,
    ),
    Difference(
        "codes",
        "Half-way round a ring all packets take the same of both ways, so that the links there carry up to twice as "
        "much as where ties are split.",
        _ties,
    ),
    Difference("codes", "A packet takes the long link or the short one first, by what waits for them.", _long_links),
    Difference("codes", "Minimal routing on a Slim Fly takes always the same of several shortest paths.", _on_slim_fly),
)
"""In the order in which they are told."""


def differences(study: Study, tables: Tables) -> list[tuple[str, str]]:
    """Name the known reasons that concern points which two engines have run, and tell of times below their bounds."""
    compared = set(tables.agreement["point_a_id"]) | set(tables.agreement["point_b_id"])
    if not compared:
        return []
    planned = {name: of.point for name, of in plan(study).points.items()}
    points = [planned[name] for name in sorted(compared) if name in planned]
    reasons = [
        (known.engine, known.says)
        for known in KNOWN
        if any(point.engine.kind == known.engine and known.concerns(point) for point in points)
    ]
    return reasons + _below_bounds(planned, tables.jobs)


def _below_bounds(planned: dict[str, Point], jobs: pd.DataFrame) -> list[tuple[str, str]]:
    """Say of each engine how many times lie below their bounds, and under which routings."""
    bounded = jobs[jobs["over_bound"].notna()].drop_duplicates(["point_id", "job"])
    told = []
    for engine, all_of_it in bounded.groupby("engine"):
        below = all_of_it[all_of_it["over_bound"] < 1]
        if len(below):
            routings = sorted({planned[name].routing.kind for name in below["point_id"]})
            least = number(below["over_bound"].min(), 3)
            says = f"Of {len(all_of_it)} times {len(below)} lie below their bound, at {least} of it or more; "
            told.append(
                (str(engine), f"{says}{'all' if len(routings) == 1 else 'they are'} under {', '.join(routings)}.")
            )
    return told


def ratios(tables: Tables) -> Grid:
    """Ratios of the times, how far the engines rank the points alike, and what the same points cost on each."""
    cpu_s = tables.points.drop_duplicates("point_id").set_index("point_id")["cpu_s"]
    rows = []
    for (experiment, pair), part in tables.agreement.groupby(["experiment", "pair"], sort=False):
        ratio = part["ratio"]
        rank = part["runtime_a_ns"].rank().corr(part["runtime_b_ns"].rank())
        facts = [number(value, 3) for value in (ratio.min(), ratio.median(), ratio.max(), rank)]
        cost = [number(cpu_s.reindex(part[f"point_{side}_id"].unique()).sum(), 3) for side in ("b", "a")]
        rows.append([str(experiment), str(pair), str(len(part)), *facts, " / ".join(cost)])
    head = ("experiment", "engines", "jobs", "least", "median", "largest", "rank correlation", "CPU seconds")
    return Grid(head, rows, frozenset(range(2, 8)))


def verdicts(tables: Tables) -> Grid:
    """Each part of each claim by the points of one engine alone, and whether all engines give the same verdict."""
    engines = list(dict.fromkeys(tables.verdicts["engine"]))
    head = ("claim", "measured was", "expected", *engines, "same verdict")
    rows = []
    both = tables.verdicts.merge(
        tables.claims[["claim", "part", "part_says", "show", "expect_low", "expect_high"]],
        on=["claim", "part"],
        how="left",
    )
    for (claim, _), part in both.groupby(["claim", "part"], sort=False):
        first = part.iloc[0]
        told = [_told(part[part["engine"] == engine], first["show"]) for engine in engines]
        known = set(part["verdict"])
        same = "\N{EN DASH}" if "not run" in known else "yes" if len(known) == 1 else "no"
        says = "" if pd.isna(first["part_says"]) else first["part_says"]
        rows.append(
            [str(claim), says, expectation(first["expect_low"], first["expect_high"], first["show"]), *told, same]
        )
    return Grid(head, rows)


def _told(rows: pd.DataFrame, how: str | None) -> str:
    row = rows.iloc[0]
    return row["verdict"] if pd.isna(row["measured"]) else f"{shown(row['measured'], how)}, {row['verdict']}"
