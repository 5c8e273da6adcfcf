"""The links of points one by one, from the arrays that the store keeps of each finished point."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fabricstudy.columns import names_of
from fabricstudy.engine.contract import EngineResult
from fabricstudy.engine.simulate import kept_result
from fabricstudy.machine.graph import Machine
from fabricstudy.store import Store
from fabricstudy.study.plan import Plan

from .gathered import Gathered
from .store import TableError


def link_loads(plan: Plan, keys: pd.DataFrame, found: Gathered, points: Store | None) -> pd.DataFrame:
    """Give a row for each directed link of each point that is done, of the experiments that the study names.

    Parameters
    ----------
    plan : Plan
        Its size was checked.
    keys : DataFrame
        One row a planned point, in the order of the plan, with the study's axes.
    found : Gathered
        Which points are done.
    points : Store or None
        Where the arrays are.

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
        result = kept_links(points, row.point_id)
        if result.link_bytes is None:
            continue
        planned = plan.points[row.point_id]
        if planned.machine_id not in built:
            built = {planned.machine_id: planned.point.machine.build()}
        of_links = _links(result, built[planned.machine_id])
        head = keys.iloc[np.full(len(of_links), index)].reset_index(drop=True)
        parts.append(pd.concat([head, of_links], axis=1))
    columns = list(dict.fromkeys([*keys, *names_of("link_loads")]))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def kept_links(points: Store | None, point_id: str) -> EngineResult:
    """Read what the store keeps for each link of a point.

    Raises
    ------
    TableError
        If the point is not there, or an array of it cannot be read.
    """
    if points is None or points.record(point_id) is None:
        where = "no store of points is given" if points is None else f"it is not in {points.root}"
        raise TableError(f"{point_id}: its links are asked for, and {where}; run Snakemake again", "gone-from-store")
    folder = points.folder(point_id)
    try:
        return kept_result(folder)
    except (OSError, ValueError, EOFError):
        problem = f"{point_id}: the arrays of its links in {folder} are damaged"
        raise TableError(f"{problem}; remove this folder and run Snakemake again", "gone-from-store") from None


def _links(result: EngineResult, machine: Machine) -> pd.DataFrame:
    assert result.link_bytes is not None
    names = np.array([link.name for link in machine.classes], dtype=object)
    return pd.DataFrame(
        {
            "class": names[machine.link_class],
            "tail": machine.link_tail,
            "head": machine.link_head,
            "cables": np.repeat(machine.cable_count, 2),
            "load_bytes": result.link_bytes,
            "busy_ns": result.link_bytes / machine.link_capacity_Bps * 1e9,
            "packets": pd.array(
                [pd.NA] * machine.links if result.link_packets is None else result.link_packets, "Int64"
            ),
            "stall_ns": np.nan if result.link_stall_ns is None else result.link_stall_ns,
        }
    )
