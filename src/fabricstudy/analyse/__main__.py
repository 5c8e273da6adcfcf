"""Analyse the machines of one chunk: ``python -m fabricstudy.analyse``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fabricstudy.errors import exit_code_of
from fabricstudy.files import atomic_text

from .stage import keep_structure


def main(arguments: list[str] | None = None) -> None:
    """Write structure and bisection of the machines of one chunk, one JSON object a line."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.analyse", description=main.__doc__)
    parser.add_argument("--machines", type=Path, required=True, help="what the machine stage wrote: ids, one a line")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    with atomic_text(given.out) as out:
        for machine_id in given.machines.read_text().split():
            out.write(json.dumps(keep_structure(given.results, machine_id)) + "\n")


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
