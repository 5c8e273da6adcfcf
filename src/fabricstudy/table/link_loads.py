"""The links of points one by one, from the arrays that the store keeps of each finished point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fabricstudy.core.columns import names_of
from fabricstudy.core.store import Store
from fabricstudy.engine.outcome import LINK_PACKETS, LINK_STALLS, LINKS, load_arrays
from fabricstudy.machine.graph import Machine
from fabricstudy.study.plan import Plan

from .gathered import Gathered
from .store import TableError


def link_loads(plan: Plan, keys: pd.DataFrame, found: Gathered, points: Store | None) -> pd.DataFrame:
    """Return a row for each directed link of each point that is done, of the experiments that the study names.

    `keys` has one row a planned point, in the order of the plan, with the study's axes; `points` has the arrays.

    Raises
    ------
    TableError
        If a point that is done is not in the store any more.
    """
    built: dict[str, Machine] = {}
    parts = []
    for index, row in enumerate(plan.rows):
        if row.experiment not in plan.study.link_loads or not found.is_done(row.point_id):
            continue
        arrays = arrays_of(points, row.point_id)
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


def arrays_of(points: Store | None, point_id: str) -> dict[str, Any]:
    """Read what the store has for each link of a point.

    Raises
    ------
    TableError
        If the point is not there, or what is there was damaged.
    """
    if points is None:
        problem = "no store of points is given"
    elif points.folder(point_id).exists():
        problem = points.damage(point_id) or ""
    else:
        problem = f"it is not in {points.root}"
    if points is None or problem:
        # Only what is gone, or has another size, is noticed when the workflow starts.
        folder = "" if points is None else f"remove {points.folder(point_id)} if it is there and "
        remedy = f"{folder}run the same command again"
        raise TableError(f"{point_id}: its links are asked for, and {problem}; {remedy}", "gone-from-store")
    return load_arrays(points.folder(point_id))


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
