"""``python -m fabricstudy.table``: shards of one study -> its tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fabricstudy.errors import FabricstudyError
from fabricstudy.study import load_study, plan

from .collect import collect
from .store import read_shards, write_tables


def main(arguments: list[str] | None = None) -> int:
    """Read the study and its shards, write the tables, give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.table", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="the study file")
    parser.add_argument("--shards", type=Path, nargs="*", default=[], help="records of points, JSON lines")
    parser.add_argument("--structures", type=Path, nargs="*", default=[], help="structures of machines, JSON lines")
    parser.add_argument("--out", type=Path, required=True, help="folder for the tables")
    given = parser.parse_args(arguments)
    try:
        study = load_study(given.study)
        tables = collect(plan(study), read_shards(given.shards), read_shards(given.structures))
        write_tables(tables, given.out)
    except FabricstudyError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
