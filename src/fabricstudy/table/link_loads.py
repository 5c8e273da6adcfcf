"""The links of points one by one, from the arrays that the store keeps of each finished point."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.columns import DONE, names_of
from fabricstudy.engine.outcome import LINK_PACKETS, LINK_STALLS, LINKS, load_arrays
from fabricstudy.machine.graph import Machine
from fabricstudy.store import Store
from fabricstudy.study.plan import Plan

from .gathered import Gathered, Record
from .store import TableError


def link_loads(plan: Plan, keys: pd.DataFrame, found: Gathered, points: Store) -> pd.DataFrame:
    """Give a row for each directed link of each point that is done, of the experiments that the study names.

    Parameters
    ----------
    plan : Plan
        Its size was checked.
    keys : DataFrame
        One row a planned point, in the order of the plan, with the study's axes.
    found : Gathered
        Which points are done, as `without_lost` leaves them.
    points : Store
        Where the arrays are.
    """
    built: dict[str, Machine] = {}
    parts = []
    for index, row in enumerate(plan.rows):
        if row.experiment not in plan.study.link_loads or not found.is_done(row.point_id):
            continue
        arrays = load_arrays(points.folder(row.point_id))
        if arrays[LINKS] is None:
            continue
        planned = plan.points[row.point_id]
        if planned.machine_id not in built:
            built = {planned.machine_id: planned.point.machine.build()}
        of_links = _links(arrays, built[planned.machine_id])
        head = keys.iloc[np.full(len(of_links), index)].reset_index(drop=True)
        parts.append(pd.concat([head, of_links], axis=1))
    columns = list(dict.fromkeys([*keys, *names_of("link_loads")]))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def without_lost(plan: Plan, records: Iterable[Record], points: Store | None) -> Iterator[Record]:
    """Give records of points; in place of those whose links are asked for and cannot be read, records that say so."""
    asked = plan.with_links
    for record in records:
        point_id = record["point_id"]
        lost = _lost(points, point_id) if point_id in asked and record["status"] == DONE else ""
        yield {"point_id": point_id, "status": "damaged", "reason": lost} if lost else record


def arrays_of(points: Store, point_id: str) -> dict[str, Any]:
    """Read what the store has for each link of a point.

    Raises
    ------
    TableError
        If the point is not there, or what is there was damaged.
    """
    if lost := _lost(points, point_id):
        raise TableError(f"{point_id}: {lost}", "gone-from-store")
    return load_arrays(points.folder(point_id))


def _lost(points: Store | None, point_id: str) -> str:
    """Return why the links of a point cannot be read, with the remedy; "" if they can."""
    if points is None:
        return "its links are asked for, and no store of points is given"
    folder = points.folder(point_id)
    problem = points.damage(point_id) if folder.exists() else f"it is not in {points.root}"
    remedy = f"remove {folder} if it is there and run the same command again"
    return f"its links are asked for, and {problem}; {remedy}" if problem else ""


def _links(arrays: dict[str, Any], machine: Machine) -> pd.DataFrame:
    packets, stall_ns = arrays[LINK_PACKETS], arrays[LINK_STALLS]
    names = np.array([link.name for link in machine.classes], dtype=object)
    return pd.DataFrame(
        {
            "class": names[machine.link_class],
            "tail": machine.link_tail,
            "head": machine.link_head,
            "cables": np.repeat(machine.cable_count, 2),
            "load_bytes": arrays[LINKS],
            "busy_ns": arrays[LINKS] / machine.link_capacity_Bps * 1e9,
            "packets": pd.array([pd.NA] * machine.links if packets is None else packets, "Int64"),
            "stall_ns": np.nan if stall_ns is None else stall_ns,
        }
    )
