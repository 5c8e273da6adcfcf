"""Simulate the points of one batch: ``python -m fabricstudy.engine``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fabricstudy.errors import exit_code_of

from .batch import run_batch
from .simulate import Stores


def main(arguments: list[str] | None = None) -> None:
    """Simulate the points of one batch that the store does not have, and write the records of all."""
    parser = argparse.ArgumentParser(prog="python -m fabricstudy.engine", description=main.__doc__)
    parser.add_argument("--batch", type=Path, required=True, help="file of the plan")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    run_batch(json.loads(given.batch.read_text()), Stores(given.results), given.out)


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
