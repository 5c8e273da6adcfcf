"""``python -m fabricstudy.table``: shards of one study -> its tables."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fabricstudy.core.errors import exit_code_of
from fabricstudy.core.phrasing import count_noun
from fabricstudy.core.store import Record, read_checksummed
from fabricstudy.engine.validity import is_current
from fabricstudy.structure.stage import read_structures
from fabricstudy.study.file import load_study
from fabricstudy.study.plan import Plan, study_identity
from fabricstudy.study.plan_file import read_plan

from .collect import collect
from .files import TableError, read_analyses, read_shard, write_tables
from .schedules import schedule_of, schedule_tables


def main(arguments: list[str] | None = None) -> None:
    """Collect the records of one study into its tables and measure its claims."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.table", description=main.__doc__)
    parser.add_argument("--study", type=Path, required=True, help="the study file")
    parser.add_argument("--shards", type=Path, nargs="*", default=[], help="records of points, JSON lines")
    parser.add_argument("--structures", type=Path, nargs="*", default=[], help="structures of machines, JSON lines")
    parser.add_argument("--analyses", type=Path, nargs="*", default=[], help="tables of analyses, Parquet")
    parser.add_argument("--schedules", type=Path, nargs="*", default=[], help="records of runs, JSON lines")
    parser.add_argument("--links", type=Path, nargs="*", default=[], help="links of points, Parquet")
    parser.add_argument("--plan", type=Path, required=True, help="folder of the plan, results/STUDY")
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    args = parser.parse_args(arguments)
    planned = read_plan(load_study(args.study), args.plan)
    analyses = read_analyses(args.analyses)
    runs: dict[str, list[Record]] = {}
    for path in args.schedules:
        runs.setdefault(schedule_of(path), []).extend(read_shard(path))
    schedules = schedule_tables(planned, runs, [path.with_suffix(".parquet") for path in args.schedules])
    records = _records(args.shards, planned)
    structures = (structure for path in args.structures for structure in read_structures(path))
    tables = collect(planned, records, structures, analyses, schedules, args.links)
    identity = study_identity(args.study.read_bytes(), planned)
    write_tables(replace(tables, analyses={}), args.out, identity)  # tables of analyses are inputs


def _records(shards: list[Path], planned: Plan) -> Iterator[Record]:
    """Yield the records of points; refuse those that may be out of date, and mark damaged ones."""
    damaged: list[str] = []
    read: set[str] = set()
    for path in sorted(shards):
        for number, record in read_checksummed(path):
            if record is None:
                damaged.append(f"{path}, line {number}")
                continue
            read.add(record["point_id"])
            point = planned.points.get(record["point_id"])
            if point is not None and not is_current(record, point.point, of_any_program=True):
                problem = f"{record['point_id']} was simulated by another version of the code"
                remedy = "repeat outdated simulations: add --forceall, or --forcerun simulate"
                raise TableError(f"{path}: {problem}; {remedy}")
            yield record
    lost = [point_id for point_id in planned.points if point_id not in read]
    if lost and not damaged:
        problem = f"{planned.study.study}: {count_noun(len(lost), 'point')} without a record, such as {lost[0]}"
        raise TableError(f"{problem}; run the study first", "study-changed")
    if damaged:
        # The point of a damaged line is unknown.
        reason = f"damaged: {'; '.join(damaged)}; remove the file and run the same command again"
        yield from ({"point_id": point_id, "status": "damaged", "reason": reason} for point_id in lost)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
